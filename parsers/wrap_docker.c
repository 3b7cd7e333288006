/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_docker.c - wrapper docker: Docker's json-file logs
 *
 *   {"log":"text\n","stream":"stdout","attrs":{…},"time":"RFC 3339"}
 * A line longer than 16 KiB is cut, and the only mark of it is that "log" does not end in \n.
 * moby b985e2313a daemon/logger/jsonfilelog/jsonlog/jsonlogbytes.go, daemon/logger/copier.go.
 */
#include "pagetrail/json_scan.h"
#include "pagetrail/wrapper.h"

/* 1: a line of this shape, 0: it is none, -1: it breaks off. */
static int read_line(struct text t, struct text *log, struct wrapped *w)
{
	struct json_scan s = scan_of(t);
	struct text key, v, time = {NULL, 0};
	bool has_log = false, has_stream = false;
	size_t used;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	while ((r = scan_member(&s, &key)) == 1) {
		if (text_is(key, "log") && !has_log) {
			if (!scan_string(&s, log))
				return -1;
			has_log = true;
		} else if (!scan_value(&s, &v)) {
			return -1;
		} else if (text_is(key, "stream") && !has_stream) {
			v = text_sub(v, 1, v.len - 2);
			has_stream = text_is(v, "stdout") || text_is(v, "stderr");
			w->stream = v;
		} else if (text_is(key, "time") && !time.len && v.len > 2) {
			time = text_sub(v, 1, v.len - 2);
		} else if (!text_is(key, "attrs") && !text_is(key, "stream") && !text_is(key, "time")) {
			return 0; /* a collector's record, that has more to say */
		}
	}
	if (r < 0 || !scan_over(&s))
		return -1;
	if (!time.len || !stamp_parse_iso(time, &w->ts, &used) || used != time.len)
		return 0;
	return has_log && has_stream;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	struct text log;

	(void)u;
	return read_line(record, &log, &w) == 1 ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	struct text log = {NULL, 0};
	int r = read_line(record, &log, &w);

	if (r != 1)
		return unwrap_refuse(u, r < 0 ? "torn" : "no_docker");
	w.text = scan_unescape(log, &u->scratch);
	if (!w.text.ptr && log.len)
		return err_nomem(u->err);
	w.more = !text_ends(w.text, "\n");
	if (!w.more)
		w.text.len--;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_docker = {
    .name = "docker",
    .summary = "Docker's json-file logs, long lines joined",
    .checked = "moby 28 source",
    .closed = true,
    .bid = bid,
    .record = record,
};
