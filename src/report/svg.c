/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c - shapes, words and axes of an SVG file */
#include "svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void svg_put(struct svg *s, const char *fmt, ...)
{
	va_list ap;
	if (s->rc)
		return;
	va_start(ap, fmt);
	s->rc = buf_vprintf(s->out, s->err, fmt, ap);
	va_end(ap);
}

/* What text_visible() gives is printable; what is left are the characters of markup. */
static int put_xml(struct buf *out, struct text t, struct err *err)
{
	static const struct {
		char c;
		const char *name;
	} markup[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	int rc = 0;
	for (size_t i = 0; !rc && i < t.len; i++) {
		const char *name = NULL;
		for (size_t k = 0; k < ARRAY_SIZE(markup); k++)
			if (markup[k].c == t.ptr[i])
				name = markup[k].name;
		rc = name ? buf_add_text(out, text_of(name), err) : buf_add_char(out, t.ptr[i], err);
	}
	return rc;
}

void svg_words(struct svg *s, struct text t, size_t max_bytes)
{
	if (s->rc)
		return;
	buf_clear(&s->scratch);
	s->rc = text_visible(t, max_bytes, &s->scratch, s->err);
	if (!s->rc)
		s->rc = put_xml(s->out, buf_text(&s->scratch), s->err);
}

void svg_open(struct svg *s, struct buf *out, int height, struct text title, struct text desc, struct err *err)
{
	*s = (struct svg){.out = out, .scratch = BUF_INIT(64 * KIB), .err = err};
	svg_put(
	    s,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
	    "aria-labelledby=\"pt-title pt-desc\" lang=\"en\" font-family=\"DejaVu Sans, Verdana, Arial, "
	    "sans-serif\">\n"
	    "<title id=\"pt-title\">",
	    SVG_WIDTH, height, SVG_WIDTH, height);
	svg_words(s, title, CELL_MAX_BYTES);
	svg_put(s, "</title>\n<desc id=\"pt-desc\">");
	svg_words(s, desc, CELL_MAX_BYTES);
	svg_put(s,
		"</desc>\n<defs>\n"
		"<pattern id=\"pt-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		"<path d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\" "
		"stroke=\"#000\"/></pattern>\n"
		"<pattern id=\"pt-back\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		"<path d=\"M-1 -1L7 7M-1 5L1 7M5 -1L7 1\" stroke=\"#000\"/></pattern>\n"
		"<pattern id=\"pt-dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
		"<rect width=\"5\" height=\"5\" fill=\"#fff\"/><circle cx=\"2\" cy=\"2\" r=\"1\" "
		"fill=\"#000\"/></pattern>\n"
		"</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		SVG_WIDTH, height);
}

int svg_close(struct svg *s)
{
	svg_put(s, "</svg>\n");
	buf_done(&s->scratch);
	return s->rc;
}

static void put_tip(struct svg *s, const char *element, struct text tip)
{
	if (!tip.len) {
		svg_put(s, "/>\n");
		return;
	}
	svg_put(s, "><title>");
	svg_words(s, tip, SVG_TIP_BYTES);
	svg_put(s, "</title></%s>\n", element);
}

void svg_box(struct svg *s, int x, int y, int w, int h, const char *attributes, struct text tip)
{
	svg_put(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" %s", x, y, MAX(w, 1), MAX(h, 1), attributes);
	put_tip(s, "rect", tip);
}

void svg_line(struct svg *s, int x1, int y1, int x2, int y2, const char *attributes)
{
	svg_put(s, "<path d=\"M%d %dL%d %d\" %s/>\n", x1, y1, x2, y2, attributes);
}

static void label_open(struct svg *s, const char *anchor, int x, int y, int size, const char *attributes)
{
	svg_put(s, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"%s\"%s%s>", x, y, size, anchor,
		*attributes ? " " : "", attributes);
}

void svg_label(struct svg *s, const char *anchor, int x, int y, int size, const char *attributes, struct text t)
{
	label_open(s, anchor, x, y, size, attributes);
	svg_words(s, t, SVG_TIP_BYTES);
	svg_put(s, "</text>\n");
}

void svg_label_shown(struct svg *s, const char *anchor, int x, int y, int size, const char *attributes, struct text t)
{
	label_open(s, anchor, x, y, size, attributes);
	if (!s->rc)
		s->rc = put_xml(s->out, t, s->err);
	svg_put(s, "</text>\n");
}

/* The next line of a paragraph: whole words, at least one. */
static struct text next_line(struct text *rest)
{
	size_t end = 0, at = 0;
	*rest = text_trim(*rest);
	while (at < rest->len) {
		size_t stop = text_find_char(*rest, ' ', at + 1);
		stop = stop == SIZE_MAX ? rest->len : stop;
		if (end && svg_text_width(text_sub(*rest, 0, stop), SVG_SMALL) > SVG_WIDTH - 40)
			break;
		end = at = stop;
	}
	struct text line = text_sub(*rest, 0, end);
	*rest = text_from(*rest, end);
	return line;
}

int svg_paragraph_lines(struct text t)
{
	int n = 0;
	for (; text_trim(t).len; n++)
		(void)next_line(&t);
	return n;
}

void svg_paragraph(struct svg *s, int y, struct text t)
{
	for (; text_trim(t).len; y += 15)
		svg_label(s, "start", 20, y, SVG_SMALL, "", next_line(&t));
}

/* Hundredths of an em, as wide as the widest of the usual sans serif fonts have them. */
static unsigned em_of(unsigned char c)
{
	if (strchr(" ,.:;!'|()[]/-ijlftrI", c))
		return 42;
	if (strchr("mwMW@%", c))
		return 100;
	return c >= 'A' && c <= 'Z' ? 76 : 64;
}

int svg_text_width(struct text t, int size)
{
	size_t ascii = 0, columns;
	unsigned em = 0;
	t = text_sub(t, 0, 10000);
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] < 0x80) {
			em += em_of((unsigned char)t.ptr[i]);
			ascii++;
		}
	columns = text_columns(t);
	em += columns > ascii ? (unsigned)(columns - ascii) * 80 : 0;
	return (int)(em * (unsigned)size / 100);
}

