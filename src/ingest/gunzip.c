/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.c - gzip data as a stream that keeps what came before a cut
 *
 * libarchive's gzip filter fills 64 KiB before it gives anything, and drops a half-full buffer when its input ends: of
 * a small log whose copy was cut off nothing would be left. Its zip reader gives every inflated byte at once. So each
 * gzip member is offered to the zip reader behind a made-up local header; where it ended says how much input it has
 * used. The sizes in that header are wrong on purpose: the reader notices only after the last byte. For the same reason
 * it must not compare its check sum; CRC-32 and size of each member are compared here.
 */
#include "gunzip.h"

#include <archive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"

enum { FAKE_BYTES = 51 }; /* zip local header, a name of one byte, a zip64 field */

struct gunzip {
	struct stream s;
	struct stream *in;
	struct archive *a; /* of the gzip member at hand; NULL between members */
	bool begun, ended, header_given;
	const char *block; /* block of `in` that the zip reader was given last */
	size_t n_block;
	uint64_t given;    /* bytes of this gzip member given to the zip reader, header not counted */
	struct crc32 crc;  /* of what was inflated */
	uint32_t inflated; /* as gzip counts: modulo 2^32 */
	struct err *err;   /* of the call at hand, for the callback */
	int rc;
};

/* Next byte of the packed data, or -1 at its end. */
static int next_byte(struct gunzip *g, int *ret, struct err *err)
{
	const char *p;
	size_t n;
	int rc = stream_read(g->in, &p, &n, err);
	if (rc < 0)
		return rc;
	*ret = n ? (unsigned char)p[0] : -1;
	if (n > 1)
		stream_push(g->in, p + 1, n - 1);
	return 0;
}

static int skip_bytes(struct gunzip *g, unsigned n, bool *ret_cut, struct err *err)
{
	for (unsigned i = 0; i < n; i++) {
		int c;
		int rc = next_byte(g, &c, err);
		if (rc < 0)
			return rc;
		if (c < 0) {
			*ret_cut = true;
			return 0;
		}
	}
	return 0;
}

static int skip_string(struct gunzip *g, bool *ret_cut, struct err *err)
{
	for (;;) {
		int c;
		int rc = next_byte(g, &c, err);
		if (rc < 0)
			return rc;
		if (c < 0)
			*ret_cut = true;
		if (c <= 0)
			return 0;
	}
}

/* After the magic: method, flags, time, extra flags, system, then what the flags announce. */
static int skip_header(struct gunzip *g, bool *ret_cut, struct err *err)
{
	enum { FLAG_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16 };
	unsigned char head[8];
	for (unsigned i = 0; i < sizeof(head); i++) {
		int c;
		int rc = next_byte(g, &c, err);
		if (rc < 0)
			return rc;
		if (c < 0) {
			*ret_cut = true;
			return 0;
		}
		head[i] = (unsigned char)c;
	}
	int rc = 0;
	if (head[1] & FLAG_EXTRA) {
		int lo = 0, hi = 0;
		rc = next_byte(g, &lo, err);
		if (rc == 0)
			rc = next_byte(g, &hi, err);
		if (rc == 0 && (lo < 0 || hi < 0))
			*ret_cut = true;
		else if (rc == 0)
			rc = skip_bytes(g, (unsigned)(lo | hi << 8), ret_cut, err);
	}
	if (rc == 0 && head[1] & FLAG_NAME && !*ret_cut)
		rc = skip_string(g, ret_cut, err);
	if (rc == 0 && head[1] & FLAG_COMMENT && !*ret_cut)
		rc = skip_string(g, ret_cut, err);
	if (rc == 0 && head[1] & FLAG_CRC && !*ret_cut)
		rc = skip_bytes(g, 2, ret_cut, err);
	return rc;
}

static la_ssize_t on_zip_input(struct archive *a, void *ctx, const void **ret)
{
	/* version 45, deflate, both sizes in a zip64 field, larger than any input */
	static const unsigned char fake[FAKE_BYTES] = {
	    'P', 'K',  3,    4,    45,   0,    0,    0,    8,    0, 0, 0,  0, 0,   0, 0, 0,
	    0,   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 20, 0, 'x', 1, 0, 16,
	    0,   0,    0,    0,    0,    0,    0,    1,    0,    0, 0, 0,  0, 0,   0, 1, 0};
	struct gunzip *g = ctx;
	if (!g->header_given) {
		g->header_given = true;
		*ret = fake;
		return FAKE_BYTES;
	}
	g->rc = stream_read(g->in, &g->block, &g->n_block, g->err);
	if (g->rc < 0) {
		archive_set_error(a, ENOMEM, "cannot read");
		return ARCHIVE_FATAL;
	}
	g->given += g->n_block;
	*ret = g->block;
	return (la_ssize_t)g->n_block;
}

