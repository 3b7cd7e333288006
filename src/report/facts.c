/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - the canonical document of a report: header, numbers, limits, blanks for people, a note, sections, figures
 *
 * Invariants: everything a rendering shows is in this document; nothing here reads a clock. What a person must decide
 * is a blank with a name, counted in the header; the program fills none of them.
 */
#include "delta.h"

#include <stdio.h>
#include <string.h>

#include "pagetrail/deadline.h"
#include "pagetrail/inventory.h"
#include "pagetrail/policy.h"
#include "pagetrail/stamp.h"

static int put_blanks(struct facts *f)
{
	xmlNodePtr list = put_node(f, f->root, "blanks");
	int rc = 0;
	for (size_t i = 0; !rc && i < f->kind->n_blanks; i++) {
		const struct blank *b = &f->kind->blanks[i];
		xmlNodePtr node = put_node(f, list, "blank"), answer;
		rc = answer_of(f, (struct text){NULL, 0}, text_of(b->id), &answer);
		if (!rc)
			rc = put_attr(f, node, "id", text_of(b->id));
		if (!rc)
			rc = put_attr(f, node, "title", text_of(b->title));
		if (!rc)
			rc = put_answer(f, node, answer, text_of(b->text));
	}
	return rc;
}

/* How many are left, once all parts are there; a paper with one is no approved one. */
static int close_blanks(struct facts *f)
{
	xmlNodePtr list = NULL;
	for (xmlNodePtr n = f->root->children; n && !list; n = n->next)
		list = !xmlStrcmp(n->name, XC("blanks")) ? n : NULL;
	if (f->o->approved && f->open_blanks) {
		err_set(f->err, ERR_INPUT, "the %s has %lld open blanks: it cannot be approved", f->kind->name,
			(long long)f->open_blanks);
		return err_hint(f->err, "answer them with --answers");
	}
	return put_attr_int(f, list, "count", f->open_blanks);
}

