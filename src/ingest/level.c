/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - one container through libarchive
 *
 * Each level undoes one thing (a tar, a zip, one packing) after any gzip around it. At its end the input is read to its
 * own end, so that check sums are compared and bytes that nobody asked for are noticed. What libarchive says of damage
 * is only sorted here: people read our words.
 */
#include "level.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gunzip.h"
#include "pagetrail/limits.h"
#include "source.h"
#include "utf16.h"
#include "zip_end.h"

/* --- what is it --- */

static bool magic(struct text head, size_t at, const char *m, size_t n)
{
	return head.len >= at + n && !memcmp(head.ptr + at, m, n);
}

/* A header block whose check sum fits; older writers added up signed bytes. */
static bool is_tar(struct text head)
{
	enum { SUM_AT = 148, SUM_LEN = 8, BLOCK = 512 };
	long want = 0, sum = 0, signed_sum = 0;
	size_t i = SUM_AT, digits = 0;
	if (head.len < BLOCK)
		return false;
	while (i < SUM_AT + SUM_LEN && head.ptr[i] == ' ')
		i++;
	for (; i < SUM_AT + SUM_LEN && head.ptr[i] >= '0' && head.ptr[i] <= '7'; i++, digits++)
		want = want * 8 + (head.ptr[i] - '0');
	for (; i < SUM_AT + SUM_LEN; i++)
		if (head.ptr[i] && head.ptr[i] != ' ')
			return false;
	for (i = 0; i < BLOCK; i++) {
		bool in_sum = i >= SUM_AT && i < SUM_AT + SUM_LEN;
		sum += in_sum ? ' ' : (unsigned char)head.ptr[i];
		signed_sum += in_sum ? ' ' : (signed char)head.ptr[i];
	}
	return digits && (sum == want || signed_sum == want);
}

/* Says that it is a tar, but its check sum does not fit. */
static bool was_tar(struct text head)
{
	return magic(head, 257, "ustar\0", 6) || magic(head, 257, "ustar  \0", 8);
}

const char *container_of(struct text head)
{
	if (magic(head, 0, "\x1f\x8b\x08", 3))
		return "gzip";
	if (magic(head, 0, "\x28\xb5\x2f\xfd", 4))
		return "zstd";
	if (magic(head, 0,
		  "\xfd"
		  "7zXZ\0",
		  6))
		return "xz";
	if (magic(head, 0, "BZh", 3) && head.len > 9 && head.ptr[3] >= '1' && head.ptr[3] <= '9' &&
	    (magic(head, 4, "\x31\x41\x59\x26\x53\x59", 6) || magic(head, 4, "\x17\x72\x45\x38\x50\x90", 6)))
		return "bzip2";
	if (magic(head, 0, "\x04\x22\x4d\x18", 4))
		return "lz4";
	if (magic(head, 0, "PK\3\4", 4))
		return "zip";
	if (utf16_begins(head))
		return "utf-16";
	return is_tar(head) || was_tar(head) ? "tar" : NULL;
}

static const struct {
	const char *name;
	enum level_kind kind;
	int filter;
} kinds[] = {{"zstd", LEVEL_PACKED, ARCHIVE_FILTER_ZSTD},
	     {"xz", LEVEL_PACKED, ARCHIVE_FILTER_XZ},
	     {"bzip2", LEVEL_PACKED, ARCHIVE_FILTER_BZIP2},
	     {"lz4", LEVEL_PACKED, ARCHIVE_FILTER_LZ4},
	     {"zip", LEVEL_ZIP, 0},
	     {"tar", LEVEL_TAR, 0}};

/* --- input --- */

static la_ssize_t on_input(struct archive *a, void *ctx, const void **ret)
{
	struct level *lv = ctx;
	lv->rc = stream_read(lv->in, &lv->block, &lv->n_block, lv->err);
	if (lv->rc < 0) {
		archive_set_error(a, ENOMEM, "cannot read");
		return ARCHIVE_FATAL;
	}
	size_t n = lv->n_block;
	while (n && !lv->block[n - 1]) /* tapes and block devices pad with zeros */
		n--;
	if (n)
		lv->nonzero = lv->given + n;
	lv->given += lv->n_block;
	if (lv->tail)
		zip_end_keep(lv->tail, &lv->n_tail, lv->block, lv->n_block);
	*ret = lv->block;
	return (la_ssize_t)lv->n_block;
}

