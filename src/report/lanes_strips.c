/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_strips.c - the strips of a lane: bars, labels that do not lie on each other, windows, marks */
#include <inttypes.h>
#include <stdio.h>

#include "lanes.h"

enum { TAKEN_MAX = 64, KINDS_MAX = 16, NAME_COLUMNS = 20, VERSION_COLUMNS = 24, KIND_COLUMNS = 20, LINE_STEP = 6 };

static int bar_top(const struct lane *l)
{
	return l->top + LANES_PAD + l->above * LANES_LABEL;
}

/* What lies in one row of labels already. */
struct taken {
	struct {
		int from, to;
	} at[TAKEN_MAX];
	int n;
};

struct rows {
	struct taken row[LANES_ROWS_MAX];
	int used;
};

static bool is_free(const struct taken *t, int from, int to)
{
	for (int i = 0; i < t->n; i++)
		if (from <= t->at[i].to && to >= t->at[i].from)
			return false;
	return t->n < TAKEN_MAX;
}

static void take(struct taken *t, int from, int to)
{
	t->at[t->n].from = from;
	t->at[t->n++].to = to;
}

/* The label goes beside a line that leads down to it from the bar: the line must be free, too. */
static bool find_room(struct rows *rows, struct lanes_item *item, int x)
{
	int w = svg_text_width(item->label, SVG_SMALL) + 8;
	for (int end = 0; end < 2; end++) {
		int from = end ? x - w : x - 1, to = end ? x + 1 : x + w;
		if (from < LANES_LEFT - 1 || to > SVG_WIDTH - 2)
			continue;
		for (int r = 0; r < LANES_ROWS_MAX; r++) {
			bool line = true;
			for (int k = 0; k < r; k++)
				line &= is_free(&rows->row[k], x - 1, x + 1);
			if (!line || !is_free(&rows->row[r], from, to))
				continue;
			for (int k = 0; k < r; k++)
				take(&rows->row[k], x - 1, x + 1);
			take(&rows->row[r], from, to);
			rows->used = MAX(rows->used, r + 1);
			item->row = r;
			item->label_x = x;
			item->label_end = end;
			return true;
		}
	}
	return false;
}

static void number(int64_t n, char *to, size_t size)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%" PRId64, n);
	size_t len = strlen(digits), at = 0;
	for (size_t i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = 0;
}

static int keep_label(struct lanes *l, struct lanes_item *item, const struct buf *b, struct err *err)
{
	item->label = arena_text(&l->arena, buf_text(b));
	return b->len && !item->label.ptr ? err_nomem(err) : 0;
}

static int boot_label(struct lanes *l, struct lanes_item *item, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	char n[40];
	bool earlier = item->from == TIME_UNKNOWN || item->from < l->axis.from_ns;
	int rc = earlier ? buf_add_text(&b, TEXT("earlier start: "), err) : 0;
	size_t empty = b.len;
	if (!rc && item->detail.len)
		rc = svg_short(item->detail, VERSION_COLUMNS, &b, err);
	if (!rc && item->pool_tokens > 0) {
		number(item->pool_tokens, n, sizeof(n));
		rc = buf_printf(&b, err, "%spool %s", b.len > empty ? ", " : "", n);
	}
	if (!rc && item->input_limit > 0) {
		number(item->input_limit, n, sizeof(n));
		rc = buf_printf(&b, err, "%slimit %s", b.len > empty ? ", " : "", n);
	}
	if (!rc && b.len == empty)
		rc = buf_add_text(&b, TEXT("limits not logged"), err);
	return rc ? rc : keep_label(l, item, &b, err);
}

static bool same_limits(const struct lanes_item *a, const struct lanes_item *b)
{
	return a->pool_tokens == b->pool_tokens && a->input_limit == b->input_limit && text_eq(a->detail, b->detail);
}

/* Where a boot stands: one that began before the log does, at its beginning. */
static int boot_x(const struct lanes *l, const struct lanes_item *item, int64_t seen)
{
	return axis_place(&l->axis, item->from != TIME_UNKNOWN ? item->from
				    : seen != TIME_UNKNOWN     ? seen
							       : l->axis.from_ns);
}

/* Items of one lane and one sort stand together, in order of time. */
static int arrange_boots(struct lanes *l, uint32_t lane, size_t from, size_t end, int64_t seen, struct rows *rows,
			 struct err *err)
{
	const struct lanes_item *before = NULL;
	int rc = 0;
	for (size_t i = from; !rc && i < end; i++) {
		struct lanes_item *item = &l->items[i];
		if (item->lane != lane || item->what != LANES_BOOT)
			continue;
		if (!before || !same_limits(before, item)) {
			rc = boot_label(l, item, err);
			if (!rc && !find_room(rows, item, boot_x(l, item, seen)))
				l->unlabelled++;
		}
		before = item;
	}
	return rc;
}

