/* SPDX-License-Identifier: Apache-2.0 */
/* rehearsal.h - a discrete-event model of a disaggregated fleet that writes the logs of an incident, and the truth
 *
 * Everything that the logs say comes out of the model (arrivals, queues, transfers, paged allocators); so do the victims.
 * Same scenario, seed and size: same bytes.
 */
#pragma once

#include "pagetrail/text.h"

struct rehearsal_options {
	const char *scenario; /* incident, messy, canary, late_write, prefix_share, clean, deploy */
	uint64_t seed;
	const char *dir;  /* made when missing; must be empty or absent */
	int64_t requests; /* 0: the scenario's own number */
	/* Order of the workers' free lists: NULL or "sorted", as SGLang's in disaggregated mode; "shuffled", as nobody's: for
	 * what must not depend on the order, and for a model of it that must be seen to fail. */
	const char *allocator;
};
struct rehearsal_scenario {
	const char *name, *summary;
};
extern const struct rehearsal_scenario rehearsal_scenarios[];
extern const size_t n_rehearsal_scenarios;
int rehearsal_write(const struct rehearsal_options *o, struct err *err) MUST_CHECK;
