/* SPDX-License-Identifier: Apache-2.0 */
/* test_parsers.c - every format against its samples: tests/parsers/NAME/CASE.log must give CASE.expect
 *
 * With UPDATE=1 in the environment the .expect files are written instead; read the difference before you keep it. A
 * format without samples fails, so does a sample that another format claims, and a pattern whose sample is not its own.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../rounds.h"
#include "pagetrail/ingest.h"
#include "pagetrail/json_scan.h"

enum { FILES_MAX = 256, NAME_BYTES = 512, SHOWN = 160 };

static int faults;

static void fault(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void fault(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("# ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	faults++;
}

static void folder_of(const char *prefix, const char *name, char *out, size_t size)
{
	snprintf(out, size, "tests/parsers/%s%s", prefix, name);
	for (char *c = out; *c; c++)
		*c = *c == '-' ? '_' : *c;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Paths of the samples of one format, sorted; prefix: of its folder. */
static size_t samples_in(const char *prefix, const char *name, char (*paths)[NAME_BYTES])
{
	char folder[256];
	size_t n = 0;
	folder_of(prefix, name, folder, sizeof(folder));
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d)) && n < FILES_MAX;) {
		size_t len = strlen(e->d_name);
		if (len > 4 && !strcmp(e->d_name + len - 4, ".log"))
			snprintf(paths[n++], NAME_BYTES, "%s/%s", folder, e->d_name);
	}
	if (d)
		closedir(d);
	qsort(paths, n, NAME_BYTES, by_name);
	return n;
}

static size_t samples_of(const struct parser *p, char (*paths)[NAME_BYTES])
{
	return samples_in("", p->name, paths);
}

static bool read_file(const char *path, struct buf *out)
{
	FILE *in = fopen(path, "rb");
	char block[65536];
	size_t n;
	if (!in)
		return false;
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		assert_int_equal(buf_add(out, block, n, NULL), 0);
	fclose(in);
	return true;
}

/* --- the dump --- */

struct dump {
	struct buf out, events;
	const char *path;
	unsigned n_events; /* of the record at hand */
};

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct dump *d = ctx;
	d->n_events++;
	int rc = buf_add(&d->events, "\t", 1, err);
	if (rc == 0)
		rc = event_dump(e, &d->events, err);
	return rc < 0 ? rc : buf_add_char(&d->events, '\n', err);
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	static const char *const names[] = {"", "parsed", "context", "unparsed", "continues"};
	struct dump *d = ctx;
	if (v == RECORD_PARSED && !d->n_events)
		fault("%s, byte %llu: parsed, but no event", d->path, (unsigned long long)off);
	if ((v == RECORD_CONTEXT || v == RECORD_UNPARSED) && d->n_events)
		fault("%s, byte %llu: %s, but events", d->path, (unsigned long long)off, names[v]);
	if (v == RECORD_UNPARSED &&
	    (!reason || !*reason || strspn(reason, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(reason)))
		fault("%s, byte %llu: reason '%s' is no stable code", d->path, (unsigned long long)off,
		      reason ? reason : "");
	d->n_events = 0;
	int rc = buf_printf(&d->out, NULL, "%llu+%zu %s%s%s\n", (unsigned long long)off, record.len, names[v],
			    reason ? " " : "", reason ? reason : "");
	if (rc == 0)
		rc = buf_add_text(&d->out, buf_text(&d->events), NULL);
	buf_clear(&d->events);
	return rc;
}

/* First line where two texts differ. */
static void show_difference(const char *path, struct text want, struct text got)
{
	struct text w = {NULL, 0}, g = {NULL, 0};
	unsigned line = 0;
	bool more_w, more_g;
	do {
		w = g = (struct text){"(end)", 5};
		more_w = text_split(&want, '\n', &w);
		more_g = text_split(&got, '\n', &g);
		line++;
	} while (more_w && more_g && text_eq(w, g));
	fault("%s, line %u differs\n#   want %.*s\n#   got  %.*s", path, line, (int)MIN(w.len, 1000), w.ptr,
	      (int)MIN(g.len, 1000), g.ptr);
}

