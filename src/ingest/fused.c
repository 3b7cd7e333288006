/* SPDX-License-Identifier: Apache-2.0 */
/* fused.c - lines in which a second record begins
 *
 * What marks the head of a record in any text format is its time. A second one, written as the first is (the same shape of date,
 * and the same kind of thing before and behind it), is the head of a second record: two processes wrote into one pipe, or a file
 * without a last line end was joined to another. Which words then belong to whom is not known, so the line is not read
 * (docs/architecture.md says why nothing better may be made of it).
 *
 * In quotes stands what others wrote; times in there begin nothing, also where the quote was cut and is never closed. But where a
 * word begins right behind the end of a quote, that was the beginning of another: of the second record's.
 */
#include "fused.h"

#include <string.h>

#include "pagetrail/macros.h"

enum {
	TIME_BYTES = 8,     /* 03:12:44 */
	HEAD_BYTES = 160,   /* a record's own time begins in these */
	DATE_BYTES = 16,    /* "[14/Sep/2026:" and shorter */
	BRACKET_BYTES = 48, /* what stands behind a time in its bracket: a fraction, a zone, ranks */
	LEVEL_BYTES = 4,    /* INFO, WARN and longer: words of a level, in capitals */
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* --- times --- */

/* Is there a ':' with another one three bytes on among the 32 places at p? Written so that it is done sixteen at a time. */
static bool colons(const char *p)
{
	unsigned char any = 0;
	for (int i = 0; i < 32; i++)
		any |= (unsigned char)((p[i] == ':') & (p[i + 3] == ':'));
	return any;
}

static bool time_at(struct text t, size_t colon)
{
	const char *p = t.ptr + colon;
	return p[0] == ':' && p[3] == ':' && colon >= 2 && digit(p[-2]) && digit(p[-1]) && digit(p[1]) && digit(p[2]) &&
	       digit(p[4]) && digit(p[5]);
}

/* Where the first time of day from `at` on stands; SIZE_MAX: nowhere. */
static size_t next_time(struct text t, size_t at)
{
	while (at + 6 <= t.len) {
		size_t end = MIN(at + 32, t.len - 5);
		if (at + 35 <= t.len && !colons(t.ptr + at)) {
			at += 32;
			continue;
		}
		for (; at < end; at++)
			if (time_at(t, at))
				return at - 2;
	}
	return SIZE_MAX;
}

/* --- heads --- */

static char shape(char c)
{
	return digit(c) ? '0' : letter(c) ? 'a' : c;
}

/* Bytes before the time that belong to its writing: the date, and the bracket or blank before that. */
static size_t date_bytes(struct text t, size_t time)
{
	bool date = false;
	size_t n = 0;
	while (n < time && n < DATE_BYTES) {
		char c = t.ptr[time - 1 - n];
		if (c == '[' && time - 1 - n && t.ptr[time - 2 - n] == '\x1b')
			return n; /* a colour */
		if (c == '[' || (date && c == ' '))
			return n + 1;
		if (!digit(c) && !letter(c) && !memchr(" -/.:", c, 5))
			break;
		date |= digit(c);
		n++;
	}
	return date ? n : 0;
}

/* What comes behind a time and what belongs to it: ']' for the end of its bracket, 'A' for a level, else the shape of a byte. */
static char behind(struct text t, size_t at, bool bracket)
{
	size_t n = 0;
	while (at < t.len && (digit(t.ptr[at]) || memchr(".,+-:Z", t.ptr[at], 6)))
		at++;
	if (bracket) {
		size_t end = text_find_char(text_sub(t, at, BRACKET_BYTES), ']', 0);
		return end != SIZE_MAX && (at + end + 1 == t.len || t.ptr[at + end + 1] == ' ') ? ']' : 0;
	}
	while (at < t.len && (t.ptr[at] == ' ' || t.ptr[at] == '\t'))
		at++;
	while (at + n < t.len && t.ptr[at + n] >= 'A' && t.ptr[at + n] <= 'Z')
		n++;
	return n >= LEVEL_BYTES ? 'A' : at < t.len ? shape(t.ptr[at]) : 0;
}

/* Nothing but the rest of a head between it and the next: one envelope in another. */
static bool adjoins(struct text between)
{
	size_t end = between.len <= BRACKET_BYTES ? text_find_char(between, ']', 0) : SIZE_MAX;
	return end != SIZE_MAX && !text_trim(text_from(between, end + 1)).len;
}

/* --- quotes --- */

/* Where the quote that opens at `at` is closed, or the end; a backslash takes away the meaning of the byte behind it. */
static size_t closing(struct text t, size_t at)
{
	char quote = t.ptr[at];
	for (at++; at < t.len && t.ptr[at] != quote; at++)
		at += t.ptr[at] == '\\';
	return MIN(at, t.len);
}

struct quotes {
	size_t at, end; /* what is before at was looked at; the quote that was seen last goes to end */
};

/* Is the byte at `at` inside of quotes? Asked for one place after another. A single quote behind a letter or digit is an
 * apostrophe. */
static bool quoted(struct quotes *q, struct text t, size_t at)
{
	for (; q->at < at && q->end < at; q->at++) {
		char c = t.ptr[q->at], before = q->at ? t.ptr[q->at - 1] : ' ';
		if (c == '\\')
			q->at++;
		else if (c == '"' || (c == '\'' && !digit(before) && !letter(before)))
			q->at = q->end = closing(t, q->at);
	}
	return q->end > at && !(q->end + 1 < t.len && shape(t.ptr[q->end + 1]) != t.ptr[q->end + 1]);
}

/* Does a time behind `own` stand in a head written as that one is? */
static bool again(struct text t, size_t own, size_t at)
{
	size_t date = date_bytes(t, own), from = own + TIME_BYTES;
	bool bracket = date && t.ptr[own - date] == '[';
	char next = date ? behind(t, from, bracket) : 0;
	struct quotes q = {0};
	for (; next && at != SIZE_MAX; at = next_time(t, at + TIME_BYTES)) {
		size_t n = 1, head = at - date;
		while (n <= date && shape(t.ptr[at - n]) == shape(t.ptr[own - n]))
			n++;
		if (n > date && head >= from && behind(t, at + TIME_BYTES, bracket) == next &&
		    !adjoins(text_sub(t, from, head - from)) && !quoted(&q, t, at))
			return true;
	}
	return false;
}

bool fused_text(struct text t)
{
	size_t own = next_time(t, 2), at;
	if (own >= HEAD_BYTES || (at = next_time(t, own + TIME_BYTES)) == SIZE_MAX)
		return false;
	if (memchr(t.ptr, '\n', at)) /* behind a line end stands the text of whoever wrote it */
		return false;
	if (again(t, own, at))
		return true;
	/* the first may be a sender's, and the record's own the second */
	own = at;
	return own < HEAD_BYTES && (at = next_time(t, own + TIME_BYTES)) != SIZE_MAX && again(t, own, at);
}

bool fused_json(struct text t)
{
	size_t end = t.len > 2 && t.ptr[0] == '{' && t.ptr[1] == '"' ? closing(t, 1) : t.len;
	struct text key = text_sub(t, 0, end + 1);
	return end < t.len && memmem(t.ptr + key.len, t.len - key.len, key.ptr, key.len);
}
