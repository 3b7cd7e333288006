/* SPDX-License-Identifier: Apache-2.0 */
/* test_fast_lane.c - reading plain records in one pass gives what the general way gives
 *
 * A parser may take its fast lane only for records that have padding behind them. Two of a kind get the same records,
 * one with padding and one without: events, verdicts and reasons must be the same, for sample lines, for lines made up
 * in many key orders, and for both with a few bytes changed. SEED=N in the environment chooses the changes, ROUNDS=N
 * how many. What lies behind a record looks like more of it and must not matter.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/parser.h"

enum { LINES_MAX = 4096, LINE_MAX = 16384 };

static uint64_t seed;
static char *lines[LINES_MAX];
static size_t n_lines;

static unsigned pick(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % n;
}

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *s = getenv(name);
	return s && *s ? (unsigned)strtoul(s, NULL, 10) : otherwise;
}

static void add_line(const char *s, size_t len)
{
	if (n_lines < LINES_MAX && len < LINE_MAX / 2) {
		lines[n_lines] = strndup(s, len);
		assert_non_null(lines[n_lines++]);
	}
}

static void add_file(const char *path)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *f = fopen(path, "r");
	while (f && (n = getline(&line, &cap, f)) > 0)
		add_line(line, (size_t)(line[n - 1] == '\n' ? n - 1 : n));
	free(line);
	if (f)
		fclose(f);
}

static void add_samples(const struct parser *p)
{
	char folder[256], path[600];
	snprintf(folder, sizeof(folder), "tests/parsers/%s", p->name);
	for (char *c = folder; *c; c++)
		*c = *c == '-' ? '_' : *c;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len < 4 || strcmp(e->d_name + len - 4, ".log") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		add_file(path);
	}
	if (d)
		closedir(d);
}

/* A page record with members in any order; values mostly right. */
static void make_page_line(char *out)
{
	static const char *const times[] = {
	    "1788000001.25",
	    "1788000001",
	    "1788000001.123456",
	    "1788000001.1234567",
	    "1788318961.972480011",
	    "1788000000.99999999",
	    "1788000000.9999999999999999",
	    "4102444800.123456",
	    "9223372035.999999999",
	    "9223372036.5",
	    "0.000000001",
	    "\"2026-08-27T00:00:01.5Z\"",
	    "\"2026-08-27t00:00:01.123456789z\"",
	    "\"1788000000.123456789\"",
	    "1788000001123456789",
	    "1788000001123456789.75",
	    "1.788e9",
	    "17880000001234567.5e-7",
	    "-1.5",
	    "-0.0",
	    "1e400",
	};
	static const char *const values[][8] = {
	    {"\"ts\":"},
	    {"\"seq\":", "0", "17", "9223372036854775807", "9223372036854775808", "007", "-1", "\"12\""},
	    {"\"worker\":", "\"decode-0\"", "\"decode-0\"", "\"decode-1\"", "\"d\\u00e9code\"", "\"\"", "null", "7"},
	    {"\"op\":", "\"alloc\"", "\"read\"", "\"write\"", "\"free\"", "\"boot\"", "\"zero\"", "\"freeze\""},
	    {"\"rid\":", "\"00ff00ff00ff00ff00ff00ff00ff00ff\"", "\"a1\"", "\"chatcmpl-x\"", "12", "null", "\"\"",
	     "\"p\xc3\xa4ge\""},
	    {"\"room\":", "8918288680257248978", "77", "\"77\"", "18446744073709551615", "99999999999999999999", "null",
	     "1.5"},
	    {"\"pages\":", "[[1,2822]]", "[1,2,3,9]", "[]", "[[10,2],[12,3],[1,1]]", "[ [1, 2], 3 ]", "[[1,70000000]]",
	     "[[1,2,3]]"},
	    {"\"tokens\":", "[0,180547]", "[5,5]", "[0, 1]", "[5,4]", "null", "[1]", "{}"},
	    {"\"peer\":", "\"prefill-3\"", "null", "\"\"", "3", "\"a\\\"b\"", "\"p\"", "[\"p\"]"},
	    {"\"v\":", "1", "1", "1", "2", "null", "\"1\"", "1.0"},
	    {"\"pool\":", "\"kv\"", "\"draft\"", "null", "\"\"", "1", "\"kv\"", "\"kv\""},
	    {"\"page_size\":", "64", "1", "0", "16", "64.0", "null", "\"64\""},
	    {"\"pool_pages\":", "18433", "0", "67108864", "67108865", "null", "1e3", "16384"},
	    {"\"other\":", "\"x\"", "12.50", "true", "null", "{\"a\":1}", "[1]", "-3e2"},
	};
	static const char *const commas[] = {",", ", ", " ,", ",\t"};
	unsigned order[ARRAY_SIZE(values)], n = 0, shape = pick(4);
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		if (i < 4 || pick(2))
			order[n++] = i;
	for (unsigned i = n; pick(3) == 0 && i > 1; i--) {
		unsigned k = pick(i), t = order[k];
		order[k] = order[i - 1];
		order[i - 1] = t;
	}
	strcpy(out, "{");
	for (unsigned i = 0; i < n; i++) {
		unsigned good = pick(12) ? 1 + pick(3) : 1 + pick(7);
		strcat(out, i ? commas[shape] : "");
		strcat(out, values[order[i]][0]);
		strcat(out, shape == 1 ? " " : "");
		strcat(out, order[i] ? values[order[i]][good] : times[pick(ARRAY_SIZE(times))]);
	}
	strcat(out, pick(30) ? "}" : "} ");
}

