/* SPDX-License-Identifier: Apache-2.0 */
/* far.c - formats of sources that say late what they are
 *
 * The bytes are looked at in parts of whole lines, DETECT_RECORDS of them or DETECT_BYTES, or one line that is longer. Each part
 * is judged as a head is, by itself: a log behind a million lines of chatter is a log. What is read ahead is bounded, and the
 * same for every way of reading, so that bytes alone decide.
 */
#include "far.h"

#include <string.h>

#define FROM ",\"from\":"
#define TO   ",\"to\":"

struct ahead {
	const struct far *far;
	struct buf bytes;
	bool end;       /* of the source */
	unsigned lines; /* in the parts so far */
};

/* 1: there is more. */
static int read_on(struct ahead *x, struct err *err)
{
	if (x->end || x->bytes.len >= DETECT_FAR_BYTES)
		return 0;
	int rc = x->far->more(x->far->ctx, &x->bytes, err);
	x->end = rc == 0;
	x->bytes.len = MIN(x->bytes.len, DETECT_FAR_BYTES);
	return rc;
}

/* The end of the part that begins at `from`; `from` itself when there is none any more. */
static int part_end(struct ahead *x, size_t from, size_t *ret, struct err *err)
{
	unsigned lines = 0;
	size_t at = from;
	int rc = 1;
	*ret = from;
	while (lines < DETECT_RECORDS && x->lines < DETECT_FAR_RECORDS && rc == 1) {
		const char *nl = at < x->bytes.len ? memchr(x->bytes.ptr + at, '\n', x->bytes.len - at) : NULL;
		at = nl ? (size_t)(nl + 1 - x->bytes.ptr) : x->bytes.len; /* what was searched is not searched again */
		if (*ret > from && at - from > DETECT_BYTES)
			return 0;
		if (nl) {
			*ret = at;
			lines++;
			x->lines++;
		} else {
			rc = read_on(x, err);
		}
	}
	if (rc == 0 && x->end)
		*ret = x->bytes.len; /* the last line has no line end */
	return MIN(rc, 0);
}

int far_look(const struct far *far, struct formats *f, struct text head, struct detection *d, struct stack *ret,
	     struct err *err)
{
	struct ahead x = {.far = far, .bytes = BUF_INIT(DETECT_FAR_BYTES + 2 * DETECT_BYTES)};
	size_t from = 0, to = 0;
	int rc = buf_add_text(&x.bytes, head, err);
	bool known = false;
	while (rc == 0 && !known) {
		rc = part_end(&x, from, &to, err);
		if (rc < 0 || to == from)
			break;
		if (to > head.len || from) {
			struct detection now;
			const struct text part = text_sub(buf_text(&x.bytes), from, to - from);
			rc = detect_further(f, part, true, &now, ret, err);
			known = rc == 0 && (now.parser || (ret->n && !now.reason));
			if (known) {
				*d = now;
				d->from = from;
				d->to = to;
			} else {
				stack_done(ret);
			}
		}
		from = known ? from : to;
	}
	if (rc == 0 && !known)
		d->to = x.end ? 0 : to;
	buf_done(&x.bytes);
	return rc;
}

int far_put(const struct detection *d, struct buf *out, struct err *err)
{
	return d->parser && d->to
		   ? buf_printf(out, err, FROM "%llu" TO "%llu", (unsigned long long)d->from, (unsigned long long)d->to)
		   : 0;
}

static bool number_behind(struct text basis, const char *name, uint64_t *ret)
{
	size_t at = text_find(basis, name, 0);
	*ret = 0;
	if (at == SIZE_MAX)
		return false;
	for (at += strlen(name); at < basis.len && basis.ptr[at] >= '0' && basis.ptr[at] <= '9'; at++) {
		if (*ret > DETECT_FAR_BYTES)
			return false;
		*ret = *ret * 10 + (uint64_t)(basis.ptr[at] - '0');
	}
	return true;
}

bool far_get(struct text basis, uint64_t *ret_from, uint64_t *ret_to)
{
	return number_behind(basis, FROM, ret_from) && number_behind(basis, TO, ret_to) && *ret_from < *ret_to &&
	       *ret_to <= DETECT_FAR_BYTES;
}
