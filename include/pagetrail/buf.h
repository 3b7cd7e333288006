/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - growable bytes with a mandatory maximum
 *
 * struct buf b = BUF_INIT(max); ... buf_done(&b). The content is always NUL-terminated behind len, and
 * BUF_PADDING more bytes may be read (not relied on for content), so that a SIMD parser can run over it.
 * Growing past max gives ERR_LIMIT. Not thread-safe.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "pagetrail/text.h"

enum { BUF_PADDING = 64 };

struct buf {
	char *ptr;
	size_t len, cap, max;
};

#define BUF_INIT(maximum) ((struct buf){NULL, 0, 0, (maximum)})

void buf_done(struct buf *b); /* accepts a zeroed buf; leaves it empty */
void buf_clear(struct buf *b);
int buf_reserve(struct buf *b, size_t more, struct err *err) MUST_CHECK;
int buf_add(struct buf *b, const void *p, size_t n, struct err *err) MUST_CHECK;
int buf_add_text(struct buf *b, struct text t, struct err *err) MUST_CHECK;
int buf_add_char(struct buf *b, char c, struct err *err) MUST_CHECK;
int buf_printf(struct buf *b, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4) MUST_CHECK;
int buf_vprintf(struct buf *b, struct err *err, const char *fmt, va_list ap) MUST_CHECK;
struct text buf_text(const struct buf *b);
/* Appends all of a file that a person named. ERR_INPUT, with the path as its place, when it cannot be read, or when it is larger
 * than b may hold; what: "map", "sources file". */
int buf_add_file(struct buf *b, const char *path, const char *what, struct err *err) MUST_CHECK;

/* JSON fragments: quoted and escaped string (foreign bytes first made valid UTF-8: invalid bytes become
 * U+FFFD, control characters \u00XX), used for the JSON of the CLI and for refs, reasons and details. */
int buf_json_string(struct buf *b, struct text t, struct err *err) MUST_CHECK;
/* A JSON value made by somebody else (SQLite copies texts as they are): the same is done to what its strings hold. */
int buf_json_value(struct buf *b, struct text json, struct err *err) MUST_CHECK;
/* LEB128 unsigned varint and zigzag. */
int buf_varint(struct buf *b, uint64_t v, struct err *err) MUST_CHECK;
