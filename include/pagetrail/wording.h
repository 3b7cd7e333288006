/* SPDX-License-Identifier: Apache-2.0 */
/* wording.h - what a disclosure may not say
 *
 * Rules over the text of a report, whoever wrote it: claims that logs cannot bear, shares without their population, vague
 * counts, times without a zone. A rule looks at one sentence at a time; it knows words, not their meaning, so a
 * violation may be waived with a reason by whoever signs. Threads: none are shared.
 */
#pragma once

#include "pagetrail/text.h"

struct wording_fault {
	int64_t line;      /* from 1, of the file; of a page, where the block begins */
	const char *rule;  /* stable name */
	struct text words; /* what broke it; valid during the call */
	const char *advice;
};
typedef int wording_fn(void *ctx, const struct wording_fault *f); /* not 0: stop, and return that */

struct wording_rule_info {
	const char *name, *says;
};
extern const struct wording_rule_info wording_rules[];
extern const size_t n_wording_rules;

enum wording_shape { WORDING_TEXT /* plain, Markdown, CSV */, WORDING_XML, WORDING_HTML };
/* By how it begins. */
enum wording_shape wording_shape_of(struct text t);
/* ERR_INPUT when a document cannot be read, is empty, or is no UTF-8: what was not judged is never clean. */
int wording_check(struct text t, enum wording_shape shape, wording_fn *on_fault, void *ctx, struct err *err) MUST_CHECK;
