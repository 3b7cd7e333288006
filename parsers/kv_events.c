/* SPDX-License-Identifier: Apache-2.0 */
/* kv_events.c - format kv-events: recorded streams of KV cache events of vLLM, SGLang and Mooncake's store
 *
 * These engines publish messages of three parts: topic, number, MessagePack. No engine writes them to a file; a recording
 * is made by a subscriber, which puts before each part what is needed to find the next one:
 *   u32 length of the topic | topic | u64 number | u32 length of the payload | payload      (all big-endian)
 * The payload is [ts, [event, …], rank] or {"ts":…,"events":…,"data_parallel_rank":…}; an event is an array that begins with
 * its name (vLLM v0.9 to v0.2x of June 2026, SGLang) or a map with a "type" (vLLM since), Mooncake's a map with an
 * "event_type" and a time in milliseconds. Which one it is, is seen from the types, not from versions. Sources read:
 * vllm/distributed/kv_events.py at 0181ea3, sglang srt/disaggregation/kv_events.py (006d053 and one of 2026), Mooncake's
 * kv_event_publisher.cpp at 3b5a594.
 *
 * A record is taken whole or not at all. Token ids are the prompt: they are counted and skipped. Salts and other extra keys
 * are only said to be there.
 */
#include <math.h>
#include <string.h>

#include "cache_block.h"
#include "pagetrail/msgpack.h"

enum {
	LENGTH_BYTES = 4,
	SEQ_BYTES = 8,
	TOPIC_MAX = 1024, /* of ZeroMQ no limit is known; a longer one is taken for something else */
};

static const uint64_t end_seq = UINT64_MAX;             /* behind the last message of a replay */
static const uint64_t payload_max = UINT64_C(64) << 20; /* four times the longest record; more is no length */

/* --- the frame --- */

struct frame {
	struct text topic, payload;
	uint64_t seq;
	uint64_t payload_len; /* as it is written: the payload can be cut */
	size_t head;
};

static uint64_t number(struct text t, size_t at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)t.ptr[at + i];
	return v;
}

/* SGLang puts its marks behind a NUL (its kv_events.py: _EPOCH_TOPIC_MARKER); other control bytes are in no topic. */
static bool topic_ok(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];

		if ((c > 0 && c < 32) || c == 127)
			return false;
	}
	return text_utf8_valid(t);
}

/* Can a batch begin with this byte? An array of two or more, or a map. */
static bool may_begin(unsigned char c)
{
	return (c >= 0x92 && c <= 0x9f) || (c >= 0x82 && c <= 0x8f) || c == 0xdc || c == 0xde;
}

/* 1 it is one, 0 more bytes are needed to say, -1 it is none. */
static int read_frame(struct text t, struct frame *f)
{
	uint64_t n;

	if (t.len < LENGTH_BYTES)
		return 0;
	n = number(t, 0, LENGTH_BYTES);
	if (n > TOPIC_MAX)
		return -1;
	f->head = LENGTH_BYTES + (size_t)n + SEQ_BYTES + LENGTH_BYTES;
	if (t.len < f->head)
		return 0;
	f->topic = text_sub(t, LENGTH_BYTES, (size_t)n);
	f->seq = number(t, LENGTH_BYTES + (size_t)n, SEQ_BYTES);
	f->payload_len = number(t, f->head - LENGTH_BYTES, LENGTH_BYTES);
	if (f->payload_len > payload_max || !topic_ok(f->topic))
		return -1;
	if (f->payload_len == 0)
		return f->seq == end_seq || memchr(f->topic.ptr, 0, f->topic.len) ? 1 : -1;
	if (t.len == f->head)
		return 0;
	f->payload = text_sub(t, f->head, (size_t)f->payload_len);
	return may_begin((unsigned char)t.ptr[f->head]) ? 1 : -1;
}

static size_t frame_length(struct text t)
{
	struct frame f = {0};
	int r = read_frame(t, &f);

	return r < 0 ? SIZE_MAX : r == 0 ? 0 : f.head + (size_t)f.payload_len;
}

/* --- the payload --- */

struct batch {
	struct stamp ts;
	struct text events; /* n_events values */
	uint32_t n_events;
	int64_t rank; /* -1: not said */
	bool load;    /* another kind of message */
	uint64_t blocks;
	unsigned known; /* events whose name is known */
	const char *reason;
};

struct cache_event {
	const char *what; /* NULL: not known */
	struct text hashes, second;
	uint32_t n_hashes, n_second;
	bool has_hashes, has_second, salted;
	struct msgpack_value parent, lora_id, block_size, rank, event_id;
	struct text lora, medium, tenant;
	struct msgpack_value group;
	int64_t tokens;                 /* -1: not said */
	struct msgpack_value late_name; /* of an array: an adapter, if there is one */
};