/* What a person adds, a paragraph each; it is marked as such. */
static int put_note(struct facts *f)
{
	struct text rest = f->o->note, line;
	xmlNodePtr node = NULL;
	int rc = keep_said(f, rest);
	while (!rc && f->kind->readers != READERS_OPERATOR && text_split(&rest, '\n', &line)) {
		line = text_trim(line);
		if (!line.len)
			continue;
		if (!node) {
			node = put_node(f, f->root, "note");
			rc = put_attr(f, node, "flag", TEXT("entered-by-person"));
		}
		if (!rc)
			rc = put_element(f, node, "line", line);
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
	rc = keep_said(f, buf_text(&b));
	return rc ? rc : put_element(f, parent, name, buf_text(&b));
}

static int put_digests(struct facts *f, xmlNodePtr h)
{
	int rc = digests_end(f);
	if (!rc)
		rc = put_element(f, h, "content-digest", text_of(f->content_sha256));
	if (!rc)
		rc = put_element(f, h, "evidence-digest", text_of(f->evidence_sha256));
	return rc ? rc : put_element(f, h, "journal-head", text_of(f->journal_sha256));
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
	char tmp[32], at[40];
	int rc = 0;
	if (p && p->pool_tokens) {
		snprintf(tmp, sizeof(tmp), "%lld", (long long)p->pool_tokens);
		rc = put_parameter(f, h, "pool", text_of(tmp));
	}
	if (!rc && p && p->input_limit) {
		snprintf(tmp, sizeof(tmp), "%lld", (long long)p->input_limit);
		rc = put_parameter(f, h, "limit", text_of(tmp));
	}
	if (!rc && delta_is_of(f, &kind_deploy) && f->o->deploy_at_ns != TIME_UNKNOWN)
		rc = put_parameter(f, h, "at", text_of(stamp_format(f->o->deploy_at_ns, at, sizeof(at))));
	if (!rc && delta_is_of(f, &kind_deploy) && f->o->deploy_age_ns != TIME_UNKNOWN)
		rc = put_parameter(f, h, "age-as-of", text_of(stamp_format(f->o->deploy_age_ns, at, sizeof(at))));
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
	/* its file is the operator's own */
	bool told = own || f->kind->readers == READERS_OPERATOR;
	return !rc && told ? put_text(f, p, policy_origin(policy)) : rc;
}

/* What the verdicts are held against, and the time that they are of, where a person chose it. */
static int put_inventory(struct facts *f, xmlNodePtr h)
{
	const struct inventory *inv = f->o->params ? f->o->params->inventory : NULL;
	if (!inv)
		return 0;
	xmlNodePtr node = put_node(f, h, "inventory");
	int rc = put_attr(f, node, "sha256", text_of(inventory_sha256(inv)));
	if (!rc)
		rc = put_attr_int(f, node, "replicas", (int64_t)inventory_count(inv));
	if (!rc)
		rc = put_attr(f, node, "flag", TEXT("entered-by-person"));
	return rc ? rc : put_text(f, node, inventory_path(inv));
}

/* Whom a notice is for; pseudonyms say by which key and for whom they were made. */
static int put_reader(struct facts *f, xmlNodePtr h)
{
	int rc = f->tenant.ptr ? put_element(f, h, "tenant", f->tenant) : 0;
	if (!rc && f->reference)
		rc = put_element(f, h, "reference", text_of(f->reference));
	return !rc && f->reference ? put_element(f, h, "key-id", text_of(f->o->key->id)) : rc;
}

/* What is signed is the files of the document: the signature stands beside them. */
static int put_signature(struct facts *f, xmlNodePtr h)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	if (!f->o->sign)
		return put_element(f, h, "signature", TEXT("not signed"));
	int rc = buf_printf(&b, f->err, "beside it (DSSE, Ed25519), key %s", dsse_key_id(f->o->sign));
	return rc ? rc : put_element(f, h, "signature", buf_text(&b));
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
		rc = f->reference ? keep_said(f, text_of(f->o->audience)) : 0; /* the others are the program's words */
	if (!rc)
		rc = put_element(f, h, "audience", text_of(f->o->audience));
	if (!rc)
		rc = put_reader(f, h);
	if (!rc)
		rc = put_element(f, h, "state", f->o->approved ? TEXT("approved") : TEXT("draft"));
	if (!rc)
		rc = put_signature(f, h);
	if (!rc)
		rc = put_time(f, h, "as-of", f->o->as_of_ns);
	if (!rc)
		rc = put_element(f, h, "tool", TEXT("pagetrail " PAGETRAIL_VERSION));
	if (!rc)
		rc = put_digests(f, h);
	if (!rc)
		rc = put_parameters(f, h);
	if (!rc)
		rc = put_policy(f, h);
	if (!rc && delta_is_of(f, &kind_deploy))
		rc = put_inventory(f, h);
	return !rc && f->delta ? delta_put_header(f, h) : rc;
}

/* --- the document --- */

static int put_parts(struct facts *f)
{
	const struct kind *k = f->kind;
	int rc = put_attr(f, f->root, "kind", text_of(k->name));
	if (!rc && f->delta)
		rc = put_attr(f, f->root, "of", text_of(f->delta->of->name));
	if (!rc)
		rc = put_header(f);
	if (!rc)
		rc = put_numbers(f);
	if (!rc)
		rc = put_blanks(f);
	if (!rc)
		rc = put_note(f);
	for (size_t i = 0; !rc && i < k->n_sections; i++)
		rc = put_section(f, &k->sections[i]);
	if (!rc && k->figures)
		rc = k->figures(f);
	return rc ? rc : close_blanks(f);
}

int facts_make(struct facts *f)
{
	f->open_blanks = 0;
	f->doc = xmlNewDoc(XC("1.0"));
	f->root = f->doc ? xmlNewDocNode(f->doc, NULL, XC("report"), NULL) : NULL;
	f->ns = f->root ? xmlNewNs(f->root, XC(REPORT_NS), NULL) : NULL;
	if (f->root) {
		xmlDocSetRootElement(f->doc, f->root);
		xmlSetNs(f->root, f->ns);
	}
	int rc = f->ns ? put_parts(f) : err_nomem(f->err);
	if (rc) {
		xmlFreeDoc(f->doc);
		f->doc = NULL;
	}
	return rc;
}

