/* SPDX-License-Identifier: Apache-2.0 */
/* pagelog.c - format pagelog: what an instrumented allocator says of pages, one JSON object a line
 *
 * The hottest parser of all: plain records are read in one pass (pagelog_plain.h), the others by one json_parse and one
 * walk over the members. A record is taken whole
 * or not at all: a page list, token range or pool size that cannot be right makes the record unparsed, because half
 * a record would show ownership that never was. One in which a key comes twice, with two values, is refused. Once a file has said
 * that it is of a newer version, records without `v` are of that version too.
 */
#include <string.h>

#include "pagetrail/flat.h"
#include "pagetrail/parser.h"

enum { RUNS_SMALL = 256, ID_TMP = 32 };

struct state {
	bool newer;    /* the last `v` seen was above 1 */
	bool numbered; /* a record had a `seq` */
	struct flat flat;
	struct page_run runs[RUNS_SMALL];
};

/* The page list of a record: the state's own room first, then the parser's scratch. */
struct runs {
	struct page_run *run;
	uint32_t n, cap;
	int64_t total; /* pages */
};

struct fields {
	struct json_value v, ts, seq, worker, pool, op, rid, room, pages, tokens, page_size, pool_pages, peer;
	struct text ts_number; /* as it was written, when it is no integer: a double would not keep it */
};

static bool key_is(struct text key, const char *name, size_t len)
{
	return key.len == len && memcmp(key.ptr, name, len) == 0;
}

#define KEY(name, member)                          \
	if (key_is(key, name, sizeof(name) - 1)) { \
		f->member = v;                     \
		return;                            \
	}

static void sort_member(struct fields *f, struct text key, struct json_value v)
{
	switch (key.len) {
	case 1: KEY("v", v) break;
	case 2:
		KEY("ts", ts)
		KEY("op", op)
		break;
	case 3:
		KEY("seq", seq)
		KEY("rid", rid)
		break;
	case 4:
		KEY("pool", pool)
		KEY("room", room)
		KEY("peer", peer)
		break;
	case 5: KEY("pages", pages) break;
	case 6:
		KEY("worker", worker)
		KEY("tokens", tokens)
		break;
	case 9: KEY("page_size", page_size) break;
	case 10: KEY("pool_pages", pool_pages) break;
	}
}

static bool stamp_int(int64_t i, struct stamp *ret)
{
	if (i >= STAMP_NS_FROM) {
		*ret = (struct stamp){i, STAMP_ZONED, 1};
		return true;
	}
	if (i < 0 || i > INT64_MAX / NS_PER_S)
		return false;
	*ret = (struct stamp){i * NS_PER_S, STAMP_ZONED, NS_PER_S};
	return true;
}

static bool stamp_text(struct text t, struct stamp *ret)
{
	size_t used;
	int64_t i;

	if (stamp_parse_iso(t, ret, &used))
		return used == t.len;
	return text_int64(t, &i) ? stamp_int(i, ret) : stamp_parse_seconds(t, ret);
}

/* number: the bytes of v when it is no integer. */
static bool read_ts(struct json_value v, struct text number, struct stamp *ret)
{
	struct text t;
	int64_t i;

	switch (json_type(v)) {
	case JSON_INT:
	case JSON_UINT: return json_int64(v, &i) && stamp_int(i, ret);
	case JSON_DOUBLE: return stamp_parse_seconds(number, ret);
	case JSON_STRING: return json_string(v, &t) && stamp_text(t, ret);
	default: return false;
	}
}

static bool in_pool(int64_t first, int64_t count)
{
	return first >= 0 && count >= 0 && first <= POOL_MAX_PAGES && count <= POOL_MAX_PAGES - first;
}

static bool read_run(struct json_value v, int64_t *ret_first, int64_t *ret_count)
{
	struct json_value part[2];
	struct json_iter it;
	struct text key;
	size_t n = 0;

	switch (json_type(v)) {
	case JSON_INT:
	case JSON_UINT: *ret_count = 1; return json_int64(v, ret_first) && in_pool(*ret_first, 1);
	case JSON_ARRAY: break;
	default: return false;
	}
	it = json_iter(v);
	while (n < 2 && json_next(&it, &key, &part[n]))
		n++;
	if (n != 2 || json_next(&it, &key, &part[0]))
		return false;
	return json_int64(part[0], ret_first) && json_int64(part[1], ret_count) && in_pool(*ret_first, *ret_count);
}

/* 0 there is room now, 1 no record has so many runs, negative ERR_*. */
static int runs_grow(struct parse *p, struct runs *runs)
{
	struct page_run *more;

	if (runs->n == PAGE_RUNS_MAX)
		return 1;
	more = arena_array(&p->scratch, (size_t)runs->cap * 4, sizeof(*more));
	if (!more)
		return err_nomem(p->err);
	memcpy(more, runs->run, runs->n * sizeof(*more));
	runs->run = more;
	runs->cap *= 4;
	return 0;
}

