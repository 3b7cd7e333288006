/* SPDX-License-Identifier: Apache-2.0 */
/* derive_xlsx.c - the tables of a document as one workbook (Office Open XML), a sheet each
 *
 * Numbers are numbers, and everything else is a text: times in ISO 8601, and no formula, link or macro ever, whatever a cell begins with.
 * A sheet is written row by row and not kept in memory. Creation date is the document's own, so the same facts are the same bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "derive.h"
#include "facts.h"
#include "pagetrail/limits.h"
#include "pagetrail/temp_file.h"

/* Excel counts UTF-16 code units; what is longer is cut, and says so. */
enum { XLSX_CELL_MAX = 32767, XLSX_NOTE_MAX = 64, XLSX_NAME_MAX = 31, XLSX_DIGITS = 15 };
_Static_assert(REPORT_ROWS_MAX + 2 < LXW_ROW_MAX, "a table of a document fits a sheet");

struct book {
	lxw_workbook *wb;
	lxw_worksheet *sheet;
	lxw_format *bold;
	lxw_row_t row;
	struct err *err;
	int rc;
};

static void took(struct book *b, lxw_error e)
{
	if (!e || b->rc)
		return;
	b->rc = e == LXW_ERROR_MEMORY_MALLOC_FAILED
		    ? err_nomem(b->err)
		    : err_set(b->err, ERR_BUG, "the workbook cannot be made: %s", lxw_strerror(e));
}

/* Where a text of so many UTF-16 units ends at most; all: how many it has. */
static size_t cut_at(struct text t, size_t max, size_t *all)
{
	size_t units = 0, end = 0;
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];
		if ((c & 0xC0) == 0x80)
			continue;
		if (units <= max)
			end = i;
		units += c >= 0xF0 ? 2 : 1;
	}
	*all = units;
	return units <= max ? t.len : end;
}

static void put_words(struct book *b, lxw_col_t col, struct text t, lxw_format *format)
{
	CLEANUP(buf_done) struct buf copy = BUF_INIT(64 * MIB);
	size_t units, end = cut_at(t, XLSX_CELL_MAX, &units);
	if (b->rc || !t.len)
		return;
	if (end < t.len) {
		end = cut_at(t, XLSX_CELL_MAX - XLSX_NOTE_MAX, &units);
		b->rc = buf_add_text(&copy, text_sub(t, 0, end), b->err);
		if (!b->rc)
			b->rc = buf_printf(&copy, b->err, " [cut here: %zu characters are in the XML]", units);
	} else {
		b->rc = buf_add_text(&copy, t, b->err);
	}
	if (!b->rc)
		took(b, worksheet_write_string(b->sheet, b->row, col, copy.ptr, format));
}

/* A spreadsheet has 15 digits; a longer number would be another one. */
static void put_value(struct book *b, lxw_col_t col, struct text t)
{
	double v;
	if (t.len <= XLSX_DIGITS && text_double(t, &v)) {
		if (!b->rc)
			took(b, worksheet_write_number(b->sheet, b->row, col, v, NULL));
	} else {
		put_words(b, col, t, NULL);
	}
}

static void begin_sheet(struct book *b, const char *name)
{
	if (b->rc)
		return;
	b->row = 0;
	took(b, workbook_validate_sheet_name(b->wb, name));
	b->sheet = b->rc ? NULL : workbook_add_worksheet(b->wb, name);
	if (!b->rc && !b->sheet)
		b->rc = err_nomem(b->err);
	if (!b->rc)
		worksheet_freeze_panes(b->sheet, 1, 0);
}

static void put_head(struct book *b, lxw_col_t col, struct text label, double width)
{
	if (!b->rc)
		took(b, worksheet_set_column(b->sheet, col, col, width, NULL));
	put_words(b, col, label, b->bold);
}

/* ---- sheets ---- */

static bool is_named(xmlNodePtr n, const char *name)
{
	return !strcmp((const char *)n->name, name);
}

static bool has_numbers(xmlNodePtr column)
{
	struct text type = derive_attribute(column, "type");
	return text_is(type, "integer") || text_is(type, "real");
}