static size_t character(struct text t)
{
	size_t n = 1;
	while (n < t.len && ((unsigned char)t.ptr[n] & 0xC0) == 0x80)
		n++;
	return n;
}

static int put_cut(struct text t, size_t columns, bool cut, struct buf *out, struct err *err)
{
	size_t have = text_columns(t) + cut;
	while (t.len && have > columns) {
		size_t n = character(t);
		have -= text_columns(text_sub(t, 0, n));
		have += !cut;
		t = text_from(t, n);
		cut = true;
	}
	int rc = cut ? buf_add_text(out, TEXT("\xE2\x80\xA6"), err) : 0;
	return rc ? rc : buf_add_text(out, t, err);
}

int svg_cut(struct text shown, size_t columns, struct buf *out, struct err *err)
{
	return put_cut(shown, columns, false, out, err);
}

int svg_short(struct text t, size_t columns, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	/* only the end is kept: of a name of a megabyte no more is looked at */
	struct text tail = t.len > NAME_MAX_BYTES * 4 ? text_from(t, t.len - NAME_MAX_BYTES * 4) : t;
	while (tail.len < t.len && tail.len && ((unsigned char)tail.ptr[0] & 0xC0) == 0x80)
		tail = text_from(tail, 1);
	int rc = text_visible(tail, SIZE_MAX, &b, err);
	return rc ? rc : put_cut(buf_text(&b), columns, tail.len < t.len, out, err);
}

void svg_heading(struct svg *s, struct text title, struct text below)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	if (!s->rc)
		s->rc = text_visible(title, CELL_MAX_BYTES, &b, s->err);
	struct text t = buf_text(&b);
	size_t whole = t.len;
	while (t.len && svg_text_width(t, SVG_HEAD) > SVG_WIDTH - 60) {
		t.len--;
		while (t.len && ((unsigned char)t.ptr[t.len] & 0xC0) == 0x80)
			t.len--;
	}
	bool cut = t.len < whole;
	b.len = t.len;
	if (!s->rc && cut)
		s->rc = buf_add_text(&b, TEXT("\xE2\x80\xA6"), s->err);
	svg_label_shown(s, "start", 20, 26, SVG_HEAD, "font-weight=\"bold\"", buf_text(&b));
	svg_label(s, "start", 20, 46, SVG_PLAIN, "", below);
}

void svg_mark(struct svg *s, enum svg_mark mark, int x, int y, const char *attributes, struct text tip)
{
	static const char *const paths[] = {
	    [MARK_SQUARE] = "m-4 -4h8v8h-8z",         [MARK_TRIANGLE] = "m0 -5l5 9h-10z",
	    [MARK_DIAMOND] = "m0 -5l5 5l-5 5l-5 -5z", [MARK_UP] = "m0 -4l4 4h-2v4h-4v-4h-2z",
	    [MARK_DOWN] = "m0 4l4 -4h-2v-4h-4v4h-2z", [MARK_CROSS] = "m-4 -4l8 8m0 -8l-8 8"};
	if (mark == MARK_DISC) {
		svg_put(s, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" %s", x, y, attributes);
		put_tip(s, "circle", tip);
		return;
	}
	svg_put(s, "<path d=\"M%d %d%s\" %s", x, y, paths[mark], attributes);
	put_tip(s, "path", tip);
}

