/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_kinds.c - page logs in which a whole kind of record is missing, because their tracer never writes it
 *
 * Such a log has no hole, and yet what it shows of a page is wrong: content that came by the missing kind is taken for what lay
 * there before. Which kinds a worker needs is told by what its requests did there:
 *   write  they read or sent pages, and no content came from elsewhere; or they took more pages when they had begun to read
 *   recv   their prompts came from another worker: they have a room, or a prefill leg
 *   share  the engine says, of a request or of a batch, that a part of a prompt lay in its prefix cache
 * A kind that nothing rests on may be missing. `read` is asked of each request (findings_shown.c).
 */
#include "resolve.h"

/* vLLM and LMCache count what a connector loaded, too: pages of the request's own. */
static bool had_prefix(const struct resolve *r, const struct leg *l)
{
	return l->cached > 0 &&
	       !(l->boot && text_is(names_text(&r->names, boot_at(r, l->boot - 1)->text[BT_ENGINE]), "vllm"));
}

static void need(struct page_need *n, const struct exec *x)
{
	if (!n->there)
		*n = (struct page_need){true, x->ref};
}

void kinds_hit(struct resolve *r, uint32_t worker, int64_t at, struct ref_node ref)
{
	struct worker *w = worker_at(r, worker);
	int64_t from, to;
	if (!w->page_log || w->page_attached.there)
		return;
	page_span(r, w, &from, &to);
	if (at != UNKNOWN && from != UNKNOWN && at >= from && at <= to)
		w->page_attached = (struct page_need){true, ref};
}

static void look_at(struct resolve *r, const struct exec *x, const bool *with_prefill)
{
	struct worker *w = worker_at(r, x->worker);
	const struct leg *l = x->leg ? leg_at(r, x->leg - 1) : NULL;
	bool computes_all = x->send || w->role == ROLE_PREFILL || w->role == ROLE_UNIFIED;
	if (x->read != UNKNOWN && x->took != UNKNOWN && x->took > x->read)
		need(&w->page_computes, x);
	if (!computes_all && (x->room || (l && (l->room || with_prefill[x->leg - 1]))))
		need(&w->page_handed, x);
	if (w->role != ROLE_DECODE && l && had_prefix(r, l))
		need(&w->page_attached, x);
}

int kinds_look(struct resolve *r, struct err *err)
{
	if (!r->execs.n)
		return 0;
	bool *with_prefill = scratch_alloc(&r->scratch, (size_t)r->legs.n + 1, sizeof(*with_prefill));
	if (!with_prefill)
		return err_nomem(err);
	for (uint32_t i = 0; i < r->requests.n; i++) {
		const struct request *q = shelf_at(&r->requests, i);
		bool prefill = false;
		for (uint32_t k = 0; k < q->n_legs; k++)
			prefill |= leg_at(r, r->leg_order[q->legs_from + k])->role == ROLE_PREFILL;
		for (uint32_t k = 0; k < q->n_legs; k++)
			with_prefill[r->leg_order[q->legs_from + k]] = prefill;
	}
	int res = 0;
	for (uint32_t i = 0; i < r->execs.n && !res; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		if (x->answers)
			look_at(r, x, with_prefill);
		res = resolve_tick(r, err);
	}
	return res;
}

struct kind {
	const char *name, *because;
	bool lacks;
	struct ref_node ref;
};
enum { KINDS = 3 };

static void kinds_of(const struct worker *w, struct kind ret[KINDS])
{
	bool fills = w->page_fills.there && !w->page_recvs;
	ret[0] = (struct kind){"write", "requests read or sent there what had to be computed before",
			       !w->page_writes && (fills || w->page_computes.there),
			       fills ? w->page_fills.ref : w->page_computes.ref};
	ret[1] = (struct kind){"recv", "requests went on there with prompts that another worker had computed",
			       !w->page_recvs && w->page_handed.there, w->page_handed.ref};
	ret[2] = (struct kind){"share", "the engine counts parts of prompts that lay in its prefix cache",
			       !w->page_shares && w->page_attached.there, w->page_attached.ref};
}

bool kinds_lack(const struct worker *w)
{
	struct kind kinds[KINDS];
	bool lacks = false;
	kinds_of(w, kinds);
	for (int i = 0; i < KINDS; i++)
		lacks |= kinds[i].lacks;
	return lacks;
}

int gap_kinds(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->workers.n * KINDS && !res; i++) {
		const struct worker *w = worker_at(r, i / KINDS);
		struct kind kinds[KINDS], *k = &kinds[i % KINDS];
		kinds_of(w, kinds);
		if (!k->lacks)
			continue;
		struct gap g = {.kind = "sequence", .source = k->ref.source, .worker = i / KINDS, .missing = UNKNOWN};
		page_span(r, w, &g.from, &g.to);
		g.effect =
		    arena_printf(&r->arena,
				 "page log of %.*s has no '%s' record at all, though %s: what its pages held is "
				 "not known, and nobody is found or cleared by it",
				 TEXT_ARG(text_sub(names_text(&r->names, w->name), 0, 100)), k->name, k->because);
		res = refs_add(r, &g.refs, k->ref, err);
		if (!res)
			res = gap_add(r, &g, err);
	}
	return res;
}
