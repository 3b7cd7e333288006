/* SPDX-License-Identifier: Apache-2.0 */
/* rows_table.c - rows as an aligned table, as wide as the terminal
 *
 * Columns are measured on the first rows. On a terminal nothing is left out that does not fit: what paths have in common is
 * said once, times lose their fractions, long names their middle, and the rest stands below its row with the column's name.
 */
#include "rows.h"

#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TABLE_MEASURED = 1000 };

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

/* Bytes of the character that begins at n. */
static size_t char_bytes(struct text t, size_t n)
{
	size_t step = 1;
	while (n + step < t.len && ((unsigned char)t.ptr[n + step] & 0xc0) == 0x80)
		step++;
	return step;
}

/* As much of its beginning as is at most so wide. */
static struct text head_of(struct text t, unsigned width)
{
	size_t n = 0, cols = 0;
	while (n < t.len) {
		size_t step = char_bytes(t, n), w = text_columns(text_sub(t, n, step));
		if (cols + w > width)
			break;
		cols += w;
		n += step;
	}
	return text_sub(t, 0, n);
}

static struct text tail_of(struct text t, unsigned width)
{
	size_t n = 0, cols = text_columns(t);
	while (n < t.len && cols > width) {
		size_t step = char_bytes(t, n), w = text_columns(text_sub(t, n, step));
		cols -= MIN(cols, w);
		n += step;
	}
	return text_from(t, n);
}

static bool is_number(enum cell_type t)
{
	return t == CELL_INT || t == CELL_REAL;
}

/* Ids and paths differ at their ends: they are cut in the middle. Of a time the end says least. */
static unsigned tail_width(unsigned width, enum cell_type type)
{
	return type == CELL_TIME ? 0 : (width - 1) / 2;
}

static void put_cut(struct rows *r, struct text t, unsigned width, enum cell_type type)
{
	unsigned tail = tail_width(width, type);
	rows_put(r, head_of(t, width - 1 - tail));
	rows_put(r, TEXT("…"));
	rows_put(r, tail_of(t, tail));
}

/* A cell that is wider than those measured at the beginning is whole all the same: an id that is cut is no id. */
static void put_padded(struct rows *r, struct text t, unsigned width, bool narrow, enum cell_type type, bool last)
{
	size_t have = text_columns(t), pad = width > have ? width - have : 0;
	if (is_number(type))
		put_blanks(r, pad);
	if (narrow && have > width)
		put_cut(r, t, width, type);
	else
		rows_put(r, t);
	if (!is_number(type) && !last)
		put_blanks(r, pad);
	rows_put(r, last ? TEXT("\n") : TEXT("  "));
}

/* --- what fits beside each other --- */

enum { SEP = 2, ID_WIDTH = 36, PATH_WIDTH = 24, TIME_WIDTH = 20, WIDE_TEXT = 40, INDENT = 4 };

static bool is_path(const struct rows *r, unsigned i)
{
	return text_is(r->columns[r->shown[i]].name, "path");
}

static bool is_words(const struct rows *r, unsigned i)
{
	enum cell_type t = r->columns[r->shown[i]].type;
	return t == CELL_TEXT || t == CELL_JSON;
}

static unsigned name_width(const struct rows *r, unsigned i)
{
	return (unsigned)text_columns(r->columns[r->shown[i]].name);
}

/* The least that still says what it is. */
static unsigned least_width(const struct rows *r, unsigned i)
{
	unsigned least = is_path(r, i)                               ? MAX((unsigned)PATH_WIDTH, r->path_least)
			 : is_words(r, i)                            ? ID_WIDTH
			 : r->columns[r->shown[i]].type == CELL_TIME ? TIME_WIDTH
								     : UINT_MAX;
	return MIN(r->width[i], MAX(least, name_width(r, i)));
}

static unsigned line_width(const struct rows *r, bool least)
{
	unsigned total = 0;
	for (unsigned i = 0; i < r->n_shown; i++)
		if (!r->below[i])
			total += (least ? least_width(r, i) : r->width[i]) + (total ? SEP : 0);
	return total;
}

static struct text measured(const struct rows *r, size_t row, unsigned i)
{
	return text_of(r->cells.ptr + r->cell_at[row * r->n_shown + i]);
}