static void put_cell(struct book *b, lxw_col_t col, xmlNodePtr cell, xmlNodePtr column)
{
	CLEANUP(buf_done) struct buf list = BUF_INIT(64 * MIB);
	if (derive_element(cell->children)) {
		if (!b->rc)
			b->rc = derive_csv_list(cell, &list, b->err);
		put_words(b, col, buf_text(&list), NULL);
	} else if (derive_attribute(cell, "unknown").len) {
		put_words(b, col, TEXT("unknown"), NULL);
	} else if (has_numbers(column)) {
		put_value(b, col, derive_words(cell));
	} else {
		put_words(b, col, derive_words(cell), NULL);
	}
}

static void put_rows_of(struct book *b, xmlNodePtr table)
{
	xmlNodePtr first = derive_element(table->children), row = first;
	lxw_col_t col = 0;
	for (; row && is_named(row, "column"); row = derive_element(row->next), col++) {
		struct text type = derive_attribute(row, "type");
		put_head(b, col, derive_attribute(row, "label"),
			 has_numbers(row)        ? 14
			 : text_is(type, "time") ? 27
						 : 24);
	}
	for (; row && !b->rc; row = derive_element(row->next)) {
		xmlNodePtr column = first;
		b->row++;
		col = 0;
		for (xmlNodePtr c = derive_element(row->children); c && column;
		     c = derive_element(c->next), column = derive_element(column->next))
			put_cell(b, col++, c, column);
	}
	b->row++;
	if (text_is(derive_attribute(table, "truncated"), "true"))
		put_words(b, 0, TEXT("There are more rows than stand here."), b->bold);
}

static void put_number_rows(struct book *b, xmlNodePtr root)
{
	static const char *const columns[] = {"id",   "value",    "band",       "count", "unit",
					      "flag", "at-least", "population", "of",    "percent"};
	lxw_col_t col = 0;
	for (; col < ARRAY_SIZE(columns); col++)
		put_head(b, col, text_of(columns[col]), col ? 12 : 24);
	put_head(b, col, TEXT("text"), 60);
	for (xmlNodePtr list = derive_element(root->children); list && !b->rc; list = derive_element(list->next)) {
		if (!is_named(list, "numbers") && !is_named(list, "limits"))
			continue;
		for (xmlNodePtr n = derive_element(list->children); n && !b->rc; n = derive_element(n->next)) {
			struct text id = derive_attribute(n, "id");
			b->row++;
			put_words(b, 0, id.len ? id : text_of((const char *)n->name), NULL);
			for (col = 1; col < ARRAY_SIZE(columns); col++) {
				struct text t = derive_attribute(n, columns[col]);
				if (!strcmp(columns[col], "band")) /* "1" is the words of a band */
					put_words(b, col, t, NULL);
				else
					put_value(b, col, t);
			}
			put_words(b, col, derive_words(n), NULL);
		}
	}
}

/* What the workbook is of, and what stands on which sheet; where a table is empty, what that means. */
static void put_line(struct book *b, struct text a, struct text second, struct text third)
{
	b->row++;
	put_words(b, 0, a, NULL);
	put_words(b, 1, second, NULL);
	put_words(b, 2, third, NULL);
}

static bool next_table(xmlNodePtr *section, xmlNodePtr *table, char name[XLSX_NAME_MAX + 1])
{
	xmlNodePtr t = *table ? derive_element((*table)->next) : NULL;
	while (*section) {
		bool list = *table != NULL;
		if (!*table)
			t = is_named(*section, "section") ? derive_element((*section)->children) : NULL;
		while (t && !is_named(t, "table"))
			t = derive_element(t->next);
		if (t) {
			snprintf(name, XLSX_NAME_MAX + 1, "%.*s%s", XLSX_NAME_MAX - 5,
				 derive_attribute(*section, "id").ptr, list ? "-list" : "");
			*table = t;
			return true;
		}
		*section = derive_element((*section)->next);
		*table = NULL;
	}
	return false;
}

