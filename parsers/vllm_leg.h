/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_leg.h - what vLLM says of requests: received, answered, rejected, aborted, failed, and handed from engine to engine
 *
 * Included by vllm.c only. Of a request only ids, counts and reasons are taken: neither prompt, nor answer, nor token ids,
 * nor the text of an error that may quote them. Sources: vllm/entrypoints/…/request_logger.py, vllm/v1/engine/async_llm.py,
 * vllm/renderers/params.py, vllm/v1/core/sched/scheduler.py and vllm/distributed/kv_transfer/kv_connector/v1/nixl/ as of
 * 2026-08-17 (017e9f4448); vllm/engine/async_llm_engine.py and vllm/core/scheduler.py of 0.6 to 0.9 for V0.
 */
#pragma once

#include "pagetrail/parser.h"

static struct event *leg_begin(struct parse *p, const char *what, struct text id)
{
	struct vllm *s = p->state;
	struct event *e = vllm_begin(p, EVENT_LEG, s->line.dp);

	event_text(e, LEG_WHAT, text_of(what));
	event_text(e, LEG_RID, outer_id(id, s->suffixed));
	event_text(e, LEG_RANK, s->line.rank);
	if (s->role)
		event_text(e, LEG_ROLE, text_of(s->role));
	return e;
}

/* --- received --- */

/* Elements of "[1, 2, 3]"; -1 when it is no whole list of numbers. */
static int64_t count_ids(struct text list)
{
	int64_t n = 1;

	if (list.len < 3 || list.ptr[0] != '[' || list.ptr[list.len - 1] != ']')
		return -1;
	for (size_t i = 1; i + 1 < list.len; i++) {
		if (list.ptr[i] == ',')
			n++;
		else if (!is_digit(list.ptr[i]) && list.ptr[i] != ' ')
			return -1;
	}
	return n;
}

/* The value at *at, which is a repr; moves *at behind the ", " that follows it. */
static struct text next_value(struct text t, size_t *at, bool *torn)
{
	size_t end = py_value_end(t, *at, torn);
	struct text value = text_sub(t, *at, end - *at);

	*at = MIN(end + 2, t.len);
	return value;
}

/* Received request ID: params: …, lora_request: None.
 * Received request ID: prompt: '…', params: …, prompt_token_ids: [1, 2], …: up to 2025-10, with the prompt */
static int take_received(struct parse *p, const struct match *m, struct text message)
{
	static const char head[] = "Received request ", token_ids[] = "prompt_token_ids: ";
	struct text rest = text_from(message, sizeof(head) - 1), id;
	struct text near = text_sub(rest, 0, 1024);
	size_t old = text_find(near, ": prompt: ", 0), at = text_find(near, ": params: ", 0);
	struct vllm *s = p->state;
	int64_t ids = -1;
	struct event *e;

	(void)m;
	if (at == SIZE_MAX && old == SIZE_MAX)
		return parse_refuse(p, "torn");
	id = text_sub(rest, 0, MIN(at, old));
	if (id.len == 0)
		return parse_refuse(p, "shape");
	if (old < at) {
		at = old + sizeof(": prompt: ") - 1;
		(void)next_value(rest, &at, &s->torn);
		for (int i = 0; i < 4 && !s->torn && at < rest.len; i++) {
			bool wanted = text_starts(text_from(rest, at), token_ids);
			size_t colon = text_find(text_sub(rest, at, 64), ": ", 0);
			struct text value;

			if (colon == SIZE_MAX)
				break;
			at += colon + 2;
			value = next_value(rest, &at, &s->torn);
			if (wanted)
				ids = count_ids(value);
		}
	}
	s->n_received = MIN(id.len, sizeof(s->received));
	memcpy(s->received, id.ptr, s->n_received);
	e = leg_begin(p, "received", id);
	if (ids > 0) { /* --max-log-len cuts the list, and only the arguments say whether it was given */
		event_int(e, LEG_INPUT, ids);
		event_text(e, LEG_INPUT_FLAG, s->whole_lists ? TEXT("exact") : TEXT("at_least"));
	}
	return vllm_emit(p);
}

static struct text without_dot(struct text t)
{
	t = text_trim(t);
	if (text_ends(t, "."))
		t.len--;
	return t;
}

