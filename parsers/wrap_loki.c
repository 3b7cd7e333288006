/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_loki.c - wrapper loki: the answer of Loki's query_range, and a request of its push API
 *
 *   {"status":"success","data":{"resultType":"streams","result":[{"stream":{…},"values":[["NS","line"],…]},…]}}
 *   {"streams":[{"stream":{…},"values":[["NS","line",{…}],…]},…]}
 * grafana/loki pkg/loghttp/query.go. By default the newest line comes first: a stream's lines are given oldest first, as they
 * were written. An answer has at most as many lines as were asked for (5000), and does not say when that cut it.
 */
#include <stddef.h>

#include "wrap_json.h"

struct value {
	const char *from;
	uint32_t len;
	struct stamp ts;
	struct text line; /* raw */
};

struct walk {
	struct unwrap *u;
	struct json_scan s;
	const char *record;
	struct value *value; /* of the stream at hand */
	size_t n, cap;
	int rc;
};

static int keep(struct walk *x, const struct value *v)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 256;
		struct value *grown = arena_array(&x->u->scratch, cap, sizeof(*grown));

		if (!grown)
			return ERR_NOMEM;
		if (x->n)
			memcpy(grown, x->value, x->n * sizeof(*grown));
		x->value = grown;
		x->cap = cap;
	}
	x->value[x->n++] = *v;
	return 0;
}

/* ["NS","line"{,{…}}] */
static bool read_value(struct walk *x)
{
	struct value v = {.ts = STAMP_INIT};
	struct text t;
	unsigned i = 0;
	int r;

	scan_peek(&x->s);
	v.from = x->s.p;
	if (!scan_open(&x->s, '['))
		return false;
	for (; (r = scan_element(&x->s)) == 1; i++) {
		if (!scan_value(&x->s, &t))
			return false;
		if (i == 0)
			outer_time(t, &v.ts);
		else if (i == 1 && t.ptr[0] == '"')
			v.line = text_sub(t, 1, t.len - 2);
	}
	if (r < 0)
		return false;
	v.len = (uint32_t)(x->s.p - v.from);
	if (v.line.ptr)
		x->rc = keep(x, &v);
	return true;
}

static bool read_values(struct walk *x)
{
	int r;

	if (!scan_open(&x->s, '['))
		return false;
	while ((r = scan_element(&x->s)) == 1 && x->rc == 0)
		if (!read_value(x))
			return false;
	return r >= 0;
}

static int give_stream(struct walk *x, const struct wrapped *labels)
{
	bool newest_first = x->n && x->value[0].ts.ns > x->value[x->n - 1].ts.ns;

	for (size_t i = 0; i < x->n && x->rc == 0; i++) {
		const struct value *v = &x->value[newest_first ? x->n - 1 - i : i];
		struct wrapped w = *labels;

		w.ts = v->ts;
		w.text = scan_unescape(v->line, &x->u->scratch);
		if (!w.text.ptr)
			return ERR_NOMEM;
		if (text_ends(w.text, "\n"))
			w.text.len--;
		w.off = (uint32_t)(v->from - x->record);
		w.len = v->len;
		x->rc = unwrap_give(x->u, &w);
	}
	x->n = 0;
	return x->rc;
}

static bool read_stream(struct walk *x)
{
	struct wrapped labels = {.ts = STAMP_INIT};
	struct text key, v;
	bool good = true;
	int r = 1;

	if (!scan_open(&x->s, '{'))
		return false;
	while (x->rc == 0 && (r = scan_member(&x->s, &key)) == 1 && good) {
		if (text_is(key, "stream") && scan_peek(&x->s) == '{')
			good = origin_labels(&x->s, &x->u->scratch, &labels);
		else if (text_is(key, "values") && scan_peek(&x->s) == '[')
			good = read_values(x);
		else
			good = scan_value(&x->s, &v);
	}
	if (x->rc == 0) /* also what came before it broke off */
		x->rc = give_stream(x, &labels);
	return good && x->rc == 0 && r == 0;
}

static bool read_streams(struct walk *x)
{
	int r;

	if (!scan_open(&x->s, '['))
		return false;
	while ((r = scan_element(&x->s)) == 1 && x->rc == 0)
		if (!read_stream(x))
			return false;
	return r >= 0;
}

/* An object in which `result` or `streams` is looked for, one level deeper in `data`. */
static bool read_answer(struct walk *x, bool top)
{
	struct text key, v;
	bool good = true;
	int r = 1;

	if (!scan_open(&x->s, '{'))
		return false;
	while (x->rc == 0 && good && (r = scan_member(&x->s, &key)) == 1) {
		char c = scan_peek(&x->s);

		if (top && text_is(key, "data") && c == '{')
			good = read_answer(x, false);
		else if (text_is(key, top ? "streams" : "result") && c == '[')
			good = read_streams(x);
		else
			good = scan_value(&x->s, &v);
	}
	return good && r == 0;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct text head = text_sub(record, 0, 2048);

	(void)u;
	if (!head.len || text_trim(head).ptr[0] != '{' || text_find(head, "\"values\"", 0) == SIZE_MAX ||
	    text_find(head, "\"stream\"", 0) == SIZE_MAX)
		return BID_NO;
	if (text_find(head, "\"resultType\"", 0) != SIZE_MAX && text_find(head, "\"streams\"", 0) != SIZE_MAX)
		return BID_STRONG;
	return text_starts(text_trim(head), "{\"streams\"") ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct walk x = {.u = u, .s = scan_of(record), .record = record.ptr};
	bool good = read_answer(&x, true);

	if (x.rc < 0)
		return x.rc == ERR_NOMEM ? err_nomem(u->err) : x.rc;
	return good && scan_over(&x.s) ? RECORD_PARSED : unwrap_refuse(u, "torn");
}

const struct wrapper wrapper_loki = {
    .name = "loki",
    .summary = "Loki: answer of query_range, or a push request, as JSON",
    .checked = "Loki 3.x source",
    .shape = SHAPE_DOCUMENT,
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
};
