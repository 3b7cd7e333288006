/* SPDX-License-Identifier: Apache-2.0 */
/* derive.h - private to report: what a document says, in other forms. They compute nothing, and leave nothing out but figures, which
 * are drawn from its tables. */
#pragma once

#include <libxml/tree.h>

#include "pagetrail/buf.h"

/* Elements as members of their own name, lists of them as arrays; cells have the type of their column. */
int derive_json(xmlDocPtr doc, struct buf *out, struct err *err) MUST_CHECK;
/* As text, or as Markdown (CommonMark with tables), in which no text of the document is markup. */
int derive_text(xmlDocPtr doc, bool markdown, struct buf *out, struct err *err) MUST_CHECK;
/* One cell, quoted (RFC 4180). */
int derive_csv_cell(struct buf *b, struct text t, struct err *err) MUST_CHECK;
/* A table, or numbers and limits; for programs as it is, for people's spreadsheets with labels, and no cell that is a formula. */
int derive_csv(xmlNodePtr table, bool people, struct buf *out, struct err *err) MUST_CHECK;
int derive_csv_numbers(xmlDocPtr doc, bool people, struct buf *out, struct err *err) MUST_CHECK;

/* A list in a cell, in one text: its parts, with what they are called; appended. */
int derive_csv_list(xmlNodePtr cell, struct buf *b, struct err *err) MUST_CHECK;
/* Numbers and tables as a workbook, of whose time of making made_ns is (TIME_UNKNOWN: none). */
int derive_xlsx(xmlDocPtr doc, int64_t made_ns, struct buf *out, struct err *err) MUST_CHECK;
/* The words of each cell of such a workbook, and the names of its sheets, a line each; ERR_IO when it is not whole. */
int xlsx_words(struct text file, struct buf *out, struct err *err) MUST_CHECK;

/* derive_form.c: the words that these forms have whatever the document holds, and names of files and seals; appended. */
int derive_form(struct buf *out, struct err *err) MUST_CHECK;

/* --- the tree: from n on the first element, NULL none; an attribute, empty when it is not there; the words of an element without others --- */
static inline xmlNodePtr derive_element(xmlNodePtr n)
{
	while (n && n->type != XML_ELEMENT_NODE)
		n = n->next;
	return n;
}

static inline struct text derive_attribute(xmlNodePtr n, const char *name)
{
	xmlAttrPtr a = xmlHasProp(n, (const xmlChar *)name);
	return a && a->children ? text_of((const char *)a->children->content) : TEXT("");
}

static inline struct text derive_words(xmlNodePtr n)
{
	xmlNodePtr t = n->children;
	return t && t->type == XML_TEXT_NODE && !derive_element(t) ? text_of((const char *)t->content) : TEXT("");
}
