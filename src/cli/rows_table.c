/* SPDX-License-Identifier: Apache-2.0 */
/* rows_table.c - rows as an aligned table, as wide as the terminal: columns are measured on the first rows */
#include "rows.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TABLE_MEASURED = 1000, CELL_WIDTH_MAX = 60 };

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

static void put_blanks(struct rows *r, size_t n)
{
	char *p = rows_room(r, n);
	if (!p)
		return;
	memset(p, ' ', n);
	r->out.len += n;
}

static void put_padded(struct rows *r, struct text t, unsigned width, bool right, bool last)
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
		rows_put(r, text_sub(t, 0, n));
		rows_put(r, TEXT("…"));
		have = cols + 1;
		t.len = 0;
	}
	size_t pad = width > have ? width - have : 0;
	if (right)
		put_blanks(r, pad);
	rows_put(r, t);
	if (!right && !last)
		put_blanks(r, pad);
	rows_put(r, last ? TEXT("\n") : TEXT("  "));
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
		put_padded(r, r->columns[r->shown[i]].name, r->width[i], is_number(r->columns[r->shown[i]].type),
			   i + 1 == r->n_shown);
}

static void put_measured(struct rows *r, unsigned stride)
{
	for (size_t row = 0; row < r->n_cells / stride; row++)
		for (unsigned i = 0; i < r->n_shown; i++)
			put_padded(r, text_of(r->cells.ptr + r->cell_at[row * stride + i]), r->width[i],
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
		struct text t = rows_cell(r, (unsigned)r->shown[i]);
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

int rows_table_row(struct rows *r, struct err *err)
{
	if (r->started) {
		for (unsigned i = 0; i < r->n_shown; i++)
			put_padded(r, rows_cell(r, (unsigned)r->shown[i]), r->width[i],
				   is_number(r->columns[r->shown[i]].type), i + 1 == r->n_shown);
		return 0;
	}
	int rc = keep_measured(r, err);
	if (!rc && r->count + 1 >= TABLE_MEASURED)
		rows_table_end(r);
	return rc;
}

/* No more rows are measured. */
void rows_table_end(struct rows *r)
{
	unsigned stride = r->n_shown;
	if (r->started)
		return;
	start_table(r);
	put_measured(r, stride);
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