/* p NULL: a wrapper's sample, of this name. */
static void check_sample(const struct parser *p, const char *name, const char *path)
{
	struct buf bytes = BUF_INIT(64 * MIB), want = BUF_INIT(64 * MIB);
	struct dump d = {.out = BUF_INIT(64 * MIB), .events = BUF_INIT(64 * MIB), .path = path};
	struct account a = {0};
	struct err err = {0};
	char expect[NAME_BYTES];
	assert_true(read_file(path, &bytes));
	int rc = p ? ingest_text(p, parsers, n_parsers, buf_text(&bytes), on_event, on_record, &d, &a, &err)
		   : ingest_text_wrapped(text_of(name), parsers, n_parsers, wrappers, n_wrappers, buf_text(&bytes),
					 on_event, on_record, &d, &a, &err);
	if (rc < 0) {
		fault("%s: %s", path, err.what);
	} else {
		if (a.bytes != bytes.len || a.records != a.parsed + a.context + a.unparsed + a.duplicate ||
		    a.bytes != a.bytes_parsed + a.bytes_context + a.bytes_unparsed + a.bytes_duplicate)
			fault("%s: the sums do not hold", path);
		if (d.events.len) { /* what finish() gave */
			assert_int_equal(buf_add_text(&d.out, TEXT("end\n"), NULL), 0);
			assert_int_equal(buf_add_text(&d.out, buf_text(&d.events), NULL), 0);
		}
		assert_int_equal(buf_printf(&d.out, NULL, "records %llu parsed %llu context %llu unparsed %llu\n",
					    (unsigned long long)a.records, (unsigned long long)a.parsed,
					    (unsigned long long)a.context, (unsigned long long)a.unparsed),
				 0);
		snprintf(expect, sizeof(expect), "%.*s.expect", (int)(strlen(path) - 4), path);
		const char *update = getenv("UPDATE");
		if (update && *update == '1') {
			FILE *out = fopen(expect, "wb");
			assert_non_null(out);
			assert_int_equal(fwrite(d.out.ptr, 1, d.out.len, out), d.out.len);
			assert_int_equal(fclose(out), 0);
		} else if (!read_file(expect, &want)) {
			fault("%s is missing: run with UPDATE=1 and read it", expect);
		} else if (!text_eq(buf_text(&want), buf_text(&d.out))) {
			show_difference(expect, buf_text(&want), buf_text(&d.out));
		}
	}
	buf_done(&bytes);
	buf_done(&want);
	buf_done(&d.out);
	buf_done(&d.events);
}

static void test_samples(void **state)
{
	static char paths[FILES_MAX][NAME_BYTES];
	(void)state;
	faults = 0;
	for (size_t i = 0; i < n_parsers; i++) {
		size_t n = samples_of(parsers[i], paths);
		if (!n)
			fault("format %s has no samples", parsers[i]->name);
		for (size_t k = 0; k < n; k++)
			check_sample(parsers[i], NULL, paths[k]);
	}
	for (size_t i = 0; i < n_wrappers; i++) {
		size_t n = samples_in("wrap_", wrappers[i]->name, paths);
		if (!n)
			fault("wrapper %s has no samples", wrappers[i]->name);
		for (size_t k = 0; k < n; k++)
			check_sample(NULL, wrappers[i]->name, paths[k]);
	}
	assert_int_equal(faults, 0);
}

/* --- patterns --- */

static bool matches(struct parse *p, size_t i, struct text t)
{
	const struct line_pattern *l = &p->parser->patterns[i];
	if (l->starts && !text_starts(t, l->starts))
		return false;
	return !p->compiled[i] || pattern_search(p->compiled[i], p->match, t, 0);
}

static void test_patterns(void **state)
{
	(void)state;
	faults = 0;
	for (size_t i = 0; i < n_parsers; i++) {
		const struct parser *parser = parsers[i];
		struct parse p = {0};
		struct err err = {0};
		if (parse_open(&p, parser, &err) < 0) {
			fault("format %s: %s (%s)", parser->name, err.what, err.where);
			continue;
		}
		for (size_t k = 0; k < parser->n_patterns; k++) {
			const struct line_pattern *l = &parser->patterns[k];
			if (!l->sample || !*l->sample) {
				fault("%s: pattern %s has no sample", parser->name, l->name);
				continue;
			}
			for (size_t j = 0; j < parser->n_patterns; j++) {
				bool hit = matches(&p, j, text_of(l->sample));
				if (j == k && !hit)
					fault("%s: pattern %s does not match its sample", parser->name, l->name);
				if (j != k && hit)
					fault("%s: the sample of %s is matched by %s too", parser->name, l->name,
					      parser->patterns[j].name);
			}
		}
		parse_close(&p);
	}
	assert_int_equal(faults, 0);
}

/* --- the cross matrix --- */

