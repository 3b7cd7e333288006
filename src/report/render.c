/* SPDX-License-Identifier: Apache-2.0 */
/* render.c - validation and rendering of the canonical XML
 *
 * A stylesheet shows; it may not read or write files or the network, and computes nothing that the document does not say. It may
 * import another one that is embedded. Threads: the loaders and error handlers of libxml2 and libxslt are replaced for the
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
#include <stdlib.h>
#include <string.h>

#include "facts.h"

enum { SHEETS_MAX = 8 };

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

struct render {
	const struct report_asset *assets;
	size_t n_assets;
	xmlRelaxNGPtr schema;
	struct text css;
	struct {
		const char *name;
		xsltStylesheetPtr style;
	} sheets[SHEETS_MAX];
	size_t n_sheets;
};

/* libxslt's loader has no argument of its own */
static _Thread_local const struct render *loading;

struct text asset_find(const struct report_asset *assets, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(assets[i].name, name))
			return text_of(assets[i].text);
	return (struct text){NULL, 0};
}

static struct text asset(const struct render *r, const char *name)
{
	return asset_find(r->assets, r->n_assets, name);
}

/* An import of another embedded sheet is all that is loaded. */
static xmlDocPtr embedded_document(const xmlChar *url, xmlDictPtr dict, int options, void *ctx, xsltLoadType type)
{
	(void)options;
	(void)ctx;
	struct text t = {NULL, 0};
	if (type == XSLT_LOAD_STYLESHEET && loading && text_ends(text_of((const char *)url), ".xsl"))
		t = asset(loading, (const char *)url);
	xmlParserCtxtPtr parser = t.ptr ? xmlNewParserCtxt() : NULL;
	if (!parser)
		return NULL;
	/* names of both sheets are compared by their place in one dictionary */
	if (dict) {
		xmlDictFree(parser->dict);
		parser->dict = dict;
		xmlDictReference(dict);
	}
	xmlDocPtr doc = xmlCtxtReadMemory(parser, t.ptr, (int)t.len, NULL, NULL, XML_PARSE_NONET);
	xmlFreeParserCtxt(parser);
	return doc;
}

/* Nothing is loaded, and nothing printed, until release(). */
static xmlExternalEntityLoader confine(struct first_error *first)
{
	xmlExternalEntityLoader usual = xmlGetExternalEntityLoader();
	xmlSetExternalEntityLoader(no_entity);
	xsltSetLoaderFunc(embedded_document);
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

static int parse_schema(struct render *r, struct first_error *first, struct err *err)
{
	struct text rng = asset(r, "report.rng");
	xmlRelaxNGParserCtxtPtr parser = rng.ptr ? xmlRelaxNGNewMemParserCtxt(rng.ptr, (int)rng.len) : NULL;
	if (!rng.ptr)
		return err_set(err, ERR_BUG, "an embedded file of the report is missing");
	if (!parser)
		return err_nomem(err);
	xmlRelaxNGSetParserErrors(parser, keep_first, keep_first, first);
	r->schema = xmlRelaxNGParse(parser);
	xmlRelaxNGFreeParserCtxt(parser);
	return r->schema ? 0 : err_set(err, ERR_BUG, "report.rng is not a RELAX NG schema: %s", first->text);
}

int render_open(struct render **ret, const struct report_asset *assets, size_t n, struct err *err)
{
	struct first_error first = {""};
	struct render *r = calloc(1, sizeof(*r));
	if (!r)
		return err_nomem(err);
	r->assets = assets;
	r->n_assets = n;
	r->css = asset(r, "style.css");
	xmlExternalEntityLoader usual = confine(&first);
	int rc = r->css.ptr ? parse_schema(r, &first, err)
			    : err_set(err, ERR_BUG, "an embedded file of the report is missing");
	release(usual);
	if (rc) {
		render_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void render_close(struct render *r)
{
	if (!r)
		return;
	xmlRelaxNGFree(r->schema);
	for (size_t i = 0; i < r->n_sheets; i++)
		xsltFreeStylesheet(r->sheets[i].style);
	free(r);
}

static int validate(struct render *r, xmlDocPtr doc, struct first_error *first, struct err *err)
{
	xmlRelaxNGValidCtxtPtr valid = xmlRelaxNGNewValidCtxt(r->schema);
	if (!valid)
		return err_nomem(err);
	xmlRelaxNGSetValidErrors(valid, keep_first, keep_first, first);
	int rc = xmlRelaxNGValidateDoc(valid, doc)
		     ? err_set(err, ERR_BUG, "the report does not fit its own schema: %s", first->text)
		     : 0;
	xmlRelaxNGFreeValidCtxt(valid);
	return rc;
}

int render_validate(struct render *r, xmlDocPtr doc, struct err *err)
{
	struct first_error first = {""};
	xmlExternalEntityLoader usual = confine(&first);
	int rc = validate(r, doc, &first, err);
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

static int sheet_of(struct render *r, const char *name, xsltStylesheetPtr *ret, struct first_error *first,
		    struct err *err)
{
	struct text xsl = asset(r, name);
	for (size_t i = 0; i < r->n_sheets; i++)
		if (!strcmp(r->sheets[i].name, name)) {
			*ret = r->sheets[i].style;
			return 0;
		}
	if (!xsl.ptr || r->n_sheets == SHEETS_MAX)
		return err_set(err, ERR_BUG, "an embedded file of the report is missing");
	xmlDocPtr sheet = xmlReadMemory(xsl.ptr, (int)xsl.len, NULL, NULL, XML_PARSE_NONET);
	if (!sheet)
		return err_set(err, ERR_BUG, "a stylesheet is not well-formed: %s", first->text);
	loading = r;
	xsltStylesheetPtr style = xsltParseStylesheetDoc(sheet); /* takes the document, unless it fails */
	loading = NULL;
	if (!style || style->errors) {
		if (style)
			xsltFreeStylesheet(style);
		else
			xmlFreeDoc(sheet);
		return err_set(err, ERR_BUG, "a stylesheet is not XSLT: %s", first->text);
	}
	r->sheets[r->n_sheets].name = name;
	r->sheets[r->n_sheets++].style = style;
	*ret = style;
	return 0;
}

int render_apply(struct render *r, xmlDocPtr doc, const char *sheet, struct buf *out, struct err *err)
{
	struct first_error first = {""};
	xsltStylesheetPtr style = NULL;
	xmlExternalEntityLoader usual = confine(&first);
	int rc = sheet_of(r, sheet, &style, &first, err);
	if (!rc)
		rc = transform(style, doc, r->css, out, &first, err);
	release(usual);
	return rc;
}
