/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - rows as an aligned table, one JSON document, JSON lines or CSV
 *
 * Invariants: nothing is cut silently (a limit that was hit is said in the table's last line and in "truncated");
 * memory does not grow with the number of rows (the JSON document says row_count first, so its rows wait in an unnamed
 * temporary file; a table measures its columns on the first TABLE_MEASURED rows); foreign text reaches a terminal or
 * CSV only through text_visible(), JSON only through buf_json_string().
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pagetrail/json.h"

enum { TABLE_MEASURED = 1000, TABLE_LIMIT = 200, EXTRAS_MAX = 8, CELL_WIDTH_MAX = 60 };

struct extra {
	const char *name;
	char *json;
};

struct rows {
	enum rows_format format;
	struct rows_column columns[ROWS_COLUMNS_MAX];
	unsigned n;
	int shown[ROWS_COLUMNS_MAX]; /* indexes of columns, in output order */
	unsigned n_shown;
	bool chosen; /* by --columns: a person asked for these, none is dropped */
	unsigned at; /* next cell */
	int64_t limit, count, printed;
	struct zone *zone;
	struct json *json; /* tables read lists out as words */
	struct buf name, case_path, params, note, row;
	int64_t as_of_ns;
	struct extra extras[EXTRAS_MAX];
	unsigned n_extras;
	FILE *spool;
	/* table: cells of the rows measured, NUL-separated in `cells`; one offset a cell */
	struct buf cells;
	size_t *cell_at;
	size_t n_cells, cap_cells;
	unsigned width[ROWS_COLUMNS_MAX];
	bool started;
	int rc;                              /* of the parts that cannot report: said by rows_close() */
	size_t cell_start[ROWS_COLUMNS_MAX]; /* of the row being built, in `row` */
	size_t cell_end[ROWS_COLUMNS_MAX];
};

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

int rows_open(struct rows **ret, const struct rows_options *o, const char *case_path, struct text name,
	      const struct rows_column *columns, unsigned n, const char *table_columns, struct err *err)
{
	if (o->json + o->jsonl + o->csv > 1)
		return err_set(err, ERR_USAGE, "--json, --jsonl and --csv exclude each other");
	if (n > ROWS_COLUMNS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d columns", ROWS_COLUMNS_MAX);
	struct rows *r = calloc(1, sizeof(*r));
	if (!r)
		return err_nomem(err);
	r->format = o->json ? ROWS_JSON : o->jsonl ? ROWS_JSONL : o->csv ? ROWS_CSV : ROWS_TABLE;
	memcpy(r->columns, columns, n * sizeof(*columns));
	r->n = n;
	r->limit = o->limit >= 0 ? o->limit : r->format == ROWS_TABLE ? TABLE_LIMIT : 0;
	r->as_of_ns = TIME_UNKNOWN;
	r->name = r->case_path = r->params = r->note = BUF_INIT(1 * MIB);
	r->row = BUF_INIT(256 * MIB);
	r->cells = BUF_INIT(256 * MIB);
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

void rows_drop(struct rows *r)
{
	if (!r)
		return;
	zone_close(r->zone);
	json_free(r->json);
	buf_done(&r->name);
	buf_done(&r->case_path);
	buf_done(&r->params);
	buf_done(&r->note);
	buf_done(&r->row);
	buf_done(&r->cells);
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
	int rc = json_parse(r->json, v, false, &doc, NULL, err);
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

static int cell(struct rows *r, struct text v, bool quote, struct err *err)
{
	unsigned at = r->at++;
	if (at >= r->n)
		return err_set(err, ERR_BUG, "more cells than columns");
	if (beyond_limit(r))
		return 0;
	r->cell_start[at] = r->row.len;
	int rc;
	if (r->format == ROWS_JSON || r->format == ROWS_JSONL) {
		if (!v.ptr)
			rc = buf_add(&r->row, "null", 4, err);
		else
			rc = quote ? buf_json_string(&r->row, v, err) : buf_add_text(&r->row, v, err);
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
	char tmp[32];
	int n = snprintf(tmp, sizeof(tmp), "%" PRId64, v);
	return cell(r, (struct text){tmp, (size_t)n}, false, err);
}

int rows_real(struct rows *r, double v, struct err *err)
{
	char tmp[64];
	int n = snprintf(tmp, sizeof(tmp), "%.9g", v);
	return cell(r, (struct text){tmp, (size_t)n}, false, err);
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

static struct text cell_text(const struct rows *r, unsigned column)
{
	return (struct text){r->row.ptr + r->cell_start[column], r->cell_end[column] - r->cell_start[column]};
}

static void put_json_row(struct rows *r, FILE *out)
{
	fputc('{', out);
	for (unsigned i = 0; i < r->n_shown; i++) {
		unsigned c = (unsigned)r->shown[i];
		struct text t = cell_text(r, c);
		fprintf(out, "%s\"%.*s\":", i ? "," : "", TEXT_ARG(r->columns[c].name));
		fwrite(t.ptr, 1, t.len, out);
	}
	fputc('}', out);
}

static void put_csv_cell(FILE *out, struct text t)
{
	/* a cell that a spreadsheet would run as a formula is defused */
	bool formula = t.len && strchr("=+-@\t\r", t.ptr[0]);
	int64_t number;
	double real;
	if (formula && (text_int64(t, &number) || text_double(t, &real)))
		formula = false;
	fputc('"', out);
	if (formula)
		fputc('\'', out);
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] == '"')
			fputc('"', out);
		fputc(t.ptr[i], out);
	}
	fputc('"', out);
}

static void put_csv_row(struct rows *r)
{
	if (!r->started) {
		r->started = true;
		for (unsigned i = 0; i < r->n_shown; i++)
			printf("%s%.*s", i ? "," : "", TEXT_ARG(r->columns[r->shown[i]].name));
		fputs("\r\n", stdout);
	}
}

static unsigned terminal_width(void)
{
	struct winsize w;
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 20)
		return w.ws_col;
	const char *columns = getenv("COLUMNS");
	int64_t n;
	if (columns && text_int64(text_of(columns), &n) && n >= 20 && n <= 10000)
		return (unsigned)n;
	return isatty(STDOUT_FILENO) ? 80 : 0; /* 0: not a terminal, as wide as needed */
}

static void put_padded(struct text t, unsigned width, bool right, bool last)
{
	size_t have = text_columns(t);
	if (have > width) { /* cut at a character, mark it */
		size_t n = 0, cols = 0;
		while (n < t.len) {
			size_t step = 1;
			while (n + step < t.len && ((unsigned char)t.ptr[n + step] & 0xc0) == 0x80)
				step++;
			size_t w = text_columns(text_sub(t, n, step));
			if (cols + w > width - 1)
				break;
			cols += w;
			n += step;
		}
		fwrite(t.ptr, 1, n, stdout);
		fputs("…", stdout);
		have = cols + 1;
		t.len = 0;
	}
	size_t pad = width > have ? width - have : 0;
	if (right)
		for (size_t i = 0; i < pad; i++)
			fputc(' ', stdout);
	fwrite(t.ptr, 1, t.len, stdout);
	if (!right && !last)
		for (size_t i = 0; i < pad; i++)
			fputc(' ', stdout);
	fputs(last ? "\n" : "  ", stdout);
}

static bool is_number(enum cell_type t)
{
	return t == CELL_INT || t == CELL_REAL;
}

/* Decides widths from what was measured, drops columns that do not fit from the right, prints the head. */
static void start_table(struct rows *r)
{
	r->started = true;
	unsigned limit = terminal_width(), total = 0, fit = 0;
	for (unsigned i = 0; i < r->n_shown; i++) {
		unsigned c = (unsigned)r->shown[i];
		unsigned w = (unsigned)text_columns(r->columns[c].name);
		if (r->width[i] < w)
			r->width[i] = w;
		if (limit && r->width[i] > CELL_WIDTH_MAX && r->n_shown > 1)
			r->width[i] = CELL_WIDTH_MAX;
		unsigned need = r->width[i] + (i ? 2 : 0);
		if (limit && total + need > limit && i > 0) {
			unsigned room = limit > total + 2 ? limit - total - 2 : 0;
			if (room >= 8 && room >= w) { /* the last one that fits may be cut */
				r->width[i] = room;
				total = limit;
				fit++;
			}
			break;
		}
		total += need;
		fit++;
	}
	if (fit < r->n_shown) {
		CLEANUP(buf_done) struct buf names = BUF_INIT(16 * KIB);
		for (unsigned i = fit; i < r->n_shown; i++)
			if (buf_printf(&names, NULL, "%s%.*s", i > fit ? "," : "",
				       TEXT_ARG(r->columns[r->shown[i]].name)))
				break;
		rows_note(r, "(too narrow for: %.*s; --json or a wider terminal shows them)",
			  TEXT_ARG(buf_text(&names)));
		r->n_shown = fit;
	}
	for (unsigned i = 0; i < r->n_shown; i++)
		put_padded(r->columns[r->shown[i]].name, r->width[i], is_number(r->columns[r->shown[i]].type),
			   i + 1 == r->n_shown);
}

static void put_measured(struct rows *r, unsigned stride)
{
	for (size_t row = 0; row < r->n_cells / stride; row++)
		for (unsigned i = 0; i < r->n_shown; i++)
			put_padded(text_of(r->cells.ptr + r->cell_at[row * stride + i]), r->width[i],
				   is_number(r->columns[r->shown[i]].type), i + 1 == r->n_shown);
	r->n_cells = 0;
}

static int keep_measured(struct rows *r, struct err *err)
{
	if (r->n_cells + r->n_shown > r->cap_cells) {
		size_t cap = r->cap_cells ? r->cap_cells * 2 : 1024;
		while (cap < r->n_cells + r->n_shown)
			cap *= 2;
		size_t *grown = realloc(r->cell_at, cap * sizeof(*grown));
		if (!grown)
			return err_nomem(err);
		r->cell_at = grown;
		r->cap_cells = cap;
	}
	for (unsigned i = 0; i < r->n_shown; i++) {
		struct text t = cell_text(r, (unsigned)r->shown[i]);
		unsigned w = (unsigned)text_columns(t);
		if (w > r->width[i])
			r->width[i] = w;
		r->cell_at[r->n_cells++] = r->cells.len;
		int rc = buf_add_text(&r->cells, t, err);
		if (!rc)
			rc = buf_add_char(&r->cells, '\0', err);
		if (rc)
			return rc;
	}
	return 0;
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
		fputs(r->count ? ",\n" : "\n", r->spool);
		put_json_row(r, r->spool);
		break;
	case ROWS_JSONL:
		put_json_row(r, stdout);
		fputc('\n', stdout);
		break;
	case ROWS_CSV:
		put_csv_row(r);
		for (unsigned i = 0; i < r->n_shown; i++) {
			if (i)
				fputc(',', stdout);
			put_csv_cell(stdout, cell_text(r, (unsigned)r->shown[i]));
		}
		fputs("\r\n", stdout);
		break;
	case ROWS_TABLE:
		if (!r->started) {
			rc = keep_measured(r, err);
			if (!rc && r->count + 1 >= TABLE_MEASURED) {
				unsigned stride = r->n_shown;
				start_table(r);
				put_measured(r, stride);
			}
		} else {
			for (unsigned i = 0; i < r->n_shown; i++)
				put_padded(cell_text(r, (unsigned)r->shown[i]), r->width[i],
					   is_number(r->columns[r->shown[i]].type), i + 1 == r->n_shown);
		}
		break;
	}
	buf_clear(&r->row);
	r->count++;
	r->printed++;
	return rc;
}

static int close_json(struct rows *r, struct err *err)
{
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

/* Notes are sentences: they wrap at words, a table does not. */
void rows_sentences(struct text notes)
{
	unsigned width = terminal_width();
	struct text line, word;
	notes = text_chomp(notes);
	while (notes.len && text_split(&notes, '\n', &line)) {
		size_t at = 0;
		while (text_split(&line, ' ', &word)) {
			size_t w = text_columns(word);
			if (at && width && at + 1 + w > width) {
				fputs("\n  ", stdout);
				at = 2;
			} else if (at) {
				fputc(' ', stdout);
				at++;
			}
			fwrite(word.ptr, 1, word.len, stdout);
			at += w;
		}
		fputc('\n', stdout);
	}
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
	case ROWS_CSV: put_csv_row(r); break;
	case ROWS_TABLE:
		if (!r->started && r->count) {
			unsigned stride = r->n_shown;
			start_table(r);
			put_measured(r, stride);
		}
		if (r->count > r->printed)
			printf("(%" PRId64 " of %" PRId64 " rows; --limit 0 shows all)\n", r->printed, r->count);
		rows_sentences(buf_text(&r->note));
		break;
	}
	if (r->count > r->printed && (r->format == ROWS_CSV || r->format == ROWS_JSONL))
		fprintf(stderr, "pagetrail: %" PRId64 " of %" PRId64 " rows written: --limit 0 gives all\n", r->printed,
			r->count);
	if (ret_count)
		*ret_count = r->count;
	rows_drop(r);
	return rc ? rc : system_flush(err);
}
