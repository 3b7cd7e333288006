/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - private to report: files that appear whole and together, or not at all
 *
 * Each is written and synced beside its place; output_commit() renames them all. What is not committed is taken away again, with the
 * folders that were made. A file that the case was made of is refused (pagetrail/place.h).
 */
#pragma once

#include "pagetrail/case.h"
#include "pagetrail/text.h"

struct output;
int output_open(struct output **ret, struct case_file *c, const char *dir, struct err *err) MUST_CHECK;
/* folder: below dir, made when it is missing; "" for dir itself. */
int output_add(struct output *o, const char *folder, const char *name, struct text bytes, struct err *err) MUST_CHECK;
/* The file that was added last, as it was written; appended to b. */
int output_read_back(const struct output *o, struct buf *b, struct err *err) MUST_CHECK;
int output_commit(struct output *o, struct err *err) MUST_CHECK;
/* In the order in which they were added; NULL: no more. */
const char *output_path(const struct output *o, size_t at);
const char *output_sha256(const struct output *o, size_t at); /* hex, of the bytes that were given */
size_t output_count(const struct output *o);
void output_close(struct output *o); /* accepts NULL */
