/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_response.c - what left the gateway: one response per request, and whether anything was delivered
 *
 * A request has a response when a gateway saw it or when an engine decoded for it. Delivered is "no" only where a
 * record shows that nothing reached the client: an error status, no bytes, no tokens, a client that left before the
 * first byte. Several gateways may have seen one request, and an inner one several times (hedged attempts): what one of
 * them recorded as sent is never overruled to "no" by what another says.
 * A prefill leg's count is never the length of a prompt (a rejected one says 1), and a sum over a batch is none either.
 */
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>

struct response {
	int64_t status, prompt, output, bytes, started, finished;
	enum flag prompt_flag;
	int8_t streamed, client_gone;
	uint32_t finish;
	bool gateway, batch, element, doubtful;
	struct hop shown, sent, failed, passed;
	/* engine's side, of the last attempt */
	const struct leg *answer; /* decode or unified leg, NULL: none */
	int64_t engine_output;
	enum tri delivered;
	char basis[160];
	struct refs refs;
};

static void say(struct response *p, enum tri delivered, const char *basis)
{
	p->delivered = delivered;
	(void)snprintf(p->basis, sizeof(p->basis), "%s", basis);
}

/* The leg that answered: the last attempt's decode or unified leg; without roles, any leg that is no prefill leg. */
const struct leg *request_answer(const struct resolve *r, const struct request *q)
{
	const struct leg *best = NULL;
	for (uint32_t i = 0; i < q->n_legs; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		if (l->role == ROLE_PREFILL || l->page_only)
			continue;
		bool better =
		    !best || l->attempt > best->attempt || (l->attempt == best->attempt && l->output > best->output);
		/* an attempt that failed is not the one that answered */
		if (best && best->outcome == OUT_FINISHED && l->outcome > OUT_FINISHED)
			better = false;
		if (better)
			best = l;
	}
	return best;
}

/* Lengths that the legs of a request know. */
struct lengths {
	int64_t longest, rejected, prefilled,
	    exact;      /* exact: the longest that an answering leg counted; none when cut */
	enum flag flag; /* of longest */
};

static struct lengths legs_length(const struct resolve *r, const struct request *q)
{
	struct lengths n = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, FLAG_NONE};
	bool cut = false;
	for (uint32_t i = 0; i < q->n_legs; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		cut |= l->outcome == OUT_TRUNCATED;
		n.rejected = later(n.rejected, l->rejected);
		if (l->role == ROLE_PREFILL && l->input > 1 && l->input_flag == FLAG_EXACT &&
		    (l->outcome == OUT_FINISHED || l->outcome == OUT_LATE_READ))
			n.prefilled = later(n.prefilled, l->input);
		if (l->role == ROLE_PREFILL || l->input == UNKNOWN || (l->outcome == OUT_REJECTED && l->input <= 1))
			continue;
		if (n.longest == UNKNOWN || l->input > n.longest) {
			n.longest = l->input;
			n.flag = (enum flag)l->input_flag;
		}
	}
	n.exact = n.flag == FLAG_EXACT && n.longest > 1 && !cut ? n.longest : UNKNOWN;
	return n;
}

/* A chat template or a special token more or less is no contradiction. */
static bool counts_differ(int64_t gateway, int64_t engine)
{
	if (gateway == UNKNOWN || engine == UNKNOWN)
		return false;
	int64_t diff = gateway > engine ? gateway - engine : engine - gateway;
	return diff > MAX(16, engine / 200);
}

/* The lowest limit of the prefill boots that this request met; UNKNOWN: none is known. */
static int64_t lowest_limit(const struct resolve *r, const struct request *q)
{
	int64_t limit = UNKNOWN;
	for (uint32_t i = 0; i < q->n_legs; i++) {
		const struct leg *l = leg_at(r, r->leg_order[q->legs_from + i]);
		if (l->role != ROLE_DECODE && l->boot)
			limit = earlier(limit, boot_at(r, l->boot - 1)->number[BN_LIMIT]);
	}
	return limit;
}

static void prompt_length(const struct resolve *r, const struct request *q, struct response *p, int64_t gateway,
			  enum flag flag)
{
	struct lengths legs = legs_length(r, q);
	if (p->element) { /* told apart by its room: the sum is not its length */
		gateway = UNKNOWN;
	} else if (p->batch) { /* each element has a length of its own; the longest is the one that matters */
		p->prompt = legs.longest;
		p->prompt_flag = legs.longest == UNKNOWN ? FLAG_NONE : FLAG_AT_LEAST;
		return;
	}
	if (flag == FLAG_EXACT && gateway != UNKNOWN && legs.exact != UNKNOWN) {
		/* the engine's count decides; where the gateway's is much larger, some of it may be somewhere else */
		int64_t limit = lowest_limit(r, q);
		p->prompt = legs.exact;
		p->prompt_flag =
		    counts_differ(gateway, legs.exact) && gateway > legs.exact && (limit == UNKNOWN || gateway >= limit)
			? FLAG_AT_LEAST
			: FLAG_EXACT;
		return;
	}
	const struct {
		int64_t value;
		enum flag flag;
	} order[] = {{flag == FLAG_EXACT ? gateway : UNKNOWN, FLAG_EXACT},
		     {legs.longest, legs.flag},
		     {legs.rejected, FLAG_EXACT},
		     {legs.prefilled, FLAG_EXACT},
		     {gateway, flag}};
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i].value == UNKNOWN)
			continue;
		p->prompt = order[i].value;
		p->prompt_flag = order[i].flag;
		return;
	}
}

