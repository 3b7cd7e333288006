/* SPDX-License-Identifier: Apache-2.0 */
/* again.c - events of a source made again from its evidence, where a damaged case lost them
 *
 * Bytes that are lost cut the source into parts, and each is read as if it were a source of its own. A record at an edge
 * of such a part is not whole: what is left of it is kept unparsed, because a line that was cut can read as another one.
 * What is parsed twice gives the same events, so nothing is lost with them but time. Lines that another source has whole
 * (seam.h) are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "far.h"
#include "pagetrail/array.h"
#include "pagetrail/column.h"
#include "pagetrail/evidence.h"
#include "pagetrail/map.h"
#include "pagetrail/salvage.h"
#include "repeat.h"
#include "seam.h"
#include "session.h"

static const char *const edge = "torn: its other part is lost";

struct again {
	struct case_file *c;
	int64_t source;
	struct event_batch *batches[EVENT_KINDS];
	struct sql *reject;
	struct account account;
	int64_t first_ns, last_ns;
	struct formats formats;
	const struct parser **list; /* the source's map, and the formats of the program */
	size_t n_list;
	struct map *map; /* that the source was read with */
	struct stack stack;
	struct zone *zone;
	struct stamp outer, era;
	volatile sig_atomic_t *stop;
	struct joined *joined;
	size_t n_joined, cap_joined;
	int64_t *chunks; /* of events that the case holds, as long as they are those that come; then n_chunks is 0 */
	size_t n_chunks, cap_chunks, at_chunk;
	bool blocks;               /* chunks of evidence are blocks */
	struct column_bytes bytes; /* the block at hand */
	bool named;                /* somebody said whose log it is */
	bool repeats;              /* its records are another source's, too, and their events are there */
};

/* --- events and rejects out --- */