static const char *what(const struct level *lv)
{
	return lv->kind == LEVEL_PACKED ? lv->packed : lv->kind == LEVEL_ZIP ? "zip" : "tar";
}

/* left: what is packed behind the damage, or in it, is not given. */
static void damaged(struct level *lv, bool final)
{
	const char *t = archive_error_string(lv->a);
	if (!t)
		t = "";
	lv->damage.left = true;
	if (strstr(t, "runcated") || strstr(t, "No progress is possible") || strstr(t, "(-5)"))
		damage_set(&lv->damage, final, "cut off: the %s ends too early", what(lv));
	else if (strstr(t, "ncrypt") || strstr(t, "assphrase"))
		damage_set(&lv->damage, final, "encrypted, cannot be read");
	else if (strstr(t, "nsupported"))
		damage_set(&lv->damage, final, "packed in a way that is not supported (%s)", what(lv));
	else if (strstr(t, "CRC") || strstr(t, "checksum") || strstr(t, "wrong size"))
		damage_set(&lv->damage, final, "damaged: checksum or size differs (%s)", what(lv));
	else
		damage_set(&lv->damage, final, "damaged: the %s cannot be read on from here", what(lv));
}

/* --- the member at hand --- */

/* Reads the input to its end; packed data must be used up. */
static int drain(struct level *lv, struct err *err)
{
	uint64_t used = (uint64_t)archive_filter_bytes(lv->a, -1);
	const void *p;
	lv->err = err;
	do {
		if (on_input(lv->a, lv, &p) < 0)
			return lv->rc;
	} while (lv->n_block);
	if (lv->nonzero > used && lv->kind == LEVEL_PACKED && !lv->damage.reason[0]) {
		lv->damage.left = true;
		damage_set(&lv->damage, true, "%s: other bytes follow the packed data; they were not unpacked",
			   lv->packed);
	}
	return 0;
}

/* 0; 1 the member is damaged here (reason set), or ended. */
static int level_block(struct level *lv, struct err *err)
{
	const void *p = NULL;
	size_t n = 0;
	la_int64_t off = 0;
	unsigned again = 0;
	lv->err = err;
	lv->rc = 0;
	do {
		int r = archive_read_data_block(lv->a, &p, &n, &off);
		if (lv->rc < 0)
			return lv->rc;
		if (r == ARCHIVE_EOF)
			return 1;
		if (r == ARCHIVE_RETRY && ++again < 16)
			continue;
		if (r != ARCHIVE_OK)
			damaged(lv, r == ARCHIVE_FATAL);
		if (r < ARCHIVE_WARN || (r != ARCHIVE_OK && !n))
			return 1;
	} while (!n && (uint64_t)off <= lv->pos);
	lv->hole = (uint64_t)off > lv->pos ? (uint64_t)off - lv->pos : 0;
	lv->part = p;
	lv->n_part = n;
	return 0;
}

static int level_refill(struct level *lv, struct err *err)
{
	int rc = level_block(lv, err);
	if (rc <= 0)
		return rc;
	lv->ended = true; /* libarchive must not be asked again */
	return lv->kind == LEVEL_PACKED ? drain(lv, err) : 0;
}

/* The next bytes of this level's member: a block, or zeros of a hole. */
static int level_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	static const char zeros[4096];
	struct level *lv = (struct level *)s;
	*ret_n = 0;
	if (lv->empty || lv->ended)
		return 0;
	if (lv->kind == LEVEL_PLAIN)
		return stream_read(lv->in, ret, ret_n, err);
	if (!lv->hole && !lv->n_part) {
		int rc = level_refill(lv, err);
		if (rc < 0 || lv->ended)
			return rc;
	}
	if (lv->hole) {
		*ret = zeros;
		*ret_n = (size_t)MIN(lv->hole, sizeof(zeros));
		lv->hole -= *ret_n;
	} else {
		*ret = lv->part;
		*ret_n = lv->n_part;
		lv->n_part = 0;
	}
	lv->pos += *ret_n;
	return 0;
}

/* --- opening an archive --- */

/* Container names come from the inside out: the new one goes in front. */
static void add_container(struct level *lv, const char *name)
{
	char before[sizeof(lv->container)];
	memcpy(before, lv->container, sizeof(before));
	snprintf(lv->container, sizeof(lv->container), "%s%s%.60s", name, before[0] ? "+" : "", before);
	lv->depth++;
}