static int take_added(struct parse *p, const struct match *m, struct text message)
{
	struct text id = without_dot(text_from(message, sizeof("Added request ") - 1));
	struct vllm *s = p->state;

	(void)m;
	/* both names of one request, one after the other: engine ids have a suffix in this log */
	if (has_suffix(id) && id.len - 9 == s->n_received && memcmp(id.ptr, s->received, s->n_received) == 0)
		s->suffixed = true;
	leg_begin(p, "received", id);
	return vllm_emit(p);
}

/* --- rejected --- */

static bool digits_after(struct text t, const char *mark, int64_t *ret)
{
	struct text tail = after(t, mark);
	size_t n = 0;

	while (n < tail.len && (is_digit(tail.ptr[n]) || tail.ptr[n] == ','))
		n++;
	while (n > 0 && tail.ptr[n - 1] == ',')
		n--;
	return text_count(text_sub(tail, 0, n), ret) && *ret <= TOKENS_MAX;
}

/* How the sentences begin in which vLLM refuses a prompt. */
static bool begins_refusal(struct text t)
{
	static const char *const starts[] = {"This model's maximum context length is ",
					     "The decoder prompt (",
					     "The encoder prompt (",
					     "The prompt (",
					     "Prompt length of ",
					     "Input length (",
					     "Input prompt (",
					     "'max_tokens' or 'max_completion_tokens' is too large"};

	return starts_any(t, starts, ARRAY_SIZE(starts));
}

static int leg_rejected(struct parse *p, struct text id, struct text message, const int64_t *length, bool at_least,
			const int64_t *limit)
{
	struct event *e = leg_begin(p, "rejected", id);

	if (length) {
		event_int(e, LEG_INPUT, *length);
		event_text(e, LEG_INPUT_FLAG, at_least ? TEXT("at_least") : TEXT("exact"));
	}
	if (limit)
		event_int(e, LEG_LIMIT, *limit);
	event_text(e, LEG_MESSAGE, message);
	return vllm_emit(p);
}

/* One of the sentences in which vLLM refuses a prompt. RECORD_UNPARSED: it is none. */
static int refusal(struct parse *p, struct text id, struct text message)
{
	/* where the prompt's length stands; those with "at least" stop counting behind the limit */
	static const struct {
		const char *mark;
		bool at_least;
	} lengths[] = {
	    {"your prompt contains at least ", true},
	    {"your prompt contains ", false},
	    {"your request has ", false},
	    {"with at least ", true},
	    {"tokens (", false},
	    {"prompt (length ", false},
	    {"prompt (total length ", false},
	    {"Prompt length of ", false},
	    {"Input length (", false},
	    {"Input prompt (", false},
	};
	static const char *const limits[] = {"maximum context length is ", "maximum model length of ",
					     "maximum context length (", "(context length ", "exceeds limit of "};
	struct text t = text_sub(message, 0, 1024);
	int64_t length = 0, limit = 0;
	bool has_length = false, has_limit = false, at_least = false;

	for (size_t i = 0; !has_limit && i < ARRAY_SIZE(limits); i++)
		has_limit = digits_after(t, limits[i], &limit);
	if (!has_limit && !holds(t, "exceeds the capacity of block"))
		return RECORD_UNPARSED;
	for (size_t i = 0; !has_length && i < ARRAY_SIZE(lengths); i++) {
		struct text tail = after(t, lengths[i].mark);

		has_length = digits_after(t, lengths[i].mark, &length);
		at_least = lengths[i].at_least;
		/* a prompt whose characters were too many was never counted in tokens */
		if (has_length && holds(text_sub(tail, 0, 32), " characters"))
			has_length = false;
		if (tail.ptr && !has_length)
			break;
	}
	return leg_rejected(p, id, message, has_length ? &length : NULL, at_least, has_limit ? &limit : NULL);
}

static int take_refusal(struct parse *p, const struct match *m, struct text message)
{
	int r = refusal(p, (struct text){NULL, 0}, message);

	(void)m;
	return r == RECORD_UNPARSED ? parse_refuse(p, "shape") : r;
}

/* --- how it ended --- */

/* Failed ids are followed by the reason: (engine dead), (bad request): text, due to ValueError: text. What the caller
 * sent may be quoted in the text, so it is only looked at for a refusal. */
