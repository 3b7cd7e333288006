/* SPDX-License-Identifier: Apache-2.0 */
/* bands_strips.c - one band: whose content over time, when it was held, and what was read */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bands.h"

enum { CONTENTS_MAX = BAND_OWNERS + 3, WORKER_COLUMNS = 50 };

/* Eight colours that differ also in grey, three grounds. */
void bands_fill(struct svg *s, unsigned look, int x, int y, int w, int h, struct text tip)
{
	static const char *const colours[8] = {"#f2b447", "#8fc1e3", "#a8d08d", "#f3a6a0",
					       "#c9b3e6", "#f7e08a", "#8ed1c6", "#e0b48a"};
	static const char *const grounds[3] = {NULL, "pt-hatch", "pt-back"};
	char fill[64];
	snprintf(fill, sizeof(fill), "fill=\"%s\" stroke=\"#555\"", colours[look % 8]);
	svg_box(s, x, y, w, h, fill, tip);
	if (!grounds[look / 8 % 3])
		return;
	snprintf(fill, sizeof(fill), "fill=\"url(#%s)\" opacity=\"0.45\"", grounds[look / 8 % 3]);
	svg_box(s, x, y, w, h, fill, tip);
}

void bands_letter(struct svg *s, int x, int y, const char *letter)
{
	svg_put(s, "<rect x=\"%d\" y=\"%d\" width=\"13\" height=\"13\" fill=\"#fff\" stroke=\"#555\"/>\n", x - 6,
		y - 10);
	svg_label(s, "middle", x, y, SVG_SMALL, "font-weight=\"bold\"", text_of(letter));
}

enum content_of { OF_OWN, OF_PARTY, OF_SEVERAL, OF_NOBODY };
struct content {
	enum content_of of;
	uint32_t party, others;
	int64_t from; /* TIME_UNKNOWN: before all else */
	int64_t wrote;
	struct text kind;
};

static void content_add(struct content *list, int *n, struct content c)
{
	int at = *n;
	while (at > 0 && list[at - 1].from > c.from) {
		list[at] = list[at - 1];
		at--;
	}
	list[at] = c;
	(*n)++;
}

/* What stood in the band, from when on. What was written before the request took the pages is all that can be said of then. */
static int contents(const struct bands *p, const struct band *b, struct content *list)
{
	const struct reach *own = &b->op[PAGES_WRITE], *taken = &b->op[PAGES_ALLOC];
	int n = 0;
	bool several = b->n_owners > b->n_owner || b->rest;
	if (own->first != TIME_UNKNOWN)
		content_add(list, &n, (struct content){.of = OF_OWN, .from = own->first});
	uint32_t before = 0;
	for (uint32_t i = 0; i < b->n_owner; i++)
		before += b->owner[i].wrote == TIME_UNKNOWN || taken->first == TIME_UNKNOWN ||
			  b->owner[i].wrote < taken->first;
	if ((before > 1 || several) && b->n_owners > 1) {
		content_add(list, &n, (struct content){.of = OF_SEVERAL, .others = b->n_owners, .from = TIME_UNKNOWN});
		if (several)
			return n;
	}
	for (uint32_t i = 0; i < b->n_owner; i++) {
		bool early = b->owner[i].wrote == TIME_UNKNOWN || taken->first == TIME_UNKNOWN ||
			     b->owner[i].wrote < taken->first;
		if (early && before > 1 && b->n_owners > 1)
			continue;
		content_add(list, &n,
			    (struct content){.of = b->owner[i].party == PAGES_NOBODY ? OF_NOBODY : OF_PARTY,
					     .party = b->owner[i].party,
					     .from = early ? TIME_UNKNOWN : b->owner[i].wrote,
					     .wrote = b->owner[i].wrote,
					     .kind = p->kinds[b->owner[i].kind]});
	}
	return n;
}

static int content_words(const struct bands *p, const struct content *c, struct buf *tip, struct err *err)
{
	char at[64];
	buf_clear(tip);
	if (c->of == OF_OWN)
		return buf_printf(tip, err, "content of the request itself from %s",
				  axis_time(c->from, at, sizeof(at)).ptr);
	if (c->of == OF_NOBODY)
		return buf_add_text(tip, TEXT("never written since boot"), err);
	if (c->of == OF_SEVERAL)
		return buf_printf(tip, err, "content of %u other requests", c->others);
	const struct party *x = &p->parties[c->party];
	return buf_printf(tip, err, "content of %.*s (%.*s), %.*s, written %s", TEXT_ARG(text_sub(x->name, 0, 80)),
			  TEXT_ARG(text_sub(x->tenant, 0, 80)), TEXT_ARG(c->kind),
			  c->wrote == TIME_UNKNOWN ? "at a time not known" : axis_time(c->wrote, at, sizeof(at)).ptr);
}