struct gap_group { /* gaps of one kind that lie side by side */
	struct lanes_item *first;
	int to;
	int64_t n;
};

static int gap_label(struct lanes *l, struct rows *rows, struct gap_group *g, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	if (!g->first)
		return 0;
	int rc = buf_add_text(&b, TEXT("gap: "), err);
	if (!rc)
		rc = svg_short(g->first->kind, KIND_COLUMNS, &b, err);
	if (!rc && g->n > 1)
		rc = buf_printf(&b, err, " \xC3\x97%" PRId64, g->n);
	if (!rc)
		rc = keep_label(l, g->first, &b, err);
	/* another gap may begin where this one does: anywhere in it will do */
	bool placed = false;
	for (int x = axis_place(&l->axis, g->first->from); !rc && !placed; x += LINE_STEP) {
		placed = find_room(rows, g->first, x);
		if (x + LINE_STEP > g->to)
			break;
	}
	l->unlabelled += !rc && !placed;
	g->first = NULL;
	return rc;
}

static bool gap_span(const struct lanes_item *item, int64_t *from, int64_t *to)
{
	*from = item->from != TIME_UNKNOWN ? item->from : item->to;
	*to = item->to != TIME_UNKNOWN ? item->to : item->from;
	return *from != TIME_UNKNOWN;
}

static int arrange_gaps(struct lanes *l, uint32_t lane, size_t start, size_t end, struct rows *rows, struct err *err)
{
	struct gap_group groups[KINDS_MAX] = {{NULL}};
	int rc = 0;
	for (size_t i = start; !rc && i < end; i++) {
		struct lanes_item *item = &l->items[i];
		int64_t from, to;
		if (item->lane != lane || item->what != LANES_GAP || !gap_span(item, &from, &to))
			continue;
		item->from = from;
		struct gap_group *g = NULL;
		for (int k = 0; k < KINDS_MAX && !g; k++)
			if (!groups[k].first || text_eq(groups[k].first->kind, item->kind))
				g = &groups[k];
		if (!g) /* more kinds than there are: */
			g = &groups[0];
		if (g->first && (axis_place(&l->axis, from) > g->to + 6 || !text_eq(g->first->kind, item->kind)))
			rc = gap_label(l, rows, g, err);
		if (!g->first)
			*g = (struct gap_group){.first = item};
		g->to = MAX(g->to, axis_place(&l->axis, to));
		g->n++;
	}
	for (int k = 0; !rc && k < KINDS_MAX; k++)
		rc = gap_label(l, rows, &groups[k], err);
	return rc;
}

static void count_untimed(struct lanes *l)
{
	int64_t from, to;
	for (size_t i = 0; i < l->n_items; i++) {
		const struct lanes_item *item = &l->items[i];
		if (!l->lanes[item->lane].drawn)
			continue;
		if ((item->what == LANES_GAP && !gap_span(item, &from, &to)) ||
		    (item->what == LANES_RESPONSE && item->from == TIME_UNKNOWN))
			l->untimed[item->what]++;
	}
}

/* Marks that fall on one place are one: calls mark() for each, or only counts. */
struct bucket {
	int x;
	int64_t n, from, to;
	const struct lanes_item *first;
};

static void bucket_end(struct lanes *l, struct svg *s, struct bucket *b, int class_id)
{
	char tip[256], a[64], z[64];
	if (!b->n)
		return;
	if (!s) {
		l->together += b->n > 1;
		l->together_of += b->n > 1 ? (uint64_t)b->n : 0;
		b->n = 0;
		return;
	}
	const struct lane *lane = &l->lanes[b->first->lane];
	int y =
	    bar_top(lane) + LANES_BAR + LANES_PAD + lane->rows * LANES_LABEL + (lane->windows ? 2 * LANES_WINDOW : 0);
	for (int i = 0; i < class_id; i++)
		y += lane->classes[i] ? LANES_MARKS : 0;
	struct text at = axis_time(b->from, a, sizeof(a)), end = axis_time(b->to, z, sizeof(z));
	struct text class = lanes_class_name(class_id);
	if (b->n > 1)
		snprintf(tip, sizeof(tip), "%" PRId64 " responses %.*s, begun %.*s to %.*s", b->n, TEXT_ARG(class),
			 TEXT_ARG(at), TEXT_ARG(end));
	else
		snprintf(tip, sizeof(tip), "%.*s, begun %.*s: %.*s", TEXT_ARG(class), TEXT_ARG(at),
			 TEXT_ARG(text_sub(b->first->detail, 0, 128)));
	lanes_mark(s, class_id, b->x, y + LANES_MARKS / 2, text_of(tip));
	b->n = 0;
}

