/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_column.c - any bytes as an event chunk: decoded or refused, never believed */
#include <stdint.h>

#include "pagetrail/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct event_batch *b = NULL;
	struct err err = {0};
	struct text t = {(const char *)data + 1, size - 1};
	if (!column_decode(data[0] % EVENT_KINDS, t, UINT32_MAX, NULL, &b, &err)) {
		struct event_chunk again = {0};
		if (!column_encode(b, NULL, &again, &err)) /* what was decoded is a batch like any other */
			column_done(&again);
	}
	event_batch_free(b);
	return 0;
}
