/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - the table of kinds, batches, and the one-line dump
 *
 * The columns of a batch lie in one anonymous mapping: pages nobody wrote cost nothing, so a source of ten events
 * does not pay for the room of 65536. Texts and runs live in the batch's arena. What is not known in a row is not written:
 * a batch that is used again has old values there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pagetrail/buf.h"
#include "pagetrail/event.h"
#include "pagetrail/macros.h"

#define ROW(id, name, type, unit, help) {name, type, unit, help},
static const struct event_column boot_columns[] = {EVENT_BOOT_COLUMNS(ROW)};
static const struct event_column leg_columns[] = {EVENT_LEG_COLUMNS(ROW)};
static const struct event_column gateway_columns[] = {EVENT_GATEWAY_COLUMNS(ROW)};
static const struct event_column page_columns[] = {EVENT_PAGE_COLUMNS(ROW)};
static const struct event_column load_columns[] = {EVENT_LOAD_COLUMNS(ROW)};
static const struct event_column cache_columns[] = {EVENT_CACHE_COLUMNS(ROW)};
static const struct event_column install_columns[] = {EVENT_INSTALL_COLUMNS(ROW)};
#undef ROW

#define BIT_OF_TEXT(id, name, type, unit, help) | (uint32_t)((type) == COLUMN_TEXT) << (id)
#define BIT_OF_INT(id, name, type, unit, help)  | (uint32_t)((type) == COLUMN_INT) << (id)
#define KIND(columns, n, list)                  columns, n, 0 list(BIT_OF_TEXT), 0 list(BIT_OF_INT)
const struct event_kind_info event_kinds[EVENT_KINDS] = {
    [EVENT_BOOT] = {"boot", "what one engine process says of itself when it starts, or in a snapshot",
		    KIND(boot_columns, BOOT_COLUMNS, EVENT_BOOT_COLUMNS)},
    [EVENT_LEG] = {"leg", "what an engine says of one request", KIND(leg_columns, LEG_COLUMNS, EVENT_LEG_COLUMNS)},
    [EVENT_GATEWAY] = {"gateway", "what a gateway or router says of one request",
		       KIND(gateway_columns, GATEWAY_COLUMNS, EVENT_GATEWAY_COLUMNS)},
    [EVENT_PAGE] = {"page", "what an allocator says of pages", KIND(page_columns, PAGE_COLUMNS, EVENT_PAGE_COLUMNS)},
    [EVENT_LOAD] = {"load", "batch lines: occupancy and pressure, no ids",
		    KIND(load_columns, LOAD_COLUMNS, EVENT_LOAD_COLUMNS)},
    [EVENT_CACHE] = {"cache", "what a prefix cache says of its blocks: hashes, neither pages nor requests",
		     KIND(cache_columns, CACHE_COLUMNS, EVENT_CACHE_COLUMNS)},
    [EVENT_INSTALL] = {"install",
		       "what is built, ordered or installed somewhere, said from outside of the engine's process",
		       KIND(install_columns, INSTALL_COLUMNS, EVENT_INSTALL_COLUMNS)},
};
#undef KIND
#undef BIT_OF_INT
#undef BIT_OF_TEXT

_Static_assert(BOOT_COLUMNS <= EVENT_COLUMNS_MAX && LEG_COLUMNS <= EVENT_COLUMNS_MAX &&
		   GATEWAY_COLUMNS <= EVENT_COLUMNS_MAX && PAGE_COLUMNS <= EVENT_COLUMNS_MAX &&
		   LOAD_COLUMNS <= EVENT_COLUMNS_MAX && CACHE_COLUMNS <= EVENT_COLUMNS_MAX &&
		   INSTALL_COLUMNS <= EVENT_COLUMNS_MAX && EVENT_COLUMNS_MAX <= 32,
	       "a mask of 32 bits selects columns");

/* The batch and the memory behind its columns: a mapping of its own where much of it may never be touched, ordinary
 * memory where it is small. */
struct whole {
	struct event_batch batch;
	void *map;
	size_t map_bytes;
	bool mapped; /* else from malloc() */
};

enum { MAP_FROM_BYTES = 4 << 20 };

/* Hands out the next array of the mapping, or only counts while base is NULL. */
static void *place(char *base, size_t *at, size_t n, size_t size)
{
	void *p = base ? base + *at : NULL;

	*at += (n * size + 63) & ~(size_t)63;
	return p;
}

