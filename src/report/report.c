/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - documents, validation, renderings, files; and what leaves the house is read again before it has its name
 *
 * A run is one or more documents over the same facts. Its files get their names together, after the last of them was written and
 * searched: one that cannot be, or that tells somebody of another, and there are none.
 */
#include "pagetrail/report.h"

#include <stdlib.h>
#include <string.h>

#include "delta.h"
#include "derive.h"
#include "leak.h"
#include "output.h"
#include "pagetrail/wording.h"
#include "seal.h"

enum { DOCUMENT_MAX = 512 };

struct run {
	struct facts f;
	const struct report_options *o; /* as asked for */
	struct report_options one;      /* of the document at hand */
	struct render *render;
	struct output *output;
	struct leak *leak; /* NULL: nothing leaves the house */
	struct leak_form form;
	struct tenants *tenants;
	struct audience_key audience;
	char (*pseudonyms)[PSEUDONYM_SIZE]; /* by tenant, in their order; NULL: no key */
	struct report_searched searched;
	struct err *err;
};

static const struct kind *kind_named(const char *name)
{
	for (size_t i = 0; i < n_report_kinds; i++)
		if (!strcmp(report_kinds[i]->name, name))
			return report_kinds[i];
	return NULL;
}

const char *report_kind(size_t at, bool *tenant, bool *open)
{
	if (at >= n_report_kinds)
		return NULL;
	*tenant = report_kinds[at]->readers == READERS_TENANT;
	*open = report_kinds[at]->readers == READERS_PUBLIC;
	return report_kinds[at]->name;
}

/* --- pseudonyms --- */

static int pseudonym_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Two tenants of one pseudonym would get each other's papers. */
static int check_pseudonyms(struct run *r, size_t n)
{
	const char **sorted = calloc(n + 1, sizeof(*sorted));
	int rc = sorted ? 0 : err_nomem(r->err);
	for (size_t i = 0; !rc && i < n; i++)
		sorted[i] = r->pseudonyms[i];
	if (!rc)
		qsort(sorted, n, sizeof(*sorted), pseudonym_cmp);
	for (size_t i = 1; !rc && i < n; i++)
		if (!strcmp(sorted[i - 1], sorted[i])) {
			rc = err_set(r->err, ERR_INPUT, "two tenants have the pseudonym %s for this audience",
				     sorted[i]);
			err_hint(r->err, "name another audience, or use another key");
		}
	free(sorted);
	return rc;
}

static int make_pseudonyms(struct run *r)
{
	size_t n = tenants_count(r->tenants);
	int rc = audience_key_derive(&r->audience, r->o->key, text_of(r->o->audience), r->err);
	r->pseudonyms = rc ? NULL : calloc(n + 1, sizeof(*r->pseudonyms));
	if (!rc && !r->pseudonyms)
		rc = err_nomem(r->err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = pseudonym_of(&r->audience, tenants_name(r->tenants, i), r->pseudonyms[i], r->err);
	return rc ? rc : check_pseudonyms(r, n);
}

/* --- what leaves the house is searched --- */

static int row_of_tenant(struct run *r, uint32_t *ret)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret = 0;
	if (!r->f.tenant.ptr)
		return 0;
	int rc = sql_prepare(&s, r->f.c, "SELECT tenant FROM tenant WHERE name = ?1", r->err);
	if (!rc)
		rc = sql_text(s, 1, r->f.tenant, r->err);
	if (!rc)
		rc = sql_step(s, r->err);
	if (rc == 1)
		*ret = (uint32_t)sql_get_int(s, 0);
	return MIN(rc, 0);
}

