/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - what the two verbs share that open a connection: options, and the case that they write to */
#pragma once

#include "cli.h"
#include "pagetrail/live.h"

struct live_args {
	const char *cacert, *headers, *connect, *total; /* files, and seconds */
	int64_t max_bytes, parallel;
	struct live_headers read;
	struct live_options options;
};
#define LIVE_ARGS_INIT ((struct live_args){.max_bytes = -1, .parallel = -1})
#define LIVE_OPTIONS(a)                                                                               \
	{"--cacert", OPTION_TEXT, &(a).cacert}, {"--header-file", OPTION_TEXT, &(a).headers},         \
	    {"--connect-timeout", OPTION_TEXT, &(a).connect}, {"--timeout", OPTION_TEXT, &(a).total}, \
	    {"--max-bytes", OPTION_COUNT, &(a).max_bytes},                                            \
	{                                                                                             \
		"--parallel", OPTION_COUNT, &(a).parallel                                             \
	}
/* Checks them and reads the file of headers. total_s: seconds where nobody says otherwise; parallel likewise. */
int live_args_open(struct live_args *a, int64_t total_s, unsigned parallel, struct err *err) MUST_CHECK;
void live_args_close(struct live_args *a);

/* Opens the case for writing, or makes it. */
int live_case(struct case_file **ret, const char *path, struct err *err) MUST_CHECK;
/* Correlates what is new, where there is anything. */
int live_correlate(struct case_file *c, struct err *err) MUST_CHECK;
