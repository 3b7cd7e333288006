/* SPDX-License-Identifier: Apache-2.0 */
/* log_words.h - small readers that several text formats share: digits, levels, colours, progress bars, exceptions
 *
 * Included once by each format that needs it. No state; only unpaint() allocates, from the parser's scratch.
 */
#pragma once

#include <string.h>

#include "pagetrail/parser.h"

#include "python_repr.h"

static UNUSED bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static UNUSED bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static UNUSED bool all_digits(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.ptr[i]))
			return false;
	return t.len > 0;
}

static UNUSED struct text skip_blanks(struct text t)
{
	size_t n = 0;

	while (n < t.len && (t.ptr[n] == ' ' || t.ptr[n] == '\t' || t.ptr[n] == '\r'))
		n++;
	return text_from(t, n);
}

/* Text before the first of two quote characters: the part of a line that nobody outside the engine chose. */
static UNUSED struct text unquoted(struct text t)
{
	const char *a = t.len ? memchr(t.ptr, '\'', t.len) : NULL;
	size_t n = a ? (size_t)(a - t.ptr) : t.len;
	const char *b = n ? memchr(t.ptr, '"', n) : NULL;

	return text_sub(t, 0, b ? (size_t)(b - t.ptr) : n);
}

/* HH:MM:SS with optional fraction, as nanoseconds of the day; 0 when it is none. */
static UNUSED size_t time_of_day(struct text t, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S, ns;
	size_t n = 8;

	if (t.len < 8 || !is_digit(t.ptr[0]) || !is_digit(t.ptr[1]) || t.ptr[2] != ':' || !is_digit(t.ptr[3]) ||
	    !is_digit(t.ptr[4]) || t.ptr[5] != ':' || !is_digit(t.ptr[6]) || !is_digit(t.ptr[7]))
		return 0;
	ns = ((t.ptr[0] - '0') * 10 + t.ptr[1] - '0') * INT64_C(3600) + ((t.ptr[3] - '0') * 10 + t.ptr[4] - '0') * 60 +
	     (t.ptr[6] - '0') * 10 + t.ptr[7] - '0';
	if (ns >= 86400)
		return 0;
	ns *= NS_PER_S;
	if (t.len > 9 && t.ptr[8] == '.' && is_digit(t.ptr[9]))
		for (n = 9; n < t.len && is_digit(t.ptr[n]) && unit > 1; n++) {
			unit /= 10;
			ns += (t.ptr[n] - '0') * unit;
		}
	*ret_ns = ns;
	return n;
}

static UNUSED size_t level_length(struct text t)
{
	static const char *const levels[] = {"INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL"};

	for (size_t i = 0; t.len > 0 && i < ARRAY_SIZE(levels); i++) {
		size_t n;

		if (levels[i][0] != t.ptr[0])
			continue;
		n = strlen(levels[i]);

		if (text_starts(t, levels[i]) && n < t.len && (t.ptr[n] == ' ' || t.ptr[n] == ':'))
			return n;
	}
	return 0;
}

/* Bytes of terminal colours, CR and blanks at the start of t. */
static UNUSED size_t paint_length(struct text t)
{
	size_t n = 0;

	while (n < t.len) {
		if (t.ptr[n] == '\r' || t.ptr[n] == ' ') {
			n++;
		} else if (t.ptr[n] == 0x1b && n + 1 < t.len && t.ptr[n + 1] == '[') {
			for (n += 2; n < t.len && (is_digit(t.ptr[n]) || t.ptr[n] == ';');)
				n++;
			n += n < t.len;
		} else {
			break;
		}
	}
	return n;
}

/* Copies a line without its terminal colours. The line itself when there are none or memory is short. */
static UNUSED struct text unpaint(struct arena *scratch, struct text t)
{
	char *out;
	size_t n = 0;

	if (t.len == 0 || !memchr(t.ptr, 0x1b, t.len))
		return t;
	out = arena_alloc(scratch, t.len);
	if (!out)
		return t;
	for (size_t i = 0; i < t.len;) {
		if (t.ptr[i] == 0x1b && i + 1 < t.len && t.ptr[i + 1] == '[') {
			for (i += 2; i < t.len && (is_digit(t.ptr[i]) || t.ptr[i] == ';' || t.ptr[i] == '?');)
				i++;
			i += i < t.len;
			continue;
		}
		out[n++] = t.ptr[i++];
	}
	return (struct text){out, n};
}

/* Every entry has two characters at least: they decide most cases. */
static UNUSED bool starts_any(struct text t, const char *const *list, size_t n)
{
	if (t.len < 2)
		return false;
	for (size_t i = 0; i < n; i++)
		if (list[i][0] == t.ptr[0] && list[i][1] == t.ptr[1] && text_starts(t, list[i]))
			return true;
	return false;
}

static UNUSED bool holds(struct text t, const char *needle)
{
	return text_find(t, needle, 0) != SIZE_MAX;
}

static UNUSED bool is_progress(struct text t)
{
	if (t.ptr[0] == '\r')
		return true;
	return holds(t, "it/s]") || holds(t, "s/it]") || holds(t, "%|") || holds(t, "B/s]") ||
	       (holds(t, "% Completed |") && holds(t, "["));
}

/* A progress bar, or dots, up to its end: what comes behind is the next record. */
static UNUSED bool is_bar(struct text t)
{
	static const char *const ends[] = {"it/s]", "s/it]", "B/s]"};
	size_t n = 0;

	t = text_trim(t);
	while (n < t.len && t.ptr[n] == '.')
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && n < t.len; i++)
		if (text_ends(t, ends[i]))
			return true;
	return n > 0 && n == t.len;
}

static UNUSED bool is_dots(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.ptr[i] != '.')
			return false;
	return t.len > 0;
}

/* SomeError: … / package.SomeError, the last line of a traceback */
static UNUSED bool is_exception(struct text t)
{
	size_t n = 0;

	while (n < t.len && (py_word(t.ptr[n]) || t.ptr[n] == '.'))
		n++;
	return n > 3 && is_upper(t.ptr[0]) + holds(text_sub(t, 0, n), ".") > 0 && (n == t.len || t.ptr[n] == ':');
}

static UNUSED struct text after(struct text t, const char *mark)
{
	size_t at = text_find(t, mark, 0);

	return at == SIZE_MAX ? (struct text){NULL, 0} : text_from(t, at + strlen(mark));
}

/* "0.19" to 190000 ppm */
static UNUSED bool ppm_of(struct text t, int64_t *ret)
{
	int64_t v = 0, unit = 1000000;
	size_t i = 0;

	for (; i < t.len && is_digit(t.ptr[i]) && v < 100; i++)
		v = v * 10 + t.ptr[i] - '0';
	if (i == 0)
		return false;
	v *= unit;
	if (i < t.len && t.ptr[i] == '.')
		for (i++; i < t.len && is_digit(t.ptr[i]); i++) {
			unit /= 10;
			v += (t.ptr[i] - '0') * unit;
		}
	*ret = v;
	return i == t.len;
}
