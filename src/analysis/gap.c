/* SPDX-License-Identifier: Apache-2.0 */
/* gap.c - what the case does not hold: holes in sequences, records that were not understood, sources that failed
 *
 * Every gap says what it takes away from the answers. Times are NULL where nobody knows them.
 */
#include "pagetrail/salvage.h"
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>

int gap_add(struct resolve *r, const struct gap *g, struct err *err)
{
	if (!g->effect.ptr)
		return err_nomem(err);
	struct gap *to = shelf_add(&r->gaps);
	if (!to)
		return err_nomem(err);
	*to = *g;
	if (to->from != UNKNOWN && to->to != UNKNOWN &&
	    to->from > to->to) { /* where logs stand one behind another in no order */
		to->from = g->to;
		to->to = g->from;
	}
	return 0;
}

/* Of those that speak of a source as a whole, the times: some were added before its clock was known. */
static void gap_times(struct resolve *r)
{
	for (uint32_t i = 0; i < r->gaps.n; i++) {
		struct gap *g = shelf_at(&r->gaps, i);
		if (g->whole)
			clock_span(&r->sources[g->source], &g->from, &g->to);
	}
}

/* --- sequences --- */

static int span_cmp(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	if (x->at_from != y->at_from)
		return x->at_from < y->at_from ? -1 : 1;
	if (x->boot != y->boot)
		return x->boot ? -1 : 1;
	return x->seq_from < y->seq_from ? -1 : x->seq_from > y->seq_from;
}

static int seq_cmp(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
	if (x->seq_from != y->seq_from)
		return x->seq_from < y->seq_from ? -1 : 1;
	return x->at_from < y->at_from ? -1 : x->at_from > y->at_from;
}

/* Executions of a worker with pages that were there within a hole. */
static uint32_t holders(const struct resolve *r, uint32_t worker, int64_t from, int64_t to)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->execs.n && from != UNKNOWN && to != UNKNOWN; i++) {
		const struct exec *x = shelf_at(&r->execs, i);
		n += x->worker == worker && x->first != UNKNOWN && x->first <= to && x->last >= from;
	}
	return n;
}

static int gap_sequence(struct resolve *r, const struct span *before, const struct span *after, int64_t missing,
			struct err *err)
{
	struct text name = names_text(&r->names, worker_at(r, after->worker)->name);
	struct gap g = {.kind = "sequence", .source = after->first.source, .worker = after->worker, .missing = missing};
	g.from = before ? before->at_to : UNKNOWN;
	g.to = after->at_from;
	if (before)
		g.effect = arena_printf(
		    &r->arena,
		    "page log of %.*s lacks %lld record%s between seq %lld and %lld: what pages held across this "
		    "hole is unknown, and no request that held pages then can be cleared (%u are known)",
		    TEXT_ARG(text_sub(name, 0, 100)), (long long)missing, PLURAL(missing), (long long)before->seq_to,
		    (long long)after->seq_from, holders(r, after->worker, g.from, g.to));
	else
		g.effect = arena_printf(
		    &r->arena,
		    "page log of %.*s begins at seq %lld without a boot record: what pages held before is unknown",
		    TEXT_ARG(text_sub(name, 0, 100)), (long long)after->seq_from);
	int res = before ? refs_add(r, &g.refs, before->last, err) : 0;
	if (!res)
		res = refs_add(r, &g.refs, after->first, err);
	return res ? res : gap_add(r, &g, err);
}

/* The sequence begins anew without a boot record. */
static int gap_backwards(struct resolve *r, const struct span *before, const struct span *after, struct err *err)
{
	struct text name = names_text(&r->names, worker_at(r, after->worker)->name);
	struct gap g = {.kind = "sequence", .source = after->first.source, .worker = after->worker, .missing = UNKNOWN};
	g.from = before->at_to;
	g.to = after->at_from;
	g.effect =
	    arena_printf(&r->arena,
			 "page log of %.*s runs backwards, from seq %lld to %lld, without a boot record: a restart was "
			 "not logged, and "
			 "what pages held across it is unknown",
			 TEXT_ARG(text_sub(name, 0, 100)), (long long)before->seq_to, (long long)after->seq_from);
	int res = refs_add(r, &g.refs, before->last, err);
	if (!res)
		res = refs_add(r, &g.refs, after->first, err);
	return res ? res : gap_add(r, &g, err);
}

