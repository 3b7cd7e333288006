/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_work.h - an inventory in memory; private to inventory*.c */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/digest.h"
#include "pagetrail/inventory.h"
#include "pagetrail/stamp.h"

struct inventory {
	struct arena arena;
	struct inventory_row *rows;
	size_t n, cap;
	struct text path;
	int64_t taken_ns;
	char sha256[SHA256_HEX]; /* of its bytes */
};

struct inventory_reader {
	struct inventory *inv;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
};

/* Adds a row; its texts are copied. */
int inventory_add(struct inventory_reader *r, const struct inventory_row *row, struct err *err) MUST_CHECK;
/* The first that says it counts; without a zone it may be hours off, and says nothing. */
void inventory_taken(struct inventory *inv, struct stamp at);
void inventory_warn(struct inventory_reader *r, const char *fmt, struct text t);
/* inventory_kube.c */
int inventory_read_json(struct inventory_reader *r, struct text content, struct err *err) MUST_CHECK;