static bool is_error_finish(const struct resolve *r, uint32_t finish)
{
	return text_is(names_text(&r->names, finish), "error");
}

static bool is_abort_finish(const struct resolve *r, uint32_t finish)
{
	struct text t = names_text(&r->names, finish);
	return text_is(t, "abort") || text_is(t, "aborted");
}

/* Is a clearly the one that speaks to the client? It alone knows the tenant, or it spans the other. */
static bool is_outer(const struct hop *a, const struct hop *b)
{
	return (a->face >= 2 && a->face > b->face) || (a->face >= b->face && a->span_ns > b->span_ns + NS_PER_S);
}

/* Two records of one request say different things of its end. true: decided. */
static bool delivered_against(struct response *p)
{
	const struct hop *sent = &p->sent, *failed = &p->failed, *passed = &p->passed;
	char line[160], error[48] = "no bytes";
	if (!failed->there || (!sent->there && !passed->there) || (p->output == 0 && !status_left(p->status)))
		return false;
	if (failed->status != UNKNOWN && failed->status >= 400)
		(void)snprintf(error, sizeof(error), "status %lld", (long long)failed->status);
	if (sent->there) {
		bool yes = is_outer(sent, failed);
		(void)snprintf(line, sizeof(line), "%s: one record says that content was sent, another says %s",
			       yes ? "the outer gateway sent content" : "contradiction", error);
		say(p, yes ? TRI_YES : TRI_UNKNOWN, line);
		return true;
	}
	bool generated = p->engine_output != UNKNOWN && p->engine_output > 0;
	if (passed->face > failed->face || failed->face > passed->face ||
	    (generated && passed->span_ns > failed->span_ns + NS_PER_S))
		return false; /* the outer one decides */
	(void)snprintf(line, sizeof(line), "contradiction: one record says success, another says %s", error);
	say(p, TRI_UNKNOWN, line);
	return true;
}

/* The error of a gateway that may stand behind another one, which may have asked somebody else. */
static bool error_is_inner(const struct response *p)
{
	bool generated = p->engine_output != UNKNOWN && p->engine_output > 1;
	return p->shown.there && !p->shown.face && (generated || p->doubtful || status_left(p->status));
}

static void delivered_error(struct response *p)
{
	char line[160];
	if (status_left(p->status) && p->bytes != UNKNOWN && p->bytes > 0) {
		say(p, TRI_YES, "client left in the middle of the answer");
	} else if (status_left(p->status) && p->bytes == UNKNOWN && p->output != 0) {
		say(p, TRI_UNKNOWN, "client left; how much was sent by then is not recorded");
	} else if (error_is_inner(p)) {
		(void)snprintf(line, sizeof(line),
			       "status %lld of a gateway that counts nothing and names no tenant; what the client got "
			       "is not recorded",
			       (long long)p->status);
		say(p, TRI_UNKNOWN, line);
	} else {
		(void)snprintf(line, sizeof(line), "error status %lld", (long long)p->status);
		say(p, TRI_NO, line);
	}
}

static void delivered_success(struct response *p, bool some)
{
	char line[160];
	bool generated = p->engine_output != UNKNOWN && p->engine_output > 0;
	if (!some && !generated) {
		(void)snprintf(line, sizeof(line), "status %lld; neither bytes nor tokens are recorded",
			       (long long)p->status);
		say(p, TRI_UNKNOWN, line);
	} else if (p->output == UNKNOWN && p->engine_output == 0) {
		/* a stream whose only event is an error has bytes, but the engine generated nothing */
		say(p, TRI_NO, "the engine generated no tokens");
	} else {
		(void)snprintf(line, sizeof(line), "status %lld, %s", (long long)p->status,
			       p->output != UNKNOWN  ? "completion tokens recorded"
			       : p->bytes != UNKNOWN ? "bytes sent"
						     : "tokens generated by the engine");
		say(p, TRI_YES, line);
	}
}

