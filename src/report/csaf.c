/* SPDX-License-Identifier: Apache-2.0 */
/* csaf.c - a deployment as a CSAF 2.0 document of the profile VEX (docs.oasis-open.org/csaf/csaf/v2.0, sections 3.2 and 4.5)
 *
 * It speaks of builds that run, not of released ones, and never of single replicas: those are named by reference. Its words claim no
 * more than its statuses: where anything is affected or open, the title does not say "fixed".
 */
#include "deployed.h"

#include <inttypes.h>
#include <stdio.h>

#define NOBODY     "Publisher not named (pagetrail deploy --publisher)"
#define NO_SPACE   "https://publisher-not-named.invalid/"
#define NO_CONTACT "Contact not given (pagetrail deploy --contact)"

static bool is_draft(const struct deployed *d)
{
	return !d->p.publisher || !d->p.name_space || !d->p.contact;
}

static void put_note(struct jot *j, const char *category, const char *title, struct text text)
{
	jot_open(j, NULL, '{');
	jot_text(j, "category", text_of(category));
	jot_text(j, "text", text);
	jot_text(j, "title", text_of(title));
	jot_close(j, '}');
}

/* ---- words ---- */

static int say_title(const struct deployed *d, struct buf *b, struct err *err)
{
	int64_t affected = d->builds_by[VEX_KNOWN_AFFECTED], open = d->builds_by[VEX_UNDER_INVESTIGATION],
		fixed = d->builds_by[VEX_FIXED];
	struct text id = policy_id(d->p.policy);
	if (affected)
		return buf_printf(
		    b, err, "%.*s: of %" PRId64 " build%s in use %" PRId64 " affected, %" PRId64 " under investigation",
		    TEXT_ARG(id), affected + open + fixed, PLURAL(affected + open + fixed), affected, open);
	if (open)
		return buf_printf(b, err, "%.*s: of %" PRId64 " build%s in use %" PRId64 " under investigation",
				  TEXT_ARG(id), open + fixed, PLURAL(open + fixed), open);
	return buf_printf(b, err, "%.*s: fixed in all of %" PRId64 " build%s %s", TEXT_ARG(id), fixed, PLURAL(fixed),
			  d->p.inventory ? "in use" : "seen in use");
}

static int say_verdicts(const int64_t by[VERDICTS], struct buf *b, struct err *err)
{
	bool any = false;
	int rc = 0;
	for (int i = 0; !rc && i < VERDICTS; i++) {
		if (!by[i])
			continue;
		rc = buf_printf(b, err, "%s%" PRId64 " %s", any ? ", " : "", by[i],
				deploy_verdict_name((enum deploy_verdict)i));
		any = true;
	}
	return rc;
}

/* What ran when is one thing, when the document was made of it another. */
static int say_when(const struct deployed *d, struct buf *b, struct err *err)
{
	char at[40];
	stamp_format(d->n ? d->replicas[0].judged_ns : TIME_UNKNOWN, at, sizeof(at));
	int rc = buf_printf(b, err, "Status of what ran at %s, by the evidence of case ", *at ? at : "an unknown time");
	if (!rc)
		rc = buf_add_text(b, d->case_id.len ? d->case_id : TEXT("(without a name)"), err);
	if (!rc)
		rc = buf_printf(b, err, " as it was at %s. A released version is not a deployed one. Replicas: ",
				stamp_format(d->p.dated_ns, at, sizeof(at)));
	return rc;
}

static int say_summary(const struct deployed *d, struct buf *b, struct err *err)
{
	int rc = say_when(d, b, err);
	if (!rc)
		rc = say_verdicts(d->by, b, err);
	if (!rc && d->p.inventory)
		rc = buf_printf(b, err, "; by an inventory of %zu (SHA-256 %s)", inventory_count(d->p.inventory),
				inventory_sha256(d->p.inventory));
	else if (!rc)
		rc = buf_add_text(b, TEXT("; without an inventory, so that how many there are is not known"), err);
	if (!rc && d->outside)
		rc = buf_printf(b, err, "; %" PRId64 " of them outside of it", d->outside);
	return rc ? rc : buf_printf(b, err, ". Policy: SHA-256 %s.", policy_sha256(d->p.policy));
}

