/* SPDX-License-Identifier: Apache-2.0 */
/* request_id.h - the same id of a request as engines, gateways and callers write it. Texts are borrowed. Threads: any. */
#pragma once

#include "pagetrail/text.h"

/* What the kind of call puts before an id: chat completion, completion, response (OpenAI's API, and those that speak it). */
enum { ID_PREFIXES = 3 };
extern const char *const id_prefixes[ID_PREFIXES];

/* The id without its prefix, and without the number of a prompt. */
struct text id_stem(struct text id);
/* One prompt of several that came in one call. */
bool id_is_child(struct text rid);