static void delivered_gateway(const struct resolve *r, struct response *p)
{
	bool some = (p->bytes != UNKNOWN && p->bytes > 0) || (p->output != UNKNOWN && p->output > 0);
	if (delivered_against(p))
		return;
	if (p->status != UNKNOWN && p->status >= 400)
		delivered_error(p);
	else if (p->bytes == 0)
		say(p, TRI_NO, p->client_gone > 0 ? "client left before the first byte" : "no bytes were sent");
	else if (p->output == 0)
		say(p, TRI_NO, "no completion tokens");
	else if (is_error_finish(r, p->finish) && p->output == UNKNOWN)
		say(p, TRI_NO, "the answer ended in an error and no completion tokens are recorded");
	else if (p->client_gone > 0 && p->bytes == UNKNOWN) /* tokens were made, and may not have gone out */
		say(p, TRI_UNKNOWN, "client left; how much was sent by then is not recorded");
	else if (is_abort_finish(r, p->finish) && p->output == UNKNOWN)
		say(p, TRI_UNKNOWN, "aborted; whether any content was sent by then is not recorded");
	else if (p->status == UNKNOWN)
		say(p, some ? TRI_YES : TRI_UNKNOWN,
		    some ? "content was sent" : "no record of the end of this request");
	else if (p->status >= 200 && p->status < 300)
		delivered_success(p, some);
	else
		say(p, TRI_UNKNOWN, "neither a success nor an error is recorded");
}

/* One element of a batch: what the record says of all together says nothing of a single one, unless it is an error. */
static void delivered_element(struct response *p)
{
	if (p->status != UNKNOWN && p->status >= 400 && !p->sent.there)
		delivered_error(p);
	else if (p->bytes == 0 && !p->sent.there)
		say(p, TRI_NO, "no bytes were sent for the batch");
	else if (p->output == 0)
		say(p, TRI_NO, "no completion tokens for the batch");
	else if (p->engine_output == 0)
		say(p, TRI_NO, "the engine generated no tokens for this element of the batch");
	else if (p->sent.there && p->engine_output != UNKNOWN)
		say(p, TRI_YES, "content was sent for the batch, and the engine generated tokens for this element");
	else
		say(p, TRI_UNKNOWN, "only sums over the batch are recorded");
}

static void delivered_engine(struct response *p)
{
	const struct leg *l = p->answer;
	bool unified = l->role == ROLE_UNIFIED;
	bool none = l->output == UNKNOWN || l->output <= 1;
	/* whoever sent it here may have tried elsewhere; a prompt that is refused as it is comes to nothing anywhere */
	bool again = l->status >= 500 || ((l->outcome == OUT_ABORTED || l->outcome == OUT_FAILED) && l->status < 400);
	if (again && (none || l->output == 0))
		say(p, TRI_UNKNOWN,
		    "the engine gave it up; that another attempt answered is not excluded: no gateway record");
	else if (l->status >= 400 && none)
		say(p, TRI_NO, "the engine answered with an error status; no gateway record");
	else if (unified && l->outcome == OUT_REJECTED && none)
		say(p, TRI_NO, "rejected by the engine; no gateway record");
	else if (unified && l->sent != UNKNOWN && l->output != 0)
		say(p, TRI_YES, "the engine recorded the first byte sent; no gateway record");
	else if (l->output == 0)
		say(p, TRI_NO, "the engine generated no tokens; no gateway record");
	else
		say(p, TRI_UNKNOWN, "no gateway record of this request");
}

/* Outcome records of all lifetimes of a request. */
static void hops_of(const struct resolve *r, const struct request *q, struct response *p)
{
	for (uint32_t i = 0; i < q->n_lives; i++) {
		const struct life *l = life_at(r, r->life_order[q->lives_from + i]);
		hop_take(&p->shown, hop_at(r, l->shown));
		hop_take(&p->sent, hop_at(r, l->sent));
		hop_take(&p->failed, hop_at(r, l->failed));
		hop_take(&p->passed, hop_at(r, l->passed));
	}
}

static int gateway_side(struct resolve *r, const struct request *q, struct response *p, struct err *err)
{
	int64_t gateway = UNKNOWN;
	enum flag flag = FLAG_NONE;
	int res = 0;
	hops_of(r, q, p);
	if (p->shown.there) {
		p->status = p->shown.status;
		p->bytes = p->shown.bytes;
	}
	for (uint32_t i = 0; i < q->n_lives && !res; i++) {
		const struct life *l = life_at(r, r->life_order[q->lives_from + i]);
		p->gateway = true;
		p->element |= l->element;
		p->batch |= l->batch > 1;
		p->doubtful |= (l->conflict & (CONFLICT_OVERLAP | CONFLICT_AMBIGUOUS)) != 0;
		if (!p->shown.there && !l->final && l->inner_status != UNKNOWN)
			p->status = l->inner_status;
		if (p->bytes == UNKNOWN)
			p->bytes = l->bytes_out;
		if ((enum flag)l->input_flag > flag) {
			gateway = l->input;
			flag = (enum flag)l->input_flag;
		}
		p->output = later(p->output, l->output);
		p->streamed = MAX(p->streamed, l->streamed);
		p->client_gone = MAX(p->client_gone, l->client_gone);
		if (l->finish)
			p->finish = l->finish;
		p->started = earlier(p->started, l->started);
		p->finished = later(p->finished, l->finished);
		res = refs_add_all(r, &p->refs, &l->refs, err);
	}
	prompt_length(r, q, p, gateway, flag);
	return res;
}