/* The earlier issue of a delta is a file that a person gave. */
static bool in_before(struct run *r, uint32_t own)
{
	struct leak_hit ignored;
	struct err none = {0};
	xmlChar *bytes = NULL;
	int n = 0;
	if (r->o->before)
		xmlDocDumpMemoryEnc(r->o->before->doc, &bytes, &n, "UTF-8");
	struct text t = {(const char *)bytes, (size_t)n};
	bool found = bytes && (leak_search(r->leak, t, own, &ignored, &none) == 1 ||
			       leak_search_document(r->leak, &r->form, t, own, &ignored, &none) == 1);
	xmlFree(bytes);
	return found;
}

static int say_hit(struct run *r, const char *name, const struct leak_hit *hit)
{
	static const char *const what[] = {[LEAK_TENANT] = "the name of another tenant",
					   [LEAK_PSEUDONYM] = "the pseudonym of another tenant",
					   [LEAK_REQUEST] = "a request id of another tenant",
					   [LEAK_TIME] = "an exact time of another tenant"};
	struct leak_hit ignored;
	struct err none = {0};
	CLEANUP(buf_done) struct buf shown = BUF_INIT(4 * KIB);
	CLEANUP(buf_done) struct buf said = BUF_INIT(2 * MIB + SIDE_FILE_MAX_BYTES);
	uint32_t own;
	int rc = row_of_tenant(r, &own);
	/* a person's text, or a fault of ours? */
	if (!rc)
		rc = buf_add_text(&said, r->o->note, r->err);
	if (!rc)
		rc = buf_add_text(&said, r->o->answers, r->err);
	if (!rc)
		rc = buf_printf(&said, r->err, "\n%s\n", r->one.audience);
	static const char *const info[] = {"id", "title"};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(info); i++)
		if (!case_info_get(r->f.c, info[i], &said, &none))
			rc = buf_add_char(&said, '\n', r->err);
	if (!rc)
		rc = text_visible(hit->found, 60, &shown, r->err);
	if (rc)
		return rc;
	bool person = leak_search(r->leak, buf_text(&said), own, &ignored, &none) == 1 ||
		      leak_search_words(r->leak, buf_text(&said), own, r->f.reference, &ignored, &none) == 1 ||
		      in_before(r, own);
	err_set(r->err, person ? ERR_INPUT : ERR_BUG, "%s would tell %s: '%s'; nothing was kept", name, what[hit->kind],
		shown.len ? shown.ptr : "");
	return err_hint(r->err, person ? "it stands in a text that a person gave: the note, the answers, the audience, "
					 "the earlier issue, or the title or id of the case; --waive NAME=REASON where "
					 "it is a common word"
				       : "do not hand out what an earlier run may have written");
}

/* Read back as it was written: its bytes, its name, and what common names need, its values. A workbook is compressed: read are the
 * words of it, since compressed bytes hold short names by chance. */
static int search(struct run *r, const char *name)
{
	CLEANUP(buf_done) struct buf back = BUF_INIT(1024 * MIB), words = BUF_INIT(1024 * MIB);
	struct leak_hit hit;
	struct text bytes;
	uint32_t own;
	int rc = output_read_back(r->output, &back, r->err);
	bool workbook = text_ends(text_of(name), ".xlsx");
	if (!rc)
		rc = row_of_tenant(r, &own);
	r->searched.files++;
	r->searched.bytes += back.len;
	if (!rc && workbook)
		rc = xlsx_words(buf_text(&back), &words, r->err);
	bytes = workbook ? buf_text(&words) : buf_text(&back);
	/* the first of a document's files, of which all others are made */
	if (!rc && text_ends(text_of(name), ".xml") && !text_ends(text_of(name), ".iodef.xml"))
		rc = leak_search_document(r->leak, &r->form, bytes, own, &hit, r->err);
	if (!rc)
		rc = leak_search(r->leak, bytes, own, &hit, r->err);
	/* whatever form says it, people said it */
	if (!rc && text_ends(text_of(name), ".xml"))
		rc = leak_search_words(r->leak, buf_text(&r->f.said), own, r->f.reference, &hit, r->err);
	if (!rc && !r->f.reference)
		rc = leak_common(r->leak, text_of(name), r->err);
	if (!rc)
		rc = leak_search(r->leak, text_of(name), own, &hit, r->err);
	return rc == 1 ? say_hit(r, name, &hit) : rc;
}

