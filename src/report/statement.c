/* SPDX-License-Identifier: Apache-2.0 */
/* statement.c - a deployment as an in-toto Statement v1 (github.com/in-toto/attestation, spec/v1/statement.md)
 *
 * Its subjects are what the verdicts are about and what they rest on: images, by their digest, and the files of the case, by the
 * SHA-256 of what was read out of them. The predicate is our own (docs/deploy.md): the predicates that exist say passed or failed, and
 * have no word for what nobody knows.
 */
#include "deployed.h"

#include <stdio.h>
#include <stdlib.h>

static int text_order(const void *a, const void *b)
{
	return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

/* Each digest once; returns how many. */
static size_t put_images(struct jot *j, const struct deployed *d)
{
	struct text *list = calloc(d->n_builds + 1, sizeof(*list));
	size_t n = 0, put = 0;
	if (!list) {
		j->rc = err_nomem(j->err);
		return 0;
	}
	for (size_t i = 0; i < d->n_builds; i++) {
		unsigned char sha[SHA256_BYTES];
		struct text t = d->builds[i].digest;
		if (text_starts(t, "sha256:") && sha256_unhex(text_from(t, 7), sha))
			list[n++] = t;
	}
	qsort(list, n, sizeof(*list), text_order);
	for (size_t i = 0; i < n; i++) {
		char name[96];
		if (i && text_eq(list[i], list[i - 1]))
			continue;
		snprintf(name, sizeof(name), "image %.*s", TEXT_ARG(list[i]));
		jot_subject(j, text_of(name), text_from(list[i], 7));
		put++;
	}
	free(list);
	return put;
}

static size_t put_subjects(struct jot *j, const struct deployed *d)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(MIB);
	size_t n = put_images(j, d);
	for (size_t i = 0; !j->rc && i < d->n_files; i++) {
		const struct deployed_file *f = &d->files[i];
		if (!f->sha256.len)
			continue;
		buf_clear(&name);
		j->rc = buf_printf(&name, j->err, "S%lld ", (long long)f->source);
		if (!j->rc)
			j->rc = buf_add_text(&name, f->path, j->err);
		jot_subject(j, buf_text(&name), f->sha256);
		n++;
	}
	jot_close(j, ']');
	return n;
}

static void put_basis(struct jot *j, const struct deployed *d)
{
	jot_open(j, "tool", '{');
	jot_text(j, "name", TEXT("pagetrail"));
	jot_text(j, "version", TEXT(PAGETRAIL_VERSION));
	jot_close(j, '}');
	jot_open(j, "case", '{');
	jot_text_or_null(j, "id", d->case_id);
	jot_text(j, "journal_sha256", text_of(d->journal));
	jot_close(j, '}');
	jot_int(j, "issue", d->p.issue);
	jot_time(j, "as_of", d->p.dated_ns);
	jot_time(j, "age_as_of", d->p.as_of_ns);
	jot_time(j, "at", d->p.at_ns);
	jot_open(j, "policy", '{');
	jot_text(j, "id", policy_id(d->p.policy));
	jot_text(j, "sha256", text_of(policy_sha256(d->p.policy)));
	jot_text_or_null(j, "commits_sha256", text_of(policy_commits_sha256(d->p.policy)));
	jot_close(j, '}');
	if (!d->p.inventory) {
		jot_json(j, "inventory", TEXT("null"));
		return;
	}
	jot_open(j, "inventory", '{');
	jot_text(j, "sha256", text_of(inventory_sha256(d->p.inventory)));
	jot_int(j, "replicas", (int64_t)inventory_count(d->p.inventory));
	jot_close(j, '}');
}

static void put_counts(struct jot *j, const struct deployed *d)
{
	jot_open(j, "verdicts", '{');
	for (int i = 0; i < VERDICTS; i++)
		jot_int(j, deploy_verdict_name((enum deploy_verdict)i), d->by[i]);
	jot_close(j, '}');
	jot_int(j, "outside_inventory", d->outside);
}

static void put_replica(struct jot *j, const struct deployed *d, const struct deployed_replica *r)
{
	const struct deployed_build *b = &d->builds[r->build];
	jot_open(j, NULL, '{');
	jot_text(j, "replica", r->name);
	jot_text(j, "verdict", text_of(deploy_verdict_name(r->verdict)));
	jot_text_or_null(j, "status", text_of(vex_name(r->status)));
	jot_text(j, "rung", r->rung);
	jot_json(j, "reasons", r->reasons);
	jot_text_or_null(j, "role", r->role);
	jot_text_or_null(j, "model", r->model);
	jot_text(j, "build", text_of(b->id));
	jot_text_or_null(j, "engine", b->engine);
	jot_text_or_null(j, "version", b->version);
	jot_text_or_null(j, "commit", b->commit);
	jot_text_or_null(j, "image_digest", b->digest);
	jot_time(j, "judged_at", r->judged_ns);
	jot_time(j, "evidence_at", r->evidence_ns);
	jot_json(j, "outside_inventory", r->outside ? TEXT("true") : TEXT("false"));
	jot_json(j, "evidence", r->evidence);
	jot_json(j, "refs", r->refs);
	jot_close(j, '}');
}

int deployed_statement(const struct deployed *d, struct buf *out, struct err *err)
{
	struct jot j = {out, err, 0};
	buf_clear(out);
	jot_statement(&j);
	if (!put_subjects(&j, d) && !j.rc) {
		err_set(err, ERR_INPUT, "a statement is about images or files, and no verdict rests on one");
		return err_hint(err, "'pagetrail info CASE' says what was read");
	}
	jot_text(&j, "predicateType", TEXT(STATEMENT_PREDICATE));
	jot_open(&j, "predicate", '{');
	put_basis(&j, d);
	put_counts(&j, d);
	jot_open(&j, "replicas", '[');
	for (size_t i = 0; !j.rc && i < d->n; i++)
		put_replica(&j, d, &d->replicas[i]);
	jot_close(&j, ']');
	jot_close(&j, '}');
	jot_close(&j, '}');
	return j.rc ? j.rc : buf_add_char(out, '\n', err);
}