/* Has this number been there before, in records that were over by then? */
static bool comes_again(const struct span *s, const struct span *before)
{
	return before->at_to != UNKNOWN && s->at_from != UNKNOWN && s->at_from > before->at_to &&
	       s->seq_from <= before->seq_to && s->seq_to >= before->seq_from;
}

/* Spans of one boot in order of time: how many of them come before the sequence begins anew. Copies of a log have the
 * same times, and records that are only out of order have numbers of their own. */
static size_t sequence_length(const struct span *const *s, size_t n)
{
	const struct span *widest = s[0];
	for (size_t i = 1; i < n; i++) {
		bool again = comes_again(s[i], widest);
		for (size_t k = i; k-- > 0 && k + CHAIN_MAX > i && !again;)
			again = comes_again(s[i], s[k]);
		if (again)
			return i;
		if (s[i]->seq_to - s[i]->seq_from > widest->seq_to - widest->seq_from)
			widest = s[i];
	}
	return n;
}

/* One boot of one worker, without a restart in it: spans in any order. */
static int gap_boot(struct resolve *r, const struct span **s, size_t n, bool boot, struct err *err)
{
	int res = 0;
	qsort(s, n, sizeof(*s), seq_cmp);
	if (!boot && s[0]->seq_from > 0)
		res = gap_sequence(r, NULL, s[0], s[0]->seq_from, err);
	const struct span *reach = s[0];
	for (size_t i = 1; i < n && !res; i++) {
		if (s[i]->seq_from > reach->seq_to && s[i]->seq_from - 1 > reach->seq_to)
			res = gap_sequence(r, reach, s[i], s[i]->seq_from - reach->seq_to - 1, err);
		if (s[i]->seq_to > reach->seq_to)
			reach = s[i];
	}
	return res;
}

static int gap_sequences(struct resolve *r, struct err *err)
{
	uint32_t n = r->spans.n;
	const struct span **s = malloc(((size_t)n + 1) * sizeof(*s));
	if (!s)
		return err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		s[i] = shelf_at(&r->spans, i);
	qsort(s, n, sizeof(*s), span_cmp);
	int res = 0;
	for (uint32_t i = 0, k; i < n && !res; i = k) {
		for (k = i + 1; k < n && s[k]->worker == s[i]->worker && !s[k]->boot;)
			k++;
		/* the same boot record in two copies of the log is one boot */
		while (k < n && s[i]->boot && s[k]->worker == s[i]->worker && s[k]->boot &&
		       s[k]->seq_from == s[i]->seq_from && s[k]->at_from == s[i]->at_from)
			for (k++; k < n && s[k]->worker == s[i]->worker && !s[k]->boot;)
				k++;
		bool boot = s[i]->boot;
		for (uint32_t from = i, len; from < k && !res; from += len) {
			len = (uint32_t)sequence_length(s + from, k - from);
			const struct span *last = s[from + len - 1], *next = from + len < k ? s[from + len] : NULL;
			res = gap_boot(r, s + from, len, boot, err);
			if (!res && next)
				res = gap_backwards(r, last, next, err);
			boot = true; /* what is missing at its beginning has been said */
		}
	}
	free(s);
	if (!res && r->spans_full) {
		struct gap g = {
		    .kind = "sequence",
		    .source = NO_INDEX,
		    .worker = NO_INDEX,
		    .from = UNKNOWN,
		    .to = UNKNOWN,
		    .missing = UNKNOWN,
		    .effect = TEXT("a page log is too disordered to check its sequence: completeness is unknown")};
		res = gap_add(r, &g, err);
	}
	return res;
}

