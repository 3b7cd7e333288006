/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - which replicas there are, as somebody else than their logs says (docs/deploy.md)
 *
 * CSV with a header, or what kubectl prints: `kubectl get pods -o json`, `kubectl get nodes -o json`. Immutable once read.
 */
#pragma once

#include "pagetrail/text.h"

struct inventory;

enum inventory_state { STATE_UNSAID, STATE_ACTIVE, STATE_DRAINING, STATE_RETIRED };

struct inventory_row { /* texts may be empty, times TIME_UNKNOWN */
	struct text replica, role, model, node, image, image_digest;
	enum inventory_state state;
	int64_t started_ns, retired_ns;
	struct text extra; /* columns that are not ours, as a JSON object; empty: none */
	unsigned row;      /* line of the CSV; place in items[] of JSON */
};

/* ERR_INPUT names row and column. warn (may be NULL) is told what was not read. */
int inventory_load(struct inventory **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
		   struct err *err) MUST_CHECK;
int inventory_read(struct inventory **ret, struct text content, void (*warn)(void *ctx, struct text what), void *ctx,
		   struct err *err) MUST_CHECK;
void inventory_free(struct inventory *inv); /* accepts NULL */
size_t inventory_count(const struct inventory *inv);
const struct inventory_row *inventory_at(const struct inventory *inv, size_t i);
struct text inventory_path(const struct inventory *inv);   /* as given; empty: it was no file */
const char *inventory_sha256(const struct inventory *inv); /* of its bytes, hex */
/* When it was taken, as it says itself or its name does, with a zone; TIME_UNKNOWN: nobody says. */
int64_t inventory_taken_ns(const struct inventory *inv);
