/* SPDX-License-Identifier: Apache-2.0 */
/* publish.h - private to cli: what `deploy` and `manifest` hand on to others, as files */
#pragma once

#include "cli.h"
#include "pagetrail/deployed.h"
#include "pagetrail/dsse.h"

struct publish {
	const char *csaf, *statement, *key; /* files; NULL: not asked for */
	const char *publisher, *name_space, *contact, *replicas;
	int64_t issue; /* 0: not given */
	/* what is read: never written over */
	const char *case_path, *inventory, *policy;
	struct dsse_key *signer;
};
#define PUBLISH_OPTIONS(p)                                                                               \
	{"--csaf", OPTION_TEXT, &(p).csaf}, {"--statement", OPTION_TEXT, &(p).statement},                \
	    {"--key", OPTION_TEXT, &(p).key}, {"--issue", OPTION_COUNT, &(p).issue},                     \
	    {"--publisher", OPTION_TEXT, &(p).publisher}, {"--namespace", OPTION_TEXT, &(p).name_space}, \
	    {"--contact", OPTION_TEXT, &(p).contact},                                                    \
	{                                                                                                \
		"--replicas", OPTION_TEXT, &(p).replicas                                                 \
	}

/* Before anything is read: are the options of sense, and is the key one that signs? */
int publish_check(struct publish *p, struct err *err) MUST_CHECK;
/* With the case open, before rows are given out: may the files be written where they are to go? */
int publish_allowed(const struct publish *p, struct case_file *c, struct err *err) MUST_CHECK;
/* Makes both documents, then writes them; r is told of each. */
int publish_write(const struct publish *p, struct case_file *c, const struct ask *a, int64_t at_ns, struct rows *r,
		  struct err *err) MUST_CHECK;
void publish_done(struct publish *p); /* accepts a zeroed one */

/* --- the steps of it --- */
struct publish_name {
	const char *option, *file; /* file NULL: not given */
	bool input;                /* read, not written */
};
/* No two of them are one file, and none that is written is standard output. */
int publish_check_files(const struct publish_name *list, size_t n, struct err *err) MUST_CHECK;
int publish_places(struct case_file *c, const struct publish_name *list, size_t n, struct err *err) MUST_CHECK;
/* A key that signs; *ret is set also where it does not, and stays NULL when file is. */
int publish_key(struct dsse_key **ret, const char *file, struct err *err) MUST_CHECK;
int publish_sign(const struct dsse_key *k, const struct buf *payload, struct buf *out, struct err *err) MUST_CHECK;
/* Writes bytes to file, tells r, and appends to said, which begins with '[', what it wrote; k: what signed it, or NULL. */
int publish_file(struct case_file *c, const char *kind, const char *file, const struct buf *bytes,
		 const struct dsse_key *k, struct buf *said, struct rows *r, struct err *err) MUST_CHECK;