static void put_contents(struct book *b, xmlNodePtr root)
{
	xmlNodePtr header = derive_element(root->children), section = header, table = NULL;
	char name[XLSX_NAME_MAX + 1];
	put_head(b, 0, TEXT("Sheet"), 28);
	put_head(b, 1, TEXT("Rows"), 28);
	put_head(b, 2, TEXT("What it is of"), 90);
	put_line(b, TEXT("kind"), derive_attribute(root, "kind"), TEXT(""));
	for (xmlNodePtr n = derive_element(header->children); n && !b->rc; n = derive_element(n->next))
		put_line(b, text_of((const char *)n->name), derive_words(n), derive_attribute(n, "name"));
	put_line(b, TEXT("numbers"), TEXT(""), TEXT("Numbers and limits, with what they are of"));
	while (!b->rc && next_table(&section, &table, name)) {
		struct text rows = derive_attribute(table, "rows");
		put_line(b, text_of(name), TEXT(""),
			 derive_attribute(text_is(rows, "0") ? table : section,
					  text_is(rows, "0") ? "empty-means" : "title"));
		put_value(b, 1, rows);
	}
}

static void put_sheets(struct book *b, xmlNodePtr root)
{
	xmlNodePtr section = derive_element(root->children), table = NULL;
	char name[XLSX_NAME_MAX + 1];
	begin_sheet(b, "contents");
	if (!b->rc)
		put_contents(b, root);
	begin_sheet(b, "numbers");
	if (!b->rc)
		put_number_rows(b, root);
	while (!b->rc && next_table(&section, &table, name)) {
		begin_sheet(b, name);
		if (!b->rc)
			put_rows_of(b, table);
	}
}

/* ---- the file: the library writes to a path, so to that of one without a name ---- */

static int read_back(int fd, struct buf *out, struct err *err)
{
	off_t n = lseek(fd, 0, SEEK_END);
	int rc = n > 0 ? buf_reserve(out, (size_t)n, err) : err_set(err, ERR_IO, "the workbook cannot be written");
	for (off_t at = 0; !rc && at < n;) {
		ssize_t got = pread(fd, out->ptr + out->len, (size_t)(n - at), at);
		if (got <= 0)
			return err_set_errno(err, ERR_IO, "the workbook cannot be read back");
		out->len += (size_t)got;
		at += got;
	}
	if (!rc)
		out->ptr[out->len] = '\0';
	return rc;
}

static int write_book(xmlDocPtr doc, int64_t made_ns, char *path, struct err *err)
{
	char *dir = getenv("SQLITE_TMPDIR"); /* else the library's own choice: TMPDIR, /tmp */
	lxw_workbook_options options = {.constant_memory = LXW_TRUE, .tmpdir = dir && *dir ? dir : NULL};
	/* 0 would be the present time; without a date it is the format's first */
	lxw_doc_properties p = {.created = made_ns == TIME_UNKNOWN ? 315532800 : (time_t)(made_ns / NS_PER_S)};
	struct book b = {.wb = workbook_new_opt(path, &options), .err = err};
	if (!b.wb)
		return err_nomem(err);
	took(&b, workbook_set_properties(b.wb, &p));
	b.bold = workbook_add_format(b.wb);
	if (b.bold)
		format_set_bold(b.bold);
	put_sheets(&b, xmlDocGetRootElement(doc));
	lxw_error e = workbook_close(b.wb); /* frees it, whatever it says */
	if (e && !b.rc) {
		b.rc = err_set(err, ERR_IO, "the workbook cannot be written: %s", lxw_strerror(e));
		err_hint(err, "it needs room for temporary files (TMPDIR)");
	}
	return b.rc;
}

int derive_xlsx(xmlDocPtr doc, int64_t made_ns, struct buf *out, struct err *err)
{
	char path[64];
	int fd = temp_file();
	if (fd < 0) {
		err_set_errno(err, ERR_IO, "no temporary file for the workbook");
		return err_hint(err, "it needs room for temporary files (TMPDIR)");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CLEANUP(buf_done) struct buf words = BUF_INIT(1024 * MIB);
	int rc = write_book(doc, made_ns, path, err);
	if (!rc)
		rc = read_back(fd, out, err);
	if (!rc) /* a disk that was full on the way */
		rc = xlsx_words(buf_text(out), &words, err);
	close(fd);
	return rc;
}
