/* SPDX-License-Identifier: Apache-2.0 */
/* begun.h - the paths of a run, which the case knows until it has read them to the end (pagetrail/begun.h) */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pagetrail/case.h"

struct begun_path {
	char *key, *as_written; /* absolute: where links lead, and without following them */
	int64_t files, started; /* files: -1 until they were counted */
};

struct begun {
	struct case_file *c;
	struct begun_path *paths;
	size_t n, at; /* at: the path at hand; those before it are read */
	int64_t now_ns;
};

/* Did a run before this one not end? */
int begun_any(struct case_file *c, bool *ret, struct err *err) MUST_CHECK;
/* Writes all paths, in a transaction of its own. */
int begun_open(struct begun *b, struct case_file *c, const char *const *paths, size_t n, int64_t now_ns,
	       struct err *err) MUST_CHECK;
/* In a transaction of the caller: how far it came, and what was read to the end. */
int begun_save(struct begun *b, struct err *err) MUST_CHECK;
int begun_ended(struct begun *b, struct err *err) MUST_CHECK; /* the paths before `at` */
void begun_close(struct begun *b);                            /* accepts a zeroed one */
