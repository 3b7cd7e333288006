/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c - figures, computed from tables of the document
 *
 * A figure is a list of shapes with whole-number places; a stylesheet draws them and computes nothing. It is made from
 * rows that stand in the document, so figure and table cannot differ. Spans are whole seconds: the difference of any
 * two times fits. Bars and lanes are bounded whatever the logs say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/stamp.h"
#include "svg.h"

enum { WIDTH = 960, BARS_MAX = 62, LANES_MAX = 60, COLUMNS_SEEN = 128, NAME_COLUMNS = 24 };

/* --- reading a table of the document --- */

struct grid {
	xmlNodePtr table;
	const char *names[COLUMNS_SEEN];
	xmlChar *owned[COLUMNS_SEEN];
	int n;
};

static bool is_named(xmlNodePtr node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, name);
}

static xmlNodePtr section_named(struct facts *f, const char *id)
{
	for (xmlNodePtr s = f->root->children; s; s = s->next) {
		xmlChar *value = is_named(s, "section") ? xmlGetProp(s, XC("id")) : NULL;
		bool found = value && !strcmp((const char *)value, id);
		xmlFree(value);
		if (found)
			return s;
	}
	return NULL;
}

static int grid_open(struct grid *g, struct facts *f, const char *section)
{
	*g = (struct grid){NULL};
	xmlNodePtr s = section_named(f, section);
	for (xmlNodePtr t = s ? s->children : NULL; t && !g->table; t = t->next)
		if (is_named(t, "table"))
			g->table = t;
	if (!g->table)
		return err_set(f->err, ERR_BUG, "a figure needs the table of section '%s'", section);
	for (xmlNodePtr c = g->table->children; c && g->n < COLUMNS_SEEN; c = c->next)
		if (is_named(c, "column")) {
			g->owned[g->n] = xmlGetProp(c, XC("name"));
			if (!g->owned[g->n])
				return err_nomem(f->err);
			g->names[g->n] = (const char *)g->owned[g->n];
			g->n++;
		}
	return 0;
}

static void grid_done(struct grid *g)
{
	for (int i = 0; i < g->n; i++)
		xmlFree(g->owned[i]);
}

static xmlNodePtr next_row(xmlNodePtr at)
{
	while (at && !is_named(at, "row"))
		at = at->next;
	return at;
}

/* The text of a cell; empty for an unknown value. */
static struct text cell_of(const struct grid *g, xmlNodePtr row, const char *name)
{
	int i = 0;
	for (xmlNodePtr c = row->children; c; c = c->next) {
		if (!is_named(c, "cell"))
			continue;
		if (i < g->n && !strcmp(g->names[i], name))
			return text_of(c->children && c->children->content ? (const char *)c->children->content : NULL);
		i++;
	}
	return (struct text){NULL, 0};
}

static int64_t count_of(const struct grid *g, xmlNodePtr row, const char *name)
{
	int64_t v;
	return text_int64(cell_of(g, row, name), &v) ? v : 0;
}

/* Whole seconds; TIME_UNKNOWN when there is no time. */
static int64_t second_of(const struct grid *g, xmlNodePtr row, const char *name)
{
	struct stamp st;
	size_t used;
	if (!stamp_parse_iso(cell_of(g, row, name), &st, &used))
		return TIME_UNKNOWN;
	return st.ns / NS_PER_S - (st.ns % NS_PER_S < 0);
}

/* A day ("2026-08-27") as the second it begins with. */
static int64_t day_of(const struct grid *g, xmlNodePtr row)
{
	struct text t = cell_of(g, row, "day");
	struct stamp st;
	size_t used;
	char tmp[40];
	snprintf(tmp, sizeof(tmp), "%.*sT00:00:00Z", (int)MIN(t.len, 12), t.len ? t.ptr : "");
	return stamp_parse_iso(text_of(tmp), &st, &used) ? st.ns / NS_PER_S : TIME_UNKNOWN;
}

/* --- shapes --- */

struct drawing {
	struct facts *f;
	xmlNodePtr node;
	int rc;
};