static void responses(struct lanes *l, struct svg *s)
{
	struct bucket open[LANES_CLASSES] = {{0}};
	for (size_t i = 0; i < l->n_items; i++) {
		const struct lanes_item *item = &l->items[i];
		if (item->what != LANES_RESPONSE || item->from == TIME_UNKNOWN || !l->lanes[item->lane].drawn)
			continue;
		struct bucket *b = &open[item->class_id];
		int x = axis_place(&l->axis, item->from);
		if (b->n && (b->first->lane != item->lane || x >= b->x + LANES_BUCKET))
			bucket_end(l, s, b, item->class_id);
		if (!b->n)
			*b = (struct bucket){x, 0, item->from, item->from, item};
		b->n++;
		b->to = item->from;
	}
	for (int i = 0; i < LANES_CLASSES; i++)
		bucket_end(l, s, &open[i], i);
}

/* Items of a lane stand together. */
int lanes_arrange(struct lanes *l, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < l->n_items; i++)
		l->items[i].row = -1;
	for (size_t from = 0, end; !rc && from < l->n_items; from = end) {
		uint32_t lane = l->items[from].lane;
		struct rows above = {.used = 0}, below = {.used = 1};
		int64_t seen = TIME_UNKNOWN;
		for (end = from; end < l->n_items && l->items[end].lane == lane; end++)
			if (l->items[end].what == LANES_COVERAGE)
				seen = l->items[end].from;
		if (!l->lanes[lane].drawn)
			continue;
		rc = arrange_boots(l, lane, from, end, seen, &below, err);
		if (!rc)
			rc = arrange_gaps(l, lane, from, end, &above, err);
		l->lanes[lane].above = above.used;
		l->lanes[lane].rows = below.used;
	}
	count_untimed(l);
	responses(l, NULL);
	return rc;
}

/* --- drawing --- */

void lanes_mark(struct svg *s, int class_id, int x, int y, struct text tip)
{
	static const struct {
		enum svg_mark mark;
		const char *attributes;
	} marks[LANES_CLASSES] = {
	    {MARK_DISC, "fill=\"#b3261e\" stroke=\"#000\""},
	    {MARK_SQUARE, "fill=\"#e69f00\" stroke=\"#000\""},
	    {MARK_TRIANGLE, "fill=\"#fff\" stroke=\"#0b5394\" stroke-width=\"2\""},
	    {MARK_DIAMOND, "fill=\"#fff\" stroke=\"#555\" stroke-width=\"2\""},
	};
	svg_mark(s, marks[class_id].mark, x, y, marks[class_id].attributes, tip);
}

static void captions(struct lanes *l, struct svg *s, const struct lane *lane)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(4 * KIB);
	int y = bar_top(lane), x = LANES_LEFT - 10;
	if (!s->rc)
		s->rc = lane->name.len ? svg_short(lane->name, NAME_COLUMNS, &name, s->err)
				       : buf_add_text(&name, TEXT("worker not known"), s->err);
	svg_line(s, 20, lane->top, SVG_WIDTH - LANES_RIGHT, lane->top, "stroke=\"#999\"");
	svg_label_shown(s, "end", x, y + 12, SVG_PLAIN, "font-weight=\"bold\"", buf_text(&name));
	y += LANES_BAR + LANES_PAD + lane->rows * LANES_LABEL;
	if (lane->windows) {
		svg_label(s, "end", x, y + 9, SVG_SMALL, "", TEXT("exposed window"));
		svg_label(s, "end", x, y + LANES_WINDOW + 9, SVG_SMALL, "", TEXT("recipient window"));
		y += 2 * LANES_WINDOW;
	}
	for (int i = 0; i < LANES_CLASSES; i++) {
		char words[64];
		if (!lane->classes[i])
			continue;
		snprintf(words, sizeof(words), "%.*s: %" PRIu64, TEXT_ARG(lanes_class_name(i)), lane->classes[i]);
		svg_label(s, "end", x, y + 11, SVG_SMALL, "", text_of(words));
		y += LANES_MARKS;
	}
	(void)l;
}