static int say_replicas(const struct deployed *d, const char *statement, struct buf *b, struct err *err)
{
	int rc = buf_add_text(b, TEXT("Which replicas run each build, and on what records each verdict rests, "), err);
	if (!rc && statement)
		rc = buf_printf(b, err, "stands in the in-toto statement of this issue (SHA-256 of its payload: %s).",
				statement);
	else if (!rc)
		rc = buf_add_text(b,
				  TEXT("is written by 'pagetrail deploy CASE --statement FILE' with the same "
				       "arguments."),
				  err);
	if (!rc && d->p.replicas)
		rc = buf_add_text(b, TEXT(" It is the reference of this document."), err);
	return rc;
}

/* "sglang 0.5.21, commit 0123abc, image sha256:…" */
static int say_build(const struct deployed_build *build, struct buf *b, struct err *err)
{
	const struct {
		const char *lead, *none;
		struct text t;
	} parts[] = {{"", "engine not known,", build->engine},
		     {" ", " version not known", build->version},
		     {", commit ", "", build->commit},
		     {", image ", "", build->digest}};
	int rc = 0;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(parts); i++) {
		rc = buf_add_text(b, text_of(parts[i].t.len ? parts[i].lead : parts[i].none), err);
		if (!rc)
			rc = buf_add_text(b, parts[i].t, err);
	}
	return rc;
}

/* ---- document ---- */

static void put_tracking(struct jot *j, const struct deployed *d)
{
	bool closed = !d->builds_by[VEX_UNDER_INVESTIGATION] && !d->builds_by[VEX_KNOWN_AFFECTED];
	jot_open(j, "tracking", '{');
	jot_time(j, "current_release_date", d->p.dated_ns);
	jot_open(j, "generator", '{');
	jot_time(j, "date", d->p.dated_ns);
	jot_open(j, "engine", '{');
	jot_text(j, "name", TEXT("Pagetrail"));
	jot_text(j, "version", TEXT(PAGETRAIL_VERSION));
	jot_close(j, '}');
	jot_close(j, '}');
	jot_text(j, "id", d->tracking_id);
	jot_time(j, "initial_release_date", d->p.dated_ns);
	jot_open(j, "revision_history", '[');
	jot_open(j, NULL, '{');
	jot_time(j, "date", d->p.dated_ns);
	jot_text(j, "number", TEXT("1"));
	jot_printf(j, "summary", "Issue %d.", d->p.issue);
	jot_close(j, '}');
	jot_close(j, ']');
	jot_text(j, "status", is_draft(d) ? TEXT("draft") : closed ? TEXT("final") : TEXT("interim"));
	jot_text(j, "version", TEXT("1"));
	jot_close(j, '}');
}

static void put_notes(struct jot *j, const struct deployed *d, const char *statement)
{
	CLEANUP(buf_done) struct buf summary = BUF_INIT(MIB), replicas = BUF_INIT(MIB);
	if (!j->rc)
		j->rc = say_summary(d, &summary, j->err);
	if (!j->rc)
		j->rc = say_replicas(d, statement, &replicas, j->err);
	jot_open(j, "notes", '[');
	put_note(j, "summary", "Basis", buf_text(&summary));
	put_note(
	    j, "details", "Statuses",
	    TEXT("A product is a build that runs: engine, version, commit and image digest, as far as they are known. "
		 "It has the status of its worst replica. fixed: verified_fixed, the process itself said so. "
		 "known_affected: verified_affected, or conflicting records. under_investigation: stale, undetermined "
		 "or "
		 "not_observed. Retired replicas are left out."));
	put_note(j, "details", "Replicas", buf_text(&replicas));
	if (d->p.issue > 1)
		put_note(j, "details", "Earlier issues",
			 TEXT("This issue takes the place of those with lower numbers."));
	if (is_draft(d))
		put_note(j, "general", "Draft",
			 TEXT("This is a draft: who publishes it, or how to reach them, was not said."));
	jot_close(j, ']');
}

