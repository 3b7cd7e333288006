/* SPDX-License-Identifier: Apache-2.0 */
/* findings_counts.c - finding_counts(): how many responses have the same class, band and so on; all, or those of one tenant */
#include <stdlib.h>

#include "register.h"

enum counts_column {
	N_CLASS,
	N_BAND,
	N_CONFLICT,
	N_CROSS,
	N_TRIGGER_STANDS,
	N_BUILD_STANDS,
	N_RESPONSES,
	N_RULE,
	N_T,
	N_A,
	N_L,
	N_D,
	N_X,
	N_FIRST,
	N_LAST,
	N_UNKNOWN,
	N_DAY
};
static const struct rowset_column counts_columns[] = {
    {"class", "TEXT", false},
    {"band", "TEXT", false},
    {"conflict", "INTEGER", false},
    {"cross_tenant", "TEXT", false},
    {"trigger_stands", "INTEGER", false},
    {"build_stands", "INTEGER", false},
    {"responses", "INTEGER", false},
    {"rule", "INTEGER", false},
    {"t", "TEXT", false},
    {"a", "TEXT", false},
    {"l", "TEXT", false},
    {"d", "TEXT", false},
    {"x", "TEXT", false},
    {"first_at", "INTEGER", false},
    {"last_at", "INTEGER", false},
    {"starts_unknown", "INTEGER", false},
    {"day", "INTEGER", false},
    {"of_tenant", "TEXT", true}, /* only its */
    {"by_day", "INTEGER", true}, /* 1: those of each day (UTC) by themselves */
};

struct tally {
	uint64_t n, unknown; /* of these no start is known */
	int64_t first_ns, last_ns;
};

struct counts_state {
	struct answers *answers;
	const uint32_t *list; /* responses - 1 of one tenant; NULL: all */
	int64_t tenant;       /* 0: of all, or of nobody */
	size_t at, n;
	bool by_day, one_tenant;
	struct tally *tallies; /* of the group at hand, by sign */
	uint16_t *signs;       /* that it has, ascending */
	unsigned n_signs, next;
	unsigned sign;    /* of the row at hand */
	int64_t day_ns;   /* of the group; TIME_UNKNOWN */
	bool times_there; /* in the tallies */
};

static void counts_close(void *state)
{
	struct counts_state *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	free(x->tallies);
	free(x->signs);
	free(x);
}

static void add_time(struct tally *t, int64_t ns)
{
	if (ns == TIME_UNKNOWN) {
		t->unknown++;
		return;
	}
	t->first_ns = t->first_ns == TIME_UNKNOWN ? ns : MIN(t->first_ns, ns);
	t->last_ns = MAX(t->last_ns, ns);
}