static int request_failed(struct parse *p, struct text id, struct text why)
{
	size_t colon = text_find(why, ": ", 0);
	struct text kind = text_trim(text_sub(why, 0, MIN(colon, 80)));
	struct event *e;
	int r = RECORD_UNPARSED;

	if (colon != SIZE_MAX && begins_refusal(text_from(why, colon + 2)))
		r = refusal(p, id, text_from(why, colon + 2));
	if (r != RECORD_UNPARSED)
		return r;
	e = leg_begin(p, "failed", id);
	event_text(e, LEG_MESSAGE, without_dot(kind));
	return vllm_emit(p);
}

/* Request ID aborted. / failed … / failed to load N tokens across M blocks */
static int take_request(struct parse *p, const struct match *m, struct text message)
{
	struct text rest = text_from(message, sizeof("Request ") - 1), near = text_sub(rest, 0, 1024);
	size_t failed = text_find(near, " failed", 0), aborted = text_find(near, " aborted", 0);
	size_t at = MIN(failed, aborted);
	struct text id = text_sub(rest, 0, at);

	(void)m;
	if (text_find(near, " details: prompt: ", 0) < at || at == SIZE_MAX)
		return RECORD_CONTEXT;
	if (aborted < failed) {
		leg_begin(p, "aborted", id);
		return vllm_emit(p);
	}
	if (text_starts(text_from(rest, failed), " failed to load ")) {
		event_text(leg_begin(p, "load_failed", id), LEG_MESSAGE, text_from(rest, failed + 1));
		return vllm_emit(p);
	}
	return request_failed(p, id, skip_blanks(text_from(rest, failed + sizeof(" failed") - 1)));
}

/* Several names at once: "a,b", "{'a', 'b'}" */
static int legs_listed(struct parse *p, const char *what, struct text list, struct text message)
{
	int verdict = RECORD_CONTEXT;
	struct text part;

	while (verdict >= 0 && text_split(&list, ',', &part)) {
		size_t from = 0, n;

		part = without_dot(part);
		while (from < part.len && memchr(" {['\"", part.ptr[from], 5))
			from++;
		for (n = part.len; n > from && memchr(" }]'\"", part.ptr[n - 1], 5);)
			n--;
		part = text_sub(part, from, n - from);
		if (part.len == 0)
			continue;
		event_text(leg_begin(p, what, part), LEG_MESSAGE, message);
		verdict = vllm_emit(p);
	}
	return verdict;
}

static int take_aborted(struct parse *p, const struct match *m, struct text message)
{
	const char *head =
	    message.ptr[sizeof("Aborted request") - 1] == '(' ? "Aborted request(s) " : "Aborted request ";

	(void)m;
	return legs_listed(p, "aborted", text_from(message, strlen(head)), (struct text){NULL, 0});
}

static int take_finished(struct parse *p, const struct match *m, struct text message)
{
	(void)m;
	leg_begin(p, "finished", without_dot(text_from(message, sizeof("Finished request ") - 1)));
	return vllm_emit(p);
}

/* Generated response ID[ (streaming …)]: output: '…'[, output_token_ids: [..]], finish_reason: stop */
static int take_generated(struct parse *p, const struct match *m, struct text message)
{
	struct text rest = text_from(message, sizeof("Generated response ") - 1), id, value = {NULL, 0};
	size_t at = text_find(text_sub(rest, 0, 1024), ": output: ", 0), stream;
	struct vllm *s = p->state;
	struct event *e;

	(void)m;
	if (at == SIZE_MAX)
		return RECORD_CONTEXT; /* " details: output_token_ids: " */
	id = text_sub(rest, 0, at);
	stream = text_find(id, " (streaming ", 0);
	if (stream != SIZE_MAX && holds(text_from(id, stream), "delta"))
		return RECORD_CONTEXT;
	at += sizeof(": output: ") - 1;
	(void)next_value(rest, &at, &s->torn);
	for (int i = 0; i < 3 && !s->torn && at < rest.len; i++) {
		bool wanted = text_starts(text_from(rest, at), "finish_reason: ");
		size_t colon = text_find(text_sub(rest, at, 64), ": ", 0);

		if (colon == SIZE_MAX)
			break;
		at += colon + 2;
		value = wanted ? text_trim(text_from(rest, at)) : (struct text){NULL, 0};
		if (wanted)
			break;
		(void)next_value(rest, &at, &s->torn);
	}
	e = leg_begin(p, "finished", text_sub(id, 0, stream));
	if (value.len > 0 && value.len < 40 && !text_is(value, "None"))
		event_text(e, LEG_FINISH, value);
	event_flag(e, LEG_STREAM, stream != SIZE_MAX);
	return vllm_emit(p);
}