/* --- restarts that only one of two logs shows --- */

#define LOADING_NS (600 * NS_PER_S) /* from its last start line to the page log's */

static bool starts_at(const struct boot *b, int64_t at)
{
	int64_t last = later(later(b->started_ns, b->start_at), later(later(b->args_at, b->pool_at), b->ready_at));
	return b->started_ns != UNKNOWN && at >= b->started_ns - SKEW_NS && at <= last + LOADING_NS;
}

static int gap_restart(struct resolve *r, uint32_t worker, int64_t at, struct ref_node ref, const char *what,
		       struct err *err)
{
	struct text name = names_text(&r->names, worker_at(r, worker)->name);
	struct gap g = {
	    .kind = "boot", .source = ref.source, .worker = worker, .from = at, .to = at, .missing = UNKNOWN};
	g.effect = arena_printf(&r->arena, "%.*s: %s", TEXT_ARG(text_sub(name, 0, 100)), what);
	int res = refs_add(r, &g.refs, ref, err);
	return res ? res : gap_add(r, &g, err);
}

#define RANKS_NS (60 * NS_PER_S) /* page logs of the ranks of one engine begin within this time */

/* A later boot record of a page log, where the engine's own log shows no start. */
static int gap_page_boot(struct resolve *r, uint32_t at, struct err *err)
{
	const struct boot_event *e = shelf_at(&r->boot_events, at);
	const struct worker *w = worker_at(r, e->worker);
	bool logged = false, later_one = false;
	int64_t before = UNKNOWN;
	if (e->what != WHAT_PAGE_BOOT || e->at == UNKNOWN || is_mixed(r, e->worker))
		return 0;
	for (uint32_t i = 0; i < r->boot_events.n; i++) {
		const struct boot_event *o = shelf_at(&r->boot_events, i);
		if (o->worker != e->worker || o->what != WHAT_PAGE_BOOT || o->at == UNKNOWN)
			continue;
		later_one |= o->at < e->at;
		if (o->at == e->at && i < at) /* a copy of it was told */
			return 0;
		if (o->at < e->at - RANKS_NS)
			before = later(before, o->at);
	}
	for (uint32_t k = 0; k < w->n_boots; k++) {
		const struct boot *b = boot_at(r, w->boots_from + k);
		logged |= b->log_source != 0;
		/* one start has one boot record: what an earlier one belongs to does not explain this one */
		if (starts_at(b, e->at) && (before == UNKNOWN || !starts_at(b, before)))
			return 0;
	}
	if (!logged || !later_one) /* the first may only be where the page log begins */
		return 0;
	return gap_restart(r, e->worker, e->at, e->ref,
			   "the page log shows a restart here that the engine's log does not: version and limit of the "
			   "boot before may not hold after it",
			   err);
}

/* A start in the engine's log through which the page log goes on as if nothing had been. */
static int gap_engine_boot(struct resolve *r, const struct worker *w, uint32_t worker, const struct boot *b,
			   struct err *err)
{
	if (!w->page_log || b->started_ns == UNKNOWN || !b->log_source || !b->refs.head || is_mixed(r, worker))
		return 0;
	for (uint32_t i = 0; i < r->boot_events.n; i++) {
		const struct boot_event *e = shelf_at(&r->boot_events, i);
		if (e->worker == worker && e->what == WHAT_PAGE_BOOT && e->at != UNKNOWN && starts_at(b, e->at))
			return 0;
	}
	bool through = false;
	for (uint32_t i = 0; i < r->spans.n && !through; i++) {
		const struct span *s = shelf_at(&r->spans, i);
		through = s->worker == worker && s->at_from != UNKNOWN && s->at_from < b->started_ns &&
			  s->at_to > b->started_ns;
	}
	if (!through)
		return 0;
	const struct ref_node *ref = shelf_at(&r->refs, b->refs.head - 1);
	return gap_restart(r, worker, b->started_ns, *ref,
			   "the engine's log shows a restart here, the page log goes on without a boot record: what "
			   "pages held across it is unknown",
			   err);
}