/* The values that each form has, and the words of all that is made of it: nobody's. */
static int add_forms(struct run *r)
{
	CLEANUP(buf_done) struct buf form = BUF_INIT(16 * MIB);
	int rc = derive_form(&form, r->err);
	for (size_t i = 0; !rc && i < r->o->n_assets; i++)
		rc = leak_common(r->leak, text_of(r->o->assets[i].text), r->err);
	struct text rest = asset_find(r->o->assets, r->o->n_assets, "report.rng"), part;
	/* <value>counted</value> */
	while (!rc && text_split(&rest, '>', &part))
		rc = leak_form_add(&r->form, text_sub(part, 0, text_find_char(part, '<', 0)), r->err);
	for (size_t i = 0; !rc && i < n_report_kinds; i++)
		if (report_kinds[i]->readers != READERS_OPERATOR || report_kinds[i] == &kind_delta)
			rc = facts_form(report_kinds[i], r->o, &form, r->err);
	if (!rc)
		rc = delta_form(&form, r->err);
	if (!rc)
		rc = leak_form_add(&r->form, buf_text(&form), r->err);
	if (!rc)
		rc = leak_common(r->leak, buf_text(&form), r->err);
	return rc;
}

static int open_leak(struct run *r)
{
	int rc = leak_open(&r->leak, r->err);
	if (!rc && (r->o->note.len || r->o->answers.ptr))
		leak_fold_ids(r->leak);
	if (!rc)
		rc = leak_load(r->leak, &r->f, r->pseudonyms ? &r->audience : NULL, r->err);
	if (!rc)
		rc = add_forms(r);
	for (size_t i = 0; !rc && i < r->o->n_waived; i++)
		if (!leak_waive(r->leak, r->o->waived[i]))
			rc = err_set(r->err, ERR_INPUT, "no tenant '%.*s' is searched for: nothing to waive",
				     TEXT_ARG(r->o->waived[i]));
	if (!rc)
		leak_allow_time(r->leak, r->o->as_of_ns);
	return rc;
}

/* --- one document --- */

static int add_file(struct run *r, const char *folder, const char *suffix, struct text bytes)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(4 * KIB);
	int rc = buf_printf(&name, r->err, "%s%s%s%s%s-%d.%s", r->f.kind->name, r->f.delta ? "-" : "",
			    r->f.delta ? r->f.delta->of->name : "", r->f.reference ? "-" : "",
			    r->f.reference ? r->f.reference : "", r->o->issue, suffix);
	if (!rc)
		rc = output_add(r->output, folder, name.ptr, bytes, r->err);
	return !rc && r->f.kind->readers != READERS_OPERATOR ? search(r, name.ptr) : rc;
}

static int add_derived(struct run *r, const char *folder, const char *suffix)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT((size_t)DOCUMENT_MAX * MIB);
	int rc = !strcmp(suffix, "html")   ? render_apply(r->render, r->f.doc, r->f.kind->sheet, &b, r->err)
		 : !strcmp(suffix, "json") ? derive_json(r->f.doc, &b, r->err)
		 : !strcmp(suffix, "xlsx") ? derive_xlsx(r->f.doc, r->o->as_of_ns, &b, r->err)
					   : derive_text(r->f.doc, !strcmp(suffix, "md"), &b, r->err);
	return rc ? rc : add_file(r, folder, suffix, buf_text(&b));
}

