/* SPDX-License-Identifier: Apache-2.0 */
/* side_file.c - XML that a person gives beside the case, valid by a schema of reports/ before anything is taken from it */
#include <libxml/parser.h>
#include <libxml/relaxng.h>
#include <string.h>

#include "side_file.h"

struct first_fault {
	char text[200];
	int line;
};

static void keep_fault(void *ctx, xmlErrorPtr e)
{
	struct first_fault *first = ctx;
	if (first->text[0] || !e || !e->message)
		return;
	snprintf(first->text, sizeof(first->text), "%.*s", (int)strcspn(e->message, "\n"), e->message);
	first->line = e->line;
}

static int refuse(const char *what, const struct first_fault *f, struct err *err)
{
	CLEANUP(buf_done) struct buf shown = BUF_INIT(4 * KIB);
	int rc = text_visible(text_of(f->text), 160, &shown, err);
	return rc ? rc
		  : err_set(err, ERR_INPUT, "the %s cannot be taken: line %d: %s", what, f->line,
			    shown.len ? shown.ptr : "not as its schema says");
}

static xmlRelaxNGPtr schema_of(const struct report_options *o, const char *name)
{
	struct text rng = asset_find(o->assets, o->n_assets, name);
	xmlRelaxNGParserCtxtPtr parser = rng.ptr ? xmlRelaxNGNewMemParserCtxt(rng.ptr, (int)rng.len) : NULL;
	xmlRelaxNGPtr schema = parser ? xmlRelaxNGParse(parser) : NULL;
	xmlRelaxNGFreeParserCtxt(parser);
	return schema;
}

static int validate(xmlDocPtr doc, const struct report_options *o, const char *schema, const char *what,
		    struct err *err)
{
	struct first_fault first = {.line = 0};
	xmlRelaxNGPtr s = schema_of(o, schema);
	xmlRelaxNGValidCtxtPtr valid = s ? xmlRelaxNGNewValidCtxt(s) : NULL;
	int rc = valid ? 0 : err_set(err, ERR_BUG, "no schema %s", schema);
	if (!rc)
		xmlRelaxNGSetValidStructuredErrors(valid, keep_fault, &first);
	if (!rc && xmlRelaxNGValidateDoc(valid, doc)) {
		rc = refuse(what, &first, err);
		err_hint(err, "see its schema, reports/%s", schema);
	}
	xmlRelaxNGFreeValidCtxt(valid);
	xmlRelaxNGFree(s);
	return rc;
}

/* Comments and instructions are not taken in, so that the text of an element is one piece. */
static xmlDocPtr parse(struct text content)
{
	xmlParserCtxtPtr parser = xmlNewParserCtxt();
	if (!parser)
		return NULL;
	parser->sax->comment = NULL;
	parser->sax->processingInstruction = NULL;
	xmlDocPtr doc = xmlCtxtReadMemory(parser, content.ptr ? content.ptr : "", (int)content.len, NULL, NULL,
					  XML_PARSE_NONET | XML_PARSE_NOCDATA);
	xmlFreeParserCtxt(parser);
	return doc;
}

int side_file_read(xmlDocPtr *ret, const struct report_options *o, const char *schema, const char *what,
		   struct text content, size_t max, struct err *err)
{
	struct first_fault first = {.line = 0};
	if (content.len > max)
		return err_set(err, ERR_INPUT, "the %s is larger than %zu bytes", what, max);
	xmlSetStructuredErrorFunc(&first, keep_fault);
	xmlDocPtr doc = parse(content);
	int rc = 0;
	if (!doc)
		rc = refuse(what, &first, err);
	else if (doc->intSubset) /* entities say one thing and mean another */
		rc = err_set(err, ERR_INPUT, "the %s has a document type: take it out", what);
	else
		rc = validate(doc, o, schema, what, err);
	xmlSetStructuredErrorFunc(NULL, NULL);
	if (rc) {
		xmlFreeDoc(doc);
		return rc;
	}
	*ret = doc;
	return 0;
}

struct text side_attr(xmlNodePtr node, const char *name)
{
	xmlAttrPtr a = node ? xmlHasProp(node, (const xmlChar *)name) : NULL;
	return a && a->children ? text_of((const char *)a->children->content) : (struct text){NULL, 0};
}

struct text side_text(xmlNodePtr node)
{
	return node && node->children && node->children->content
		   ? text_trim(text_of((const char *)node->children->content))
		   : (struct text){NULL, 0};
}

bool side_is(xmlNodePtr node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, name);
}

xmlNodePtr side_first(xmlNodePtr parent, const char *name)
{
	for (xmlNodePtr n = parent ? parent->children : NULL; n; n = n->next)
		if (side_is(n, name))
			return n;
	return NULL;
}

xmlNodePtr side_next(xmlNodePtr node)
{
	for (xmlNodePtr n = node->next; n; n = n->next)
		if (n->type == XML_ELEMENT_NODE && !xmlStrcmp(n->name, node->name))
			return n;
	return NULL;
}
