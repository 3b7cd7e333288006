/* SPDX-License-Identifier: Apache-2.0 */
/* delta.c - an earlier issue of a report against the same report made anew: what came, what went, what changed
 *
 * The earlier issue is a file that somebody gives: it is valid by our own schema before anything is taken from it, and must be of this case, of
 * one kind, and for the same readers, or nothing is written. What is compared stands in both documents, so a delta tells its readers nothing
 * that the two issues do not.
 */
#include "delta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "pagetrail/policy.h"
#include "side_file.h"

/* ---- the earlier issue ---- */

int report_before_open(struct report_before **ret, struct text content, const struct report_asset *assets, size_t n,
		       struct err *err)
{
	const struct report_options o = {.assets = assets, .n_assets = n};
	unsigned char digest[SHA256_BYTES];
	struct report_before *b = calloc(1, sizeof(*b));
	*ret = NULL;
	if (!b)
		return err_nomem(err);
	int64_t issue = 0;
	int rc = side_file_read(&b->doc, &o, "report.rng", "earlier issue", content, BEFORE_MAX_BYTES, err);
	if (!rc)
		rc = sha256_once(content.ptr, content.len, digest, err);
	if (!rc) {
		sha256_hex(digest, b->sha256);
		xmlNodePtr header = side_first(xmlDocGetRootElement(b->doc), "header");
		if (!text_int64(side_text(side_first(header, "issue")), &issue) || issue > ISSUE_MAX)
			rc = err_set(err, ERR_INPUT, "the earlier issue has a number that no issue has");
	}
	if (!rc && text_is(derive_attribute(xmlDocGetRootElement(b->doc), "kind"), "delta")) {
		rc = err_set(err, ERR_INPUT, "the earlier issue is a delta itself");
		err_hint(err, "give the document that it was made from");
	}
	b->issue = (int)issue;
	if (rc)
		report_before_free(b);
	else
		*ret = b;
	return rc;
}

void report_before_free(struct report_before *b)
{
	if (!b)
		return;
	xmlFreeDoc(b->doc);
	free(b);
}

const char *report_before_kind(const struct report_before *b)
{
	struct text kind = derive_attribute(xmlDocGetRootElement(b->doc), "kind");
	bool tenant, open;
	const char *name;
	for (size_t i = 0; (name = report_kind(i, &tenant, &open)); i++)
		if (text_is(kind, name))
			return name;
	return "";
}

int report_before_issue(const struct report_before *b)
{
	return b->issue;
}

/* ---- does it belong to the one made anew? ---- */

static xmlNodePtr header_of(xmlDocPtr doc)
{
	return side_first(xmlDocGetRootElement(doc), "header");
}

static struct text said(xmlDocPtr doc, const char *name)
{
	struct text t = side_text(side_first(header_of(doc), name));
	return t.ptr ? t : TEXT("");
}

static int hex_bytes(struct text hex, unsigned char ret[SHA256_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		const char *high = hex.len == 2u * SHA256_BYTES ? strchr(digits, hex.ptr[2 * i]) : NULL;
		const char *low = high ? strchr(digits, hex.ptr[2 * i + 1]) : NULL;
		if (!low || !*high || !*low)
			return 1;
		ret[i] = (unsigned char)((high - digits) << 4 | (low - digits));
	}
	return 0;
}

/* Its journal is a part of ours, or a person gave both cases the same id. */
static int check_case(struct facts *f, struct delta *d)
{
	unsigned char head[SHA256_BYTES];
	int rc = hex_bytes(said(d->before, "journal-head"), head) ? 1 : journal_find(f->c, head, &d->after_seq, f->err);
	if (rc < 0)
		return rc;
	struct text id = said(d->before, "case-id");
	if (rc)
		d->after_seq = 0;
	if (!rc || (id.len && text_eq(id, said(d->after, "case-id"))))
		return 0;
	err_set(f->err, ERR_INPUT, "the earlier issue is of another case");
	return err_hint(f->err,
			"this one's journal has no entry that it ends with, and its id is another, or there is none");
}

static int check_readers(struct facts *f, const struct delta *d)
{
	static const char *const names[] = {"audience", "tenant", "reference", "key-id"};
	static const char *const words[] = {"for another audience", "for another tenant", "under another pseudonym",
					    "with pseudonyms of another key"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_eq(said(d->before, names[i]), said(d->after, names[i])))
			continue;
		err_set(f->err, ERR_INPUT, "the earlier issue is %s", words[i]);
		return err_hint(f->err, "what changed between two issues is for the readers of both");
	}
	return 0;
}

