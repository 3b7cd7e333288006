/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - a new case and the first row of its journal (used by init and by the first ingest) */
#include "cli.h"

bool init_unmade(struct case_file *c)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err ignored;
	return !sql_prepare(&s, c, "SELECT 1 FROM journal UNION ALL SELECT 1 FROM source LIMIT 1", &ignored) &&
	       sql_step(s, &ignored) == 0;
}

int init_case(struct case_file **ret, const char *path, const char *id, const char *title, struct err *err)
{
	CLEANUP(case_closep) struct case_file *c = NULL;
	int rc = case_open(&c, path, CASE_CREATE, err);
	if (rc)
		return rc;
	CLEANUP(buf_done) struct buf detail = BUF_INIT(64 * KIB);
	rc = case_begin(c, err);
	if (!rc)
		rc = case_info_set(c, "tool", TEXT("pagetrail " PAGETRAIL_VERSION), err);
	if (!rc && id)
		rc = case_info_set(c, "id", text_of(id), err);
	if (!rc && title)
		rc = case_info_set(c, "title", text_of(title), err);
	if (!rc)
		rc = buf_printf(&detail, err, "{\"tool\":\"pagetrail %s\",\"id\":", PAGETRAIL_VERSION);
	if (!rc)
		rc = id ? buf_json_string(&detail, text_of(id), err) : buf_add(&detail, "null", 4, err);
	if (!rc)
		rc = buf_add(&detail, ",\"title\":", 9, err);
	if (!rc)
		rc = title ? buf_json_string(&detail, text_of(title), err) : buf_add(&detail, "null", 4, err);
	if (!rc)
		rc = buf_add_char(&detail, '}', err);
	unsigned char head[SHA256_BYTES];
	if (!rc)
		rc = journal_append(c, system_now_ns(), "init", buf_text(&detail), head, err);
	if (!rc)
		rc = case_commit(c, err);
	if (rc)
		return rc;
	*ret = c;
	c = NULL;
	return 0;
}
