/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - may a file be written at a path? All outputs of all verbs ask here, before the first byte of any is written */
#pragma once

#include "pagetrail/case.h"

/* What is never written over: a file that the case was made of (the same file, one of the same bytes, or its place where it is gone), a
 * database, and what is neither a file, a pipe nor a character device. kind: svg, dot, sums, dfxml, csaf, statement: only an
 * earlier output of that kind is replaced; "": any other file. ERR_USAGE; ERR_IO where nothing can be written. */
int place_check(struct case_file *c, const char *file, const char *kind, struct err *err) MUST_CHECK;
