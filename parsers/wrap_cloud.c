/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_cloud.c - wrapper cloud: what log services give back, an object for each line of a log
 *
 *   {"textPayload":"…","timestamp":"…","resource":{"labels":{"pod_name":…}}}      Google Cloud Logging; jsonPayload: the line was JSON
 *   {"logStreamName":"…","timestamp":MS,"message":"…","ingestionTime":MS}         AWS CloudWatch Logs
 *   {"TimeGenerated":"…","PodName":"…","ContainerName":"…","LogMessage":"…"}      Azure Monitor, ContainerLogV2; ContainerLog: LogEntry
 *   {"_index":"…","_source":{"@timestamp":"…","message":"…","kubernetes":{…}}}    Elasticsearch, OpenSearch
 *   {"preview":false,"result":{"_raw":"…","_time":"…","host":"…"}}                Splunk's export
 *   {"message":"…","podName":"…","containerName":"…","nodeName":"…"}              stern -o json; extjson: pod, container
 * One behind the other, or as elements of an array, of {"events":[…]} or of {"hits":{"hits":[…]}}, over as many lines as they
 * like. Documents of these services. Many give the newest line first unless told otherwise; the lines stay in the order that they
 * have here.
 */
#include <stddef.h>
#include <string.h>

#include "wrap_json.h"

/* --- where an object ends --- */

enum { DEPTH_MAX = 63, HEAD_BYTES = 4096 };

/* An object that may go over several lines: its length; 0: more bytes are needed, SIZE_MAX: it breaks off, and *ret_line is
 * where the line begins in which that is seen. A line end inside of a string, or something else than a name where one has to
 * stand, is such a break: what follows is another object. */
static size_t object_length(struct text t, size_t *ret_line)
{
	uint64_t objects = 0;
	unsigned depth = 0;
	char before = '\0';

	*ret_line = 0;
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];

		if (c == '\n')
			*ret_line = i + 1;
		if (memchr(" \t\r\n", c, 4))
			continue;
		if ((objects & 1) && (before == '{' || before == ',') && c != '"' && c != '}')
			return SIZE_MAX;
		before = c;
		if (c == '"') {
			for (i++; i < t.len && t.ptr[i] != '"' && t.ptr[i] != '\n'; i++)
				i += t.ptr[i] == '\\';
			if (i < t.len && t.ptr[i] == '\n') {
				*ret_line = i + 1;
				return SIZE_MAX;
			}
		} else if (c == '{' || c == '[') {
			if (++depth > DEPTH_MAX)
				return SIZE_MAX;
			objects = objects << 1 | (c == '{');
		} else if (c == '}' || c == ']') {
			if ((objects & 1) != (c == '}'))
				return SIZE_MAX;
			objects >>= 1;
			if (--depth == 0)
				return i + 1;
		}
	}
	return 0;
}

/* Behind `{"events":[` and `{…"hits":{…"hits":[`, up to the '['; 0: it is neither. */
static size_t list_begins(struct text t)
{
	struct json_scan s = scan_of(text_sub(t, 0, HEAD_BYTES));
	const char *from = s.p;
	struct text key, v;

	for (unsigned depth = 0; depth < 2 && scan_open(&s, '{'); depth++) {
		while (scan_member(&s, &key) == 1) {
			if ((text_is(key, "events") || text_is(key, "hits")) && scan_peek(&s) == '[')
				return (size_t)(s.p + 1 - from);
			if (text_is(key, "hits") && scan_peek(&s) == '{')
				break;
			if (!scan_value(&s, &v))
				return 0;
		}
	}
	return 0;
}

static size_t frame(struct text t, bool last)
{
	size_t from = 0, n, line;

	while (from < t.len && memchr(" \t\r\n,[", t.ptr[from], 6))
		from++;
	if (from == t.len)
		return last ? t.len : 0;
	if (t.ptr[from] != '{')
		return from ? from : SIZE_MAX;
	n = list_begins(text_from(t, from));
	if (n)
		return from + n;
	n = object_length(text_from(t, from), &line);
	if (n == 0)
		return last ? t.len : 0;
	if (n == SIZE_MAX)
		return line ? from + line : SIZE_MAX;
	/* what ends it on its line, too */
	for (n += from; n < t.len && memchr(" \t\r,", t.ptr[n], 4);)
		n++;
	if (n == t.len)
		return last ? n : 0;
	return t.ptr[n] == '\n' ? n + 1 : n;
}

/* --- what is in it --- */

struct fields {
	struct text line; /* raw: with its quotes, or an object */
	bool message, google, amazon, azure, elastic, splunk, pod;
};

static bool read_source(struct json_scan *s, struct arena *a, struct fields *f, struct wrapped *w)
{
	struct text key, v, t;
	int r;

	if (!scan_open(s, '{'))
		return false;
	while ((r = scan_member(s, &key)) == 1) {
		bool object = scan_peek(s) == '{';

		if (object && text_is(key, "kubernetes")) {
			if (!origin_labels(s, a, w))
				return false;
		} else if (object && (text_is(key, "host") || text_is(key, "container"))) {
			if (!origin_named(s, key, a, w))
				return false;
		} else if (!scan_value(s, &v)) {
			return false;
		} else if ((text_is(key, "message") || text_is(key, "log") || text_is(key, "_raw")) &&
			   v.ptr[0] == '"') {
			f->line = v;
			f->splunk |= text_is(key, "_raw");
			f->elastic |= !text_is(key, "_raw");
		} else if (text_is(key, "@timestamp") || text_is(key, "_time")) {
			outer_time(v, &w->ts);
		} else if (scan_scalar(v, a, &t)) {
			origin_label(w, key, t);
		}
	}
	return r == 0;
}

