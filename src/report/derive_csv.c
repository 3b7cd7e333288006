/* SPDX-License-Identifier: Apache-2.0 */
/* derive_csv.c - tables of a document as comma-separated values (RFC 4180), for programs, or for people's spreadsheets
 *
 * A spreadsheet takes a cell that begins with =, +, - or @ for a formula, also when it came from a log. In the form for people such a
 * cell begins with an apostrophe; the form for programs has it as it is.
 */
#include "derive.h"

#include <string.h>

#include "pagetrail/limits.h"

struct sheet {
	struct buf *out;
	struct err *err;
	bool people;
	int rc;
};

int derive_csv_cell(struct buf *b, struct text t, struct err *err)
{
	int rc = buf_add_char(b, '"', err);
	for (size_t i = 0; i < t.len && !rc; i++)
		rc = buf_add_text(b, t.ptr[i] == '"' ? TEXT("\"\"") : text_sub(t, i, 1), err);
	return rc ? rc : buf_add_char(b, '"', err);
}

static void put(struct sheet *s, struct text t)
{
	if (!s->rc)
		s->rc = buf_add_text(s->out, t, s->err);
}

/* One cell, always quoted; number: a minus sign begins no formula. */
static void put_cell(struct sheet *s, struct text t, bool number, bool first)
{
	CLEANUP(buf_done) struct buf marked = BUF_INIT(64 * MIB);
	bool formula = s->people && !number && t.len && strchr("=+-@\t\r", t.ptr[0]);
	if (!first)
		put(s, TEXT(","));
	if (formula && !s->rc)
		s->rc = buf_add_char(&marked, '\'', s->err);
	if (formula && !s->rc)
		s->rc = buf_add_text(&marked, t, s->err);
	if (!s->rc)
		s->rc = derive_csv_cell(s->out, formula ? buf_text(&marked) : t, s->err);
}

int derive_csv_list(xmlNodePtr cell, struct buf *b, struct err *err)
{
	int rc = 0;
	for (xmlNodePtr c = derive_element(cell->children); c && !rc; c = derive_element(c->next)) {
		struct text name = derive_attribute(c, "name");
		rc = buf_add_text(b, b->len ? TEXT("; ") : TEXT(""), err);
		if (!rc)
			rc = buf_add_text(b, name, err);
		if (!rc && name.len)
			rc = buf_add_char(b, ' ', err);
		if (!rc)
			rc = buf_add_text(b, derive_words(c), err);
	}
	return rc;
}

static void put_list(struct sheet *s, xmlNodePtr cell, bool first)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB);
	if (!s->rc)
		s->rc = derive_csv_list(cell, &b, s->err);
	put_cell(s, buf_text(&b), false, first);
}

static void begin(struct sheet *s)
{
	put(s, s->people ? TEXT("\xef\xbb\xbf") : TEXT("")); /* without a mark spreadsheets take it for an older code */
}

int derive_csv(xmlNodePtr table, bool people, struct buf *out, struct err *err)
{
	struct sheet s = {out, err, people, 0};
	xmlNodePtr first = derive_element(table->children), row = first;
	begin(&s);
	for (; row && !strcmp((const char *)row->name, "column"); row = derive_element(row->next))
		put_cell(&s, derive_attribute(row, people ? "label" : "name"), false, row == first);
	put(&s, TEXT("\r\n"));
	for (; row && !s.rc; row = derive_element(row->next)) {
		xmlNodePtr column = first;
		for (xmlNodePtr c = derive_element(row->children); c && column;
		     c = derive_element(c->next), column = derive_element(column->next)) {
			struct text type = derive_attribute(column, "type");
			if (derive_element(c->children))
				put_list(&s, c, column == first);
			else
				put_cell(&s,
					 people && derive_attribute(c, "unknown").len ? TEXT("unknown")
										      : derive_words(c),
					 text_is(type, "integer") || text_is(type, "real"), column == first);
		}
		put(&s, TEXT("\r\n"));
	}
	return s.rc;
}

int derive_csv_numbers(xmlDocPtr doc, bool people, struct buf *out, struct err *err)
{
	static const char *const columns[] = {"id",   "value",    "band",       "count", "unit",
					      "flag", "at-least", "population", "of",    "percent"};
	struct sheet s = {out, err, people, 0};
	begin(&s);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		put_cell(&s, text_of(columns[i]), false, !i);
	put(&s, TEXT(",\"text\"\r\n"));
	for (xmlNodePtr list = derive_element(xmlDocGetRootElement(doc)->children); list && !s.rc;
	     list = derive_element(list->next)) {
		if (strcmp((const char *)list->name, "numbers") != 0 && strcmp((const char *)list->name, "limits") != 0)
			continue;
		for (xmlNodePtr n = derive_element(list->children); n && !s.rc; n = derive_element(n->next)) {
			for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
				put_cell(&s,
					 i || derive_attribute(n, "id").len ? derive_attribute(n, columns[i])
									    : text_of((const char *)n->name),
					 false, !i);
			put_cell(&s, derive_words(n), false, false);
			put(&s, TEXT("\r\n"));
		}
	}
	return s.rc;
}
