/* SPDX-License-Identifier: Apache-2.0 */
/* salvage.h - a new case out of what is still good of a damaged one
 *
 * What is as it was written goes over as it is. Of the rest the evidence counts: its good chunks go over, and the caller
 * makes the events again from them (ingest_again()). Bytes that are gone have a row in `reject` with the reason
 * EVIDENCE_LOST, and their source the status 'failed': no answer may take them for bytes that said nothing.
 */
#pragma once

#include "pagetrail/case.h"

#define EVIDENCE_LOST "torn: lost with a damaged case"

struct salvaged { /* one source */
	int64_t source;
	bool again;           /* its events have to be made from its evidence, and its journal row written */
	uint64_t bytes, lost; /* of its content; lost: of them */
	int64_t records;      /* as the journal says; -1: unknown */
	const char *why;      /* it was not taken as it is; "" it was */
};

struct salvage_sink {
	int (*source)(void *ctx, const struct salvaged *s, struct err *err);
	/* What else is not as it was: the journal, rows that could not be read. */
	int (*note)(void *ctx, struct text where, struct text what);
	void *ctx;
};

/* Opens a damaged case for reading, also one whose first page is broken: then from a copy at `work`, with a first page of
 * ours, which the caller removes. ERR_DAMAGED: nothing in this file looks like a case. */
int salvage_open(struct case_file **ret, const char *path, const char *work, struct err *err) MUST_CHECK;
/* An empty case to be filled, beside the file `new`; it gets that name with salvage_publish(), which closes it in any case.
 * Who fails removes NEW SALVAGING. What a killed run left there is replaced; nobody can open that as a case. */
#define SALVAGING "-salvaging"
int salvage_create(struct case_file **ret, const char *new, struct err *err) MUST_CHECK;
int salvage_publish(struct case_file *c, const char *new, struct err *err) MUST_CHECK;
/* Removes the file of a case, and what SQLite may have left beside it. */
void salvage_remove(const char *path);
/* Fills an empty case, in transactions of its own. */
int case_salvage(struct case_file *from, struct case_file *to, int64_t now_ns, const struct salvage_sink *sink,
		 struct err *err) MUST_CHECK;
/* Journal row of a source of which everything is written. */
int salvage_seal(struct case_file *to, int64_t source, int64_t now_ns, struct err *err) MUST_CHECK;
/* Are bytes [from, to) of a source known to be lost? 1: they are. */
int evidence_lost(struct case_file *c, int64_t source, uint64_t from, uint64_t to, struct err *err) MUST_CHECK;