static void draw_content(struct bands *p, struct svg *s, const struct band *b, const struct content *c, int x, int end,
			 struct buf *tip)
{
	if (!s->rc)
		s->rc = content_words(p, c, tip, s->err);
	int w = end - x, middle = x + w / 2, base = b->y + b->h / 2 + 4;
	char words[48];
	switch (c->of) {
	case OF_OWN: svg_box(s, x, b->y, w, b->h, PAGES_OWN_FILL, buf_text(tip)); return;
	case OF_NOBODY: svg_box(s, x, b->y, w, b->h, PAGES_NOBODY_FILL, buf_text(tip)); return;
	case OF_SEVERAL:
		svg_box(s, x, b->y, w, b->h, PAGES_SEVERAL_FILL, buf_text(tip));
		snprintf(words, sizeof(words), "%u others", c->others);
		if (w > svg_text_width(text_of(words), SVG_SMALL) + 60) {
			int half = svg_text_width(text_of(words), SVG_SMALL) / 2 + 3;
			svg_put(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"14\" fill=\"#fff\"/>\n",
				middle - half, base - 11, 2 * half);
			svg_label(s, "middle", middle, base, SVG_SMALL, "", text_of(words));
		}
		return;
	case OF_PARTY: {
		const struct party *x1 = &p->parties[c->party];
		char letter[2] = {(char)('A' + x1->letter), 0};
		if (x1->letter < 0) {
			svg_box(s, x, b->y, w, b->h, PAGES_SEVERAL_FILL, buf_text(tip));
			return;
		}
		bands_fill(s, x1->look, x, b->y, w, b->h, buf_text(tip));
		if (w > 20)
			bands_letter(s, middle, base, letter);
		return;
	}
	}
}

/* "120-247 +3 runs" and how many pages. */
static void caption(struct svg *s, const struct panel *panel, const struct band *b)
{
	char words[96], pages[48];
	uint32_t end = panel->edges[b->spans[0] + 1];
	for (uint32_t k = 1; k < b->n_spans && b->spans[k] == b->spans[k - 1] + 1; k++)
		end = panel->edges[b->spans[k] + 1];
	int n = snprintf(words, sizeof(words), end - b->first_page == 1 ? "page %u" : "pages %u\xE2\x80\x93%u",
			 b->first_page, end - 1);
	if (b->rest)
		n = snprintf(words, sizeof(words), "others, from page %u", b->first_page);
	else if (b->runs > 1 && n > 0)
		snprintf(words + n, sizeof(words) - (size_t)n, " +%u runs", b->runs - 1);
	snprintf(pages, sizeof(pages), "%" PRIu64 " page%s", b->pages, b->pages == 1 ? "" : "s");
	bool two = b->h >= 30 && b->pages != end - b->first_page;
	svg_label(s, "end", PAGES_LEFT - 10, b->y + b->h / 2 + (two ? -3 : 4), SVG_SMALL, "", text_of(words));
	if (two)
		svg_label(s, "end", PAGES_LEFT - 10, b->y + b->h / 2 + 11, SVG_SMALL, "", text_of(pages));
}

/* At both ends of the time in which it happened; how often is in the words. */
static void marks(const struct bands *p, struct svg *s, const struct reach *r, enum svg_mark mark,
		  const char *attributes, int y, const char *what)
{
	char a[64], z[64], tip[200];
	if (!r->n || r->first == TIME_UNKNOWN)
		return;
	int x = axis_place(&p->axis, r->first), end = axis_place(&p->axis, r->last);
	snprintf(tip, sizeof(tip), "%s: %" PRIu64 ", %s to %s", what, r->n, axis_time(r->first, a, sizeof(a)).ptr,
		 axis_time(r->last, z, sizeof(z)).ptr);
	if (end > x + 9) {
		svg_line(s, x, y, end, y, "stroke=\"#000\" stroke-dasharray=\"2 2\"");
		svg_mark(s, mark, end, y, attributes, text_of(tip));
	}
	svg_mark(s, mark, x, y, attributes, text_of(tip));
}

