/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - growable bytes: allocation is cap + 1 + BUF_PADDING, len <= cap <= max, ptr[len] is NUL */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pagetrail/buf.h"
#include "pagetrail/macros.h"
#include "utf8.h"

void buf_done(struct buf *b)
{
	free(b->ptr);
	b->ptr = NULL;
	b->len = b->cap = 0;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->ptr)
		b->ptr[0] = '\0';
}

static int grow(struct buf *b, size_t more, struct err *err)
{
	size_t need, cap, bytes;
	char *p;

	if (__builtin_add_overflow(b->len, more, &need) || need > b->max)
		return err_set(err, ERR_LIMIT, "more than %zu bytes", b->max);
	cap = b->cap + b->cap / 2;
	if (cap < b->cap)
		cap = need;
	cap = MIN(MAX(MAX(cap, need), 240), b->max);
	if (__builtin_add_overflow(cap, (size_t)BUF_PADDING + 1, &bytes))
		return err_nomem(err);
	p = realloc(b->ptr, bytes);
	if (!p)
		return err_nomem(err);
	/* the padding is read by SIMD code: never uninitialised, though its content does not count */
	memset(p + b->len, 0, 1);
	memset(p + cap, 0, BUF_PADDING + 1);
	b->ptr = p;
	b->cap = cap;
	return 0;
}

int buf_reserve(struct buf *b, size_t more, struct err *err)
{
	if (b->ptr && more <= b->cap - b->len)
		return 0;
	return grow(b, more, err);
}

int buf_add(struct buf *b, const void *p, size_t n, struct err *err)
{
	int r = buf_reserve(b, n, err);

	if (r < 0)
		return r;
	if (n)
		memcpy(b->ptr + b->len, p, n);
	b->len += n;
	b->ptr[b->len] = '\0';
	return 0;
}

int buf_add_text(struct buf *b, struct text t, struct err *err)
{
	return buf_add(b, t.ptr, t.len, err);
}

int buf_add_char(struct buf *b, char c, struct err *err)
{
	return buf_add(b, &c, 1, err);
}

int buf_printf(struct buf *b, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, err, fmt, ap);
	va_end(ap);
	return r;
}

int buf_vprintf(struct buf *b, struct err *err, const char *fmt, va_list ap)
{
	va_list again;
	int n, r;

	r = buf_reserve(b, 0, err);
	if (r < 0)
		return r;
	va_copy(again, ap);
	n = vsnprintf(b->ptr + b->len, b->cap - b->len + 1, fmt, again);
	va_end(again);
	if (n < 0) {
		b->ptr[b->len] = '\0';
		return err_set(err, ERR_BUG, "cannot format text");
	}
	if ((size_t)n > b->cap - b->len) {
		b->ptr[b->len] = '\0'; /* take the cut attempt back */
		r = buf_reserve(b, (size_t)n, err);
		if (r < 0)
			return r;
		vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap);
	}
	b->len += (size_t)n;
	return 0;
}

struct text buf_text(const struct buf *b)
{
	return (struct text){b->ptr ? b->ptr : "", b->len};
}

static int json_escape(struct buf *b, uint32_t c, struct err *err)
{
	if (c < 0x10000)
		return buf_printf(b, err, "\\u%04X", (unsigned)c);
	c -= 0x10000;
	return buf_printf(b, err, "\\u%04X\\u%04X", 0xd800 + (unsigned)(c >> 10), 0xdc00 + (unsigned)(c & 0x3ff));
}

enum { BLOCK = 16, PIECE = 64 * 1024 };

/* The ASCII at p, n bytes of a block that may be read as a whole, to `to`, which has room for two blocks more than it gets.
 * Stops at what is neither plain nor a quote or a backslash; *ret: how far it came. */
static char *put_block(char *to, const char *p, unsigned n, unsigned *ret)
{
	unsigned done = 0;

	for (unsigned left = utf8_special(p) & ((1U << n) - 1); left; left &= left - 1) {
		unsigned at = (unsigned)__builtin_ctz(left);

		memcpy(to, p + done, BLOCK); /* of constant length: most of it is overwritten */
		to += at - done;
		done = at;
		if (p[at] != '"' && p[at] != '\\') {
			*ret = done;
			return to;
		}
		to[0] = '\\';
		to[1] = p[at];
		to += 2;
		done++;
	}
	memcpy(to, p + done, BLOCK);
	*ret = n;
	return to + (n - done);
}

