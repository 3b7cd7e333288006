/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - the numbers of the document, and the limits that follow from them
 *
 * A number says its unit, how it came about (flag), and of which population it is a part, with its share. While gaps
 * are known, what was counted is "at least": the document says so at the number. While some may be counted twice, neither that
 * nor a share would be true. Windows are half-open: 'first' is the
 * exact first instant, 'before' the whole second behind the last one; for the public both are whole hours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/stamp.h"

enum { TIMES = 8 };
static const char *const time_names[TIMES] = {"affected-first",  "affected-last", "exposed-first", "population-first",
					      "population-last", "served-last",   "first-fixed",   "judged-at"};

struct windows {
	int64_t time[TIMES];
	bool trigger, build;
};

static int number_at(const struct facts *f, const char *id)
{
	for (size_t i = 0; i < f->kind->numbers->n_numbers; i++)
		if (!strcmp(f->kind->numbers->numbers[i].id, id))
			return (int)i;
	return -1;
}

int64_t number_value(const struct facts *f, const char *id)
{
	int at = number_at(f, id);
	return at < 0 ? 0 : f->cells[at].value;
}

bool number_any(const struct facts *f, const char *ids)
{
	struct text rest = text_of(ids), id;
	while (text_split(&rest, ' ', &id))
		for (size_t i = 0; i < f->kind->numbers->n_numbers; i++)
			if (text_is(id, f->kind->numbers->numbers[i].id) && f->cells[i].value)
				return true;
	return false;
}

int own_params(const struct facts *f, struct sql *s)
{
	int rc = sql_param(s, ":at") ? sql_int(s, sql_param(s, ":at"), f->o->deploy_at_ns, f->err) : 0;
	if (!rc && sql_param(s, ":as_of"))
		rc = sql_int(s, sql_param(s, ":as_of"), f->o->deploy_age_ns, f->err);
	if (!rc && sql_param(s, ":inventory"))
		rc = sql_int(s, sql_param(s, ":inventory"), f->o->params && f->o->params->inventory, f->err);
	if (!rc && sql_param(s, ":after_seq"))
		rc = sql_int(s, sql_param(s, ":after_seq"), delta_after_seq(f), f->err);
	return rc;
}

/* What a statement gave: one row. Those of the whole case are asked once a run, whatever number of documents has them. */
struct counted {
	const char *statement;
	int n;
	struct {
		char name[32];
		int64_t value;
		bool null;
	} columns[NUMBERS_MAX];
	struct counted *next;
};

void numbers_free(struct counted *c)
{
	for (struct counted *next; c; c = next) {
		next = c->next;
		free(c);
	}
}

static int ask(struct facts *f, struct sql *s, struct counted *c)
{
	int rc = sql_step(s, f->err);
	c->n = sql_columns(s);
	if (rc != 1 || c->n > NUMBERS_MAX)
		return rc < 0 ? rc : err_set(f->err, ERR_BUG, "no totals");
	for (int i = 0; i < c->n; i++) {
		snprintf(c->columns[i].name, sizeof(c->columns[i].name), "%s", sql_column_name(s, i));
		c->columns[i].null = sql_type(s, i) == SQL_NULL;
		c->columns[i].value = sql_type(s, i) == SQL_INT ? sql_get_int(s, i) : (int64_t)sql_get_real(s, i);
	}
	return 0;
}

static int count(struct facts *f, const char *text, const struct counted **ret)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct counted *c = NULL;
	for (struct counted *k = f->counted; k; k = k->next) {
		if (k->statement == text) {
			*ret = k;
			return 0;
		}
		c = k->statement ? c : k; /* one that nobody asks for again */
	}
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return err_nomem(f->err);
		c->next = f->counted;
		f->counted = c;
	}
	*ret = c;
	int rc = kept_prepare(&s, f, text, f->err);
	bool one = !rc && sql_param(s, ":tenant");
	if (one)
		rc = sql_text(s, sql_param(s, ":tenant"), f->tenant, f->err);
	if (!rc)
		rc = own_params(f, s);
	if (!rc)
		rc = ask(f, s, c);
	c->statement = one || rc ? NULL : text; /* of one tenant: not again */
	return rc;
}