static void draw_box(struct drawing *d, const char *kind, int x, int y, int w, int h, struct text tip)
{
	if (d->rc)
		return;
	xmlNodePtr n = put_node(d->f, d->node, "box");
	const int at[4] = {x, y, w, h};
	static const char *const names[4] = {"x", "y", "width", "height"};
	d->rc = put_attr(d->f, n, "kind", text_of(kind));
	for (int i = 0; !d->rc && i < 4; i++)
		d->rc = put_attr_int(d->f, n, names[i], at[i]);
	if (!d->rc && tip.len)
		d->rc = put_text(d->f, n, tip);
}

/* anchor: start, middle or end. */
static void draw_label(struct drawing *d, const char *anchor, int x, int y, struct text t)
{
	if (d->rc)
		return;
	xmlNodePtr n = put_node(d->f, d->node, "label");
	d->rc = put_attr(d->f, n, "anchor", text_of(anchor));
	if (!d->rc)
		d->rc = put_attr_int(d->f, n, "x", x);
	if (!d->rc)
		d->rc = put_attr_int(d->f, n, "y", y);
	if (!d->rc)
		d->rc = put_text(d->f, n, t);
}

static void draw_legend(struct drawing *d, const char *kind, const char *words)
{
	if (d->rc)
		return;
	xmlNodePtr n = put_node(d->f, d->node, "legend");
	d->rc = put_attr(d->f, n, "kind", text_of(kind));
	if (!d->rc)
		d->rc = put_text(d->f, n, text_of(words));
}

/* The figure stands before the section's first table. */
static struct drawing draw_begin(struct facts *f, xmlNodePtr table, const char *id, int height, const char *title,
				 struct text desc)
{
	struct drawing d = {.f = f, .node = xmlNewDocNode(f->doc, f->ns, XC("figure"), NULL)};
	if (!d.node) {
		d.rc = err_nomem(f->err);
		return d;
	}
	xmlAddPrevSibling(table, d.node);
	d.rc = put_attr(f, d.node, "id", text_of(id));
	if (!d.rc)
		d.rc = put_attr_int(f, d.node, "width", WIDTH);
	if (!d.rc)
		d.rc = put_attr_int(f, d.node, "height", height);
	if (!d.rc)
		d.rc = put_element(f, d.node, "title", text_of(title));
	if (!d.rc)
		d.rc = put_element(f, d.node, "desc", desc);
	return d;
}

/* Day and time of a second, cut to n characters ("2026-08-27 01:35:20"). */
static struct text second_text(int64_t s, size_t n, char *tmp, size_t size)
{
	return text_sub(axis_time(s * NS_PER_S, tmp, size), 0, n);
}

/* --- affected responses per day --- */

struct bar {
	int64_t day, c1, c2; /* first day since the epoch */
};
struct bars {
	struct bar bar[BARS_MAX];
	int64_t first, step, most, c1, c2, undated;
	int n;
};

static const int64_t day_s = 86400;

static void bars_span(struct bars *b, const struct grid *g)
{
	int64_t last = INT64_MIN;
	b->first = INT64_MAX;
	for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next)) {
		int64_t s = day_of(g, r);
		if (s == TIME_UNKNOWN)
			continue;
		b->first = MIN(b->first, s / day_s);
		last = MAX(last, s / day_s);
	}
	if (last == INT64_MIN)
		return;
	b->step = (last - b->first) / BARS_MAX + 1;
	b->n = (int)((last - b->first) / b->step + 1);
	for (int i = 0; i < b->n; i++)
		b->bar[i].day = b->first + i * b->step;
}

static void bars_fill(struct bars *b, const struct grid *g)
{
	for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next)) {
		int64_t c1 = count_of(g, r, "c1"), c2 = count_of(g, r, "c2"), s = day_of(g, r);
		b->c1 += c1;
		b->c2 += c2;
		if (s == TIME_UNKNOWN) {
			b->undated += c1 + c2;
			continue;
		}
		struct bar *to = &b->bar[(s / day_s - b->first) / b->step];
		to->c1 += c1;
		to->c2 += c2;
		b->most = MAX(b->most, to->c1 + to->c2);
	}
}