/* An incident in the shape that teams exchange (RFC 7970). */
static int add_iodef(struct run *r, const char *folder)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT((size_t)DOCUMENT_MAX * MIB);
	if (r->o->as_of_ns == TIME_UNKNOWN) {
		err_set(r->err, ERR_INPUT, "IODEF asks for a time, and this case has none");
		return err_hint(r->err, "give one with --as-of");
	}
	int rc = render_apply(r->render, r->f.doc, "iodef.xsl", &b, r->err);
	return rc ? rc : add_file(r, folder, "iodef.xml", buf_text(&b));
}

/* Behind its files: what shows that they are as they were written. */
static int add_seal(struct run *r, const char *folder, size_t first)
{
	CLEANUP(buf_done) struct buf sums = BUF_INIT(MIB);
	CLEANUP(buf_done) struct buf envelope = BUF_INIT(MIB), request = BUF_INIT(MIB);
	int rc = seal_sums(r->output, first, &sums, r->err);
	if (!rc && r->o->sign)
		rc = seal_statement(&r->f, r->output, first, &envelope, r->err);
	if (!rc)
		rc = add_file(r, folder, "sha256", buf_text(&sums));
	if (!rc && envelope.len)
		rc = add_file(r, folder, "dsse.json", buf_text(&envelope));
	if (rc || !report_form(text_of(r->o->forms ? r->o->forms : ""), "tsq"))
		return rc;
	rc = seal_request(buf_text(&sums), &request, r->err);
	return rc ? rc : add_file(r, folder, "tsq", buf_text(&request));
}

/* Numbers, and each table under the name of its section; the second one of a section is the list that the first sums up. */
static int add_tables(struct run *r, const char *folder, bool people)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT((size_t)DOCUMENT_MAX * MIB);
	const char *suffix = people ? "sheet.csv" : "csv";
	char name[256];
	int rc = derive_csv_numbers(r->f.doc, people, &b, r->err);
	snprintf(name, sizeof(name), "numbers.%s", suffix);
	if (!rc)
		rc = add_file(r, folder, name, buf_text(&b));
	for (xmlNodePtr s = xmlDocGetRootElement(r->f.doc)->children; s && !rc; s = s->next) {
		xmlAttrPtr id = s->type == XML_ELEMENT_NODE && !strcmp((const char *)s->name, "section")
				    ? xmlHasProp(s, XC("id"))
				    : NULL;
		int tables = 0;
		for (xmlNodePtr t = id ? s->children : NULL; t && !rc; t = t->next) {
			if (t->type != XML_ELEMENT_NODE || strcmp((const char *)t->name, "table") != 0)
				continue;
			buf_clear(&b);
			snprintf(name, sizeof(name), "%.100s%s.%s", (const char *)id->children->content,
				 tables++ ? "-list" : "", suffix);
			rc = derive_csv(t, people, &b, r->err);
			if (!rc)
				rc = add_file(r, folder, name, buf_text(&b));
		}
	}
	return rc;
}

static int add_document(struct run *r, const char *folder)
{
	static const char *const suffixes[] = {"html", "json", "md", "txt", "xlsx"};
	size_t first = output_count(r->output);
	int rc = render_validate(r->render, r->f.doc, r->err);
	if (rc)
		return rc;
	xmlChar *bytes = NULL;
	int n = 0;
	xmlDocDumpFormatMemoryEnc(r->f.doc, &bytes, &n, "UTF-8", 1);
	if (!bytes)
		return err_nomem(r->err);
	rc = add_file(r, folder, "xml", (struct text){(const char *)bytes, (size_t)n});
	xmlFree(bytes);
	struct text forms = text_of(r->o->forms ? r->o->forms : "");
	/* a tenant looks its rows up in its own systems: a letter has them for programs too */
	bool letter = r->f.kind->readers == READERS_TENANT;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(suffixes); i++)
		if (!i || (letter && !strcmp(suffixes[i], "json")) || report_form(forms, suffixes[i]))
			rc = add_derived(r, folder, suffixes[i]);
	if (!rc && r->f.kind->incident && report_form(forms, "iodef"))
		rc = add_iodef(r, folder);
	if (!rc && (letter || report_form(forms, "csv")))
		rc = add_tables(r, folder, false);
	if (!rc && report_form(forms, "sheet"))
		rc = add_tables(r, folder, true);
	return rc ? rc : add_seal(r, folder, first);
}

