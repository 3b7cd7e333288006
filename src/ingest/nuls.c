/* SPDX-License-Identifier: Apache-2.0 */
/* nuls.c - what stands behind the NULs that a source begins with */
#include "nuls.h"

#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "pagetrail/limits.h"

/* Goes to the member that is at hand in s: 1 there it is. */
static int go_to(const struct source *s, struct source **ret, struct err *err)
{
	struct err cannot = {0};
	const struct member *m = NULL;
	int rc = source_open(ret, source_path(s), &cannot);
	if (rc < 0)
		return rc == ERR_NOMEM ? err_nomem(err) : 0;
	while ((rc = source_next(*ret, &m, err)) == 1 && source_count(*ret) < source_count(s))
		;
	return rc == 1 && !m->empty_handed ? 1 : rc < 0 ? rc : 0;
}

int nuls_skip(const struct source *s, char **ret_owner, struct text *ret, struct err *err)
{
	CLEANUP(source_closep) struct source *again = NULL;
	size_t n = 0;
	*ret_owner = NULL;
	if (!strcmp(source_path(s), "-"))
		return 0;
	int rc = go_to(s, &again, err);
	if (rc <= 0)
		return rc;
	char *buf = malloc(DETECT_BYTES);
	if (!buf)
		return err_nomem(err);
	do
		rc = source_read(again, buf, DETECT_BYTES, &n, err);
	while (rc == 0 && n && !line_strip_nul((struct text){buf, n}).len);
	size_t nuls = n - line_strip_nul((struct text){buf, n}).len, more = 0;
	if (rc == 0 && n && nuls) {
		memmove(buf, buf + nuls, n - nuls);
		n -= nuls;
		rc = source_read(again, buf + n, DETECT_BYTES - n, &more, err);
	}
	if (rc < 0 || !n) {
		free(buf);
		return rc;
	}
	*ret_owner = buf;
	*ret = (struct text){buf, n + more};
	return 1;
}
