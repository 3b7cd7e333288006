/* SPDX-License-Identifier: Apache-2.0 */
/* dynamo_kv_events.c - format dynamo-kv-events: what Dynamo's router hears from its workers' prefix caches, recorded
 *
 * {"timestamp":MS,"event":{"worker_id":N,"storage_tier":T,"event":{"event_id":N,"dp_rank":N,"data":D}}}, where D is
 * {"stored":{"parent_hash":H|null,"blocks":[{"block_hash":H,"tokens_hash":H}]}}, {"removed":{"block_hashes":[H]}} or
 * "cleared" (lib/llm/src/recorder.rs at 03b4145, lib/kv-router/src/protocols.rs at 038eab2). MS counts from the start of
 * the recorder: there is no epoch in the file. Hashes and worker ids use all 64 bits.
 */
#include <string.h>

#include "cache_block.h"

enum { ID_TMP = 32 };

enum data { DATA_NONE, DATA_STORED, DATA_REMOVED, DATA_CLEARED };

struct fields {
	struct json_value timestamp, worker, tier, event_id, rank;
	struct json_value list, parent; /* blocks, or hashes */
	enum data data;
};

static enum data read_data(struct json_value v, struct fields *f)
{
	struct json_value part;
	struct text t;

	if (json_string(v, &t))
		return text_is(t, "cleared") ? DATA_CLEARED : DATA_NONE;
	part = json_get(v, "stored");
	if (json_is_object(part)) {
		f->list = json_get(part, "blocks");
		f->parent = json_get(part, "parent_hash");
		return DATA_STORED;
	}
	part = json_get(v, "removed");
	f->list = json_get(part, "block_hashes");
	return json_is_object(part) ? DATA_REMOVED : DATA_NONE;
}

/* false: not one of these records. */
static bool read_fields(struct json_value doc, struct fields *f)
{
	struct json_value outer = json_get(doc, "event"), inner = json_get(outer, "event");

	*f = (struct fields){.timestamp = json_get(doc, "timestamp"),
			     .worker = json_get(outer, "worker_id"),
			     .tier = json_get(outer, "storage_tier"),
			     .event_id = json_get(inner, "event_id"),
			     .rank = json_get(inner, "dp_rank")};
	f->data = read_data(json_get(inner, "data"), f);
	return json_given(f->timestamp) && json_given(f->worker) && json_given(f->event_id) &&
	       json_given(json_get(inner, "data"));
}

static bool read_hash(struct json_value v, struct cache_hash *ret)
{
	uint64_t u;
	int64_t i;

	ret->len = 0;
	if (json_uint64(v, &u))
		cache_hash_u64(ret, u);
	else if (json_int64(v, &i))
		cache_hash_u64(ret, (uint64_t)i);
	return ret->len > 0;
}

/* One block: its hash, and that of its tokens where it has one. */
static bool read_block(const struct fields *f, struct json_value v, struct cache_hash *ret,
		       struct cache_hash *ret_content)
{
	struct json_value content = json_get(v, "tokens_hash");

	ret_content->len = 0;
	if (f->data == DATA_REMOVED)
		return read_hash(v, ret);
	return read_hash(json_get(v, "block_hash"), ret) && (!json_given(content) || read_hash(content, ret_content));
}

/* Why the record cannot be taken whole; NULL: it can. */
static const char *check(const struct fields *f, struct stamp *ret_ts)
{
	struct cache_hash hash, content;
	struct json_iter it;
	struct json_value v;
	struct text key;
	uint64_t ms, n = 0;

	if (!json_uint64(f->timestamp, &ms) || ms > (uint64_t)INT64_MAX / 1000000)
		return "bad_time";
	*ret_ts = (struct stamp){(int64_t)ms * 1000000, STAMP_MONOTONIC, 1000000};
	if (f->data == DATA_NONE)
		return "unknown_event";
	if (f->data == DATA_CLEARED)
		return NULL;
	if (json_type(f->list) != JSON_ARRAY)
		return "no_blocks";
	if (json_given(f->parent) && !read_hash(f->parent, &hash))
		return "bad_block";
	it = json_iter(f->list);
	while (json_next(&it, &key, &v)) {
		if (++n > CACHE_BLOCKS_MAX)
			return "too_many_blocks";
		if (!read_block(f, v, &hash, &content))
			return "bad_block";
	}
	return NULL;
}

