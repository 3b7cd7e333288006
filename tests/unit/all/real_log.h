/* SPDX-License-Identifier: Apache-2.0 */
/* real_log.h - the beginning of a real log through detection and its parser
 *
 * The logs are not part of the project: PAGETRAIL_SHARED names their folder (default ../shared/data).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/ingest.h"

enum { REAL_LOG_BYTES = 1 << 20 };

/* false: the log is not there. (cmocka's TAP prints a skipped test as "not ok": so a test just ends.) */
static inline bool
read_real_log(const char *name, const char *format, int (*on_event)(void *ctx, const struct event *e, struct err *err),
	      int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason),
	      void *ctx)
{
	const char *shared = getenv("PAGETRAIL_SHARED");
	const struct parser *p = parser_find(parsers, n_parsers, text_of(format));
	char path[512];
	struct account account = {0};
	struct detection found;
	struct err err = {0};
	assert_non_null(p);
	snprintf(path, sizeof(path), "%s/engine-logs/%s", shared ? shared : "../shared/data", name);
	FILE *f = fopen(path, "rb");
	if (!f) {
		print_message("# skipped: no %s\n", path);
		return false;
	}
	char *bytes = calloc(1, REAL_LOG_BYTES + BUF_PADDING);
	assert_non_null(bytes);
	struct text t = {bytes, fread(bytes, 1, REAL_LOG_BYTES, f)};
	fclose(f);
	assert_int_equal(detect(parsers, n_parsers, t, true, &found, &err), 0);
	assert_ptr_equal(found.parser, p);
	assert_int_equal(ingest_text(p, parsers, n_parsers, t, on_event, on_record, ctx, &account, &err), 0);
	assert_int_equal(account.bytes, t.len);
	assert_int_equal(account.records, account.parsed + account.context + account.unparsed);
	free(bytes);
	return true;
}
