/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - rows as an aligned table, one JSON document, JSON lines or CSV
 *
 * Invariants: nothing is cut silently (a limit that was hit is said in the table's last line and in "truncated");
 * memory does not grow with the number of rows (the JSON document says row_count first, so its rows wait in an unnamed
 * temporary file; a table measures its columns on the first TABLE_MEASURED rows); foreign text reaches a terminal or
 * CSV only through text_visible(), JSON only through buf_json_string() and buf_json_value(). What is given out gathers in one
 * buffer, which is written when it is full; a part gathers in a thread of its own until it is joined.
 */
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/json.h"

enum { TABLE_LIMIT = 200, OUT_BYTES = 128 * KIB };

static int find_column(const struct rows *r, struct text name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (text_eq(r->columns[i].name, name))
			return (int)i;
	return -1;
}

static int choose_columns(struct rows *r, const char *list, struct err *err)
{
	struct text rest = text_of(list), part;
	while (text_split(&rest, ',', &part)) {
		part = text_trim(part);
		int i = find_column(r, part);
		if (i < 0) {
			err_set(err, ERR_USAGE, "no column '%.*s'", TEXT_ARG(part));
			CLEANUP(buf_done) struct buf names = BUF_INIT(8 * KIB);
			for (unsigned c = 0; c < r->n; c++)
				if (buf_printf(&names, NULL, "%s%.*s", c ? ", " : "", TEXT_ARG(r->columns[c].name)))
					break;
			return err_hint(err, "there are: %.*s", TEXT_ARG(buf_text(&names)));
		}
		if (r->n_shown == ROWS_COLUMNS_MAX)
			return err_set(err, ERR_USAGE, "too many columns");
		r->shown[r->n_shown++] = i;
	}
	return 0;
}

/* Keys and which columns are wanted, once it is known which are shown. */
static int shown_columns(struct rows *r, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < r->n_shown && !rc; i++) {
		r->wanted[r->shown[i]] = true;
		if (i)
			rc = buf_add_char(&r->keys, ',', err);
		if (!rc)
			rc = buf_json_string(&r->keys, r->columns[r->shown[i]].name, err);
		if (!rc)
			rc = buf_add_char(&r->keys, ':', err);
		r->key_end[i] = r->keys.len;
	}
	r->direct = r->format == ROWS_JSON || r->format == ROWS_JSONL;
	for (unsigned i = 1; i < r->n_shown; i++)
		r->direct &= r->shown[i] > r->shown[i - 1];
	return rc;
}

static struct rows *rows_new(enum rows_format format, const struct rows_column *columns, unsigned n)
{
	struct rows *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->format = format;
	memcpy(r->columns, columns, n * sizeof(*columns));
	r->n = n;
	r->as_of_ns = TIME_UNKNOWN;
	r->name = r->case_path = r->params = r->note = r->keys = BUF_INIT(1 * MIB);
	r->row = r->cells = r->prefix = r->cut = BUF_INIT(256 * MIB);
	r->out = BUF_INIT(1024 * MIB); /* a row more than it is full with */
	return r;
}

