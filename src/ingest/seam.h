/* SPDX-License-Identifier: Apache-2.0 */
/* seam.h - a record that a rotation cut: its beginning ends one file, its rest begins the next one
 *
 * A container runtime writes a long record in pieces, each on a line of its own, and changes files between any two of them. What
 * lies across two files is put together once all files of a run were read, and becomes a source of its own, made of the original
 * lines; in the files themselves these lines are duplicate, and nothing is read out of them: neither the first half, nor what
 * the rest says, which is text of a client and may imitate a record.
 *
 * Only what is surely one record is joined. The files have the same folder (of an archive: its folder in there) and the same
 * name but for what the rotation adds, or such that hold the same bytes (a log was collected twice); they are of the same worker and in the same wrapper of lines; the pieces are of the same
 * origin, nothing that is not understood lies between them, and their times are as close as limits.h says. Everything else
 * stays torn, and a gap: where a file is missing between them, a record is longer than SEAM_MAX_BYTES, the runtime's clock was
 * put back in between, its lines have no times, or an archive holds the one file and a folder the other one. Pieces that an inner
 * wrapper cuts, as a collector's files with a runtime's lines in them, are not joined either.
 */
#pragma once

#include "pagetrail/rotation.h"
#include "session.h"

struct unended { /* lines of a record that a source ends in the middle of */
	struct span span;
	int64_t record; /* its number in that source, from 1 */
};

/* What is known of the source's ends, in place of what was known. */
int seam_ends(struct session *s, int64_t source, const struct unended *list, size_t n, struct err *err) MUST_CHECK;
/* After the last file of a run: joins what belongs together, and takes apart what does not any more. The same whatever came first.
 */
int seam_join(struct session *s, struct err *err) MUST_CHECK;

/* --- seam_files.c: which files are those of one log --- */

struct seam_file {
	int64_t source;
	struct text path, worker, alias;
	struct rotation name;
	const struct wrapper *wrap; /* NULL: nothing in it was recognised */
	uint64_t bytes;
	size_t group; /* of the files of one log */
	bool touched; /* one of the group came or changed in this run */
	bool looked;
	int64_t first_ns, last_ns; /* when its first and last line were seen; TIME_UNKNOWN */
};

/* All that may have lines of a record that is cut, group by group; none where no record is cut, or nothing was touched. all:
 * everything counts as touched. *ret is the caller's to free, its texts live in a. */
int seam_files(struct session *s, bool all, struct arena *a, struct seam_file **ret, size_t *ret_n,
	       struct err *err) MUST_CHECK;
/* Which is the older one by its name: -1 a, 1 b, 0 the names do not tell. */
int seam_older(const struct seam_file *a, const struct seam_file *b);
/* Do their names leave out a file between them: of one folder, .3 and .1, or dates without the day between? */
bool seam_left_out(const struct seam_file *a, const struct seam_file *b);

/* --- seam_find.c: what the stored lines say --- */

/* Fills first_ns and last_ns, by this wrapper. */
int seam_look(struct session *s, const struct wrapper *w, struct seam_file *f, struct err *err) MUST_CHECK;
/* The record whose lines these are, the last ones of its origin: 1 it may go on in another file. facts: whose it is. */
int seam_end(struct session *s, const struct seam_file *f, const struct spans *lines, struct buf *facts,
	     int64_t *ret_last_ns, struct err *err) MUST_CHECK;

struct seam_rest { /* how a record that is cut goes on in a file */
	struct spans lines;
	uint64_t bytes;
	int64_t first_ns, last_ns;
	bool ends; /* in this file */
};
/* The first lines of this origin up to the end of their record, when they come close behind after_ns: 1; 0 none; 2 there may be some: a
 * line is not understood, or it is too much. *ret is to be done with. */
int seam_rest(struct session *s, const struct wrapper *w, const struct seam_file *f, struct text facts,
	      int64_t after_ns, struct seam_rest *ret, struct err *err) MUST_CHECK;
void seam_rest_done(struct seam_rest *r);
