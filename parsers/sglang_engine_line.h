/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine_line.h - what stands around a message: envelopes, carriers, exports, levels, and foreign loggers
 *
 * Included by sglang_engine.c only. Nothing here allocates or keeps state. An envelope counts only where a record
 * begins: at the start of a line, or behind what is no record, as a progress bar without a line end (line_split). Where a
 * record stands before it, the words of two cannot be told apart (line_cut). Never behind a quote character, because quoted
 * text is what customers wrote.
 */
#pragma once

#include <string.h>

#include "pagetrail/parser.h"

enum style {
	STYLE_BARE = 0,  /* no time of its own */
	STYLE_BRACKET,   /* [2026-09-14 03:12:44 DP0 TP3] */
	STYLE_TIME_ONLY, /* [03:12:44 TP0] */
	STYLE_CUSTOM,    /* 2026-09-14 03:12:44 INFO 31223 [DP3 TP3 file.py:222] */
};

struct line {
	enum style style;
	bool exported;       /* a log viewer's export put a zoned time in front */
	bool comma_fraction; /* [2026-09-14 03:12:44,556]: not how SGLang writes */
	struct stamp ts;     /* of the envelope or the export; time of day alone for STYLE_TIME_ONLY */
	struct text tags;    /* DP0 TP3 */
	struct text dp;      /* digits of the DP tag */
	struct text message;
};

/* DP0, TP12, ATTN_CP0 */
static bool is_tag(struct text t)
{
	size_t n = 0;

	while (n < t.len && (is_upper(t.ptr[n]) || t.ptr[n] == '_'))
		n++;
	return n >= 2 && n <= 16 && n < t.len && all_digits(text_from(t, n));
}

/* Notes the tags at the start of t, separated by blanks; returns how many bytes they take. */
static size_t take_tags(struct line *line, struct text t)
{
	struct text rest = t;
	size_t used = 0;

	for (;;) {
		struct text word;
		size_t end;

		while (rest.len > 0 && rest.ptr[0] == ' ')
			rest = text_from(rest, 1);
		for (end = 0; end < rest.len && rest.ptr[end] != ' ' && rest.ptr[end] != ']'; end++)
			;
		word = text_sub(rest, 0, end);
		if (!is_tag(word))
			return used;
		if (line->tags.len == 0)
			line->tags = word;
		line->tags.len = (size_t)(word.ptr + word.len - line->tags.ptr);
		if (text_starts(word, "DP"))
			line->dp = text_from(word, 2);
		rest = text_from(rest, end);
		used = t.len - rest.len;
	}
}

static bool is_bracket(struct text t)
{
	return t.len > 1 && t.ptr[0] == '[' && is_digit(t.ptr[1]);
}

/* "[" stamp tags "]" blank. Whatever else stands in the bracket makes it no envelope of ours. */
static bool line_bracket(struct text t, struct line *line)
{
	struct text rest = text_from(t, 1);
	size_t used;
	int64_t ns;

	if (t.len < 10 || !is_bracket(t))
		return false;
	if (stamp_parse_iso(rest, &line->ts, &used)) {
		line->style = STYLE_BRACKET;
		line->comma_fraction = used > 19 && rest.ptr[19] == ',';
	} else {
		used = time_of_day(rest, &ns);
		if (!used)
			return false;
		line->style = STYLE_TIME_ONLY;
		line->ts = (struct stamp){ns, STAMP_MONOTONIC, NS_PER_S};
	}
	rest = text_from(rest, used);
	rest = text_from(rest, take_tags(line, rest));
	while (rest.len > 0 && rest.ptr[0] == ' ')
		rest = text_from(rest, 1);
	if (rest.len == 0 || rest.ptr[0] != ']' || (rest.len > 1 && rest.ptr[1] != ' ')) {
		line->style = STYLE_BARE;
		line->tags = line->dp = (struct text){NULL, 0};
		return false;
	}
	line->message = text_from(rest, 2);
	return true;
}

