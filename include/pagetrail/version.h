/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - version strings of Python packages: reading and order (PEP 440, "Version specifiers")
 *
 * A struct version borrows the text that it was read from (its local label alone). No allocation, no state; any thread.
 * Numbers of more than VERSION_DIGITS_MAX digits and more parts than VERSION_PARTS_MAX are not read: what cannot be
 * read decides nothing, and is never taken for a fixed version.
 */
#pragma once

#include "pagetrail/buf.h"

enum { VERSION_PARTS_MAX = 24, VERSION_DIGITS_MAX = 18 };

enum version_pre { VERSION_ALPHA = 1, VERSION_BETA = 2, VERSION_CANDIDATE = 3 }; /* 0: none */

struct version {
	uint64_t epoch;
	uint64_t release[VERSION_PARTS_MAX]; /* without the zeros at its end */
	unsigned n_release, n_written;       /* n_written: with them */
	enum version_pre pre;
	uint64_t pre_number;
	bool has_post, has_dev;
	uint64_t post, dev;
	struct text local; /* behind '+'; empty: none */
};

/* false: t is no version. Blanks at both ends and a leading v are allowed. */
bool version_read(struct text t, struct version *ret);
/* <0, 0, >0. "1.0" and "1.0.0" are equal; a local label counts last. */
int version_cmp(const struct version *a, const struct version *b);
/* The canonical form, e.g. "0.5.22rc1+site.1" for " v0.5.22-RC_1+Site-1". */
int version_put(const struct version *v, struct buf *out, struct err *err) MUST_CHECK;
/* Neither a candidate nor a development build: a release or a post-release, with or without local label. */
bool version_is_final(const struct version *v);
/* No local label, or one that names the accelerator it was built for ("+cu129"): any other one is somebody's own change. */
bool version_is_plain(const struct version *v);
