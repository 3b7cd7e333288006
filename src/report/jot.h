/* SPDX-License-Identifier: Apache-2.0 */
/* jot.h - private to report: JSON, members and elements, with the commas; the first failure is kept */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

struct jot {
	struct buf *b;
	struct err *err;
	int rc;
};
/* key NULL: an element of a list. */
void jot_open(struct jot *j, const char *key, char bracket);
void jot_close(struct jot *j, char bracket);
void jot_text(struct jot *j, const char *key, struct text t);
void jot_text_or_null(struct jot *j, const char *key, struct text t);                    /* empty: null */
void jot_printf(struct jot *j, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4); /* a text */
void jot_int(struct jot *j, const char *key, int64_t v);
void jot_time(struct jot *j, const char *key, int64_t ns); /* TIME_UNKNOWN: null */
void jot_json(struct jot *j, const char *key, struct text json);

/* An in-toto Statement v1 begins; its subjects are an open list. */
void jot_statement(struct jot *j);
void jot_subject(struct jot *j, struct text name, struct text sha256_hex);
