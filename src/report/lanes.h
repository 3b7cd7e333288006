/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - private to lanes*.c: the rows of the timeline, arranged */
#pragma once

#include "pagetrail/picture.h"
#include "svg.h"

enum lanes_what { LANES_COVERAGE, LANES_BOOT, LANES_GAP, LANES_EXPOSED, LANES_RECIPIENT, LANES_RESPONSE, LANES_WHATS };
enum { LANES_CLASSES = 4, LANES_ROWS_MAX = 4 };
/* Pixels. */
enum {
	LANES_LEFT = 190,
	LANES_RIGHT = 20,
	LANES_PAD = 6,
	LANES_BAR = 16,
	LANES_LABEL = 14,
	LANES_WINDOW = 13,
	LANES_MARKS = 14,
	LANES_BUCKET = 7
};

#define LANES_SEEN           "fill=\"#cfe3f2\" stroke=\"#35628a\""
#define LANES_SEEN_PAGES     "fill=\"#7fb2d9\" stroke=\"#1f3f5b\""
#define LANES_GAP_FILL       "fill=\"url(#pt-hatch)\" stroke=\"#000\""
#define LANES_EXPOSED_FILL   "fill=\"url(#pt-dots)\" stroke=\"#000\""
#define LANES_RECIPIENT_FILL "fill=\"#444\" stroke=\"#000\""

struct lanes_item {
	uint32_t lane;
	enum lanes_what what;
	int class_id;
	int row; /* of its label, counted from the bar: -1 none */
	int label_x;
	bool label_end; /* the label ends at label_x */
	int64_t from, to, pool_tokens, input_limit, count;
	struct text kind, detail;
	struct text label;
};

struct lane {
	struct text name; /* empty: not known */
	uint64_t classes[LANES_CLASSES];
	bool drawn, windows;
	int top, above, rows; /* rows of labels above and below the bar: of gaps, of starts */
};

struct lanes {
	struct lanes_item *items;
	size_t n_items, cap_items;
	struct lane *lanes;
	uint32_t n_lanes, n_drawn, last;
	struct axis axis;
	bool timed;
	uint64_t untimed[LANES_WHATS], together, together_of, unlabelled;
	struct arena arena;
};

/* Finds room for labels; counts what will not be drawn. */
int lanes_arrange(struct lanes *l, struct err *err) MUST_CHECK;
void lanes_strips(struct lanes *l, struct svg *s);
void lanes_mark(struct svg *s, int class_id, int x, int y, struct text tip);
struct text lanes_class_name(int class_id);