/* --- time --- */
#define MS  INT64_C(1000000)
#define SEC NS_PER_S
#define DAY (86400 * NS_PER_S)

int64_t axis_step(int64_t span_ns, int n)
{
	static const int64_t steps[] = {1,        10,       100,       1000,       10000,      100000,     MS,
					10 * MS,  100 * MS, 500 * MS,  SEC,        2 * SEC,    5 * SEC,    10 * SEC,
					30 * SEC, 60 * SEC, 120 * SEC, 300 * SEC,  600 * SEC,  1800 * SEC, 3600 * SEC,
					DAY / 8,  DAY / 4,  DAY / 2,   DAY,        2 * DAY,    7 * DAY,    14 * DAY,
					30 * DAY, 90 * DAY, 365 * DAY, 3650 * DAY, 36500 * DAY};
	size_t k = 0;
	while (k + 1 < ARRAY_SIZE(steps) && span_ns / steps[k] >= n)
		k++;
	return steps[k];
}

int axis_place(const struct axis *a, int64_t ns)
{
	ns = MIN(MAX(ns, a->from_ns), a->to_ns);
	double part = ((double)ns - (double)a->from_ns) / ((double)a->to_ns - (double)a->from_ns);
	if ((double)a->to_ns - (double)a->from_ns <= 0)
		part = 0;
	return a->left + (int)(part * (a->right - a->left) + 0.5);
}

struct text axis_time(int64_t ns, char *tmp, size_t size)
{
	stamp_format(ns, tmp, size);
	for (char *p = tmp; *p; p++)
		if (*p == 'T')
			*p = ' ';
	return text_of(tmp);
}

struct text axis_second(int64_t ns, char *tmp, size_t size)
{
	struct text t = axis_time(ns, tmp, size);
	if (t.len > 19)
		tmp[19] = 0;
	return text_of(tmp);
}

/* Time above, day below where it differs from that of the tick before; of whole days the year below. */
static void axis_words(struct svg *s, const struct axis *a, int64_t ns, int64_t step, int x, int y, char *last)
{
	char tmp[64];
	struct text t = axis_time(ns, tmp, sizeof(tmp));
	bool days = step >= DAY;
	struct text above = days ? text_sub(t, 5, 5) : text_from(t, 11), below = text_sub(t, 0, days ? 4 : 10);
	if (!days && above.len && above.ptr[above.len - 1] == 'Z')
		above.len--;
	if (step >= 60 * SEC && !days)
		above = text_sub(above, 0, 5);
	const char *anchor = x > a->right - 30 ? "end" : "middle";
	svg_label(s, anchor, x, y + 15, SVG_SMALL, "", above);
	if (!text_is(below, last))
		svg_label(s, anchor, x, y + 29, SVG_SMALL, "", below);
	snprintf(last, 16, "%.*s", TEXT_ARG(below));
}

void axis_draw(struct svg *s, const struct axis *a, int top, int bottom)
{
	uint64_t span = (uint64_t)a->to_ns - (uint64_t)a->from_ns;
	int64_t step = axis_step((int64_t)MIN(span, (uint64_t)INT64_MAX), 8);
	int64_t ns = a->from_ns - a->from_ns % step;
	char last[16] = "";
	for (int n = 0; n < 12; n++) {
		if (ns >= a->from_ns && ns <= a->to_ns) {
			int x = axis_place(a, ns);
			svg_line(s, x, top, x, bottom, "stroke=\"#ccc\"");
			axis_words(s, a, ns, step, x, bottom, last);
		}
		if (ns > INT64_MAX - step || ns + step > a->to_ns)
			break;
		ns += step;
	}
	svg_line(s, a->left, bottom, a->right, bottom, "stroke=\"#000\"");
	svg_label(s, "end", a->left - 44, bottom + 15, SVG_SMALL, "", TEXT("UTC"));
}

/* --- legend --- */
enum { SAMPLE = 22 };

void legend_next(struct legend *l, const char *words, int *ret_x, int *ret_y)
{
	int w = SAMPLE + 6 + svg_text_width(text_of(words), SVG_SMALL) + 14;
	if (l->x + w > SVG_WIDTH - 10 && l->x > 20) {
		l->x = 20;
		l->y += 18;
	}
	*ret_x = l->x;
	*ret_y = l->y;
	if (l->s)
		svg_label(l->s, "start", l->x + SAMPLE + 6, l->y + 10, SVG_SMALL, "", text_of(words));
	l->x += w;
}