static int gap_restarts(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->boot_events.n && !res; i++)
		res = gap_page_boot(r, i, err);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, i);
		for (uint32_t k = 1; k < w->n_boots && !res; k++)
			res = gap_engine_boot(r, w, i, boot_at(r, w->boots_from + k), err);
	}
	return res;
}

/* --- sources --- */

static int gap_sources(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		const struct source_info *s = &r->sources[i];
		struct gap g = {.source = i, .worker = s->worker_at, .whole = true, .missing = UNKNOWN};
		if (text_is(s->status, "failed") || text_is(s->status, "reading")) {
			g.kind = "failed_source";
			g.effect =
			    arena_printf(&r->arena,
					 "this source was not read to its end (%.*s): nothing can be said about what "
					 "the rest of it holds",
					 TEXT_ARG(s->reason.len ? text_sub(s->reason, 0, 300) : TEXT("interrupted")));
		} else if (text_is(s->status, "unrecognised") && !s->elsewhere) {
			g.kind = "unrecognised";
			g.effect = arena_printf(
			    &r->arena,
			    "no format recognises this source (%.*s): it is kept as evidence, and nothing "
			    "in the answers rests on it",
			    TEXT_ARG(s->reason.len ? text_sub(s->reason, 0, 300) : TEXT("unknown format")));
		} else {
			continue;
		}
		res = gap_add(r, &g, err);
	}
	return res;
}

static int gap_apart(struct resolve *r, uint32_t source, const char *kind, uint32_t n, struct refs refs,
		     const char *why, struct err *err)
{
	const struct source_info *s = &r->sources[source];
	if (!n)
		return 0;
	struct gap g = {
	    .kind = kind, .source = source, .worker = s->worker_at, .whole = true, .missing = n, .refs = refs};
	g.effect = arena_printf(&r->arena, "%u %s", n, why);
	return gap_add(r, &g, err);
}

/* Records that could not be brought together with the rest. */
static int gap_unattached(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		const struct source_info *s = &r->sources[i];
		res = gap_apart(r, i, "unattached", s->anonymous, s->anonymous_refs,
				"access lines of this gateway carry no id: they cannot be joined to a request, and are "
				"not counted as responses",
				err);
		if (!res)
			res = gap_apart(r, i, "unattached", s->ambiguous, s->ambiguous_refs,
					"requests of this gateway share no id with the engine, and by time and length "
					"several pairs are possible: none was joined, each request and each execution "
					"is counted by itself, and what happened to these requests inside is unknown",
					err);
		if (!res)
			res =
			    gap_apart(r, i, "unattached", s->apart, s->apart_refs,
				      "requests of this gateway share no id with what engines or other gateways say of "
				      "the same time: each may be there once more, under another name and without what "
				      "stands here, and is then counted twice",
				      err);
		if (!res)
			res = gap_apart(r, i, "clock", s->doubtful, s->doubtful_refs,
					"requests of this gateway share no id with the engine, and the zone of one of "
					"the two logs is only assumed: most of what it says fits nothing by time and "
					"length, so none was joined; give its zone with --tz or --sources",
					err);
	}
	return res;
}

static int reject_refs(struct resolve *r, struct sql *s, uint32_t source, struct text reason, struct refs *to,
		       struct err *err)
{
	int res = sql_int(s, 1, r->sources[source].id, err);
	if (!res)
		res = sql_text(s, 2, reason, err);
	if (!res)
		res = sql_int(s, 3, REFS_MAX, err);
	while (!res && (res = sql_step(s, err)) == 1) {
		struct ref_node n = {.off = (uint64_t)sql_get_int(s, 0), .source = source};
		n.len = (uint32_t)MIN((uint64_t)sql_get_int(s, 1), UINT32_MAX);
		res = refs_add(r, to, n, err);
	}
	return res;
}

/* Records of recognised sources that were not understood, one gap per source and reason. What a salvage lost is said by the
 * gap of the source as a whole, runs of NULs one by one (gap_nuls.c). */