static int open_archive(struct level *lv, int filter, struct err *err)
{
	lv->a = archive_read_new();
	if (!lv->a)
		return err_nomem(err);
	if (lv->kind == LEVEL_ZIP) {
		archive_read_support_format_zip_streamable(lv->a);
		lv->tail = malloc(ZIP_END_BYTES);
		if (!lv->tail)
			return err_nomem(err);
	} else if (lv->kind == LEVEL_TAR) {
		archive_read_support_format_tar(lv->a);
		archive_read_set_options(lv->a, "tar:read_concatenated_archives");
	} else {
		archive_read_append_filter(lv->a, filter);
		archive_read_support_format_raw(lv->a);
		archive_read_support_format_empty(lv->a);
	}
	lv->err = err;
	lv->rc = 0;
	int r = archive_read_open(lv->a, lv, NULL, on_input, NULL);
	if (lv->rc < 0)
		return lv->rc;
	/* packed data that fails before its first byte looks like an empty file, but for the error */
	if (r < ARCHIVE_WARN || archive_error_string(lv->a))
		damaged(lv, true);
	return 0;
}

/* Passes over one block. */
static int skip_block(struct level *lv, struct err *err)
{
	enum { BLOCK = 512 };
	const char *p;
	size_t n;
	int rc = stream_peek(lv->in, &p, &n, err);
	if (rc == 0 && n) {
		rc = stream_read(lv->in, &p, &n, err);
		if (n > BLOCK)
			stream_push(lv->in, p + BLOCK, n - BLOCK);
	}
	return rc;
}

/* Passes over blocks up to the next good header. */
static int skip_to_header(struct level *lv, struct err *err)
{
	for (;;) {
		const char *p;
		size_t n;
		int rc = stream_peek(lv->in, &p, &n, err);
		if (rc < 0 || !n || is_tar((struct text){p, n}))
			return rc;
		lv->skipped = true;
		rc = skip_block(lv, err);
		if (rc < 0)
			return rc;
	}
}

/* --- members --- */

/* After the last header: the rest of the input, and does an archive say that it holds more than it gave? */
static int level_end(struct level *lv, struct err *err)
{
	lv->over = true;
	if (lv->kind == LEVEL_PLAIN || lv->damage.final)
		return 0;
	int rc = lv->a ? drain(lv, err) : 0; /* NULL: it was searched to its end */
	if (rc < 0)
		return rc;
	if (lv->skipped) {
		lv->damage.left = true;
		damage_set(&lv->damage, false, "damaged: a part of the tar belongs to no file");
	}
	const char *why = lv->kind == LEVEL_ZIP ? zip_end_check(lv->tail, lv->n_tail, lv->given, lv->entries) : NULL;
	if (why) {
		lv->damage.left = true;
		damage_set(&lv->damage, false, "%s", why);
	}
	return 0;
}

static int level_header(struct level *lv, struct archive_entry **ret)
{
	int r;
	la_int64_t before;
	do { /* a tar header with a wrong check sum: the next block may be a good one */
		before = archive_filter_bytes(lv->a, -1);
		r = archive_read_next_header(lv->a, ret);
		lv->skipped |= r == ARCHIVE_RETRY;
	} while (r == ARCHIVE_RETRY && lv->rc == 0 && archive_filter_bytes(lv->a, -1) > before);
	return r == ARCHIVE_RETRY ? ARCHIVE_FATAL : r;
}

/* Where libarchive gave a tar up (an extended header with a damaged one behind it): a new start at the next good header.
 * 1 there is one, 0 there is none. */
static int tar_again(struct level *lv, struct err *err)
{
	uint64_t used = (uint64_t)archive_filter_bytes(lv->a, -1);
	const char *p;
	size_t n = 0;
	if (lv->kind != LEVEL_TAR || used > lv->given || lv->given - used > lv->n_block)
		return 0;
	n = (size_t)(lv->given - used);
	if (n)
		stream_push(lv->in, lv->block + (lv->n_block - n), n);
	archive_read_free(lv->a);
	lv->a = NULL;
	lv->given = lv->nonzero = lv->n_block = 0;
	lv->skipped = true;
	int rc = used ? 0 : skip_block(lv, err);
	if (rc == 0)
		rc = skip_to_header(lv, err);
	if (rc == 0)
		rc = stream_peek(lv->in, &p, &n, err);
	if (rc == 0 && n)
		rc = open_archive(lv, 0, err);
	return rc < 0 ? rc : n > 0 && !lv->damage.final;
}

