/* SPDX-License-Identifier: Apache-2.0 */
/* sglang_engine_chatter.h - lines of other programs between the engine's: known loggers, bars, installers
 *
 * Included by sglang_engine.c only. A shape is listed here when the program that writes it is known; such lines
 * carry nothing about requests. Everything else stays unparsed, so that an unknown engine message is seen.
 */
#pragma once

#include <string.h>

#include "pagetrail/text.h"

/* I0219 16:32:42.940815 535035 file.cpp:529] */
static bool is_glog(struct text t)
{
	int64_t ns;

	return t.len > 15 && memchr("IWEF", t.ptr[0], 4) && all_digits(text_sub(t, 1, 4)) && t.ptr[5] == ' ' &&
	       time_of_day(text_from(t, 6), &ns) > 0;
}

/* INFO 03-07 12:29:02 __init__.py:190] … as vLLM's helpers write it */
static bool is_vllm_like(struct text t)
{
	size_t n = level_length(t);
	int64_t ns;

	t = skip_blanks(text_from(t, n));
	return n > 0 && t.len > 15 && is_digit(t.ptr[0]) && t.ptr[2] == '-' && time_of_day(text_from(t, 6), &ns) > 0;
}

/* /path/file.py:12: SomeWarning: …, /usr/include/x.h:19:3: note: … */
static bool is_tool_warning(struct text t)
{
	struct text head = text_sub(t, 0, 512);
	size_t n = text_find_char(head, ':', 0);

	if (n == SIZE_MAX || n + 1 >= head.len || !(is_digit(head.ptr[n + 1]) || head.ptr[0] == '<'))
		return false;
	return holds(head, "Warning:") || holds(head, ": warning: ") || holds(head, ": note: ") ||
	       holds(head, ": error: ");
}

/* [rank9]:[W104 …], [Gloo] Rank …, [1784621081.896649] [host:537 :1] file.c:221 UCX …, host:1:2 [0] NCCL INFO … */
static bool is_runtime(struct text t)
{
	struct text head = text_sub(t, 0, 160);

	if (t.ptr[0] == '[' && (text_starts(t, "[rank") || text_starts(t, "[Gloo]") || holds(head, "  UCX  ") ||
				holds(head, " UCX ") || text_starts(t, "[W") || text_starts(t, "[E")))
		return true;
	return holds(head, " NCCL ") || text_starts(t, "NCCL version");
}

static bool is_chatter(struct text t)
{
	static const char *const installers[] = {
	    "Collecting ",
	    "Requirement already satisfied",
	    "Installing collected packages",
	    "Successfully installed",
	    "Looking in indexes",
	    "Downloading ",
	    "Using cached ",
	    "Building wheel",
	    "Defaulting to user ",
	    "Attempting uninstall",
	    "Preparing metadata",
	    "WARNING: Running pip",
	    "[notice] ",
	    "Obtaining ",
	    "Processing ",
	    "Writing to ",
	    "In file included ",
	    "from /",
	    "nohup: ",
	    "Loading safetensors",
	    "Fetching ",
	    "Capturing batches",
	    "Multi-thread loading",
	    "Loading pt checkpoint",
	};

	if (t.len == 0)
		return true;
	return is_progress(t) || is_glog(t) || is_vllm_like(t) || is_runtime(t) || is_tool_warning(t) ||
	       starts_any(t, installers, ARRAY_SIZE(installers));
}

/* Lines that only ever belong to the record before: indentation, tracebacks, dumped request objects. */
static bool is_continuation(struct text t)
{
	static const char *const heads[] = {
	    "Traceback (most recent call last)",  "During handling of the above",
	    "The above exception was the direct", "Req(rid=",
	    "Stack (most recent call last)",
	};

	return t.len > 0 && (t.ptr[0] == ' ' || t.ptr[0] == '\t' || starts_any(t, heads, ARRAY_SIZE(heads)));
}
