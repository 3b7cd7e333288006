/* SPDX-License-Identifier: Apache-2.0 */
/* utf16.c - UTF-16 text as a stream of UTF-8
 *
 * Shells of Windows write what a program prints, `kubectl logs … > file` too, as UTF-16 with a byte order mark. Nothing is lost:
 * half a surrogate pair becomes three bytes that are no UTF-8 but say which half, so the original could be made again.
 */
#include "utf16.h"

#include <stdlib.h>

#include "pagetrail/macros.h"

enum { UNITS = 32 * 1024, LOOK_UNITS = STREAM_HEAD / 2 };

struct utf16 {
	struct stream s;
	struct stream *in;
	bool big, begun, ended;
	unsigned char odd; /* first byte of a unit that a block's end cut */
	bool has_odd;
	unsigned high; /* first half of a pair; 0: none */
	const char *p; /* of the block at hand */
	size_t n;
	char out[UNITS * 3 + 8];
};

static unsigned unit_at(const char *p, bool big)
{
	unsigned a = (unsigned char)p[0], b = (unsigned char)p[1];
	return big ? a << 8 | b : b << 8 | a;
}

static bool mark_of(struct text head, bool *ret_big)
{
	unsigned mark = head.len >= 2 ? unit_at(head.ptr, true) : 0;
	*ret_big = mark == 0xfeff;
	return mark == 0xfeff || mark == 0xfffe;
}

bool utf16_begins(struct text head)
{
	bool big;
	size_t ascii = 0, n = 0;
	if (!mark_of(head, &big))
		return false;
	for (size_t at = 2; at + 2 <= head.len && n < LOOK_UNITS; at += 2, n++) {
		unsigned c = unit_at(head.ptr + at, big);
		if (!c)
			return false;
		ascii += c < 128;
	}
	return n && ascii * 2 >= n;
}

static char *put_unit(struct utf16 *u, char *to, unsigned c)
{
	bool low = c >= 0xdc00 && c < 0xe000;
	unsigned high = u->high;
	u->high = 0;
	if (high && low)
		return to + text_put_utf8(to, 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00));
	if (high)
		to += text_put_utf8(to, high);
	if (c >= 0xd800 && c < 0xdc00)
		u->high = c;
	else
		to += text_put_utf8(to, c);
	return to;
}

/* Converts from the block at hand as much as there is room for. */
static char *convert(struct utf16 *u, char *to)
{
	size_t units = 0;
	if (u->has_odd && u->n) {
		const char both[2] = {(char)u->odd, u->p[0]};
		to = put_unit(u, to, unit_at(both, u->big));
		u->has_odd = false;
		u->p++;
		u->n--;
		units++;
	}
	for (; units < UNITS && u->n >= 2; units++, u->p += 2, u->n -= 2) {
		unsigned c = unit_at(u->p, u->big);
		if (c < 0x80 && !u->high)
			*to++ = (char)c;
		else
			to = put_unit(u, to, c);
	}
	if (u->n == 1) {
		u->odd = (unsigned char)u->p[0];
		u->has_odd = true;
		u->n = 0;
	}
	return to;
}

static int skip_mark(struct utf16 *u, struct err *err)
{
	const char *p;
	size_t n;
	int rc = stream_peek(u->in, &p, &n, err);
	if (rc == 0)
		rc = stream_read(u->in, &p, &n, err);
	if (rc < 0)
		return rc;
	mark_of((struct text){p, n}, &u->big);
	u->begun = true;
	u->p = p + MIN(n, 2);
	u->n = n - MIN(n, 2);
	return 0;
}

static int utf16_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	struct utf16 *u = (struct utf16 *)s;
	char *to = u->out;
	int rc = u->begun ? 0 : skip_mark(u, err);
	*ret_n = 0;
	while (rc == 0 && !u->ended && to == u->out) {
		if (!u->n)
			rc = stream_read(u->in, &u->p, &u->n, err);
		u->ended = rc == 0 && !u->n;
		if (rc == 0)
			to = convert(u, to);
	}
	if (rc < 0)
		return rc;
	if (u->ended && u->high) {
		to += text_put_utf8(to, u->high);
		u->high = 0;
	}
	if (u->ended && u->has_odd) {
		damage_set(s->damage, false, "cut off: the UTF-16 text ends inside of a character");
		u->has_odd = false;
	}
	*ret = u->out;
	*ret_n = (size_t)(to - u->out);
	return 0;
}

static void utf16_close(struct stream *s)
{
	struct utf16 *u = (struct utf16 *)s;
	u->in->close(u->in);
	free(u);
}

int utf16_open(struct stream **ret, struct stream *in, struct damage *damage, struct err *err)
{
	struct utf16 *u = calloc(1, sizeof(*u));
	if (!u) {
		in->close(in);
		return err_nomem(err);
	}
	u->s = (struct stream){.fill = utf16_fill, .close = utf16_close, .damage = damage};
	u->in = in;
	*ret = &u->s;
	return 0;
}