/* Names of columns are the ids. */
static int count_with(struct facts *f, const char *text, struct windows *w)
{
	const struct counted *c = NULL;
	int rc = count(f, text, &c);
	for (int i = 0; !rc && i < c->n; i++) {
		const char *name = c->columns[i].name;
		int at = number_at(f, name);
		bool null = c->columns[i].null;
		int64_t value = c->columns[i].value;
		for (int k = 0; k < TIMES; k++)
			if (!strcmp(name, time_names[k]))
				w->time[k] = null ? TIME_UNKNOWN : value;
		if (at >= 0)
			f->cells[at] = (struct cell){.value = value, .known = !null};
		else if (!strcmp(name, "trigger-stands"))
			w->trigger = null || value;
		else if (!strcmp(name, "build-stands"))
			w->build = null || value;
	}
	return rc;
}

static int put_share(struct facts *f, xmlNodePtr node, int64_t value, int64_t of, bool unsure)
{
	char tmp[64];
	int rc = put_attr_int(f, node, "of", of);
	if (rc || of <= 0 || unsure)
		return rc;
	/* rounding never makes something nothing, or a part the whole */
	int64_t parts = (int64_t)(((double)value / (double)of) * 10000.0 + 0.5);
	bool few = value > 0 && parts == 0, most = value < of && parts >= 10000;
	parts = few ? 1 : most ? 9999 : parts;
	snprintf(tmp, sizeof(tmp), "%s%lld.%02lld",
		 few    ? "<"
		 : most ? ">"
			: "",
		 (long long)(parts / 100), (long long)(parts % 100));
	return put_attr(f, node, "percent", text_of(tmp));
}

const char *band_of(int64_t n)
{
	return n <= 0 ? "0" : n == 1 ? "1" : n <= 5 ? "2-5" : "more than 5";
}

static int put_value(struct facts *f, xmlNodePtr node, const struct number *k, const struct cell *cell)
{
	if (k->how & BANDED)
		return put_attr(f, node, "band", text_of(band_of(cell->value)));
	if (cell->shown == CELL_FEW)
		return put_attr(f, node, "band", TEXT("fewer than 5"));
	if (cell->shown == CELL_WITHHELD)
		return put_attr(f, node, "band", TEXT("withheld"));
	return put_attr_int(f, node, "value", cell->value);
}

static int put_number(struct facts *f, xmlNodePtr parent, const struct number *k)
{
	const struct cell *cell = &f->cells[number_at(f, k->id)];
	bool unsure = number_value(f, "twice") > 0 && (!strcmp(k->unit, "responses") || !strcmp(k->unit, "requests"));
	if (!cell->known || k->how & HIDDEN)
		return 0;
	xmlNodePtr node = put_node(f, parent, "number");
	int rc = put_attr(f, node, "id", text_of(k->id));
	if (!rc)
		rc = put_value(f, node, k, cell);
	if (!rc)
		rc = put_attr(f, node, "unit", text_of(k->unit));
	if (!rc)
		rc = put_attr(f, node, "flag", k->how & AT_MOST ? TEXT("upper-bound") : TEXT("counted"));
	if (!rc && k->how & FOUND && !unsure && number_value(f, "gaps") > 0)
		rc = put_attr(f, node, "at-least", TEXT("true"));
	int of = k->population ? number_at(f, k->population) : -1;
	if (rc || of < 0 || !f->cells[of].known)
		return rc;
	rc = put_attr(f, node, "population", text_of(k->population));
	return !rc && !cell->shown && !f->cells[of].shown ? put_share(f, node, cell->value, f->cells[of].value, unsure)
							  : rc;
}

/* The first instant at or before, or behind, that is a multiple of the step. */
static int64_t step_before(int64_t ns, int64_t step)
{
	int64_t left = ns % step < 0 ? ns % step + step : ns % step;
	return ns == TIME_UNKNOWN || ns < INT64_MIN + 1 + left ? ns : ns - left;
}

