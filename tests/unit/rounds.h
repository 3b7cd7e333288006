/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.h - how often to do a thing: `make check` sets PAGETRAIL_SMALL, `make check-all` does everything */
#ifndef PAGETRAIL_TESTS_ROUNDS_H
#define PAGETRAIL_TESTS_ROUNDS_H

#include <stdlib.h>

static inline unsigned rounds(unsigned full, unsigned small)
{
	const char *given = getenv("PAGETRAIL_SMALL");
	return given && *given ? small : full;
}

#endif
