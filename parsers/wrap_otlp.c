/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_otlp.c - wrapper otlp: logs and spans as the OpenTelemetry collector's file exporter writes them, one request a line
 *
 *   {"resourceLogs":[{"resource":{"attributes":[…]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"…","body":{…}}]}]}]}
 *   {"resourceSpans":[{"resource":{"attributes":[…]},"scopeSpans":[{"spans":[{"traceId":"…",…}]}]}]}
 * opentelemetry-proto ac2c4b5 (logs.proto, trace.proto, docs/specification.md: integers of 64 bits are strings, numbers are accepted);
 * opentelemetry-collector-contrib exporter/fileexporter. A line can hold thousands of records: each is referred to by its own
 * place. A body that is no text (a map) is given as it stands, and so is a span (format otel-span).
 */
#include <stddef.h>

#include "wrap_json.h"

struct walk {
	struct unwrap *u;
	struct json_scan s;
	const char *record;
	struct wrapped resource; /* facts of the resource at hand */
	bool spans;              /* of the request at hand */
	int rc;
};

static bool read_attributes(struct walk *x, struct wrapped *w)
{
	struct text key, v, name, raw, value;
	int r, m;

	if (scan_peek(&x->s) != '[')
		return scan_value(&x->s, &v);
	scan_open(&x->s, '[');
	while ((r = scan_element(&x->s)) == 1) {
		name = raw = (struct text){NULL, 0};
		if (!scan_open(&x->s, '{'))
			return false;
		while ((m = scan_member(&x->s, &key)) == 1) {
			if (!scan_value(&x->s, &v))
				return false;
			if (text_is(key, "key") && v.len > 1)
				name = text_sub(v, 1, v.len - 2);
			else if (text_is(key, "value"))
				raw = v;
		}
		if (m < 0)
			return false;
		struct json_scan one = scan_of(raw);

		if (raw.len && scan_open(&one, '{') && scan_member(&one, &key) == 1 && text_is(key, "stringValue") &&
		    scan_value(&one, &v) && scan_scalar(v, &x->u->scratch, &value))
			origin_label(w, name, value);
	}
	return r == 0;
}

/* The text of a body; a map or list as it stands. */
static bool read_body(struct walk *x, struct text *ret)
{
	struct text key, v, body;
	struct json_scan one;

	if (!scan_value(&x->s, &body))
		return false;
	one = scan_of(body);
	*ret = body;
	if (scan_open(&one, '{') && scan_member(&one, &key) == 1 && text_is(key, "stringValue") &&
	    scan_value(&one, &v) && v.ptr[0] == '"') {
		*ret = scan_unescape(text_sub(v, 1, v.len - 2), &x->u->scratch);
		if (!ret->ptr)
			x->rc = ERR_NOMEM;
	}
	return true;
}

static bool read_record(struct walk *x)
{
	struct wrapped w = x->resource;
	struct stamp time = STAMP_INIT, observed = STAMP_INIT;
	struct text key, v;
	bool body = false;
	const char *from;
	int r;

	scan_peek(&x->s);
	from = x->s.p;
	if (!scan_open(&x->s, '{'))
		return false;
	while ((r = scan_member(&x->s, &key)) == 1 && x->rc == 0) {
		if (text_is(key, "body") && !body) {
			if (!read_body(x, &w.text))
				return false;
			body = true;
		} else if (text_is(key, "attributes")) {
			if (!read_attributes(x, &w))
				return false;
		} else if (!scan_value(&x->s, &v)) {
			return false;
		} else if (text_is(key, "timeUnixNano")) {
			outer_time(v, &time);
		} else if (text_is(key, "observedTimeUnixNano")) {
			outer_time(v, &observed);
		}
	}
	if (r < 0)
		return false;
	w.ts = time.ns != TIME_UNKNOWN ? time : observed;
	w.off = (uint32_t)(from - x->record);
	w.len = (uint32_t)(x->s.p - from);
	if (text_ends(w.text, "\n"))
		w.text.len--;
	if (x->rc == 0 && body)
		x->rc = unwrap_give(x->u, &w);
	return true;
}

static bool read_span(struct walk *x)
{
	struct wrapped w = x->resource;

	if (!scan_value(&x->s, &w.text) || w.text.ptr[0] != '{')
		return false;
	w.off = (uint32_t)(w.text.ptr - x->record);
	w.len = (uint32_t)w.text.len;
	x->rc = unwrap_give(x->u, &w);
	return true;
}

