/* SPDX-License-Identifier: Apache-2.0 */
/* deployed.h - what is handed on of `deploy`: a CSAF VEX document of the builds that run, an in-toto statement of each replica
 *
 * Both are made of the same rows, and of nothing but the case and what is given here: the same bytes each time. Texts of the case
 * are hostile; they stand in JSON strings, with what a terminal or a reader's eye would fall for escaped.
 */
#pragma once

#include "pagetrail/analysis.h"

struct publication {
	int issue;               /* from 1 */
	int64_t at_ns, as_of_ns; /* arguments of deploy(); TIME_UNKNOWN: not given */
	int64_t dated_ns;        /* the time that the documents bear */
	const struct policy *policy;
	const struct inventory *inventory; /* NULL: none */
	/* CSAF only. Texts that are not given have a placeholder that says so, and make the document a draft */
	const char *publisher, *name_space, *contact;
	const char *replicas; /* where the list of replicas is to be found; NULL: nowhere said */
};

struct deployed;

int deployed_load(struct deployed **ret, struct case_file *c, const struct publication *p, struct err *err) MUST_CHECK;
void deployed_free(struct deployed *d); /* accepts NULL */

/* CSAF 2.0, profile VEX. A product is a build: engine, version, commit and image digest; its status is that of its worst replica.
 * statement_sha256: hex, of the statement of the same issue; NULL: there is none. ERR_INPUT: nothing runs that could be spoken of. */
int deployed_csaf(const struct deployed *d, const char *statement_sha256, struct buf *out, struct err *err) MUST_CHECK;

#define STATEMENT_MEDIA_TYPE "application/vnd.in-toto+json"
/* in-toto Statement v1 about the images, and about the files of the case that the verdicts rest on. ERR_INPUT: there are none. */
#define STATEMENT_PREDICATE  "urn:pagetrail:deployment:1"
int deployed_statement(const struct deployed *d, struct buf *out, struct err *err) MUST_CHECK;
