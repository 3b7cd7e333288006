/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - what a case is made of, for others: check sums, a DFXML document, an in-toto statement
 *
 * All are made of the rows of the query `manifest` and of the case, and of nothing else: the same bytes each time. Names are hostile.
 * Where they are for a reader they are visible and inert; in check sums they are the bytes of the file's name, as coreutils has them.
 */
#pragma once

#include "pagetrail/analysis.h"

struct manifest;

/* sql: the query's text. dated_ns: the time that the documents bear. Decodes all evidence, for the content digest. */
int manifest_load(struct manifest **ret, struct case_file *c, const char *sql, int64_t dated_ns,
		  struct err *err) MUST_CHECK;
void manifest_free(struct manifest *m); /* accepts NULL */

/* Each appends to out. Totals: a JSON object; and a sentence. */
int manifest_totals(const struct manifest *m, struct buf *out, struct err *err) MUST_CHECK;
int manifest_say(const struct manifest *m, struct buf *out, struct err *err) MUST_CHECK;
/* For `sha256sum -c`, where ingest was run: a line for each file that a digest is known of, else a comment that says why not. */
int manifest_sums(const struct manifest *m, struct buf *out, struct err *err) MUST_CHECK;
/* DFXML 2.0.0-beta.0 (github.com/dfxml-working-group/dfxml_schema, commit a80a8619): a fileobject for each file as given. */
int manifest_dfxml(const struct manifest *m, struct buf *out, struct err *err) MUST_CHECK;
/* in-toto Statement v1 about the files. ERR_INPUT: no digest of any file is known. */
#define MANIFEST_PREDICATE "urn:pagetrail:manifest:1"
int manifest_statement(const struct manifest *m, struct buf *out, struct err *err) MUST_CHECK;
