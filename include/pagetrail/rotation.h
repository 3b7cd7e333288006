/* SPDX-License-Identifier: Apache-2.0 */
/* rotation.h - the files of one log, by their names: x.log.2.gz, x.log.1 and x.log; 0.log.20261201-101500 and 0.log */
#pragma once

#include "pagetrail/text.h"

struct rotation {
	struct text stem, tail; /* before the number or date, and what stands behind a date */
	int64_t index;          /* of numbers, and of the file that is written now: 0; of dates: days */
	bool dated, numbered;
};

/* The texts are parts of path. */
struct rotation rotation_of(struct text path);