static void check_bids(struct parse *open, size_t own, const char *path, struct text bytes)
{
	struct text line;
	for (unsigned n = 1; text_split(&bytes, '\n', &line); n++) {
		line = text_chomp(line);
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (!text_trim(line).len)
			continue;
		arena_reset(&open[own].scratch);
		if (parsers[own]->bid(&open[own], line) == BID_NO)
			continue; /* another format's record between ours: it is handed on */
		for (size_t i = 0; i < n_parsers; i++) {
			if (i == own || parsers[i]->shape != SHAPE_LINES)
				continue;
			arena_reset(&open[i].scratch);
			if (parsers[i]->bid(&open[i], line) == BID_STRONG)
				fault("%s, line %u: %s bids on it too: %.*s", path, n, parsers[i]->name,
				      (int)MIN(line.len, SHOWN), line.ptr);
		}
	}
}

static void test_matrix(void **state)
{
	static char paths[FILES_MAX][NAME_BYTES];
	struct parse *open = calloc(n_parsers, sizeof(*open));
	struct err err = {0};
	(void)state;
	faults = 0;
	assert_non_null(open);
	for (size_t i = 0; i < n_parsers; i++)
		assert_int_equal(parse_open(&open[i], parsers[i], &err), 0);
	for (size_t i = 0; i < n_parsers; i++) {
		size_t n = samples_of(parsers[i], paths);
		unsigned found = 0;
		for (size_t k = 0; k < n; k++) {
			struct buf bytes = BUF_INIT(64 * MIB);
			struct detection d;
			assert_true(read_file(paths[k], &bytes));
			assert_int_equal(detect(parsers, n_parsers, buf_text(&bytes), true, &d, &err), 0);
			found += d.parser == parsers[i];
			if (d.parser && d.parser != parsers[i])
				fault("%s is taken for %s", paths[k], d.parser->name);
			if (!d.parser && d.reason && !strcmp(d.reason, "tie"))
				fault("%s is a tie between %s and %s", paths[k], d.best->name, d.runner_up->name);
			if (parsers[i]->shape == SHAPE_LINES)
				check_bids(open, i, paths[k], buf_text(&bytes));
			buf_done(&bytes);
		}
		if (n && !found)
			fault("no sample of %s is recognised", parsers[i]->name);
	}
	for (size_t i = 0; i < n_parsers; i++)
		parse_close(&open[i]);
	free(open);
	assert_int_equal(faults, 0);
}

/* Of a document that is longer than what is looked at first, or that was cut, the part that is there is enough to tell. */
static void test_cut_documents(void **state)
{
	static const char *const names[] = {"kubernetes", "docker-inspect", "sbom"};
	static char paths[FILES_MAX][NAME_BYTES];
	struct err err = {0};
	(void)state;
	faults = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct parser *p = parser_find(parsers, n_parsers, text_of(names[i]));
		assert_non_null(p);
		size_t n = samples_of(p, paths), cut = 0;
		for (size_t k = 0; k < n; k++) {
			struct buf bytes = BUF_INIT(64 * MIB);
			struct detection d;
			assert_true(read_file(paths[k], &bytes));
			assert_int_equal(detect(parsers, n_parsers, buf_text(&bytes), true, &d, &err), 0);
			if (d.parser == p && bytes.len > 1400) {
				struct text part = text_sub(buf_text(&bytes), 0, bytes.len / 4 * 3);
				assert_int_equal(detect(parsers, n_parsers, part, false, &d, &err), 0);
				if (d.parser != p)
					fault("%s, cut: %s", paths[k], d.parser ? d.parser->name : d.reason);
				cut++;
			}
			buf_done(&bytes);
		}
		if (!cut)
			fault("no sample of %s is long enough", names[i]);
	}
	assert_int_equal(faults, 0);
}

