/* SPDX-License-Identifier: Apache-2.0 */
/* engine_check.h - the requests by which an SGLang engine looks whether it is well
 *
 * Each is named HEALTH_CHECK_ and the second it was sent in, has one token, and room 0 or none (http_server.py,
 * health_generate). Clients may choose names, too: what has such a name and is longer, or has a room, is a client's request,
 * and so is what has another name that begins so.
 */
#pragma once

#include "pagetrail/text.h"

#define ENGINE_CHECK "HEALTH_CHECK_"

/* input: tokens; -1: the record does not say. */
static inline bool is_engine_check(struct text rid, struct text room, int64_t input)
{
	int64_t ns;

	return input <= 1 && (!room.len || text_is(room, "0")) && text_starts(rid, ENGINE_CHECK) &&
	       text_seconds_ns(text_from(rid, sizeof(ENGINE_CHECK) - 1), &ns);
}
