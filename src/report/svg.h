/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h - private to report: shapes and words of an SVG file of its own, and axes of time
 *
 * The file is self-contained (no script, no style sheet, no reference out of itself), and inert: every foreign text goes
 * through svg_words(), which is text_visible() and then XML. Numbers are whole pixels, so the same rows give the same
 * bytes. A failure is kept in rc; the functions do nothing after one.
 */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

enum { SVG_WIDTH = 1000, SVG_SMALL = 11, SVG_PLAIN = 12, SVG_HEAD = 16 };
/* Of one text: a label, a tooltip. */
enum { SVG_TIP_BYTES = 400 };

struct svg {
	struct buf *out;
	struct buf scratch;
	struct err *err;
	int rc;
};

/* The canvas is white; title and desc are those of the image. */
void svg_open(struct svg *s, struct buf *out, int height, struct text title, struct text desc, struct err *err);
int svg_close(struct svg *s) MUST_CHECK; /* gives rc; always to be called after svg_open() */
void svg_put(struct svg *s, const char *fmt, ...) PRINTF_LIKE(2, 3); /* what holds no foreign text */
void svg_words(struct svg *s, struct text t, size_t max_bytes);      /* foreign text, made inert */

/* fill and stroke: attributes ("fill=\"#000\""), a constant. tip: shown by viewers when pointed at; may be empty. */
void svg_box(struct svg *s, int x, int y, int w, int h, const char *attributes, struct text tip);
void svg_line(struct svg *s, int x1, int y1, int x2, int y2, const char *attributes);
/* anchor: start, middle or end. size in pixels; attributes may be "". */
void svg_label(struct svg *s, const char *anchor, int x, int y, int size, const char *attributes, struct text t);
/* The same with a text that svg_short() gave. */
void svg_label_shown(struct svg *s, const char *anchor, int x, int y, int size, const char *attributes, struct text t);
/* The title over the picture, and a line below it; a long one loses its end, and stands whole in the image's own title. */
void svg_heading(struct svg *s, struct text title, struct text below);
/* Lines over the whole width, 15 pixels each, from the base line y on. */
void svg_paragraph(struct svg *s, int y, struct text t);
int svg_paragraph_lines(struct text t);
/* Pixels that a text of this size takes, rather too many than too few. */
int svg_text_width(struct text t, int size);
/* A text that is visible already, cut at its beginning to so many columns. */
int svg_cut(struct text shown, size_t columns, struct buf *out, struct err *err) MUST_CHECK;
/* t as it will be shown, cut at its beginning to so many columns: names differ at their end. Appended to out. */
int svg_short(struct text t, size_t columns, struct buf *out, struct err *err) MUST_CHECK;

/* --- marks: told apart by shape, not by colour alone --- */
enum svg_mark { MARK_DISC, MARK_SQUARE, MARK_TRIANGLE, MARK_DIAMOND, MARK_UP, MARK_DOWN, MARK_CROSS };
void svg_mark(struct svg *s, enum svg_mark mark, int x, int y, const char *attributes, struct text tip);

/* --- an axis of time, UTC --- */
struct axis {
	int64_t from_ns, to_ns; /* to > from */
	int left, right;        /* pixels */
};
int axis_place(const struct axis *a, int64_t ns); /* clamped */
/* Lines from top to bottom, and below them two lines of words, 30 pixels high. */
void axis_draw(struct svg *s, const struct axis *a, int top, int bottom);
/* Step of at most n ticks over a span of ns. */
int64_t axis_step(int64_t span_ns, int n);
/* "2026-08-27 01:35:20Z" */
struct text axis_time(int64_t ns, char *tmp, size_t size);
/* The same to the second, without Z. */
struct text axis_second(int64_t ns, char *tmp, size_t size);
enum { AXIS_HEIGHT = 34 };

/* --- legend: samples beside words, in rows --- */
struct legend {
	struct svg *s; /* NULL: only measures */
	int x, y;
};
/* Where the sample of 22 x 12 pixels has its upper left corner; the words follow it. */
void legend_next(struct legend *l, const char *words, int *ret_x, int *ret_y);
