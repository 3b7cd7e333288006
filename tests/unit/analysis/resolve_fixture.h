/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_fixture.h - small cases for the tests of resolving: sources and events written as short texts
 *
 * put(source, EVENT_LEG, 12.5, "what=finished rid=r1 input_tokens=1") is one event 12.5 seconds after T0; a time of NAN
 * is no time; a leading "naive", "yearless", "between" or "monotonic" makes the stamp one of that kind; "worker=" names the worker; '~' stands for a blank.
 */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/analysis.h"
#include "pagetrail/column.h"
#include "pagetrail/parser.h"

#define T0_S INT64_C(1788000000) /* only differences matter */
#define T0   (T0_S * NS_PER_S)

static char fixture_dir[64], fixture_path[128];
static struct case_file *fixture;

struct pending {
	int64_t source;
	enum event_kind kind;
	double at;
	char spec[512];
	uint64_t off;
};
static struct pending pending[2048];
static size_t n_pending;
static uint64_t next_off[64];

static UNUSED int fixture_setup(void **state)
{
	(void)state;
	strcpy(fixture_dir, "/tmp/pagetrail-test-XXXXXX");
	if (!mkdtemp(fixture_dir))
		return -1;
	snprintf(fixture_path, sizeof(fixture_path), "%s/case.pt", fixture_dir);
	n_pending = 0;
	memset(next_off, 0, sizeof(next_off));
	return case_open(&fixture, fixture_path, CASE_CREATE, NULL);
}

static UNUSED int fixture_teardown(void **state)
{
	char cmd[160];
	(void)state;
	(void)case_close(fixture, NULL);
	fixture = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", fixture_dir);
	return system(cmd);
}

static UNUSED void run(const char *sql)
{
	struct err err = {0};
	if (sql_exec(fixture, sql, &err))
		fail_msg("%s: %s", sql, err.what);
}

/* A source in the table; columns beyond path and worker through `more` ("role='decode'" style assignments). */
static UNUSED int64_t source(const char *path, const char *worker, const char *more)
{
	char line[1024];
	struct err err = {0};
	snprintf(line, sizeof(line),
		 "INSERT INTO source(path, sha256, content_sha256, container, format, format_basis, worker, tz, "
		 "tz_basis, status) "
		 "VALUES('%s', 'h-%s', 'h-%s', 'none', 'test', '{}', %s%s%s, 'UTC', 'assumed', 'ingested')",
		 path, path, path, worker ? "'" : "", worker ? worker : "NULL", worker ? "'" : "");
	run(line);
	int64_t id = sql_last_id(fixture);
	assert_true(id > 0 && id < 64);
	if (more) {
		snprintf(line, sizeof(line), "UPDATE source SET %s WHERE source = %lld", more, (long long)id);
		run(line);
	}
	(void)err;
	return id;
}

static UNUSED void put(int64_t src, enum event_kind kind, double at, const char *spec)
{
	struct pending *p = &pending[n_pending++];
	assert_true(n_pending <= ARRAY_SIZE(pending));
	*p = (struct pending){.source = src, .kind = kind, .at = at, .off = next_off[src]};
	snprintf(p->spec, sizeof(p->spec), "%s", spec);
	next_off[src] += 100;
}

