/* SPDX-License-Identifier: Apache-2.0 */
/* salvage_open.c - opening a damaged case, also one whose first page is broken
 *
 * The first page says what the file is and where its tables begin. All cases of one version are made by the same text, so
 * their tables begin on the same pages: the first page of a new case, in front of the pages of the old one, opens it. What
 * is then read is believed no more than anything else in a damaged file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page_sum.h"
#include "salvage.h"

enum { PAGE_BYTES = CASE_PAGE_BYTES, COPY_BYTES = 1 << 20 };

static void put_be32(unsigned char *p, uint64_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* The first page of a new case; leaves none. */
static int new_page(const char *work, unsigned char page[PAGE_BYTES], struct err *err)
{
	struct case_file *c = NULL;
	int r = case_open(&c, work, CASE_CREATE, err);
	if (!r)
		r = case_close(c, err);
	if (r)
		return r;
	FILE *f = fopen(work, "rb");
	size_t n = f ? fread(page, 1, PAGE_BYTES, f) : 0;
	if (f)
		fclose(f);
	unlink(work);
	return n == PAGE_BYTES ? 0 : err_set_errno(err, ERR_IO, "cannot read %s", work);
}

static int copy_rest(FILE *from, FILE *to, char *buf)
{
	size_t n;
	if (fseeko(from, PAGE_BYTES, SEEK_SET))
		return -1;
	while ((n = fread(buf, 1, COPY_BYTES, from)) > 0)
		if (fwrite(buf, 1, n, to) != n)
			return -1;
	return ferror(from) ? -1 : 0;
}

static int write_copy(FILE *from, const char *work, struct err *err)
{
	unsigned char page[PAGE_BYTES];
	int r = new_page(work, page, err);
	if (r)
		return r;
	if (fseeko(from, 0, SEEK_END) || ftello(from) < 2 * PAGE_BYTES)
		return err_set(err, ERR_DAMAGED, "the file is too short for a case");
	put_be32(page + 28, (uint64_t)ftello(from) / PAGE_BYTES); /* pages */
	memset(page + 32, 0, 8);                                  /* of a list of free ones nothing is known */
	FILE *to = fopen(work, "wbx");
	char *buf = malloc(COPY_BYTES);
	bool done =
	    to && buf && fwrite(page, 1, PAGE_BYTES, to) == PAGE_BYTES && !copy_rest(from, to, buf) && !fflush(to);
	int saved = errno;
	free(buf);
	if (to && fclose(to))
		done = false;
	errno = saved;
	return done ? 0 : err_set_errno(err, ERR_IO, "cannot write the copy %s", work);
}

/* Is anything of a case in it? */
static bool has_rows(struct case_file *c)
{
	static const char *const texts[] = {
	    "SELECT 1 FROM main.journal NOT INDEXED WHERE length(sha256) = 32 LIMIT 1",
	    "SELECT 1 FROM main.evidence_chunk NOT INDEXED WHERE length(sha256) = 32 LIMIT 1",
	    "SELECT 1 FROM main.source NOT INDEXED WHERE source > 0 LIMIT 1",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		if (!sql_prepare(&s, c, texts[i], NULL) && sql_step(s, NULL) > 0)
			return true;
	}
	return false;
}

int salvage_open(struct case_file **ret, const char *path, const char *work, struct err *err)
{
	struct err first = {0};
	struct case_file *c = NULL;
	int r = case_open(ret, path, CASE_INSPECT, &first);
	if (r != ERR_DAMAGED) {
		if (r && err)
			*err = first;
		return r;
	}
	FILE *from = fopen(path, "rb");
	if (!from) {
		err_set_errno(err, ERR_IO, "cannot open the case file");
		return err_where(err, "%s", path);
	}
	r = write_copy(from, work, err);
	fclose(from);
	if (!r && !case_open(&c, work, CASE_INSPECT, NULL) && has_rows(c)) {
		*ret = c;
		return 0;
	}
	case_closep(&c);
	if (r && r != ERR_DAMAGED)
		return r;
	if (err) /* what the file itself says is clearer than what a copy does */
		*err = first;
	return first.code;
}
