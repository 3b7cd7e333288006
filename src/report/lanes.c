/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - the timeline as a picture: one lane a worker, with what its log covers and does not, its starts, and the affected
 * responses that it answered
 *
 * A lane is a stack of strips: coverage with gaps and starts, their labels, the two windows, and one strip for each class of
 * responses. Labels never lie on each other: one that finds no room is left out, and counted below the picture.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "pagetrail/array.h"

int lanes_new(struct lanes **ret, struct err *err)
{
	struct lanes *l = calloc(1, sizeof(*l));
	if (!l)
		return err_nomem(err);
	arena_init(&l->arena, ARENA_MAX_BYTES);
	l->last = UINT32_MAX;
	*ret = l;
	return 0;
}

void lanes_free(struct lanes *l)
{
	if (!l)
		return;
	free(l->items);
	free(l->lanes);
	arena_done(&l->arena);
	free(l);
}

/* --- rows --- */

static int lane_of(struct lanes *l, struct text worker, uint32_t *ret, struct err *err)
{
	if (l->last < l->n_lanes && text_eq(l->lanes[l->last].name, worker)) {
		*ret = l->last;
		return 0;
	}
	if (l->n_lanes % 64 == 0) {
		struct lane *more = realloc(l->lanes, (l->n_lanes + 64) * sizeof(*more));
		if (!more)
			return err_nomem(err);
		l->lanes = more;
	}
	struct text name = arena_text(&l->arena, worker);
	if (worker.len && !name.ptr)
		return err_nomem(err);
	l->lanes[l->n_lanes] = (struct lane){.name = name};
	*ret = l->last = l->n_lanes++;
	return 0;
}

static bool what_of(struct text what, enum lanes_what *ret)
{
	static const char *const names[] = {"coverage",         "boot",    "gap", "exposed_window",
					    "recipient_window", "response"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(what, names[i])) {
			*ret = (enum lanes_what)i;
			return true;
		}
	return false;
}

static int class_of(struct text kind)
{
	static const char *const names[LANES_CLASSES] = {"C1", "C2", "C3", "C5"};
	for (int i = 0; i < LANES_CLASSES; i++)
		if (text_is(kind, names[i]))
			return i;
	return -1;
}

int lanes_add(struct lanes *l, const struct lanes_row *row, struct err *err)
{
	enum lanes_what what;
	uint32_t lane = 0;
	int class = class_of(row->kind);
	if (!what_of(row->what, &what) || (what == LANES_RESPONSE && class < 0))
		return err_set(err, ERR_BUG, "the timeline has no place for '%.*s'",
			       TEXT_ARG(text_sub(row->what, 0, 40)));
	if (l->n_items == PICTURE_ROWS_MAX) {
		err_set(err, ERR_LIMIT, "more than %zu rows to draw", PICTURE_ROWS_MAX);
		return err_hint(err, "draw a part: --since, --until, --worker");
	}
	int rc = lane_of(l, row->worker, &lane, err);
	if (rc)
		return rc;
	if (grow_array((void **)&l->items, &l->cap_items, l->n_items, sizeof(*l->items), err))
		return ERR_NOMEM;
	struct text detail = text_sub(row->detail, 0, NAME_MAX_BYTES * 2);
	struct lanes_item item = {.lane = lane,
				  .what = what,
				  .class_id = class,
				  .from = row->from_ns,
				  .to = row->to_ns,
				  .kind = arena_text(&l->arena, text_sub(row->kind, 0, NAME_MAX_BYTES)),
				  .detail = arena_text(&l->arena, detail),
				  .pool_tokens = row->pool_tokens,
				  .input_limit = row->input_limit,
				  .count = row->count};
	if ((row->kind.len && !item.kind.ptr) || (detail.len && !item.detail.ptr))
		return err_nomem(err);
	l->items[l->n_items++] = item;
	if (what == LANES_RESPONSE)
		l->lanes[lane].classes[class]++;
	if (what == LANES_EXPOSED || what == LANES_RECIPIENT)
		l->lanes[lane].windows = true;
	return 0;
}

