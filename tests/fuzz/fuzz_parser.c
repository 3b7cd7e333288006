/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_parser.c - any bytes through any format: the first byte chooses the parser; sums must hold */
#include <stdint.h>
#include <stdlib.h>

#include "pagetrail/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct buf b = BUF_INIT(16 * MIB);
	(void)ctx;
	int rc = event_dump(e, &b, err);
	buf_done(&b);
	return rc;
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	(void)ctx, (void)off, (void)record;
	if (v == RECORD_UNPARSED && !reason)
		abort(); /* an unparsed record says why */
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const struct parser *p = parsers[data[0] % n_parsers];
	struct text bytes = {(const char *)data + 1, size - 1};
	struct account a;
	struct err err = {0};
	if (ingest_text(p, parsers, n_parsers, bytes, on_event, on_record, NULL, &a, &err))
		return 0;
	if (a.records != a.parsed + a.context + a.unparsed + a.duplicate ||
	    a.bytes != a.bytes_parsed + a.bytes_context + a.bytes_unparsed + a.bytes_duplicate || a.bytes != bytes.len)
		abort();
	return 0;
}