static int64_t step_after(int64_t ns, int64_t step)
{
	int64_t before = step_before(ns, step);
	return ns == TIME_UNKNOWN || before > INT64_MAX - step ? ns : before + step;
}

static int put_times(struct facts *f, xmlNodePtr parent, const struct windows *w)
{
	bool exact = f->kind->readers != READERS_PUBLIC;
	int64_t step = exact ? NS_PER_S : 3600 * NS_PER_S;
	int rc = 0;
	for (int i = 0; !rc && i < TIMES; i++) {
		bool last = i == 1 || i == 4;
		if (exact || !last)
			rc = put_time(f, parent, time_names[i], exact ? w->time[i] : step_before(w->time[i], step));
	}
	if (!rc)
		rc = put_time(f, parent, "affected-before", step_after(w->time[1], step));
	if (!rc)
		rc = put_time(f, parent, "population-before", step_after(w->time[4], step));
	if (rc || f->kind->numbers->no_classes)
		return rc;
	rc = put_element(f, parent, "trigger-stands", w->trigger ? TEXT("yes") : TEXT("no"));
	return rc ? rc : put_element(f, parent, "build-stands", w->build ? TEXT("yes") : TEXT("no"));
}

int put_limit(struct facts *f, xmlNodePtr list, const struct limit_row *l)
{
	bool public = f->kind->readers == READERS_PUBLIC, few = public && l->count > 0 && l->count < SMALL_CELL;
	xmlNodePtr node = put_node(f, list, "limit");
	int rc = put_attr(f, node, "id", text_of(l->id));
	if (!rc && (few || l->banded))
		rc = put_attr(f, node, "band", few ? TEXT("fewer than 5") : text_of(band_of(l->count)));
	else if (!rc)
		rc = put_attr_int(f, node, "count", l->count);
	if (!rc && l->of >= 0 && !few)
		rc = put_attr_int(f, node, "of", l->of);
	if (!rc)
		rc = put_attr(f, node, "unit", text_of(l->unit));
	return rc ? rc : put_text(f, node, text_of(l->text));
}

/* Each limit is printed, also when its count is 0: silence would say nothing was looked at. */
static int put_limits(struct facts *f)
{
	const struct number_set *set = f->kind->numbers;
	xmlNodePtr list = put_node(f, f->root, "limits");
	int rc = 0;
	for (size_t i = 0; !rc && i < set->n_limits; i++) {
		const struct limit *l = &set->limits[i];
		const struct number *k = &set->numbers[number_at(f, l->count)];
		if (!f->cells[number_at(f, l->count)].known)
			continue; /* there is nothing that could be counted */
		struct limit_row row = {.id = l->id,
					.unit = k->unit,
					.text = l->text,
					.count = number_value(f, l->count) - (l->less ? number_value(f, l->less) : 0),
					.of = l->of ? number_value(f, l->of) : -1,
					.banded = k->how & BANDED};
		rc = put_limit(f, list, &row);
	}
	return !rc && f->tenant.ptr ? put_touched(f, list) : rc;
}

int put_numbers(struct facts *f)
{
	const struct number_set *set = f->kind->numbers;
	struct windows w = {.trigger = true, .build = true};
	int rc = set->n_numbers > NUMBERS_MAX ? err_set(f->err, ERR_BUG, "too many numbers") : 0;
	memset(f->cells, 0, sizeof(f->cells));
	for (int i = 0; i < TIMES; i++)
		w.time[i] = TIME_UNKNOWN;
	for (size_t i = 0; !rc && i < set->n_statements; i++)
		rc = count_with(f, set->statements[i], &w);
	if (!rc && f->kind->count)
		rc = f->kind->count(f);
	if (!rc && f->kind->refuse)
		rc = f->kind->refuse(f);
	if (!rc && f->kind->readers == READERS_PUBLIC)
		cells_suppress(set, f->cells);
	xmlNodePtr node = put_node(f, f->root, "numbers");
	for (size_t i = 0; !rc && i < set->n_numbers; i++)
		rc = put_number(f, node, &set->numbers[i]);
	if (!rc)
		rc = put_times(f, node, &w);
	return rc ? rc : put_limits(f);
}
