/* SPDX-License-Identifier: Apache-2.0 */
/* findings_kept.c - for who asks about all responses again and again: their findings in full, and which are whose
 *
 * A report has dozens of questions. What a finding has beside its sign is kept for each response in a scratch, some 110 bytes, most of
 * them in a temporary file, and read from there. Responses, and requests, of one tenant are found by a list of theirs.
 */
#include <stdlib.h>

#include "findings.h"

struct kept_finding {
	uint64_t reasons;
	int64_t prompt_tokens, pool_tokens, input_limit, decode_limit, read_ns, finished_ns;
	uint32_t request, tenant, prefill_leg, decode_leg, prefill_worker, decode_worker, prefill_boot, decode_boot;
	uint32_t owner_count, owner_tenants, reads_from, n_reads;
	uint16_t entry;
	uint8_t flag;
};

static struct kept_finding *place(const struct findings *f, size_t at)
{
	return (struct kept_finding *)f->kept[at / KEPT_AT_ONCE] + at % KEPT_AT_ONCE;
}

void kept_open(struct findings *f)
{
	size_t blocks = (f->n + KEPT_AT_ONCE - 1) / KEPT_AT_ONCE;
	f->kept = calloc(blocks + 1, sizeof(*f->kept));
	bool there = f->kept != NULL;
	for (size_t i = 0; there && i < blocks; i++) {
		f->kept[i] = scratch_alloc(&f->scratch, KEPT_AT_ONCE, sizeof(struct kept_finding));
		there = f->kept[i] != NULL;
	}
	if (!there)
		kept_close(f);
}

void kept_close(struct findings *f)
{
	free(f->kept);
	f->kept = NULL;
	tenant_rows_done(&f->of_tenant);
	scratch_done(&f->scratch);
}

static bool fits(int64_t v)
{
	return v >= 0 && v <= UINT32_MAX;
}

bool kept_put(const struct findings *f, const struct finding *x)
{
	if (!fits(x->request) || !fits(x->tenant) || !fits(x->prefill_leg) || !fits(x->decode_leg) ||
	    !fits(x->prefill_worker) || !fits(x->decode_worker) || !fits(x->prefill_boot) || !fits(x->decode_boot) ||
	    x->entry > UINT16_MAX)
		return false;
	*place(f, (size_t)x->response - 1) = (struct kept_finding){.reasons = x->reasons,
								   .prompt_tokens = x->prompt_tokens,
								   .pool_tokens = x->pool_tokens,
								   .input_limit = x->input_limit,
								   .decode_limit = x->decode_limit,
								   .read_ns = x->read_ns,
								   .finished_ns = x->finished_ns,
								   .request = (uint32_t)x->request,
								   .tenant = (uint32_t)x->tenant,
								   .prefill_leg = (uint32_t)x->prefill_leg,
								   .decode_leg = (uint32_t)x->decode_leg,
								   .prefill_worker = (uint32_t)x->prefill_worker,
								   .decode_worker = (uint32_t)x->decode_worker,
								   .prefill_boot = (uint32_t)x->prefill_boot,
								   .decode_boot = (uint32_t)x->decode_boot,
								   .owner_count = x->owner_count,
								   .owner_tenants = x->owner_tenants,
								   .reads_from = x->reads_from,
								   .n_reads = x->n_reads,
								   .entry = (uint16_t)x->entry,
								   .flag = (uint8_t)x->flag};
	return true;
}

void kept_get(const struct findings *f, size_t at, struct finding *ret)
{
	const struct kept_finding *k = place(f, at);
	findings_brief(f, at, ret);
	ret->reasons = k->reasons;
	ret->prompt_tokens = k->prompt_tokens;
	ret->pool_tokens = k->pool_tokens;
	ret->input_limit = k->input_limit;
	ret->decode_limit = k->decode_limit;
	ret->read_ns = k->read_ns;
	ret->finished_ns = k->finished_ns;
	ret->request = k->request;
	ret->tenant = k->tenant;
	ret->prefill_leg = k->prefill_leg;
	ret->decode_leg = k->decode_leg;
	ret->prefill_worker = k->prefill_worker;
	ret->decode_worker = k->decode_worker;
	ret->prefill_boot = k->prefill_boot;
	ret->decode_boot = k->decode_boot;
	ret->owner_count = k->owner_count;
	ret->owner_tenants = k->owner_tenants;
	ret->reads_from = k->reads_from;
	ret->n_reads = k->n_reads;
	ret->entry = k->entry;
	ret->flag = (enum length_flag)k->flag;
	ret->candidate_owners = ret->foreign_at_most = UNSAID;
}

/* ---- whose they are ---- */

enum { TENANTS_BEYOND = 1 << 16 };

/* Tenants are numbered as they come, so there are hardly more than rows; a number beyond is none to make room for. */
int tenant_rows_make(struct tenant_rows *t, size_t n, tenant_at_fn *tenant_at, const void *ctx, struct err *err)
{
	uint32_t most = 0, row;
	for (size_t i = 0; i < n; i++)
		most = MAX(most, tenant_at(ctx, i, &row));
	if (most > n + TENANTS_BEYOND)
		return 0;
	t->rows = malloc((n + 1) * sizeof(*t->rows));
	t->from = calloc((size_t)most + 3, sizeof(*t->from));
	if (!t->rows || !t->from) {
		tenant_rows_done(t);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		t->from[tenant_at(ctx, i, &row) + 2]++;
	for (size_t i = 2; i < (size_t)most + 3; i++)
		t->from[i] += t->from[i - 1];
	for (size_t i = 0; i < n; i++) {
		uint32_t tenant = tenant_at(ctx, i, &row);
		t->rows[t->from[tenant + 1]++] = row;
	}
	t->most = most;
	return 0;
}

void tenant_rows_done(struct tenant_rows *t)
{
	free(t->rows);
	free(t->from);
	*t = (struct tenant_rows){0};
}

const uint32_t *tenant_rows_of(const struct tenant_rows *t, int64_t tenant, size_t *ret_n)
{
	bool there = tenant > 0 && tenant <= t->most;
	*ret_n = there ? t->from[tenant + 1] - t->from[tenant] : 0;
	return there ? &t->rows[t->from[tenant]] : t->rows;
}

static uint32_t tenant_of_response(const void *ctx, size_t i, uint32_t *row)
{
	const struct findings *f = ctx;
	*row = (uint32_t)findings_at(f, i);
	return place(f, *row)->tenant;
}

int findings_of_tenant(struct findings *f, int64_t tenant, const uint32_t **ret, size_t *ret_n, struct err *err)
{
	int rc = 0;
	*ret = NULL;
	*ret_n = f->n;
	if (!f->kept)
		return 0;
	if (!f->of_tenant.rows)
		rc = tenant_rows_make(&f->of_tenant, f->n, tenant_of_response, f, err);
	if (rc == 0 && f->of_tenant.rows)
		*ret = tenant_rows_of(&f->of_tenant, tenant, ret_n);
	return rc;
}
