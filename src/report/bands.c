/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c - the pages of one request as a picture: bands of pages that fared alike, over the time of the request
 *
 * The axis spans what the request itself did, and its reads; content that was written before comes in at the left edge, and
 * readers after it stand at the right one, with their times in the words. Whose content it is, is told by a letter and a fill
 * that follows from the name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bands.h"
#include "pagetrail/array.h"

enum { RIGHT = 20, TOP = 62, HEAD = 26, BAND_PAD = 6, BAND_LEAST = 18, BAND_MORE = 26 };
enum { PARTY_COLUMNS = 48, LOOKS = OWNERS_MAX };

int bands_new(struct bands **ret, struct err *err)
{
	struct bands *p = calloc(1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	p->panels = calloc(PANELS_MAX, sizeof(*p->panels));
	if (!p->panels) {
		free(p);
		return err_nomem(err);
	}
	arena_init(&p->arena, ARENA_MAX_BYTES);
	*ret = p;
	return 0;
}

void bands_free(struct bands *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->n_panels; i++) {
		for (uint32_t k = 0; k < p->panels[i].n_bands; k++)
			free(p->panels[i].bands[k].spans);
		free(p->panels[i].edges);
	}
	free(p->panels);
	free(p->items);
	free(p->parties);
	free(p->gaps);
	arena_done(&p->arena);
	free(p);
}

/* --- rows --- */

static bool what_of(struct text what, enum bands_what *ret)
{
	static const struct {
		const char *name;
		enum bands_what what;
	} names[] = {{"alloc", PAGES_ALLOC},    {"write", PAGES_WRITE}, {"recv", PAGES_WRITE}, {"read", PAGES_READ},
		     {"send", PAGES_READ},      {"share", PAGES_SHARE}, {"free", PAGES_FREE},  {"zero", PAGES_ZERO},
		     {"read_from", PAGES_FROM}, {"read_by", PAGES_BY}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_is(what, names[i].name)) {
			*ret = names[i].what;
			return true;
		}
	return false;
}

static struct text kept(struct bands *p, struct text t, bool *ok)
{
	struct text copy = arena_text(&p->arena, text_sub(t, 0, 2 * NAME_MAX_BYTES));
	*ok &= !t.len || copy.ptr;
	return copy;
}

/* Which pool; PANELS_MAX: there is no room for one more. */
static uint32_t panel_of(struct bands *p, const struct bands_row *row, bool *ok)
{
	for (uint32_t i = p->n_panels; i-- > 0;)
		if (text_eq(p->panels[i].worker, text_sub(row->worker, 0, 2 * NAME_MAX_BYTES)) &&
		    text_eq(p->panels[i].pool, text_sub(row->pool, 0, 2 * NAME_MAX_BYTES)))
			return i;
	if (p->n_panels == PANELS_MAX)
		return PANELS_MAX;
	p->panels[p->n_panels].worker = kept(p, row->worker, ok);
	p->panels[p->n_panels].pool = kept(p, row->pool, ok);
	return p->n_panels++;
}

static uint32_t kind_of(struct bands *p, struct text kind, bool *ok)
{
	for (uint32_t i = 0; i < p->n_kinds; i++)
		if (text_eq(p->kinds[i], kind))
			return i;
	if (p->n_kinds == ARRAY_SIZE(p->kinds))
		return p->n_kinds - 1;
	p->kinds[p->n_kinds] = kept(p, kind, ok);
	return p->n_kinds++;
}

/* The last one first: rows of one party stand together, mostly. */
static int party_of(struct bands *p, const struct bands_row *row, bool owner, uint32_t *ret, struct err *err)
{
	bool ok = true;
	for (uint32_t i = p->n_parties; i-- > 0;)
		if (p->parties[i].owner == owner &&
		    text_eq(p->parties[i].name, text_sub(row->other, 0, 2 * NAME_MAX_BYTES)) &&
		    text_eq(p->parties[i].tenant, text_sub(row->tenant, 0, 2 * NAME_MAX_BYTES))) {
			*ret = i;
			return 0;
		}
	if (grow_array((void **)&p->parties, &p->cap_parties, p->n_parties, sizeof(*p->parties), err))
		return ERR_NOMEM;
	p->parties[p->n_parties] = (struct party){.name = kept(p, row->other, &ok),
						  .tenant = kept(p, row->tenant, &ok),
						  .letter = -1,
						  .first_read = TIME_UNKNOWN,
						  .owner = owner};
	*ret = p->n_parties++;
	return ok ? 0 : err_nomem(err);
}

