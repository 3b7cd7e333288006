/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - the canonical document of a report: header, numbers, limits, blanks for people, sections, figures
 *
 * Invariants: everything a rendering shows is in this document; nothing here reads a clock. What a person must decide
 * is a blank with a name, counted in the header; the program fills none of them.
 */
#include "facts.h"

#include <stdio.h>
#include <string.h>

#include "pagetrail/policy.h"

static const struct {
	const char *id, *title, *text;
} blanks[] = {
    {"phase", "Phase", "first, follow-up or final report"},
    {"marking", "Marking", "traffic light (TLP) or own classification of this paper"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"detected", "Detection",
     "when and how the incident was noticed, and by whom; start of each clock with its reason"},
    {"root-cause", "Root cause",
     "what went wrong in design, test and operation; the mechanism seen in the logs stands under "
     "Method"},
    {"severity", "Severity", "class by your own scheme, with the reasoning"},
    {"consequences", "Likely consequences", "for the tenants on both sides; categories of data are not in the logs"},
    {"notification", "Whom to notify",
     "decision for each tenant, authority and contract, with the reasoning, also where the "
     "decision is not to notify"},
    {"actions-taken", "Actions taken", "what was done, when, by whom, and the measured effect"},
    {"actions-planned", "Actions planned", "what will be done, by whom, until when"},
    {"custody", "Collection of the evidence",
     "who collected each source, when and how; that the copies equal the originals"},
};

static int put_blanks(struct facts *f)
{
	xmlNodePtr list = put_node(f, f->root, "blanks");
	int rc = put_attr_int(f, list, "count", ARRAY_SIZE(blanks));
	for (size_t i = 0; !rc && i < ARRAY_SIZE(blanks); i++) {
		xmlNodePtr node = put_node(f, list, "blank");
		rc = put_attr(f, node, "id", text_of(blanks[i].id));
		if (!rc)
			rc = put_attr(f, node, "title", text_of(blanks[i].title));
		if (!rc)
			rc = put_text(f, node, text_of(blanks[i].text));
	}
	return rc;
}

/* --- header --- */

static int put_info(struct facts *f, xmlNodePtr parent, const char *key, const char *name)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = case_info_get(f->c, key, &b, f->err);
	if (rc)
		return rc < 0 ? rc : 0;
	return put_element(f, parent, name, buf_text(&b));
}

/* SHA-256 over the sources' own SHA-256 in hex, sorted, each with a line feed: `sort | sha256sum` gives it again. */
static int put_evidence_digest(struct facts *f, xmlNodePtr parent)
{
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct sha256 *running = NULL;
	int rc = sql_prepare(&s, f->c, "SELECT sha256 FROM source WHERE sha256 IS NOT NULL ORDER BY sha256", f->err);
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
	if (rc)
		return rc;
	sha256_hex(digest, hex);
	return put_element(f, parent, "evidence-digest", text_of(hex));
}

static int put_digests(struct facts *f, xmlNodePtr h)
{
	char hex[SHA256_HEX];
	unsigned char head[SHA256_BYTES] = {0};
	int rc = case_digest(f->c, hex, f->err);
	if (!rc)
		rc = put_element(f, h, "content-digest", text_of(hex));
	if (!rc)
		rc = put_evidence_digest(f, h);
	if (!rc)
		rc = journal_head(f->c, head, f->err);
	if (rc < 0)
		return rc;
	sha256_hex(head, hex);
	return put_element(f, h, "journal-head", text_of(hex));
}

static int put_parameter(struct facts *f, xmlNodePtr h, const char *name, struct text value)
{
	xmlNodePtr p = put_node(f, h, "parameter");
	int rc = put_attr(f, p, "name", text_of(name));
	if (!rc)
		rc = put_attr(f, p, "flag", TEXT("entered-by-person"));
	return rc ? rc : put_text(f, p, value);
}

