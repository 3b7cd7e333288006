/* SPDX-License-Identifier: Apache-2.0 */
/* collected.h - when, and from which replica, somebody collected a document: snapshots, lists of packages, pods
 *
 * In this order: a member beside the answer ("collected_at"), a comment in front of it ("# collected TIME …"); a parser's
 * fallback is a time in the file's name, then the time of the file. No own state; texts are borrowed from the document.
 */
#pragma once

#include "pagetrail/json.h"
#include "pagetrail/stamp.h"

struct collected {
	struct stamp at;
	struct text worker; /* as the collector names it; may be empty */
};

/* A time as people and tools write it: RFC 3339, epoch seconds, milliseconds …; false: it is none, *ret stays. */
bool collected_time(struct json_value v, struct stamp *ret);

/* Reads what the collector says in the object around an answer, or beside its fields. What is not said stays. */
void collected_fields(struct collected *c, struct json_value outer);

/* A time in a file's name (its folders say nothing), of 6 parts down to seconds, or of 3: a day. false: none, *ret stays. */
bool collected_name(const char *path, int parts, struct stamp *ret);

/* Goes over a byte order mark and lines that begin with '#'; the first time in them goes to *ts. Returns what is left. */
struct text collected_header(struct text document, struct stamp *ts);
