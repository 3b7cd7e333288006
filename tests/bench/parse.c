/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - how fast a format is parsed, alone: bench-parse FORMAT|MAP.json FILE [RUNS]
 *
 * The file is in memory and is fed in blocks as ingest does; events are made and thrown away. Prints one JSON object with
 * the median speed over CPU time of one thread. Not a test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/ingest/detect.h"
#include "../../src/ingest/records.h"
#include "pagetrail/map.h"

enum { BLOCK = 1 << 20, HEADROOM = 1 << 16, RUNS_MAX = 99 };

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	(void)e, (void)err;
	++*(uint64_t *)ctx;
	return 0;
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return NULL;
	char *bytes = NULL;
	long len = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	if (len >= 0 && !fseek(f, 0, SEEK_SET))
		bytes = calloc(1, (size_t)len + 1);
	if (bytes && fread(bytes, 1, (size_t)len, f) != (size_t)len) {
		free(bytes);
		bytes = NULL;
	}
	*ret_len = (size_t)len;
	fclose(f);
	return bytes;
}

/* The cutter may write before a block and looks behind it, so each block is copied to a place of its own, untimed; two
 * places, because the end of a block is used with the next. */
static int parse_all(struct formats *f, const struct stack *stack, const char *bytes, size_t len, char *const place[2],
		     double *ret_seconds, struct account *ret, uint64_t *ret_events, struct err *err)
{
	const struct records_sink sink = {.event = on_event, .ctx = ret_events};
	struct records r = {0};
	const struct records_ask ask = {.stack = stack, .outer = STAMP_INIT};
	double start = cpu_seconds();
	int rc = records_begin(&r, f, &ask, &sink, err);
	*ret_seconds = cpu_seconds() - start;
	for (size_t off = 0, i = 0; rc == 0 && off < len; off += BLOCK, i ^= 1) {
		size_t n = len - off < BLOCK ? len - off : BLOCK;
		char *block = place[i] + HEADROOM;
		memcpy(block, bytes + off, n);
		memset(block + n, 0, BUF_PADDING);
		start = cpu_seconds();
		rc = records_feed(&r, block, n, HEADROOM, err);
		*ret_seconds += cpu_seconds() - start;
	}
	start = cpu_seconds();
	if (rc == 0)
		rc = records_end(&r, err);
	*ret_seconds += cpu_seconds() - start;
	*ret = r.account;
	records_done(&r);
	return rc;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int run(const struct stack *asked, const char *bytes, size_t len, int runs, char *const place[2],
	       struct err *err)
{
	struct formats f;
	struct account a = {0};
	double seconds[RUNS_MAX] = {0};
	uint64_t events = 0;
	const struct parser *const list[] = {asked->parser};
	int rc = map_of(asked->parser) ? formats_open(&f, list, 1, err) : formats_open(&f, parsers, n_parsers, err);
	char name[STACK_NAME_MAX];
	struct detection d;
	struct stack stack = {0};
	if (rc == 0)
		rc = formats_wrap(&f, wrappers, n_wrappers, err);
	if (rc == 0)
		rc = detect_with(&f, (struct text){bytes, len < DETECT_BYTES ? len : DETECT_BYTES}, len <= DETECT_BYTES,
				 asked, &d, &stack, err);
	if (rc)
		return rc;
	for (int i = 0; rc == 0 && i < runs; i++) {
		events = 0;
		rc = formats_renew(&f);
		if (rc == 0)
			rc = parse_all(&f, &stack, bytes, len, place, &seconds[i], &a, &events, err);
	}
	if (rc) {
		formats_close(&f);
		return rc;
	}
	qsort(seconds, (size_t)runs, sizeof(seconds[0]), by_size);
	double median = seconds[runs / 2] > 0 ? seconds[runs / 2] : 1e-9;
	printf("{\"format\":\"%s\",\"bytes\":%zu,\"records\":%llu,\"unparsed\":%llu,\"events\":%llu,\"seconds\":%.6f,"
	       "\"mb_per_s\":%.1f}\n",
	       stack_name(&stack, name), len, (unsigned long long)a.records, (unsigned long long)a.unparsed,
	       (unsigned long long)events, median, (double)len / median / 1e6);
	stack_done(&stack);
	formats_close(&f);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: bench-parse FORMAT|MAP.json FILE [RUNS]\n", stderr);
		return 2;
	}
	struct err err = {0};
	struct map *map = NULL;
	struct stack asked;
	bool known = stack_find(text_of(argv[1]), parsers, n_parsers, wrappers, n_wrappers, &asked);
	if (!known && text_ends(text_of(argv[1]), ".json") && map_load(&map, argv[1], NULL, NULL, &err) == 0) {
		asked = (struct stack){.parser = map_parser(map)};
		known = true;
	}
	int runs = argc > 3 ? atoi(argv[3]) : 5;
	size_t len = 0;
	char *bytes = known ? read_file(argv[2], &len) : NULL;
	char *place[2] = {calloc(1, HEADROOM + BLOCK + BUF_PADDING), calloc(1, HEADROOM + BLOCK + BUF_PADDING)};
	int rc = 3;
	if (!bytes || !place[0] || !place[1])
		fprintf(stderr, "bench-parse: %s\n", known ? "the file cannot be read" : "no such format");
	else if (runs < 1 || runs > RUNS_MAX)
		fputs("bench-parse: runs are 1 to 99\n", stderr);
	else
		rc = run(&asked, bytes, len, runs, place, &err);
	if (rc < 0)
		fprintf(stderr, "bench-parse: %s\n", err.what);
	free(place[0]);
	free(place[1]);
	free(bytes);
	map_free(map);
	return rc < 0 ? 3 : rc;
}