static bool given(const struct msgpack_value *v)
{
	return v->type != MSGPACK_NIL;
}

static bool is_int(const struct msgpack_value *v)
{
	return v->type == MSGPACK_INT || v->type == MSGPACK_UINT;
}

/* false: that cannot be the hash of a block. */
static bool read_hash(const struct msgpack_value *v, struct cache_hash *ret)
{
	ret->len = 0;
	if (is_int(v))
		cache_hash_u64(ret, v->u);
	else if (v->type == MSGPACK_BIN && v->bytes.len > 0 && v->bytes.len <= CACHE_HASH_BYTES_MAX)
		cache_hash_bytes(ret, v->bytes.ptr, v->bytes.len);
	return ret->len > 0;
}

/* A value that is looked at, or skipped with all that is in it. */
static enum msgpack_end one(struct text *rest, struct msgpack_value *ret)
{
	struct text from = *rest;
	enum msgpack_end end = msgpack_next(rest, ret);

	if (end == MSGPACK_OK && (ret->type == MSGPACK_ARRAY || ret->type == MSGPACK_MAP)) {
		*rest = from;
		return msgpack_skip(rest);
	}
	return end;
}

/* A list of hashes: *ret its elements. */
static enum msgpack_end list(struct text *rest, struct text *ret, uint32_t *ret_n, bool *ret_is)
{
	struct text from = *rest;
	struct msgpack_value v;
	enum msgpack_end end = msgpack_next(&from, &v);

	*ret_is = end == MSGPACK_OK && v.type == MSGPACK_ARRAY;
	*ret = from;
	*ret_n = *ret_is ? v.count : 0;
	return end == MSGPACK_OK ? msgpack_skip(rest) : end;
}

/* Is there anything but nil in it? (vLLM: a list of a tuple or nil for each block; SGLang: a map.) */
static enum msgpack_end extra(struct text *rest, bool *ret)
{
	struct text from = *rest;
	struct msgpack_value v, e;
	enum msgpack_end end = msgpack_next(&from, &v);

	if (end != MSGPACK_OK)
		return end;
	if (v.type == MSGPACK_MAP) {
		*ret |= v.count > 0;
	} else if (v.type == MSGPACK_ARRAY) {
		for (uint32_t i = 0; i < v.count && !*ret && end == MSGPACK_OK; i++) {
			end = one(&from, &e);
			*ret |= given(&e);
		}
	} else {
		*ret |= given(&v);
	}
	return end == MSGPACK_OK ? msgpack_skip(rest) : end;
}

#include "kv_events_fields.h"

/* --- a batch --- */

/* Seconds as a double, or, of Mooncake, milliseconds as an integer. */
static bool read_ts(const struct msgpack_value *v, struct stamp *ret)
{
	if (v->type == MSGPACK_FLOAT && v->d >= 1e8 && v->d < 9.2e9) {
		*ret = (struct stamp){(int64_t)llround(v->d * 1e6) * 1000, STAMP_ZONED, 1000};
		return true;
	}
	if (v->type == MSGPACK_INT && v->i >= INT64_C(100000000000) && v->i < INT64_C(9200000000000)) {
		*ret = (struct stamp){v->i * 1000000, STAMP_ZONED, 1000000};
		return true;
	}
	return false;
}

static enum msgpack_end batch_events(struct text *rest, struct batch *b)
{
	bool is;
	enum msgpack_end end = list(rest, &b->events, &b->n_events, &is);

	if (end == MSGPACK_OK && !is)
		b->reason = "no_events";
	return end;
}

static void batch_rank(const struct msgpack_value *v, bool mooncake, struct batch *b)
{
	if (!mooncake && v->type == MSGPACK_INT && v->i >= 0 && v->i <= UINT32_MAX)
		b->rank = v->i;
}

/* [ts, events, rank, …] or ["LoadStat", …] */
static enum msgpack_end batch_array(struct text *rest, uint32_t n, struct batch *b)
{
	struct msgpack_value v;
	enum msgpack_end end = one(rest, &v);
	bool mooncake = v.type == MSGPACK_INT;

	if (end != MSGPACK_OK)
		return end;
	b->load = v.type == MSGPACK_STR && text_is(v.bytes, "LoadStat");
	if (!b->load && !read_ts(&v, &b->ts))
		b->reason = "bad_time";
	for (uint32_t i = 1; i < n && end == MSGPACK_OK; i++) {
		if (i == 1 && !b->load) {
			end = batch_events(rest, b);
			continue;
		}
		end = one(rest, &v);
		if (i == 2 && end == MSGPACK_OK)
			batch_rank(&v, mooncake, b);
	}
	return end;
}

static enum msgpack_end batch_map(struct text *rest, uint32_t n, struct batch *b)
{
	struct msgpack_value key, v;
	enum msgpack_end end = MSGPACK_OK;
	bool timed = false;