/* file.py:222 or file.py:222: or a dotted logger name followed by ':' */
static size_t place_length(struct text t)
{
	size_t n = 0, dot = SIZE_MAX;

	while (n < t.len && n < 80 && (py_word(t.ptr[n]) || t.ptr[n] == '.' || t.ptr[n] == '/')) {
		if (t.ptr[n] == '.')
			dot = n;
		n++;
	}
	if (dot == SIZE_MAX || dot == 0 || n >= t.len || is_digit(t.ptr[0]))
		return 0;
	if (t.ptr[n] == ' ' && n + 2 < t.len && t.ptr[n + 1] == '-')
		return n;
	if (t.ptr[n] != ':')
		return 0;
	if (!text_eq(text_sub(t, dot, n - dot), TEXT(".py"))) {
		/* loguru's logger:function:123; Python's own LEVEL:logger:message */
		size_t at = n + 1, line;

		while (at < t.len && at < n + 80 && py_word(t.ptr[at]))
			at++;
		for (line = at + 1; line < t.len && is_digit(t.ptr[line]);)
			line++;
		if (at > n + 1 && at < t.len && t.ptr[at] == ':' && line > at + 1 && line < t.len && t.ptr[line] == ' ')
			return line;
		return n + 1 < t.len && (t.ptr[n + 1] == ' ' || text_starts(t, "sglang.")) ? n + 1 : 0;
	}
	for (n++; n < t.len && is_digit(t.ptr[n]);)
		n++;
	return n < t.len && t.ptr[n] == ':' ? n + 1 : n;
}

/* [DP3 TP3 EP3 scheduler_metrics_mixin.py:222], [gpu_id=0], [http_server] */
static size_t group_length(struct line *line, struct text t)
{
	size_t n = 1;

	if (t.len < 3 || t.ptr[0] != '[')
		return 0;
	while (n < t.len && n < 100 && (py_word(t.ptr[n]) || memchr(" .:=/-", t.ptr[n], 6)))
		n++;
	if (n >= t.len || t.ptr[n] != ']')
		return 0;
	if (line->tags.len == 0)
		take_tags(line, text_sub(t, 1, n - 1));
	return n + 1;
}

/* Takes levels, places, process ids and groups off the front of a message. */
static void strip_prefixes(struct line *line, bool custom)
{
	for (int i = 0; i < 8; i++) {
		struct text t = line->message;
		size_t n = level_length(t);

		if (n) {
			n += t.ptr[n] == ':';
		} else if ((n = place_length(t)) == 0 && (n = group_length(line, t)) == 0 && custom) {
			if (t.len > 1 && memchr("-|:", t.ptr[0], 3) && t.ptr[1] == ' ')
				n = 1;
			else if (line->tags.len == 0 && (n = take_tags(line, t)) > 0 && n < t.len && t.ptr[n] == ']')
				n++;
			for (size_t d = 0; n == 0 && d < t.len && d < 10 && (is_digit(t.ptr[d]) || t.ptr[d] == ' ');
			     d++)
				if (t.ptr[d] == ' ') {
					n = d;
					break;
				}
		}
		if (n == 0)
			return;
		line->message = skip_blanks(text_from(t, n));
	}
}

/* Length of what a collector put before the line: "(RayWorker pid=1) ", "prefill-1  | ", "[pod/prefill-0/sglang] ". */
static size_t carrier_length(struct text t)
{
	size_t n = 0, limit = MIN(t.len, 120);

	if (t.len < 4)
		return 0;
	if (t.ptr[0] == '(') {
		struct text head = unquoted(text_sub(t, 0, limit));
		size_t end = text_find_char(head, ')', 0);

		return end != SIZE_MAX && end + 1 < t.len && t.ptr[end + 1] == ' ' &&
			       text_find(text_sub(head, 0, end), "pid=", 0) != SIZE_MAX
			   ? end + 2
			   : 0;
	}
	if (text_starts(t, "[pod/")) {
		n = text_find_char(text_sub(t, 0, limit), ']', 0);
		return n != SIZE_MAX && n + 1 < t.len && t.ptr[n + 1] == ' ' ? n + 2 : 0;
	}
	while (n < limit && (py_word(t.ptr[n]) || t.ptr[n] == '-' || t.ptr[n] == '.'))
		n++;
	if (n == 0 || n >= limit || t.ptr[n] != ' ')
		return 0;
	while (n < limit && t.ptr[n] == ' ')
		n++;
	return n + 1 < t.len && t.ptr[n] == '|' && t.ptr[n + 1] == ' ' && !is_digit(t.ptr[0]) ? n + 2 : 0;
}