/* What all paths begin with, up to a slash, is said once below the table. */
static void cut_paths(struct rows *r, unsigned i)
{
	size_t n = r->n_cells / r->n_shown, same = SIZE_MAX;
	struct text first = {NULL, 0};
	for (size_t row = 0; row < n; row++) {
		struct text t = measured(r, row, i);
		if (!t.len)
			continue;
		if (!first.ptr)
			first = t;
		same = MIN(same, MIN(t.len, first.len));
		for (size_t k = 0; k < same; k++)
			if (t.ptr[k] != first.ptr[k])
				same = k;
	}
	while (same && same != SIZE_MAX && first.ptr[same - 1] != '/')
		same--;
	if (n < 2 || !first.ptr || same <= 1 || buf_add_text(&r->prefix, text_sub(first, 0, same), NULL))
		return;
	r->width[i] = name_width(r, i);
	for (size_t row = 0; row < n; row++) {
		struct text t = measured(r, row, i);
		if (t.len)
			r->width[i] = MAX(r->width[i], 1 + (unsigned)text_columns(text_from(t, same)));
	}
	rows_note(r, "(path: … stands for %.*s)", TEXT_ARG(buf_text(&r->prefix)));
}

struct cut_path {
	uint64_t cut, whole; /* hashes */
};

static int by_cut(const void *a, const void *b)
{
	const struct cut_path *x = a, *y = b;
	if (x->cut != y->cut)
		return x->cut < y->cut ? -1 : 1;
	return (x->whole > y->whole) - (x->whole < y->whole);
}

/* Would two paths look the same? The prefix that is said once has gone to one column, the "…". */
static bool paths_alike(const struct rows *r, unsigned i, unsigned width, struct cut_path *list)
{
	size_t n = r->n_cells / r->n_shown;
	for (size_t row = 0; row < n; row++) {
		struct text t = measured(r, row, i);
		bool shorter = r->prefix.len > 0 && t.len >= r->prefix.len;
		struct text rest = shorter ? text_from(t, r->prefix.len) : t;
		list[row].cut = list[row].whole = text_hash(t);
		if (text_columns(rest) + shorter <= width)
			continue;
		unsigned tail = tail_width(width, CELL_TEXT);
		list[row].cut =
		    text_hash(head_of(rest, width - 1 - tail - shorter)) * 31 + text_hash(tail_of(rest, tail));
	}
	qsort(list, n, sizeof(*list), by_cut);
	for (size_t row = 1; row < n; row++)
		if (list[row].cut == list[row - 1].cut && list[row].whole != list[row - 1].whole)
			return true;
	return false;
}

/* The least width at which all paths that differ look different: if they do at one width, they do at greater ones. */
static unsigned paths_apart(const struct rows *r, unsigned i)
{
	unsigned lo = PATH_WIDTH, hi = r->width[i];
	struct cut_path *list = malloc(r->n_cells / r->n_shown * sizeof(*list));
	while (list && lo < hi) {
		unsigned mid = (lo + hi) / 2;
		if (paths_alike(r, i, mid, list))
			lo = mid + 1;
		else
			hi = mid;
	}
	free(list);
	return lo;
}

/* Nothing is left out: long texts, and then the last columns, go into lines of their own below each row. */
static void fit_columns(struct rows *r, unsigned limit)
{
	for (unsigned i = 0; i < r->n_shown; i++)
		if (is_path(r, i) && !r->prefix.len)
			cut_paths(r, i);
	for (unsigned i = 0; i < r->n_shown; i++)
		if (is_path(r, i))
			r->path_least = MAX(r->path_least, paths_apart(r, i));
	for (unsigned i = 1; i < r->n_shown && line_width(r, false) > limit; i++)
		r->below[i] = is_words(r, i) && !is_path(r, i) && r->width[i] > WIDE_TEXT;
	for (unsigned i = r->n_shown; i-- > 1 && line_width(r, true) > limit;)
		r->below[i] = true;
	for (unsigned over = line_width(r, false); over > limit; over--) { /* the widest gives way */
		unsigned widest = r->n_shown;
		for (unsigned i = 0; i < r->n_shown; i++)
			if (!r->below[i] && r->width[i] > least_width(r, i) &&
			    (widest == r->n_shown || r->width[i] > r->width[widest]))
				widest = i;
		if (widest == r->n_shown)
			return;
		r->width[widest]--;
		r->narrow[widest] = true;
	}
}

/* Where a word begins in a line of its own: what is indented gives way before a word stands out. */
static size_t indent_for(size_t indent, size_t word, size_t width)
{
	return !width || indent + word <= width ? indent : width - MIN(width, word);
}

