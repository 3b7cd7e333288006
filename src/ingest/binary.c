/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - cuts a source whose records say their own length
 *
 * While each record ends where the next one begins, nothing is searched. Where none can begin, or where the source ends
 * inside of one, the place is lost: bytes are passed over one by one until a record begins that its format is sure of,
 * and all of them are one unparsed record. Looking has a budget that depends on the bytes alone, so that hostile bytes
 * cost no more than a few passes, and so that a source is cut the same whatever blocks it comes in.
 */
#include <string.h>

#include "records_parts.h"

static const char *const torn = "torn";

void binary_begin(struct records *r, bool lost)
{
	r->binary = (struct binary){.on = true, .lost = lost, .why = "cut_head", .budget = RESYNC_START_BYTES};
}

static void keep_sample(struct binary *b, const char *p, size_t n)
{
	size_t room = MIN(n, sizeof(b->sample) - b->n_sample);
	memcpy(b->sample + b->n_sample, p, room);
	b->n_sample += room;
}

/* Accounts what is kept in sample: `bytes` from r->off on. */
static int refuse(struct records *r, uint64_t bytes, const char *why)
{
	struct binary *b = &r->binary;
	int rc = 0;
	if (bytes)
		rc = record_piece(r, (struct text){b->sample, b->n_sample}, r->off, bytes, RECORD_UNPARSED, why);
	b->n_sample = 0;
	return rc;
}

static void lose(struct records *r, const char *why)
{
	struct binary *b = &r->binary;
	if (b->lost)
		return;
	b->lost = true;
	b->why = why;
	b->passed = 0;
	b->n_sample = 0;
	b->budget = RESYNC_START_BYTES;
}

static void pass(struct records *r, const char *p, size_t n)
{
	struct binary *b = &r->binary;
	keep_sample(b, p, n);
	b->passed += n;
	b->budget += n * RESYNC_BYTES_EACH;
}

/* A record that its format is sure of ends what was lost. */
static bool found(struct records *r, struct text t)
{
	struct binary *b = &r->binary;
	b->budget -= t.len;
	arena_reset(&r->main->scratch);
	return formats_bid(r->formats, r->main, t, false) == BID_STRONG;
}

/* What stands at t: *ret its bytes, 0 when more are needed. *ret_lost: no record. */
static void look(const struct records *r, struct text t, bool last, size_t *ret, const char **ret_why)
{
	size_t n = r->main->parser->length(t);
	*ret_why = NULL;
	*ret = n;
	if (n == 0 && (last || t.len >= LENGTH_HEAD_MAX_BYTES))
		*ret_why = last ? torn : "no_length";
	else if (n == SIZE_MAX || (r->binary.lost && (n > RECORD_MAX_BYTES || n > r->binary.budget)))
		*ret_why = "no_length";
	else if (n > t.len && n <= RECORD_MAX_BYTES)
		*ret_why = last ? torn : NULL, *ret = 0;
}

/* The rest of a record that is too long; used: how much of p it took. */
static int skip(struct records *r, size_t n, size_t *ret_used)
{
	struct binary *b = &r->binary;
	*ret_used = (size_t)MIN(b->skip, n);
	b->skip -= *ret_used;
	return b->skip ? 0 : refuse(r, b->len, "too_long");
}

static int take(struct records *r, struct text t)
{
	r->unended = false;
	return record_take(r, t, r->off, t.len);
}

/* Records in t, as far as they are whole. */
static int eat(struct records *r, struct text t, bool last, size_t *ret_used)
{
	struct binary *b = &r->binary;
	size_t at = 0, n;
	const char *why;
	int rc = 0;
	while (rc == 0 && at < t.len && !r->enough) {
		struct text rest = text_from(t, at);
		if (b->skip) {
			rc = skip(r, rest.len, &n);
			at += n;
			continue;
		}
		look(r, rest, last, &n, &why);
		if (n == 0 && !why)
			break;
		if (!why && n > RECORD_MAX_BYTES) {
			b->n_sample = 0;
			keep_sample(b, rest.ptr, rest.len);
			b->skip = b->len = n;
			continue;
		}
		if (why || (b->lost && !found(r, text_sub(rest, 0, n)))) {
			lose(r, why);
			pass(r, rest.ptr, 1);
			at++;
			continue;
		}
		if (b->lost) {
			rc = refuse(r, b->passed, b->why);
			b->lost = false;
		}
		if (rc == 0)
			rc = take(r, text_sub(rest, 0, n));
		at += n;
	}
	*ret_used = at;
	return rc;
}

int binary_feed(struct records *r, const char *data, size_t len)
{
	size_t used;
	int rc = r->carry.len ? buf_add(&r->carry, data, len, r->err) : 0;
	if (rc == 0 && !r->carry.len) {
		rc = eat(r, (struct text){data, len}, false, &used);
		return rc < 0 ? rc : buf_add(&r->carry, data + used, len - used, r->err);
	}
	if (rc == 0)
		rc = eat(r, buf_text(&r->carry), false, &used);
	if (rc < 0)
		return rc;
	memmove(r->carry.ptr, r->carry.ptr + used, r->carry.len - used);
	r->carry.len -= used;
	r->carry.ptr[r->carry.len] = 0;
	return 0;
}

int binary_end(struct records *r)
{
	struct binary *b = &r->binary;
	size_t used;
	int rc = eat(r, buf_text(&r->carry), true, &used);
	if (rc == 0 && b->skip)
		rc = refuse(r, b->len - b->skip, torn);
	else if (rc == 0 && b->lost)
		rc = refuse(r, b->passed, b->why);
	b->skip = 0;
	b->lost = false;
	buf_clear(&r->carry);
	return rc;
}
