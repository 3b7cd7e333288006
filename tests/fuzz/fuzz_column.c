/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_column.c - any bytes as an event chunk and as its records: decoded or refused; any lines as records of events: the
 * events come back as they were */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes again and again, wherever the chunk says that they are. */
static int read_any(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct text *t = ctx;
	(void)off;
	if (!t->len)
		return err_set(err, ERR_INPUT, "no bytes");
	for (size_t at = 0; at < len; at += t->len)
		memcpy(dest + at, t->ptr, MIN(t->len, len - at));
	return 0;
}

static int read_exact(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct text *t = ctx;
	if (off > t->len || len > t->len - off)
		return err_set(err, ERR_BUG, "bytes that are not there");
	memcpy(dest, t->ptr + off, len);
	return 0;
}

static void hostile(const uint8_t *data, size_t size)
{
	struct event_batch *b = NULL;
	struct err err = {0};
	size_t half = (size - 2) * data[1] / 256;
	struct text chunk = {(const char *)data + 2, half}, records = {(const char *)data + 2 + half, size - 2 - half};
	struct column_reader from = {read_any, &records};
	if (!column_decode(data[0] % EVENT_KINDS, chunk, UINT32_MAX, &from, &b, &err)) {
		/* what was decoded is a batch like any other */
		struct event_chunk again = {0};
		struct column_bytes bytes = {records, b->byte_off[0]};
		if (!column_encode(b, &bytes, &again, &err))
			column_done(&again);
	}
	event_batch_free(b);
	if (column_holds(data[0] % EVENT_KINDS, chunk, data[1] % 8, TEXT("a"), &err) == ERR_BUG)
		abort();
}

/* An event whose values are parts of its line, most of them, at places that follow from the line. */
static void make_event(struct event *e, struct page_run *runs, struct text line, uint64_t off)
{
	size_t a = line.len > 1 ? (unsigned char)line.ptr[0] % line.len : 0;
	size_t n = line.len > 1 ? (unsigned char)line.ptr[1] % (line.len - a) : 0;
	char digits[19] = {0};
	*e = (struct event){.kind = EVENT_PAGE, .worker = TEXT(""), .runs = runs, .n_runs = 1};
	memcpy(digits, line.ptr + a, MIN(line.len - a, sizeof(digits) - 1));
	runs[0] = (struct page_run){(uint32_t)strtoul(digits, NULL, 10), 1 + (uint32_t)(n & 3)};
	e->known = 1u << PAGE_RID | 1u << PAGE_SEQ | 1u << PAGE_PAGES | 1u << PAGE_OP | 1u << PAGE_TOKEN_TO;
	e->t[PAGE_RID] = text_sub(line, a, n);
	e->t[PAGE_OP] = text_sub(line, 0, MIN(line.len, (size_t)4));
	e->i[PAGE_SEQ] = strtoll(digits, NULL, 10);
	e->ts = (struct stamp){(int64_t)((uint64_t)e->i[PAGE_SEQ] * 1000), STAMP_ZONED, 1};
	e->i[PAGE_TOKEN_TO] = (int64_t)((uint64_t)e->ts.ns - (uint64_t)n * 1000000);
	e->byte_off = off;
	e->byte_len = (uint32_t)line.len;
}

static void compare(const struct event_batch *a, const struct event_batch *b)
{
	for (uint32_t i = 0; i < a->n; i++) {
		bool same = a->ts_ns[i] == b->ts_ns[i] && a->known[i] == b->known[i] &&
			    a->byte_off[i] == b->byte_off[i] && a->byte_len[i] == b->byte_len[i] &&
			    a->ints[PAGE_SEQ][i] == b->ints[PAGE_SEQ][i] &&
			    a->ints[PAGE_TOKEN_TO][i] == b->ints[PAGE_TOKEN_TO][i] &&
			    text_eq(a->texts[PAGE_RID][i], b->texts[PAGE_RID][i]) &&
			    text_eq(a->texts[PAGE_OP][i], b->texts[PAGE_OP][i]) && a->run_end[i] == b->run_end[i] &&
			    !memcmp(&a->runs[i], &b->runs[i], sizeof(*a->runs));
		if (!same)
			abort();
	}
}

static void round_trip(struct text all)
{
	struct event_batch *b, *back;
	struct event_chunk chunk;
	struct column_bytes bytes = {all, 0};
	struct column_reader from = {read_exact, &all};
	if (event_batch_new(&b, EVENT_PAGE, 4096, NULL))
		return;
	for (size_t at = 0; at < all.len;) {
		size_t end = text_find_char(all, '\n', at);
		struct text line = text_sub(all, at, (end == SIZE_MAX ? all.len : end) - at);
		struct event e;
		struct page_run runs[1];
		make_event(&e, runs, line, at);
		if (event_batch_add(b, &e, NULL))
			break;
		at += line.len + 1;
	}
	if (b->n && column_encode(b, &bytes, &chunk, NULL) == 0) {
		if (column_decode(EVENT_PAGE, buf_text(&chunk.data), UINT32_MAX, &from, &back, NULL))
			abort();
		compare(b, back);
		event_batch_free(back);
		column_done(&chunk);
	}
	event_batch_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] & 0x80)
		round_trip((struct text){(const char *)data + 1, size - 1});
	else
		hostile(data, size);
	return 0;
}