uint32_t response_conflicts(const struct resolve *r, const struct request *q)
{
	struct response p = {.batch = false};
	uint32_t ret = 0;
	hops_of(r, q, &p);
	bool error = p.failed.there && p.failed.status != UNKNOWN && p.failed.status >= 400;
	if (p.failed.there && (p.sent.there || (p.passed.there && error && !status_left(p.failed.status))))
		ret |= CONFLICT_OUTCOME;
	for (uint32_t i = 0; i < q->n_lives; i++) {
		const struct life *l = life_at(r, r->life_order[q->lives_from + i]);
		if (l->input_flag == FLAG_EXACT && l->batch <= 1 && counts_differ(l->input, legs_length(r, q).exact))
			ret |= CONFLICT_LENGTH;
	}
	return ret;
}

static int response_of(struct resolve *r, const struct request *q, struct response *p, struct err *err)
{
	*p = (struct response){.streamed = -1, .client_gone = -1};
	p->status = p->prompt = p->output = p->bytes = p->started = p->finished = p->engine_output = UNKNOWN;
	for (uint32_t i = 0; i < q->n_legs; i++)
		p->batch |= leg_at(r, r->leg_order[q->legs_from + i])->batch > 1;
	p->answer = request_answer(r, q);
	int res = gateway_side(r, q, p, err);
	if (p->answer) {
		p->engine_output = p->answer->output;
		p->streamed = MAX(p->streamed, p->answer->streamed);
	}
	if (p->element) {
		delivered_element(p);
		p->bytes = UNKNOWN; /* sums */
		p->output = p->engine_output;
	} else if (p->gateway) {
		delivered_gateway(r, p);
	} else if (p->answer) {
		const struct leg *l = p->answer;
		p->output = l->output;
		p->started = l->started;
		p->finished = l->finished;
		if (l->role == ROLE_UNIFIED && l->status)
			p->status = l->status;
		delivered_engine(p);
	}
	for (uint32_t i = 0; i < q->n_legs && !res; i++)
		res = refs_add_all(r, &p->refs, &leg_at(r, r->leg_order[q->legs_from + i])->refs, err);
	return res;
}

static int response_row(struct resolve *r, struct row_writer *w, const struct request *q, const struct response *p,
			int64_t id, struct err *err)
{
	static const char *const tri[] = {"no", "yes", "unknown"};
	struct ref refs[REFS_MAX];
	unsigned n = refs_list(r, &p->refs, refs);
	row_put_int(w, RESPONSE_RESPONSE, id);
	row_put_int(w, RESPONSE_REQUEST, q->id);
	row_put_int(w, RESPONSE_ATTEMPTS, q->attempts);
	row_put_int(w, RESPONSE_STATUS, p->status);
	row_put_int(w, RESPONSE_STREAMED, p->streamed < 0 ? UNKNOWN : p->streamed);
	row_put_int(w, RESPONSE_PROMPT_TOKENS, p->prompt);
	row_put_text(w, RESPONSE_PROMPT_TOKENS_FLAG,
		     maybe(flag_name(p->prompt == UNKNOWN ? FLAG_NONE : p->prompt_flag)));
	row_put_int(w, RESPONSE_COMPLETION_TOKENS, p->output);
	row_put_int(w, RESPONSE_BYTES_SENT, p->bytes);
	row_put_text(w, RESPONSE_DELIVERED, text_of(tri[p->delivered]));
	row_put_text(w, RESPONSE_DELIVERED_BASIS, text_of(p->basis));
	row_put_int(w, RESPONSE_STARTED_NS, p->started);
	row_put_int(w, RESPONSE_FINISHED_NS, p->finished);
	for (unsigned i = 0; i < n; i++)
		row_put_ref(w, RESPONSE_REFS, refs[i]);
	return row_next(w, err);
}

int response_write(struct resolve *r, struct row_writer *w, const struct request *q, int64_t *id, struct err *err)
{
	struct response p;
	uint32_t mark = r->refs.n; /* its list is not needed again */
	int res = response_of(r, q, &p, err);
	if (!res && (p.gateway || p.answer))
		res = response_row(r, w, q, &p, ++*id, err);
	r->refs.n = mark;
	return res;
}
