/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_words.h - what vLLM shares with those that log beside it: its names of requests, and lists of its blocks
 *
 * Included once by each format that needs it. No state; block_runs() allocates from the parser's scratch.
 */
#pragma once

#include "log_words.h"

static UNUSED bool is_hex(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.ptr[i]) && (t.ptr[i] < 'a' || t.ptr[i] > 'f'))
			return false;
	return t.len > 0;
}

/* 16 or 32 hex digits, or a UUID: what vLLM, routers and gateways make where no client chose */
static UNUSED bool is_made_up(struct text t)
{
	if (t.len != 36)
		return (t.len == 16 || t.len == 32) && is_hex(t);
	return t.ptr[8] == '-' && t.ptr[13] == '-' && t.ptr[18] == '-' && t.ptr[23] == '-' &&
	       is_hex(text_sub(t, 0, 8)) && is_hex(text_from(t, 24));
}

/* "-" and eight hex digits at the end, as vLLM adds them since 2025-12-23 (f790068600) */
static UNUSED bool has_suffix(struct text id)
{
	return id.len > 9 && id.ptr[id.len - 9] == '-' && is_hex(text_from(id, id.len - 8));
}

/* Is what stands before a suffix an id that was made up: chatcmpl-<hex>, cmpl-<hex>-0, <uuid>? */
static UNUSED bool base_is_made_up(struct text id)
{
	size_t dash = text_rfind_char(id, '-'), n = 0;

	while (n < id.len && id.ptr[n] >= 'a' && id.ptr[n] <= 'z')
		n++;
	if (n > 0 && n < id.len && (id.ptr[n] == '-' || id.ptr[n] == '_') && !is_made_up(id)) {
		id = text_from(id, n + 1);
		dash = text_rfind_char(id, '-');
	}
	if (dash != SIZE_MAX && id.len - dash <= 5 && all_digits(text_from(id, dash + 1)))
		id = text_sub(id, 0, dash);
	return is_made_up(id);
}

/* The engine calls a request EXT-xxxxxxxx, its children with n > 1 0_EXT-xxxxxxxx; the server and the other side of a
 * hand-off know it as EXT. The suffix goes where EXT is made up, or where this log has shown both names of one. */
static UNUSED struct text outer_id(struct text id, bool suffixed)
{
	static const char *const prefixes[] = {"chatcmpl-", "cmpl-", "resp_"};
	size_t n = 0;

	while (n < id.len && is_digit(id.ptr[n]))
		n++;
	if (n > 0 && n < 4 && n + 1 < id.len && id.ptr[n] == '_' &&
	    starts_any(text_from(id, n + 1), prefixes, ARRAY_SIZE(prefixes)))
		id = text_from(id, n + 1);
	if (has_suffix(id) && (suffixed || base_is_made_up(text_sub(id, 0, id.len - 9))))
		id.len -= 9;
	return id;
}

/* Block numbers anywhere in a nested list, in order. false: none, or they cannot be. */
static UNUSED bool block_runs(struct parse *p, struct text list, struct page_run **ret, uint32_t *ret_n)
{
	struct page_run *runs;
	size_t most = 0;
	uint64_t total = 0;

	*ret_n = 0;
	for (size_t i = 0; i < list.len; i++)
		most += is_digit(list.ptr[i]) && (i == 0 || !is_digit(list.ptr[i - 1]));
	if (most == 0 || most > PAGE_RUNS_MAX || !(runs = arena_alloc(&p->scratch, most * sizeof(*runs))))
		return false;
	for (size_t i = 0; i < list.len;) {
		struct page_run *last = *ret_n ? &runs[*ret_n - 1] : NULL;
		size_t n = 0;
		int64_t v;

		while (i + n < list.len && is_digit(list.ptr[i + n]))
			n++;
		if (n == 0) {
			i++;
			continue;
		}
		if (!text_int64(text_sub(list, i, n), &v) || v >= POOL_MAX_PAGES || ++total > POOL_MAX_PAGES)
			return false;
		i += n;
		if (v == 0)
			continue;
		if (last && last->first + last->count == (uint64_t)v)
			last->count++;
		else
			runs[(*ret_n)++] = (struct page_run){(uint32_t)v, 1};
	}
	*ret = runs;
	return *ret_n > 0;
}
