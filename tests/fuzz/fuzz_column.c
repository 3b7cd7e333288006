/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_column.c - any bytes as an event chunk and as the records it refers to: decoded or refused, never believed */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes again and again, wherever the chunk says that they are. */
static int read_any(void *ctx, uint64_t off, size_t len, char *dest, struct err *err)
{
	const struct text *t = ctx;
	(void)off;
	if (!t->len)
		return err_set(err, ERR_INPUT, "no bytes");
	for (size_t at = 0; at < len; at += t->len)
		memcpy(dest + at, t->ptr, MIN(t->len, len - at));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct event_batch *b = NULL;
	struct err err = {0};
	size_t half = (size - 2) * data[1] / 256;
	struct text chunk = {(const char *)data + 2, half}, records = {(const char *)data + 2 + half, size - 2 - half};
	struct column_reader from = {read_any, &records};
	if (!column_decode(data[0] % EVENT_KINDS, chunk, UINT32_MAX, &from, &b, &err)) {
		/* what was decoded is a batch like any other */
		struct event_chunk again = {0};
		struct column_bytes bytes = {records, b->byte_off[0]};
		if (!column_encode(b, &bytes, &again, &err))
			column_done(&again);
	}
	event_batch_free(b);
	if (column_holds(data[0] % EVENT_KINDS, chunk, data[1] % 8, TEXT("a"), &err) == ERR_BUG)
		abort();
	return 0;
}
