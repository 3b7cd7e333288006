/* SPDX-License-Identifier: Apache-2.0 */
/* sighting.h - where planted markers were seen; private to src/analysis */
#pragma once

#include "pagetrail/case.h"
#include "pagetrail/text.h"

/* Fills the tables planted and sighting from the evidence, when the case holds a file of markers, and adds a gap for each kind of
 * trouble with them. The tables of requests and clocks must be there. */
int sighting_write(struct case_file *c, struct err *err) MUST_CHECK;

/* Whose words stand at a place of a record: the caller's or the model's. */
enum part { PART_UNKNOWN, PART_ASKED, PART_ANSWERED };
extern const char *const part_names[];
/* By the keys that lead to it in JSON, also in JSON inside of strings, else by the names that engines print before it. */
enum part part_at(struct text record, size_t at);

/* How much of a prompt's text does a record hold? A later value says more. */
enum prompt { PROMPT_UNSEEN, PROMPT_CUT, PROMPT_SEEN };
enum prompt prompt_in(struct text record);
