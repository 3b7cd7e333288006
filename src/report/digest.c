/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - digests that every document of a run names: of the case's content, its evidence, its journal
 *
 * The content digest decodes all of the case. Nothing but the header needs it, so it is made in a thread, over a connection of its
 * own, while the rest is counted; the journal tells whether both saw the same case.
 */
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "pagetrail/thread.h"

struct digesting {
	struct task task; /* first */
	const struct case_file *c;
	char content[SHA256_HEX];
	unsigned char head[SHA256_BYTES];
	struct facts *to;
};

static int digest(struct task *task, struct err *err)
{
	struct digesting *d = (struct digesting *)task;
	struct case_file *c = NULL;
	int rc = case_open(&c, case_path(d->c), CASE_READ, err);
	if (!rc) {
		case_stop_with(c, d->c);
		rc = case_digest(c, d->content, err);
	}
	if (!rc)
		rc = MIN(journal_head(c, d->head, err), 0);
	if (!c)
		return rc;
	int closed = case_close(c, rc ? NULL : err);
	return rc ? rc : closed;
}

static void drop(struct task *task)
{
	free(task);
}

static int take(struct task *task, struct err *err)
{
	struct digesting *d = (struct digesting *)task;
	char head[SHA256_HEX];
	sha256_hex(d->head, head);
	memcpy(d->to->content_sha256, d->content, sizeof(d->content));
	bool same = !strcmp(head, d->to->journal_sha256);
	drop(task);
	if (same)
		return 0;
	err_set(err, ERR_STORE, "the case was changed while a report of it was made");
	return err_hint(err, "run it again");
}

/* SHA-256 over the SHA-256 in hex of all files (what was joined of two is none), sorted, each with a line feed: `sort | sha256sum` gives it again. */
static int make_evidence_digest(struct facts *f)
{
	unsigned char digest[SHA256_BYTES];
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct sha256 *running = NULL;
	int rc = sql_prepare(&s, f->c,
			     "SELECT sha256 FROM source WHERE sha256 IS NOT NULL "
			     "AND container <> 'seam' ORDER BY sha256",
			     f->err);
	if (!rc)
		rc = sha256_new(&running, f->err);
	while (!rc && (rc = sql_step(s, f->err)) == 1) {
		struct text t = sql_get_text(s, 0);
		rc = sha256_add(running, t.ptr, t.len, f->err);
		if (!rc)
			rc = sha256_add(running, "\n", 1, f->err);
	}
	if (rc) {
		sha256_free(running);
		return rc;
	}
	rc = sha256_end(running, digest, f->err);
	if (!rc)
		sha256_hex(digest, f->evidence_sha256);
	return rc;
}

int digests_begin(struct facts *f)
{
	unsigned char head[SHA256_BYTES] = {0};
	int rc = MIN(journal_head(f->c, head, f->err), 0);
	sha256_hex(head, f->journal_sha256);
	if (!rc)
		rc = make_evidence_digest(f);
	if (!rc)
		rc = pool_open(&f->digesting, case_thread_count(f->c) > 1, 1, f->err);
	struct digesting *d = rc ? NULL : calloc(1, sizeof(*d));
	if (!d)
		return rc ? rc : err_nomem(f->err);
	*d = (struct digesting){.task = {.run = digest, .done = take, .drop = drop}, .c = f->c, .to = f};
	return pool_submit(f->digesting, &d->task, f->err);
}

int digests_end(struct facts *f)
{
	int rc = f->digesting ? pool_drain(f->digesting, f->err) : 0;
	digests_stop(f);
	return rc;
}

void digests_stop(struct facts *f)
{
	pool_close(f->digesting);
	f->digesting = NULL;
}
