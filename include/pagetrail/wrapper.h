/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.h - the whole contract of a wrapper: what a container runtime or a collector puts round the records of others
 *
 * A wrapper is one file parsers/wrap_NAME.c that exports exactly one symbol, `const struct wrapper wrapper_NAME`, and a
 * folder tests/parsers/wrap_NAME/ with samples (CASE.log) and what they must give (CASE.expect). Nothing else changes.
 *
 * It takes one outer record (a line without its line end, or what frame() cut) and gives the inner ones by unwrap_give(),
 * in their order, each with what the outer record says of it. A wrapper keeps nothing from record to record: pieces are
 * joined, and each origin has a parser with a state of its own, in the framework. Verdicts are those of parser.h:
 *   PARSED     one piece or more was given; what becomes of them is their parser's to say
 *   CONTEXT    a line of the wrapper itself, nothing is in it
 *   UNPARSED   not its shape, or its content is not there; unwrap_refuse()
 * Only what the wrapper's own framing delimits is a record: a line end inside the inner text is none.
 * Threads: no static mutable data; one struct unwrap belongs to one source, one depth and one thread.
 */
#pragma once

#include "pagetrail/parser.h"

/* The year of stamps that have none, because it has every day; the framework knows better. */
enum { WRAP_LEAP_YEAR = 2000 };

/* One inner record, or a piece of one. Texts are borrowed for the call of unwrap_give(). */
struct wrapped {
	struct text text; /* BUF_PADDING readable bytes behind it, like those of the outer record */
	struct stamp ts;  /* when the wrapper saw it; STAMP_NONE: it does not say; STAMP_YEARLESS: in WRAP_LEAP_YEAR */
	/* whose it is; "" unknown. Pieces with other words here are not each other's neighbours. */
	struct text host, unit, pod, container;
	struct text stream; /* stdout, stderr */
	bool more;          /* it goes on in the next piece of the same origin */
	bool cut;           /* what wrote it may have cut it at its end: what stands there is not to be relied on */
	/* Its place in the outer record, which references name; len 0: all of it. Places do not overlap, in whatever order
	 * they come; what is between them is accounted as context. */
	uint32_t off, len;
};

struct unwrap;

struct wrapper {
	const char *name;    /* MUST: as the user types it */
	const char *summary; /* MUST: one line for `formats list` */
	const char *checked; /* MUST: versions whose source or documents were read */
	enum shape shape;
	bool many;   /* one source can hold the logs of several processes that have nothing to do with each other */
	bool closed; /* a record shows where it ends: the last one is whole without a line end, too */
	size_t state_bytes; /* zeroed memory at u->state, for what is learned: nothing may depend on it but time */
	/* MUST. Is this outer record of my shape? A document is seen by its first bytes alone. STRONG: nobody else
	 * writes this. */
	enum bid (*bid)(struct unwrap *u, struct text record);
	/* MUST. One outer record -> pieces, verdict; ERR_* for memory and bugs only. */
	int (*record)(struct unwrap *u, struct text record);
	/* MAY. For outer records that are no lines: length of the first one in t with all that ends it, 0 when t does not
	 * hold it whole, SIZE_MAX when it does not begin one (a line is taken). last: nothing comes behind t. */
	size_t (*frame)(struct text t, bool last);
};

struct unwrap {
	const struct wrapper *wrapper;
	void *state;
	struct arena scratch; /* reset before every outer record */
	struct err *err;
	const char *reason; /* why a record is UNPARSED */
	/* set by the framework */
	int (*give)(void *ctx, const struct wrapped *piece);
	void *give_ctx;
};

/* --- for wrappers (base/unwrap.c) --- */
int unwrap_give(struct unwrap *u, const struct wrapped *piece) MUST_CHECK; /* 0 or ERR_* */
int unwrap_refuse(struct unwrap *u, const char *reason);                   /* returns RECORD_UNPARSED */

/* --- for the framework --- */
int unwrap_open(struct unwrap *u, const struct wrapper *w, struct err *err) MUST_CHECK;
void unwrap_close(struct unwrap *u); /* accepts a zeroed one */

extern const struct wrapper *const wrappers[]; /* generated from parsers/; only cli and tests see it */
extern const size_t n_wrappers;

const struct wrapper *wrapper_find(const struct wrapper *const *list, size_t n, struct text name);
