/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_fluent.c - wrapper fluent: JSON of Fluent Bit, Fluentd and Vector
 *
 *   {"date":EPOCH,"log":"…","stream":"…","time":"…","_p":"P","kubernetes":{"pod_name":"…",…}}     json_lines
 *   TAG: [SECONDS.NANOSECONDS, {…}]     TAG: [[SECONDS.NANOSECONDS, {…}], {…}]                    Fluent Bit's out_file
 *   TIME <TAB> TAG <TAB> {…}                                                                     Fluentd's out_file
 *   {"kubernetes":{…},"message":"…","source_type":"kubernetes_logs","stream":"…","timestamp":"…"}  Vector
 * fluent-bit d55459d49 plugins/out_file/file.c, docs.fluentd.org/formatter/out_file. A record whose text was parsed away into
 * fields is none of ours. logtag and _p are CRI's tags where nothing has joined the pieces; partial_message is Docker's.
 */
#include <stddef.h>
#include <string.h>

#include "wrap_json.h"

struct fields {
	struct text log, message; /* raw */
	struct stamp date, time;  /* the collector's, the runtime's */
	bool has_log, has_message;
	bool kubernetes, marked, collected; /* it has what a container runtime's own record has not */
	bool partial, partial_last;
};

static void read_member(struct text key, struct text v, struct arena *a, struct fields *f, struct wrapped *w)
{
	struct text t;

	if (text_is(key, "log") && v.ptr[0] == '"' && !f->has_log) {
		f->log = text_sub(v, 1, v.len - 2);
		f->has_log = true;
	} else if (text_is(key, "message") && v.ptr[0] == '"' && !f->has_message) {
		f->message = text_sub(v, 1, v.len - 2);
		f->has_message = true;
	} else if (text_is(key, "date") || text_is(key, "@timestamp") || text_is(key, "timestamp")) {
		outer_time(v, &f->date);
		f->collected = true;
	} else if (text_is(key, "time")) {
		outer_time(v, &f->time);
	} else if (text_is(key, "stream")) {
		if (scan_scalar(v, a, &t))
			w->stream = t;
	} else if (text_is(key, "_p") || text_is(key, "logtag")) {
		f->marked = true;
		w->more = v.len > 1 && v.ptr[1] == 'P';
	} else if (text_is(key, "partial_message")) {
		f->partial = text_is(v, "\"true\"") || text_is(v, "true");
	} else if (text_is(key, "partial_last")) {
		f->partial_last = text_is(v, "\"true\"") || text_is(v, "true");
	} else if (text_is(key, "container_name") || text_is(key, "hostname")) {
		if (v.ptr[0] == '"' && scan_scalar(v, a, &t))
			origin_label(w, key, text_starts(t, "/") ? text_from(t, 1) : t);
	}
}

/* 1: a record with its text, 0: something else, -1: it breaks off. */
static int read_object(struct text t, struct arena *a, struct fields *f, struct wrapped *w)
{
	struct json_scan s = scan_of(t);
	struct text key, v;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	while ((r = scan_member(&s, &key)) == 1) {
		if (text_is(key, "kubernetes") && scan_peek(&s) == '{') {
			if (!origin_labels(&s, a, w))
				return -1;
			f->kubernetes = true;
		} else if (!scan_value(&s, &v)) {
			return -1;
		} else {
			read_member(key, v, a, f, w);
		}
	}
	if (r < 0 || !scan_over(&s))
		return -1;
	return f->has_log || f->has_message;
}

/* TAG: [TIME, and TAG: [[TIME, {…}], up to the object; *ret_end: brackets behind it. False: it is neither. */
static bool out_file(struct text *t, struct stamp *ts)
{
	size_t at = text_find(text_sub(*t, 0, 1024), ": [", 0), comma;
	struct json_scan s;
	struct text rest, v;
	bool nested;

	if (at == SIZE_MAX || at == 0 || !text_ends(*t, "]"))
		return false;
	rest = text_from(*t, at + 3);
	nested = text_starts(rest, "[");
	rest = text_from(rest, nested);
	comma = text_find_char(text_sub(rest, 0, 64), ',', 0);
	if (comma == SIZE_MAX)
		return false;
	for (size_t i = 0; i < comma; i++)
		if ((rest.ptr[i] < '0' || rest.ptr[i] > '9') && rest.ptr[i] != '.')
			return false;
	outer_time(text_sub(rest, 0, comma), ts);
	s = (struct json_scan){rest.ptr + comma + 1, rest.ptr + rest.len};
	if (nested && (!scan_value(&s, &v) || scan_peek(&s) != ']'))
		return false;
	if (nested) {
		s.p++;
		if (scan_peek(&s) != ',')
			return false;
		s.p++;
	}
	if (scan_peek(&s) != '{')
		return false;
	*t = (struct text){s.p, (size_t)(t->ptr + t->len - 1 - s.p)};
	return true;
}

/* TIME TAB TAG TAB */
static bool fluentd_file(struct text *t, struct stamp *ts)
{
	size_t first = text_find_char(text_sub(*t, 0, 64), '\t', 0), second;

	if (first == SIZE_MAX || t->ptr[0] < '0' || t->ptr[0] > '9')
		return false;
	second = text_find_char(text_sub(*t, 0, 1024), '\t', first + 1);
	outer_time(text_sub(*t, 0, first), ts);
	if (second == SIZE_MAX || second + 1 >= t->len || t->ptr[second + 1] != '{' || ts->ns == TIME_UNKNOWN)
		return false;
	*t = text_from(*t, second + 1);
	return true;
}

/* As read_object(), and is it surely a collector's? */
static int read_line(struct text t, struct arena *a, struct fields *f, struct wrapped *w, bool *ret_sure)
{
	bool framed = false;
	int r;

	f->date = f->time = STAMP_INIT;
	if (t.len && t.ptr[0] != '{') {
		framed = out_file(&t, &f->date) || fluentd_file(&t, &f->date);
		if (!framed)
			return 0;
	}
	r = read_object(t, a, f, w);
	*ret_sure = r == 1 && (f->has_log ? framed || f->kubernetes || f->marked || f->collected || f->partial
					  : f->kubernetes && f->has_message && (framed || f->collected));
	return r == 1 && !*ret_sure ? 0 : r;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	struct fields f = {0};
	bool sure = false;

	return read_line(record, &u->scratch, &f, &w, &sure) == 1 && sure ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	struct fields f = {0};
	bool sure = false;
	int r = read_line(record, &u->scratch, &f, &w, &sure);

	if (r != 1)
		return unwrap_refuse(u, r < 0 ? "torn" : "no_text");
	w.ts = f.time.ns != TIME_UNKNOWN ? f.time : f.date;
	w.more = w.more || (f.partial && !f.partial_last);
	w.text = scan_unescape(f.has_log ? f.log : f.message, &u->scratch);
	if (!w.text.ptr)
		return f.has_log && f.log.len ? err_nomem(u->err) : RECORD_CONTEXT;
	if (!w.more && text_ends(w.text, "\n"))
		w.text.len--;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_fluent = {
    .name = "fluent",
    .summary = "JSON of Fluent Bit, Fluentd and Vector, and their out_file forms",
    .checked = "Fluent Bit 4 source, Fluentd and Vector documents",
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
};