/* Those of gaps stand above the bar, those of starts below it. */
static void label(struct svg *s, const struct lanes_item *item, int y)
{
	if (item->row < 0)
		return;
	bool gap = item->what == LANES_GAP;
	int bar = gap ? y - 2 : y + LANES_BAR;
	int base = gap ? bar - item->row * LANES_LABEL : bar + (item->row + 1) * LANES_LABEL;
	svg_line(s, item->label_x, bar, item->label_x, gap ? base - LANES_LABEL + 4 : base, "stroke=\"#000\"");
	svg_label_shown(s, item->label_end ? "end" : "start", item->label_x + (item->label_end ? -4 : 4), base - 3,
			SVG_SMALL, "", item->label);
}

static void tip_of(struct buf *b, const char *what, const struct lanes_item *item)
{
	char a[64], z[64];
	struct text from = axis_time(item->from, a, sizeof(a)), to = axis_time(item->to, z, sizeof(z));
	buf_clear(b);
	if (buf_printf(b, NULL, "%s %.*s%s%.*s", what, TEXT_ARG(from), to.len ? " to " : "", TEXT_ARG(to)))
		buf_clear(b);
	if (item->detail.len && buf_printf(b, NULL, ": %.*s", TEXT_ARG(item->detail)))
		buf_clear(b);
}

static void draw_span(struct lanes *l, struct svg *s, const struct lanes_item *item, int y, struct buf *tip)
{
	int a = axis_place(&l->axis, item->from == TIME_UNKNOWN ? l->axis.from_ns : item->from);
	int b =
	    axis_place(&l->axis, item->to == TIME_UNKNOWN ? (item->from == TIME_UNKNOWN ? l->axis.from_ns : item->from)
							  : item->to);
	int strip = y + LANES_BAR + LANES_PAD + l->lanes[item->lane].rows * LANES_LABEL;
	switch (item->what) {
	case LANES_COVERAGE:
		if (item->kind.len)
			svg_label(s, "end", LANES_LEFT - 10, y + LANES_BAR + 11, SVG_SMALL, "",
				  text_sub(item->kind, 0, 20));
		tip_of(tip, "records", &(struct lanes_item){.from = item->from, .to = item->to});
		if (item->from != TIME_UNKNOWN)
			svg_box(s, a, y, b - a, LANES_BAR, item->detail.len ? LANES_SEEN_PAGES : LANES_SEEN,
				buf_text(tip));
		return;
	case LANES_GAP:
		tip_of(tip, "gap", item);
		if (item->from != TIME_UNKNOWN)
			svg_box(s, a, y - 2, MAX(b - a, 3), LANES_BAR + 4, LANES_GAP_FILL, buf_text(tip));
		return;
	case LANES_EXPOSED:
		tip_of(tip, "exposed window", item);
		svg_box(s, a, strip + 2, b - a, 8, LANES_EXPOSED_FILL, buf_text(tip));
		if (item->from == TIME_UNKNOWN)
			svg_put(s,
				"<path d=\"M%d %dl-7 4l7 4z\" fill=\"#000\"><title>begins before the log "
				"does</title></path>\n",
				a, strip + 2);
		return;
	case LANES_RECIPIENT:
		tip_of(tip, "recipient window", item);
		svg_box(s, a, strip + LANES_WINDOW + 2, b - a, 8, LANES_RECIPIENT_FILL, buf_text(tip));
		return;
	default: return;
	}
}

static void draw_boot(struct lanes *l, struct svg *s, const struct lanes_item *item, int y, struct buf *tip)
{
	if (item->from == TIME_UNKNOWN || item->from < l->axis.from_ns)
		return;
	int x = axis_place(&l->axis, item->from);
	tip_of(tip, "start", item);
	svg_box(s, x - 1, y - 4, 3, LANES_BAR + 8, "fill=\"#000\"", buf_text(tip));
}

void lanes_strips(struct lanes *l, struct svg *s)
{
	static const enum lanes_what order[] = {LANES_COVERAGE, LANES_GAP, LANES_BOOT, LANES_EXPOSED, LANES_RECIPIENT};
	CLEANUP(buf_done) struct buf tip = BUF_INIT(64 * KIB);
	for (uint32_t i = 0; i < l->n_lanes; i++)
		if (l->lanes[i].drawn)
			captions(l, s, &l->lanes[i]);
	for (size_t k = 0; k < ARRAY_SIZE(order); k++)
		for (size_t i = 0; i < l->n_items; i++) {
			const struct lanes_item *item = &l->items[i];
			if (item->what != order[k] || !l->lanes[item->lane].drawn)
				continue;
			int y = bar_top(&l->lanes[item->lane]);
			if (item->what == LANES_BOOT)
				draw_boot(l, s, item, y, &tip);
			else
				draw_span(l, s, item, y, &tip);
			label(s, item, y);
		}
	responses(l, s);
}