static int put_parameters(struct facts *f, xmlNodePtr h)
{
	const struct analysis_params *p = f->o->params;
	char tmp[32];
	int rc = 0;
	if (p && p->pool_tokens) {
		snprintf(tmp, sizeof(tmp), "%lld", (long long)p->pool_tokens);
		rc = put_parameter(f, h, "pool", text_of(tmp));
	}
	if (!rc && p && p->input_limit) {
		snprintf(tmp, sizeof(tmp), "%lld", (long long)p->input_limit);
		rc = put_parameter(f, h, "limit", text_of(tmp));
	}
	return rc;
}

static int put_policy(struct facts *f, xmlNodePtr h)
{
	const struct policy *policy = f->o->params ? f->o->params->policy : NULL;
	if (!policy)
		return 0;
	bool own = text_starts(policy_origin(policy), POLICY_BUILTIN);
	xmlNodePtr p = put_node(f, h, "policy");
	int rc = put_attr(f, p, "id", policy_id(policy));
	if (!rc)
		rc = put_attr(f, p, "sha256", text_of(policy_sha256(policy)));
	if (!rc && *policy_commits_sha256(policy))
		rc = put_attr(f, p, "commits-sha256", text_of(policy_commits_sha256(policy)));
	if (!rc)
		rc = put_attr(f, p, "flag", own ? TEXT("built-in") : TEXT("entered-by-person"));
	return rc ? rc : put_text(f, p, policy_origin(policy));
}

static int put_header(struct facts *f)
{
	xmlNodePtr h = put_node(f, f->root, "header");
	char tmp[32];
	int rc = put_info(f, h, "id", "case-id");
	if (!rc)
		rc = put_info(f, h, "title", "case-title");
	snprintf(tmp, sizeof(tmp), "%d", f->o->issue);
	if (!rc)
		rc = put_element(f, h, "issue", text_of(tmp));
	snprintf(tmp, sizeof(tmp), "%d", f->o->issue - 1);
	if (!rc && f->o->issue > 1)
		rc = put_element(f, h, "supersedes", text_of(tmp));
	if (!rc)
		rc = put_element(f, h, "audience", text_of(f->o->audience));
	if (!rc)
		rc = put_element(f, h, "state", TEXT("draft"));
	if (!rc)
		rc = put_element(f, h, "signature", TEXT("not signed"));
	if (!rc)
		rc = put_time(f, h, "as-of", f->o->as_of_ns);
	if (!rc)
		rc = put_element(f, h, "tool", TEXT("pagetrail " PAGETRAIL_VERSION));
	if (!rc)
		rc = put_digests(f, h);
	if (!rc)
		rc = put_parameters(f, h);
	return rc ? rc : put_policy(f, h);
}

/* --- the document --- */

static int put_parts(struct facts *f)
{
	int rc = put_attr(f, f->root, "kind", text_of(f->o->kind));
	if (!rc)
		rc = put_header(f);
	if (!rc)
		rc = put_numbers(f);
	if (!rc)
		rc = put_blanks(f);
	for (size_t i = 0; !rc && i < n_scope_sections; i++)
		rc = put_section(f, &scope_sections[i]);
	return rc ? rc : put_figures(f);
}

int facts_scope(struct case_file *c, const struct report_options *o, xmlDocPtr *ret, struct err *err)
{
	struct facts f = {.c = c, .o = o, .err = err, .scratch = BUF_INIT(1 * MIB)};
	f.json = json_new();
	f.doc = xmlNewDoc(XC("1.0"));
	f.root = f.doc ? xmlNewDocNode(f.doc, NULL, XC("report"), NULL) : NULL;
	f.ns = f.root ? xmlNewNs(f.root, XC(REPORT_NS), NULL) : NULL;
	int rc = f.json && f.ns ? 0 : err_nomem(err);
	if (f.root) {
		xmlDocSetRootElement(f.doc, f.root);
		xmlSetNs(f.root, f.ns);
	}
	if (!rc) {
		kept_make(&f);
		rc = put_parts(&f);
		kept_drop(&f);
	}
	json_free(f.json);
	buf_done(&f.scratch);
	if (rc) {
		xmlFreeDoc(f.doc);
		return rc;
	}
	*ret = f.doc;
	return 0;
}
