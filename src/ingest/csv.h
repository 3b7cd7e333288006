/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - the sources file: which worker, role, zone and format a path has, as the user says */
#pragma once

#include "pagetrail/ingest.h"

struct sources_line {
	const char *glob; /* NUL-terminated; the others may be empty */
	struct text worker, role, tz, format;
};

struct sources_file {
	struct arena arena;
	struct sources_line *lines;
	size_t n;
};

/* ERR_INPUT names line and column. o: the formats, and who gets what does no harm. */
int sources_read(struct sources_file *f, const char *path, const struct ingest_options *o, struct err *err) MUST_CHECK;
void sources_done(struct sources_file *f); /* accepts a zeroed one */
/* First line whose glob matches the path, or any of its ends ("prefill-0/?.log" matches "/x/prefill-0/a.log"); NULL:
 * none. */
const struct sources_line *sources_match(const struct sources_file *f, const char *path);
