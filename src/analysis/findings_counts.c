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
	N_X
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
    {"of_tenant", "TEXT", true}, /* only its */
};

struct counts_state {
	struct answers *answers;
	const uint64_t *counts; /* by sign */
	uint64_t *own;          /* of one tenant */
	unsigned sign;
};

static void counts_close(void *state)
{
	struct counts_state *x = state;
	if (!x)
		return;
	answers_drop(x->answers);
	free(x->own);
	free(x);
}

static int count_tenant(struct counts_state *x, int64_t tenant, struct err *err)
{
	struct findings *f = x->answers->findings;
	const uint32_t *list;
	size_t n;
	x->own = calloc((size_t)1 << SIGN_BITS, sizeof(*x->own));
	int rc = x->own ? findings_of_tenant(f, tenant, &list, &n, err) : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct finding one = {.tenant = tenant};
		size_t at = list ? list[i] : findings_at(f, i);
		if (!list)
			rc = findings_get(f, at, &one, err);
		x->own[f->signs[at]] += tenant && one.tenant == tenant;
	}
	x->counts = x->own;
	return rc;
}

static int counts_open(void *ctx, const struct text *args, void **ret, struct err *err)
{
	struct counts_state *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	int rc = analysis_answers(ctx, ANSWERS_FINDINGS, &x->answers, err);
	if (rc == 0)
		x->counts = x->answers->findings->counts;
	if (rc == 0 && args[0].ptr)
		rc = count_tenant(x, answers_tenant_named(x->answers, args[0]), err);
	if (rc < 0) {
		counts_close(x);
		return rc;
	}
	*ret = x;
	return 0;
}

static int counts_next(void *state, struct rowset *row, struct err *err)
{
	struct counts_state *x = state;
	const struct findings *all = x->answers->findings;
	(void)err;
	while (x->sign < 1u << SIGN_BITS && !x->counts[x->sign])
		x->sign++;
	if (x->sign == 1u << SIGN_BITS)
		return 0;
	struct finding f;
	findings_sign(all, x->sign, &f);
	rowset_const(row, N_CLASS, class_names[f.c.class_id]);
	rowset_const(row, N_BAND, band_names[f.band]);
	rowset_int(row, N_CONFLICT, f.c.conflict);
	rowset_const(row, N_CROSS, tri_name(f.cross_tenant));
	rowset_int(row, N_TRIGGER_STANDS, all->trigger_stands);
	rowset_int(row, N_BUILD_STANDS, all->build_stands);
	rowset_int(row, N_RULE, f.c.rule);
	rowset_const(row, N_T, tri_name(f.p.t));
	rowset_const(row, N_A, tri_name(f.p.a));
	rowset_const(row, N_L, tri_name(f.p.l));
	rowset_const(row, N_D, tri_name(f.p.d));
	rowset_const(row, N_X, tri_name(f.p.x));
	rowset_int(row, N_RESPONSES, (int64_t)x->counts[x->sign++]);
	return 1;
}

const struct rowset_spec finding_counts_rowset = {
    .name = "finding_counts",
    .columns = counts_columns,
    .n_columns = ARRAY_SIZE(counts_columns),
    .open = counts_open,
    .next = counts_next,
    .close = counts_close,
};