/* --- which lanes, which time --- */

static uint64_t affected(const struct lane *l)
{
	uint64_t n = 0;
	for (int i = 0; i < LANES_CLASSES; i++)
		n += l->classes[i];
	return n;
}

/* Lanes with affected responses first, when there are more than fit; then their own order again. */
static void choose(struct lanes *l)
{
	uint32_t n = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < l->n_lanes && n < PICTURE_LANES_MAX; i++)
			if (!l->lanes[i].drawn && (pass || affected(&l->lanes[i]) || l->n_lanes <= PICTURE_LANES_MAX)) {
				l->lanes[i].drawn = true;
				n++;
			}
	l->n_drawn = n;
}

static void span_add(struct axis *a, int64_t ns)
{
	if (ns == TIME_UNKNOWN)
		return;
	a->from_ns = MIN(a->from_ns, ns);
	a->to_ns = MAX(a->to_ns, ns);
}

static void span(struct lanes *l, const struct picture_words *w)
{
	struct axis *a = &l->axis;
	*a = (struct axis){INT64_MAX, INT64_MIN, LANES_LEFT, SVG_WIDTH - LANES_RIGHT};
	for (size_t i = 0; i < l->n_items; i++)
		if (l->lanes[l->items[i].lane].drawn) {
			span_add(a, l->items[i].from);
			span_add(a, l->items[i].to);
		}
	if (w->since_ns != TIME_UNKNOWN)
		a->from_ns = w->since_ns;
	if (w->until_ns != TIME_UNKNOWN)
		a->to_ns = w->until_ns;
	l->timed = a->from_ns <= a->to_ns && a->from_ns != INT64_MAX && a->to_ns != INT64_MIN;
	if (!l->timed)
		a->from_ns = a->to_ns = 0;
	if (a->from_ns >= a->to_ns) /* one moment is a second wide */
		a->to_ns = a->from_ns > INT64_MAX - NS_PER_S ? INT64_MAX : a->from_ns + NS_PER_S;
}

/* --- places --- */

/* Strips of a lane, from its top on. */
static int strips(const struct lane *l)
{
	int h = LANES_PAD + l->above * LANES_LABEL + LANES_BAR + LANES_PAD + l->rows * LANES_LABEL +
		(l->windows ? 2 * LANES_WINDOW : 0);
	for (int i = 0; i < LANES_CLASSES; i++)
		h += l->classes[i] ? LANES_MARKS : 0;
	return MAX(h + LANES_PAD, 40);
}

static int place_lanes(struct lanes *l, int top)
{
	for (uint32_t i = 0; i < l->n_lanes; i++)
		if (l->lanes[i].drawn) {
			l->lanes[i].top = top;
			top += strips(&l->lanes[i]);
		}
	return top;
}

/* --- the picture --- */

struct text lanes_class_name(int class_id)
{
	static const char *const names[LANES_CLASSES] = {"C1 confirmed", "C2 probable", "C3 possible",
							 "C5 not determined"};
	return text_of(names[class_id]);
}

static int heading(struct lanes *l, const struct picture_words *w, struct buf *desc, struct err *err)
{
	char a[64], b[64];
	struct text from = axis_second(l->axis.from_ns, a, sizeof(a)), to = axis_second(l->axis.to_ns, b, sizeof(b));
	return buf_printf(
	    desc, err,
	    "One lane for each of %u of %u worker%s, from %.*s to %.*s UTC: what its logs cover, gaps in them, its "
	    "starts "
	    "with their limits, the window of affected responses (recipient) and the look-back to the start before "
	    "them (exposed), and the affected responses that it answered. The same data as a table: %.*s",
	    l->n_drawn, l->n_lanes, PLURAL(l->n_lanes), TEXT_ARG(from), TEXT_ARG(to), TEXT_ARG(w->command));
}

