/* SPDX-License-Identifier: Apache-2.0 */
/* toy.h - small formats, and files to read, for the tests of ingest */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/ingest.h"

/* toy: "T<seconds> text" is an event with a naive time, "#…" context, two blanks continue, "{…" is handed on,
 * "B host port" a start, "W name" an event of a named worker, "|" begins a record inside a line. */
static int toy_record(struct parse *p, struct text t)
{
	int64_t n = 0;
	size_t blank = text_find_char(t, ' ', 0);
	if (text_starts(t, "#"))
		return RECORD_CONTEXT;
	if (text_starts(t, "  "))
		return RECORD_CONTINUES;
	if (text_starts(t, "{"))
		return parse_delegate(p, t);
	if (text_starts(t, "B ")) {
		struct text host = text_from(t, 2), port;
		size_t at = text_find_char(host, ' ', 0);
		if (at == SIZE_MAX)
			return RECORD_UNPARSED;
		port = text_from(host, at + 1);
		host.len = at;
		struct event *e = parse_begin(p, EVENT_BOOT, STAMP_INIT);
		event_text(e, BOOT_HOST, host);
		event_count(e, BOOT_PORT, port);
		int rc = parse_emit(p);
		return rc < 0 ? rc : RECORD_PARSED;
	}
	if (text_starts(t, "|"))
		t = text_from(t, 1);
	if ((text_starts(t, "T") || text_starts(t, "W ")) && blank != SIZE_MAX) {
		struct stamp ts = STAMP_INIT;
		if (t.ptr[0] == 'T' && text_int64(text_sub(t, 1, text_find_char(t, ' ', 0) - 1), &n))
			ts = (struct stamp){n * NS_PER_S, STAMP_NAIVE, NS_PER_S};
		struct event *e = parse_begin(p, EVENT_LOAD, ts);
		event_int(e, LOAD_RUNNING, (int64_t)t.len);
		if (t.ptr[0] == 'W')
			event_worker(e, text_from(t, 2));
		int rc = parse_emit(p);
		return rc < 0 ? rc : RECORD_PARSED;
	}
	p->reason = "odd";
	return RECORD_UNPARSED;
}

static enum bid toy_bid(struct parse *p, struct text t)
{
	(void)p;
	if (t.len > 1 && t.ptr[0] == 'T' && t.ptr[1] >= '0' && t.ptr[1] <= '9')
		return BID_STRONG;
	return text_starts(t, "#") || text_starts(t, "B ") || text_starts(t, "W ") ? BID_WEAK : BID_NO;
}

static size_t toy_split(struct parse *p, struct text t)
{
	(void)p;
	size_t at = t.len ? text_find_char(t, '|', 1) : SIZE_MAX;
	return at == SIZE_MAX ? t.len : at;
}

static int json_record(struct parse *p, struct text t)
{
	struct event *e = parse_begin(p, EVENT_LEG, STAMP_INIT);
	event_text(e, LEG_RID, text_sub(t, 0, 20));
	int rc = parse_emit(p);
	return rc < 0 ? rc : RECORD_PARSED;
}

static enum bid json_bid(struct parse *p, struct text t)
{
	(void)p;
	return text_starts(t, "{\"toy\"") ? BID_STRONG : BID_NO;
}

static int rival_record(struct parse *p, struct text t)
{
	(void)p;
	(void)t;
	return RECORD_CONTEXT;
}

static enum bid rival_bid(struct parse *p, struct text t)
{
	(void)p;
	return text_starts(t, "R") ? BID_STRONG : text_starts(t, "#") ? BID_WEAK : BID_NO;
}

static enum bid doc_bid(struct parse *p, struct text t)
{
	(void)p;
	return text_find(t, "\"toydoc\"", 0) != SIZE_MAX ? BID_STRONG : BID_NO;
}

/* toy-binary: "@", two hex digits, as many bytes; "^" and eight digits for long ones. "k…" is an event. */
static size_t binary_length(struct text t)
{
	size_t digits = t.len && t.ptr[0] == '^' ? 8 : 2, n = 0;
	if (t.len && t.ptr[0] != '@' && t.ptr[0] != '^')
		return SIZE_MAX;
	for (size_t i = 1; i <= digits; i++) {
		if (i >= t.len)
			return 0;
		const char *d = strchr("0123456789abcdef", t.ptr[i]);
		if (!d || !*d)
			return SIZE_MAX;
		n = n * 16 + (size_t)(d - "0123456789abcdef");
	}
	return 1 + digits + n;
}

static enum bid binary_bid(struct parse *p, struct text t)
{
	(void)p;
	size_t at = t.len && t.ptr[0] == '^' ? 9 : 3;
	return at < t.len && t.ptr[at] == 'k' ? BID_STRONG : BID_NO;
}

static int binary_record(struct parse *p, struct text t)
{
	if (binary_bid(p, t) != BID_STRONG)
		return parse_refuse(p, "odd");
	event_int(parse_begin(p, EVENT_CACHE, STAMP_INIT), CACHE_SEQ, (int64_t)t.len);
	int rc = parse_emit(p);
	return rc < 0 ? rc : RECORD_PARSED;
}

static const struct parser toy = {.name = "toy", .record = toy_record, .bid = toy_bid, .split = toy_split};
static const struct parser toy_json = {.name = "toy-json", .record = json_record, .bid = json_bid};
static const struct parser rival = {.name = "rival", .record = rival_record, .bid = rival_bid};
static const struct parser doc = {.name = "doc", .shape = SHAPE_DOCUMENT, .record = json_record, .bid = doc_bid};
static const struct parser toy_binary = {
    .name = "toy-binary", .shape = SHAPE_BINARY, .length = binary_length, .record = binary_record, .bid = binary_bid};
static const struct parser *const toys[] = {&toy, &toy_json, &rival, &doc, &toy_binary};
enum { N_TOYS = 5 };

/* A folder of its own for each test program. */
static char folder[64];

static inline int folder_make(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/pagetrail-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_drop(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static inline const char *in_folder(const char *name)
{
	static char paths[8][256];
	static unsigned turn;
	char *p = paths[turn++ % 8];
	snprintf(p, sizeof(paths[0]), "%s/%s", folder, name);
	return p;
}

static inline void put(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(in_folder(name), "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* A shell command inside the folder; false when a program is missing. */
static inline bool shell(const char *fmt, ...)
{
	char command[1024];
	int n = snprintf(command, sizeof(command), "cd '%s' && ", folder);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}
