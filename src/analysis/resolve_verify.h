/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_verify.h - private to resolve.c and resolve_verify.c */
#pragma once

#include "pagetrail/analysis.h"
#include "pagetrail/feed.h"

/* resolve_case() into the empty temporary tables of derived_shadow(). feed: may be NULL. */
int resolve_again(struct case_file *c, struct event_feed *feed, struct err *err) MUST_CHECK;
