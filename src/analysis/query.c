/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - the header of an embedded query: parsed once, and the only documentation of the query
 *
 *   -- SPDX-License-Identifier: …        first line of the file
 *   -- NAME: title                       NAME is the file's name
 *   -- question: what it answers
 *   -- param:  :name type unit  help     any number; the unit "required": it has to be given
 *   -- column: name type unit  help      one for each column of the result, in order; unit - means none
 *   -- order:  column, column
 *   -- empty:  what an empty answer means
 *   -- scan:   allowed                   optional: may read all events
 *
 * The header ends at the first line that is no comment. A key that is not in this list is an error: a misspelt one
 * would be documentation that nobody reads.
 */
#include "pagetrail/analysis.h"

#include <stdlib.h>

#define QUERY_COLUMNS_MAX 128

static int header_fault(const struct query_text *q, unsigned line, const char *what, struct text near, struct err *err)
{
	err_set(err, ERR_BUG, "%s: '%.*s'", what, TEXT_ARG(text_sub(near, 0, 100)));
	return err_where(err, "query %s, line %u", q->name, line);
}

static struct text word(struct text *rest)
{
	size_t n = 0;
	*rest = text_trim(*rest);
	while (n < rest->len && rest->ptr[n] != ' ' && rest->ptr[n] != '\t')
		n++;
	struct text w = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n);
	return w;
}

static bool is_name(struct text t)
{
	bool good = t.len > 0 && (t.ptr[0] < '0' || t.ptr[0] > '9');
	for (size_t i = 0; i < t.len; i++)
		good &= (t.ptr[i] >= 'a' && t.ptr[i] <= 'z') || (t.ptr[i] >= 'A' && t.ptr[i] <= 'Z') ||
			(t.ptr[i] >= '0' && t.ptr[i] <= '9') || t.ptr[i] == '_';
	return good;
}

static bool is_type(struct text t)
{
	static const char *const types[] = {"text", "integer", "real", "json", "tri", "time", "bool"};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_is(t, types[i]))
			return true;
	return false;
}

/* "name type unit  help": two blanks end the unit, which may be several words; "-" is no unit. */
static const char *column_parse(struct text value, bool param, struct query_column *ret)
{
	struct text rest = value;
	ret->name = word(&rest);
	ret->type = word(&rest);
	struct text bare = param && text_starts(ret->name, ":") ? text_from(ret->name, 1) : ret->name;
	if (!is_name(bare) || (param && bare.len == ret->name.len))
		return param ? "a parameter is ':name type unit  help'" : "a column is 'name type unit  help'";
	if (!is_type(ret->type))
		return "type is one of text integer real json tri time bool";
	rest = text_trim(rest);
	size_t at = text_find(rest, "  ", 0), tab = text_find_char(rest, '\t', 0);
	at = MIN(at, tab);
	if (at == SIZE_MAX)
		at = text_find_char(rest, ' ', 0);
	ret->unit = text_sub(rest, 0, at);
	ret->help = at == SIZE_MAX ? (struct text){NULL, 0} : text_trim(text_from(rest, at));
	ret->required = param && text_is(ret->unit, "required");
	if (text_is(ret->unit, "-") || ret->required)
		ret->unit = (struct text){NULL, 0};
	return NULL;
}

static int column_add(struct query_column **list, unsigned *n, struct text value, bool param, const char **ret_fault,
		      struct err *err)
{
	struct query_column c;
	*ret_fault = column_parse(value, param, &c);
	for (unsigned i = 0; i < *n && !*ret_fault; i++)
		if (text_eq((*list)[i].name, c.name))
			*ret_fault = "this name is taken";
	if (!*ret_fault && *n == QUERY_COLUMNS_MAX)
		*ret_fault = "too many columns";
	if (*ret_fault)
		return 0;
	if (!*list)
		*list = calloc(QUERY_COLUMNS_MAX, sizeof(**list));
	if (!*list)
		return err_nomem(err);
	(*list)[(*n)++] = c;
	return 0;
}