/* One more run. 0 done, 1 the list cannot be right, negative ERR_*. Neighbours that go on are joined; the order stays. */
static inline int runs_add(struct parse *p, struct runs *runs, int64_t first, int64_t count)
{
	struct page_run *last = runs->n ? &runs->run[runs->n - 1] : NULL;

	/* no pool has more pages than this, so no record can name more */
	runs->total += count;
	if (runs->total > POOL_MAX_PAGES)
		return 1;
	if (count == 0)
		return 0;
	if (last && last->first + last->count == (uint64_t)first) {
		last->count += (uint32_t)count;
		return 0;
	}
	if (runs->n == runs->cap) {
		int r = runs_grow(p, runs);

		if (r)
			return r;
	}
	runs->run[runs->n++] = (struct page_run){(uint32_t)first, (uint32_t)count};
	return 0;
}

/* 0 done, 1 the list cannot be right, negative ERR_*. */
static int read_pages(struct parse *p, struct json_value v, struct runs *ret)
{
	struct state *s = p->state;
	int64_t first, count;
	struct json_iter it;
	struct json_value e;
	struct text key;

	*ret = (struct runs){.run = s->runs, .cap = RUNS_SMALL};
	if (json_type(v) != JSON_ARRAY)
		return 1;
	it = json_iter(v);
	while (json_next(&it, &key, &e)) {
		int r;

		if (!read_run(e, &first, &count))
			return 1;
		r = runs_add(p, ret, first, count);
		if (r)
			return r;
	}
	return 0;
}

static bool read_tokens(struct json_value v, int64_t *ret_from, int64_t *ret_to)
{
	struct json_value part[2];
	struct json_iter it;
	struct text key;
	size_t n = 0;

	if (json_type(v) != JSON_ARRAY)
		return false;
	it = json_iter(v);
	while (n < 2 && json_next(&it, &key, &part[n]))
		n++;
	if (n != 2 || json_next(&it, &key, &part[0]))
		return false;
	return json_int64(part[0], ret_from) && json_int64(part[1], ret_to) && *ret_from >= 0 && *ret_to >= *ret_from &&
	       *ret_to <= TOKENS_MAX;
}

static bool op_known(struct text op)
{
	static const char four[][4] = {"boot", "recv", "send", "read", "free", "zero"};
	static const char five[][5] = {"reset", "alloc", "write", "share"};

	for (size_t i = 0; op.len == 4 && i < ARRAY_SIZE(four); i++)
		if (memcmp(op.ptr, four[i], 4) == 0)
			return true;
	for (size_t i = 0; op.len == 5 && i < ARRAY_SIZE(five); i++)
		if (memcmp(op.ptr, five[i], 5) == 0)
			return true;
	return false;
}

/* Does op, which is known, say something of each of its pages? */
static bool op_on_pages(struct text op)
{
	return !text_is(op, "boot") && !text_is(op, "reset");
}

/* Without its pages nobody knows what an operation did to which page: it must not look like one that did nothing. When
 * it is refused its number is missing, which is a hole; in a log without numbers all is in doubt. Only a record
 * without number among numbered ones would be missed by nobody: it stays, as a break in the sequence. */
static bool pages_missing(const struct state *s, const struct fields *f, struct text op)
{
	return !json_given(f->pages) && op_on_pages(op) && (json_given(f->seq) || !s->numbered);
}

/* Is the record of version 1? A file says its version once. */
static bool version_ok(struct state *s, struct json_value v)
{
	int64_t n;

	if (json_given(v))
		s->newer = !json_count(v, &n) || n != 1;
	return !s->newer;
}

static bool bounded(struct json_value v, int64_t min, int64_t max, int64_t *ret)
{
	return json_count(v, ret) && *ret >= min && *ret <= max;
}

/* Ids and numbers beside the pages; NULL or the reason why not. */
static const char *set_numbers(struct event *e, const struct fields *f)
{
	int64_t n, m;

	if (json_given(f->seq)) {
		if (!bounded(f->seq, 0, INT64_MAX, &n))
			return "bad_seq";
		event_int(e, PAGE_SEQ, n);
	}
	if (json_given(f->tokens)) {
		if (!read_tokens(f->tokens, &n, &m))
			return "bad_tokens";
		event_int(e, PAGE_TOKEN_FROM, n);
		event_int(e, PAGE_TOKEN_TO, m);
	}
	if (json_given(f->page_size)) {
		if (!bounded(f->page_size, 1, TOKENS_MAX, &n))
			return "bad_pool";
		event_int(e, PAGE_SIZE, n);
	}
	if (json_given(f->pool_pages)) {
		if (!bounded(f->pool_pages, 1, POOL_MAX_PAGES, &n))
			return "bad_pool";
		event_int(e, PAGE_POOL_PAGES, n);
	}
	return NULL;
}