static bool named(struct text key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_is(key, names[i]))
			return true;
	return false;
}

/* An array of objects, each with a member that f reads. */
static bool each_member(struct walk *x, const char *const names[2], bool (*f)(struct walk *x))
{
	struct text key, v;
	int r, m;

	if (!scan_open(&x->s, '['))
		return false;
	while ((r = scan_element(&x->s)) == 1 && x->rc == 0) {
		if (!scan_open(&x->s, '{'))
			return false;
		while ((m = scan_member(&x->s, &key)) == 1 && x->rc == 0)
			if (named(key, names, 2) ? !f(x) : !scan_value(&x->s, &v))
				return false;
		if (m < 0)
			return false;
	}
	return r >= 0;
}

static bool read_records(struct walk *x)
{
	int r;

	if (!scan_open(&x->s, '['))
		return false;
	while ((r = scan_element(&x->s)) == 1 && x->rc == 0)
		if (!(x->spans ? read_span(x) : read_record(x)))
			return false;
	return r >= 0;
}

static bool read_scopes(struct walk *x)
{
	static const char *const logs[2] = {"logRecords", "log_records"}, *const spans[2] = {"spans", "spans"};

	return each_member(x, x->spans ? spans : logs, read_records);
}

/* The member "resource" may stand behind what it is the resource of. */
static bool read_resource(struct walk *x, struct json_scan s)
{
	struct json_scan before = x->s;
	struct text key, v;
	bool good = true;

	x->resource = (struct wrapped){.ts = STAMP_INIT};
	while (scan_member(&s, &key) == 1 && good) {
		if (!text_is(key, "resource")) {
			good = scan_value(&s, &v);
			continue;
		}
		x->s = s;
		good = scan_open(&x->s, '{');
		while (good && scan_member(&x->s, &key) == 1)
			good = text_is(key, "attributes") ? read_attributes(x, &x->resource) : scan_value(&x->s, &v);
		break;
	}
	x->s = before;
	return good;
}

static bool read_resources(struct walk *x)
{
	static const char *const logs[] = {"scopeLogs", "instrumentationLibraryLogs", "scope_logs"};
	static const char *const spans[] = {"scopeSpans", "instrumentationLibrarySpans", "scope_spans"};
	struct text key, v;
	int r, m;

	if (!scan_open(&x->s, '['))
		return false;
	while ((r = scan_element(&x->s)) == 1 && x->rc == 0) {
		if (!scan_open(&x->s, '{'))
			return false;
		read_resource(x, x->s);
		while ((m = scan_member(&x->s, &key)) == 1 && x->rc == 0)
			if (named(key, x->spans ? spans : logs, 3) ? !read_scopes(x) : !scan_value(&x->s, &v))
				return false;
		if (m < 0)
			return false;
	}
	return r >= 0;
}

static bool is_request(struct json_scan *s, bool *ret_spans)
{
	struct text key;

	if (!scan_open(s, '{') || scan_member(s, &key) != 1)
		return false;
	*ret_spans = text_is(key, "resourceSpans") || text_is(key, "resource_spans");
	return (*ret_spans || text_is(key, "resourceLogs") || text_is(key, "resource_logs")) && scan_peek(s) == '[';
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct json_scan s = scan_of(record);
	bool spans;

	(void)u;
	return is_request(&s, &spans) ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct walk x = {.u = u, .s = scan_of(record), .record = record.ptr};
	struct text key, v;
	bool good;
	int r = 1;

	if (!is_request(&x.s, &x.spans))
		return unwrap_refuse(u, "no_otlp");
	good = read_resources(&x);
	while (good && x.rc == 0 && (r = scan_member(&x.s, &key)) == 1)
		good = scan_value(&x.s, &v);
	if (x.rc < 0)
		return x.rc == ERR_NOMEM ? err_nomem(u->err) : x.rc;
	return good && r == 0 && scan_over(&x.s) ? RECORD_PARSED : unwrap_refuse(u, "torn");
}

const struct wrapper wrapper_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry logs and spans as JSON lines, as the collector's file exporter writes them",
    .checked = "opentelemetry-proto 1.9, collector-contrib fileexporter source",
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
};