/* Lines of programs that no format reads: nobody is sure of them, and two formats in equal parts are a tie. */
static void test_strangers(void **state)
{
	static const char *const lines[] = {
	    "203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] \"POST /v1/x HTTP/1.1\" 200 - \"-\" \"apache\"",
	    "203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] \"POST /v1/x HTTP/1.1\" 200 5 \"-\" \"gunicorn\"",
	    "203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] \"POST /v1/x HTTP/1.1\" 200 5",
	    "203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] \"POST /x HTTP/1.1\" 200 5 \"-\" \"-\" 7 \"r@file\" "
	    "\"http://a:1\" 12ms",
	    "[2026-09-14T03:12:44.310Z] \"POST /v1/x HTTP/1.1\" 200 and then something",
	    "http 2026-09-14T03:13:04.000000Z net/llm/50dc6c495c0c9188 203.0.113.9:2819 10.0.0.5:8000 5 6 7",
	    "2026-09-14T03:13:04Z haproxy[1]: Server a/b is DOWN",
	};
	static const char mix[] =
	    "203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] \"POST /v1/x HTTP/1.1\" 200 5 \"-\" \"-\" rt=1.000\n"
	    "203.0.113.9:33317 [14/Sep/2026:03:12:44.655] a b/c 2/0/1/14/15 200 18233 - - ---- 9/9/4/1/0 0/0 \"POST / "
	    "HTTP/1.1\"\n";
	struct detection d;
	struct err err = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t k = 0; k < n_parsers; k++) {
			struct parse p = {0};
			assert_int_equal(parse_open(&p, parsers[k], &err), 0);
			if (parsers[k]->shape == SHAPE_LINES && parsers[k]->bid(&p, text_of(lines[i])) == BID_STRONG)
				fail_msg("%s is sure of: %s", parsers[k]->name, lines[i]);
			parse_close(&p);
		}
	assert_int_equal(detect(parsers, n_parsers, text_of(mix), true, &d, &err), 0);
	assert_null(d.parser);
	assert_string_equal(d.reason, "tie");
}

/* --- a record that contradicts itself --- */

static int count_event(void *ctx, const struct event *e, struct err *err)
{
	(void)e, (void)err;
	++*(unsigned *)ctx;
	return 0;
}

static unsigned events_of(const struct parser *p, struct text record, uint64_t *ret_parsed)
{
	unsigned n = 0;
	struct account a;
	struct err err = {0};
	assert_int_equal(ingest_text(p, parsers, n_parsers, record, count_event, NULL, &n, &a, &err), 0);
	*ret_parsed = a.parsed;
	return n;
}

/* The record with one of its members once more, and another value. */
static void check_member_twice(const struct parser *p, const char *path, struct text record, struct text key)
{
	struct buf b = BUF_INIT(RECORD_MAX_BYTES);
	uint64_t parsed;
	assert_int_equal(buf_printf(&b, NULL, "%.*s,\"%.*s\":\"another\"}",
				    TEXT_ARG(text_sub(record, 0, record.len - 1)), TEXT_ARG(key)),
			 0);
	/* zap writes a member as often as a logger was given it: llm-d's count one by one, which its samples show */
	if ((events_of(p, buf_text(&b), &parsed) || parsed) && strcmp(p->name, "llm-d"))
		fault("%s: %s takes a record with two '%.*s': %.*s", path, p->name, TEXT_ARG(key),
		      TEXT_ARG(text_sub(record, 0, SHOWN)));
	buf_done(&b);
}

/* Which of two values is meant nobody can know, and a wrong one could clear somebody: no event is made of such a record. */
static void test_contradictions(void **state)
{
	static char paths[FILES_MAX][NAME_BYTES];
	const unsigned each = rounds(20, 2);
	unsigned members = 0;
	(void)state;
	faults = 0;
	for (size_t i = 0; i < n_parsers; i++) {
		const struct parser *p = parsers[i];
		size_t n = p->shape == SHAPE_LINES ? samples_of(p, paths) : 0;
		for (size_t k = 0; k < n; k++) {
			struct buf b = BUF_INIT(64 * MIB);
			struct text rest, line, key, value;
			uint64_t parsed;
			assert_true(read_file(paths[k], &b));
			rest = buf_text(&b);
			for (unsigned lines = 0; lines < each && text_split(&rest, '\n', &line);) {
				struct json_scan s = scan_of(text_trim(line));
				line = text_trim(line);
				if (!line.len || !text_ends(line, "}") || !scan_value(&s, &value) || !scan_over(&s) ||
				    !events_of(p, line, &parsed))
					continue;
				lines++;
				s = scan_of(line);
				assert_true(scan_open(&s, '{'));
				while (scan_member(&s, &key) == 1 && scan_value(&s, &value)) {
					check_member_twice(p, paths[k], line, key);
					members++;
				}
			}
			buf_done(&b);
		}
	}
	print_message("# %u members\n", members);
	assert_true(members > 500);
	assert_int_equal(faults, 0);
}

/* --- the cross matrix of wrappers --- */

struct look { /* does a format know what is inside, too? */
	struct parse *p;
	bool inside;
};

static int look_inside(void *ctx, const struct wrapped *piece)
{
	struct look *l = ctx;
	arena_reset(&l->p->scratch);
	l->inside = l->inside || l->p->parser->bid(l->p, piece->text) == BID_STRONG;
	return 0;
}