/* Sequence group ID is preempted by …: V0, every fiftieth alone */
static int take_preempted(struct parse *p, const struct match *m, struct text message)
{
	(void)message;
	leg_begin(p, "retracted", match_group(m, "id"));
	return vllm_emit(p);
}

/* --- handed over (NIXL and its kin) --- */

static int handed(struct parse *p, const char *what, struct text id, const char *role, struct text message)
{
	struct event *e = leg_begin(p, what, id);

	if (role)
		event_text(e, LEG_ROLE, text_of(role));
	event_text(e, LEG_MESSAGE, message);
	return vllm_emit(p);
}

static int take_loads(struct parse *p, const struct match *m, struct text message)
{
	return handed(p, "handoff", without_dot(match_group(m, "id")), "decode", message);
}

static int take_sends(struct parse *p, const struct match *m, struct text message)
{
	bool declined = message.ptr[0] == 'D';

	return handed(p, declined ? "handoff" : "sent", without_dot(match_group(m, "id")), "prefill", message);
}

/* The lease of a prefill's pages ran out: they were given to others, whether they had been read or not. */
static int take_expired(struct parse *p, const struct match *m, struct text message)
{
	return handed(p, "expired", match_group(m, "id"), "prefill", message);
}

/* A decode worker read pages that this side had given up: perhaps with another's content, and the caller got 200. (Also
 * written where one side reports a name that the other does not know: a sign, no proof.) */
static int take_late_read(struct parse *p, const struct match *m, struct text message)
{
	return handed(p, "late_read", match_group(m, "id"), "prefill", message);
}

/* NIXL transfer failure: TYPE[. text] | Context: {'request_id': '…', …} */
static int take_nixl_failure(struct parse *p, const struct match *m, struct text message)
{
	struct text context = after(message, "| Context: ");
	struct text why = text_trim(text_sub(message, 0, MIN(text_find(message, " | Context: ", 0), message.len)));
	struct text id = py_unquote(py_get(context, "request_id"));

	(void)m;
	return handed(p, "failed", id, NULL, why);
}

static int take_load_failure(struct parse *p, const struct match *m, struct text message)
{
	size_t at = text_find(message, ". Request IDs: ", 0);

	(void)m;
	if (at == SIZE_MAX)
		return handed(p, "failed", (struct text){NULL, 0}, NULL, message);
	return legs_listed(p, "failed", text_from(message, at + sizeof(". Request IDs: ") - 1),
			   text_sub(message, 0, at));
}

static int take_rejected_there(struct parse *p, const struct match *m, struct text message)
{
	return handed(p, "rejected", match_group(m, "id"), NULL, message);
}

/* Which side of the hand-off this engine is on, by the object that came with the request. */
static const char *transfer_role(struct text params)
{
	if (text_is(py_get(params, "do_remote_decode"), "True"))
		return "prefill";
	if (text_is(py_get(params, "do_remote_prefill"), "True") || py_unquote(py_get(params, "remote_engine_id")).len)
		return "decode";
	return NULL;
}

/* NIXLConnector get_num_new_matched_tokens: … / update_state_after_alloc: …, kv_transfer_params={…} name no request
 * of this engine, but tell its role.
 * NIXLConnector request_finished[(ID)], request_status=FINISHED_STOPPED, kv_transfer_params={…} */
static int take_connector(struct parse *p, const struct match *m, struct text message)
{
	static const struct {
		const char *status, *finish;
	} ends[] = {{"STOPPED", "stop"}, {"LENGTH_CAPPED", "length"}, {"ABORTED", "abort"}, {"ERROR", "error"}};
	struct text params = after(message, "kv_transfer_params="), id = match_group(m, "id");
	const char *role = transfer_role(params);
	struct text status = match_group(m, "status");
	struct event *e;

	if (status.len == 0 && !role)
		return RECORD_CONTEXT;
	e = leg_begin(p, status.len ? "finished" : "handoff", id);
	if (role)
		event_text(e, LEG_ROLE, text_of(role));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_is(status, ends[i].status))
			event_text(e, LEG_FINISH, text_of(ends[i].finish));
	return vllm_emit(p);
}
