/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - plans of markers, and of probes with lengths around a limit */
#pragma once

#include "cli.h"

struct plan_args {
	int64_t markers, seed, over_limit, limit, context; /* -1: not given */
};
/* What `canary --plan` prints. Without a seed it takes one at random, and says which. */
int plan_print(const struct plan_args *a, struct err *err) MUST_CHECK;
/* n letters and digits that nobody has had before. */
int plan_random_name(char *out, size_t n, struct err *err) MUST_CHECK;
