/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h - opened parsers, kept from source to source: compiling their patterns costs more than a small file
 *
 * Belongs to one thread. Errors inside parsers land in the struct err that formats_bind() named last.
 */
#pragma once

#include "pagetrail/limits.h"
#include "pagetrail/wrapper.h"

struct formats {
	const struct parser *const *list;
	size_t n;
	size_t n_bid;                          /* those behind it never bid: they are asked for by name */
	struct parse **open;                   /* NULL until asked for */
	bool *used;                            /* since formats_renew() */
	const struct wrapper *const *wrappers; /* set by formats_wrap() */
	size_t n_wrappers;
	struct unwrap
	    *unwraps; /* WRAP_DEPTH_MAX of each wrapper: what is inside may be wrapped by the same one again */
	struct err *err;
};

int formats_open(struct formats *f, const struct parser *const *list, size_t n, struct err *err) MUST_CHECK;
void formats_close(struct formats *f); /* accepts a zeroed one */
void formats_bind(struct formats *f, struct err *err);
/* Wrappers that it knows besides; none without. */
int formats_wrap(struct formats *f, const struct wrapper *const *wraps, size_t n, struct err *err) MUST_CHECK;
int formats_unwrap(struct formats *f, const struct wrapper *w, unsigned depth, struct unwrap **ret) MUST_CHECK;
/* Number of a parser in the list, or n. */
size_t formats_index(const struct formats *f, const struct parser *parser);
/* For bids only: leaves no trace. */
int formats_get(struct formats *f, size_t i, struct parse **ret) MUST_CHECK;
enum bid formats_bid(struct formats *f, struct parse *p, struct text record, bool padded);
/* For parsing; its state is as new at the first call after formats_renew(). */
int formats_use(struct formats *f, size_t i, struct parse **ret) MUST_CHECK;
int formats_renew(struct formats *f) MUST_CHECK;
