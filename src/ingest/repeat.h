/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.h - sources whose bytes are the beginning of another one
 *
 * Of two sources one of which begins with all the bytes of the other, the longer one has the events. The shorter one
 * goes when its file is no more (it has grown into the longer one); while it is still there, it is kept, and all its
 * records are duplicate. This is looked at whenever a source ends, so that it depends on the files alone, not on their
 * order.
 */
#pragma once

#include "session.h"

/* With the number of the other source: the reason of a source whose records are all duplicate. */
#define REPEATS "repeats source "

struct repeat {
	int64_t whole;  /* the source that this one is a beginning of; 0: none */
	bool same_file; /* at the same path: there is nothing to keep */
	char reason[400];
};
/* Looks at all that ended before r, and takes out or marks what r is the whole of. r is not yet finished in the table.
 * st: its stored file. */
int repeat_look(struct session *s, const struct source_result *r, const struct stored *st, struct repeat *ret,
		struct err *err) MUST_CHECK;
/* Sources that repeat this one, which is about to be taken out, get their events back. */
int repeat_release(struct session *s, int64_t whole, struct err *err) MUST_CHECK;
/* The source has another name or worker: it, and those that repeat it, are looked at again, and go to the journal. */
int repeat_again(struct session *s, int64_t source, struct err *err) MUST_CHECK;
/* The source that such a reason names; 0 none. */
int64_t repeat_whole(struct text reason);
/* Sources that were being read when a run was stopped, and whose files hold other bytes now. */
int repeat_give_up(struct session *s, struct err *err) MUST_CHECK;