bool report_form(struct text list, const char *form)
{
	struct text part;
	while (text_split(&list, ',', &part))
		if (text_is(part, form))
			return true;
	return false;
}

/* tenant: its place; the count of all: none. */
static int make_document(struct run *r, const struct kind *k, size_t tenant)
{
	bool one = tenant < tenants_count(r->tenants);
	r->one = *r->o;
	if (!r->o->kind && k->readers != READERS_TENANT)
		r->one.audience = k->readers == READERS_PUBLIC ? "public" : "internal";
	/* both belong to the delta, not to what is compared */
	if (r->o->before) {
		r->one.note = (struct text){NULL, 0};
		r->one.approved = false;
	}
	buf_clear(&r->f.said);
	r->f.o = &r->one;
	r->f.kind = k;
	r->f.tenant = one ? tenants_name(r->tenants, tenant) : (struct text){NULL, 0};
	r->f.reference = one && r->pseudonyms ? r->pseudonyms[tenant] : NULL;
	return case_stopped(r->f.c) ? err_set(r->err, ERR_INTERRUPTED, "stopped") : facts_make(&r->f);
}

static int end_document(struct run *r, int rc, const char *folder)
{
	if (!rc)
		rc = add_document(r, folder);
	xmlFreeDoc(r->f.doc);
	r->f.doc = NULL;
	return rc;
}

static int document(struct run *r, const struct kind *k, size_t tenant, const char *folder)
{
	return end_document(r, make_document(r, k, tenant), folder);
}

/* The document itself is made, and left for what differs from the earlier issue. */
static int differences(struct run *r, const struct kind *k, size_t tenant)
{
	int rc = make_document(r, k, tenant);
	if (!rc)
		rc = render_validate(r->render, r->f.doc, r->err);
	if (rc)
		return end_document(r, rc, "");
	xmlDocPtr now = r->f.doc;
	r->f.doc = NULL;
	rc = delta_open(&r->f, r->o->before, now);
	if (rc)
		return rc;
	r->one.note = r->o->note; /* beside what was said in what is compared */
	r->one.approved = r->o->approved;
	r->f.kind = &r->f.delta->kind;
	rc = end_document(r, facts_make(&r->f), "");
	r->f.kind = r->f.delta->of;
	delta_free(r->f.delta);
	r->f.delta = NULL;
	return rc;
}

/* --- all of them --- */

/* Which letters a tenant gets. E5 and C5 alone: the one that says so. */
struct sides {
	bool exposed, recipient, open;
};

static int sides_of(struct run *r, struct sides *sides, const char *sql)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = kept_prepare(&s, &r->f, sql, r->err);
	while (!rc && (rc = sql_step(s, r->err)) == 1) {
		size_t at = tenants_find(r->tenants, sql_get_text(s, 0));
		sides[at].recipient |= sql_get_int(s, 1) > 0;
		sides[at].exposed |= sql_get_int(s, 2) > 0;
		sides[at].open |= sql_get_int(s, 3) > 0;
		rc = 0;
	}
	return rc;
}

static int csv_cell(struct buf *b, struct text t, char end, struct err *err)
{
	CLEANUP(buf_done) struct buf shown = BUF_INIT(64 * KIB);
	int rc = text_visible(t, CELL_MAX_BYTES, &shown, err);
	if (!rc)
		rc = derive_csv_cell(b, buf_text(&shown), err);
	return rc ? rc : buf_add_char(b, end, err);
}

