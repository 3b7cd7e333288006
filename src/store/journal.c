/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - the chain of custody: append-only, each row sealed over the row before
 *
 * The byte form that is hashed is fixed in docs/store-format.md; lengths stand before the texts, so that no two rows
 * share one.
 */
#include <string.h>

#include "store.h"

static void put_be64(unsigned char *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (56 - 8 * i));
}

int journal_hash(const unsigned char *prev, int64_t seq, int64_t at_ns, struct text action, struct text detail,
		 unsigned char ret[SHA256_BYTES], struct err *err)
{
	unsigned char head[SHA256_BYTES + 24], len[8];
	struct sha256 *h = NULL;
	memcpy(head, prev, SHA256_BYTES);
	put_be64(head + SHA256_BYTES, (uint64_t)seq);
	put_be64(head + SHA256_BYTES + 8, (uint64_t)at_ns);
	put_be64(head + SHA256_BYTES + 16, action.len);
	put_be64(len, detail.len);
	int r = sha256_new(&h, err);
	if (!r)
		r = sha256_add(h, head, sizeof(head), err);
	if (!r)
		r = sha256_add(h, action.ptr, action.len, err);
	if (!r)
		r = sha256_add(h, len, sizeof(len), err);
	if (!r)
		r = sha256_add(h, detail.ptr, detail.len, err);
	if (r) {
		sha256_free(h);
		return r;
	}
	return sha256_end(h, ret, err);
}

struct last_row {
	int64_t seq, at_ns;
};

/* 1 when the journal is empty. */
static int last_row(struct case_file *c, struct last_row *ret, unsigned char ret_head[SHA256_BYTES], struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, "SELECT seq, sha256, at_ns FROM journal ORDER BY seq DESC LIMIT 1", err);
	if (!r)
		r = sql_step(s, err);
	if (r < 0)
		return r;
	if (!r)
		return 1;
	struct text sha = sql_get_text(s, 1);
	if (sha.len != SHA256_BYTES)
		return err_set(err, ERR_DAMAGED, "the head of the journal is not a SHA-256");
	memcpy(ret_head, sha.ptr, SHA256_BYTES);
	*ret = (struct last_row){sql_get_int(s, 0), sql_get_int(s, 2)};
	return 0;
}

int journal_append(struct case_file *c, int64_t at_ns, const char *action, struct text detail_json,
		   unsigned char ret_head[SHA256_BYTES], struct err *err)
{
	unsigned char prev[SHA256_BYTES] = {0}, head[SHA256_BYTES];
	struct last_row last = {0, INT64_MIN};
	if (!detail_json.ptr)
		detail_json = TEXT("");
	int r = last_row(c, &last, prev, err);
	if (r < 0)
		return r;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t seq = last.seq + 1;
	at_ns = MAX(at_ns, last.at_ns); /* a clock that was put back must not turn the order around */
	r = journal_hash(prev, seq, at_ns, text_of(action), detail_json, head, err);
	if (!r)
		r = sql_prepare(&s, c, "INSERT INTO journal VALUES(?1, ?2, ?3, ?4, ?5, ?6)", err);
	if (!r)
		r = sql_int(s, 1, seq, err);
	if (!r)
		r = sql_int(s, 2, at_ns, err);
	if (!r)
		r = sql_text(s, 3, text_of(action), err);
	if (!r)
		r = sql_text(s, 4, detail_json, err);
	if (!r)
		r = sql_blob(s, 5, (struct text){(const char *)prev, SHA256_BYTES}, err);
	if (!r)
		r = sql_blob(s, 6, (struct text){(const char *)head, SHA256_BYTES}, err);
	if (!r)
		r = sql_run(s, err);
	if (!r && ret_head)
		memcpy(ret_head, head, SHA256_BYTES);
	return r;
}

int journal_head(struct case_file *c, unsigned char ret_head[SHA256_BYTES], struct err *err)
{
	struct last_row last;
	return last_row(c, &last, ret_head, err);
}

int journal_verify(struct case_file *c, int64_t *ret_seq, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	unsigned char prev[SHA256_BYTES] = {0}, want[SHA256_BYTES];
	int64_t expect = 1;
	int r =
	    sql_prepare(&s, c, "SELECT seq, at_ns, action, detail, prev_sha256, sha256 FROM journal ORDER BY seq", err);
	while (!r && (r = sql_step(s, err)) > 0) {
		int64_t seq = sql_get_int(s, 0);
		struct text was_prev = sql_get_text(s, 4), sha = sql_get_text(s, 5);
		r = journal_hash(prev, seq, sql_get_int(s, 1), sql_get_text(s, 2), sql_get_text(s, 3), want, err);
		if (r)
			return r;
		if (seq != expect || was_prev.len != SHA256_BYTES || memcmp(was_prev.ptr, prev, SHA256_BYTES) ||
		    sha.len != SHA256_BYTES || memcmp(sha.ptr, want, SHA256_BYTES)) {
			*ret_seq = seq;
			return 1;
		}
		memcpy(prev, want, SHA256_BYTES);
		expect++;
	}
	return r;
}

int journal_find(struct case_file *c, const unsigned char sha256[SHA256_BYTES], int64_t *ret_seq, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int r = sql_prepare(&s, c, "SELECT seq FROM journal WHERE sha256 = ?1", err);
	if (!r)
		r = sql_blob(s, 1, (struct text){(const char *)sha256, SHA256_BYTES}, err);
	if (!r)
		r = sql_step(s, err);
	if (r > 0)
		*ret_seq = sql_get_int(s, 0);
	return r < 0 ? r : !r;
}
