/* SPDX-License-Identifier: Apache-2.0 */
/* salvage_open.c - opening a damaged case, also one whose first page, or whose list of tables, is broken
 *
 * The first page says what the file is, and it or the pages that it leads to say where the tables begin. All cases of one
 * version are made by the same text, so all this lies on the same pages: where they say anything else in the old case, those of
 * a new one, in their places among the other pages of the old one, open it. What is then read is believed no more than
 * anything else in a damaged file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page_sum.h"
#include "pagetrail/buf.h"
#include "salvage.h"

enum { PAGE_BYTES = CASE_PAGE_BYTES, SCHEMA_PAGES_MAX = 16 };

struct schema_pages { /* of a new case, by number; the first is page 1 */
	unsigned n;
	uint32_t number[SCHEMA_PAGES_MAX];
	unsigned char bytes[SCHEMA_PAGES_MAX][PAGE_BYTES];
};

static void put_be32(unsigned char *p, uint64_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static uint32_t get_be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Where the tables that are read begin, and how they are made. */
static int schema_text(struct case_file *c, struct buf *out, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(
	    &s, c,
	    "SELECT group_concat(name || ' ' || rootpage || ' ' || coalesce(sql, ''), ';') FROM (SELECT * FROM "
	    "main.sqlite_schema WHERE tbl_name IN ('case_info', 'journal', 'source', 'evidence_chunk', "
	    "'reject', 'event_chunk') ORDER BY name)",
	    err);
	if (!r)
		r = sql_step(s, err);
	return r < 0 ? r : buf_add_text(out, sql_get_text(s, 0), err);
}

static bool read_page(FILE *f, struct schema_pages *p, uint32_t number)
{
	if (p->n == SCHEMA_PAGES_MAX || !number || fseeko(f, (off_t)(number - 1) * PAGE_BYTES, SEEK_SET) ||
	    fread(p->bytes[p->n], 1, PAGE_BYTES, f) != PAGE_BYTES)
		return false;
	p->number[p->n++] = number;
	return true;
}

/* Page 1, and those below it where the list of tables has outgrown it: an inner page of a table's tree has type 5, then the
 * number of its cells and the last child; each cell begins with a child (SQLite, "Database File Format", 1.6). */
static bool read_schema_pages(FILE *f, struct schema_pages *p)
{
	enum { HEAD = 100, INNER = 5, INNER_HEAD_BYTES = 12 };
	p->n = 0;
	if (!read_page(f, p, 1))
		return false;
	const unsigned char *page = p->bytes[0], *head = page + HEAD;
	if (head[0] != INNER)
		return true;
	unsigned cells = (unsigned)head[3] << 8 | head[4];
	bool good = read_page(f, p, get_be32(head + 8));
	for (unsigned i = 0; good && i < cells; i++) {
		size_t at = HEAD + INNER_HEAD_BYTES + 2 * (size_t)i;
		size_t cell = at + 2 <= PAGE_BYTES ? (size_t)page[at] << 8 | page[at + 1] : PAGE_BYTES;
		good = cell + 4 <= PAGE_BYTES && read_page(f, p, get_be32(page + cell));
	}
	return good;
}

/* The pages of a new case that say where its tables are, and its schema; leaves no file. */
static int new_case(const char *work, struct schema_pages *pages, struct buf *schema, struct err *err)
{
	struct case_file *c = NULL;
	int r = case_open(&c, work, CASE_CREATE, err);
	if (!r)
		r = schema_text(c, schema, err);
	if (!r)
		r = case_close(c, err);
	else
		case_closep(&c);
	if (r)
		return r;
	FILE *f = fopen(work, "rb");
	bool good = f && read_schema_pages(f, pages);
	if (f)
		fclose(f);
	unlink(work);
	return good ? 0 : err_set_errno(err, ERR_IO, "cannot read the first pages of a new case");
}

static bool copy_pages(FILE *from, FILE *to, const struct schema_pages *pages)
{
	unsigned char page[PAGE_BYTES];
	size_t n;
	rewind(from);
	for (uint32_t number = 1; (n = fread(page, 1, PAGE_BYTES, from)) > 0; number++) {
		for (unsigned i = 0; i < pages->n; i++)
			if (pages->number[i] == number)
				memcpy(page, pages->bytes[i], n);
		if (fwrite(page, 1, n, to) != n)
			return false;
	}
	return !ferror(from);
}

static int write_copy(FILE *from, const char *work, struct schema_pages *pages, struct err *err)
{
	unsigned char *page = pages->bytes[0];
	if (fseeko(from, 0, SEEK_END) || ftello(from) < 2 * PAGE_BYTES)
		return err_set(err, ERR_DAMAGED, "the file is too short for a case");
	put_be32(page + 28, (uint64_t)ftello(from) / PAGE_BYTES); /* pages */
	memset(page + 32, 0, 8);                                  /* of a list of free ones nothing is known */
	FILE *to = fopen(work, "wbx");
	bool done = to && copy_pages(from, to, pages) && !fflush(to);
	int saved = errno;
	if (to && fclose(to))
		done = false;
	errno = saved;
	return done ? 0 : err_set_errno(err, ERR_IO, "cannot write a copy of the damaged case");
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

static int open_copy(struct case_file **ret, const char *path, const char *work, struct schema_pages *pages,
		     struct err *err)
{
	struct case_file *c = NULL;
	FILE *from = fopen(path, "rb");
	if (!from) {
		err_set_errno(err, ERR_IO, "cannot open the case file");
		return err_where(err, "%s", path);
	}
	int r = write_copy(from, work, pages, err);
	fclose(from);
	if (!r)
		r = case_open(&c, work, CASE_INSPECT, err);
	if (!r && !has_rows(c))
		r = err_set(err, ERR_DAMAGED, "not a case");
	if (r)
		case_closep(&c);
	else
		*ret = c;
	return r;
}

/* A case of a newer version is not damaged, but nobody here knows what it says. */
static bool is_newer(const char *path)
{
	static const char magic[] = "SQLite format 3"; /* and its zero */
	unsigned char head[100];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	if (f)
		fclose(f);
	return n == sizeof(head) && !memcmp(head, magic, sizeof(magic)) && get_be32(head + 68) == CASE_APPLICATION_ID &&
	       get_be32(head + 60) > CASE_VERSION && get_be32(head + 60) <= INT32_MAX;
}

static int open_with(struct case_file **ret, const char *path, const char *work, struct schema_pages *pages,
		     struct err *err)
{
	CLEANUP(buf_done) struct buf is = BUF_INIT(MIB);
	CLEANUP(buf_done) struct buf want = BUF_INIT(MIB);
	CLEANUP(case_closep) struct case_file *c = NULL;
	struct err first = {0};
	int code = case_open(&c, path, CASE_INSPECT, &first), r = 0;
	if (code == ERR_DAMAGED && is_newer(path)) {
		if (err)
			*err = first;
		return code;
	}
	if (!code || code == ERR_DAMAGED)
		r = new_case(work, pages, &want, err);
	if (r)
		return r;
	if (!code)
		code = schema_text(c, &is, &first);
	if (!code && text_eq(buf_text(&is), buf_text(&want))) {
		*ret = c;
		c = NULL;
		return 0;
	}
	if (!code || salvage_goes_on(code))
		r = open_copy(ret, path, work, pages, err);
	if (!r && (!code || salvage_goes_on(code)))
		return 0;
	if (r && r != ERR_DAMAGED)
		return r;
	if (!code) { /* tables of another build, perhaps: what can be read is read */
		*ret = c;
		c = NULL;
		return 0;
	}
	if (err) /* what the file itself says is clearer than what a copy does */
		*err = first;
	return code;
}

int salvage_open(struct case_file **ret, const char *path, const char *work, struct err *err)
{
	struct schema_pages *pages = malloc(sizeof(*pages));
	int r = pages ? open_with(ret, path, work, pages, err) : err_nomem(err);
	free(pages);
	return r;
}
