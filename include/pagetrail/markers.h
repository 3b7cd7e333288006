/* SPDX-License-Identifier: Apache-2.0 */
/* markers.h - the file of planted markers: {"markers":[{"marker":"…","planted_request":"…","planted_tenant":"…",
 * "planted_at":"2026-09-09T14:00:00Z"}]}
 *
 * A marker is a text that was put into one request, so that it can be known again where it must not be. Only "marker" is
 * required. Limits: MARKERS_MAX of them, each MARKER_MIN_BYTES to MARKER_MAX_BYTES long, none twice, and no
 * member twice.
 */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/json.h"

struct marker {
	struct text text, planted_request, planted_tenant; /* ptr NULL: not said */
	int64_t planted_ns;                                /* TIME_UNKNOWN: not said */
};
struct markers {
	struct marker *list; /* as in the file; lives as long as the arena */
	size_t n;
};

/* Texts are copied into the arena. ERR_INPUT: err says where in the document and what was expected. warn (may be NULL) is
 * called for each key that is not known. */
int markers_read(struct markers *ret, struct json_value doc, struct arena *a, void (*warn)(void *ctx, struct text what),
		 void *ctx, struct err *err) MUST_CHECK;
