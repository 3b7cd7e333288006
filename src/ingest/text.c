/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - one parser, or one stack, over bytes in memory: golden tests, fuzzing */
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "records.h"

static int run(struct formats *f, const struct stack *stack, char *bytes, size_t len, const struct records_sink *sink,
	       struct account *ret, struct err *err)
{
	const struct records_ask ask = {.stack = stack, .outer = STAMP_INIT};
	struct records r = {0};
	int rc = records_begin(&r, f, &ask, sink, err);
	if (rc == 0 && len)
		rc = records_feed(&r, bytes, len, 0, err);
	if (rc == 0)
		rc = records_end(&r, err);
	*ret = r.account;
	records_done(&r);
	return rc;
}

static char *padded_copy(struct text bytes)
{
	char *copy = calloc(1, bytes.len + BUF_PADDING);
	if (copy && bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	return copy;
}

int ingest_text(const struct parser *parser, const struct parser *const *list, size_t n, struct text bytes,
		int (*on_event)(void *ctx, const struct event *e, struct err *err),
		int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason),
		void *ctx, struct account *ret, struct err *err)
{
	const struct records_sink sink = {.event = on_event, .record = on_record, .ctx = ctx};
	const struct stack stack = {.parser = parser};
	struct formats f;
	char *copy = padded_copy(bytes);
	if (!copy)
		return err_nomem(err);
	int rc = formats_open(&f, list, n, err);
	if (rc == 0) {
		rc = run(&f, &stack, copy, bytes.len, &sink, ret, err);
		formats_close(&f);
	}
	free(copy);
	return rc;
}

int ingest_text_wrapped(struct text name, const struct parser *const *list, size_t n,
			const struct wrapper *const *wraps, size_t n_wraps, struct text bytes,
			int (*on_event)(void *ctx, const struct event *e, struct err *err),
			int (*on_record)(void *ctx, uint64_t off, struct text record, enum verdict v,
					 const char *reason),
			void *ctx, struct account *ret, struct err *err)
{
	const struct records_sink sink = {.event = on_event, .record = on_record, .ctx = ctx};
	struct stack asked, stack = {0};
	struct detection d;
	struct formats f;
	if (!stack_find(name, list, n, wraps, n_wraps, &asked))
		return err_set(err, ERR_USAGE, "no format '%.*s'", TEXT_ARG(name));
	char *copy = padded_copy(bytes);
	if (!copy)
		return err_nomem(err);
	int rc = formats_open(&f, list, n, err);
	if (rc == 0)
		rc = formats_wrap(&f, wraps, n_wraps, err);
	if (rc == 0)
		rc = detect_with(&f, text_sub((struct text){copy, bytes.len}, 0, DETECT_BYTES),
				 bytes.len <= DETECT_BYTES, &asked, &d, &stack, err);
	if (rc == 0)
		rc = run(&f, &stack, copy, bytes.len, &sink, ret, err);
	stack_done(&stack);
	formats_close(&f);
	free(copy);
	return rc;
}