static int gap_rejects(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL, *refs = NULL;
	int res = sql_prepare(
	    &s, r->c,
	    "SELECT reason, sum(records) FROM reject WHERE source = ? AND reason NOT IN ('nul', '" EVIDENCE_LOST
	    "') GROUP BY reason ORDER BY reason",
	    err);
	if (!res)
		res = sql_prepare(
		    &refs, r->c,
		    "SELECT byte_off, byte_len FROM reject WHERE source = ? AND reason = ? ORDER BY byte_off LIMIT ?",
		    err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		const struct source_info *src = &r->sources[i];
		if (!src->format.len || text_is(src->status, "unrecognised"))
			continue;
		res = sql_int(s, 1, src->id, err);
		while (!res && (res = sql_step(s, err)) == 1) {
			struct text reason = arena_text(&r->arena, sql_get_text(s, 0));
			bool fused = text_is(reason, "fused"), torn = fused || text_starts(reason, "torn");
			struct gap g = {.kind = torn ? "torn" : "unparsed",
					.source = i,
					.worker = src->worker_at,
					.whole = true,
					.missing = sql_get_int(s, 1)};
			g.effect = arena_printf(
			    &r->arena,
			    fused ? "%lld line%s run together of two records or more (%.*s): whose words are whose is "
				    "not "
				    "known, what was said there is lost"
			    : torn && text_is(src->status, "failed")
				? "%lld record%s torn (%.*s): what was said there is lost"
			    : torn
				? "%lld record%s torn (%.*s): what was said there is lost, the rest of the source holds"
				: "%lld record%s not understood (%.*s): kept, and can be searched, but no answer rests "
				  "on it",
			    (long long)g.missing, g.missing == 1 ? " was" : "s were",
			    TEXT_ARG(text_sub(reason, 0, 100)));
			res = reject_refs(r, refs, i, reason, &g.refs, err);
			if (!res)
				res = gap_add(r, &g, err);
		}
	}
	return res;
}

/* Records in pieces that a file ends in the middle of, and that no file here goes on with; those that were read as torn are said
 * above. */
static int gap_unended(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res = sql_prepare(
	    &s, r->c,
	    "SELECT byte_off, byte_len FROM seam AS s WHERE source = ? AND record > 0 AND whole IS NULL AND byte_off = "
	    "(SELECT min(byte_off) FROM seam AS m WHERE m.source = s.source AND m.record = s.record) AND NOT EXISTS "
	    "(SELECT 1 FROM reject AS x WHERE x.source = s.source AND x.byte_off < s.byte_off + s.byte_len AND "
	    "x.byte_off + x.byte_len > s.byte_off) ORDER BY record",
	    err);
	for (uint32_t i = 0; i < r->n_sources && !res; i++) {
		const struct source_info *src = &r->sources[i];
		struct gap g = {.kind = "torn", .source = i, .worker = src->worker_at, .whole = true};
		if (!src->elsewhere)
			res = sql_int(s, 1, src->id, err);
		while (!src->elsewhere && !res && (res = sql_step(s, err)) == 1) {
			struct ref_node n = {.off = (uint64_t)sql_get_int(s, 0), .source = i};
			n.len = (uint32_t)MIN((uint64_t)sql_get_int(s, 1), UINT32_MAX);
			g.missing++;
			res = refs_add(r, &g.refs, n, err);
		}
		if (res || !g.missing)
			continue;
		g.effect = arena_printf(
		    &r->arena,
		    "the source ends in the middle of %lld record%s in pieces, and no file here goes on with "
		    "%s: what the rest says is missing",
		    (long long)g.missing, PLURAL(g.missing), g.missing == 1 ? "it" : "them");
		res = gap_add(r, &g, err);
	}
	return res;
}