	for (uint32_t i = 0; i < n && end == MSGPACK_OK; i++) {
		end = one(rest, &key);
		if (end != MSGPACK_OK)
			break;
		if (text_is(key.bytes, "events")) {
			end = batch_events(rest, b);
			continue;
		}
		end = one(rest, &v);
		if (end == MSGPACK_OK && text_is(key.bytes, "ts"))
			timed = read_ts(&v, &b->ts);
		else if (end == MSGPACK_OK &&
			 (text_is(key.bytes, "data_parallel_rank") || text_is(key.bytes, "attn_dp_rank")))
			batch_rank(&v, false, b);
	}
	if (end == MSGPACK_OK && !timed)
		b->reason = "bad_time";
	return end;
}

/* The fields of a batch; its events are looked at as far as they are there. */
static enum msgpack_end read_batch(struct text payload, struct batch *b)
{
	struct msgpack_value v;
	enum msgpack_end end = msgpack_next(&payload, &v);

	*b = (struct batch){.ts = STAMP_INIT, .rank = -1};
	if (v.type != MSGPACK_ARRAY && v.type != MSGPACK_MAP)
		return MSGPACK_BAD;
	if (v.type == MSGPACK_ARRAY)
		end = batch_array(&payload, v.count, b);
	else
		end = batch_map(&payload, v.count, b);
	if (end == MSGPACK_OK && payload.len)
		return MSGPACK_BAD;
	if (!b->load && !b->reason && !b->events.ptr)
		b->reason = "no_events";
	return end;
}

/* --- rows --- */

static const char *check_hashes(const struct cache_event *e, struct batch *b)
{
	struct text rest = e->hashes;
	struct cache_hash hash;
	struct msgpack_value v;

	b->blocks += (uint64_t)e->n_hashes + 1;
	if (b->blocks > CACHE_BLOCKS_MAX)
		return "too_many_blocks";
	if (!e->has_hashes)
		return strcmp(e->what, "cleared") != 0 ? "no_blocks" : NULL;
	if (given(&e->parent) && !read_hash(&e->parent, &hash))
		return "bad_block";
	for (uint32_t i = 0; i < e->n_hashes; i++) {
		if (one(&rest, &v) != MSGPACK_OK || !read_hash(&v, &hash))
			return "bad_block";
	}
	return NULL;
}

/* Can all events be taken? */
static enum msgpack_end check_events(struct batch *b)
{
	struct text rest = b->events;
	struct cache_event e;

	for (uint32_t i = 0; i < b->n_events && !b->reason; i++) {
		enum msgpack_end end = read_event(&rest, &e);

		if (e.what)
			b->known++;
		if (end != MSGPACK_OK)
			return end;
		b->reason = e.what ? check_hashes(&e, b) : "unknown_event";
	}
	return MSGPACK_OK;
}

static void set_count(struct event *e, unsigned column, const struct msgpack_value *v)
{
	if (v->type == MSGPACK_INT && v->i >= 0 && v->i <= TOKENS_MAX)
		event_int(e, column, v->i);
}

/* A name, or a number as a name. */
static void set_name(struct event *e, unsigned column, const struct msgpack_value *v, char tmp[32])
{
	if (v->type == MSGPACK_STR)
		event_text(e, column, v->bytes);
	else if (v->type == MSGPACK_INT)
		event_text(e, column, (struct text){tmp, text_put_int64(tmp, v->i)});
}

/* SGLang: topic, NUL, sgl-kv-epoch=NAME. */
static void set_topic(struct event *e, struct text topic)
{
	static const char mark[] = "\0sgl-kv-epoch=";
	size_t nul = text_find_char(topic, '\0', 0);
	struct text behind;

	event_text(e, CACHE_TOPIC, nul == SIZE_MAX ? topic : text_sub(topic, 0, nul));
	if (nul == SIZE_MAX)
		return;
	behind = text_from(topic, nul);
	if (behind.len >= sizeof(mark) - 1 && memcmp(behind.ptr, mark, sizeof(mark) - 1) == 0)
		event_text(e, CACHE_EPOCH, text_from(behind, sizeof(mark) - 1));
}

struct row {
	struct parse *p;
	const struct frame *f;
	const struct batch *b;
	const struct cache_event *e;
	char lora[32], group[32];
};

