/* SPDX-License-Identifier: Apache-2.0 */
/* lmcache.c - what LMCache says of requests: what its cache had of them, stored, loaded, and failed to load
 *
 * Its lines stand among those of the engine that it serves; the engine's format hands them on without the process in
 * front. What is in the cache may be from any request with the same prefix. A load that fails is no failure of the
 * request: the engine computes the tokens again, or fails it by its own word. "Total tokens" are those of the request so
 * far: after a preemption its answer is among them, so they are an estimate of the prompt.
 * Sources: LMCache lmcache/logging.py (0e65d2f); lmcache/integration/vllm/vllm_v1_adapter.py and
 * lmcache/v1/cache_engine.py of 2025 and 2026; a real log of 2026-01.
 */
#include "pagetrail/parser.h"

#include "vllm_words.h"

#define NUMBER(name) "(?<" name ">[0-9]+)"
#define ID           "(?<id>[^\\s,\\]]{1,1000}?)"

struct line {
	bool enveloped; /* [2026-09-14 03:12:44,556] LMCache INFO: message (file.py:123:module) */
	struct stamp ts;
	struct text message;
};

struct lmcache {
	struct line line;
};

/* " (file.py:123:module)" at the end goes. */
static struct text without_place(struct text t)
{
	size_t open = text_rfind_char(t, '(');

	if (open == SIZE_MAX || open < 1 || t.ptr[t.len - 1] != ')' || t.len - open > 200 ||
	    !holds(text_from(t, open), ".py:"))
		return t;
	return text_trim(text_sub(t, 0, open));
}

static struct line line_read(struct text t)
{
	static const char mark[] = "] LMCache ";
	struct line line = {.ts = STAMP_INIT, .message = t};
	struct text rest;
	size_t used, n;

	if (t.len < 40 || t.ptr[0] != '[' || !is_digit(t.ptr[1]) || !stamp_parse_iso(text_from(t, 1), &line.ts, &used))
		return line;
	rest = text_from(t, 1 + used);
	if (!text_starts(rest, mark))
		return line;
	rest = text_from(rest, sizeof(mark) - 1);
	n = level_length(rest);
	if (n == 0 || rest.ptr[n] != ':')
		return line;
	line.enveloped = true;
	line.message = without_place(text_trim(text_from(rest, n + 1)));
	return line;
}