/* Sets all array pointers; the same walk with base NULL gives the bytes needed. */
static size_t lay_out(struct event_batch *b, char *base)
{
	size_t at = 0, n = b->cap;

	b->ts_ns = place(base, &at, n, sizeof(*b->ts_ns));
	b->ts_quality = place(base, &at, n, sizeof(*b->ts_quality));
	b->worker = place(base, &at, n, sizeof(*b->worker));
	b->byte_off = place(base, &at, n, sizeof(*b->byte_off));
	b->byte_len = place(base, &at, n, sizeof(*b->byte_len));
	b->known = place(base, &at, n, sizeof(*b->known));
	for (unsigned c = 0; c < event_kinds[b->kind].n_columns; c++) {
		switch (event_kinds[b->kind].columns[c].type) {
		case COLUMN_INT: b->ints[c] = place(base, &at, n, sizeof(*b->ints[c])); break;
		case COLUMN_TEXT: b->texts[c] = place(base, &at, n, sizeof(*b->texts[c])); break;
		case COLUMN_PAGES: b->run_end = place(base, &at, n, sizeof(*b->run_end)); break;
		}
	}
	return at;
}

int event_batch_new(struct event_batch **ret, enum event_kind kind, uint32_t cap, struct err *err)
{
	struct whole *w;
	struct event_batch *b;

	*ret = NULL;
	if ((unsigned)kind >= EVENT_KINDS || cap > EVENT_BATCH_MAX)
		return err_set(err, ERR_BUG, "a batch of %u events of kind %d", cap, (int)kind);
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_nomem(err);
	b = &w->batch;
	b->kind = kind;
	b->cap = cap;
	b->columns = (uint32_t)((UINT64_C(1) << event_kinds[kind].n_columns) - 1);
	arena_init(&b->arena, 0);
	w->map_bytes = lay_out(b, NULL);
	if (w->map_bytes && w->map_bytes < MAP_FROM_BYTES) {
		w->map = malloc(w->map_bytes);
		if (!w->map) {
			free(w);
			return err_nomem(err);
		}
		lay_out(b, w->map);
		/* what is not known is never read; the rest may be large, and is filled column by column */
		memset(b->known, 0, cap * sizeof(*b->known));
		if (b->run_end)
			memset(b->run_end, 0, cap * sizeof(*b->run_end));
	} else if (w->map_bytes) {
		w->map = mmap(NULL, w->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w->map == MAP_FAILED) {
			free(w);
			return err_nomem(err);
		}
		w->mapped = true;
		lay_out(b, w->map);
	}
	*ret = b;
	return 0;
}

void event_batch_free(struct event_batch *b)
{
	struct whole *w = (struct whole *)b; /* its first member */

	if (!b)
		return;
	arena_done(&b->arena);
	if (w->mapped)
		munmap(w->map, w->map_bytes);
	else
		free(w->map);
	free(w);
}

void event_batch_reset(struct event_batch *b)
{
	arena_reset(&b->arena);
	b->n = 0;
	b->bytes = 0;
	b->runs = NULL;
	b->runs_cap = 0;
}