static UNUSED void build_event(const struct pending *p, struct event *e, char *text)
{
	const struct event_kind_info *info = &event_kinds[p->kind];
	*e = (struct event){.kind = p->kind, .ts = STAMP_INIT, .byte_off = p->off, .byte_len = 99};
	if (!isnan(p->at))
		e->ts = (struct stamp){T0 + (int64_t)llround(p->at * 1e3) * 1000000, STAMP_ZONED, 1};
	strcpy(text, p->spec);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		if (!strcmp(word, "naive")) {
			e->ts.quality = STAMP_NAIVE;
			continue;
		}
		if (!strcmp(word, "yearless")) {
			e->ts.quality = STAMP_YEARLESS;
			continue;
		}
		if (!strcmp(word, "between")) {
			e->ts.quality = STAMP_INTERPOLATED;
			continue;
		}
		if (!strcmp(word, "monotonic")) {
			e->ts.quality = STAMP_MONOTONIC;
			continue;
		}
		char *value = strchr(word, '=');
		assert_non_null(value);
		*value++ = 0;
		for (char *s = value; *s; s++)
			*s = *s == '~' ? ' ' : *s;
		if (!strcmp(word, "worker")) {
			e->worker = text_of(value);
			continue;
		}
		unsigned col = 0;
		while (col < info->n_columns && strcmp(info->columns[col].name, word))
			col++;
		if (col == info->n_columns)
			fail_msg("no column %s in %s", word, info->name);
		if (info->columns[col].type == COLUMN_TEXT) {
			event_text(e, col, text_of(value));
		} else if (info->columns[col].type == COLUMN_PAGES) { /* 0+120,500+8 */
			static struct page_run page_runs[16];
			uint32_t n = 0;
			for (char *s = value; s && n < ARRAY_SIZE(page_runs);
			     s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
				if (sscanf(s, "%u+%u", &page_runs[n].first, &page_runs[n].count) == 2)
					n++;
			event_runs(e, page_runs, n);
		} else {
			/* times of the _ns columns are seconds after T0 too */
			size_t len = strlen(word);
			bool time = len > 3 && !strcmp(word + len - 3, "_ns");
			event_int(e, col, time ? T0 + (int64_t)llround(atof(value) * 1e3) * 1000000 : atoll(value));
		}
	}
}

/* Writes what was put, one chunk per source and kind. */
static UNUSED void flush(void)
{
	struct err err = {0};
	for (int64_t src = 1; src < 64; src++)
		for (int kind = 0; kind < EVENT_KINDS; kind++) {
			struct event_batch *b = NULL;
			struct event_chunk chunk = {0};
			assert_int_equal(event_batch_new(&b, (enum event_kind)kind, 1024, &err), 0);
			for (size_t i = 0; i < n_pending; i++) {
				struct event e;
				char text[512];
				if (pending[i].source != src || pending[i].kind != (enum event_kind)kind)
					continue;
				build_event(&pending[i], &e, text);
				assert_int_equal(event_batch_add(b, &e, &err), 0);
			}
			if (b->n) {
				assert_int_equal(column_encode(b, NULL, &chunk, &err), 0);
				assert_int_equal(column_append(fixture, src, &chunk, &err), 0);
				column_done(&chunk);
			}
			event_batch_free(b);
		}
	n_pending = 0;
}

static UNUSED void resolve(void)
{
	struct err err = {0};
	flush();
	assert_int_equal(case_begin(fixture, &err), 0);
	if (resolve_case(fixture, &err))
		fail_msg("resolve: %s", err.what);
	assert_int_equal(case_commit(fixture, &err), 0);
}

/* All rows as "a|b;c|d;", NULL as "-". Times of _ns columns read best as (x - T0)/1e9: see SECONDS(). */
static UNUSED const char *rows(const char *query)
{
	static char ring[8][16384];
	static unsigned turn;
	char *out = ring[turn++ % 8];
	struct sql *s = NULL;
	struct err err = {0};
	size_t at = 0;
	out[0] = 0;
	int r = sql_prepare(&s, fixture, query, &err);
	while (!r && (r = sql_step(s, &err)) > 0) {
		r = 0;
		for (int i = 0; i < sql_columns(s) && at < 16000; i++) {
			struct text t = sql_get_text(s, i);
			at += (size_t)snprintf(out + at, 16384 - at, "%s%.*s", i ? "|" : "", t.ptr ? (int)t.len : 1,
					       t.ptr ? t.ptr : "-");
		}
		if (at < 16000)
			at += (size_t)snprintf(out + at, 16384 - at, ";");
	}
	sql_end(s);
	if (r < 0)
		snprintf(out, 16384, "error: %s", err.what);
	return out;
}

#define SECONDS(col) "(" col " - 1788000000000000000) / 1000000000"