/* A list of texts, each on its own line. */
static int add_texts(struct buf *b, const char *const *texts, size_t n, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < n; i++)
		if (texts[i])
			rc = buf_printf(b, err, "%s\n", texts[i]);
	return rc;
}

/* A query's own words: its text, and what its header says. */
static int add_query(struct buf *b, const struct report_options *o, const char *name, struct err *err)
{
	const struct query_text *q = query_find(o->queries, o->n_queries, text_of(name));
	struct query_info info;
	if (!q)
		return 0;
	int rc = query_info_parse(q, &info, err);
	if (!rc)
		rc = buf_printf(b, err, "%s\n%s\n%.*s\n%.*s\n", name, q->sql, TEXT_ARG(info.title),
				TEXT_ARG(info.empty));
	for (unsigned i = 0; !rc && i < info.n_columns; i++) {
		const struct query_column *c = &info.columns[i];
		rc = buf_printf(b, err, "%.*s\n%.*s\n%.*s\n%.*s\n", TEXT_ARG(c->name), TEXT_ARG(c->type),
				TEXT_ARG(c->unit), TEXT_ARG(c->help));
	}
	query_info_done(&info);
	return rc;
}

int facts_form(const struct kind *k, const struct report_options *o, struct buf *b, struct err *err)
{
	static const char *const words[] = {("pagetrail " PAGETRAIL_VERSION),
					    "draft",
					    "not signed",
					    "internal",
					    "public",
					    "withheld",
					    "fewer than 5",
					    "more than 5",
					    "2-5",
					    "success",
					    "counted",
					    "upper-bound"};
	int rc = add_texts(b, words, ARRAY_SIZE(words), err);
	if (!rc)
		rc = add_texts(b, &k->name, 1, err);
	for (size_t i = 0; !rc && i < k->n_blanks; i++)
		rc =
		    add_texts(b, (const char *const[]){k->blanks[i].id, k->blanks[i].title, k->blanks[i].text}, 3, err);
	for (size_t i = 0; !rc && i < k->numbers->n_numbers; i++)
		rc =
		    add_texts(b, (const char *const[]){k->numbers->numbers[i].id, k->numbers->numbers[i].unit}, 2, err);
	for (size_t i = 0; !rc && i < k->numbers->n_limits; i++)
		rc = add_texts(b, (const char *const[]){k->numbers->limits[i].id, k->numbers->limits[i].text}, 2, err);
	for (size_t i = 0; !rc && i < k->n_sections; i++) {
		const struct section *s = &k->sections[i];
		rc = add_texts(b, (const char *const[]){s->id, s->title, s->shown, s->empty, s->text}, 5, err);
		if (!rc)
			rc = add_query(b, o, s->query, err);
	}
	return rc ? rc : touched_form(b, err);
}

int facts_open(struct facts *f, struct case_file *c, const struct report_options *o, struct err *err)
{
	*f = (struct facts){.c = c,
			    .o = o,
			    .err = err,
			    .approved = o->approved,
			    .scratch = BUF_INIT(1 * MIB),
			    .said = BUF_INIT(4 * SIDE_FILE_MAX_BYTES)};
	f->json = json_new();
	int rc = f->json ? 0 : err_nomem(err);
	/* answers name them */
	if (!rc && (!o->kind || !strcmp(o->kind, kind_worksheet.name) || o->answers.ptr))
		rc = regimes_read(f);
	if (!rc)
		rc = answers_read(f);
	return rc ? rc : digests_begin(f);
}

void facts_close(struct facts *f)
{
	digests_stop(f);
	kept_drop(f);
	touched_free(f->touched);
	numbers_free(f->counted);
	xmlFreeDoc(f->answers);
	xmlFreeDoc(f->regimes);
	zone_close(f->zone);
	holidays_free(f->holidays);
	json_free(f->json);
	buf_done(&f->scratch);
	buf_done(&f->said);
}