static int check_fits(struct facts *f, struct delta *d)
{
	if (strcmp(report_before_kind(d->earlier), d->of->name) != 0)
		return err_set(f->err, ERR_INPUT, "the earlier issue is of the kind %s, not %s",
			       report_before_kind(d->earlier), d->of->name);
	int rc = check_case(f, d);
	return rc ? rc : check_readers(f, d);
}

/* ---- comparing ---- */

static int add_change(struct delta *d, const struct delta_fact *before, const struct delta_fact *after, struct err *err)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 256;
		struct delta_change *more = reallocarray(d->changes, cap, sizeof(*more));
		if (!more)
			return err_nomem(err);
		d->changes = more;
		d->cap = cap;
	}
	d->changes[d->n++] = (struct delta_change){before, after};
	d->changed += before && after;
	d->came += !before;
	d->went += !after;
	return 0;
}

static int key_cmp(const struct delta_fact *a, const struct delta_fact *b)
{
	int c = (int)a->part - (int)b->part;
	c = c ? c : text_cmp(a->place, b->place);
	return c ? c : text_cmp(a->key, b->key);
}

struct run_of { /* facts of one key */
	const struct delta_fact *list;
	size_t n, at;
};

static struct run_of run_at(const struct delta_facts *f, size_t at)
{
	struct run_of r = {at < f->n ? &f->list[at] : NULL, 0, 0};
	while (at + r.n < f->n && !key_cmp(&f->list[at + r.n], r.list))
		r.n++;
	return r;
}

/* The next of a run that is not in the other one; both are sorted by their bodies. *m: how far the other one was looked through. */
static const struct delta_fact *next_alone(struct run_of *r, const struct run_of *other, size_t *m)
{
	while (r->at < r->n) {
		const struct delta_fact *f = &r->list[r->at++];
		int c = 1;
		while (*m < other->n && (c = text_cmp(other->list[*m].body, f->body)) < 0)
			++*m;
		if (*m == other->n || c)
			return f;
		++*m; /* one of its own each */
	}
	return NULL;
}

static int compare_run(struct delta *d, struct run_of *was, struct run_of *is, struct err *err)
{
	size_t in_is = 0, in_was = 0;
	int64_t alone = 0;
	for (int rc;;) {
		const struct delta_fact *before = next_alone(was, is, &in_is), *after = next_alone(is, was, &in_was);
		if (!before && !after)
			break;
		alone += before != NULL;
		rc = add_change(d, before, after, err);
		if (rc)
			return rc;
	}
	d->same += (int64_t)was->n - alone;
	return 0;
}

static int compare(struct delta *d, struct err *err)
{
	const struct delta_facts *a = &d->facts[0], *b = &d->facts[1];
	int rc = 0;
	for (size_t i = 0, k = 0; !rc && (i < a->n || k < b->n);) {
		struct run_of was = run_at(a, i), is = run_at(b, k);
		int c = !was.n ? 1 : !is.n ? -1 : key_cmp(was.list, is.list);
		if (c > 0)
			was.n = 0;
		if (c < 0)
			is.n = 0;
		i += was.n;
		k += is.n;
		rc = compare_run(d, &was, &is, err);
	}
	return rc;
}

void delta_free(struct delta *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(d->facts); i++)
		free(d->facts[i].list);
	free(d->changes);
	xmlFreeDoc(d->after);
	arena_done(&d->arena);
	free(d);
}

int delta_open(struct facts *f, const struct report_before *earlier, xmlDocPtr after)
{
	struct delta *d = calloc(1, sizeof(*d));
	if (!d) {
		xmlFreeDoc(after);
		return err_nomem(f->err);
	}
	*d = (struct delta){
	    .earlier = earlier, .before = earlier->doc, .after = after, .of = f->kind, .kind = kind_delta};
	d->kind.readers = f->kind->readers;
	arena_init(&d->arena, 4 * BEFORE_MAX_BYTES);
	d->facts[0].arena = d->facts[1].arena = &d->arena;
	d->facts[0].c = f->c;
	struct delta_limits other = {0}; /* what the one lacks is said by one of both */
	int rc = check_fits(f, d);
	if (!rc)
		rc = delta_facts_of(&d->facts[0], d->before, d->after, &d->limits, f->err);
	if (!rc)
		rc = delta_facts_of(&d->facts[1], d->after, d->before, &other, f->err);
	d->limits.rows += other.rows;
	d->limits.columns += other.columns;
	if (!rc)
		rc = compare(d, f->err);
	if (rc) {
		delta_free(d);
		return rc;
	}
	f->delta = d;
	return 0;
}