int level_next(struct level *lv, struct archive_entry **ret, struct err *err)
{
	bool first = !lv->begun;
	*ret = NULL;
	lv->begun = true;
	if (lv->over)
		return 0;
	if (!first && !level_is_archive(lv)) {
		lv->over = true;
		return 0;
	}
	if (lv->damage.final)
		return level_end(lv, err);
	lv->pos = lv->hole = lv->n_part = lv->s.n_ahead = lv->s.n_behind = 0;
	lv->ended = lv->empty = false;
	if (lv->kind == LEVEL_PLAIN)
		return 1;
	int r, again;
	do {
		lv->err = err;
		lv->rc = 0;
		r = level_header(lv, ret);
		if (lv->rc < 0)
			return lv->rc;
		again = r < ARCHIVE_WARN ? tar_again(lv, err) : 0;
	} while (again == 1);
	if (again < 0)
		return again;
	if (r == ARCHIVE_EOF && lv->kind == LEVEL_PACKED) {
		lv->empty = true; /* libarchive gives no data block */
		*ret = NULL;
		return 1;
	}
	if (r == ARCHIVE_EOF)
		return level_end(lv, err);
	if (r < ARCHIVE_WARN) {
		if (!lv->skipped)
			damaged(lv, true);
		return level_end(lv, err);
	}
	lv->entries++;
	if (!level_is_archive(lv))
		*ret = NULL;
	else if (archive_entry_filetype(*ret) != AE_IFDIR)
		lv->members++;
	return 1;
}

/* --- opening a level --- */

/* Undoes gzip (in gzip: that is legal) and UTF-16, and tells what is in it; NULL: plain. */
static int find_kind(struct level *lv, const char **ret, struct err *err)
{
	for (;;) {
		const char *p;
		size_t n;
		int rc = stream_peek(lv->in, &p, &n, err);
		if (rc < 0)
			return rc;
		*ret = n ? container_of((struct text){p, n}) : NULL;
		if (*ret && lv->depth >= ARCHIVE_DEPTH_MAX) {
			damage_set(&lv->damage, false, "nested deeper than %d containers, kept as it is",
				   ARCHIVE_DEPTH_MAX);
			*ret = NULL;
		}
		bool text = *ret && !strcmp(*ret, "utf-16");
		if (!*ret || (!text && strcmp(*ret, "gzip") != 0))
			return 0;
		rc = text ? utf16_open(&lv->in, lv->in, &lv->damage, err)
			  : gunzip_open(&lv->in, lv->in, &lv->damage, err);
		if (rc < 0) {
			lv->in = NULL;
			return rc;
		}
		add_container(lv, *ret);
	}
}

static void keep_open(struct stream *s)
{
	(void)s; /* the level below has another owner */
}

int level_open(struct level **ret, struct stream *in, const char *name, const struct level *below, bool as_it_is,
	       struct err *err)
{
	struct level *lv = calloc(1, sizeof(*lv));
	const char *kind = NULL;
	*ret = lv;
	if (!lv) {
		in->close(in);
		return err_nomem(err);
	}
	lv->s = (struct stream){.fill = level_fill, .close = keep_open, .damage = &lv->damage};
	lv->in = in;
	lv->name = strdup(name);
	if (!lv->name)
		return err_nomem(err);
	if (below) {
		lv->depth = below->depth;
		memcpy(lv->container, below->container, sizeof(lv->container));
	}
	int rc = as_it_is ? 0 : find_kind(lv, &kind, err);
	if (rc < 0 || !kind)
		return rc;
	size_t i = 0;
	while (strcmp(kinds[i].name, kind) != 0)
		i++;
	lv->kind = kinds[i].kind;
	lv->packed = kinds[i].name;
	add_container(lv, kind);
	rc = lv->kind == LEVEL_TAR ? skip_to_header(lv, err) : 0;
	return rc < 0 ? rc : open_archive(lv, kinds[i].filter, err);
}

void level_close(struct level *lv)
{
	if (!lv)
		return;
	archive_read_free(lv->a);
	if (lv->in)
		lv->in->close(lv->in);
	free(lv->tail);
	free(lv->name);
	free(lv);
}