static int emit_row(struct row *w, int64_t at, const struct cache_hash *hash)
{
	struct event *e = parse_begin(w->p, EVENT_CACHE, w->b->ts);
	const struct cache_event *c = w->e;
	struct cache_hash parent;

	event_text(e, CACHE_WHAT, text_of(c->what));
	if (w->f->seq <= INT64_MAX)
		event_int(e, CACHE_SEQ, (int64_t)w->f->seq);
	set_topic(e, w->f->topic);
	if (c->event_id.type == MSGPACK_INT)
		event_int(e, CACHE_EVENT_ID, c->event_id.i);
	event_int(e, CACHE_AT, at);
	event_text(e, CACHE_BLOCK, cache_hash_text(hash));
	if (at == 0 && given(&c->parent) && read_hash(&c->parent, &parent))
		event_text(e, CACHE_PARENT, cache_hash_text(&parent));
	if (at == 0 && c->tokens >= 0)
		event_int(e, CACHE_TOKENS, c->tokens);
	set_count(e, CACHE_BLOCK_SIZE, &c->block_size);
	event_text(e, CACHE_MEDIUM, c->medium);
	if (c->lora.len)
		event_text(e, CACHE_LORA, c->lora);
	else
		set_name(e, CACHE_LORA, &c->lora_id, w->lora);
	set_name(e, CACHE_GROUP, &c->group, w->group);
	event_text(e, CACHE_TENANT, c->tenant);
	if (c->salted)
		event_flag(e, CACHE_SALTED, true);
	if (w->b->rank >= 0)
		event_int(e, CACHE_RANK, w->b->rank);
	set_count(e, CACHE_RANK, &c->rank);
	return parse_emit(w->p);
}

static int emit_event(struct row *w)
{
	struct text rest = w->e->hashes;
	struct cache_hash hash = {.len = 0};
	struct msgpack_value v;
	int r = 0;

	if (w->e->n_hashes == 0)
		return emit_row(w, 0, &hash);
	for (uint32_t i = 0; i < w->e->n_hashes && r == 0; i++) {
		(void)one(&rest, &v); /* check_hashes() saw them all */
		(void)read_hash(&v, &hash);
		r = emit_row(w, i, &hash);
	}
	return r;
}

static int emit(struct parse *p, const struct frame *f, const struct batch *b)
{
	struct text rest = b->events;
	struct cache_event e;
	struct row w = {.p = p, .f = f, .b = b, .e = &e};
	int r = 0;

	for (uint32_t i = 0; i < b->n_events && r == 0; i++) {
		(void)read_event(&rest, &e); /* check_events() saw them all */
		r = emit_event(&w);
	}
	return r < 0 ? r : RECORD_PARSED;
}

/* --- the format --- */

/* A message of the protocol without events: the end of a replay, the barrier of a snapshot. */
static bool is_mark(const struct frame *f)
{
	size_t at = text_find(f->topic, "sgl-kv-snapshot=", 0);

	return f->payload_len == 0 || (at != SIZE_MAX && at > 0 && f->topic.ptr[at - 1] == '\0');
}

static int record(struct parse *p, struct text record)
{
	struct frame f = {0};
	struct batch b;
	enum msgpack_end end;

	if (read_frame(record, &f) <= 0 || f.payload.len != f.payload_len)
		return parse_refuse(p, "torn");
	if (is_mark(&f))
		return RECORD_CONTEXT;
	end = read_batch(f.payload, &b);
	if (end == MSGPACK_OK && b.load)
		return RECORD_CONTEXT;
	if (end == MSGPACK_OK && !b.reason)
		end = check_events(&b);
	if (end != MSGPACK_OK)
		return parse_refuse(p, end == MSGPACK_CUT ? "msgpack_cut" : "msgpack_syntax");
	if (b.reason)
		return parse_refuse(p, b.reason);
	return b.n_events ? emit(p, &f, &b) : RECORD_CONTEXT;
}

/* The head of a source can end inside of its first record. */
static enum bid bid(struct parse *p, struct text record)
{
	struct frame f = {0};
	struct batch b;
	enum msgpack_end end, events;

	(void)p;
	if (read_frame(record, &f) <= 0)
		return BID_NO;
	if (is_mark(&f))
		return BID_WEAK;
	end = read_batch(f.payload, &b);
	if (end == MSGPACK_BAD || (end == MSGPACK_CUT) != (f.payload.len < f.payload_len))
		return BID_NO;
	if (b.load)
		return BID_STRONG;
	if (b.ts.ns == TIME_UNKNOWN || !b.events.ptr)
		return BID_NO;
	events = check_events(&b);
	if (events == MSGPACK_BAD || (events == MSGPACK_CUT && end == MSGPACK_OK))
		return BID_NO;
	return b.known ? BID_STRONG : BID_WEAK;
}

const struct parser parser_kv_events = {
    .name = "kv-events",
    .summary = "KV cache events of vLLM, SGLang, Mooncake (recorded messages, MessagePack)",
    .checked = "vLLM 2025-04 to 2026-08, SGLang 2025 to 2026, Mooncake 2026-08 (sources of their publishers)",
    .shape = SHAPE_BINARY,
    .emits = 1u << EVENT_CACHE,
    .length = frame_length,
    .bid = bid,
    .record = record,
};