static void count_one(struct counts_state *x, unsigned sign, int64_t ns)
{
	struct tally *t = &x->tallies[sign];
	if (!t->n) {
		*t = (struct tally){.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
		x->signs[x->n_signs++] = (uint16_t)sign;
	}
	t->n++;
	add_time(t, ns);
}

/* Everybody's were counted with their classes; times only when somebody asks. */
static void count_all(struct counts_state *x)
{
	const struct findings *f = x->answers->findings;
	for (unsigned sign = 0; sign < 1u << SIGN_BITS; sign++) {
		if (!f->counts[sign])
			continue;
		x->tallies[sign] = (struct tally){f->counts[sign], 0, TIME_UNKNOWN, TIME_UNKNOWN};
		x->signs[x->n_signs++] = (uint16_t)sign;
	}
	x->at = x->n;
}

static void time_all(struct counts_state *x)
{
	const struct findings *f = x->answers->findings;
	for (size_t i = 0; i < f->n && !x->times_there; i++)
		add_time(&x->tallies[f->signs[i]], f->started[i]);
	x->times_there = true;
}

static int64_t day_of(int64_t ns)
{
	const int64_t day = 86400 * NS_PER_S;
	int64_t past = ns % day < 0 ? ns % day + day : ns % day;
	return ns == TIME_UNKNOWN || ns < INT64_MIN + 1 + past ? ns : ns - past;
}

static int sign_cmp(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Counts from x->at on, to the end of the day or of all. */
static int count_group(struct counts_state *x, struct err *err)
{
	struct findings *f = x->answers->findings;
	int rc = 0;
	for (unsigned i = 0; i < x->n_signs; i++)
		x->tallies[x->signs[i]].n = 0;
	x->n_signs = x->next = 0;
	for (bool first = true; rc == 0 && x->at < x->n; x->at++) {
		size_t at = x->list ? x->list[x->at] : findings_at(f, x->at);
		struct finding one = {.tenant = x->tenant};
		int64_t day = x->by_day ? day_of(f->started[at]) : TIME_UNKNOWN;
		if (x->one_tenant && !x->list)
			rc = findings_get(f, at, &one, err);
		if (rc < 0 || (x->one_tenant && (!x->tenant || one.tenant != x->tenant)))
			continue;
		if (!first && day != x->day_ns)
			break;
		x->day_ns = day;
		first = false;
		count_one(x, f->signs[at], f->started[at]);
	}
	if (x->n_signs)
		qsort(x->signs, x->n_signs, sizeof(*x->signs), sign_cmp);
	return rc;
}

static int counts_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct counts_state *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->tallies = calloc((size_t)1 << SIGN_BITS, sizeof(*x->tallies));
	x->signs = calloc((size_t)1 << SIGN_BITS, sizeof(*x->signs));
	x->by_day = args[1].len && !text_is(args[1], "0");
	x->one_tenant = args[0].ptr;
	x->day_ns = TIME_UNKNOWN;
	int rc = x->tallies && x->signs ? analysis_answers(ctx, ANSWERS_FINDINGS, &x->answers, err) : err_nomem(err);
	if (rc == 0)
		x->n = x->answers->findings->n;
	if (rc == 0 && x->one_tenant) {
		x->tenant = answers_tenant_named(x->answers, args[0]);
		rc = findings_of_tenant(x->answers->findings, x->tenant, &x->list, &x->n, err);
	}
	if (rc < 0) {
		counts_close(x);
		return rc;
	}
	x->times_there = x->one_tenant || x->by_day;
	if (!x->times_there)
		count_all(x);
	*ret = x;
	return 0;
}

static int counts_next(void *state, struct rowset *row, struct err *err)
{
	struct counts_state *x = state;
	(void)row;
	int rc = x->next == x->n_signs && x->at < x->n ? count_group(x, err) : 0;
	if (rc < 0 || x->next == x->n_signs)
		return rc;
	x->sign = x->signs[x->next++];
	return 1;
}

static int counts_fill(void *state, struct rowset *row, unsigned col, struct err *err)
{
	struct counts_state *x = state;
	const struct findings *all = x->answers->findings;
	const struct tally *t = &x->tallies[x->sign];
	struct finding f;
	(void)err;
	findings_sign(all, x->sign, &f);
	if (col == N_FIRST || col == N_LAST || col == N_UNKNOWN)
		time_all(x);
	switch (col) {
	case N_CLASS: rowset_const(row, col, class_names[f.c.class_id]); break;
	case N_BAND: rowset_const(row, col, band_names[f.band]); break;
	case N_CONFLICT: rowset_int(row, col, f.c.conflict); break;
	case N_CROSS: rowset_const(row, col, tri_name(f.cross_tenant)); break;
	case N_TRIGGER_STANDS: rowset_int(row, col, all->trigger_stands); break;
	case N_BUILD_STANDS: rowset_int(row, col, all->build_stands); break;
	case N_RESPONSES: rowset_int(row, col, (int64_t)t->n); break;
	case N_RULE: rowset_int(row, col, f.c.rule); break;
	case N_T: rowset_const(row, col, tri_name(f.p.t)); break;
	case N_A: rowset_const(row, col, tri_name(f.p.a)); break;
	case N_L: rowset_const(row, col, tri_name(f.p.l)); break;
	case N_D: rowset_const(row, col, tri_name(f.p.d)); break;
	case N_X: rowset_const(row, col, tri_name(f.p.x)); break;
	case N_FIRST: rowset_time(row, col, t->first_ns); break;
	case N_LAST: rowset_time(row, col, t->last_ns); break;
	case N_UNKNOWN: rowset_int(row, col, (int64_t)t->unknown); break;
	case N_DAY: rowset_time(row, col, x->day_ns); break;
	default: break;
	}
	return 0;
}

const struct rowset_spec finding_counts_rowset = {
    .name = "finding_counts",
    .columns = counts_columns,
    .n_columns = ARRAY_SIZE(counts_columns),
    .open = counts_open,
    .next = counts_next,
    .fill = counts_fill,
    .close = counts_close,
};
