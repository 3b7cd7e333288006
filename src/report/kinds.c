/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - the kinds of reports */
#include "facts.h"

const struct kind *const report_kinds[] = {&kind_scope,  &kind_exposed,   &kind_recipient, &kind_none,
					   &kind_public, &kind_worksheet, &kind_deploy,    &kind_delta};
const size_t n_report_kinds = ARRAY_SIZE(report_kinds);