static int item_add(struct bands *p, const struct bands_item *item, struct err *err)
{
	if (p->n_items == PICTURE_ROWS_MAX)
		return err_set(err, ERR_LIMIT, "more than %zu rows to draw", PICTURE_ROWS_MAX);
	if (grow_array((void **)&p->items, &p->cap_items, p->n_items, sizeof(*p->items), err))
		return ERR_NOMEM;
	p->items[p->n_items++] = *item;
	return 0;
}

static int gap_add(struct bands *p, const struct bands_row *row, struct err *err)
{
	bool ok = true;
	if (grow_array((void **)&p->gaps, &p->cap_gaps, p->n_gaps, sizeof(*p->gaps), err))
		return ERR_NOMEM;
	struct bands_gap gap = {kept(p, row->worker, &ok), kind_of(p, row->kind, &ok), row->from_ns, row->to_ns};
	p->gaps[p->n_gaps++] = gap;
	return ok ? 0 : err_nomem(err);
}

static void note_read(struct party *x, const struct bands_item *item)
{
	x->pages += item->end - item->first;
	if (item->from != TIME_UNKNOWN)
		x->first_read = x->first_read == TIME_UNKNOWN ? item->from : MIN(x->first_read, item->from);
}

int bands_add(struct bands *p, const struct bands_row *row, struct err *err)
{
	struct bands_item item = {
	    .party = PAGES_NOBODY, .from = row->from_ns, .to = row->to_ns, .wrote = row->wrote_ns};
	bool ok = true;
	int rc = 0;
	if (text_is(row->what, "gap"))
		return gap_add(p, row, err);
	if (text_is(row->what, "left_out")) {
		p->left_out += row->pages;
		return 0;
	}
	if (!what_of(row->what, &item.what))
		return err_set(err, ERR_BUG, "the lineage has no place for '%.*s'",
			       TEXT_ARG(text_sub(row->what, 0, 40)));
	if (row->pages > 0 && row->first_page >= 0 && row->first_page < (int64_t)POOL_MAX_PAGES) {
		int64_t end = row->first_page + MIN(row->pages, (int64_t)POOL_MAX_PAGES);
		item.first = (uint32_t)row->first_page;
		item.end = (uint32_t)MIN(end, (int64_t)POOL_MAX_PAGES);
	}
	item.sure = text_is(row->grade, "physical");
	item.kind = kind_of(p, row->kind, &ok);
	item.panel = panel_of(p, row, &ok);
	if (item.panel == PANELS_MAX) {
		p->elsewhere++;
		return 0;
	}
	if ((item.what == PAGES_FROM || item.what == PAGES_BY) && row->other.len)
		rc = party_of(p, row, item.what == PAGES_FROM, &item.party, err);
	if (!rc && !ok)
		rc = err_nomem(err);
	if (!rc && item.party != PAGES_NOBODY)
		note_read(&p->parties[item.party], &item);
	return rc ? rc : item_add(p, &item, err);
}

/* --- time --- */

static void span_add(struct axis *a, int64_t ns)
{
	if (ns == TIME_UNKNOWN)
		return;
	a->from_ns = MIN(a->from_ns, ns);
	a->to_ns = MAX(a->to_ns, ns);
}

/* What the request did itself; if nothing, all that there is. */
static void span(struct bands *p)
{
	struct axis *a = &p->axis;
	for (int all = 0; all < 2; all++) {
		*a = (struct axis){INT64_MAX, INT64_MIN, PAGES_LEFT, SVG_WIDTH - RIGHT};
		for (size_t i = 0; i < p->n_items; i++) {
			if (p->items[i].what == PAGES_BY && !all)
				continue;
			span_add(a, p->items[i].from);
			if (p->items[i].what >= PAGES_FROM)
				span_add(a, p->items[i].to);
		}
		if (a->from_ns <= a->to_ns)
			break;
	}
	p->timed = a->from_ns <= a->to_ns;
	if (!p->timed)
		a->from_ns = a->to_ns = 0;
	double width = (double)a->to_ns - (double)a->from_ns;
	int64_t pad = width < 1e6 ? NS_PER_S / 2 : (int64_t)(width / 16);
	a->from_ns = a->from_ns < INT64_MIN + 1 + pad ? INT64_MIN + 1 : a->from_ns - pad;
	a->to_ns = a->to_ns > INT64_MAX - pad ? INT64_MAX : a->to_ns + pad;
}

/* --- whose content --- */