static void put_document(struct jot *j, const struct deployed *d, const char *statement)
{
	CLEANUP(buf_done) struct buf title = BUF_INIT(64 * KIB);
	if (!j->rc)
		j->rc = say_title(d, &title, j->err);
	jot_open(j, "document", '{');
	jot_text(j, "category", TEXT("csaf_vex"));
	jot_text(j, "csaf_version", TEXT("2.0"));
	jot_text(j, "lang", TEXT("en"));
	put_notes(j, d, statement);
	jot_open(j, "publisher", '{');
	jot_text(j, "category", TEXT("user"));
	jot_text(j, "contact_details", text_of(d->p.contact ? d->p.contact : NO_CONTACT));
	jot_text(j, "name", text_of(d->p.publisher ? d->p.publisher : NOBODY));
	jot_text(j, "namespace", text_of(d->p.name_space ? d->p.name_space : NO_SPACE));
	jot_close(j, '}');
	if (d->p.replicas) {
		jot_open(j, "references", '[');
		jot_open(j, NULL, '{');
		jot_text(j, "category", TEXT("external"));
		jot_text(j, "summary", TEXT("The replicas of each build, and the evidence of each"));
		jot_text(j, "url", text_of(d->p.replicas));
		jot_close(j, '}');
		jot_close(j, ']');
	}
	jot_text(j, "title", buf_text(&title));
	put_tracking(j, d);
	jot_close(j, '}');
}

/* ---- products ---- */

/* A package URL (github.com/package-url/purl-spec, type pypi: small letters, '-' for '_') for what looks like a package and its
 * version; for all else nothing. */
static bool purl_of(const struct deployed_build *b, struct buf *to)
{
	bool ok = b->engine.len && b->version.len && !buf_add_text(to, TEXT("pkg:pypi/"), NULL);
	for (size_t i = 0; ok && i < b->engine.len; i++) {
		char c = b->engine.ptr[i];
		c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == '_' ? '-' : c;
		ok = ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (i && (c == '-' || c == '.'))) &&
		     !buf_add_char(to, c, NULL);
	}
	ok = ok && !buf_add_char(to, '@', NULL);
	for (size_t i = 0; ok && i < b->version.len; i++) {
		char c = b->version.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			     (i && (c == '.' || c == '-' || c == '_'));
		ok = plain                  ? !buf_add_char(to, c, NULL)
		     : c == '+' || c == '!' ? !buf_printf(to, NULL, "%%%02X", (unsigned char)c)
					    : false;
	}
	return ok;
}

static bool image_hex(const struct deployed_build *b, struct text *ret)
{
	unsigned char sha[SHA256_BYTES];
	*ret = text_from(b->digest, 7);
	return text_starts(b->digest, "sha256:") && sha256_unhex(*ret, sha);
}

static void put_helper(struct jot *j, const struct deployed_build *b)
{
	CLEANUP(buf_done) struct buf purl = BUF_INIT(8 * KIB);
	struct text hex;
	bool named = purl_of(b, &purl), image = image_hex(b, &hex);
	if (!named && !image)
		return;
	jot_open(j, "product_identification_helper", '{');
	if (image) {
		jot_open(j, "hashes", '[');
		jot_open(j, NULL, '{');
		jot_open(j, "file_hashes", '[');
		jot_open(j, NULL, '{');
		jot_text(j, "algorithm", TEXT("sha256"));
		jot_text(j, "value", hex);
		jot_close(j, '}');
		jot_close(j, ']');
		jot_text(j, "filename", TEXT("container image (manifest or configuration)"));
		jot_close(j, '}');
		jot_close(j, ']');
	}
	if (named)
		jot_text(j, "purl", buf_text(&purl));
	jot_close(j, '}');
}

static void put_products(struct jot *j, const struct deployed *d)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(64 * KIB);
	jot_open(j, "product_tree", '{');
	jot_open(j, "full_product_names", '[');
	for (size_t i = 0; !j->rc && i < d->n_builds; i++) {
		const struct deployed_build *b = &d->builds[i];
		if (b->status == VEX_NONE)
			continue;
		buf_clear(&name);
		j->rc = say_build(b, &name, j->err);
		jot_open(j, NULL, '{');
		jot_text(j, "name", buf_text(&name));
		jot_text(j, "product_id", text_of(b->id));
		put_helper(j, b);
		jot_close(j, '}');
	}
	jot_close(j, ']');
	jot_close(j, '}');
}

