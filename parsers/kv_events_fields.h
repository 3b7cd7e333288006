/* SPDX-License-Identifier: Apache-2.0 */
/* kv_events_fields.h - fields of one event, from an array (by place) or a map (by name); a part of kv_events.c */
#pragma once

static const char *what_of(struct text name)
{
	static const struct {
		const char *name, *what;
	} names[] = {
	    {"BlockStored", "stored"},       {"stored", "stored"},
	    {"BlockRemoved", "removed"},     {"removed", "removed"},
	    {"AllBlocksCleared", "cleared"}, {"cleared", "cleared"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_is(name, names[i].name))
			return names[i].what;
	}
	return NULL;
}

static enum msgpack_end take_hashes(struct text *rest, struct cache_event *e)
{
	return list(rest, &e->hashes, &e->n_hashes, &e->has_hashes);
}

/* Their number is all that is kept. */
static enum msgpack_end take_tokens(struct text *rest, struct cache_event *e)
{
	struct text from = *rest;
	struct msgpack_value v;
	enum msgpack_end end = msgpack_next(&from, &v);

	if (end != MSGPACK_OK)
		return end;
	if (v.type == MSGPACK_ARRAY)
		e->tokens = v.count;
	return msgpack_skip(rest);
}

static enum msgpack_end take_text(struct text *rest, struct text *ret)
{
	struct msgpack_value v;
	enum msgpack_end end = one(rest, &v);

	if (end == MSGPACK_OK && v.type == MSGPACK_STR)
		*ret = v.bytes;
	return end;
}

/* Place i of an event that is an array. What stands behind the medium depends on the engine: of vLLM the adapter's name,
 * then extra keys, group, kind, window; of SGLang a map with a salt. */
static enum msgpack_end stored_field(uint32_t i, struct text *rest, struct cache_event *e)
{
	struct msgpack_value v;

	switch (i) {
	case 1: return take_hashes(rest, e);
	case 2: return one(rest, &e->parent);
	case 3: return take_tokens(rest, e);
	case 4: return one(rest, &e->block_size);
	case 5: return one(rest, &e->lora_id);
	case 6: return take_text(rest, &e->medium);
	case 7:
		if (rest->len && ((unsigned char)rest->ptr[0] & 0xf0) == 0x80)
			return extra(rest, &e->salted);
		return one(rest, &e->late_name);
	case 8: return extra(rest, &e->salted);
	case 9: return one(rest, &e->group);
	default: return one(rest, &v);
	}
}

static enum msgpack_end removed_field(uint32_t i, struct text *rest, struct cache_event *e)
{
	struct msgpack_value v;

	switch (i) {
	case 1: return take_hashes(rest, e);
	case 2: return take_text(rest, &e->medium);
	case 3: return one(rest, &e->group);
	default: return one(rest, &v);
	}
}

static enum msgpack_end event_array(struct text *rest, uint32_t n, struct cache_event *e)
{
	struct msgpack_value v;
	enum msgpack_end end = n ? one(rest, &v) : MSGPACK_OK;
	bool stored;

	if (end != MSGPACK_OK || !n)
		return end;
	e->what = v.type == MSGPACK_STR ? what_of(v.bytes) : NULL;
	stored = e->what && !strcmp(e->what, "stored");
	for (uint32_t i = 1; i < n && end == MSGPACK_OK; i++)
		end = stored ? stored_field(i, rest, e) : removed_field(i, rest, e);
	/* a text at the adapter's place is one only when the event has an adapter: it may be a salt of another engine */
	if (e->late_name.type == MSGPACK_STR && given(&e->lora_id))
		e->lora = e->late_name.bytes;
	return end;
}

static enum msgpack_end map_field(struct text key, struct text *rest, struct cache_event *e)
{
	struct msgpack_value v;
	struct text name = {NULL, 0};
	enum msgpack_end end;

	if (text_is(key, "block_hashes"))
		return take_hashes(rest, e);
	if (text_is(key, "seq_hashes")) /* Mooncake's; its block_hashes are the same bits, signed */
		return list(rest, &e->second, &e->n_second, &e->has_second);
	if (text_is(key, "token_ids"))
		return take_tokens(rest, e);
	if (text_is(key, "extra_keys") || text_is(key, "additional_salt") || text_is(key, "cache_salt") ||
	    text_is(key, "metadata"))
		return extra(rest, &e->salted);
	if (text_is(key, "parent_block_hash") || text_is(key, "parent_hash")) {
		end = one(rest, &v);
		if (end == MSGPACK_OK && given(&v))
			e->parent = v;
		return end;
	}
	if (text_is(key, "block_size"))
		return one(rest, &e->block_size);
	if (text_is(key, "lora_id"))
		return one(rest, &e->lora_id);
	if (text_is(key, "group_idx") || text_is(key, "group_id"))
		return one(rest, &e->group);
	if (text_is(key, "event_id"))
		return one(rest, &e->event_id);
	if (text_is(key, "dp_rank"))
		return one(rest, &e->rank);
	if (text_is(key, "lora_name"))
		return take_text(rest, &e->lora);
	if (text_is(key, "medium"))
		return take_text(rest, &e->medium);
	if (text_is(key, "tenant_id"))
		return take_text(rest, &e->tenant);
	if (!text_is(key, "type") && !text_is(key, "event_type"))
		return one(rest, &v);
	end = take_text(rest, &name);
	if (what_of(name))
		e->what = what_of(name);
	return end;
}

static enum msgpack_end event_map(struct text *rest, uint32_t n, struct cache_event *e)
{
	struct msgpack_value key;
	enum msgpack_end end = MSGPACK_OK;

	for (uint32_t i = 0; i < n && end == MSGPACK_OK; i++) {
		end = one(rest, &key);
		if (end == MSGPACK_OK)
			end = map_field(key.bytes, rest, e);
	}
	if (!e->has_hashes && e->has_second) {
		e->hashes = e->second;
		e->n_hashes = e->n_second;
		e->has_hashes = true;
	}
	return end;
}

static enum msgpack_end read_event(struct text *rest, struct cache_event *e)
{
	struct msgpack_value v;
	enum msgpack_end end = msgpack_next(rest, &v);

	*e = (struct cache_event){.tokens = -1};
	if (end != MSGPACK_OK)
		return end;
	if (v.type == MSGPACK_ARRAY)
		return event_array(rest, v.count, e);
	return v.type == MSGPACK_MAP ? event_map(rest, v.count, e) : MSGPACK_BAD;
}
