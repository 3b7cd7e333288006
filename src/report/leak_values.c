/* SPDX-License-Identifier: Apache-2.0 */
/* leak_values.c - the values of a document, each by itself: is it the form's, or did somebody say it?
 *
 * A name that is a common word cannot be told from that word in a page. In the document it can: a value of the form is one of its lines, whole.
 * Any other value came from the case or from a person, and no name of another may stand in it. All other forms are made of the document alone.
 */
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "leak.h"
#include "pagetrail/array.h"
#include "pagetrail/limits.h"

void leak_form_done(struct leak_form *f)
{
	free(f->lines);
	*f = (struct leak_form){NULL};
}

static int add_line(struct leak_form *f, struct text line, struct err *err)
{
	if (!line.len)
		return 0;
	if (grow_array((void **)&f->lines, &f->cap, f->n, sizeof(*f->lines), err))
		return ERR_NOMEM;
	f->lines[f->n++] = text_hash(line);
	f->sorted = false;
	return 0;
}

/* "class=Class,started_at=Began (exact)" */
static int add_parts(struct leak_form *f, struct text line, struct err *err)
{
	struct text part, name;
	int rc = 0;
	while (!rc && text_split(&line, ',', &part))
		while (!rc && text_split(&part, '=', &name))
			rc = add_line(f, name, err);
	return rc;
}

static int add_quoted(struct leak_form *f, struct text t, struct err *err)
{
	int rc = 0;
	for (size_t i = 0, from = 0; !rc && i < t.len; i++)
		if (t.ptr[i] == '\'') {
			rc = from ? add_line(f, text_sub(t, from, i - from), err) : 0;
			from = from ? 0 : i + 1;
		}
	return rc;
}

int leak_form_add(struct leak_form *f, struct text lines, struct err *err)
{
	struct text rest = lines, line;
	int rc = 0;
	while (!rc && text_split(&rest, '\n', &line)) {
		rc = add_line(f, line, err);
		if (!rc)
			rc = add_parts(f, line, err);
		if (!rc)
			rc = add_quoted(f, line, err);
	}
	return rc;
}

static int hash_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

struct walk {
	struct leak *l;
	struct leak_form *form;
	uint32_t own;
	struct leak_hit *hit;
	struct err *err;
};

static bool is_form(const struct walk *w, struct text value)
{
	uint64_t hash = text_hash(value);
	return w->form->n && bsearch(&hash, w->form->lines, w->form->n, sizeof(hash), hash_cmp);
}

static bool is(xmlNodePtr n, const char *name)
{
	return !strcmp((const char *)n->name, name);
}

/* Whose words stand there: of the program, or of a row of the case, or of a person? theirs: what the element around it is. */
static bool is_theirs(xmlNodePtr n, xmlNodePtr column, bool theirs)
{
	static const char *const elements[] = {"case-id", "case-title", "tenant", "parameter", "note", "inventory"};
	static const char *const columns[] = {"request", "response_ids", "model"};
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++)
		if (is(n, elements[i]))
			return true;
	for (size_t i = 0; column && i < ARRAY_SIZE(columns); i++)
		if (text_is(derive_attribute(column, "name"), columns[i]))
			return true;
	return theirs || derive_attribute(n, "state").len;
}

static int look_at_value(struct walk *w, xmlNodePtr text, bool theirs)
{
	struct text value = text_trim(text_of(text ? (const char *)text->content : ""));
	if (!value.len || (!theirs && is_form(w, value)))
		return 0;
	return leak_search_value(w->l, value, w->own, w->hit, w->err);
}

/* What the program writes there no form can know: which key signed, which policy is built in. */
static int take_programs(struct walk *w, xmlNodePtr n)
{
	bool built_in = is(n, "policy") && text_is(derive_attribute(n, "flag"), "built-in");
	if (!built_in && !is(n, "signature"))
		return 0;
	int rc = leak_common(w->l, derive_words(n), w->err);
	if (!rc)
		rc = leak_common(w->l, derive_attribute(n, "id"), w->err);
	return rc ? rc : 1;
}

/* Attributes are the form's, or searched. column: of a row's cell. */
static int look_at_element(struct walk *w, xmlNodePtr n, xmlNodePtr column, bool theirs)
{
	int rc = take_programs(w, n);
	if (rc)
		return MIN(rc, 0);
	theirs = is_theirs(n, column, theirs);
	for (xmlAttrPtr a = n->properties; a && !rc; a = a->next)
		rc = look_at_value(w, a->children, false);
	column = is(n, "row") && n->parent ? derive_element(n->parent->children) : column;
	for (xmlNodePtr c = n->children; c && !rc; c = c->next) {
		if (c->type == XML_TEXT_NODE)
			rc = look_at_value(w, c, theirs);
		if (c->type != XML_ELEMENT_NODE)
			continue;
		rc = look_at_element(w, c, column, theirs);
		if (is(c, "cell") && column)
			column = derive_element(column->next);
	}
	return rc;
}

int leak_search_document(struct leak *l, struct leak_form *f, struct text xml, uint32_t own, struct leak_hit *ret,
			 struct err *err)
{
	struct walk w = {.l = l, .form = f, .own = own, .hit = ret, .err = err};
	if (!f->sorted && f->n)
		qsort(f->lines, f->n, sizeof(*f->lines), hash_cmp);
	f->sorted = true;
	xmlDocPtr doc = xml.len <= INT32_MAX
			    ? xmlReadMemory(xml.ptr, (int)xml.len, NULL, NULL,
					    XML_PARSE_NONET | XML_PARSE_HUGE | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)
			    : NULL;
	if (!doc)
		return err_set(err, ERR_IO, "the document that was written cannot be read back");
	int rc = look_at_element(&w, xmlDocGetRootElement(doc), NULL, false);
	xmlFreeDoc(doc);
	return rc;
}
