/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c - the readers and the sanitiser of base: stamps, numbers, JSON, visible text */
#include <stdint.h>
#include <stdlib.h>

#include "pagetrail/buf.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text t = {(const char *)data, size};
	struct stamp s;
	size_t used = 0;
	int64_t n;
	double d;
	if (stamp_parse_iso(t, &s, &used) && used > size)
		abort();
	if (stamp_parse_clf(t, &s, &used) && used > size)
		abort();
	(void)stamp_parse_epoch(t, &s);
	(void)text_int64(t, &n);
	(void)text_count(t, &n);
	(void)text_double(t, &d);
	(void)text_seconds_ns(t, &n);
	struct buf b = BUF_INIT(64 * MIB);
	if (!text_visible(t, SIZE_MAX, &b, NULL)) {
		if (!text_utf8_valid(buf_text(&b)))
			abort();
		for (size_t i = 0; i < b.len; i++)
			if ((unsigned char)b.ptr[i] < 32 || b.ptr[i] == 127)
				abort();
	}
	buf_clear(&b);
	if (!buf_json_string(&b, t, NULL)) {
		struct json *j = json_new();
		struct json_value v;
		if (j && json_parse(j, buf_text(&b), false, &v, NULL, NULL))
			abort(); /* what we write is JSON */
		struct err err = {0};
		if (j && !json_parse(j, t, false, &v, NULL, &err)) {
			buf_clear(&b);
			(void)!json_write(v, &b, &err);
		}
		json_free(j);
	}
	buf_done(&b);
	return 0;
}