static int64_t nice_step(int64_t most)
{
	for (int64_t unit = 1;; unit *= 10)
		for (int k = 0; k < 3; k++) {
			int64_t step = unit * (k == 0 ? 1 : k == 1 ? 2 : 5);
			if (most / step < 5 || step > INT64_MAX / 100)
				return step;
		}
}

enum { BASE = 210, TOP = 16, LEFT = 52, RIGHT = 10 };

static void draw_scale(struct drawing *d, int64_t full, int64_t step)
{
	char tmp[32];
	for (int64_t v = 0; v <= full; v += step) {
		int y = BASE - (int)((double)v / (double)full * (BASE - TOP));
		snprintf(tmp, sizeof(tmp), "%" PRId64, v);
		draw_box(d, "line", LEFT, y, WIDTH - LEFT - RIGHT, 1, (struct text){NULL, 0});
		draw_label(d, "end", LEFT - 8, y + 4, text_of(tmp));
	}
}

static void draw_bar(struct drawing *d, const struct bars *b, int i, int64_t full)
{
	char tip[160], tmp[64];
	const struct bar *bar = &b->bar[i];
	int slot = (WIDTH - LEFT - RIGHT) / b->n, wide = MIN(slot - 2, 48);
	wide = MAX(wide, 1);
	int x = LEFT + (int)((double)(WIDTH - LEFT - RIGHT) * (i + 0.5) / b->n) - wide / 2;
	int h1 = (int)((double)bar->c1 / (double)full * (BASE - TOP));
	int h = (int)((double)(bar->c1 + bar->c2) / (double)full * (BASE - TOP));
	struct text day = second_text(bar->day * day_s, 10, tmp, sizeof(tmp));
	if (b->step > 1)
		snprintf(tip, sizeof(tip), "%" PRId64 " days from %.*s: C1 %" PRId64 ", C2 %" PRId64, b->step,
			 TEXT_ARG(day), bar->c1, bar->c2);
	else
		snprintf(tip, sizeof(tip), "%.*s: C1 %" PRId64 ", C2 %" PRId64, TEXT_ARG(day), bar->c1, bar->c2);
	if (bar->c1)
		draw_box(d, "c1", x, BASE - MAX(h1, 1), wide, MAX(h1, 1), text_of(tip));
	if (bar->c2)
		draw_box(d, "c2", x, BASE - MAX(h, 1), wide, MAX(h - h1, 1), text_of(tip));
	int every = (b->n + 15) / 16;
	if (i % every == 0)
		draw_label(d, "middle", x + wide / 2, BASE + 18, b->n > 40 || b->step > 1 ? day : text_from(day, 5));
}

static int figure_days(struct facts *f)
{
	struct grid g;
	struct bars b = {.step = 1};
	char desc[512];
	int rc = grid_open(&g, f, "days");
	if (!rc) {
		bars_span(&b, &g);
		if (b.n)
			bars_fill(&b, &g);
	}
	if (!rc && b.c1 + b.c2 > 0 && b.most > 0) {
		int64_t step = nice_step(b.most), full = (b.most + step - 1) / step * step;
		char unit[48] = "each day";
		if (b.step > 1)
			snprintf(unit, sizeof(unit), "each %" PRId64 " days", b.step);
		snprintf(
		    desc, sizeof(desc),
		    "Stacked bars, one for %s: %" PRId64 " response%s C1 and %" PRId64
		    " response%s C2 in all; the highest bar "
		    "stands for %" PRId64 ". %" PRId64 " without a known start %s not drawn. The table below has the "
		    "same numbers by day.",
		    unit, b.c1, PLURAL(b.c1), b.c2, PLURAL(b.c2), b.most, b.undated, b.undated == 1 ? "is" : "are");
		struct drawing d =
		    draw_begin(f, g.table, "figure-days", 240, "Affected responses per day (UTC)", text_of(desc));
		draw_legend(&d, "c1", "C1 confirmed");
		draw_legend(&d, "c2", "C2 probable");
		draw_scale(&d, full, step);
		for (int i = 0; i < b.n; i++)
			draw_bar(&d, &b, i, full);
		rc = d.rc;
	}
	grid_done(&g);
	return rc;
}

/* --- timeline: coverage, boots, gaps and affected responses per worker --- */

enum { LANE = 26, LANES_TOP = 8, LANES_LEFT = 190 };