/* epoch_ms TAB iso TAB line: length of the first two columns, 0 when it is no export. */
static size_t export_length(struct text t, struct stamp *ret)
{
	size_t tab = 0, used;
	struct stamp iso;

	while (tab < t.len && tab < 20 && is_digit(t.ptr[tab]))
		tab++;
	if (tab < 10 || tab >= t.len || t.ptr[tab] != '\t' || !stamp_parse_epoch(text_sub(t, 0, tab), ret) ||
	    ret->quality != STAMP_ZONED || !stamp_parse_iso(text_from(t, tab + 1), &iso, &used))
		return 0;
	used += tab + 1;
	return used < t.len && t.ptr[used] == '\t' ? used + 1 : 0;
}

/* INFO 2026-09-14 03:12:44 message, ERROR: [2026-09-14 03:12:44 TP0] message */
static void level_first(struct text t, struct line *line)
{
	size_t used;

	t = skip_blanks(t);
	if (line_bracket(t, line)) {
		strip_prefixes(line, false);
	} else if (t.len > 20 && is_digit(t.ptr[0]) && stamp_parse_iso(t, &line->ts, &used) && used < t.len &&
		   t.ptr[used] == ' ') {
		line->style = STYLE_CUSTOM;
		line->message = skip_blanks(text_from(t, used));
		strip_prefixes(line, true);
	} else if (text_starts(t, "sglang.")) {
		line->message = t;
		strip_prefixes(line, false);
	}
}

/* Takes a whole record apart. `t` has no terminal colours any more. */
static struct line line_read(struct text t)
{
	struct line line = {.ts = STAMP_INIT};
	struct stamp outer = STAMP_INIT;
	struct text body;
	size_t used;

	t = text_from(t, carrier_length(t));
	used = t.len > 0 && is_digit(t.ptr[0]) ? export_length(t, &outer) : 0;
	line.exported = used > 0;
	body = text_from(t, used);
	line.message = body;
	while (body.len > 0 && body.ptr[0] == '\r')
		body = text_from(body, 1);
	if (line_bracket(body, &line)) {
		strip_prefixes(&line, false);
	} else if (body.len > 20 && is_digit(body.ptr[0]) && stamp_parse_iso(body, &line.ts, &used) &&
		   used < body.len && (body.ptr[used] == ' ' || body.ptr[used] == ']')) {
		line.style = STYLE_CUSTOM;
		line.message = skip_blanks(text_from(body, used));
		strip_prefixes(&line, true);
	} else if ((used = level_length(body)) > 0) {
		level_first(text_from(body, used + 1), &line);
	}
	if (line.style == STYLE_BARE)
		line.ts = STAMP_INIT;
	if (line.exported)
		line.ts = outer;
	return line;
}

/* Where in a line a second record begins, or its length. */
static size_t line_cut(struct text t)
{
	struct text head;
	struct stamp outer;
	size_t at = carrier_length(t);

	at += paint_length(text_from(t, at));
	at += export_length(text_from(t, at), &outer);
	at += paint_length(text_from(t, at));
	if (level_length(text_from(t, at)))
		at += level_length(text_from(t, at)) + 1;
	at += paint_length(text_from(t, at));
	head = unquoted(t);
	for (at++; at < head.len; at++) {
		const char *hit = memchr(t.ptr + at, '[', head.len - at);
		struct line line = {.ts = STAMP_INIT};

		if (!hit)
			break;
		at = (size_t)(hit - t.ptr);
		if (line_bracket(text_from(t, at), &line) && (line.style == STYLE_BRACKET || line.tags.len > 0) &&
		    !line.comma_fraction)
			return at;
	}
	return t.len;
}

/* Does a record begin here, with or without a time? */
static bool line_begins(struct text t)
{
	t = text_from(t, carrier_length(t));
	t = text_from(t, paint_length(t));
	return t.len > 0 && (memchr("[({", t.ptr[0], 3) || is_digit(t.ptr[0]) || level_length(t) > 0);
}

/* Where the first record of a line begins, behind what is none: a bar, dots, the rest of another, an empty envelope; else the
 * line's length. */
static size_t line_split(struct text t)
{
	struct line line = {.ts = STAMP_INIT};
	size_t at;

	if (is_bracket(t)) {
		at = text_find(text_sub(t, 0, 64), "] [", 0);
		return at != SIZE_MAX && line_bracket(t, &line) && t.ptr + at + 2 == line.message.ptr &&
			       line_bracket(line.message, &line)
			   ? at + 2
			   : t.len;
	}
	at = line_cut(t);
	return at == t.len || !line_begins(t) || is_bar(text_sub(t, 0, at)) ? at : t.len;
}
