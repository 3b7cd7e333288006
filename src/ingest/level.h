/* SPDX-License-Identifier: Apache-2.0 */
/* level.h - one container: its members one after another, each as a stream
 *
 * What a container is, is decided here by its first bytes, not by libarchive, which takes zeros for an empty tar and
 * text for odd formats. Gzip around it belongs to the same level.
 */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "pagetrail/text.h"
#include "stream.h"

enum level_kind { LEVEL_PLAIN, LEVEL_PACKED, LEVEL_TAR, LEVEL_ZIP };

struct level {
	struct stream s; /* the member at hand, as a stream for the level above */
	struct damage damage;
	struct stream *in;
	struct archive *a; /* NULL: plain */
	enum level_kind kind;
	const char *packed; /* LEVEL_PACKED: by what */
	char *name;
	char container[96]; /* of this level and those below, from the inside out */
	unsigned depth;     /* containers undone up to here, this level included */
	bool begun, over;   /* over: nothing more comes */
	bool told;          /* its damage was given with a member */
	bool skipped;       /* headers that mean nothing were passed over */
	unsigned entries, members;

	/* the member at hand */
	bool empty, ended;
	uint64_t pos;     /* bytes given so far */
	const char *part; /* rest of a data block that was not given yet */
	size_t n_part;
	uint64_t hole; /* zeros to give before it */

	/* what libarchive was given */
	const char *block;
	size_t n_block;
	uint64_t given, nonzero; /* bytes; and up to the last one that is no padding */
	char *tail;              /* the last bytes of a zip, which say what it holds */
	size_t n_tail;

	struct err *err; /* of the call at hand, for the callback */
	int rc;
};

/* Opens what `in` holds; takes it (closes it). below: the level whose member it is, or NULL for the stored file.
 * as_it_is: whatever it is. *ret is set also on errors. */
int level_open(struct level **ret, struct stream *in, const char *name, const struct level *below, bool as_it_is,
	       struct err *err) MUST_CHECK;
void level_close(struct level *lv); /* accepts NULL */
/* 1 a member: *ret its entry, NULL unless an archive. 0 no more: damage says whether that is the end. */
int level_next(struct level *lv, struct archive_entry **ret, struct err *err) MUST_CHECK;
static inline bool level_is_archive(const struct level *lv)
{
	return lv->kind == LEVEL_TAR || lv->kind == LEVEL_ZIP;
}
