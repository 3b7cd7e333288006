/* SPDX-License-Identifier: Apache-2.0 */
/* lineage_find.c - rids that only page logs know: by their name, or by the beginning of it
 *
 * Chunks whose rids cannot hold the name are not decoded. The very name wins over names that begin with it.
 */
#include <string.h>

#include "lineage_order.h"
#include "pagetrail/column.h"
#include "pagetrail/digest.h"

int chunk_check(int64_t source, struct text data, struct text sha256, struct err *err)
{
	unsigned char digest[SHA256_BYTES];
	int rc = sha256_once(data.ptr, data.len, digest, err);
	if (rc == 0 && (sha256.len != SHA256_BYTES || memcmp(digest, sha256.ptr, SHA256_BYTES) != 0))
		rc = err_set(err, ERR_DAMAGED, "an event chunk of S%lld does not match its hash", (long long)source);
	return rc;
}

enum { PREFIX_MIN = 6 };

/* Looks through one chunk. 1: the very name is there. Else *ret holds the one rid that begins with it, if any. */
static int match_rids(const struct event_batch *b, struct text name, struct buf *ret, struct err *err)
{
	for (uint32_t row = 0; row < b->n; row++) {
		struct text t = event_known(b, row, PAGE_RID) ? b->texts[PAGE_RID][row] : (struct text){NULL, 0};
		if (t.len < name.len || memcmp(t.ptr, name.ptr, name.len) != 0)
			continue;
		if (t.len == name.len) {
			buf_clear(ret);
			int rc = buf_add_text(ret, t, err);
			return rc < 0 ? rc : 1;
		}
		if (name.len < PREFIX_MIN || text_eq(t, buf_text(ret)))
			continue;
		if (ret->len)
			return err_set(err, ERR_INPUT, "'%.*s' is not unique: %.*s, %.*s", TEXT_ARG(name),
				       TEXT_ARG(buf_text(ret)), TEXT_ARG(t));
		int rc = buf_add_text(ret, t, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int lineage_find_rid(struct case_file *c, struct text name, struct buf *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct err several = {0};
	bool ambiguous = false;
	buf_clear(ret);
	if (!name.len || name.len > NAME_MAX_BYTES)
		return 1;
	int rc = sql_prepare(
	    &s, c, "SELECT source, sha256, data FROM event_chunk WHERE kind = ?1 ORDER BY source, byte_min", err);
	if (rc == 0)
		rc = sql_int(s, 1, EVENT_PAGE, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct event_batch *b = NULL;
		struct text data = sql_get_text(s, 2);
		rc = chunk_check(sql_get_int(s, 0), data, sql_get_text(s, 1), err);
		if (rc == 0)
			rc = column_holds(EVENT_PAGE, data, PAGE_RID, name, err);
		if (rc == 1)
			rc = column_decode_stored(c, sql_get_int(s, 0), EVENT_PAGE, data, 1u << PAGE_RID, &b, err);
		if (rc == 0 && b)
			rc = match_rids(b, name, ret, ambiguous ? NULL : &several);
		event_batch_free(b);
		if (rc == 1)
			return 0;
		if (rc == ERR_INPUT) { /* the very name may still come */
			ambiguous = true;
			rc = 0;
		}
	}
	if (rc < 0)
		return rc;
	if (ambiguous) {
		if (err)
			*err = several;
		(void)err_hint(err, "give more of it");
		return ERR_INPUT;
	}
	return ret->len ? 0 : 1;
}