/* The columns that all rows of a record have. */
static struct event *begin(struct parse *p, const struct fields *f, struct stamp ts, struct text worker)
{
	static const char *const whats[] = {"", "stored", "removed", "cleared"};
	struct event *e = parse_begin(p, EVENT_CACHE, ts);
	struct text t;
	int64_t n;

	event_worker(e, worker);
	event_text(e, CACHE_WHAT, text_of(whats[f->data]));
	if (json_int64(f->event_id, &n))
		event_int(e, CACHE_EVENT_ID, n);
	if (json_int64(f->rank, &n) && n >= 0 && n <= UINT32_MAX)
		event_int(e, CACHE_RANK, n);
	if (json_string(f->tier, &t))
		event_text(e, CACHE_MEDIUM, t);
	return e;
}

static int emit_block(struct parse *p, const struct fields *f, struct event *e, struct json_value v, int64_t at)
{
	struct cache_hash hash, content, parent;

	(void)read_block(f, v, &hash, &content); /* check() saw that it can be read */
	event_int(e, CACHE_AT, at);
	event_text(e, CACHE_BLOCK, cache_hash_text(&hash));
	event_text(e, CACHE_CONTENT, cache_hash_text(&content));
	if (at == 0 && read_hash(f->parent, &parent))
		event_text(e, CACHE_PARENT, cache_hash_text(&parent));
	if (json_given(json_get(v, "mm_extra_info")))
		event_flag(e, CACHE_SALTED, true);
	return parse_emit(p);
}

static int emit(struct parse *p, const struct fields *f, struct stamp ts, struct text worker)
{
	struct json_iter it;
	struct json_value v;
	struct text key;
	int64_t at = 0;
	int r = 0;

	if (f->data != DATA_CLEARED) {
		it = json_iter(f->list);
		for (; r == 0 && json_next(&it, &key, &v); at++)
			r = emit_block(p, f, begin(p, f, ts, worker), v, at);
	}
	if (r == 0 && at == 0) {
		event_int(begin(p, f, ts, worker), CACHE_AT, 0);
		r = parse_emit(p);
	}
	return r < 0 ? r : RECORD_PARSED;
}

static int record(struct parse *p, struct text record)
{
	char tmp[ID_TMP];
	struct json_value doc;
	struct text bare = text_trim(record), worker;
	struct fields f;
	struct stamp ts = STAMP_INIT;
	const char *reason;
	int r;

	if (bare.len == 0 || bare.ptr[0] != '{')
		return parse_refuse(p, "not_json");
	r = parse_json(p, record, p->padded, &doc);
	if (r)
		return r;
	if (!read_fields(doc, &f))
		return parse_refuse(p, "no_event");
	if (!json_id(f.worker, tmp, &worker) || worker.len == 0)
		return parse_refuse(p, "no_worker");
	reason = check(&f, &ts);
	return reason ? parse_refuse(p, reason) : emit(p, &f, ts, worker);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct json_value doc;
	struct fields f;

	record = text_trim(record);
	if (record.len == 0 || record.ptr[0] != '{' || text_find(record, "\"event_id\"", 0) == SIZE_MAX ||
	    text_find(record, "\"worker_id\"", 0) == SIZE_MAX)
		return BID_NO;
	if (json_parse(p->json, record, false, &doc, NULL, p->err) != 0 || !read_fields(doc, &f))
		return BID_NO;
	return f.data != DATA_NONE ? BID_STRONG : BID_NO;
}

const struct parser parser_dynamo_kv_events = {
    .name = "dynamo-kv-events",
    .summary = "KV cache events as Dynamo's router records them (JSON lines)",
    .checked = "Dynamo sources of 2026 (recorder.rs, kv-router protocols.rs)",
    .emits = 1u << EVENT_CACHE,
    .bid = bid,
    .record = record,
};