int rows_open(struct rows **ret, const struct rows_options *o, const char *case_path, struct text name,
	      const struct rows_column *columns, unsigned n, const char *table_columns, struct err *err)
{
	if (o->json + o->jsonl + o->csv > 1)
		return err_set(err, ERR_USAGE, "--json, --jsonl and --csv exclude each other");
	if (n > ROWS_COLUMNS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d columns", ROWS_COLUMNS_MAX);
	struct rows *r = rows_new(o->json    ? ROWS_JSON
				  : o->jsonl ? ROWS_JSONL
				  : o->csv   ? ROWS_CSV
					     : ROWS_TABLE,
				  columns, n);
	if (!r)
		return err_nomem(err);
	r->limit = o->limit >= 0 ? o->limit : r->format == ROWS_TABLE ? TABLE_LIMIT : 0;
	/* who watches a terminal sees each row at once */
	r->out_full = r->format != ROWS_JSON && isatty(STDOUT_FILENO) ? 1 : OUT_BYTES;
	int rc = 0;
	if (o->columns) {
		r->chosen = true;
		rc = choose_columns(r, o->columns, err);
	} else if (r->format == ROWS_TABLE && table_columns) {
		rc = choose_columns(r, table_columns, err);
	} else {
		for (unsigned i = 0; i < n; i++)
			r->shown[r->n_shown++] = (int)i;
	}
	if (!rc)
		rc = shown_columns(r, err);
	if (!rc && o->tz)
		rc = zone_open(&r->zone, text_of(o->tz), err);
	if (!rc && r->format == ROWS_TABLE && !(r->json = json_new()))
		rc = err_nomem(err);
	if (!rc)
		rc = buf_json_string(&r->name, name, err);
	if (!rc)
		rc = buf_json_string(&r->case_path, text_of(case_path), err);
	if (!rc && r->format == ROWS_JSON && !(r->spool = tmpfile()))
		rc = err_set_errno(err, ERR_IO, "cannot make a temporary file");
	if (rc) {
		rows_drop(r);
		return rc;
	}
	*ret = r;
	return 0;
}

static void write_out(struct rows *r)
{
	FILE *to = r->spool ? r->spool : stdout;
	if (r->out.len)
		fwrite(r->out.ptr, 1, r->out.len, to);
	buf_clear(&r->out);
}

void rows_drop(struct rows *r)
{
	if (!r)
		return;
	if (r->n_direct) /* of a row that did not come to its end */
		r->out.len = r->row_start;
	if (!r->part && r->format != ROWS_JSON)
		write_out(r);
	zone_close(r->zone);
	json_free(r->json);
	buf_done(&r->name);
	buf_done(&r->case_path);
	buf_done(&r->params);
	buf_done(&r->note);
	buf_done(&r->row);
	buf_done(&r->cells);
	buf_done(&r->prefix);
	buf_done(&r->cut);
	buf_done(&r->keys);
	buf_done(&r->out);
	for (unsigned i = 0; i < r->n_extras; i++)
		free(r->extras[i].json);
	free(r->cell_at);
	if (r->spool)
		fclose(r->spool);
	free(r);
}

static void keep(struct rows *r, int rc)
{
	if (rc && !r->rc)
		r->rc = rc;
}

void rows_param(struct rows *r, struct text name, struct text value)
{
	if (r->params.len)
		keep(r, buf_add_char(&r->params, ',', NULL));
	keep(r, buf_json_string(&r->params, name, NULL));
	keep(r, buf_add_char(&r->params, ':', NULL));
	keep(r, buf_json_string(&r->params, value, NULL));
}

void rows_as_of(struct rows *r, int64_t ns)
{
	r->as_of_ns = ns;
}

void rows_extra(struct rows *r, const char *name, struct text json)
{
	char *copy = r->n_extras < EXTRAS_MAX ? strndup(json.ptr, json.len) : NULL;
	if (copy)
		r->extras[r->n_extras++] = (struct extra){name, copy};
	else
		keep(r, ERR_NOMEM);
}

void rows_note(struct rows *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	keep(r, buf_vprintf(&r->note, NULL, fmt, ap));
	va_end(ap);
	keep(r, buf_add_char(&r->note, '\n', NULL));
}

/* --- cells --- */

static bool beyond_limit(const struct rows *r)
{
	return r->limit && r->count >= r->limit;
}

/* ["a","b"] as "a, b"; {"T":"yes"} as "T=yes". What is no list stays as it is. */
static int put_words(struct rows *r, struct text v, struct err *err)
{
	struct json_value doc, item;
	struct text key, t;
	char tmp[32];
	CLEANUP(buf_done) struct buf clean = BUF_INIT(v.len * 6 + KIB);
	int rc = text_utf8_valid(v) ? 0 : buf_json_value(&clean, v, err);
	if (clean.len)
		v = buf_text(&clean);
	if (!rc)
		rc = json_parse(r->json, v, false, &doc, NULL, err);
	if (rc)
		return rc < 0 ? rc : text_visible(v, CELL_MAX_BYTES, &r->row, err);
	struct json_iter it = json_iter(doc);
	for (int n = 0; !rc && json_next(&it, &key, &item); n++) {
		rc = n ? buf_add(&r->row, ", ", 2, err) : 0;
		if (!rc && key.len)
			rc = buf_printf(&r->row, err, "%.*s=", TEXT_ARG(key));
		if (!rc)
			rc = json_id(item, tmp, &t) ? text_visible(t, CELL_MAX_BYTES, &r->row, err)
						    : json_write(item, &r->row, err);
	}
	return rc;
}

static int json_cell(struct buf *to, struct text v, bool quote, struct err *err)
{
	if (!v.ptr)
		return buf_add(to, "null", 4, err);
	return quote ? buf_json_string(to, v, err) : buf_json_value(to, v, err);
}

/* What comes before a JSON row. */
static struct text row_head(const struct rows *r)
{
	if (r->format == ROWS_JSONL)
		return TEXT("{");
	return r->count || r->part ? TEXT(",\n{") : TEXT("\n{");
}

/* The next cell of a row whose cells come in the order in which they are shown. */
static int direct_cell(struct rows *r, struct text v, bool quote, struct err *err)
{
	unsigned i = r->n_direct++;
	size_t key = i ? r->key_end[i - 1] : 0;
	int rc = 0;
	if (!i) {
		r->row_start = r->out.len;
		rc = buf_add_text(&r->out, row_head(r), err);
	}
	if (!rc)
		rc = buf_add(&r->out, r->keys.ptr + key, r->key_end[i] - key, err);
	return rc ? rc : json_cell(&r->out, v, quote, err);
}

static int cell(struct rows *r, struct text v, bool quote, struct err *err)
{
	unsigned at = r->at++;
	if (at >= r->n)
		return err_set(err, ERR_BUG, "more cells than columns");
	if (!r->wanted[at] || beyond_limit(r))
		return 0;
	if (r->direct)
		return direct_cell(r, v, quote, err);
	r->cell_start[at] = r->row.len;
	int rc;
	if (r->format == ROWS_JSON || r->format == ROWS_JSONL) {
		rc = json_cell(&r->row, v, quote, err);
	} else if (v.ptr && r->format == ROWS_TABLE && r->columns[at].type == CELL_JSON) {
		rc = put_words(r, v, err);
	} else {
		rc = v.ptr ? text_visible(v, CELL_MAX_BYTES, &r->row, err) : 0;
	}
	r->cell_end[at] = r->row.len;
	return rc;
}

int rows_null(struct rows *r, struct err *err)
{
	return cell(r, (struct text){NULL, 0}, false, err);
}

int rows_text(struct rows *r, struct text v, struct err *err)
{
	return cell(r, v, r->at < r->n && r->columns[r->at].type != CELL_JSON, err);
}

int rows_int(struct rows *r, int64_t v, struct err *err)
{
	if (r->at < r->n && r->columns[r->at].type == CELL_BOOL)
		return r->format == ROWS_TABLE ? cell(r, v ? TEXT("yes") : TEXT("no"), false, err)
					       : cell(r, v ? TEXT("true") : TEXT("false"), false, err);
	char tmp[TEXT_NUMBER_MAX];
	return cell(r, (struct text){tmp, text_put_int64(tmp, v)}, false, err);
}

int rows_real(struct rows *r, double v, struct err *err)
{
	char tmp[TEXT_DOUBLE_MAX];
	if (!isfinite(v) && (r->format == ROWS_JSON || r->format == ROWS_JSONL)) /* JSON knows none */
		return rows_null(r, err);
	return cell(r, (struct text){tmp, text_put_double(tmp, v)}, false, err);
}

int rows_time(struct rows *r, int64_t ns, struct err *err)
{
	if (ns == TIME_UNKNOWN)
		return rows_null(r, err);
	char tmp[64];
	stamp_format(ns, tmp, sizeof(tmp));
	if (r->zone && r->format == ROWS_TABLE)
		zone_format(r->zone, ns, tmp, sizeof(tmp));
	return cell(r, text_of(tmp), true, err);
}

/* --- rows --- */

char *rows_room(struct rows *r, size_t n)
{
	int rc = buf_reserve(&r->out, n, NULL);
	keep(r, rc);
	return rc ? NULL : r->out.ptr + r->out.len;
}

void rows_put(struct rows *r, struct text t)
{
	keep(r, buf_add_text(&r->out, t, NULL));
}

static void put_json_row(struct rows *r)
{
	if (!r->direct)
		rows_put(r, row_head(r));
	for (unsigned i = 0; i < r->n_shown && !r->direct; i++) {
		size_t key = i ? r->key_end[i - 1] : 0;
		rows_put(r, (struct text){r->keys.ptr + key, r->key_end[i] - key});
		rows_put(r, rows_cell(r, (unsigned)r->shown[i]));
	}
	rows_put(r, r->format == ROWS_JSONL ? TEXT("}\n") : TEXT("}"));
	r->n_direct = 0;
}

static void put_csv_cell(struct rows *r, struct text t)
{
	/* a cell that a spreadsheet would run as a formula is defused */
	bool formula = t.len && strchr("=+-@\t\r", t.ptr[0]);
	int64_t number;
	double real;
	if (formula && (text_int64(t, &number) || text_double(t, &real) || text_is(t, "-inf")))
		formula = false;
	rows_put(r, formula ? TEXT("\"'") : TEXT("\""));
	while (t.len) {
		size_t quote = text_find_char(t, '"', 0), n = MIN(quote, t.len);
		rows_put(r, text_sub(t, 0, n));
		if (quote != SIZE_MAX)
			rows_put(r, TEXT("\"\""));
		t = text_from(t, n + (quote != SIZE_MAX));
	}
	rows_put(r, TEXT("\""));
}

static void put_csv_head(struct rows *r)
{
	if (r->started || r->part)
		return;
	r->started = true;
	for (unsigned i = 0; i < r->n_shown; i++) {
		if (i)
			rows_put(r, TEXT(","));
		rows_put(r, r->columns[r->shown[i]].name);
	}
	rows_put(r, TEXT("\r\n"));
}

static void put_csv_row(struct rows *r)
{
	put_csv_head(r);
	for (unsigned i = 0; i < r->n_shown; i++) {
		if (i)
			rows_put(r, TEXT(","));
		put_csv_cell(r, rows_cell(r, (unsigned)r->shown[i]));
	}
	rows_put(r, TEXT("\r\n"));
}

int rows_end_row(struct rows *r, struct err *err)
{
	if (r->at != r->n)
		return err_set(err, ERR_BUG, "%u cells for %u columns", r->at, r->n);
	r->at = 0;
	if (beyond_limit(r)) {
		r->count++;
		return 0;
	}
	int rc = 0;
	switch (r->format) {
	case ROWS_JSON:
	case ROWS_JSONL: put_json_row(r); break;
	case ROWS_CSV: put_csv_row(r); break;
	case ROWS_TABLE: rc = rows_table_row(r, err); break;
	}
	buf_clear(&r->row);
	r->count++;
	r->printed++;
	if (!r->part && r->out.len >= r->out_full)
		write_out(r);
	return rc;
}

bool rows_full(const struct rows *r)
{
	return beyond_limit(r);
}

void rows_found(struct rows *r, int64_t n)
{
	r->count = MAX(r->count, n);
}

/* --- parts --- */

int rows_part(struct rows **ret, const struct rows *r, size_t bytes, struct err *err)
{
	*ret = NULL;
	if (r->format == ROWS_TABLE || r->limit)
		return 0;
	struct rows *p = rows_new(r->format, r->columns, r->n);
	if (!p)
		return err_nomem(err);
	p->part = true;
	p->n_shown = r->n_shown;
	memcpy(p->shown, r->shown, sizeof(p->shown));
	int rc = shown_columns(p, err);
	if (!rc) /* at once: memory that is never touched costs nothing, growing does */
		rc = buf_reserve(&p->out, bytes + bytes / 4, err);
	if (rc) {
		rows_drop(p);
		return rc;
	}
	*ret = p;
	return 0;
}

int rows_list(struct rows **ret, const struct rows_column *columns, unsigned n, struct err *err)
{
	if (n > ROWS_COLUMNS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d columns", ROWS_COLUMNS_MAX);
	struct rows *p = rows_new(ROWS_JSON, columns, n);
	if (!p)
		return err_nomem(err);
	p->part = true;
	for (unsigned i = 0; i < n; i++)
		p->shown[p->n_shown++] = (int)i;
	int rc = shown_columns(p, err);
	if (rc)
		rows_drop(p);
	else
		*ret = p;
	return rc;
}

int rows_listed(const struct rows *list, struct buf *b, struct err *err)
{
	int rc = buf_add_char(b, '[', err);
	if (!rc) /* without the comma before the first */
		rc = buf_add_text(b, text_from(buf_text(&list->out), 1), err);
	return rc ? rc : buf_add_char(b, ']', err);
}

size_t rows_part_bytes(const struct rows *part)
{
	return part->out.len;
}

void rows_join(struct rows *r, struct rows *part)
{
	struct text t = buf_text(&part->out);
	keep(r, part->rc);
	if (part->count && r->format == ROWS_CSV)
		put_csv_head(r);
	if (part->count && r->format == ROWS_JSON && !r->count)
		t = text_from(t, 1); /* no comma before the first */
	write_out(r);
	fwrite(t.ptr, 1, t.len, r->spool ? r->spool : stdout);
	r->count += part->count;
	r->printed += part->count;
	part->count = part->printed = 0;
	buf_clear(&part->out);
}

static int close_json(struct rows *r, struct err *err)
{
	write_out(r);
	char as_of[48] = "";
	if (r->as_of_ns != TIME_UNKNOWN)
		stamp_format(r->as_of_ns, as_of, sizeof(as_of));
	printf("{\"tool\":\"pagetrail\",\"version\":\"%s\",\"case\":%.*s,\"query\":%.*s,\"params\":{%.*s},",
	       PAGETRAIL_VERSION, TEXT_ARG(buf_text(&r->case_path)), TEXT_ARG(buf_text(&r->name)),
	       TEXT_ARG(buf_text(&r->params)));
	if (as_of[0])
		printf("\"as_of\":\"%s\",", as_of);
	else
		fputs("\"as_of\":null,", stdout);
	printf("\"row_count\":%" PRId64 ",\"truncated\":%s,", r->printed, r->count > r->printed ? "true" : "false");
	if (r->count > r->printed)
		printf("\"rows_found\":%" PRId64 ",", r->count);
	for (unsigned i = 0; i < r->n_extras; i++)
		printf("\"%s\":%s,", r->extras[i].name, r->extras[i].json ? r->extras[i].json : "null");
	fputs("\"rows\":[", stdout);
	char block[65536];
	if (fflush(r->spool) || fseek(r->spool, 0, SEEK_SET))
		return err_set_errno(err, ERR_IO, "cannot read the temporary file back");
	for (size_t n; (n = fread(block, 1, sizeof(block), r->spool)) > 0;)
		fwrite(block, 1, n, stdout);
	if (ferror(r->spool))
		return err_set_errno(err, ERR_IO, "cannot read the temporary file back");
	fputs("]}\n", stdout);
	return 0;
}

int rows_close(struct rows *r, int64_t *ret_count, struct err *err)
{
	int rc = r->rc ? err_set(err, r->rc, "the rows cannot be written: out of memory") : 0;
	if (rc) {
		rows_drop(r);
		return rc;
	}
	switch (r->format) {
	case ROWS_JSON: rc = close_json(r, err); break;
	case ROWS_JSONL: break;
	case ROWS_CSV: put_csv_head(r); break;
	case ROWS_TABLE:
		if (r->count)
			rows_table_end(r);
		write_out(r);
		if (r->count > r->printed)
			printf("(%" PRId64 " of %" PRId64 " rows; --limit 0 shows all)\n", r->printed, r->count);
		rows_sentences(buf_text(&r->note));
		break;
	}
	write_out(r);
	if (r->count > r->printed && (r->format == ROWS_CSV || r->format == ROWS_JSONL))
		fprintf(stderr, "pagetrail: %" PRId64 " of %" PRId64 " rows written: --limit 0 gives all\n", r->printed,
			r->count);
	if (ret_count)
		*ret_count = r->count;
	rows_drop(r);
	return rc ? rc : system_flush(err);
}
