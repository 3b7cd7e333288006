/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - the files of a case, gathered from the rows of a query; their totals, check sums and statement */
#include "manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jot.h"
#include "pagetrail/case.h"
#include "pagetrail/limits.h"

static const char *const names[M_COLUMNS] = {
    [M_SOURCE] = "source",
    [M_FILE] = "file",
    [M_STATUS] = "status",
    [M_REASON] = "reason",
    [M_SHA256] = "sha256",
    [M_STORED_BYTES] = "stored_bytes",
    [M_BYTES] = "bytes",
    [M_RECORDS] = "records",
    [M_PARSED] = "parsed",
    [M_CONTEXT] = "context",
    [M_UNPARSED] = "unparsed",
    [M_DUPLICATE] = "duplicate",
    [M_EVIDENCE_BYTES] = "evidence_bytes",
    [M_FIRST_AT] = "first_at",
    [M_LAST_AT] = "last_at",
    [M_JOURNAL_SEQ] = "journal_seq",
};

bool manifest_is_time(const struct manifest *m, unsigned column)
{
	return text_ends(m->columns[column], "_at");
}

/* ---- rows ---- */

static int find_columns(struct manifest *m, struct sql *s, struct err *err)
{
	m->n_columns = (unsigned)sql_columns(s);
	m->columns = arena_array(&m->arena, m->n_columns, sizeof(*m->columns));
	if (!m->columns)
		return err_nomem(err);
	for (unsigned i = 0; i < m->n_columns; i++) {
		m->columns[i] = arena_text(&m->arena, text_of(sql_column_name(s, (int)i)));
		if (!m->columns[i].ptr)
			return err_nomem(err);
	}
	for (unsigned k = 0; k < M_COLUMNS; k++) {
		unsigned i = 0;
		while (i < m->n_columns && !text_is(m->columns[i], names[k]))
			i++;
		if (i == m->n_columns)
			return err_set(err, ERR_BUG, "the query has no column '%s'", names[k]);
		m->at[k] = i;
	}
	return 0;
}

static int take_cell(struct manifest *m, struct sql *s, unsigned i, struct manifest_cell *cell, struct err *err)
{
	cell->type = sql_type(s, (int)i);
	if (cell->type == SQL_INT)
		cell->n = sql_get_int(s, (int)i);
	else if (cell->type == SQL_REAL)
		cell->real = sql_get_real(s, (int)i);
	else if (cell->type != SQL_NULL && sql_get_text(s, (int)i).len)
		cell->text = arena_text(&m->arena, sql_get_text(s, (int)i));
	else
		cell->text = TEXT("");
	return cell->type > SQL_REAL && !cell->text.ptr ? err_nomem(err) : 0;
}

static int take_row(struct manifest *m, struct sql *s, struct err *err)
{
	struct manifest_cell *row = arena_array(&m->arena, m->n_columns, sizeof(*row));
	int rc = row ? 0 : err_nomem(err);
	if (!rc && m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		struct manifest_cell **more = reallocarray(m->rows, cap, sizeof(*more));
		if (!more)
			return err_nomem(err);
		m->rows = more;
		m->cap = cap;
	}
	for (unsigned i = 0; !rc && i < m->n_columns; i++)
		rc = take_cell(m, s, i, &row[i], err);
	if (!rc)
		m->rows[m->n++] = row;
	return rc;
}

/* By file, then digest, then as the query gave them. */
static int row_order(const void *a, const void *b, void *ctx)
{
	const struct manifest *m = ctx;
	const struct manifest_cell *x = *(struct manifest_cell *const *)a, *y = *(struct manifest_cell *const *)b;
	static const enum manifest_column keys[] = {M_FILE, M_SHA256};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int d = text_cmp(x[m->at[keys[i]]].text, y[m->at[keys[i]]].text);
		if (d)
			return d;
	}
	int64_t d = x[m->at[M_SOURCE]].n - y[m->at[M_SOURCE]].n;
	return d ? (d < 0 ? -1 : 1) : text_cmp(x[m->at[M_STATUS]].text, y[m->at[M_STATUS]].text);
}

static int read_rows(struct manifest *m, struct case_file *c, const char *sql, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = find_columns(m, s, err);
	while (!rc && (rc = sql_step(s, err)) == 1)
		rc = take_row(m, s, err);
	if (!rc && m->n)
		qsort_r(m->rows, m->n, sizeof(*m->rows), row_order, m);
	return rc;
}