/* {"type":"k8s_container","labels":{…}} */
static bool read_resource(struct json_scan *s, struct arena *a, struct wrapped *w)
{
	struct text key, v;
	int r;

	if (!scan_open(s, '{'))
		return false;
	while ((r = scan_member(s, &key)) == 1)
		if (text_is(key, "labels") && scan_peek(s) == '{' ? !origin_labels(s, a, w) : !scan_value(s, &v))
			return false;
	return r == 0;
}

/* The name of a field and what it says of whose the line is. */
static void read_origin(struct text key, struct text v, struct arena *a, struct wrapped *w)
{
	static const struct {
		const char *key, *label;
	} names[] = {{"logStreamName", "unit"},
		     {"Computer", "host"},
		     {"nodeName", "host"},
		     {"podName", "pod"},
		     {"PodName", "pod"},
		     {"containerName", "container"},
		     {"pod", "pod"},
		     {"container", "container"},
		     {"ContainerName", "container"},
		     {"LogSource", "stream"},
		     {"LogEntrySource", "stream"}};
	struct text value;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(key, names[i].key) && v.ptr[0] == '"' && scan_scalar(v, a, &value))
			origin_label(w, text_of(names[i].label), value);
}

static void read_member(struct text key, struct text v, struct arena *a, struct fields *f, struct wrapped *w)
{
	bool text = v.ptr[0] == '"';

	read_origin(key, v, a, w);
	if (text_is(key, "textPayload") && text) {
		f->line = v;
		f->google = true;
	} else if (text_is(key, "jsonPayload") && v.ptr[0] == '{') {
		f->line = v;
		f->google = true;
	} else if ((text_is(key, "LogMessage") || text_is(key, "LogEntry")) && (text || v.ptr[0] == '{')) {
		f->line = v;
		f->azure = true;
	} else if (text_is(key, "message") && (text || v.ptr[0] == '{')) {
		f->line = v;
		f->message = true;
	} else if (text_is(key, "timestamp") || text_is(key, "TimeGenerated")) {
		outer_time(v, &w->ts);
	} else if (text_is(key, "ingestionTime")) {
		f->amazon = true;
	} else if (text_is(key, "podName") || text_is(key, "pod")) {
		f->pod = text;
	}
}

/* 1 a line of a log, 0 something else, -1 it breaks off. */
static int read_object(struct text t, struct arena *a, struct fields *f, struct wrapped *w)
{
	struct json_scan s = scan_of(t);
	struct text key, v;
	unsigned members = 0;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	while ((r = scan_member(&s, &key)) == 1) {
		bool object = scan_peek(&s) == '{';

		members++;
		if (object && (text_is(key, "_source") || text_is(key, "result"))) {
			if (!read_source(&s, a, f, w))
				return -1;
		} else if (object && text_is(key, "resource")) {
			if (!read_resource(&s, a, w))
				return -1;
		} else if (!scan_value(&s, &v)) {
			return -1;
		} else {
			read_member(key, v, a, f, w);
		}
	}
	if (r < 0)
		return -1;
	while (s.p < s.end && memchr(" \t\r\n,", *s.p, 5))
		s.p++;
	if (s.p < s.end)
		return -1;
	/* a message and a pod are stern's when it has little else */
	return (f->google || f->azure || f->elastic || f->splunk || (f->message && f->amazon) ||
		(f->message && f->pod && w->container.len && members <= 6)) &&
	       f->line.len;
}

static struct text object_of(struct text t)
{
	size_t n = 0;

	while (n < t.len && memchr(" \t\r\n,[", t.ptr[n], 6))
		n++;
	return text_from(t, n);
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	struct fields f = {0};

	return read_object(object_of(record), &u->scratch, &f, &w) == 1 ? BID_STRONG : BID_NO;
}

/* What stands round the objects: brackets, and what a service says of its answer. */
static bool is_frame(struct text t)
{
	static const char *const own[] = {"\"searchedLogStreams\"", "\"nextToken\"", "\"nextForwardToken\"",
					  "\"nextBackwardToken\""};

	t = text_trim(t);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (text_starts(t, own[i]))
			return true;
	return !t.len || t.ptr[0] == ']' || t.ptr[0] == '}' || list_begins(t) == t.len;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	struct fields f = {0};
	struct text object = object_of(record);
	int r;

	if (is_frame(object))
		return RECORD_CONTEXT;
	r = read_object(object, &u->scratch, &f, &w);
	if (r != 1)
		return unwrap_refuse(u, r < 0 ? "torn" : "no_text");
	w.text = f.line;
	if (f.line.ptr[0] == '"') {
		w.text = scan_unescape(text_sub(f.line, 1, f.line.len - 2), &u->scratch);
		if (!w.text.ptr)
			return f.line.len > 2 ? err_nomem(u->err) : RECORD_CONTEXT;
	}
	if (text_ends(w.text, "\n"))
		w.text.len--;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_cloud = {
    .name = "cloud",
    .summary = "JSON of Google Cloud Logging, CloudWatch, Azure Monitor, Elasticsearch and Splunk exports, stern",
    .checked = "documents of the services as of 2026, stern 1.3x source",
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
    .frame = frame,
};