/* Plain characters, quotes and backslashes from p on; returns how many. b has room for twice as many and BUF_PADDING behind. */
static size_t put_ascii(struct buf *b, const char *p, size_t len)
{
	char *to = b->ptr + b->len;
	size_t i = 0;
	unsigned n = BLOCK, want = BLOCK;

	while (n == want && len - i >= 2 * BLOCK) {
		to = put_block(to, p + i, BLOCK, &n);
		i += n;
	}
	while (n == want && i < len) {
		char end[2 * BLOCK] = {0};

		want = (unsigned)MIN((size_t)BLOCK, len - i);
		memcpy(end, p + i, want);
		to = put_block(to, end, want, &n);
		i += n;
	}
	b->len = (size_t)(to - b->ptr);
	*to = '\0';
	return i;
}

/* What the sanitiser would hide is escaped here too: the value stays whole, and a terminal stays unharmed. */
/* The character at p, which is no plain ASCII: made harmless; *ret its length. */
static int put_odd(struct buf *b, const char *p, size_t len, size_t *ret, struct err *err)
{
	uint32_t c = 0;
	size_t n = utf8_decode(p, len, &c);

	if (n == 0) {
		n = utf8_surrogate(p, len, &c);
		*ret = n ? n : 1;
		return buf_add(b, "\xef\xbf\xbd", 3, err);
	}
	*ret = n;
	return utf8_hidden(c) ? json_escape(b, c, err) : buf_add(b, p, n, err);
}

int buf_json_value(struct buf *b, struct text json, struct err *err)
{
	int r = 0;

	for (size_t i = 0, n = 0; r == 0 && i < json.len; i += n) {
		const char *p = json.ptr + i;

		for (n = 0; i + n < json.len && p[n] >= 0x20 && p[n] < 0x7f;)
			n++;
		if (n)
			r = buf_add(b, p, n, err);
		else if ((unsigned char)*p < 0x20) /* between two tokens: in a string there is none */
			r = buf_add_char(b, ' ', err), n = 1;
		else
			r = put_odd(b, p, json.len - i, &n, err);
	}
	return r;
}

int buf_json_string(struct buf *b, struct text t, struct err *err)
{
	int r = buf_add_char(b, '"', err);

	for (size_t i = 0; r == 0 && i < t.len;) {
		size_t n = MIN(t.len - i, (size_t)PIECE);

		/* near the limit the longest that it could get does not count, only what it gets */
		if (b->max - b->len < 2 * n)
			n = 1;
		if (t.ptr[i] >= 0x20 && t.ptr[i] < 0x7f && (n > 1 || (t.ptr[i] != '"' && t.ptr[i] != '\\'))) {
			r = buf_reserve(b, n > 1 ? 2 * n : 1, err);
			if (r == 0)
				i += put_ascii(b, t.ptr + i, n);
			continue;
		}
		if (t.ptr[i] == '"' || t.ptr[i] == '\\') {
			char pair[2] = {'\\', t.ptr[i]};

			n = 1;
			r = buf_add(b, pair, 2, err);
		} else {
			r = put_odd(b, t.ptr + i, t.len - i, &n, err);
		}
		i += n;
	}
	return r ? r : buf_add_char(b, '"', err);
}

int buf_varint(struct buf *b, uint64_t v, struct err *err)
{
	unsigned char bytes[10];
	size_t n = 0;

	while (v >= 0x80) {
		bytes[n++] = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	bytes[n++] = (unsigned char)v;
	return buf_add(b, bytes, n, err);
}

int buf_add_file(struct buf *b, const char *path, const char *what, struct err *err)
{
	char block[4096];
	size_t n;
	int rc = 0;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* nobody may ever write to a pipe */
	bool plain = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
	FILE *in = plain ? fdopen(fd, "rb") : NULL;
	if (!in) {
		if (fd >= 0 && !plain)
			err_set(err, ERR_INPUT, "the %s is no regular file", what);
		else
			err_set_errno(err, ERR_INPUT, "cannot read the %s", what);
		if (fd >= 0)
			close(fd);
		return err_where(err, "%s", path);
	}
	while (rc == 0 && (n = fread(block, 1, sizeof(block), in)) > 0) {
		rc = n > b->max - b->len ? err_set(err, ERR_INPUT, "the %s is larger than %zu bytes", what, b->max) : 0;
		if (rc == 0)
			rc = buf_add(b, block, n, err);
	}
	if (rc == 0 && ferror(in))
		rc = err_set_errno(err, ERR_INPUT, "cannot read the %s", what);
	fclose(in);
	if (rc < 0)
		err_where(err, "%s", path);
	return rc;
}