bool manifest_begins(const struct manifest *m, size_t row)
{
	return !row || !text_eq(manifest_cell(m, row, M_FILE)->text, manifest_cell(m, row - 1, M_FILE)->text) ||
	       !text_eq(manifest_cell(m, row, M_SHA256)->text, manifest_cell(m, row - 1, M_SHA256)->text);
}

/* The newest row about the file and digest of this one. */
static int64_t newest(const struct manifest *m, size_t row)
{
	int64_t seq = 0;
	do
		seq = MAX(seq, manifest_cell(m, row, M_JOURNAL_SEQ)->n);
	while (++row < m->n && !manifest_begins(m, row));
	return seq;
}

bool manifest_is_last(const struct manifest *m, size_t row)
{
	struct text file = manifest_cell(m, row, M_FILE)->text;
	int64_t seq = newest(m, row);
	for (size_t i = row; i-- > 0 && text_eq(manifest_cell(m, i, M_FILE)->text, file);)
		if (manifest_cell(m, i, M_JOURNAL_SEQ)->n > seq)
			return false;
	for (size_t i = row + 1; i < m->n && text_eq(manifest_cell(m, i, M_FILE)->text, file); i++)
		if (manifest_cell(m, i, M_JOURNAL_SEQ)->n > seq)
			return false;
	return true;
}

int manifest_load(struct manifest **ret, struct case_file *c, const char *sql, int64_t dated_ns, struct err *err)
{
	CLEANUP(buf_done) struct buf id = BUF_INIT(64 * KIB);
	unsigned char head[SHA256_BYTES] = {0};
	struct manifest *m = calloc(1, sizeof(*m));
	*ret = NULL;
	if (!m)
		return err_nomem(err);
	arena_init(&m->arena, MANIFEST_MAX_BYTES);
	m->dated_ns = dated_ns;
	int rc = case_info_get(c, "id", &id, err);
	if (rc >= 0)
		rc = journal_head(c, head, err);
	if (rc >= 0)
		rc = case_digest(c, m->content, err);
	if (rc >= 0) {
		sha256_hex(head, m->journal);
		m->case_id = id.len ? arena_text(&m->arena, buf_text(&id)) : TEXT("");
		rc = m->case_id.ptr ? read_rows(m, c, sql, err) : err_nomem(err);
	}
	if (rc < 0)
		manifest_free(m);
	else
		*ret = m;
	return MIN(rc, 0);
}

void manifest_free(struct manifest *m)
{
	if (!m)
		return;
	arena_done(&m->arena);
	free(m->rows);
	free(m);
}

/* ---- totals ---- */

static const char *const statuses[] = {"ingested", "unrecognised", "failed", "reading", "known"};
static const enum manifest_column sums[] = {M_BYTES,    M_RECORDS,   M_PARSED,        M_CONTEXT,
					    M_UNPARSED, M_DUPLICATE, M_EVIDENCE_BYTES};

struct totals {
	int64_t files, undigested, stored_bytes, by[ARRAY_SIZE(statuses)], sum[ARRAY_SIZE(sums)];
	int64_t first_ns, last_ns;
};

static bool is_copy(const struct manifest *m, size_t row)
{
	return text_is(manifest_cell(m, row, M_STATUS)->text, "known");
}

/* The size of the file that this row is the first of: a copy does not know it. */
static int64_t file_bytes(const struct manifest *m, size_t row)
{
	int64_t most = 0;
	do
		most = MAX(most, manifest_cell(m, row, M_STORED_BYTES)->n);
	while (++row < m->n && !manifest_begins(m, row));
	return most;
}

static void add_up(const struct manifest *m, struct totals *t)
{
	*t = (struct totals){.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_cell *first = manifest_cell(m, i, M_FIRST_AT),
					   *last = manifest_cell(m, i, M_LAST_AT);
		if (manifest_begins(m, i)) {
			t->files++;
			t->undigested += !manifest_cell(m, i, M_SHA256)->text.len;
			t->stored_bytes += file_bytes(m, i);
		}
		for (size_t k = 0; k < ARRAY_SIZE(statuses); k++)
			t->by[k] += text_is(manifest_cell(m, i, M_STATUS)->text, statuses[k]);
		for (size_t k = 0; k < ARRAY_SIZE(sums) && !is_copy(m, i); k++) /* the source has them */
			t->sum[k] += manifest_cell(m, i, sums[k])->n;
		if (first->type == SQL_INT && (t->first_ns == TIME_UNKNOWN || first->n < t->first_ns))
			t->first_ns = first->n;
		if (last->type == SQL_INT && (t->last_ns == TIME_UNKNOWN || last->n > t->last_ns))
			t->last_ns = last->n;
	}
}

