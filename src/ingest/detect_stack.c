/* SPDX-License-Identifier: Apache-2.0 */
/* detect_stack.c - which wrappers a source has, and what is in them
 *
 * Most records of the head have to look like a wrapper's and like nobody else's. They are taken apart, and what is in them is
 * looked at in the same way again, up to WRAP_DEPTH_MAX. What is in the last wrapper is told apart by origin, and each
 * origin gets a format of its own, or none; that of the origin with most records is the source's.
 */
#include "detect_stack.h"

#include <stdlib.h>
#include <string.h>

#include "records.h"

/* Votes: LOOK lines, fewer where they are long. */
enum { LOOK = 128, LOOK_FEW = 16, LOOK_BYTES = 64 * 1024, FRAMES = 16, INNER_RECORDS = 4 * DETECT_RECORDS };

/* --- one wrapper --- */

struct votes {
	unsigned strong, weak, records;
};

static int vote(struct formats *f, const struct wrapper *w, unsigned depth, struct text record, struct votes *v)
{
	struct unwrap *u;
	int rc = formats_unwrap(f, w, depth, &u);
	if (rc < 0)
		return rc;
	arena_reset(&u->scratch);
	enum bid b = w->bid(u, record);
	v->records++;
	v->strong += b == BID_STRONG;
	v->weak += b == BID_WEAK;
	return 0;
}

static int vote_frames(struct formats *f, const struct wrapper *w, unsigned depth, struct text head, struct votes *v)
{
	int rc = 0;
	for (unsigned i = 0; i < FRAMES && head.len && rc == 0; i++) {
		size_t n = w->frame(head, false);
		if (n == 0 && i)
			break; /* the head ends inside */
		if (n == SIZE_MAX) {
			const char *nl = memchr(head.ptr, '\n', head.len);
			n = nl ? (size_t)(nl + 1 - head.ptr) : head.len;
		}
		n = n ? MIN(n, head.len) : head.len;
		if (text_trim(text_sub(head, 0, n)).len)
			rc = vote(f, w, depth, text_sub(head, 0, n), v);
		head = text_from(head, n);
	}
	return rc;
}

static int vote_lines(struct formats *f, const struct wrapper *w, unsigned depth, struct text rest, bool whole,
		      struct votes *v)
{
	const size_t all = rest.len;
	struct text line;
	int rc = 0;
	while (v->records < LOOK && rc == 0 && line_next(&rest, &line)) {
		if (v->records >= LOOK_FEW && all - rest.len > LOOK_BYTES)
			break;
		if (!whole && !rest.len && v->records)
			break;
		line = line_strip_nul(line);
		if (text_trim(line).len)
			rc = vote(f, w, depth, line, v);
	}
	return rc;
}

const struct wrapper *detect_wrapper(struct formats *f, struct text head, bool whole, unsigned depth, bool inside,
				     int *ret_rc)
{
	const struct wrapper *best = NULL;
	unsigned most = 0;
	*ret_rc = 0;
	head = text_from(head, bom_length(head));
	for (size_t i = 0; i < f->n_wrappers && *ret_rc == 0; i++) {
		const struct wrapper *w = f->wrappers[i];
		struct votes v = {0};
		if (inside && (w->shape == SHAPE_DOCUMENT || w->frame))
			continue;
		if (w->shape == SHAPE_DOCUMENT)
			*ret_rc = vote(f, w, depth, head, &v);
		else if (w->frame)
			*ret_rc = vote_frames(f, w, depth, head, &v);
		else
			*ret_rc = vote_lines(f, w, depth, head, whole, &v);
		if (v.strong * 2 < v.records || !v.strong)
			continue;
		unsigned share = v.strong * 1000 / v.records;
		if (share > most) {
			most = share;
			best = w;
		}
	}
	return *ret_rc < 0 ? NULL : best;
}

/* --- what is inside --- */

struct group { /* of one origin */
	struct origin_choice choice;
	struct buf text;
	unsigned records;
};

struct inside {
	struct group *group;
	size_t n, cap, last;
	struct buf all; /* first records of all of them */
	unsigned records;
};

static void inside_done(struct inside *in)
{
	for (size_t i = 0; i < in->n; i++)
		buf_done(&in->group[i].text);
	free(in->group);
	buf_done(&in->all);
}