static int notes(struct lanes *l, const struct picture_words *w, struct buf *b, struct err *err)
{
	int rc = buf_printf(b, err, "Times are UTC. The same data as a table: %.*s.", TEXT_ARG(w->command));
	if (!rc && l->n_drawn < l->n_lanes)
		rc = buf_printf(b, err, " Workers without a lane here: %u of %u; ask for one with --worker.",
				l->n_lanes - l->n_drawn, l->n_lanes);
	if (!rc && l->untimed[LANES_GAP])
		rc = buf_printf(b, err, " Gaps without a known time, not drawn: %" PRIu64 ".", l->untimed[LANES_GAP]);
	if (!rc && l->untimed[LANES_RESPONSE])
		rc = buf_printf(b, err, " Responses without a known start, not drawn: %" PRIu64 ".",
				l->untimed[LANES_RESPONSE]);
	if (!rc && l->together)
		rc = buf_printf(b, err, " Marks that stand for several responses: %" PRIu64 ", for %" PRIu64 " in all.",
				l->together, l->together_of);
	if (!rc && l->unlabelled)
		rc = buf_printf(b, err, " Labels of starts and gaps that found no room: %" PRIu64 ".", l->unlabelled);
	return rc;
}

static void legend_item(struct svg *s, struct legend *l, const char *words, const char *box)
{
	int x, y;
	legend_next(l, words, &x, &y);
	if (l->s)
		svg_box(s, x, y, 22, 12, box, (struct text){NULL, 0});
}

static int legend(struct lanes *l, struct svg *s, bool measure, int y)
{
	struct legend g = {measure ? NULL : s, 20, y};
	int x, at;
	legend_item(s, &g, "records of the worker", LANES_SEEN);
	legend_item(s, &g, "with a page log", LANES_SEEN_PAGES);
	legend_item(s, &g, "gap in the evidence", LANES_GAP_FILL);
	legend_next(&g, "start of the worker; labelled where limits or version differ from the one before", &x, &at);
	if (g.s)
		svg_line(s, x + 11, at - 1, x + 11, at + 13, "stroke=\"#000\" stroke-width=\"3\"");
	legend_item(s, &g, "exposed window: content read may date from here on", LANES_EXPOSED_FILL);
	legend_item(s, &g, "recipient window: first to last C1 or C2", LANES_RECIPIENT_FILL);
	for (int i = 0; i < LANES_CLASSES; i++) {
		char words[64];
		snprintf(words, sizeof(words), "response %.*s", TEXT_ARG(lanes_class_name(i)));
		legend_next(&g, words, &x, &at);
		if (g.s)
			lanes_mark(s, i, x + 11, at + 6, (struct text){NULL, 0});
	}
	(void)l;
	return g.y + 18;
}

enum { TOP = 62 };

static int draw(struct lanes *l, const struct picture_words *w, struct text desc, struct text said, struct buf *out,
		struct err *err)
{
	struct svg s = {0};
	int bottom = place_lanes(l, TOP), lines = svg_paragraph_lines(said);
	int legend_top = bottom + AXIS_HEIGHT + 12, note_top = legend(l, &s, true, legend_top) + 14;
	svg_open(&s, out, note_top + lines * 15, w->title, desc, err);
	char a[64], b[64], sub[160];
	snprintf(sub, sizeof(sub), "%s to %s UTC", axis_second(l->axis.from_ns, a, sizeof(a)).ptr,
		 axis_second(l->axis.to_ns, b, sizeof(b)).ptr);
	svg_heading(&s, w->title, l->timed ? text_of(sub) : TEXT("nothing that is to be drawn has a known time"));
	axis_draw(&s, &l->axis, TOP, bottom);
	lanes_strips(l, &s);
	(void)legend(l, &s, false, legend_top);
	svg_paragraph(&s, note_top + 4, said);
	return svg_close(&s);
}

int lanes_draw(struct lanes *l, const struct picture_words *w, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf desc = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf said = BUF_INIT(64 * KIB);
	choose(l);
	span(l, w);
	int rc = lanes_arrange(l, err);
	if (!rc)
		rc = heading(l, w, &desc, err);
	if (!rc)
		rc = notes(l, w, &said, err);
	return rc ? rc : draw(l, w, buf_text(&desc), buf_text(&said), out, err);
}