static int member_open(struct gunzip *g, struct err *err)
{
	struct archive_entry *entry;
	g->a = archive_read_new();
	if (!g->a || archive_read_support_format_zip_streamable(g->a) != ARCHIVE_OK)
		return err_nomem(err);
	archive_read_set_options(g->a, "zip:ignorecrc32");
	crc32_begin(&g->crc);
	g->inflated = 0;
	g->given = 0;
	g->n_block = 0;
	g->header_given = false;
	g->err = err;
	g->rc = 0;
	if (archive_read_open(g->a, g, NULL, on_zip_input, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(g->a, &entry) < ARCHIVE_WARN) {
		if (g->rc < 0)
			return g->rc;
		damage_set(g->s.damage, true, "damaged: the gzip data cannot be read");
		g->s.damage->left = true;
		g->ended = true;
	}
	return 0;
}

/* Looks for the next gzip member: 0 with g->a set, or g->ended. */
static int member_next(struct gunzip *g, struct err *err)
{
	bool cut = false;
	int c = -1;
	int rc;
	do { /* tapes and block devices pad with zeros */
		rc = next_byte(g, &c, err);
		if (rc < 0)
			return rc;
	} while (c == 0 && g->begun);
	if (c < 0) {
		g->ended = true;
		return 0;
	}
	int magic = -1;
	if (c == 0x1f) {
		rc = next_byte(g, &magic, err);
		if (rc < 0)
			return rc;
	}
	if (magic != 0x8b) {
		damage_set(g->s.damage, true, "gzip: other bytes follow the packed data; they were not unpacked");
		g->s.damage->left = true;
		g->ended = true;
		return 0;
	}
	g->begun = true;
	rc = skip_header(g, &cut, err);
	if (rc < 0)
		return rc;
	if (cut) {
		damage_set(g->s.damage, true, "cut off: the gzip data ends inside a header");
		g->ended = true;
		return 0;
	}
	return member_open(g, err);
}

/* Gives back the input behind the deflate data, and compares check sum and size. */
static int member_end(struct gunzip *g, struct err *err)
{
	uint64_t used = (uint64_t)archive_filter_bytes(g->a, -1) - FAKE_BYTES;
	size_t rest = used <= g->given ? (size_t)MIN(g->given - used, (uint64_t)g->n_block) : 0;
	uint32_t end[2] = {0, 0}; /* CRC-32, size */
	archive_read_free(g->a);
	g->a = NULL;
	if (rest)
		stream_push(g->in, g->block + (g->n_block - rest), rest);
	for (unsigned i = 0; i < 8; i++) {
		int c;
		int rc = next_byte(g, &c, err);
		if (rc < 0)
			return rc;
		if (c < 0) {
			damage_set(g->s.damage, true, "cut off: the gzip data ends before its check sum");
			g->ended = true;
			return 0;
		}
		end[i / 4] |= (uint32_t)c << (i % 4 * 8);
	}
	if (end[0] != crc32_value(&g->crc))
		damage_set(g->s.damage, false, "damaged: checksum differs (gzip)");
	else if (end[1] != g->inflated)
		damage_set(g->s.damage, false, "damaged: size differs (gzip)");
	return 0;
}

/* Bytes that were inflated go out. */
static int give(struct gunzip *g, const char *p, size_t n, const char **ret, size_t *ret_n)
{
	crc32_add(&g->crc, p, n);
	g->inflated += (uint32_t)n;
	*ret = p;
	*ret_n = n;
	return 0;
}

static int gunzip_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	struct gunzip *g = (struct gunzip *)s;
	*ret_n = 0;
	while (!g->ended) {
		if (!g->a) {
			int rc = member_next(g, err);
			if (rc < 0)
				return rc;
			continue;
		}
		const void *p = NULL;
		size_t n = 0;
		la_int64_t off;
		g->err = err;
		g->rc = 0;
		int r = archive_read_data_block(g->a, &p, &n, &off);
		if (g->rc < 0)
			return g->rc;
		if (r == ARCHIVE_OK && n)
			return give(g, p, n, ret, ret_n);
		if (r == ARCHIVE_OK)
			continue;
		if (r == ARCHIVE_WARN || r == ARCHIVE_EOF) { /* the deflate data ended where it should */
			/* the last bytes come with the warning; their buffer dies with the reader, so it must
			 * stay until the next call */
			if (r == ARCHIVE_WARN && n)
				return give(g, p, n, ret, ret_n);
			int rc = member_end(g, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (!g->n_block) {
			damage_set(g->s.damage, true, "cut off: the gzip data ends too early");
		} else {
			damage_set(g->s.damage, true, "damaged: the gzip data cannot be read on from here");
			g->s.damage->left = true;
		}
		g->ended = true;
	}
	return 0;
}

static void gunzip_close(struct stream *s)
{
	struct gunzip *g = (struct gunzip *)s;
	archive_read_free(g->a);
	g->in->close(g->in);
	free(g);
}

int gunzip_open(struct stream **ret, struct stream *in, struct damage *damage, struct err *err)
{
	struct gunzip *g = calloc(1, sizeof(*g));
	if (!g) {
		in->close(in);
		return err_nomem(err);
	}
	g->s = (struct stream){.fill = gunzip_fill, .close = gunzip_close, .damage = damage};
	g->in = in;
	crc32_init(&g->crc);
	*ret = &g->s;
	return 0;
}