/* Who gets what: for the operator alone. */
static int add_deliveries(struct run *r, const struct sides *sides)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(1024 * MIB);
	char name[64], letters[64];
	int rc = buf_add_text(&b, TEXT("pseudonym,tenant,notices\n"), r->err);
	for (size_t i = 0; !rc && i < tenants_count(r->tenants); i++) {
		bool none = !sides[i].exposed && !sides[i].recipient && sides[i].open;
		snprintf(letters, sizeof(letters), "%s%s%s", sides[i].exposed ? "notice-exposed " : "",
			 sides[i].recipient ? "notice-recipient " : "", none ? "notice-none " : "");
		if (!*letters)
			continue;
		rc = csv_cell(&b, text_of(r->pseudonyms[i]), ',', r->err);
		if (!rc)
			rc = csv_cell(&b, tenants_name(r->tenants, i), ',', r->err);
		if (!rc)
			rc = csv_cell(&b, text_trim(text_of(letters)), '\n', r->err);
	}
	snprintf(name, sizeof(name), "deliveries-%d.csv", r->o->issue);
	return rc ? rc : output_add(r->output, "internal", name, buf_text(&b), r->err);
}

static int notices(struct run *r, const struct sides *sides)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < tenants_count(r->tenants); i++) {
		const struct sides *s = &sides[i];
		if (s->exposed)
			rc = document(r, &kind_exposed, i, "tenants");
		if (!rc && s->recipient)
			rc = document(r, &kind_recipient, i, "tenants");
		if (!rc && s->open && !s->exposed && !s->recipient)
			rc = document(r, &kind_none, i, "tenants");
	}
	return rc;
}

static int all_documents(struct run *r)
{
	size_t n = tenants_count(r->tenants);
	struct sides *sides = calloc(n + 1, sizeof(*sides));
	int rc = sides ? 0 : err_nomem(r->err);
	if (!rc)
		rc = sides_of(r, sides,
			      "SELECT tenant, total(class IN ('C1', 'C2', 'C3')), 0, total(class = 'C5') FROM "
			      "findings('C1,C2,C3,C5') WHERE tenant IS NOT NULL GROUP BY tenant");
	if (!rc)
		rc =
		    sides_of(r, sides,
			     "SELECT tenant, 0, total(class IN ('E1', 'E2', 'E3')), total(class = 'E5') FROM exposed() "
			     "WHERE class <> 'E4' AND tenant IS NOT NULL GROUP BY tenant");
	for (size_t i = 0; !rc && i < n_report_kinds; i++) {
		bool says = report_kinds[i]->readers != READERS_TENANT;
		if (says && report_kinds[i]->says)
			rc = report_kinds[i]->says(&r->f, &says);
		if (!rc && says)
			rc = document(r, report_kinds[i], n,
				      report_kinds[i]->readers == READERS_PUBLIC ? "public" : "internal");
	}
	kept_make(&r->f);
	if (!rc)
		rc = notices(r, sides);
	if (!rc)
		rc = add_deliveries(r, sides);
	free(sides);
	return rc;
}

/* --- a run --- */

struct note {
	bool approved;
	struct err *err;
};

/* The first rule that a person's text breaks. A blank that is left in a draft is its own affair. */
static int refuse_words(void *ctx, const struct wording_fault *f)
{
	const struct note *n = ctx;
	if (!n->approved && !strcmp(f->rule, "blank"))
		return 0;
	int rc =
	    err_set(n->err, ERR_INPUT, "the note says '%.*s' (rule %s)", TEXT_ARG(text_sub(f->words, 0, 80)), f->rule);
	err_hint(n->err, "%s", f->advice);
	return rc;
}

static int check_note(const struct report_options *o, struct err *err)
{
	struct note n = {o->approved, err};
	if (!text_utf8_valid(o->note))
		return err_set(err, ERR_INPUT, "the note is not UTF-8");
	if (!text_says_something(o->note))
		return err_set(err, ERR_INPUT, "the note says nothing");
	return wording_check(o->note, WORDING_TEXT, refuse_words, &n, err);
}

