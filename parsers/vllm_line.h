/* SPDX-License-Identifier: Apache-2.0 */
/* vllm_line.h - what stands around a message of vLLM: processes, envelopes, uvicorn's levels
 *
 * Included by vllm.c only. Nothing here allocates. Sources: vLLM vllm/logger.py, vllm/logging_utils/formatter.py and
 * vllm/utils/system_utils.py as of 2026-08-17 (017e9f4448); real logs of 0.8 to 0.22.
 */
#pragma once

#include "pagetrail/parser.h"

struct line {
	bool enveloped;      /* LEVEL MM-DD HH:MM:SS [file.py:123] */
	bool uvicorn;        /* "INFO:     ", no time */
	bool custom;         /* a site's own envelope: the time, if any, is in ts */
	bool own_process;    /* one of vLLM's processes stands in front */
	struct text rank;    /* DP0, TP0_EP0: of the process that wrote it */
	struct text dp;      /* digits of DP */
	struct text day;     /* MM-DD */
	int64_t time_ns;     /* of the day */
	struct stamp ts;     /* filled in by line_stamp() */
	struct text message; /* without all that */
};

static bool digit_pair(const char *p)
{
	return is_digit(p[0]) && is_digit(p[1]);
}

/* APIServer, APIServer_0, EngineCore_DP0, Worker_TP0_EP0; older ones ApiServer_0, VllmWorker TP0 */
static bool is_process(struct text name)
{
	static const char *const names[] = {"APIServer",    "ApiServer",     "EngineCore", "Worker",
					    "DPSupervisor", "DPCoordinator", "VllmWorker"};

	return starts_any(name, names, ARRAY_SIZE(names));
}

static void process_rank(struct line *line, struct text name)
{
	size_t at = text_find_char(name, '_', 0), n = 2;
	struct text rank;

	if (at == SIZE_MAX)
		at = text_find_char(name, ' ', 0);
	if (at == SIZE_MAX || at + 3 >= name.len || !is_upper(name.ptr[at + 1]))
		return;
	rank = text_from(name, at + 1);
	line->rank = rank;
	if (!text_starts(rank, "DP"))
		return;
	while (n < rank.len && is_digit(rank.ptr[n]))
		n++;
	line->dp = text_sub(rank, 2, n - 2);
}

/* "(EngineCore_DP0 pid=212) ": its length, 0 when there is none. Ray puts its own in front of vLLM's. */
static size_t process_length(struct text t, struct line *line)
{
	struct text head = text_sub(t, 0, 120), name;
	size_t end, pid;

	if (t.len < 8 || t.ptr[0] != '(')
		return 0;
	end = text_find_char(head, ')', 0);
	pid = end == SIZE_MAX ? SIZE_MAX : text_find(text_sub(head, 0, end), " pid=", 0);
	if (pid == SIZE_MAX || pid + 5 >= end || !is_digit(head.ptr[pid + 5]))
		return 0;
	name = text_sub(head, 1, pid - 1);
	if (is_process(name)) {
		line->own_process = true;
		process_rank(line, name);
	}
	return end + 1 < t.len && t.ptr[end + 1] == ' ' ? end + 2 : end + 1;
}

/* "[file.py:123] ", or without its "[" as before 0.8; 0 when it is none. */
static size_t place_length(struct text t)
{
	size_t n = t.len > 0 && t.ptr[0] == '[', limit = MIN(t.len, 200), digits;

	while (n < limit && (py_word(t.ptr[n]) || memchr("./-<>", t.ptr[n], 5)))
		n++;
	if (n < 2 || n >= limit || t.ptr[n] != ':')
		return 0;
	for (digits = ++n; n < limit && is_digit(t.ptr[n]); n++)
		;
	if (n == digits || n >= limit || t.ptr[n] != ']')
		return 0;
	return n + 1 < t.len && t.ptr[n + 1] == ' ' ? n + 2 : n + 1;
}

/* LEVEL MM-DD HH:MM:SS place message */
static bool line_envelope(struct text t, struct line *line)
{
	size_t n = level_length(t), used;
	struct text rest;

	if (n == 0 || t.ptr[n] != ' ' || t.len < n + 16)
		return false;
	rest = text_from(t, n + 1);
	if (!digit_pair(rest.ptr) || rest.ptr[2] != '-' || !digit_pair(rest.ptr + 3) || rest.ptr[5] != ' ')
		return false;
	used = time_of_day(text_from(rest, 6), &line->time_ns);
	if (!used || rest.len <= 6 + used || rest.ptr[6 + used] != ' ')
		return false;
	line->day = text_sub(rest, 0, 5);
	rest = text_from(rest, 6 + used + 1);
	n = place_length(rest);
	if (n == 0)
		return false;
	line->message = text_from(rest, n);
	return true;
}

