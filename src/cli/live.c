/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - options and case of the verbs that open a connection */
#include "live.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIVE_CONNECT_S = 5, LIVE_S_MAX = 3600 };

static int seconds(const char *name, const char *value, int64_t otherwise_s, int64_t *ret_ms, struct err *err)
{
	int64_t ns = otherwise_s * NS_PER_S;
	if (value && (!text_seconds_ns(text_of(value), &ns) || ns < NS_PER_S / 1000 || ns > LIVE_S_MAX * NS_PER_S))
		return err_set(err, ERR_USAGE, "option %s takes seconds, 0.001 to %d, not '%s'", name, LIVE_S_MAX,
			       value);
	*ret_ms = ns / (NS_PER_S / 1000);
	return 0;
}

int live_args_open(struct live_args *a, int64_t total_s, unsigned parallel, struct err *err)
{
	struct live_options *o = &a->options;
	int rc = seconds("--connect-timeout", a->connect, LIVE_CONNECT_S, &o->connect_ms, err);
	if (!rc)
		rc = seconds("--timeout", a->total, total_s, &o->total_ms, err);
	if (rc)
		return rc;
	if (a->max_bytes > (int64_t)LIVE_BYTES_MAX)
		return err_set(err, ERR_USAGE, "--max-bytes takes 1 to %zu", LIVE_BYTES_MAX);
	if (a->parallel > LIVE_PARALLEL_MAX)
		return err_set(err, ERR_USAGE, "--parallel takes 1 to %d", LIVE_PARALLEL_MAX);
	o->max_bytes = a->max_bytes < 0 ? LIVE_BYTES : (size_t)a->max_bytes;
	o->parallel = a->parallel < 0 ? parallel : (unsigned)a->parallel;
	o->stop = &system_stop;
	o->now = system_now_ns;
	o->cacert = a->cacert;
	if (a->cacert && access(a->cacert, R_OK) != 0) {
		err_set_errno(err, ERR_INPUT, "cannot read the file of certificates");
		return err_where(err, "%s", a->cacert);
	}
	if (!a->headers)
		return 0;
	o->headers = &a->read;
	return live_headers_read(&a->read, a->headers, err);
}

void live_args_close(struct live_args *a)
{
	live_headers_done(&a->read);
}

int live_case(struct case_file **ret, const char *path, struct err *err)
{
	struct stat st;
	return stat(path, &st) == 0 ? case_open(ret, path, CASE_WRITE, err) : init_case(ret, path, NULL, NULL, err);
}

int live_correlate(struct case_file *c, struct err *err)
{
	int rc = resolve_needed(c, err);
	if (rc != 1)
		return rc;
	case_threads(c, system_cpus());
	return correlate_now(c, TEXT(""), err);
}