/* Letters go to those with the most pages; the fill follows from the name, and only gives way to one that is taken. */
static int name_parties(struct bands *p, bool owners, int max)
{
	bool taken[LOOKS] = {false};
	int n = 0;
	for (int letter = 0; letter < max; letter++) {
		struct party *best = NULL;
		for (uint32_t i = 0; i < p->n_parties; i++) {
			struct party *x = &p->parties[i];
			if (x->owner == owners && x->letter < 0 && (!best || x->pages > best->pages))
				best = x;
		}
		if (!best)
			break;
		unsigned look = (unsigned)((text_hash(best->name) ^ text_hash(best->tenant)) % LOOKS);
		while (taken[look])
			look = (look + 1) % LOOKS;
		taken[look] = true;
		best->look = look;
		best->letter = letter;
		n = letter + 1;
	}
	return n;
}

static int64_t count_parties(const struct bands *p, bool owners)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < p->n_parties; i++)
		n += p->parties[i].owner == owners;
	return n;
}

/* --- places --- */

static int place_bands(struct bands *p, int top)
{
	for (uint32_t i = 0; i < p->n_panels; i++) {
		struct panel *panel = &p->panels[i];
		uint64_t most = 1;
		panel->top = top;
		top += HEAD;
		for (uint32_t k = 0; k < panel->n_bands; k++)
			most = MAX(most, panel->bands[k].pages);
		for (uint32_t k = 0; k < panel->n_bands; k++) {
			struct band *b = &panel->bands[k];
			b->y = top;
			b->h = BAND_LEAST + (int)((double)b->pages / (double)most * BAND_MORE);
			top += b->h + BAND_PAD;
		}
		panel->bottom = top;
		top += 4;
	}
	return top;
}

/* --- words --- */

static int heading(const struct bands *p, const struct picture_words *w, struct buf *b, struct err *err)
{
	int64_t owners = count_parties(p, true), readers = count_parties(p, false);
	return buf_printf(
	    b, err,
	    "Pages of one request over time, in %u pool%s: when it held them, whose content was in them, its reads, "
	    "and "
	    "later readers of its own content. Content of %" PRId64 " other request%s was read, and %" PRId64
	    " other%s read its content. The same data as a table: %.*s",
	    p->n_panels, PLURAL(p->n_panels), owners, PLURAL(owners), readers, PLURAL(readers), TEXT_ARG(w->command));
}

static int notes(const struct bands *p, const struct picture_words *w, int owners, int readers, struct buf *b,
		 struct err *err)
{
	int rc = buf_printf(b, err, "Times are UTC. The same data as a table: %.*s.", TEXT_ARG(w->command));
	for (uint32_t i = 0; !rc && i < p->n_panels; i++) {
		const struct panel *panel = &p->panels[i];
		if (panel->level)
			rc = buf_printf(
			    b, err,
			    " Pool %u: pages fared in %u way%s; those that differ in times alone are one band%s.",
			    i + 1, panel->fates, PLURAL(panel->fates),
			    panel->n_bands == BANDS_MAX ? ", and those with the fewest pages are the last one" : "");
	}
	if (!rc && count_parties(p, true) > owners)
		rc = buf_printf(b, err, " Owners without a letter: %" PRId64 ".", count_parties(p, true) - owners);
	if (!rc && count_parties(p, false) > readers)
		rc = buf_printf(b, err, " Later readers that are not named: %" PRId64 ".",
				count_parties(p, false) - readers);
	if (!rc && p->left_out)
		rc = buf_printf(b, err, " Records of the request that are not drawn: %" PRId64 ".", p->left_out);
	if (!rc && p->elsewhere)
		rc = buf_printf(b, err, " Rows of further pools, not drawn: %" PRId64 ".", p->elsewhere);
	if (!rc && !p->n_items)
		rc = buf_add_text(b, TEXT(" No page log names this request: nothing is known of its pages."), err);
	return rc;
}