struct lanes {
	struct text name[LANES_MAX];
	xmlNodePtr row[LANES_MAX];
	int n, of;
	int64_t from, to;
};

/* Workers with affected responses first, when there are more than fit. */
static void lanes_choose(struct lanes *l, const struct grid *g)
{
	l->from = INT64_MAX;
	l->to = INT64_MIN;
	for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next))
		l->of++;
	for (int pass = 0; pass < 2; pass++)
		for (xmlNodePtr r = next_row(g->table->children); r && l->n < LANES_MAX; r = next_row(r->next)) {
			bool first = l->of <= LANES_MAX || count_of(g, r, "affected") > 0;
			if (first != (pass == 0))
				continue;
			l->row[l->n] = r;
			l->name[l->n++] = cell_of(g, r, "worker");
			int64_t a = second_of(g, r, "first_at"), b = second_of(g, r, "last_at");
			if (a != TIME_UNKNOWN)
				l->from = MIN(l->from, a);
			if (b != TIME_UNKNOWN)
				l->to = MAX(l->to, b + 1);
		}
}

static int lane_of(const struct lanes *l, struct text worker)
{
	for (int i = 0; i < l->n; i++)
		if (worker.len && text_eq(l->name[i], worker))
			return i;
	return -1;
}

static int place(const struct lanes *l, int64_t s)
{
	double part = (double)(s - l->from) / (double)(l->to - l->from);
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return LANES_LEFT + (int)(part * (WIDTH - LANES_LEFT - RIGHT));
}

static int top_of(int lane)
{
	return LANES_TOP + lane * LANE;
}

static void draw_axis(struct drawing *d, const struct lanes *l)
{
	char tmp[64], label[64];
	int64_t step = MAX(axis_step(MIN(l->to - l->from, INT64_MAX / NS_PER_S) * NS_PER_S, 9) / NS_PER_S, 60);
	int64_t s = l->from / step * step;
	for (int n = 0; s <= l->to && n < 40; s += step, n++) {
		if (s < l->from)
			continue;
		int x = place(l, s);
		draw_box(d, "line", x, LANES_TOP, 1, l->n * LANE, (struct text){NULL, 0});
		struct text t = second_text(s, step < day_s ? 16 : 10, tmp, sizeof(tmp));
		if (step < day_s) /* a time of day is one of UTC */
			snprintf(label, sizeof(label), "%.*sZ", TEXT_ARG(text_from(t, 5)));
		draw_label(d, x > WIDTH - 50 ? "end" : "middle", x, LANES_TOP + l->n * LANE + 16,
			   step < day_s ? text_of(label) : t);
	}
}

/* Names of workers differ at their end: a long one loses its beginning. */
static void draw_spans(struct drawing *d, const struct lanes *l, const struct grid *g)
{
	CLEANUP(buf_done) struct buf name_cut = BUF_INIT(64 * KIB);
	for (int i = 0; i < l->n; i++) {
		int64_t a = second_of(g, l->row[i], "first_at"), b = second_of(g, l->row[i], "last_at");
		struct text name = l->name[i];
		buf_clear(&name_cut);
		if (!d->rc)
			d->rc = svg_cut(name, NAME_COLUMNS, &name_cut, d->f->err);
		draw_label(d, "end", LANES_LEFT - 10, top_of(i) + 17, buf_text(&name_cut));
		if (a == TIME_UNKNOWN || b == TIME_UNKNOWN)
			continue;
		bool page_log = text_is(cell_of(g, l->row[i], "page_log"), "yes");
		draw_box(d, page_log ? "seen-pages" : "seen", place(l, a), top_of(i) + 6,
			 MAX(place(l, b) - place(l, a), 1), 14, name);
	}
}

static void draw_gaps(struct drawing *d, const struct lanes *l, const struct grid *g)
{
	for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next)) {
		int lane = lane_of(l, cell_of(g, r, "worker"));
		int64_t a = second_of(g, r, "from"), b = second_of(g, r, "to");
		if (lane < 0 || a == TIME_UNKNOWN || b == TIME_UNKNOWN || !text_is(cell_of(g, r, "kind"), "sequence"))
			continue;
		draw_box(d, "gap", place(l, a), top_of(lane) + 4, MAX(place(l, b) - place(l, a), 3), 18,
			 cell_of(g, r, "effect"));
	}
}