static inline uint64_t load(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

/* As text_eq(), for texts that are short and mostly the same. */
static inline bool same(struct text a, struct text b)
{
	const char *p = a.ptr, *q = b.ptr;
	size_t n = a.len;

	if (n != b.len)
		return false;
	if (n > 64)
		return memcmp(p, q, n) == 0;
	if (n >= 8) {
		for (; n > 8; p += 8, q += 8, n -= 8)
			if (load(p, 8) != load(q, 8))
				return false;
		return load(p + n - 8, 8) == load(q + n - 8, 8);
	}
	if (n >= 4)
		return load(p, 4) == load(q, 4) && load(p + n - 4, 4) == load(q + n - 4, 4);
	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			return false;
	return true;
}

/* Neighbouring rows often say the same: then they share the bytes. before: the row in front has a value, too. */
static inline bool keep_text(struct event_batch *b, struct text *column, struct text t, bool before)
{
	struct text *to = &column[b->n];

	if (t.len == 0) {
		*to = (struct text){"", 0};
		return true;
	}
	if (before && same(to[-1], t)) {
		*to = to[-1];
		return true;
	}
	*to = arena_text(&b->arena, t);
	return to->ptr != NULL;
}

static bool keep_runs(struct event_batch *b, const struct event *e)
{
	uint32_t held = b->n ? b->run_end[b->n - 1] : 0;

	if (e->n_runs > b->runs_cap - held) {
		uint32_t cap = MAX(MAX(b->runs_cap * 2, held + e->n_runs), 1024);
		struct page_run *runs = arena_array(&b->arena, cap, sizeof(*runs));

		if (!runs)
			return false;
		if (held)
			memcpy(runs, b->runs, held * sizeof(*runs));
		b->runs = runs;
		b->runs_cap = cap;
	}
	if (e->n_runs == 1) /* mostly */
		b->runs[held] = e->runs[0];
	else if (e->n_runs)
		memcpy(b->runs + held, e->runs, e->n_runs * sizeof(*e->runs));
	b->run_end[b->n] = held + e->n_runs;
	return true;
}

/* Shared bytes count for every row: the limit bounds what a chunk says when written out, too. */
static size_t event_bytes(const struct event *e)
{
	size_t bytes = e->worker.len + (size_t)e->n_runs * sizeof(*e->runs);

	for (uint32_t left = e->known & event_kinds[e->kind].texts; left; left &= left - 1)
		bytes += e->t[__builtin_ctz(left)].len;
	return bytes;
}

int event_batch_add(struct event_batch *b, const struct event *e, struct err *err)
{
	const struct event_kind_info *kind = &event_kinds[b->kind];
	uint32_t n = b->n, before = n ? b->known[n - 1] : 0;
	size_t bytes;

	if (e->kind != b->kind || e->known >> kind->n_columns || e->n_runs > PAGE_RUNS_MAX)
		return err_set(err, ERR_BUG, "an event of kind %d for a batch of %s", (int)e->kind, kind->name);
	if (n == b->cap)
		return 1;
	bytes = event_bytes(e);
	/* an event that is too large for any batch gets one for itself */
	if (n && bytes > EVENT_BATCH_MAX_BYTES - MIN(b->bytes, EVENT_BATCH_MAX_BYTES))
		return 1;
	for (uint32_t left = e->known & kind->ints; left; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctz(left);

		b->ints[c][n] = e->i[c];
	}
	for (uint32_t left = e->known & kind->texts; left; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctz(left);

		if (!keep_text(b, b->texts[c], e->t[c], before >> c & 1))
			return err_nomem(err);
	}
	if ((b->run_end && !keep_runs(b, e)) || !keep_text(b, b->worker, e->worker, n > 0))
		return err_nomem(err);
	b->ts_ns[n] = e->ts.ns;
	b->ts_quality[n] = (uint8_t)e->ts.quality;
	b->byte_off[n] = e->byte_off;
	b->byte_len[n] = e->byte_len;
	b->known[n] = e->known;
	b->bytes += bytes;
	b->n++;
	return 0;
}

/* --- the dump --- */

/* A value that holds a blank or a quote is quoted; everything is sanitised either way. */
static int dump_text(struct text t, struct buf *out, struct err *err)
{
	bool quoted = t.len == 0;
	size_t from = 0;
	int r = 0;

	for (size_t i = 0; i < t.len && !quoted; i++)
		quoted = t.ptr[i] == ' ' || t.ptr[i] == '"';
	if (!quoted)
		return text_visible(t, SIZE_MAX, out, err);
	r = buf_add_char(out, '"', err);
	for (size_t at; r == 0; from = at + 1) {
		at = text_find_char(t, '"', from);
		r = text_visible(text_sub(t, from, at == SIZE_MAX ? t.len : at - from), SIZE_MAX, out, err);
		if (at == SIZE_MAX)
			break;
		if (r == 0)
			r = buf_add(out, "\\\"", 2, err);
	}
	return r ? r : buf_add_char(out, '"', err);
}

static int dump_runs(const struct event *e, struct buf *out, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < e->n_runs; i++) {
		const struct page_run *run = &e->runs[i];

		if (run->count == 1)
			r = buf_printf(out, err, "%s%u", i ? "," : "", run->first);
		else
			r = buf_printf(out, err, "%s%u+%u", i ? "," : "", run->first, run->count);
	}
	return r;
}

static int dump_column(const struct event *e, unsigned c, struct buf *out, struct err *err)
{
	const struct event_column *column = &event_kinds[e->kind].columns[c];
	int r = buf_printf(out, err, " %s=", column->name);

	if (r < 0)
		return r;
	switch (column->type) {
	case COLUMN_INT: return buf_printf(out, err, "%lld", (long long)e->i[c]);
	case COLUMN_TEXT: return dump_text(e->t[c], out, err);
	case COLUMN_PAGES: return dump_runs(e, out, err);
	}
	return 0;
}

int event_dump(const struct event *e, struct buf *out, struct err *err)
{
	static const char *const qualities[] = {"none", "zoned", "naive", "yearless", "interpolated", "monotonic"};
	char ts[40];
	int r;

	if ((unsigned)e->kind >= EVENT_KINDS || e->known >> event_kinds[e->kind].n_columns ||
	    (unsigned)e->ts.quality >= ARRAY_SIZE(qualities))
		return err_set(err, ERR_BUG, "an event that is none");
	stamp_format(e->ts.ns, ts, sizeof(ts));
	r = buf_printf(out, err, "%s %s %s ", event_kinds[e->kind].name, ts[0] ? ts : "-", qualities[e->ts.quality]);
	if (r == 0)
		r = e->worker.len ? dump_text(e->worker, out, err) : buf_add_char(out, '-', err);
	if (r == 0)
		r = buf_printf(out, err, " %llu+%u", (unsigned long long)e->byte_off, e->byte_len);
	for (uint32_t left = e->known; r == 0 && left; left &= left - 1)
		r = dump_column(e, (unsigned)__builtin_ctz(left), out, err);
	return r;
}
