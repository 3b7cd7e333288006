/* SPDX-License-Identifier: Apache-2.0 */
/* origins.h - the origins in one wrapped source: what each was in the middle of
 *
 * An origin is what a wrapper says of whose a record is: host, unit, pod, container, and stdout or stderr. Pieces are joined
 * per origin. Those that differ in stdout and stderr alone are of one process: they share a place, and a place has a parser
 * with a state of its own. At most ORIGINS_MAX origins and places are held.
 */
#pragma once

#include "formats.h"
#include "stack.h"

struct span {
	uint64_t off, len;
};

/* Bytes of the source that one inner record is accounted with; runs that touch are one. */
struct spans {
	struct span *at;
	size_t n, cap;
};

struct origin_state { /* of one format */
	void *state;
	bool used;
};

/* What parsing needs from record to record: of a place, or of a source without wrappers. */
struct origin_parse {
	size_t main;                /* number of its format, or that of the list's end */
	unsigned looked;            /* records that nothing was found in yet */
	struct origin_state *state; /* by format; NULL: the parsers' own */
	size_t sticky;              /* format that took the record before this one, or the list's end */
	bool sticky_now;            /* some format took a part of this record */
	struct stamp known;         /* last stamp of an event, as its parser gave it */
	enum verdict last;          /* of the record before; 0 at the start */
};

enum { ORIGIN_FACTS = 5 };

struct origin {         /* or a place: its depth is one more than that of the last wrapper's origins */
	uint64_t key;   /* of depth and all facts */
	uint64_t place; /* without stdout or stderr */
	uint64_t role;  /* of container or unit alone; 0: neither is known */
	unsigned depth;
	struct text fact[ORIGIN_FACTS]; /* host, unit, pod, container, stream */
	struct buf names;               /* they live here */
	struct text worker;             /* "": the source's */
	uint64_t turn;                  /* when it was used last */
	unsigned busy;                  /* a record of it is being taken apart */

	/* pieces of a record that has not ended */
	bool pending, too_long;
	struct buf join;
	struct spans spans;
	struct stamp ts;
	uint64_t ref_off, ref_end;

	struct origin_parse parse;
};

struct origins {
	struct origin **at;   /* in the order in which they came, but for those that took another's place */
	struct origin **slot; /* by key */
	size_t n;
	uint64_t turn;
	struct origin *last[WRAP_DEPTH_MAX + 1]; /* found last, by depth */
	size_t joined;                           /* bytes that wait */
};

int spans_add(struct spans *s, uint64_t off, uint64_t len, struct err *err) MUST_CHECK;

int origins_open(struct origins **ret, struct err *err) MUST_CHECK;
void origins_close(struct origins *s, struct formats *f); /* accepts NULL */
/* The origin that a piece at this depth is of; parent: that of the outer record, or NULL. *ret_old: one that has to go first;
 * the caller finishes it, calls origins_forget(), and asks again. */
int origins_get(struct origins *s, unsigned depth, const struct origin *parent, const struct wrapped *piece,
		struct origin **ret, struct origin **ret_old, struct err *err) MUST_CHECK;
/* The place of an origin of the last wrapper. As above. */
int origins_place(struct origins *s, const struct origin *of, struct origin **ret, struct origin **ret_old,
		  struct err *err) MUST_CHECK;
void origins_forget(struct origins *s, struct origin *old, struct formats *f);