static void draw_boots(struct drawing *d, const struct lanes *l, const struct grid *g)
{
	for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next)) {
		char tip[192], tmp[64];
		int lane = lane_of(l, cell_of(g, r, "worker"));
		int64_t s = second_of(g, r, "started_at");
		if (lane < 0 || s == TIME_UNKNOWN)
			continue;
		struct text at = second_text(s, 19, tmp, sizeof(tmp)),
			    version = text_sub(cell_of(g, r, "version"), 0, 60);
		snprintf(tip, sizeof(tip), "started %.*sZ %.*s", TEXT_ARG(at), (int)version.len,
			 version.len ? version.ptr : "");
		draw_box(d, "boot", place(l, s), top_of(lane) + 2, 2, 22, text_of(tip));
	}
}

/* Several responses at one place are one mark: a page is not made larger by a denser incident. */
static void draw_affected(struct drawing *d, const struct lanes *l, const struct grid *g)
{
	static const char *const classes[] = {"C2", "C1"}, *const kinds[] = {"c2", "c1"};
	for (int k = 0; k < 2; k++) {
		bool drawn[LANES_MAX][WIDTH] = {{false}};
		for (xmlNodePtr r = next_row(g->table->children); r; r = next_row(r->next)) {
			int lane = lane_of(l, cell_of(g, r, "decode_worker"));
			int64_t s = second_of(g, r, "started_at");
			if (lane < 0 || s == TIME_UNKNOWN || !text_is(cell_of(g, r, "class"), classes[k]))
				continue;
			int x = MIN(place(l, s), WIDTH - 2);
			if (!drawn[lane][x])
				draw_box(d, kinds[k], x, top_of(lane) + (k ? 6 : 11), 2, k ? 14 : 9,
					 (struct text){NULL, 0});
			drawn[lane][x] = true;
		}
	}
}

static int draw_lanes(struct facts *f, const struct lanes *l, const struct grid *workers, const struct grid *boots,
		      const struct grid *gaps, const struct grid *affected)
{
	char desc[400];
	snprintf(
	    desc, sizeof(desc),
	    "One lane for each of %d of %d worker%s: the bar is the span of its records, with the starts of the "
	    "worker, "
	    "sequence gaps, and the starts of affected responses that it answered. The tables of workers, boots, gaps "
	    "and "
	    "affected responses hold the same data.",
	    l->n, l->of, PLURAL(l->of));
	struct drawing d = draw_begin(f, workers->table, "figure-lanes", LANES_TOP + l->n * LANE + 26,
				      "Coverage, starts, gaps and affected responses per worker (UTC)", text_of(desc));
	draw_legend(&d, "seen", "records");
	draw_legend(&d, "seen-pages", "records with a page log");
	draw_legend(&d, "boot", "start of the worker");
	draw_legend(&d, "gap", "sequence gap");
	draw_legend(&d, "c1", "C1 confirmed (tall)");
	draw_legend(&d, "c2", "C2 probable (short)");
	draw_axis(&d, l);
	draw_spans(&d, l, workers);
	draw_gaps(&d, l, gaps);
	draw_boots(&d, l, boots);
	draw_affected(&d, l, affected);
	return d.rc;
}

static int figure_lanes(struct facts *f)
{
	static const char *const sections[4] = {"coverage", "boots", "gaps", "affected"};
	struct grid g[4] = {{NULL}};
	struct lanes l = {.n = 0};
	int rc = 0;
	for (int i = 0; !rc && i < 4; i++)
		rc = grid_open(&g[i], f, sections[i]);
	if (!rc)
		lanes_choose(&l, &g[0]);
	if (!rc && l.n && l.from < l.to)
		rc = draw_lanes(f, &l, &g[0], &g[1], &g[2], &g[3]);
	for (int i = 0; i < 4; i++)
		grid_done(&g[i]);
	return rc;
}

int put_figures(struct facts *f)
{
	int rc = figure_days(f);
	return rc ? rc : figure_lanes(f);
}