/* A format may read through a wrapper's prefix, as long as it is the one that reads what is inside. */
static bool reads_inside(struct unwrap *u, struct parse *p, struct text line)
{
	struct look look = {.p = p};
	arena_reset(&u->scratch);
	u->give = look_inside;
	u->give_ctx = &look;
	(void)u->wrapper->record(u, line);
	u->give = NULL;
	return look.inside;
}

static void check_wrapper_bids(struct unwrap *open, struct parse *formats, size_t own, const char *path,
			       struct text bytes)
{
	struct text line;
	if (own < n_wrappers && (wrappers[own]->frame || wrappers[own]->shape == SHAPE_DOCUMENT))
		return;
	for (unsigned n = 1; text_split(&bytes, '\n', &line); n++) {
		line = text_chomp(line);
		if (!text_trim(line).len)
			continue;
		if (own < n_wrappers) {
			arena_reset(&open[own].scratch);
			if (wrappers[own]->bid(&open[own], line) == BID_NO)
				continue;
		}
		for (size_t i = 0; i < n_wrappers; i++) {
			arena_reset(&open[i].scratch);
			bool theirs = own >= n_wrappers && parsers[own - n_wrappers]->shape == SHAPE_LINES;
			if (i != own && wrappers[i]->bid(&open[i], line) == BID_STRONG &&
			    !(theirs && reads_inside(&open[i], &formats[own - n_wrappers], line)))
				fault("%s, line %u: wrapper %s bids on it: %.*s", path, n, wrappers[i]->name,
				      (int)MIN(line.len, SHOWN), line.ptr);
		}
		for (size_t i = 0; own < n_wrappers && i < n_parsers; i++) {
			arena_reset(&formats[i].scratch);
			if (parsers[i]->shape == SHAPE_LINES && parsers[i]->bid(&formats[i], line) == BID_STRONG &&
			    !reads_inside(&open[own], &formats[i], line))
				fault("%s, line %u: format %s bids on it: %.*s", path, n, parsers[i]->name,
				      (int)MIN(line.len, SHOWN), line.ptr);
		}
	}
}

/* Wrappers leave other wrappers' and all formats' samples alone, and formats leave wrappers' alone. */
static void test_wrapper_matrix(void **state)
{
	static char paths[FILES_MAX][NAME_BYTES];
	struct unwrap *open = calloc(n_wrappers + 1, sizeof(*open));
	struct parse *formats = calloc(n_parsers + 1, sizeof(*formats));
	struct err err = {0};
	(void)state;
	faults = 0;
	assert_non_null(open);
	assert_non_null(formats);
	for (size_t i = 0; i < n_wrappers; i++)
		assert_int_equal(unwrap_open(&open[i], wrappers[i], &err), 0);
	for (size_t i = 0; i < n_parsers; i++)
		assert_int_equal(parse_open(&formats[i], parsers[i], &err), 0);
	for (size_t i = 0; i < n_wrappers + n_parsers; i++) {
		bool wrapped = i < n_wrappers;
		size_t n = wrapped ? samples_in("wrap_", wrappers[i]->name, paths)
				   : samples_of(parsers[i - n_wrappers], paths);
		unsigned found = 0;
		for (size_t k = 0; k < n; k++) {
			struct buf bytes = BUF_INIT(64 * MIB);
			struct detection d;
			assert_true(read_file(paths[k], &bytes));
			assert_int_equal(
			    detect_wrapped(parsers, n_parsers, wrappers, n_wrappers, buf_text(&bytes), true, &d, &err),
			    0);
			if (wrapped && d.n_wraps)
				found += d.wrap[0] == wrappers[i] && d.parser;
			if (d.n_wraps && (!wrapped || d.wrap[0] != wrappers[i]))
				fault("%s is taken for wrapped by %s", paths[k], d.wrap[0]->name);
			check_wrapper_bids(open, formats, i, paths[k], buf_text(&bytes));
			buf_done(&bytes);
		}
		if (wrapped && n && !found)
			fault("no sample of %s is recognised", wrappers[i]->name);
	}
	for (size_t i = 0; i < n_wrappers; i++)
		unwrap_close(&open[i]);
	for (size_t i = 0; i < n_parsers; i++)
		parse_close(&formats[i]);
	free(open);
	free(formats);
	assert_int_equal(faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_samples),        cmocka_unit_test(test_patterns),
	    cmocka_unit_test(test_matrix),         cmocka_unit_test(test_cut_documents),
	    cmocka_unit_test(test_strangers),      cmocka_unit_test(test_contradictions),
	    cmocka_unit_test(test_wrapper_matrix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