/* From here on they are other ones. */
static int drop_chunks(struct again *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (a->at_chunk >= a->n_chunks)
		return 0;
	int rc = sql_prepare(
	    &s, a->c, "DELETE FROM event_chunk WHERE kind BETWEEN 0 AND 63 AND source = ?1 AND chunk >= ?2", err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	if (rc == 0)
		rc = sql_int(s, 2, a->chunks[a->at_chunk], err);
	a->n_chunks = 0;
	return rc < 0 ? rc : sql_run(s, err);
}

static int encode_batch(struct again *a, const struct event_batch *b, struct err *err)
{
	struct event_chunk chunk = {0};
	int rc = a->at_chunk < a->n_chunks ? column_same(a->c, a->source, a->chunks[a->at_chunk], b, err) : 0;
	a->at_chunk += rc == 1;
	if (rc != 0)
		return MIN(rc, 0);
	rc = drop_chunks(a, err);
	if (rc == 0)
		rc = column_encode(b, a->blocks ? &a->bytes : NULL, &chunk, err);
	if (rc == 0)
		rc = column_append(a->c, a->source, &chunk, err);
	column_done(&chunk);
	return rc;
}

static int write_batch(struct again *a, enum event_kind kind, struct err *err)
{
	struct event_batch *b = a->batches[kind];
	a->batches[kind] = NULL;
	int rc = b ? encode_batch(a, b, err) : 0;
	event_batch_free(b);
	return rc;
}

static int write_batches(struct again *a, struct err *err)
{
	int rc = 0;
	for (int k = 0; k < EVENT_KINDS && rc == 0; k++)
		rc = write_batch(a, (enum event_kind)k, err);
	return rc;
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct again *a = ctx;
	int rc = 0;
	while (!a->repeats) {
		struct event_batch **b = &a->batches[e->kind];
		if (!*b)
			rc = event_batch_new(b, e->kind, EVENT_BATCH_MAX, err);
		if (rc == 0)
			rc = event_batch_add(*b, e, err);
		if (rc != 1)
			return rc;
		rc = write_batch(a, e->kind, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int on_reject(void *ctx, uint64_t off, uint64_t len, uint64_t n, const char *reason, struct err *err)
{
	struct again *a = ctx;
	int rc = sql_int(a->reject, 1, a->source, err);
	if (rc == 0)
		rc = sql_int(a->reject, 2, (int64_t)off, err);
	if (rc == 0)
		rc = sql_int(a->reject, 3, (int64_t)len, err);
	if (rc == 0)
		rc = sql_int(a->reject, 4, (int64_t)n, err);
	if (rc == 0)
		rc = sql_text(a->reject, 5, text_of(reason), err);
	return rc < 0 ? rc : sql_run(a->reject, err);
}

/* Bytes that are there, but no whole record. */
static int refuse(struct again *a, uint64_t off, uint64_t len, struct err *err)
{
	if (!len)
		return 0;
	account_add(&a->account, RECORD_UNPARSED, len);
	return on_reject(a, off, len, 1, edge, err);
}

/* --- one part: bytes [from, to), none of which is lost --- */

struct part {
	uint64_t from, to;
	bool cut_head, cut_tail;
};

/* The first byte behind the first LF from `from` on, or `to`. */
static int find_head(struct again *a, uint64_t from, uint64_t to, uint64_t *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	*ret = to;
	while (from < to) {
		uint64_t n = MIN(to - from, BLOCK_BYTES);
		buf_clear(&b);
		int rc = evidence_read(a->c, a->source, from, n, &b, err);
		if (rc < 0)
			return rc;
		const char *lf = memchr(b.ptr, '\n', b.len);
		if (lf) {
			*ret = from + (uint64_t)(lf + 1 - b.ptr);
			return 0;
		}
		from += n;
	}
	return 0;
}

/* The first byte behind the last LF before `to`, or `from`. */
static int find_tail(struct again *a, uint64_t from, uint64_t to, uint64_t *ret, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	*ret = from;
	while (from < to) {
		uint64_t n = MIN(to - from, BLOCK_BYTES);
		buf_clear(&b);
		int rc = evidence_read(a->c, a->source, to - n, n, &b, err);
		if (rc < 0)
			return rc;
		const char *lf = memrchr(b.ptr, '\n', b.len);
		if (lf) {
			*ret = to - n + (uint64_t)(lf + 1 - b.ptr);
			return 0;
		}
		to -= n;
	}
	return 0;
}

static int feed(struct again *a, struct records *rec, uint64_t from, uint64_t to, struct err *err)
{
	const size_t room = BLOCK_HEADROOM + BLOCK_BYTES + BUF_PADDING;
	char *memory = calloc(2, room); /* the end of the block before stays where it is */
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * BLOCK_BYTES);
	int rc = memory ? 0 : err_nomem(err);
	for (unsigned turn = 0; rc == 0 && from < to; turn++) {
		char *data = memory + (turn & 1) * room + BLOCK_HEADROOM;
		size_t n = (size_t)MIN(to - from, BLOCK_BYTES);
		buf_clear(&b);
		rc = evidence_read(a->c, a->source, from, n, &b, err);
		if (rc < 0)
			break;
		memcpy(data, b.ptr, n);
		memset(data + n, 0, BUF_PADDING);
		a->bytes = (struct column_bytes){{data, n}, from};
		rc = records_feed(rec, data, n, BLOCK_HEADROOM, err);
		from += n;
		if (rc == 0 && a->blocks) /* as they were made the first time */
			rc = write_batches(a, err);
		if (rc == 0 && a->stop && *a->stop)
			rc = err_set(err, ERR_INTERRUPTED, "stopped by a signal");
	}
	if (rc == 0)
		rc = records_end(rec, err);
	if (rc == 0)
		rc = write_batches(a, err); /* they may refer to the block */
	free(memory);
	return rc;
}

static int parse_part(struct again *a, const struct part *p, struct err *err)
{
	const struct records_sink sink = {.event = on_event, .reject = on_reject, .ctx = a};
	struct records rec = {0};
	uint64_t from = p->from, to = p->to;
	if (stack_document(&a->stack) && (p->cut_head || p->cut_tail))
		return refuse(a, from, to - from, err);
	bool binary = stack_binary(&a->stack);
	int rc = p->cut_head && !binary ? find_head(a, p->from, p->to, &from, err) : 0;
	if (rc == 0)
		rc = refuse(a, p->from, from - p->from, err);
	if (rc == 0 && p->cut_tail && !binary)
		rc = find_tail(a, from, p->to, &to, err);
	if (rc == 0 && from < to) {
		const struct records_ask ask = {.stack = &a->stack,
						.zone = a->zone,
						.outer = a->outer,
						.era = a->era,
						.named = a->named,
						.joined = a->joined,
						.n_joined = a->n_joined};
		rc = records_begin(&rec, &a->formats, &ask, &sink, err);
		rec.off = from;
		if (binary && p->cut_head)
			binary_begin(&rec, true);
		if (rc == 0)
			rc = feed(a, &rec, from, to, err);
		account_sum(&a->account, &rec.account);
		if (rec.first_ns != TIME_UNKNOWN && (a->first_ns == TIME_UNKNOWN || rec.first_ns < a->first_ns))
			a->first_ns = rec.first_ns;
		if (rec.last_ns != TIME_UNKNOWN)
			a->last_ns = MAX(a->last_ns, rec.last_ns);
		records_done(&rec);
	}
	return rc ? rc : refuse(a, to, p->to - to, err);
}

/* All parts between the bytes that are lost. */
static int parse_parts(struct again *a, uint64_t bytes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct part p = {0};
	int rc = sql_prepare(&s, a->c,
			     "SELECT byte_off, byte_len FROM reject WHERE source = ?1 AND reason = '" EVIDENCE_LOST
			     "' ORDER BY byte_off",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	if (rc < 0)
		return rc;
	for (;;) {
		rc = sql_step(s, err);
		if (rc < 0)
			return rc;
		bool more = rc > 0;
		uint64_t lost = more ? (uint64_t)sql_get_int(s, 0) : bytes;
		uint64_t len = more ? (uint64_t)sql_get_int(s, 1) : 0;
		p.to = lost;
		p.cut_tail = more;
		rc = p.from < p.to ? parse_part(a, &p, err) : 0;
		if (rc < 0 || !more)
			return rc;
		account_add(&a->account, RECORD_UNPARSED, len);
		p.from = lost + len;
		p.cut_head = true;
	}
}

/* --- the row --- */

static int list_formats(struct again *a, const struct ingest_options *o, struct text basis, struct err *err)
{
	a->list = calloc(o->n_parsers + 1, sizeof(*a->list));
	if (!a->list)
		return err_nomem(err);
	int rc = map_from_basis(&a->map, basis, err);
	if (a->map)
		a->list[a->n_list++] = map_parser(a->map);
	memcpy(a->list + a->n_list, o->parsers, o->n_parsers * sizeof(*a->list));
	a->n_list += o->n_parsers;
	return rc;
}

/* Origins of a wrapped source, as the bytes show them that it was recognised by; without these each is found by its own
 * records. */
static int look_again(struct again *a, const struct stack *asked, struct text basis, uint64_t bytes, struct err *err)
{
	bool forced = text_find(basis, "asked for", 0) != SIZE_MAX, further;
	uint64_t from = 0, to = MIN(bytes, DETECT_BYTES);
	CLEANUP(buf_done) struct buf b = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	struct detection d;
	struct stack found = {0}, peel = *asked;
	struct err ignored = {0};
	a->stack.forced = forced && asked->parser;
	further = far_get(basis, &from, &to);
	if (evidence_read(a->c, a->source, from, to - from, &b, &ignored) < 0)
		return 0;
	if (!a->stack.forced)
		peel.parser = NULL;
	int rc = detect_with(&a->formats, buf_text(&b), further || bytes <= DETECT_BYTES, &peel, &d, &found, err);
	a->stack.proven = found.proven;
	a->stack.choice = found.choice;
	a->stack.n_choices = found.n_choices;
	return rc;
}

static int load_row(struct again *a, const struct ingest_options *o, uint64_t *ret_bytes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, a->c,
			     "SELECT bytes, format, tz, path, coalesce(reason, ''), worker_basis, format_basis, "
			     "coalesce(last_ns, 0) FROM source WHERE source = ?1",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc <= 0)
		return rc < 0 ? rc : err_set(err, ERR_BUG, "source %lld is not there", (long long)a->source);
	struct text format = sql_get_text(s, 1), tz = sql_get_text(s, 2);
	*ret_bytes = (uint64_t)sql_get_int(s, 0);
	a->repeats = text_find(sql_get_text(s, 4), REPEATS, 0) != SIZE_MAX;
	rc = list_formats(a, o, sql_get_text(s, 6), err);
	if (rc == 0)
		rc = formats_open(&a->formats, a->list, a->n_list, err);
	if (rc == 0)
		rc = formats_wrap(&a->formats, o->wrappers, o->n_wrappers, err);
	if (rc < 0)
		return rc;
	struct stack asked = {0};
	if (format.len && !stack_find(format, a->list, a->n_list, o->wrappers, o->n_wrappers, &asked))
		return err_set(err, ERR_INPUT, "source %lld has the unknown format '%.*s'", (long long)a->source,
			       TEXT_ARG(format));
	a->named = naming_said(sql_get_text(s, 5));
	a->stack = asked;
	if (asked.n && format.len) {
		/* which origin is what was seen at its beginning */
		int found = look_again(a, &asked, sql_get_text(s, 6), *ret_bytes, err);
		if (found < 0)
			return found;
	}
	char *path = strndup(sql_get_text(s, 3).ptr, sql_get_text(s, 3).len);
	if (!path)
		return err_nomem(err);
	if (asked.n || stack_document(&asked))
		a->outer = naming_time(path, 0);
	/* the file's own time is not kept, but what was made of it */
	a->era = naming_era(path, 0);
	if (sql_get_int(s, 7))
		a->era = (struct stamp){sql_get_int(s, 7), STAMP_NAIVE, NS_PER_S};
	free(path);
	return tz.len && !text_is(tz, "UTC") ? zone_open(&a->zone, tz, err) : 0;
}

/* What was understood of a copy is the other source's. */
static void count_repeats(struct account *n)
{
	n->duplicate += n->parsed + n->context;
	n->bytes_duplicate += n->bytes_parsed + n->bytes_context;
	n->parsed = n->context = n->bytes_parsed = n->bytes_context = 0;
}

static int save_row(struct again *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	const struct account *n = &a->account;
	const int64_t numbers[] = {(int64_t)n->records,
				   (int64_t)n->parsed,
				   (int64_t)n->context,
				   (int64_t)n->unparsed,
				   (int64_t)n->duplicate,
				   (int64_t)n->bytes_parsed,
				   (int64_t)n->bytes_context,
				   (int64_t)n->bytes_unparsed,
				   (int64_t)n->bytes_duplicate,
				   a->first_ns,
				   a->last_ns};
	int rc =
	    sql_prepare(&s, a->c,
			"UPDATE source SET records = ?2, parsed = ?3, context = ?4, unparsed = ?5, duplicate = ?6, "
			"bytes_parsed = ?7, bytes_context = ?8, bytes_unparsed = ?9, bytes_duplicate = ?10, "
			"first_ns = ?11, last_ns = ?12 WHERE source = ?1",
			err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	for (int i = 0; rc == 0 && i < (int)ARRAY_SIZE(numbers); i++)
		rc = sql_int(s, i + 2, numbers[i], err);
	return rc ? rc : sql_run(s, err);
}

/* All bytes of `whole`; empty when it is not there, or damaged. */
static int read_whole(struct again *a, int64_t whole, struct buf *out, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	buf_clear(out);
	int rc = sql_prepare(&s, a->c, "SELECT bytes FROM source WHERE source = ?1", err);
	if (rc == 0)
		rc = sql_int(s, 1, whole, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc == 1 && sql_get_int(s, 0) > 0 && (uint64_t)sql_get_int(s, 0) <= SEAM_MAX_BYTES)
		rc = evidence_read(a->c, whole, 0, (uint64_t)sql_get_int(s, 0), out, err);
	if (rc != ERR_INPUT && rc != ERR_DAMAGED)
		return MIN(rc, 0);
	*err = (struct err){0};
	buf_clear(out);
	return 0;
}

/* 1: do these lines stand there? Nothing is left out that is nowhere else, whatever a table says. */
static int stands_in(struct again *a, const struct joined *j, const struct buf *whole, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(SEAM_MAX_BYTES);
	if (!whole->len || j->len > whole->len)
		return 0;
	int rc = evidence_read(a->c, a->source, j->off, j->len, &b, err);
	if (rc == ERR_INPUT || rc == ERR_DAMAGED) {
		*err = (struct err){0};
		return 0;
	}
	return rc < 0 ? rc : memmem(whole->ptr, whole->len, b.ptr, b.len) != NULL;
}

static int forget_joined(struct again *a, uint64_t off, struct err *err)
{
	static const char *const texts[] = {"DELETE FROM seam WHERE source = ?1 AND byte_off = ?2 AND record = 0",
					    "UPDATE seam SET whole = NULL WHERE source = ?1 AND byte_off = ?2"};
	int rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts) && rc == 0; i++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		rc = sql_prepare(&s, a->c, texts[i], err);
		if (rc == 0)
			rc = sql_int(s, 1, a->source, err);
		if (rc == 0)
			rc = sql_int(s, 2, (int64_t)off, err);
		if (rc == 0)
			rc = sql_run(s, err);
	}
	return rc;
}

static int add_joined(struct again *a, const struct joined *j, const struct buf *whole, struct err *err)
{
	int rc = stands_in(a, j, whole, err);
	if (rc <= 0)
		return rc < 0 ? rc : forget_joined(a, j->off, err);
	rc = grow_array((void **)&a->joined, &a->cap_joined, a->n_joined, sizeof(*a->joined), err);
	if (rc == 0)
		a->joined[a->n_joined++] = *j;
	return rc;
}

/* Lines that another source has whole. */
static int load_joined(struct again *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf whole = BUF_INIT(SEAM_MAX_BYTES);
	int64_t at = 0;
	int rc = sql_prepare(&s, a->c,
			     "SELECT byte_off, byte_len, byte_off = min(byte_off) OVER (PARTITION BY whole), whole "
			     "FROM seam WHERE source = ?1 AND whole IS NOT NULL ORDER BY byte_off",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	while (rc == 0 && (rc = sql_step(s, err)) == 1) {
		const struct joined j = {(uint64_t)sql_get_int(s, 0), (uint64_t)sql_get_int(s, 1),
					 sql_get_int(s, 2) != 0};
		rc = at == sql_get_int(s, 3) ? 0 : read_whole(a, sql_get_int(s, 3), &whole, err);
		at = sql_get_int(s, 3);
		if (rc == 0)
			rc = add_joined(a, &j, &whole, err);
	}
	return rc;
}

static int load_chunks(struct again *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, a->c, "SELECT chunk FROM event_chunk WHERE kind BETWEEN 0 AND 63 AND source = ?1 ORDER BY chunk", err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	while (rc == 0 && (rc = sql_step(s, err)) == 1) {
		rc = grow_array((void **)&a->chunks, &a->cap_chunks, a->n_chunks, sizeof(*a->chunks), err);
		if (rc == 0)
			a->chunks[a->n_chunks++] = sql_get_int(s, 0);
	}
	return rc;
}

/* Events refer to one chunk of evidence each; those of a damaged case may be cut otherwise, or be none. */
static int look_at_blocks(struct again *a, uint64_t bytes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, a->c,
			     "SELECT coalesce(sum(byte_len), 0) = ?2 AND count(*) = (?2 + ?3 - 1) / ?3 AND "
			     "NOT coalesce(max(byte_off % ?3), 0) FROM evidence_chunk WHERE source = ?1",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, a->source, err);
	if (rc == 0)
		rc = sql_int(s, 2, (int64_t)bytes, err);
	if (rc == 0)
		rc = sql_int(s, 3, (int64_t)BLOCK_BYTES, err);
	if (rc == 0)
		rc = sql_step(s, err);
	a->blocks = rc == 1 && sql_get_int(s, 0);
	return MIN(rc, 0);
}

int ingest_again(struct case_file *c, const struct ingest_options *o, int64_t source, struct account *ret,
		 struct err *err)
{
	struct again a = {.c = c, .source = source, .first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN, .stop = o->stop};
	uint64_t bytes = 0;
	a.outer = STAMP_INIT;
	int rc = load_row(&a, o, &bytes, err);
	if (rc == 0)
		rc = load_joined(&a, err);
	if (rc == 0)
		rc = load_chunks(&a, err);
	if (rc == 0)
		rc = look_at_blocks(&a, bytes, err);
	if (rc == 0)
		rc = sql_prepare(&a.reject, c, REJECT_INSERT, err);
	if (rc == 0)
		rc = parse_parts(&a, bytes, err);
	if (rc == 0)
		rc = drop_chunks(&a, err);
	if (a.repeats)
		count_repeats(&a.account);
	if (rc == 0)
		rc = save_row(&a, err);
	for (int k = 0; k < EVENT_KINDS; k++)
		event_batch_free(a.batches[k]);
	sql_end(a.reject);
	zone_close(a.zone);
	stack_done(&a.stack);
	formats_close(&a.formats);
	map_free(a.map);
	free(a.joined);
	free(a.chunks);
	free(a.list);
	if (rc == 0)
		*ret = a.account;
	return rc;
}