static int group_of(struct inside *in, const struct origin *from, struct group **ret, struct err *err)
{
	for (size_t k = 0; k < in->n; k++) {
		size_t i = (in->last + k) % in->n;
		if (in->group[i].choice.place == from->place) {
			in->last = i;
			*ret = &in->group[i];
			return 0;
		}
	}
	if (in->n == in->cap) {
		size_t cap = in->cap ? in->cap * 2 : 8;
		struct group *grown = reallocarray(in->group, cap, sizeof(*grown));
		if (!grown)
			return err_nomem(err);
		in->group = grown;
		in->cap = cap;
	}
	in->last = in->n;
	*ret = &in->group[in->n++];
	**ret = (struct group){.choice = {from->place, from->role, NULL}, .text = BUF_INIT(4 * MIB)};
	return 0;
}

/* One line, whatever it holds. */
static int add_line(struct buf *b, struct text t, struct err *err)
{
	size_t from = b->len;
	if (b->len + t.len + 1 > b->max)
		return 0;
	int rc = buf_add_text(b, t, err);
	for (char *nl; rc == 0 && from < b->len && (nl = memchr(b->ptr + from, '\n', b->len - from)); *nl = ' ')
		from = (size_t)(nl + 1 - b->ptr);
	return rc < 0 ? rc : buf_add_char(b, '\n', err);
}

static int on_inner(void *ctx, const struct origin *from, struct text record, struct err *err)
{
	struct inside *in = ctx;
	struct group *g = NULL;
	if (!text_trim(record).len)
		return 0;
	int rc = in->n < ORIGINS_MAX || (in->n && in->group[in->last].choice.place == from->place)
		     ? group_of(in, from, &g, err)
		     : 1;
	if (rc == 0 && g->records++ < DETECT_RECORDS)
		rc = add_line(&g->text, record, err);
	if (rc == 0 && in->records < LOOK)
		rc = add_line(&in->all, record, err);
	return rc != 0 ? rc : ++in->records >= INNER_RECORDS;
}

/* Takes the head apart by the wrappers of the stack. */
static int look_inside(struct formats *f, const struct stack *stack, struct text head, bool whole, struct inside *in,
		       struct err *err)
{
	const struct records_ask ask = {.stack = stack, .outer = STAMP_INIT};
	const struct records_sink sink = {.inner = on_inner, .ctx = in};
	struct records r = {0};
	if (!whole && !stack_document(stack) && !stack->wrap[0]->frame) { /* a line that the head cuts is left out */
		const char *nl = memrchr(head.ptr, '\n', head.len);
		if (nl)
			head.len = (size_t)(nl + 1 - head.ptr);
	}
	char *copy = calloc(1, head.len + BUF_PADDING);
	if (!copy)
		return err_nomem(err);
	memcpy(copy, head.ptr, head.len);
	*in = (struct inside){.all = BUF_INIT(4 * MIB)};
	int rc = records_begin(&r, f, &ask, &sink, err);
	if (rc == 0)
		rc = records_feed(&r, copy, head.len, 0, err);
	if (rc == 0)
		rc = records_end(&r, err);
	records_done(&r);
	free(copy);
	return rc;
}

/* --- formats by origin --- */

static int choose_groups(struct formats *f, struct inside *in, struct detection *ret, struct err *err)
{
	struct detection best = {0};
	unsigned most = 0;
	for (size_t i = 0; i < in->n; i++) {
		struct detection d;
		struct group *g = &in->group[i];
		int rc = detect_lines(f, buf_text(&g->text), true, &d, err);
		if (rc < 0)
			return rc;
		g->choice.parser = d.parser;
		bool better = d.parser ? !best.parser || g->records > most : !best.parser && g->records > most;
		if (better) {
			best = d;
			most = g->records;
		}
	}
	*ret = best;
	if (!ret->parser && !ret->reason)
		ret->reason = "empty";
	return 0;
}

static int keep_choices(struct stack *s, const struct inside *in, struct err *err)
{
	s->choice = calloc(in->n + 1, sizeof(*s->choice));
	if (!s->choice)
		return err_nomem(err);
	for (size_t i = 0; i < in->n; i++)
		s->choice[i] = in->group[i].choice;
	s->n_choices = in->n;
	return 0;
}

