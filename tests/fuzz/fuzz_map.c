/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_map.c - any bytes as a map; what is one is proved, and reads its own text and the rest of the input as a log */
#include <stdint.h>
#include <stdlib.h>

#include "pagetrail/ingest.h"
#include "pagetrail/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_line(void *ctx, struct text line)
{
	(void)ctx, (void)line;
	return 0;
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	(void)ctx, (void)off, (void)record;
	if (v == RECORD_UNPARSED && !reason)
		abort();
	return 0;
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct buf b = BUF_INIT(16 * MIB);
	(void)ctx;
	int rc = event_dump(e, &b, err);
	buf_done(&b);
	return rc;
}

/* The map ends at the first zero byte; behind it stands a log. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text all = {(const char *)data, size};
	size_t n = text_find_char(all, '\0', 0);
	struct text text = text_sub(all, 0, n), log = n == SIZE_MAX ? text : text_from(all, n + 1);
	struct map *m;
	struct account a;
	struct err err = {0};
	if (map_read(&m, text, NULL, NULL, &err) < 0)
		return 0;
	const struct parser *list[] = {map_parser(m)};
	(void)!map_prove(m, on_line, NULL, &err);
	if (ingest_text(list[0], list, 1, log, on_event, on_record, NULL, &a, &err) == 0 &&
	    (a.records != a.parsed + a.context + a.unparsed + a.duplicate || a.bytes != log.len))
		abort();
	map_free(m);
	return 0;
}