static void put_totals(struct jot *j, const struct manifest *m)
{
	struct totals t;
	add_up(m, &t);
	jot_int(j, "files", t.files);
	jot_int(j, "files_without_digest", t.undigested);
	jot_int(j, "stored_bytes", t.stored_bytes);
	for (size_t k = 0; k < ARRAY_SIZE(statuses); k++)
		jot_int(j, statuses[k], t.by[k]);
	for (size_t k = 0; k < ARRAY_SIZE(sums); k++)
		jot_int(j, names[sums[k]], t.sum[k]);
	jot_time(j, "first_at", t.first_ns);
	jot_time(j, "last_at", t.last_ns);
}

int manifest_totals(const struct manifest *m, struct buf *out, struct err *err)
{
	struct jot j = {out, err, 0};
	jot_open(&j, NULL, '{');
	put_totals(&j, m);
	jot_text(&j, "journal_head", text_of(m->journal));
	jot_text(&j, "content_digest", text_of(m->content));
	jot_close(&j, '}');
	return j.rc;
}

int manifest_say(const struct manifest *m, struct buf *out, struct err *err)
{
	struct totals t;
	add_up(m, &t);
	int rc = buf_printf(out, err,
			    "%" PRId64 " file%s as given: %" PRId64 " source%s read to the end, %" PRId64
			    " not recognised, %" PRId64 " failed, %" PRId64 " cut short, %" PRId64
			    " with bytes that were known. %" PRId64 " record%s: %" PRId64 " parsed, %" PRId64
			    " context, %" PRId64 " unparsed, %" PRId64 " duplicate.",
			    t.files, PLURAL(t.files), t.by[0], PLURAL(t.by[0]), t.by[1], t.by[2], t.by[3], t.by[4],
			    t.sum[1], PLURAL(t.sum[1]), t.sum[2], t.sum[3], t.sum[4], t.sum[5]);
	return rc ? rc : buf_printf(out, err, "\njournal head %s\ncontent digest %s", m->journal, m->content);
}

/* ---- check sums ---- */

/* As coreutils 9.1 prints and takes it: a name with a backslash or a line end in it is escaped, and the line begins with a backslash. */
static int put_sum(struct text digest, struct text name, struct buf *out, struct err *err)
{
	bool escaped = text_find_char(name, '\\', 0) != SIZE_MAX || text_find_char(name, '\n', 0) != SIZE_MAX ||
		       text_find_char(name, '\r', 0) != SIZE_MAX;
	int rc = buf_printf(out, err, "%s%.*s  ", escaped ? "\\" : "", TEXT_ARG(digest));
	for (size_t i = 0; !rc && i < name.len; i++) {
		char c = name.ptr[i];
		rc = c == '\\'   ? buf_add_text(out, TEXT("\\\\"), err)
		     : c == '\n' ? buf_add_text(out, TEXT("\\n"), err)
		     : c == '\r' ? buf_add_text(out, TEXT("\\r"), err)
				 : buf_add_char(out, c, err);
	}
	return rc ? rc : buf_add_char(out, '\n', err);
}

static int put_comment(struct text digest, struct text name, struct text why, struct buf *out, struct err *err)
{
	int rc = buf_printf(out, err, "# %.*s%s", TEXT_ARG(digest), digest.len ? "  " : "");
	if (!rc)
		rc = text_visible(name, CELL_MAX_BYTES, out, err);
	if (!rc)
		rc = buf_add_text(out, TEXT(": "), err);
	if (!rc)
		rc = text_visible(why, CELL_MAX_BYTES, out, err);
	return rc ? rc : buf_add_char(out, '\n', err);
}

/* Named by `snapshot` or `probe`, "snapshot/2026-09-14T09:00:00Z/…": never a file of anybody's. */
static bool was_fetched(struct text name)
{
	size_t slash = text_find_char(name, '/', 0);
	struct text at = slash == SIZE_MAX ? TEXT("") : text_from(name, slash + 1);
	return (text_starts(name, "snapshot/") || text_starts(name, "probe/")) && at.len > 20 && at.ptr[4] == '-' &&
	       at.ptr[10] == 'T' && text_find(at, "Z/", 0) < 32;
}