static int leg(struct parse *p, const char *what, struct text id, struct text message)
{
	struct lmcache *s = p->state;
	struct event *e = parse_begin(p, EVENT_LEG, s->line.ts);
	int r;

	event_text(e, LEG_WHAT, text_of(what));
	event_text(e, LEG_RID, outer_id(id, false));
	event_text(e, LEG_MESSAGE, message);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

/* Reqid: ID, Total tokens N, [Inference Engine computed tokens: N, ]LMCache hit tokens: N|None[, but], need to load: N */
static int take_lookup(struct parse *p, const struct match *m, struct text message)
{
	struct lmcache *s = p->state;
	struct event *e = parse_begin(p, EVENT_LEG, s->line.ts);
	int r;

	(void)message;
	event_text(e, LEG_WHAT, TEXT("lookup"));
	event_text(e, LEG_RID, outer_id(match_group(m, "id"), false));
	event_count(e, LEG_INPUT, match_group(m, "total"));
	if (e->known >> LEG_INPUT & 1)
		event_text(e, LEG_INPUT_FLAG, TEXT("estimate"));
	event_count(e, LEG_CACHED, match_group(m, "hit"));
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

static int take_load_failed(struct parse *p, const struct match *m, struct text message)
{
	size_t at = text_find(message, "failed to load ", 0);

	if (at == SIZE_MAX)
		at = text_find(message, "The number of retrieved tokens", 0);
	return leg(p, "load_failed", match_group(m, "id"), at == SIZE_MAX ? message : text_from(message, at));
}

static int take_stored(struct parse *p, const struct match *m, struct text message)
{
	struct text id = match_group(m, "id");

	return id.len ? leg(p, "stored", id, text_sub(message, 0, text_find(message, "for request", 0)))
		      : RECORD_CONTEXT;
}

/* [[req_id=ID] ]Retrieved N out of N required tokens: fewer than required is a load that failed, also without a name */
static int take_retrieved(struct parse *p, const struct match *m, struct text message)
{
	struct text id = match_group(m, "id");
	int64_t got, need;
	bool less = text_count(match_group(m, "got"), &got) && text_count(match_group(m, "need"), &need) && got < need;

	if (!less && id.len == 0)
		return RECORD_CONTEXT;
	return leg(p, less ? "load_failed" : "loaded", id, message);
}

/* Samples are our own, written from the grammar. */
static const struct line_pattern patterns[] = {
    {
	.name = "lookup",
	.starts = "Reqid: ",
	.regex =
	    "^Reqid:\\x20" ID ",\\x20Total\\x20tokens\\x20" NUMBER("total") "\\b.*?\\bLMCache\\x20hit\\x20tokens:\\x20"
									    "(?:" NUMBER("hit") "|None)",
	.sample =
	    "Reqid: chatcmpl-8c24fecc6f854a3e-873d5034, Total tokens 8210, LMCache hit tokens: 8192, need to load: -18",
	.take = take_lookup,
    },
    {
	.name = "hybrid_lookup",
	.starts = "Hybrid lookup: Reqid: ",
	.regex = "Reqid:\\x20" ID ",\\x20Total\\x20tokens\\x20" NUMBER(
	    "total") "\\b.*?\\bLMCache\\x20hit\\x20tokens:\\x20" NUMBER("hit"),
	.sample = "Hybrid lookup: Reqid: chatcmpl-8c24fecc6f854a3e, Total tokens 8210, Inference Engine computed "
		  "tokens: 0, LMCache "
		  "hit tokens: 8192, need to load: 8192",
	.take = take_lookup,
    },
    {
	.name = "load_failed",
	.starts = "Request ",
	.regex = "^Request\\x20(?<id>\\S{1,1000}?)(?:\\x20failed\\x20to\\x20load\\x20[0-9]+\\x20tokens|\\x20?"
		 "The\\x20number\\x20of\\x20"
		 "retrieved\\x20tokens\\x20is\\x20less)",
	.sample = "Request chatcmpl-8c24fecc6f854a3e failed to load 256 tokens across 16 blocks",
	.take = take_load_failed,
    },
    {
	.name = "load_short",
	.starts = "Num retrieved tokens: ",
	.sample = "Num retrieved tokens: 0, num expected tokens: 32",
	.take = take_load_failed,
    },
    {
	.name = "load_lost",
	.starts = "The cache block is in the storage, but it can't be retrieved",
	.sample = "The cache block is in the storage, but it can't be retrieved",
	.take = take_load_failed,
    },
    {
	.name = "storing",
	.starts = "Storing KV cache for ",
	.regex = "\\bfor\\x20request\\x20" ID "$",
	.sample =
	    "Storing KV cache for 256 out of 8210 tokens (skip_leading_tokens=0) for request chatcmpl-8c24fecc6f854a3e",
	.take = take_stored,
    },
    {
	.name = "stored",
	.regex = "^(?:\\[req_id=" ID "\\]\\x20)?Stored\\x20[0-9]+\\x20out\\x20of\\x20total\\x20",
	.sample =
	    "[req_id=chatcmpl-8c24fecc6f854a3e] Stored 256 out of total 8210 tokens. size: 0.0312 gb, cost 1.5000 ms",
	.take = take_stored,
    },
    {
	.name = "retrieved",
	.regex = "^(?:\\[req_id=" ID "\\]\\x20)?Retrieved\\x20" NUMBER("got") "\\x20out\\x20of\\x20" NUMBER(
	    "need") "\\x20required\\x20tokens",
	.sample = "Retrieved 0 out of 2048 required tokens (from 4096 total tokens). size: 0.0000 gb, cost 0.4065 ms",
	.take = take_retrieved,
    },
    {
	.name = "retrieved_old",
	.starts = "Retrieved ",
	.regex = "^Retrieved\\x20" NUMBER("got") "\\x20out\\x20of\\x20total\\x20" NUMBER(
	    "need") "\\x20out\\x20of\\x20total\\x20[0-9]+\\x20"
		    "tokens",
	.sample = "Retrieved 2048 out of total 2048 out of total 4096 tokens. size: 0.1250 gb, cost 2.0000 ms",
	.take = take_retrieved,
    },
};

static int lmcache_record(struct parse *p, struct text record)
{
	struct lmcache *s = p->state;
	int r;

	s->line = line_read(unpaint(&p->scratch, record));
	/* a wrapper's time has a zone */
	if (s->line.enveloped && p->fallback.quality == STAMP_ZONED && s->line.ts.quality != STAMP_ZONED)
		s->line.ts = STAMP_INIT;
	p->reason = NULL;
	if (s->line.enveloped || text_starts(s->line.message, "Reqid: ")) {
		r = parse_patterns(p, s->line.message);
		return r == RECORD_UNPARSED ? RECORD_CONTEXT : r;
	}
	r = parse_delegate(p, record);
	if (r != RECORD_UNPARSED || p->reason)
		return r;
	if (text_trim(record).len == 0 || is_progress(record))
		return RECORD_CONTEXT;
	if (record.ptr[0] == ' ' || record.ptr[0] == '\t')
		return RECORD_CONTINUES;
	return parse_refuse(p, "foreign");
}

static enum bid lmcache_bid(struct parse *p, struct text record)
{
	struct text t = unpaint(&p->scratch, record);

	if (t.len > 0 && t.ptr[0] == 'R')
		return text_starts(t, "Reqid: ") && holds(text_sub(t, 0, 1200), "LMCache hit tokens: ") ? BID_STRONG
													: BID_NO;
	return line_read(t).enveloped ? BID_STRONG : BID_NO;
}

const struct parser parser_lmcache = {
    .name = "lmcache",
    .summary = "LMCache's lines: cache hits, stores and failed loads of requests",
    .checked = "output of 2026-01, source of 2025 and 2026",
    .shape = SHAPE_LINES,
    .hosts = "vllm dynamo",
    .emits = 1u << EVENT_LEG,
    .state_bytes = sizeof(struct lmcache),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = lmcache_bid,
    .record = lmcache_record,
};
