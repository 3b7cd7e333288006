/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - which format is it: every parser bids on the records of the head
 *
 * A record counts 2 for a STRONG bid and 1 for a WEAK one. Whoever has most is the format, if it has a STRONG record or
 * half of all records; a rival within DETECT_MARGIN of it makes a tie, unless it has no STRONG record where the other
 * has one. Where one's records stand in the other's log, the other leads. Chatter counts against nobody: only the
 * bidders are compared. Looking stops early when one format has taken nearly all,
 * or one and another whose records stand in its log.
 */
#include "detect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect_stack.h"
#include "pagetrail/map.h"
#include "source.h"

enum { BINARY_RECORDS = 64, PARTS_MAX = 8, FIRST_LOOK = 128, LONG_ENOUGH_MILLE = 900 };

struct tally {
	unsigned strong, weak;
	unsigned json; /* of the records bid on, those that begin with '{' */
};

static unsigned points(const struct tally *t)
{
	return 2 * t->strong + t->weak;
}

bool line_next(struct text *rest, struct text *ret)
{
	if (!rest->len)
		return false;
	const char *nl = memchr(rest->ptr, '\n', rest->len);
	size_t n = nl ? (size_t)(nl - rest->ptr) : rest->len;
	*ret = text_sub(*rest, 0, n);
	*rest = text_from(*rest, nl ? n + 1 : n);
	if (nl && ret->len && ret->ptr[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

struct text line_strip_nul(struct text line)
{
	size_t n = 0;
	while (n < line.len && !line.ptr[n])
		n++;
	return text_from(line, n);
}

size_t bom_length(struct text head)
{
	return text_starts(head, "\xef\xbb\xbf") ? 3 : 0;
}

/* Best bid on a line, or on one of the records that the format cuts it into. */
static enum bid bid_line(struct formats *f, struct parse *p, struct text line)
{
	enum bid best = formats_bid(f, p, line, false);
	if (best == BID_STRONG || !p->parser->split)
		return best;
	for (unsigned i = 0; i < PARTS_MAX && line.len; i++) {
		size_t n = p->parser->split(p, line);
		if (n == 0 || (n >= line.len && i == 0))
			break;
		struct text part = text_sub(line, 0, n);
		enum bid b = formats_bid(f, p, part, false);
		best = MAX(best, b);
		line = text_from(line, n);
	}
	return best;
}

void detect_binary(struct formats *f, struct parse *p, struct text head, unsigned *ret_records, unsigned *ret_strong,
		   unsigned *ret_weak)
{
	*ret_records = *ret_strong = *ret_weak = 0;
	while (*ret_records < BINARY_RECORDS && head.len) {
		size_t n = p->parser->length(head);
		if (n == 0 || n == SIZE_MAX)
			break;
		enum bid b = formats_bid(f, p, text_sub(head, 0, n), false);
		*ret_strong += b == BID_STRONG;
		*ret_weak += b == BID_WEAK;
		++*ret_records;
		head = text_from(head, n);
	}
}

static enum bid bid_whole(struct formats *f, struct parse *p, struct text head)
{
	if (p->parser->shape == SHAPE_DOCUMENT)
		return formats_bid(f, p, text_from(head, bom_length(head)), false);
	unsigned records, strong, weak;
	detect_binary(f, p, head, &records, &strong, &weak);
	return strong && strong * 2 >= records ? BID_STRONG : (strong + weak) * 2 > records ? BID_WEAK : BID_NO;
}

/* Formats to which a source belongs as a whole. */
static int bid_documents(struct formats *f, struct text head, struct tally *tallies, bool *any)
{
	for (size_t i = 0; i < f->n; i++) {
		struct parse *p;
		if (f->list[i]->shape == SHAPE_LINES)
			continue;
		int rc = formats_get(f, i, &p);
		if (rc < 0)
			return rc;
		switch (bid_whole(f, p, head)) {
		case BID_STRONG: tallies[i].strong = 1; break;
		case BID_WEAK: tallies[i].weak = 1; break;
		case BID_NO: break;
		}
		*any |= points(&tallies[i]) > 0;
	}
	return 0;
}

static void best_two(const struct tally *t, size_t n, size_t *ret_best, size_t *ret_second)
{
	size_t best = n, second = n;
	for (size_t i = 0; i < n; i++) {
		if (!points(&t[i]))
			continue;
		if (best == n || points(&t[i]) > points(&t[best])) {
			second = best;
			best = i;
		} else if (second == n || points(&t[i]) > points(&t[second])) {
			second = i;
		}
	}
	*ret_best = best;
	*ret_second = second;
}

static bool same_family(const struct parser *a, const struct parser *b)
{
	size_t n = strcspn(a->name, "-");
	return n == strcspn(b->name, "-") && !memcmp(a->name, b->name, n);
}

/* JSON records between the text lines of the same product: the text format leads, and hands them on. */
static bool mixed_in(const struct formats *f, const struct tally *t, size_t text, size_t json)
{
	return same_family(f->list[text], f->list[json]) && t[text].strong && !t[text].json &&
	       t[json].json == t[json].strong + t[json].weak && points(&t[text]) * 20 >= points(&t[json]);
}

static bool is_host(const struct parser *host, const struct parser *guest)
{
	struct text rest = text_of(guest->hosts), name;
	while (text_split(&rest, ' ', &name))
		if (text_is(name, host->name))
			return true;
	return false;
}

/* Can records of both stand in one log? */
static bool shares_log(const struct formats *f, const struct tally *t, size_t a, size_t b)
{
	return mixed_in(f, t, a, b) || mixed_in(f, t, b, a) || is_host(f->list[a], f->list[b]) ||
	       is_host(f->list[b], f->list[a]);
}

/* Has one format taken nearly everything so far, or two whose records stand in one log? */
static bool clear_already(const struct formats *f, const struct tally *t, unsigned records)
{
	size_t best, second, n = f->n;
	best_two(t, n, &best, &second);
	if (best == n)
		return false;
	unsigned long long sure = t[best].strong, taken = sure + t[best].weak;
	unsigned rival = second == n ? 0 : points(&t[second]);
	if (second < n && shares_log(f, t, best, second)) {
		sure += t[second].strong;
		taken += t[second].strong + t[second].weak;
		rival = 0;
		for (size_t i = 0; i < n; i++)
			if (i != best && i != second)
				rival = MAX(rival, points(&t[i]));
	}
	return taken * 1000 >= records * (unsigned long long)LONG_ENOUGH_MILLE && sure * 2 >= records &&
	       rival * 4 < points(&t[best]);
}

/* Bids over the lines; returns the number of records looked at. */
static int bid_lines(struct formats *f, struct text head, bool whole, struct tally *tallies, unsigned *ret_records)
{
	struct text rest = text_from(head, bom_length(head)), line;
	unsigned records = 0, look = FIRST_LOOK;
	while (records < DETECT_RECORDS && line_next(&rest, &line)) {
		if (!whole && !rest.len && records)
			break; /* the head ends inside this line */
		line = line_strip_nul(line);
		if (!text_trim(line).len)
			continue;
		records++;
		for (size_t i = 0; i < f->n; i++) {
			struct parse *p;
			if (f->list[i]->shape != SHAPE_LINES)
				continue;
			int rc = formats_get(f, i, &p);
			if (rc < 0)
				return rc;
			enum bid b = bid_line(f, p, line);
			tallies[i].strong += b == BID_STRONG;
			tallies[i].weak += b == BID_WEAK;
			tallies[i].json += b != BID_NO && line.ptr[0] == '{';
		}
		if (records == look) {
			if (clear_already(f, tallies, records))
				break;
			look *= 4;
		}
	}
	*ret_records = records;
	return 0;
}

/* --- why not --- */

static const char *binary_kind(struct text head)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *reason;
	} known[] = {
	    {"\x89PNG", 4, "binary (PNG image)"},
	    {"\xff\xd8\xff", 3, "binary (JPEG image)"},
	    {"GIF8", 4, "binary (GIF image)"},
	    {"%PDF-", 5, "binary (PDF document)"},
	    {"\x7f"
	     "ELF",
	     4, "binary (ELF program)"},
	    {"SQLite format 3", 15, "binary (SQLite database)"},
	    {"\xff\xfe", 2, "binary (begins like UTF-16, but is no text)"},
	    {"\xfe\xff", 2, "binary (begins like UTF-16, but is no text)"},
	    {"Rar!", 4, "binary (RAR archive)"},
	    {"7z\xbc\xaf", 4, "binary (7-Zip archive)"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (head.len >= known[i].len && !memcmp(head.ptr, known[i].magic, known[i].len))
			return known[i].reason;
	if (text_starts(head, "PK\5\6"))
		return "binary (an empty zip archive)";
	return container_of(head) ? "binary (a container that is packed too deep, or damaged)" : NULL;
}

static const char *why_not(struct text head, bool *ret_unknown)
{
	size_t odd = 0, n = MIN(head.len, 64 * KIB);
	const char *kind = binary_kind(head);
	if (!text_trim(head).len)
		return "empty";
	if (kind)
		return kind;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)head.ptr[i];
		odd += c < 9 || (c > 13 && c < 32 && c != 27) || c == 127;
	}
	if (odd * 10 > n)
		return "binary";
	struct text t = text_trim(text_from(head, bom_length(head)));
	*ret_unknown = true;
	if (t.ptr[0] == '[')
		return "a JSON array, no format recognises it";
	if (t.ptr[0] == '{')
		return "JSON, but no format recognises it";
	return "no format recognises it";
}

/* --- the choice --- */

/* The format in whose log the records of `guest` stand; n: none. */
static size_t host_of(const struct formats *f, const struct tally *t, size_t guest)
{
	size_t host = f->n;
	for (size_t i = 0; i < f->n; i++)
		if (t[i].strong && is_host(f->list[i], f->list[guest]) && points(&t[i]) * 20 >= points(&t[guest]) &&
		    (host == f->n || points(&t[i]) > points(&t[host])))
			host = i;
	return host;
}

static bool rivals(const struct tally *best, const struct tally *second)
{
	if (best->strong && !second->strong)
		return false;
	return points(second) * 1000ull > points(best) * (1000ull - DETECT_MARGIN);
}

/* A map says of records what they are, and it is a person who says so: where it knows half as many as the best, it is taken
 * before any format that only recognises them. */
static size_t mapped(const struct formats *f, const struct tally *t, size_t best)
{
	for (size_t i = 0; i < f->n; i++)
		if (map_of(f->list[i]) && t[i].strong && points(&t[i]) * 2 >= points(&t[best]))
			return i;
	return f->n;
}

static void choose(struct formats *f, struct tally *t, unsigned records, struct detection *ret)
{
	size_t n = f->n, best, second;
	best_two(t, n, &best, &second);
	if (best == n)
		return;
	size_t map = mapped(f, t, best);
	if (map < n && map != best) {
		second = best;
		best = map;
	}
	if (map == n && second < n && !t[best].strong && t[second].strong &&
	    points(&t[second]) * 2 >= points(&t[best])) {
		size_t swap = best; /* knowing is worth more than guessing */
		best = second;
		second = swap;
	}
	for (size_t host = host_of(f, t, best), depth = 0; host < n && depth++ < n; host = host_of(f, t, best)) {
		second = best;
		best = host;
	}
	bool mixed = second < n && (mixed_in(f, t, best, second) || is_host(f->list[best], f->list[second]));
	if (map == n && second < n && mixed_in(f, t, second, best)) {
		size_t swap = best;
		best = second;
		second = swap;
		mixed = true;
	}
	ret->best = f->list[best];
	ret->score = (unsigned)MIN(points(&t[best]) * 500ull / records, 1000);
	if (second < n) {
		ret->runner_up = f->list[second];
		ret->runner_up_score = (unsigned)MIN(points(&t[second]) * 500ull / records, 1000);
	}
	ret->unknown = !t[best].strong && t[best].weak * 2 < records;
	if (ret->unknown)
		ret->reason = "no format recognises it: too few records look like the best match";
	else if (map == n && second < n && !mixed && rivals(&t[best], &t[second]))
		ret->reason = "tie";
	else
		ret->parser = f->list[best];
}

static int detect_bare(struct formats *f, struct text head, bool whole, bool inside, struct detection *ret,
		       struct err *err)
{
	struct tally *t = calloc(f->n + 1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	bool documents = false;
	int rc = inside ? 0 : bid_documents(f, head, t, &documents);
	if (rc == 0)
		rc = bid_lines(f, head, whole, t, &ret->records);
	if (rc == 0 && ret->records) {
		for (size_t i = 0; documents && i < f->n; i++) { /* a document has all records, or none */
			if (f->list[i]->shape == SHAPE_LINES)
				continue;
			t[i].strong *= ret->records;
			t[i].weak *= ret->records;
		}
		choose(f, t, ret->records, ret);
	}
	if (rc == 0 && !ret->parser && !ret->reason)
		ret->reason = why_not(head, &ret->unknown);
	free(t);
	return rc;
}

int detect_lines(struct formats *f, struct text lines, bool whole, struct detection *ret, struct err *err)
{
	*ret = (struct detection){0};
	return detect_bare(f, lines, whole, true, ret, err);
}

/* Nothing was recognised inside of the wrappers, if there are any: is it read as it is, or by origin? */
static void choose_way(const struct detection *bare, struct detection *ret, struct stack *ret_stack)
{
	if (stack_many(ret_stack) && !bare->parser) {
		ret->reason = NULL;
		return;
	}
	/* else why: what is inside is not known either */
	if (!ret_stack->n || bare->parser || bare->best)
		*ret = *bare;
	stack_done(ret_stack);
}

static int look(struct formats *f, struct text head, bool whole, const struct stack *asked, bool inside,
		struct detection *ret, struct stack *ret_stack, struct err *err)
{
	*ret = (struct detection){0};
	*ret_stack = (struct stack){0};
	formats_bind(f, err);
	struct text body = text_from(head, bom_length(head));
	bool forced = asked && asked->parser;
	if (!forced && !text_trim(line_strip_nul(body)).len) {
		ret->reason = !head.len || !text_trim(head).len ? "empty" : "binary (NUL bytes only)";
		return 0;
	}
	struct detection bare = {0};
	int rc = 0;
	if (f->n_wrappers && !(forced && asked->parser->shape != SHAPE_LINES))
		rc = detect_stack(f, head, whole, asked, inside, ret, ret_stack, err);
	/* of two chances the wrappers have the first: what they wrap is somebody's text, too */
	if (rc == 0 && !asked && !(ret_stack->n && ret->parser))
		rc = detect_bare(f, head, whole, inside, &bare, err);
	if (rc == 0 && !asked && !(ret_stack->n && ret->parser))
		choose_way(&bare, ret, ret_stack);
	else if (asked && !ret->parser && stack_many(ret_stack))
		ret->reason = NULL;
	if (rc < 0) {
		stack_done(ret_stack);
		return rc;
	}
	if (forced)
		ret->parser = asked->parser;
	ret_stack->forced = forced;
	ret_stack->parser = ret->parser;
	memcpy(ret->wrap, ret_stack->wrap, sizeof(ret->wrap));
	ret->n_wraps = ret_stack->n;
	return 0;
}

int detect_with(struct formats *f, struct text head, bool whole, const struct stack *asked, struct detection *ret,
		struct stack *ret_stack, struct err *err)
{
	return look(f, head, whole, asked, false, ret, ret_stack, err);
}

int detect_further(struct formats *f, struct text lines, bool whole, struct detection *ret, struct stack *ret_stack,
		   struct err *err)
{
	return look(f, lines, whole, NULL, true, ret, ret_stack, err);
}

int detect(const struct parser *const *list, size_t n, struct text head, bool whole, struct detection *ret,
	   struct err *err)
{
	return detect_wrapped(list, n, NULL, 0, head, whole, ret, err);
}

int detect_wrapped(const struct parser *const *list, size_t n, const struct wrapper *const *wraps, size_t n_wraps,
		   struct text head, bool whole, struct detection *ret, struct err *err)
{
	struct formats f;
	struct stack stack = {0};
	int rc = formats_open(&f, list, n, err);
	if (rc < 0)
		return rc;
	if (head.len > DETECT_BYTES) {
		head.len = DETECT_BYTES;
		whole = false;
	}
	if (n_wraps)
		rc = formats_wrap(&f, wraps, n_wraps, err);
	if (rc == 0)
		rc = detect_with(&f, head, whole, NULL, ret, &stack, err);
	stack_done(&stack);
	formats_close(&f);
	return rc;
}