/* Of a thousand records, how many the format that somebody asked for knows; weakly: half. */
struct share {
	uint64_t points, records;
};

static int add_share(struct formats *f, const struct parser *asked, struct text rest, struct share *to)
{
	struct parse *p;
	struct text line;
	int rc = formats_get(f, formats_index(f, asked), &p);
	while (rc == 0 && line_next(&rest, &line)) {
		line = line_strip_nul(line);
		if (!text_trim(line).len)
			continue;
		enum bid b = formats_bid(f, p, line, false);
		to->points += b == BID_STRONG ? 1000 : b == BID_WEAK ? 500 : 0;
		to->records++;
	}
	return rc;
}

static int share_inside(struct formats *f, const struct parser *asked, const struct inside *in, struct share *ret)
{
	int rc = 0;
	*ret = (struct share){0};
	for (size_t i = 0; i < in->n && rc == 0; i++)
		rc = add_share(f, asked, buf_text(&in->group[i].text), ret);
	return rc;
}

static bool no_less(const struct share *a, const struct share *b)
{
	return a->points && a->points * b->records >= b->points * a->records;
}

/* One wrapper less at a time, down to `least`: what looks like one may be the first words of the records in it. A format that was
 * asked for is taken where it knows most, and behind no more wrappers than that needs; without one the most wrappers in which
 * a format knows something are taken. s, in, ret: of all wrappers; of the choice when it returns. */
static int weigh_depths(struct formats *f, struct text head, bool whole, const struct parser *asked, unsigned least,
			struct stack *s, struct inside *in, struct detection *ret, struct err *err)
{
	struct stack less = *s;
	struct share best = {0}, here;
	int rc = asked ? share_inside(f, asked, in, &best) : 0;
	while (rc == 0 && less.n > MAX(least, 1) && (asked || !ret->parser)) {
		struct inside other = {0};
		struct detection d = {0};
		less.n--;
		rc = look_inside(f, &less, head, whole, &other, err);
		if (rc == 0)
			rc = asked ? share_inside(f, asked, &other, &here) : choose_groups(f, &other, &d, err);
		if (rc == 0 && (asked ? no_less(&here, &best) : d.parser != NULL)) {
			struct inside old = *in;
			best = asked ? here : best;
			s->n = less.n;
			*in = other;
			*ret = d;
			other = old;
		}
		inside_done(&other);
	}
	s->proven = asked ? best.points > 0 : ret->parser != NULL;
	if (rc < 0 || !asked || least)
		return rc;
	here = (struct share){0};
	rc = add_share(f, asked, text_from(head, bom_length(head)), &here);
	if (rc == 0 && (!best.records || no_less(&here, &best)))
		s->n = 0;
	return rc;
}

int detect_stack(struct formats *f, struct text head, bool whole, const struct stack *asked, bool inside,
		 struct detection *ret, struct stack *ret_stack, struct err *err)
{
	struct stack s = {0};
	struct inside in = {0};
	int rc = 0;
	bool given = asked && asked->n;
	if (given) {
		s = *asked;
		s.parser = NULL;
	} else {
		s.wrap[0] = detect_wrapper(f, head, whole, 0, inside, &rc);
		s.n = s.wrap[0] != NULL;
	}
	if (rc < 0 || !s.n)
		return rc;
	rc = look_inside(f, &s, head, whole, &in, err);
	while (rc == 0 && !(given && asked->parser) && s.n < WRAP_DEPTH_MAX) {
		const struct wrapper *w = detect_wrapper(f, buf_text(&in.all), true, s.n, true, &rc);
		if (!w || rc < 0)
			break;
		s.wrap[s.n++] = w;
		inside_done(&in);
		rc = look_inside(f, &s, head, whole, &in, err);
	}
	if (rc == 0)
		rc = choose_groups(f, &in, ret, err);
	if (rc == 0)
		rc =
		    weigh_depths(f, head, whole, asked ? asked->parser : NULL, given ? asked->n : 0, &s, &in, ret, err);
	if (rc == 0 && s.n)
		*ret_stack = s;
	else
		*ret = (struct detection){0};
	if (rc == 0 && ret_stack->n)
		rc = keep_choices(ret_stack, &in, err);
	inside_done(&in);
	return rc;
}