static int check(const struct kind *k, const struct report_options *o, struct err *err)
{
	if (o->kind && !k)
		return err_set(err, ERR_USAGE, "no report kind '%s'", o->kind);
	if (k && (k->readers == READERS_TENANT) != (o->tenant != NULL))
		return err_set(err, ERR_USAGE, o->tenant ? "%s is for no single tenant" : "%s is for one tenant",
			       o->kind);
	if ((!k || k->readers == READERS_TENANT) && !o->key)
		return err_set(err, ERR_USAGE, "papers for tenants need a key for their pseudonyms");
	if (k && k->readers == READERS_OPERATOR && o->n_waived)
		return err_set(err, ERR_USAGE, "nothing is searched for in %s: there is nothing to waive", o->kind);
	if (o->before && o->issue <= o->before->issue) {
		err_set(err, ERR_USAGE, "this is issue %d, and the earlier one is issue %d", o->issue,
			o->before->issue);
		return err_hint(err, "--issue takes a later number");
	}
	if (o->before && report_form(text_of(o->forms ? o->forms : ""), "iodef"))
		return err_set(err, ERR_USAGE, "a delta tells of no whole incident: it cannot be IODEF");
	if (k && !k->incident && report_form(text_of(o->forms ? o->forms : ""), "iodef")) {
		err_set(err, ERR_USAGE, "%s tells of no whole incident: it cannot be IODEF", o->kind);
		return err_hint(err, "scope and public can");
	}
	return o->note.len ? check_note(o, err) : 0;
}

static int make(struct run *r, const struct kind *k)
{
	bool inside = k && k->readers == READERS_OPERATOR;
	size_t tenant = tenants_count(r->tenants);
	if (r->o->tenant) {
		tenant = tenants_find(r->tenants, text_of(r->o->tenant));
		if (tenant == tenants_count(r->tenants))
			return err_set(r->err, ERR_INPUT, "no tenant '%s' in this case", r->o->tenant);
	}
	int rc = r->o->key && !inside ? make_pseudonyms(r) : 0;
	if (!rc)
		rc = render_open(&r->render, r->o->assets, r->o->n_assets, r->err);
	if (!rc && !inside)
		rc = open_leak(r);
	if (!rc)
		rc = output_open(&r->output, r->f.c, r->o->out_dir, r->err);
	if (rc)
		return rc;
	if (r->o->tenant)
		kept_make(&r->f);
	return !k ? all_documents(r) : r->o->before ? differences(r, k, tenant) : document(r, k, tenant, "");
}

static int finish(struct run *r)
{
	const struct report_options *o = r->o;
	const char *path;
	int rc = output_commit(r->output, r->err);
	if (r->leak) {
		r->searched.names = leak_names(r->leak);
		r->searched.left_out = leak_left_out(r->leak);
	}
	for (size_t i = 0; !rc && o->on_file && (path = output_path(r->output, i)); i++)
		rc = o->on_file(o->ctx, text_of(path));
	return !rc && r->leak && o->on_searched ? o->on_searched(o->ctx, &r->searched) : rc;
}

int report_write(struct case_file *c, const struct report_options *o, struct err *err)
{
	const struct kind *k = o->kind ? kind_named(o->kind) : NULL;
	struct run r = {.o = o, .err = err};
	int rc = check(k, o, err);
	if (rc)
		return rc;
	rc = facts_open(&r.f, c, o, err);
	if (!rc)
		rc = tenants_open(&r.tenants, c, "SELECT name FROM tenant ORDER BY name", err);
	if (!rc)
		rc = make(&r, k);
	if (!rc)
		rc = finish(&r);
	output_close(r.output);
	render_close(r.render);
	leak_free(r.leak);
	leak_form_done(&r.form);
	tenants_free(r.tenants);
	free(r.pseudonyms);
	facts_close(&r.f);
	return rc;
}
