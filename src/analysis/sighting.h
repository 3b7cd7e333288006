/* SPDX-License-Identifier: Apache-2.0 */
/* sighting.h - where planted markers were seen; private to src/analysis */
#pragma once

#include "pagetrail/case.h"
#include "pagetrail/text.h"

/* Fills the table sighting (and adds a gap where there were more places than it keeps) from the evidence, when the case holds a
 * file of markers. The tables of requests must be there. */
int sighting_write(struct case_file *c, struct err *err) MUST_CHECK;

/* Whose words stand at a place of a record: the caller's or the model's. */
enum part { PART_UNKNOWN, PART_ASKED, PART_ANSWERED };
extern const char *const part_names[];
/* By the keys that lead to it in JSON, also in JSON inside of strings, else by the names that engines print before it. */
enum part part_at(struct text record, size_t at);
