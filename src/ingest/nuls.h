/* SPDX-License-Identifier: Apache-2.0 */
/* nuls.h - what stands behind the NULs that a source begins with */
#pragma once

#include "source.h"

/* Reads the member at hand of s once more, in a pass of its own. 1: *ret is its beginning from the first byte that is
 * not NUL, in *ret_owner (free it); 0 there is none, or the file cannot be read twice. */
int nuls_skip(const struct source *s, char **ret_owner, struct text *ret, struct err *err) MUST_CHECK;
