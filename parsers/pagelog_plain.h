/* SPDX-License-Identifier: Apache-2.0 */
/* pagelog_plain.h - page records in one pass over their bytes (only pagelog.c includes it)
 *
 * Takes what nearly every record is and says "not mine" to the rest, also to every record that may have to be refused:
 * take() in pagelog.c is the meaning of the format, this is only faster. Nothing is changed before all is read.
 */
#pragma once

enum key { K_V, K_TS, K_SEQ, K_WORKER, K_POOL, K_OP, K_RID, K_ROOM, K_PAGES, K_TOKENS, K_SIZE, K_POOL_PAGES, K_PEER };

static const char *const keys[] = {"v",    "ts",    "seq",    "worker",    "pool",       "op",  "rid",
				   "room", "pages", "tokens", "page_size", "pool_pages", "peer"};

struct plain {
	uint32_t seen, nulls; /* bit per key that was there, that was null */
	struct text op;
	struct runs runs;
};

/* As event_int() and event_text(), without a call. */
static void row_int(struct event *e, unsigned column, int64_t v)
{
	e->i[column] = v;
	e->known |= UINT32_C(1) << column;
}

static void row_text(struct event *e, unsigned column, struct text t)
{
	e->t[column] = t;
	e->known |= (uint32_t)(t.len != 0) << column;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of the decimals nine count; what stands behind them is cut, as stamp_parse_seconds() does. */
static bool plain_ts(struct flat *f, struct stamp *ret)
{
	const char *end;
	uint64_t whole, part;
	struct text t;
	unsigned n;

	if (*f->p == '"')
		return flat_string(f, &t) && stamp_text(t, ret);
	if (!flat_digits(f->p, &end, &whole) || whole > INT64_MAX)
		return false;
	if (*end != '.') {
		f->p = end;
		return stamp_int((int64_t)whole, ret);
	}
	part = flat_few(end + 1, &n);
	if (n == 0 || whole >= INT64_MAX / NS_PER_S)
		return flat_number(f, &t) && stamp_parse_seconds(t, ret);
	end += 1 + n;
	part *= flat_power(8 - n) * 10;
	if (n == 8 && digit(*end)) {
		part += (uint64_t)(*end - '0');
		for (n++, end++; end < f->end && digit(*end);)
			end++;
	}
	f->p = end;
	*ret = (struct stamp){(int64_t)(whole * NS_PER_S + part), STAMP_ZONED, n > 6 ? 1 : 1000};
	return true;
}

static bool plain_pair(struct flat *f, int64_t *ret_a, int64_t *ret_b)
{
	if (*f->p != '[')
		return false;
	f->p++;
	if (!flat_uint(f, ret_a) || *f->p != ',')
		return false;
	f->p++;
	if (*f->p == ' ')
		f->p++;
	if (!flat_uint(f, ret_b) || *f->p != ']')
		return false;
	f->p++;
	return true;
}

/* A page or a pair at *at; false when it is not plain. */
static bool plain_run(const char **at, int64_t *ret_first, int64_t *ret_count)
{
	uint64_t first, count = 1;
	const char *p = *at;
	bool pair = *p == '[';

	if (!flat_digits(p + pair, &p, &first))
		return false;
	if (pair) {
		if (*p++ != ',')
			return false;
		p += *p == ' ';
		if (!flat_digits(p, &p, &count) || *p++ != ']')
			return false;
	}
	*at = p;
	*ret_first = (int64_t)first;
	*ret_count = (int64_t)count;
	return first <= POOL_MAX_PAGES && count <= POOL_MAX_PAGES - first;
}

/* 0 done, 1 not mine, negative ERR_*. */
static int plain_pages(struct parse *p, struct flat *f, struct runs *runs)
{
	const char *at = f->p + 1, *end = f->end;
	int64_t first, count;
	int r;

	if (*f->p != '[')
		return 1;
	for (bool more = *at != ']'; more; at++) {
		if (at >= end || !plain_run(&at, &first, &count))
			return 1;
		r = runs_add(p, runs, first, count);
		if (r)
			return r;
		more = *at == ',';
		if (!more)
			break;
		at += at[1] == ' ';
	}
	if (*at != ']')
		return 1;
	f->p = at + 1;
	return 0;
}

static bool plain_text(struct flat *f, struct event *e, unsigned column)
{
	struct text t;

	if (!flat_id(f, &t))
		return false;
	row_text(e, column, t);
	return true;
}

static bool plain_int(struct flat *f, struct event *e, unsigned column, int64_t min, int64_t max)
{
	int64_t v;

	if (!flat_uint(f, &v) || v < min || v > max)
		return false;
	row_int(e, column, v);
	return true;
}

static bool plain_tokens(struct flat *f, struct event *e)
{
	int64_t from, to;

	if (!plain_pair(f, &from, &to) || to < from || to > TOKENS_MAX)
		return false;
	row_int(e, PAGE_TOKEN_FROM, from);
	row_int(e, PAGE_TOKEN_TO, to);
	return true;
}

/* 0 done, 1 not mine, negative ERR_*. */
static int plain_member(struct parse *p, struct flat *f, struct plain *q, int key)
{
	struct event *e = &p->row;
	struct text t;
	int64_t n;

	switch (key) {
	case K_V: return !flat_uint(f, &n) || n != 1;
	case K_TS: return !plain_ts(f, &e->ts);
	case K_SEQ: return !plain_int(f, e, PAGE_SEQ, 0, INT64_MAX);
	case K_WORKER: return !flat_string(f, &e->worker) || e->worker.len == 0;
	case K_POOL: return *f->p != '"' || f->p[1] == '"' || !plain_text(f, e, PAGE_POOL);
	case K_OP: return !flat_string(f, &q->op) || !op_known(q->op);
	case K_RID: return !plain_text(f, e, PAGE_RID);
	case K_ROOM: return !plain_text(f, e, PAGE_ROOM);
	case K_PAGES: return plain_pages(p, f, &q->runs);
	case K_TOKENS: return !plain_tokens(f, e);
	case K_SIZE: return !plain_int(f, e, PAGE_SIZE, 1, TOKENS_MAX);
	case K_POOL_PAGES: return !plain_int(f, e, PAGE_POOL_PAGES, 1, POOL_MAX_PAGES);
	case K_PEER:
		if (!flat_string(f, &t))
			return 1;
		row_text(e, PAGE_PEER, t);
		return 0;
	default: return 1;
	}
}

/* 0 all members are read, 1 not mine, negative ERR_*. */
static int plain_read(struct parse *p, struct flat *f, struct plain *q)
{
	for (;;) {
		int key = flat_next(f, keys, ARRAY_SIZE(keys)), r;
		uint32_t bit;

		if (key == FLAT_END)
			return 0;
		if (key == FLAT_ODD)
			return 1;
		if (key == FLAT_OTHER) {
			if (!flat_skip(f))
				return 1;
			continue;
		}
		bit = UINT32_C(1) << key;
		if (q->seen & bit) /* perhaps a contradiction */
			return 1;
		q->seen |= bit;
		if (*f->p == 'n') {
			q->nulls |= bit;
			if (!flat_null(f))
				return 1;
			continue;
		}
		r = plain_member(p, f, q, key);
		if (r)
			return r;
	}
}

/* A verdict, 0 not mine, negative ERR_*. */
static int plain_record(struct parse *p, struct text record)
{
	static const uint32_t must = 1u << K_TS | 1u << K_WORKER | 1u << K_OP;
	struct state *s = p->state;
	struct plain q = {.runs = {.run = s->runs, .cap = RUNS_SMALL}};
	struct event *e;
	uint32_t given;
	int r;

	if (!p->padded || !flat_begin(&s->flat, record))
		return 0;
	e = parse_begin(p, EVENT_PAGE, STAMP_INIT);
	r = plain_read(p, &s->flat, &q);
	if (r < 0)
		return r;
	given = q.seen & ~q.nulls;
	if (r > 0 || (given & must) != must || (s->newer && !(given >> K_V & 1)) ||
	    (!(given >> K_PAGES & 1) && op_on_pages(q.op))) {
		flat_worked(&s->flat, false);
		return 0;
	}
	flat_worked(&s->flat, true);
	s->newer = false;
	s->numbered |= given >> K_SEQ & 1;
	row_text(e, PAGE_OP, q.op);
	if (!(given >> K_POOL & 1))
		row_text(e, PAGE_POOL, TEXT("kv"));
	if (given >> K_PAGES & 1)
		event_runs(e, q.runs.run, q.runs.n);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}
