/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - one parser over bytes in memory: golden tests, fuzzing */
#include <stdlib.h>
#include <string.h>

#include "records.h"

int ingest_text(const struct parser *parser, const struct parser *const *list, size_t n, struct text bytes,
		int (*on_event)(void *ctx, const struct event *e, struct err *err),
		int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason),
		void *ctx, struct account *ret, struct err *err)
{
	const struct records_sink sink = {.event = on_event, .record = on_record, .ctx = ctx};
	struct formats f;
	struct records r = {0};
	char *copy = calloc(1, bytes.len + BUF_PADDING);
	if (!copy)
		return err_nomem(err);
	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	int rc = formats_open(&f, list, n, err);
	if (rc == 0) {
		rc = records_begin(&r, &f, parser, NULL, STAMP_INIT, &sink, err);
		if (rc == 0 && bytes.len)
			rc = records_feed(&r, copy, bytes.len, 0, err);
		if (rc == 0)
			rc = records_end(&r, err);
		*ret = r.account;
		records_done(&r);
		formats_close(&f);
	}
	free(copy);
	return rc;
}