static const char *single(struct text *to, struct text value)
{
	if (to->ptr)
		return "this key was given before";
	if (!value.len)
		return "this key needs a text";
	*to = value;
	return NULL;
}

static int header_key(const struct query_text *q, struct query_info *ret, struct text key, struct text value,
		      const char **ret_fault, struct err *err)
{
	*ret_fault = NULL;
	if (!ret->name.ptr) {
		if (!text_is(key, q->name))
			*ret_fault = "the first key is the query's own name";
		ret->name = key;
		if (!*ret_fault)
			*ret_fault = single(&ret->title, value);
	} else if (text_is(key, "question")) {
		*ret_fault = single(&ret->question, value);
	} else if (text_is(key, "order")) {
		*ret_fault = single(&ret->order, value);
	} else if (text_is(key, "empty")) {
		*ret_fault = single(&ret->empty, value);
	} else if (text_is(key, "scan")) {
		if (!text_is(value, "allowed") || ret->scan_allowed)
			*ret_fault = "scan is 'allowed', once, or absent";
		ret->scan_allowed = true;
	} else if (text_is(key, "column")) {
		return column_add(&ret->columns, &ret->n_columns, value, false, ret_fault, err);
	} else if (text_is(key, "param")) {
		return column_add(&ret->params, &ret->n_params, value, true, ret_fault, err);
	} else {
		*ret_fault = "unknown key";
	}
	return 0;
}

/* Every column of the order must exist. */
static bool order_known(const struct query_info *info, struct text *ret_name)
{
	struct text rest = info->order, part;
	while (text_split(&rest, ',', &part)) {
		struct text w = word(&part);
		bool found = false;
		for (unsigned i = 0; i < info->n_columns; i++)
			found |= text_eq(info->columns[i].name, w);
		*ret_name = w;
		if (!found)
			return false;
	}
	return true;
}

static int header_complete(const struct query_text *q, const struct query_info *info, unsigned line, struct err *err)
{
	struct text name = info->order;
	const char *missing = !info->title.ptr      ? "no title"
			      : !info->question.ptr ? "no question"
			      : !info->n_columns    ? "no column"
			      : !info->order.ptr    ? "no order"
			      : !info->empty.ptr    ? "no empty"
						    : NULL;
	if (missing)
		return header_fault(q, line, "the header is not complete", text_of(missing), err);
	if (!order_known(info, &name))
		return header_fault(q, line, "order names a column that is not declared", name, err);
	return 0;
}

int query_info_parse(const struct query_text *q, struct query_info *ret, struct err *err)
{
	struct text rest = text_of(q->sql), line;
	unsigned no = 0;
	*ret = (struct query_info){0};
	while (text_split(&rest, '\n', &line)) {
		const char *fault = NULL;
		line = text_chomp(line);
		if (!text_starts(line, "--"))
			break;
		no++;
		struct text body = text_trim(text_from(line, 2));
		if (no == 1 && text_starts(body, "SPDX-License-Identifier:"))
			continue;
		size_t colon = text_find_char(body, ':', 0);
		if (colon == SIZE_MAX || !is_name(text_sub(body, 0, colon)))
			return header_fault(q, no, "a header line is '-- key: text'", line, err);
		int res =
		    header_key(q, ret, text_sub(body, 0, colon), text_trim(text_from(body, colon + 1)), &fault, err);
		if (res)
			return res;
		if (fault)
			return header_fault(q, no, fault, body, err);
	}
	return header_complete(q, ret, no, err);
}

void query_info_done(struct query_info *q)
{
	free(q->columns);
	free(q->params);
	*q = (struct query_info){0};
}

const struct query_text *query_find(const struct query_text *list, size_t n, struct text name)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(name, list[i].name))
			return &list[i];
	return NULL;
}
