/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wrapper.c - any bytes through any stack: the first bytes choose wrappers and parser; sums must hold */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
	uint64_t len;
	uint64_t events;
};

/* What a reference names lies within the bytes. */
static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct sums *s = ctx;
	struct buf b = BUF_INIT(16 * MIB);
	if (e->byte_off > s->len || e->byte_len > s->len - e->byte_off)
		abort();
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
	char name[256];
	struct account a = {0};
	struct err err = {0};
	if (!size || !n_wrappers)
		return 0;
	/* one wrapper, alone or with a format, or two */
	const struct wrapper *w = wrappers[data[0] % n_wrappers];
	unsigned how = data[0] / n_wrappers % 3;
	if (how == 1)
		snprintf(name, sizeof(name), "%s+%s", w->name, parsers[data[0] % n_parsers]->name);
	else if (how == 2)
		snprintf(name, sizeof(name), "%s+%s", w->name, wrappers[(data[0] + 1u) % n_wrappers]->name);
	else
		snprintf(name, sizeof(name), "%s", w->name);
	struct text bytes = {(const char *)data + 1, size - 1};
	struct sums s = {.len = bytes.len};
	if (ingest_text_wrapped(text_of(name), parsers, n_parsers, wrappers, n_wrappers, bytes, on_event, on_record, &s,
				&a, &err))
		return 0;
	if (a.records != a.parsed + a.context + a.unparsed + a.duplicate ||
	    a.bytes != a.bytes_parsed + a.bytes_context + a.bytes_unparsed + a.bytes_duplicate || a.bytes != bytes.len)
		abort();
	return 0;
}
