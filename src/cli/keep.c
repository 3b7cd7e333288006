/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - a file that a verb was given becomes evidence of the case, so that what rests on it can be shown later */
#include "cli.h"

#include <string.h>

#include "pagetrail/ingest.h"

struct kept {
	enum source_status status;
	char reason[200];
	bool any;
};

static int on_source(void *ctx, const struct source_result *r)
{
	struct kept *k = ctx;
	if (!k->any || k->status < r->status)
		k->status = r->status;
	k->any = true;
	snprintf(k->reason, sizeof(k->reason), "%.*s", (int)MIN(r->reason.len, (size_t)180),
		 r->reason.ptr ? r->reason.ptr : "");
	return 0;
}

int keep_file(const char *case_path, const char *path, const char *format, struct err *err)
{
	CLEANUP(case_closep) struct case_file *c = NULL;
	CLEANUP(site_close) struct site_formats site = {0};
	struct kept kept = {0};
	int rc = case_open(&c, case_path, CASE_WRITE, err);
	if (rc == 0)
		rc = site_open(&site, NULL, err);
	if (rc < 0)
		return rc;
	system_catch_stop();
	case_stop_on(c, &system_stop);
	struct ingest_options o = {.parsers = site.list,
				   .n_parsers = site.n,
				   .wrappers = wrappers,
				   .n_wrappers = n_wrappers,
				   .format = format,
				   .jobs = system_cpus(),
				   .now_ns = system_now_ns(),
				   .stop = &system_stop,
				   .on_source = on_source,
				   .ctx = &kept};
	rc = ingest_path(c, &o, path, err);
	if (rc == 0 && (!kept.any || kept.status >= SOURCE_UNRECOGNISED)) {
		rc = err_set(err, ERR_INPUT, "not read: %s", kept.any ? kept.reason : "it is no file");
		err_where(err, "%s", path);
	}
	if (rc == 0)
		rc = resolve_needed(c, err);
	if (rc == 1) {
		case_threads(c, system_cpus());
		rc = correlate_now(c, TEXT(""), err);
	}
	if (rc < 0)
		return rc;
	struct case_file *done = c;
	c = NULL;
	return case_close(done, err);
}