static int gap_strays(struct resolve *r, struct err *err)
{
	int res = 0;
	for (uint32_t i = 0; i < r->strays.n && !res; i++) {
		const struct stray *s = shelf_at(&r->strays, i);
		if (s->attached)
			continue;
		char limit[64] = "", length[48] = "unknown length";
		if (s->limit != UNKNOWN)
			(void)snprintf(limit, sizeof(limit), ", limit %lld", (long long)s->limit);
		if (s->input != UNKNOWN)
			(void)snprintf(length, sizeof(length), "%lld token%s", (long long)s->input, PLURAL(s->input));
		struct gap g = {.kind = "unattached",
				.source = s->ref.source,
				.worker = s->worker,
				.from = s->at,
				.to = s->at,
				.missing = UNKNOWN};
		g.effect =
		    arena_printf(&r->arena,
				 "a prompt of %s was %s here%s, but the line names no request and no single leg fits "
				 "it: some response around this time may be over the limit without being listed",
				 length, s->what == SEEN_REJECTED ? "rejected" : "truncated", limit);
		res = refs_add(r, &g.refs, s->ref, err);
		if (!res)
			res = gap_add(r, &g, err);
	}
	return res;
}

int gap_collect(struct resolve *r, struct err *err)
{
	int res = gap_sequences(r, err);
	if (!res)
		res = gap_restarts(r, err);
	if (!res)
		res = gap_sources(r, err);
	if (!res)
		res = gap_unattached(r, err);
	if (!res)
		res = gap_rejects(r, err);
	if (!res)
		res = gap_nuls(r, err);
	if (!res)
		res = gap_unended(r, err);
	if (!res)
		res = gap_strays(r, err);
	if (!res)
		res = gap_asked(r, err);
	if (!res)
		res = gap_begun(r, err);
	if (!res)
		res = gap_names(r, err);
	if (!res)
		res = gap_mixed(r, err);
	if (!res)
		res = gap_undated(r, err);
	if (!res)
		res = gap_kinds(r, err);
	if (!res)
		gap_times(r);
	return res ? res : gap_silences(r, err);
}

static int gap_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct gap *x = shelf_at(&r->gaps, i), *y = shelf_at(&r->gaps, k);
	int64_t tx = x->from != UNKNOWN ? x->from : x->to, ty = y->from != UNKNOWN ? y->from : y->to;
	if (tx != ty)
		return tx < ty ? -1 : 1;
	int c = text_cmp(text_of(x->kind), text_of(y->kind));
	if (!c && x->source != y->source)
		c = x->source < y->source ? -1 : 1;
	if (!c)
		c = text_cmp(x->effect, y->effect);
	return c ? c : i < k ? -1 : i > k;
}

int gap_write(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf tmp = BUF_INIT(64 * KIB);
	uint32_t n = r->gaps.n, *order = arena_array(&r->arena, (size_t)n + 1, sizeof(*order));
	if (!order)
		return err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), gap_cmp, r);
	int res = sql_prepare(&s, r->c,
			      "INSERT INTO gap(gap, kind, source, worker, from_ns, to_ns, missing, effect, refs) "
			      "VALUES(?,?,?,?,?,?,?,?,?)",
			      err);
	for (uint32_t i = 0; i < n && !res; i++) {
		const struct gap *g = shelf_at(&r->gaps, order[i]);
		int64_t worker = g->worker == NO_INDEX ? 0 : worker_at(r, g->worker)->id;
		const int64_t ints[] = {g->source == NO_INDEX ? UNKNOWN : r->sources[g->source].id,
					worker ? worker : UNKNOWN, g->from, g->to, g->missing};
		res = sql_int(s, 1, (int64_t)i + 1, err);
		if (!res)
			res = sql_text(s, 2, text_of(g->kind), err);
		for (int c = 0; c < 5 && !res; c++)
			res = sql_int(s, c + 3, ints[c], err);
		if (!res)
			res = sql_text(s, 8, g->effect, err);
		if (!res)
			res = refs_json(r, &g->refs, &tmp, err);
		if (!res)
			res = sql_text(s, 9, buf_text(&tmp), err);
		if (!res)
			res = sql_run(s, err);
	}
	return res;
}