/* ---- the vulnerability ---- */

static void put_ids(struct jot *j, const struct deployed *d, const char *key, enum vex_status status)
{
	jot_open(j, key, '[');
	for (size_t i = 0; i < d->n_builds; i++)
		if (d->builds[i].status == status)
			jot_text(j, NULL, text_of(d->builds[i].id));
	jot_close(j, ']');
}

static int say_counts(const struct deployed *d, struct buf *b, struct err *err)
{
	int rc = buf_add_text(b, TEXT("Replicas of each build:"), err);
	for (size_t i = 0; !rc && i < d->n_builds; i++) {
		if (d->builds[i].status == VEX_NONE)
			continue;
		rc = buf_printf(b, err, " %s ", d->builds[i].id);
		if (!rc)
			rc = say_verdicts(d->builds[i].by, b, err);
		if (!rc)
			rc = buf_add_char(b, ';', err);
	}
	if (!rc && b->len)
		b->ptr[b->len - 1] = '.';
	return rc;
}

static void put_remediation(struct jot *j, const struct deployed *d)
{
	bool known = policy_knows_fix(d->p.policy);
	jot_open(j, "remediations", '[');
	jot_open(j, NULL, '{');
	jot_text(j, "category", known ? TEXT("vendor_fix") : TEXT("none_available"));
	jot_text(j, "details",
		 known ? TEXT("Run a build that has the fix by the policy, restart, and collect evidence of the "
			      "running process. Where records contradict each other, find out which of them holds.")
		       : TEXT("The policy knows no build that has the fix."));
	put_ids(j, d, "product_ids", VEX_KNOWN_AFFECTED);
	jot_close(j, '}');
	jot_close(j, ']');
}

static void put_vulnerability(struct jot *j, const struct deployed *d)
{
	static const enum vex_status statuses[] = {VEX_FIXED, VEX_KNOWN_AFFECTED, VEX_UNDER_INVESTIGATION};
	CLEANUP(buf_done) struct buf counts = BUF_INIT(64 * MIB);
	struct text summary = policy_summary(d->p.policy), cve = policy_cve(d->p.policy);
	if (!j->rc)
		j->rc = say_counts(d, &counts, j->err);
	jot_open(j, "vulnerabilities", '[');
	jot_open(j, NULL, '{');
	if (cve.len)
		jot_text(j, "cve", cve);
	jot_open(j, "ids", '[');
	jot_open(j, NULL, '{');
	jot_text(j, "system_name", TEXT("OSV"));
	jot_text(j, "text", policy_id(d->p.policy));
	jot_close(j, '}');
	jot_close(j, ']');
	jot_open(j, "notes", '[');
	put_note(j, "description", "Defect", summary.len ? summary : TEXT("The policy does not describe it."));
	put_note(j, "details", "Verdicts", buf_text(&counts));
	jot_close(j, ']');
	jot_open(j, "product_status", '{');
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (d->builds_by[statuses[i]])
			put_ids(j, d, vex_name(statuses[i]), statuses[i]);
	jot_close(j, '}');
	if (d->builds_by[VEX_KNOWN_AFFECTED])
		put_remediation(j, d);
	if (summary.len)
		jot_text(j, "title", summary);
	jot_close(j, '}');
	jot_close(j, ']');
}

int deployed_csaf(const struct deployed *d, const char *statement_sha256, struct buf *out, struct err *err)
{
	struct jot j = {out, err, 0};
	if (!d->running) {
		err_set(err, ERR_INPUT, "a VEX document needs a replica that may be running, and there is none");
		return err_hint(err, "'pagetrail info CASE' says what was read");
	}
	buf_clear(out);
	jot_open(&j, NULL, '{');
	put_document(&j, d, statement_sha256);
	put_products(&j, d);
	put_vulnerability(&j, d);
	jot_close(&j, '}');
	return j.rc ? j.rc : buf_add_char(out, '\n', err);
}