static size_t mutate(char *s, size_t len)
{
	static const char likely[] = "\"\\{}[],:. \t019-eEn\0\x01\x7f\x80\xc3\xa9\xff";
	for (unsigned k = pick(4); k && len; k--) {
		size_t at = pick((unsigned)len), n = 1 + pick(12);
		switch (pick(6)) {
		case 0: s[at] = likely[pick(sizeof(likely) - 1)]; break;
		case 1: s[at] ^= (char)(1 << pick(8)); break;
		case 2: /* cut out */
			n = MIN(n, len - at);
			memmove(s + at, s + at + n, len - at - n);
			len -= n;
			break;
		case 3: /* twice */
			n = MIN(n * 4, len - at);
			if (len + n >= LINE_MAX)
				break;
			memmove(s + at + n, s + at, len - at);
			len += n;
			break;
		case 4: len = at; break;
		default: /* one more */
			if (len + 1 >= LINE_MAX)
				break;
			memmove(s + at + 1, s + at, len - at);
			s[at] = likely[pick(sizeof(likely) - 1)];
			len++;
		}
	}
	for (size_t i = 0; i < len; i++) /* a record has no line end in it */
		s[i] = s[i] == '\n' ? ' ' : s[i];
	return len;
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct buf *out = ctx;
	int r = event_dump(e, out, err);
	return r ? r : buf_add_char(out, '\n', err);
}

/* In memory that ends where the promise ends. */
static void run(struct parse *p, const char *s, size_t len, bool padded, struct buf *out)
{
	char *copy = malloc(len + BUF_PADDING);
	struct err err = {0};
	assert_non_null(copy);
	memcpy(copy, s, len);
	for (size_t i = 0; i < BUF_PADDING; i++) /* more of the same, or nothing */
		copy[len + i] = (char)(pick(2) && len ? s[pick((unsigned)len)] : "0}\"],\n"[pick(6)]);
	buf_clear(out);
	arena_reset(&p->scratch);
	p->err = &err;
	p->sink = on_event;
	p->sink_ctx = out;
	p->padded = padded;
	p->reason = NULL;
	p->record_off = 7;
	p->record_len = (uint32_t)len;
	int v = p->parser->record(p, (struct text){copy, len});
	assert_true(v >= 0);
	assert_int_equal(buf_printf(out, &err, "verdict %d %s", v, v == RECORD_UNPARSED && p->reason ? p->reason : ""),
			 0);
	free(copy);
}

static void compare(const struct parser *parser, unsigned rounds)
{
	struct parse a = {0}, b = {0};
	struct buf got = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
	struct err err = {0};
	static char line[LINE_MAX + 1];
	assert_int_equal(parse_open(&a, parser, &err), 0);
	assert_int_equal(parse_open(&b, parser, &err), 0);
	for (unsigned k = 0; k < rounds; k++) {
		if (!strcmp(parser->name, "pagelog") && pick(4))
			make_page_line(line);
		else
			strcpy(line, lines[pick((unsigned)n_lines)]);
		size_t len = mutate(line, strlen(line));
		run(&a, line, len, true, &got);
		if (!strcmp(parser->name, "gateway-json")) { /* remembers where keys stood, and nothing else */
			parse_close(&b);
			assert_int_equal(parse_open(&b, parser, &err), 0);
		}
		run(&b, line, len, false, &want);
		if (!text_eq(buf_text(&got), buf_text(&want)))
			fail_msg("%s, round %u, record %.*s\nfast:    %.*s\ngeneral: %.*s", parser->name, k, (int)len,
				 line, TEXT_ARG(buf_text(&got)), TEXT_ARG(buf_text(&want)));
	}
	parse_close(&a);
	parse_close(&b);
	buf_done(&got);
	buf_done(&want);
}

static void test_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_parsers; i++) {
		if (parsers[i]->shape != SHAPE_LINES)
			continue;
		add_samples(parsers[i]);
		assert_true(n_lines > 0);
		compare(parsers[i], setting("ROUNDS", 20000));
		while (n_lines)
			free(lines[--n_lines]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
	seed = setting("SEED", 1);
	printf("# SEED=%u\n", (unsigned)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