static void draw_band(struct bands *p, struct svg *s, const struct panel *panel, const struct band *b, struct buf *tip)
{
	struct content list[CONTENTS_MAX];
	int n = contents(p, b, list);
	const struct axis *a = &p->axis;
	for (int i = 0; i < n; i++) {
		int x = list[i].from == TIME_UNKNOWN ? a->left : axis_place(a, list[i].from);
		int end = i + 1 < n ? axis_place(a, list[i + 1].from) : a->right;
		if (list[i].of == OF_NOBODY && i + 1 == n && b->op[PAGES_FREE].last != TIME_UNKNOWN)
			end = axis_place(a, b->op[PAGES_FREE].last);
		draw_content(p, s, b, &list[i], x, MAX(end, x + 1), tip);
	}
	const struct reach *taken = &b->op[PAGES_ALLOC], *given = &b->op[PAGES_FREE];
	if (taken->first != TIME_UNKNOWN) {
		int x = axis_place(a, taken->first),
		    end = given->last == TIME_UNKNOWN ? a->right : axis_place(a, given->last);
		svg_box(s, x, b->y, MAX(end - x, 2), b->h, PAGES_HELD, (struct text){NULL, 0});
	}
	caption(s, panel, b);
	int up = b->y + 5, low = b->y + b->h - 5;
	marks(p, s, &b->op[PAGES_READ], MARK_DISC, PAGES_READ_MARK, low, "reads");
	marks(p, s, &b->op[PAGES_SHARE], MARK_DISC, PAGES_MARK, low, "shares of a cached prefix");
	marks(p, s, taken, MARK_UP, PAGES_MARK, up, "taken");
	marks(p, s, given, MARK_DOWN, PAGES_MARK, up, "given back");
	marks(p, s, &b->op[PAGES_FROM], MARK_CROSS, PAGES_FOREIGN_MARK, up, "reads of content that is not its own");
	marks(p, s, &b->op[PAGES_BY], MARK_DIAMOND, PAGES_BY_MARK, low, "its content read by others");
}

static void draw_gaps(struct bands *p, struct svg *s, const struct panel *panel)
{
	for (size_t i = 0; i < p->n_gaps; i++) {
		const struct bands_gap *g = &p->gaps[i];
		char tip[120];
		if (!text_eq(g->worker, panel->worker))
			continue;
		int x = g->from == TIME_UNKNOWN ? p->axis.left : axis_place(&p->axis, g->from);
		int end = g->to == TIME_UNKNOWN ? x : axis_place(&p->axis, g->to);
		snprintf(tip, sizeof(tip), "gap: %.*s", TEXT_ARG(text_sub(p->kinds[g->kind], 0, 60)));
		svg_box(s, x, panel->top + 22, MAX(end - x, 4), panel->bottom - panel->top - 24,
			"fill=\"url(#pt-hatch)\" stroke=\"#000\" opacity=\"0.5\"", text_of(tip));
	}
}

/* Kinds of gaps, each once, at the right of the panel's heading. */
static void gap_words(struct bands *p, struct svg *s, const struct panel *panel)
{
	char words[200] = "";
	uint32_t said = 0;
	for (size_t i = 0; i < p->n_gaps; i++) {
		const struct bands_gap *g = &p->gaps[i];
		if (!text_eq(g->worker, panel->worker) || said >> g->kind & 1)
			continue;
		said |= 1u << g->kind;
		size_t n = strlen(words);
		snprintf(words + n, sizeof(words) - n, "%s%.*s",
			 n ? ", " : "gaps: ", TEXT_ARG(text_sub(p->kinds[g->kind], 0, 20)));
	}
	if (*words)
		svg_label(s, "end", p->axis.right, panel->top + 16, SVG_SMALL, "", text_of(words));
}

void bands_strips(struct bands *p, struct svg *s)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	for (uint32_t i = 0; i < p->n_panels; i++) {
		const struct panel *panel = &p->panels[i];
		buf_clear(&b);
		if (!s->rc)
			s->rc = svg_short(panel->worker, WORKER_COLUMNS, &b, s->err);
		if (!s->rc)
			s->rc = buf_add_text(&b, TEXT(", pool "), s->err);
		if (!s->rc)
			s->rc = svg_short(panel->pool, 20, &b, s->err);
		svg_line(s, 20, panel->top, p->axis.right, panel->top, "stroke=\"#999\"");
		svg_label_shown(s, "start", 20, panel->top + 16, SVG_PLAIN, "font-weight=\"bold\"", buf_text(&b));
		gap_words(p, s, panel);
		for (uint32_t k = 0; k < panel->n_bands; k++)
			draw_band(p, s, panel, &panel->bands[k], &b);
		draw_gaps(p, s, panel);
	}
}