/* What a site puts in front of the level (VLLM_LOGGING_PREFIX), up to 64 bytes without a quote. */
static bool line_prefixed(struct text t, struct line *line)
{
	struct text head = unquoted(text_sub(t, 0, 64));

	if (t.len < 24 || head.len == 0 || head.ptr[0] == ' ')
		return false;
	for (size_t at = 0; (at = text_find_char(head, ' ', at)) != SIZE_MAX; at++)
		if (line_envelope(text_from(t, at + 1), line))
			return true;
	return false;
}

/* Takes a record apart; it has no terminal colours any more. */
static struct line line_read(struct text t)
{
	struct line line = {.ts = STAMP_INIT};
	size_t n;

	for (int i = 0; i < 3 && (n = process_length(t, &line)) > 0; i++)
		t = text_from(t, n);
	while (t.len > 0 && t.ptr[0] == '\r')
		t = text_from(t, 1);
	line.message = t;
	if (t.len == 0)
		return line;
	if (is_upper(t.ptr[0]) && (line.enveloped = line_envelope(t, &line)))
		return line;
	n = level_length(t);
	if (n > 0 && t.ptr[n] == ':' && n + 1 < t.len && t.ptr[n + 1] == ' ') {
		line.uvicorn = true;
		line.message = skip_blanks(text_from(t, n + 1));
	} else {
		line.enveloped = line_prefixed(t, &line);
	}
	return line;
}

/* Where a record begins behind a progress bar that has no line end ("…5/5 [00:01<00:00, 1.20it/s]INFO …"), or behind the CR
 * that sets a bar back; 0: nowhere. */
static size_t bar_cut(struct text t)
{
	struct text head = unquoted(text_sub(t, 0, 1024));
	size_t n;

	if (head.len < 24 || (!memchr(head.ptr, '\r', head.len) && !memchr(head.ptr, '|', head.len)))
		return 0;
	for (size_t at = 1; at + 1 < head.len; at++) {
		struct line line = {.ts = STAMP_INIT};
		struct text rest;

		if (head.ptr[at] != '\r' &&
		    !(head.ptr[at] == ']' && at > 3 &&
		      (text_ends(text_sub(head, 0, at), "/s") || text_ends(text_sub(head, 0, at), "/it"))))
			continue;
		rest = text_from(t, at + 1);
		rest = text_from(rest, process_length(rest, &line));
		n = rest.len ? level_length(rest) : 0;
		if (n && (line_envelope(rest, &line) || text_starts(text_from(rest, n), ":  ")))
			return at + 1;
	}
	return 0;
}

/* Where another process's record begins in a line, or its length: whose words are whose cannot be told. Never behind a quote
 * character. */
static size_t line_cut(struct text t)
{
	struct line line = {.ts = STAMP_INIT};
	struct text head;
	size_t at = 0, n;

	if (t.len < 24 || !memchr(t.ptr + 1, '(', t.len - 1))
		return t.len;
	for (int i = 0; i < 3 && (n = process_length(text_from(t, at), &line)) > 0; i++)
		at += n;
	head = unquoted(t);
	for (at = MAX(at, 1); (at = text_find_char(head, '(', at)) != SIZE_MAX; at++) {
		line = (struct line){.ts = STAMP_INIT};
		n = process_length(text_from(t, at), &line);
		if (n > 0 && line.own_process &&
		    (line_envelope(text_from(t, at + n), &line) || text_starts(text_from(t, at + n), "INFO:  ")))
			return at;
	}
	return t.len;
}

/* Where the first record of a line begins, behind what is none: a bar, the rest of another; else the line's length. */
static size_t line_split(struct text t)
{
	size_t at;

	if (t.len < 24 || t.ptr[0] == '(' || t.ptr[0] == '{' || level_length(t))
		return t.len;
	at = bar_cut(t);
	return at ? at : memchr("[{", t.ptr[0], 2) || is_digit(t.ptr[0]) ? t.len : line_cut(t);
}
