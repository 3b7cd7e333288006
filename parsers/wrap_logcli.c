/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_logcli.c - wrapper logcli: what Loki's command line client prints
 *
 *   {"labels":{…},"line":"…","timestamp":"RFC 3339"}       --output=jsonl
 *   RFC3339 {name="value", …}  line                        --output=default, the labels padded with blanks
 * grafana/loki pkg/logcli/output/jsonl.go, default.go. --output=raw prints bare lines. The newest line comes first unless
 * --forward was given.
 */
#include <stddef.h>

#include "wrap_json.h"

enum { BROKEN = 2 };

/* 1 a line, 0 something else, BROKEN, ERR_NOMEM. */
static int read_json(struct text t, struct arena *a, struct wrapped *w)
{
	struct json_scan s = scan_of(t);
	struct text key, v, line = {NULL, 0};
	bool has_line = false, has_labels = false;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	while ((r = scan_member(&s, &key)) == 1) {
		if (text_is(key, "labels") && scan_peek(&s) == '{' && !has_labels) {
			if (!origin_labels(&s, a, w))
				return BROKEN;
			has_labels = true;
		} else if (!scan_value(&s, &v)) {
			return BROKEN;
		} else if (text_is(key, "line") && v.ptr[0] == '"' && !has_line) {
			line = text_sub(v, 1, v.len - 2);
			has_line = true;
		} else if (text_is(key, "timestamp")) {
			outer_time(v, &w->ts);
		}
	}
	if (r < 0 || !scan_over(&s))
		return BROKEN;
	if (!has_line || !has_labels || w->ts.ns == TIME_UNKNOWN)
		return 0;
	w->text = scan_unescape(line, a);
	return w->text.ptr ? 1 : ERR_NOMEM;
}

/* {name="value", …} at the start of *t. */
static bool read_labels(struct text *t, struct wrapped *w)
{
	size_t i = 1, name, from;

	if (!text_starts(*t, "{"))
		return false;
	while (i < t->len && t->ptr[i] != '}') {
		for (name = i; i < t->len && t->ptr[i] != '=' && t->ptr[i] != '}' && t->ptr[i] != '"';)
			i++;
		if (i + 1 >= t->len || t->ptr[i] != '=' || t->ptr[i + 1] != '"')
			return false;
		struct text key = text_sub(*t, name, i - name);

		for (i += 2, from = i; i < t->len && t->ptr[i] != '"'; i++)
			i += t->ptr[i] == '\\';
		if (i >= t->len)
			return false;
		origin_label(w, key, text_sub(*t, from, i - from));
		for (i++; i < t->len && (t->ptr[i] == ',' || t->ptr[i] == ' ');)
			i++;
	}
	if (i >= t->len)
		return false;
	*t = text_from(*t, i + 1);
	return true;
}

static bool read_text(struct text t, struct wrapped *w)
{
	size_t used;

	if (t.len < 24 || t.ptr[0] < '0' || t.ptr[0] > '9' || t.ptr[10] != 'T' || !stamp_parse_iso(t, &w->ts, &used) ||
	    w->ts.quality != STAMP_ZONED || used >= t.len || t.ptr[used] != ' ')
		return false;
	t = text_from(t, used + 1);
	if (!read_labels(&t, w))
		return false;
	while (t.len && t.ptr[0] == ' ')
		t = text_from(t, 1);
	w->text = t;
	return true;
}

static int read_line(struct text t, struct arena *a, struct wrapped *w)
{
	return t.len && t.ptr[0] == '{' ? read_json(t, a, w) : read_text(t, w);
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};

	return read_line(record, &u->scratch, &w) == 1 ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	int r = read_line(record, &u->scratch, &w);

	if (r == ERR_NOMEM)
		return err_nomem(u->err);
	if (r != 1)
		return unwrap_refuse(u, r == BROKEN ? "torn" : "no_logcli");
	if (text_ends(w.text, "\n"))
		w.text.len--;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_logcli = {
    .name = "logcli",
    .summary = "Loki's logcli, --output=jsonl and default",
    .checked = "Loki 3.x source",
    .many = true,
    .bid = bid,
    .record = record,
};
