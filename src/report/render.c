/* SPDX-License-Identifier: Apache-2.0 */
/* render.c - validation and rendering of the canonical XML
 *
 * A stylesheet shows; it may not read or write files or the network, not even to include another, and computes nothing
 * that the document does not say. Threads: the loaders and error handlers of libxml2 and libxslt are replaced for the
 * time of a call and put back; reports are written by one thread.
 */
#include <libxml/parser.h>
#include <libxml/relaxng.h>
#include <libxslt/documents.h>
#include <libxslt/security.h>
#include <libxslt/transform.h>
#include <libxslt/variables.h>
#include <libxslt/xsltutils.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"

struct first_error {
	char text[256];
};

static void keep_first(void *ctx, const char *fmt, ...)
{
	struct first_error *first = ctx;
	if (first->text[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(first->text, sizeof(first->text), fmt, ap);
	va_end(ap);
	first->text[strcspn(first->text, "\n")] = '\0';
}

static xmlParserInputPtr no_entity(const char *url, const char *id, xmlParserCtxtPtr ctx)
{
	(void)url;
	(void)id;
	(void)ctx;
	return NULL;
}

static xmlDocPtr no_document(const xmlChar *url, xmlDictPtr dict, int options, void *ctx, xsltLoadType type)
{
	(void)url;
	(void)dict;
	(void)options;
	(void)ctx;
	(void)type;
	return NULL;
}

/* Nothing is loaded, and nothing printed, until release(). */
static xmlExternalEntityLoader confine(struct first_error *first)
{
	xmlExternalEntityLoader usual = xmlGetExternalEntityLoader();
	xmlSetExternalEntityLoader(no_entity);
	xsltSetLoaderFunc(no_document);
	xmlSetGenericErrorFunc(first, keep_first);
	xsltSetGenericErrorFunc(first, keep_first);
	return usual;
}

static void release(xmlExternalEntityLoader usual)
{
	xmlSetExternalEntityLoader(usual);
	xsltSetLoaderFunc(NULL);
	xmlSetGenericErrorFunc(NULL, NULL);
	xsltSetGenericErrorFunc(NULL, NULL);
}

static int validate(xmlDocPtr doc, struct text rng, struct first_error *first, struct err *err)
{
	xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(rng.ptr, (int)rng.len);
	if (!parser)
		return err_nomem(err);
	xmlRelaxNGSetParserErrors(parser, keep_first, keep_first, first);
	xmlRelaxNGPtr schema = xmlRelaxNGParse(parser);
	xmlRelaxNGFreeParserCtxt(parser);
	if (!schema)
		return err_set(err, ERR_BUG, "report.rng is not a RELAX NG schema: %s", first->text);
	xmlRelaxNGValidCtxtPtr valid = xmlRelaxNGNewValidCtxt(schema);
	int rc = 0;
	if (!valid) {
		rc = err_nomem(err);
	} else {
		xmlRelaxNGSetValidErrors(valid, keep_first, keep_first, first);
		if (xmlRelaxNGValidateDoc(valid, doc) != 0)
			rc = err_set(err, ERR_BUG, "the report does not fit its own schema: %s", first->text);
	}
	xmlRelaxNGFreeValidCtxt(valid);
	xmlRelaxNGFree(schema);
	return rc;
}

int render_validate(xmlDocPtr doc, struct text rng, struct err *err)
{
	struct first_error first = {""};
	xmlExternalEntityLoader usual = confine(&first);
	int rc = validate(doc, rng, &first, err);
	release(usual);
	return rc;
}

static int transform(xsltStylesheetPtr style, xmlDocPtr doc, struct text css, struct buf *out,
		     struct first_error *first, struct err *err)
{
	xsltSecurityPrefsPtr sec = xsltNewSecurityPrefs();
	xsltTransformContextPtr ctx = xsltNewTransformContext(style, doc);
	int rc = 0;
	if (!sec || !ctx) {
		rc = err_nomem(err);
		goto out;
	}
	static const xsltSecurityOption all[] = {XSLT_SECPREF_READ_FILE, XSLT_SECPREF_WRITE_FILE,
						 XSLT_SECPREF_CREATE_DIRECTORY, XSLT_SECPREF_READ_NETWORK,
						 XSLT_SECPREF_WRITE_NETWORK};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		xsltSetSecurityPrefs(sec, all[i], xsltSecurityForbid);
	xsltSetCtxtSecurityPrefs(sec, ctx);
	xsltSetTransformErrorFunc(ctx, first, keep_first);
	if (xsltQuoteOneUserParam(ctx, (const xmlChar *)"css", (const xmlChar *)css.ptr)) {
		rc = err_set(err, ERR_BUG, "the stylesheet has no parameter css");
		goto out;
	}
	xmlDocPtr result = xsltApplyStylesheetUser(style, doc, NULL, NULL, NULL, ctx);
	if (!result || ctx->state != XSLT_STATE_OK) {
		rc = err_set(err, ERR_BUG, "the report cannot be rendered: %s", first->text);
	} else {
		xmlChar *bytes = NULL;
		int n = 0;
		if (xsltSaveResultToString(&bytes, &n, result, style))
			rc = err_nomem(err);
		else
			rc = buf_add(out, bytes ? (const char *)bytes : "", (size_t)n, err);
		xmlFree(bytes);
	}
	xmlFreeDoc(result);
out:
	xsltFreeTransformContext(ctx);
	xsltFreeSecurityPrefs(sec);
	return rc;
}

static int apply(xmlDocPtr doc, struct text xsl, struct text css, struct buf *out, struct first_error *first,
		 struct err *err)
{
	xmlDocPtr sheet = xmlReadMemory(xsl.ptr, (int)xsl.len, NULL, NULL, XML_PARSE_NONET);
	if (!sheet)
		return err_set(err, ERR_BUG, "a stylesheet is not well-formed: %s", first->text);
	xsltStylesheetPtr style = xsltParseStylesheetDoc(sheet); /* takes the document, unless it fails */
	if (!style) {
		xmlFreeDoc(sheet);
		return err_set(err, ERR_BUG, "a stylesheet is not XSLT: %s", first->text);
	}
	int rc = style->errors ? err_set(err, ERR_BUG, "a stylesheet is not XSLT: %s", first->text)
			       : transform(style, doc, css, out, first, err);
	xsltFreeStylesheet(style);
	return rc;
}

int render_apply(xmlDocPtr doc, struct text xsl, struct text css, struct buf *out, struct err *err)
{
	struct first_error first = {""};
	xmlExternalEntityLoader usual = confine(&first);
	int rc = apply(doc, xsl, css, out, &first, err);
	release(usual);
	return rc;
}