static int take(struct parse *p, const struct fields *f)
{
	char rid_tmp[ID_TMP], room_tmp[ID_TMP];
	struct state *s = p->state;
	struct text worker, op, pool, rid, room, peer;
	struct runs runs = {0};
	const char *reason;
	struct event *e;
	struct stamp ts = STAMP_INIT;
	int r;

	if (!version_ok(s, f->v))
		return parse_refuse(p, "version");
	if (!json_given(f->ts))
		return parse_refuse(p, "no_ts");
	if (!read_ts(f->ts, f->ts_number, &ts))
		return parse_refuse(p, "bad_ts");
	if (!json_string(f->worker, &worker) || worker.len == 0)
		return parse_refuse(p, "no_worker");
	if (!json_string(f->op, &op) || op.len == 0)
		return parse_refuse(p, "no_op");
	if (!op_known(op))
		return parse_refuse(p, "unknown_op");
	if (pages_missing(s, f, op))
		return parse_refuse(p, "no_pages");
	if (json_given(f->pages)) {
		r = read_pages(p, f->pages, &runs);
		if (r)
			return r < 0 ? r : parse_refuse(p, "bad_pages");
	}

	e = parse_begin(p, EVENT_PAGE, ts);
	event_worker(e, worker);
	event_text(e, PAGE_OP, op);
	event_text(e, PAGE_POOL, json_string(f->pool, &pool) && pool.len ? pool : TEXT("kv"));
	if (json_id(f->rid, rid_tmp, &rid))
		event_text(e, PAGE_RID, rid);
	if (json_id(f->room, room_tmp, &room))
		event_text(e, PAGE_ROOM, room);
	if (json_string(f->peer, &peer))
		event_text(e, PAGE_PEER, peer);
	reason = set_numbers(e, f);
	if (reason)
		return parse_refuse(p, reason);
	s->numbered |= json_given(f->seq);
	if (json_given(f->pages))
		event_runs(e, runs.run, runs.n);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

#include "pagelog_plain.h"

/* At t[i] a string begins: the place of the quote that ends it. */
static size_t string_end(struct text t, size_t i)
{
	for (i++; i < t.len && t.ptr[i] != '"'; i++)
		i += t.ptr[i] == '\\';
	return i;
}

/* The bytes of the number that is the value of member k, counted from 0, of an object that json_parse() took. Mending
 * changes strings and values only, never how many members there are. */
static struct text member_number(struct text t, size_t k)
{
	size_t i = 0, depth = 0, from;

	for (; i < t.len; i++) {
		char c = t.ptr[i];

		if (c == '"')
			i = string_end(t, i);
		else if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		else if (c == ',' && depth == 1)
			k--;
		else if (c == ':' && depth == 1 && k == 0)
			break;
	}
	for (i++; i < t.len && memchr(" \t\r\n", t.ptr[i], 4);)
		i++;
	for (from = i; i < t.len && memchr("0123456789+-.eE", t.ptr[i], 15);)
		i++;
	return text_sub(t, from, i - from);
}

/* By way of a parsed document. */
static int any_record(struct parse *p, struct text record)
{
	struct fields f = {0};
	struct json_value doc, v;
	struct json_iter it;
	struct text key, bare = record;
	size_t n = 0, ts_at = 0;
	int r;

	if (record.len == 0 || record.ptr[0] != '{') {
		if (text_starts(record, "\xef\xbb\xbf"))
			record = text_from(record, 3);
		bare = text_trim(record);
		if (bare.len == 0)
			return RECORD_CONTEXT;
		if (bare.ptr[0] != '{')
			return parse_refuse(p, "not_json");
	}
	r = parse_json(p, record, p->padded, &doc);
	if (r)
		return r;
	if (!json_is_object(doc))
		return parse_refuse(p, "json_syntax");
	it = json_iter(doc);
	for (; json_next(&it, &key, &v); n++) {
		sort_member(&f, key, v);
		if (text_is(key, "ts"))
			ts_at = n;
	}
	if (json_type(f.ts) == JSON_DOUBLE)
		f.ts_number = member_number(record, ts_at);
	return take(p, &f);
}

static int record(struct parse *p, struct text record)
{
	int r = plain_record(p, record);

	return r ? r : any_record(p, record);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct json_value doc;
	struct text op, worker;

	record = text_trim(record);
	if (record.len == 0 || record.ptr[0] != '{' || text_find(record, "\"op\"", 0) == SIZE_MAX)
		return BID_NO;
	if (json_parse(p->json, record, false, &doc, NULL, p->err) != 0)
		return BID_NO;
	if (!json_string(json_get(doc, "op"), &op) || !json_string(json_get(doc, "worker"), &worker))
		return BID_NO;
	if (!json_given(json_get(doc, "ts")))
		return BID_NO;
	return op_known(op) ? BID_STRONG : BID_WEAK;
}

const struct parser parser_pagelog = {
    .name = "pagelog",
    .summary = "page log of an instrumented allocator (JSON lines)",
    .checked = "page log version 1",
    .emits = 1u << EVENT_PAGE,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
};