/* Why sha256sum cannot look at the file; empty: it can. */
static struct text not_checked(const struct manifest *m, size_t row)
{
	struct text name = manifest_cell(m, row, M_FILE)->text, reason = manifest_cell(m, row, M_REASON)->text;
	if (!manifest_cell(m, row, M_SHA256)->text.len)
		return reason.len ? reason : TEXT("its digest is not known");
	if (text_is(name, "-"))
		return TEXT("standard input");
	if (was_fetched(name))
		return TEXT("fetched by the program itself: it stands in the case alone");
	if (!manifest_is_last(m, row))
		return TEXT("another file of this name came in later");
	if (is_copy(m, row) && text_find(name, "\xef\xbf\xbd", 0) != SIZE_MAX)
		return TEXT("the bytes of its name were not kept");
	return TEXT("");
}

int manifest_sums(const struct manifest *m, struct buf *out, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < m->n; i++) {
		struct text digest = manifest_cell(m, i, M_SHA256)->text, name = manifest_cell(m, i, M_FILE)->text;
		if (!manifest_begins(m, i))
			continue;
		struct text why = not_checked(m, i);
		rc = why.len ? put_comment(digest, name, why, out, err) : put_sum(digest, name, out, err);
	}
	return rc;
}

/* ---- statement ---- */

static size_t put_subjects(struct jot *j, const struct manifest *m)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(MIB);
	size_t n = 0;
	for (size_t i = 0; !j->rc && i < m->n; i++) {
		struct text digest = manifest_cell(m, i, M_SHA256)->text;
		if (!manifest_begins(m, i) || !digest.len)
			continue;
		buf_clear(&name); /* names have to differ: two files may have had one path, one after the other */
		j->rc = buf_printf(&name, j->err, "F%zu ", ++n);
		if (!j->rc)
			j->rc = buf_add_text(&name, manifest_cell(m, i, M_FILE)->text, j->err);
		jot_subject(j, buf_text(&name), digest);
	}
	jot_close(j, ']');
	return n;
}

static void put_row(struct jot *j, const struct manifest *m, const struct manifest_cell *row)
{
	jot_open(j, NULL, '{');
	for (unsigned i = 0; !j->rc && i < m->n_columns; i++) {
		const char *key = m->columns[i].ptr;
		char real[TEXT_DOUBLE_MAX];
		switch (row[i].type) {
		case SQL_NULL: jot_json(j, key, TEXT("null")); break;
		case SQL_REAL: jot_json(j, key, (struct text){real, text_put_double(real, row[i].real)}); break;
		case SQL_INT:
			if (manifest_is_time(m, i))
				jot_time(j, key, row[i].n);
			else
				jot_int(j, key, row[i].n);
			break;
		default: jot_text(j, key, row[i].text);
		}
	}
	jot_close(j, '}');
}

static void put_predicate(struct jot *j, const struct manifest *m)
{
	jot_open(j, "tool", '{');
	jot_text(j, "name", TEXT("pagetrail"));
	jot_text(j, "version", TEXT(PAGETRAIL_VERSION));
	jot_close(j, '}');
	jot_open(j, "case", '{');
	jot_text_or_null(j, "id", m->case_id);
	jot_text(j, "journal_sha256", text_of(m->journal));
	jot_text(j, "content_sha256", text_of(m->content));
	jot_close(j, '}');
	jot_time(j, "as_of", m->dated_ns);
	jot_open(j, "totals", '{');
	put_totals(j, m);
	jot_close(j, '}');
	jot_open(j, "rows", '[');
	for (size_t i = 0; !j->rc && i < m->n; i++)
		put_row(j, m, m->rows[i]);
	jot_close(j, ']');
}

int manifest_statement(const struct manifest *m, struct buf *out, struct err *err)
{
	struct jot j = {out, err, 0};
	jot_statement(&j);
	if (!put_subjects(&j, m) && !j.rc) {
		err_set(err, ERR_INPUT, "a statement is about files, and no digest of any is known");
		return err_hint(err, "'pagetrail info CASE' says what was read");
	}
	jot_text(&j, "predicateType", TEXT(MANIFEST_PREDICATE));
	jot_open(&j, "predicate", '{');
	put_predicate(&j, m);
	jot_close(&j, '}');
	jot_close(&j, '}');
	return j.rc ? j.rc : buf_add_char(out, '\n', err);
}
