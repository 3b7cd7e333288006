/* SPDX-License-Identifier: Apache-2.0 */
/* render.c - validation and rendering of the canonical XML
 *
 * A stylesheet shows; it may not read or write files or the network, and computes nothing that the document does not
 * say. Threads: libxml2's error handler is set per call and reset; reports are written by one thread.
 */
#include <libxml/parser.h>
#include <libxml/relaxng.h>
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

int render_validate(xmlDocPtr doc, struct text rng, struct err *err)
{
	struct first_error first = {""};
	xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt(rng.ptr, (int)rng.len);
	if (!parser)
		return err_nomem(err);
	xmlRelaxNGSetParserErrors(parser, keep_first, keep_first, &first);
	xmlRelaxNGPtr schema = xmlRelaxNGParse(parser);
	xmlRelaxNGFreeParserCtxt(parser);
	if (!schema)
		return err_set(err, ERR_BUG, "report.rng is not a RELAX NG schema: %s", first.text);
	xmlRelaxNGValidCtxtPtr valid = xmlRelaxNGNewValidCtxt(schema);
	int rc = 0;
	if (!valid) {
		rc = err_nomem(err);
	} else {
		xmlRelaxNGSetValidErrors(valid, keep_first, keep_first, &first);
		if (xmlRelaxNGValidateDoc(valid, doc) != 0)
			rc = err_set(err, ERR_BUG, "the report does not fit its own schema: %s", first.text);
	}
	xmlRelaxNGFreeValidCtxt(valid);
	xmlRelaxNGFree(schema);
	return rc;
}

static int transform(xsltStylesheetPtr style, xmlDocPtr doc, struct text css, struct buf *out, struct err *err)
{
	struct first_error first = {""};
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
	xsltSetTransformErrorFunc(ctx, &first, keep_first);
	if (xsltQuoteOneUserParam(ctx, (const xmlChar *)"css", (const xmlChar *)css.ptr)) {
		rc = err_set(err, ERR_BUG, "the stylesheet has no parameter css");
		goto out;
	}
	xmlDocPtr result = xsltApplyStylesheetUser(style, doc, NULL, NULL, NULL, ctx);
	if (!result || ctx->state != XSLT_STATE_OK) {
		rc = err_set(err, ERR_BUG, "the report cannot be rendered: %s", first.text);
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

int render_apply(xmlDocPtr doc, struct text xsl, struct text css, struct buf *out, struct err *err)
{
	xmlDocPtr sheet =
	    xmlReadMemory(xsl.ptr, (int)xsl.len, NULL, NULL, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	if (!sheet)
		return err_set(err, ERR_BUG, "a stylesheet is not well-formed");
	xsltStylesheetPtr style = xsltParseStylesheetDoc(sheet); /* takes the document */
	if (!style) {
		xmlFreeDoc(sheet);
		return err_set(err, ERR_BUG, "a stylesheet is not XSLT");
	}
	int rc = transform(style, doc, css, out, err);
	xsltFreeStylesheet(style);
	return rc;
}