static int legend(const struct bands *p, struct svg *s, bool measure, int y)
{
	static const struct {
		enum svg_mark mark;
		const char *attributes, *words;
	} marks[] = {{MARK_UP, PAGES_MARK, "taken (alloc)"},
		     {MARK_DOWN, PAGES_MARK, "given back (free)"},
		     {MARK_DISC, PAGES_READ_MARK, "its own read"},
		     {MARK_CROSS, PAGES_FOREIGN_MARK, "read of content that is not its own"},
		     {MARK_DIAMOND, PAGES_BY_MARK, "its content read by another"}};
	static const struct {
		const char *attributes, *words;
	} boxes[] = {{PAGES_OWN_FILL, "content of the request itself"},
		     {PAGES_SEVERAL_FILL, "content of several others, or of one without a letter"},
		     {PAGES_NOBODY_FILL, "never written since boot"},
		     {PAGES_HELD, "held by the request"},
		     {"fill=\"url(#pt-hatch)\" stroke=\"#000\"", "gap in the worker's logs"}};
	struct legend g = {measure ? NULL : s, 20, y};
	int x, at;
	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++) {
		legend_next(&g, boxes[i].words, &x, &at);
		if (g.s)
			svg_box(s, x, at, 22, 12, boxes[i].attributes, (struct text){NULL, 0});
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		legend_next(&g, marks[i].words, &x, &at);
		if (g.s)
			svg_mark(s, marks[i].mark, x + 11, at + 6, marks[i].attributes, (struct text){NULL, 0});
	}
	(void)p;
	return g.y + 24;
}

/* "A  name (tenant), 120 pages, first read 2026-…" */
static int party_words(const struct party *x, const char *lead, struct buf *b, struct err *err)
{
	char at[64];
	buf_clear(b);
	int rc = buf_add_text(b, text_of(lead), err);
	if (!rc)
		rc = svg_short(x->name, PARTY_COLUMNS, b, err);
	if (!rc)
		rc = buf_add_text(b, x->tenant.len ? TEXT(" (") : TEXT(" (tenant not known"), err);
	if (!rc)
		rc = svg_short(x->tenant, PARTY_COLUMNS, b, err);
	if (!rc)
		rc = buf_printf(b, err, "), %" PRIu64 " page%s", x->pages, x->pages == 1 ? "" : "s");
	if (!rc && x->first_read != TIME_UNKNOWN)
		rc = buf_printf(b, err, ", first read %s", axis_second(x->first_read, at, sizeof(at)).ptr);
	return rc;
}

static int parties(const struct bands *p, struct svg *s, bool owners, int y)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	for (int letter = 0; letter < OWNERS_MAX; letter++)
		for (uint32_t i = 0; i < p->n_parties; i++) {
			const struct party *x = &p->parties[i];
			char name[2] = {(char)('A' + letter), 0};
			if (x->owner != owners || x->letter != letter)
				continue;
			if (owners) {
				bands_fill(s, x->look, 20, y, 22, 12, (struct text){NULL, 0});
				bands_letter(s, 31, y + 10, name);
			} else {
				svg_mark(s, MARK_DIAMOND, 31, y + 6, PAGES_BY_MARK, (struct text){NULL, 0});
			}
			if (!s->rc)
				s->rc = party_words(x, owners ? "content of " : "read by ", &b, s->err);
			svg_label_shown(s, "start", 48, y + 10, SVG_SMALL, "", buf_text(&b));
			y += 18;
		}
	return y;
}

int bands_draw(struct bands *p, const struct picture_words *w, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf desc = BUF_INIT(64 * KIB);
	CLEANUP(buf_done) struct buf said = BUF_INIT(64 * KIB);
	struct svg s = {0};
	char a[64], b[64], sub[160];
	span(p);
	int owners = name_parties(p, true, OWNERS_MAX), readers = name_parties(p, false, READERS_MAX);
	int rc = bands_group(p, err);
	if (!rc)
		rc = heading(p, w, &desc, err);
	if (!rc)
		rc = notes(p, w, owners, readers, &said, err);
	if (rc)
		return rc;
	int bottom = MAX(place_bands(p, TOP), TOP + 20);
	int legend_top = bottom + AXIS_HEIGHT + 12, list_top = legend(p, &s, true, legend_top);
	int note_top = list_top + (owners + readers) * 18 + 14;
	svg_open(&s, out, note_top + svg_paragraph_lines(buf_text(&said)) * 15, w->title, buf_text(&desc), err);
	snprintf(sub, sizeof(sub), "%s to %s UTC", axis_second(p->axis.from_ns, a, sizeof(a)).ptr,
		 axis_second(p->axis.to_ns, b, sizeof(b)).ptr);
	svg_heading(&s, w->title,
		    p->timed     ? text_of(sub)
		    : p->n_items ? TEXT("no record of it says when")
				 : TEXT("no page log names this request"));
	if (p->timed)
		axis_draw(&s, &p->axis, TOP, bottom);
	bands_strips(p, &s);
	(void)legend(p, &s, false, legend_top);
	parties(p, &s, false, parties(p, &s, true, list_top));
	svg_paragraph(&s, note_top + 4, buf_text(&said));
	return svg_close(&s);
}