/* Room for so many columns behind what is in the line, or in the next one; at: where the line ends so far, 0 when it is empty. */
static void make_room(struct rows *r, size_t columns, size_t blanks, size_t *at)
{
	if (*at && *at + blanks + columns > r->line_max) {
		rows_put(r, TEXT("\n"));
		*at = 0;
	}
	size_t before = *at ? blanks : indent_for(INDENT, columns, r->line_max);
	put_blanks(r, before);
	*at += before + columns;
}

/* "name: value" of the columns that are not beside the others, wrapped at words; a name stays with the first one, where both fit. */
static void put_below(struct rows *r, const struct text *cells)
{
	size_t at = 0;
	for (unsigned i = 0; i < r->n_shown; i++) {
		struct text rest = cells[i], word, name = r->columns[r->shown[i]].name;
		if (!r->below[i] || !rest.len || !text_split(&rest, ' ', &word))
			continue;
		size_t label = text_columns(name) + 1, both = label + 1 + text_columns(word);
		bool together = INDENT + both <= r->line_max;
		make_room(r, together ? both : label, SEP, &at);
		rows_put(r, name);
		rows_put(r, together ? TEXT(": ") : TEXT(":"));
		if (!together)
			make_room(r, text_columns(word), 1, &at);
		rows_put(r, word);
		while (text_split(&rest, ' ', &word)) {
			make_room(r, text_columns(word), 1, &at);
			rows_put(r, word);
		}
	}
	if (at)
		rows_put(r, TEXT("\n"));
}

static void put_line(struct rows *r, const struct text *cells, bool head)
{
	struct text prefix = buf_text(&r->prefix);
	unsigned last = r->n_shown;
	while (last && r->below[last - 1])
		last--;
	for (unsigned i = 0; i < last; i++) {
		struct text t = cells[i];
		if (r->below[i])
			continue;
		if (!head && prefix.len && is_path(r, i) && t.len >= prefix.len &&
		    !memcmp(t.ptr, prefix.ptr, prefix.len)) {
			buf_clear(&r->cut);
			if (!buf_add_text(&r->cut, TEXT("…"), NULL) &&
			    !buf_add_text(&r->cut, text_from(t, prefix.len), NULL))
				t = buf_text(&r->cut);
		}
		put_padded(r, t, r->width[i], r->narrow[i], r->columns[r->shown[i]].type, i + 1 == last);
	}
	if (!head)
		put_below(r, cells);
}

/* Decides widths from what was measured, and prints the head. */
static void start_table(struct rows *r)
{
	struct text names[ROWS_COLUMNS_MAX];
	unsigned limit = terminal_width();
	r->started = true;
	r->line_max = limit;
	for (unsigned i = 0; i < r->n_shown; i++) {
		names[i] = r->columns[r->shown[i]].name;
		r->width[i] = MAX(r->width[i], name_width(r, i));
	}
	if (limit && line_width(r, false) > limit)
		fit_columns(r, limit);
	put_line(r, names, true);
}

static void put_measured(struct rows *r)
{
	struct text cells[ROWS_COLUMNS_MAX];
	for (size_t row = 0; row < r->n_cells / r->n_shown; row++) {
		for (unsigned i = 0; i < r->n_shown; i++)
			cells[i] = measured(r, row, i);
		put_line(r, cells, false);
	}
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
		struct text cells[ROWS_COLUMNS_MAX];
		for (unsigned i = 0; i < r->n_shown; i++)
			cells[i] = rows_cell(r, (unsigned)r->shown[i]);
		put_line(r, cells, false);
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
	if (r->started)
		return;
	start_table(r);
	put_measured(r);
}

/* Notes are sentences: they wrap at words, a table does not. */
void rows_paragraph(struct text line, unsigned first, unsigned rest)
{
	unsigned width = terminal_width();
	struct text word;
	size_t at = first;
	bool begun = false;
	printf("%*s", (int)first, "");
	while (text_split(&line, ' ', &word)) {
		size_t w = text_columns(word);
		if (begun && width && at + 1 + w > width) {
			at = indent_for(rest, w, width);
			printf("\n%*s", (int)at, "");
		} else if (begun) {
			fputc(' ', stdout);
			at++;
		}
		fwrite(word.ptr, 1, word.len, stdout);
		at += w;
		begun = true;
	}
	fputc('\n', stdout);
}

void rows_sentences(struct text notes)
{
	struct text line;
	notes = text_chomp(notes);
	while (notes.len && text_split(&notes, '\n', &line))
		rows_paragraph(line, 0, 2);
}
