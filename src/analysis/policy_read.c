/* SPDX-License-Identifier: Apache-2.0 */
/* policy_read.c - an OSV document becomes a policy, or is refused with the place of what is wrong
 *
 * OSV schema 1.7 (github.com/ossf/osv-schema, validation/schema.json) has the members, their types, and which exclude each other.
 * Those that say nothing about versions are not looked at.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"
#include "policy_work.h"

size_t enter(struct reading *r, const char *format, ...)
{
	size_t was = strlen(r->place);
	va_list args;
	va_start(args, format);
	vsnprintf(r->place + was, sizeof(r->place) - was, *r->place ? format : format + (*format == '.'), args);
	va_end(args);
	return was;
}

void leave(struct reading *r, size_t was)
{
	r->place[was] = '\0';
}

int wrong(struct reading *r, const char *key, const char *expected)
{
	return err_set(r->err, ERR_INPUT, "the policy is wrong at %s%s%s: %s is expected",
		       *r->place || *key ? r->place : "the top", *r->place && *key ? "." : "", key, expected);
}

void warning(struct reading *r, const char *format, ...)
{
	char said[2 * PLACE_MAX + 300];
	va_list args;
	if (!r->warn || r->warnings > POLICY_WARNINGS_MAX)
		return;
	va_start(args, format);
	int n = vsnprintf(said, sizeof(said),
			  r->warnings == POLICY_WARNINGS_MAX ? "the policy has more that is not read" : format, args);
	va_end(args);
	r->warnings++;
	r->warn(r->ctx, (struct text){said, MIN((size_t)n, sizeof(said) - 1)});
}

static int odd_key(void *ctx, struct text key, const char *again)
{
	struct reading *r = ctx;
	if (again) /* which of them is meant, nobody can know */
		return wrong(r, again, "one member of that name");
	warning(r, "the key '%.*s' of %s%s is not known, and not read", (int)MIN(key.len, (size_t)200), key.ptr,
		*r->place ? "" : "the policy's top", r->place);
	return 0;
}

int check_keys(struct reading *r, struct json_value v, const char *const *known, size_t n_known)
{
	return json_keys(v, known, n_known, odd_key, r);
}

static size_t count(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;
	size_t n = 0;
	while (json_next(&it, &key, &v))
		n++;
	return n;
}

int take_list(struct reading *r, struct json_value v, const char *key, struct json_value *ret, size_t *ret_n)
{
	char expected[64];
	*ret = json_get(v, key);
	*ret_n = 0;
	if (!json_given(*ret))
		return 0;
	if (json_type(*ret) != JSON_ARRAY)
		return wrong(r, key, "a list");
	*ret_n = count(*ret);
	snprintf(expected, sizeof(expected), "a list of at most %d", POLICY_LIST_MAX);
	return *ret_n > POLICY_LIST_MAX ? wrong(r, key, expected) : 0;
}

void *policy_array(struct reading *r, size_t n, size_t size)
{
	return arena_array(&r->p->arena, MAX(n, (size_t)1), size);
}

int take_text(struct reading *r, struct json_value v, const char *key, const char *expected, struct text *ret)
{
	struct text t;
	if (!json_string(v, &t) || !t.len || t.len > NAME_MAX_BYTES || memchr(t.ptr, 0, t.len))
		return wrong(r, key, expected);
	*ret = arena_text(&r->p->arena, t);
	return ret->ptr ? 0 : err_nomem(r->err);
}

int take_texts(struct reading *r, struct json_value v, const char *key, struct text **ret, size_t *ret_n)
{
	struct json_value list, one;
	struct text name;
	size_t n;
	*ret_n = 0;
	int rc = take_list(r, v, key, &list, &n);
	if (rc < 0 || !n)
		return rc;
	*ret = policy_array(r, n, sizeof(**ret));
	if (!*ret)
		return err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &name, &one);) {
		size_t was = enter(r, ".%s[%zu]", key, *ret_n);
		rc = take_text(r, one, "", "a text of 1 to 256 bytes", &(*ret)[(*ret_n)++]);
		if (rc == 0)
			leave(r, was);
	}
	return rc;
}

/* --- ranges --- */

static bool is_hash(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!t.ptr[i] || !strchr("0123456789abcdef", t.ptr[i]))
			return false;
	return t.len == 40 || t.len == 64;
}

static int take_event(struct reading *r, struct json_value v, bool git, struct range_event *ret)
{
	static const char *const keys[] = {"introduced", "fixed", "last_affected", "limit"};
	static const char expected[] = "an object with one of introduced, fixed, last_affected and limit";
	int rc = json_is_object(v) && count(v) == 1 ? 0 : wrong(r, "", expected);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(keys); i++) {
		struct json_value value = json_get(v, keys[i]);
		if (json_type(value) == JSON_NONE)
			continue;
		ret->kind = (enum range_event_kind)i;
		rc = take_text(r, value, keys[i], "a text", &ret->text);
		ret->zero = ret->kind == RANGE_INTRODUCED && text_is(ret->text, "0");
		ret->star = ret->kind == RANGE_LIMIT && text_is(ret->text, "*");
		if (rc || ret->zero || ret->star)
			return rc;
		if (git)
			return is_hash(ret->text) ? 0 : wrong(r, keys[i], "a whole commit hash, 40 or 64 hex digits,");
		return version_read(ret->text, &ret->version) ? 0 : wrong(r, keys[i], "a version (PEP 440)");
	}
	return rc ? rc : wrong(r, "", expected);
}

/* In the order of versions. At one version a fix comes before a beginning, so that the beginning counts; the last affected one
 * comes behind it, so that {introduced 1.0, last_affected 1.0} is that version alone. */
static int event_cmp(const void *a, const void *b)
{
	static const int ranks[] = {
	    [RANGE_FIXED] = 0, [RANGE_INTRODUCED] = 1, [RANGE_LAST_AFFECTED] = 2, [RANGE_LIMIT] = 3};
	const struct range_event *x = a, *y = b;
	int places = (y->zero - x->zero) + (x->star - y->star);
	int c = places || x->zero || x->star ? places : version_cmp(&x->version, &y->version);
	return c ? c : ranks[x->kind] - ranks[y->kind];
}

static int take_range(struct reading *r, struct json_value v, struct policy_range *ret)
{
	static const char *const keys[] = {"type", "repo", "events", "database_specific"};
	struct json_value list, one;
	struct text type, key;
	size_t n;
	bool seen[4] = {false};
	if (!json_is_object(v))
		return wrong(r, "", "an object with type and events");
	if (!json_string(json_get(v, "type"), &type) ||
	    (!text_is(type, "ECOSYSTEM") && !text_is(type, "SEMVER") && !text_is(type, "GIT")))
		return wrong(r, "type", "ECOSYSTEM, SEMVER or GIT");
	ret->git = text_is(type, "GIT");
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		rc = take_list(r, v, "events", &list, &n);
	if (rc == 0 && !n)
		rc = wrong(r, "events", "a list of at least one event");
	ret->events = rc == 0 ? policy_array(r, n, sizeof(*ret->events)) : NULL;
	if (rc == 0 && !ret->events)
		rc = err_nomem(r->err);
	for (struct json_iter it = rc == 0 ? json_iter(list) : (struct json_iter){0};
	     rc == 0 && json_next(&it, &key, &one);) {
		size_t was = enter(r, ".events[%zu]", ret->n);
		rc = take_event(r, one, ret->git, &ret->events[ret->n]);
		if (rc == 0) {
			leave(r, was);
			seen[ret->events[ret->n++].kind] = true;
		}
	}
	if (rc == 0 && !seen[RANGE_INTRODUCED])
		rc = wrong(r, "events", "an event with introduced");
	if (rc == 0 && seen[RANGE_FIXED] && seen[RANGE_LAST_AFFECTED])
		rc = wrong(r, "events", "either fixed or last_affected, not both,");
	if (rc == 0 && !ret->git)
		qsort(ret->events, ret->n, sizeof(*ret->events), event_cmp);
	return rc;
}

/* --- entries --- */

/* 1: it speaks of no Python package, and is not read. */
static int take_package(struct reading *r, struct json_value v, struct policy_entry *ret)
{
	static const char *const keys[] = {"ecosystem", "name", "purl"};
	struct json_value package = json_get(v, "package");
	struct text ecosystem;
	if (!json_given(package)) {
		warning(r, "%s of the policy names no package, and is not read", r->place);
		return 1;
	}
	if (!json_is_object(package))
		return wrong(r, "package", "an object with ecosystem and name");
	size_t was = enter(r, ".package");
	int rc = check_keys(r, package, keys, ARRAY_SIZE(keys));
	if (rc == 0 && !json_string(json_get(package, "ecosystem"), &ecosystem))
		rc = wrong(r, "ecosystem", "the name of an ecosystem, such as PyPI,");
	if (rc == 0)
		rc = take_text(r, json_get(package, "name"), "name", "the name of a package", &ret->package);
	if (rc < 0)
		return rc;
	leave(r, was);
	if (text_is(ecosystem, "PyPI") || text_starts(ecosystem, "PyPI:"))
		return 0;
	warning(r, "%s of the policy is of the ecosystem '%.*s', not PyPI, and is not read", r->place,
		(int)MIN(ecosystem.len, (size_t)100), ecosystem.ptr);
	return 1;
}

static int take_ranges(struct reading *r, struct json_value v, struct policy_entry *ret)
{
	struct json_value list, one;
	struct text key;
	size_t n;
	int rc = take_list(r, v, "ranges", &list, &n);
	if (rc < 0 || !n)
		return rc;
	ret->ranges = policy_array(r, n, sizeof(*ret->ranges));
	if (!ret->ranges)
		return err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &key, &one);) {
		size_t was = enter(r, ".ranges[%zu]", ret->n_ranges);
		rc = take_range(r, one, &ret->ranges[ret->n_ranges]);
		if (rc == 0) {
			leave(r, was);
			ret->n_ranges++;
		}
	}
	return rc;
}

static int take_entry(struct reading *r, struct json_value v, const struct policy_needs *defaults,
		      struct policy_entry *ret)
{
	static const char *const keys[] = {"package",  "severity",           "ranges",
					   "versions", "ecosystem_specific", "database_specific"};
	struct json_value own = json_get(v, "database_specific");
	ret->needs = *defaults;
	if (!json_is_object(v))
		return wrong(r, "", "an object with package");
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		rc = take_package(r, v, ret);
	if (rc == 0)
		rc = take_texts(r, v, "versions", &ret->versions, &ret->n_versions);
	if (rc == 0)
		rc = take_ranges(r, v, ret);
	if (rc == 0 && !ret->n_ranges && !ret->n_versions)
		rc = wrong(r, "", "a list of ranges or of versions");
	if (rc)
		return rc;
	if (json_given(own) && !json_is_object(own))
		return wrong(r, "database_specific", "an object");
	size_t was = enter(r, ".database_specific");
	rc = take_needs(r, json_get(own, "pagetrail"), &ret->needs);
	if (rc == 0)
		leave(r, was);
	return rc;
}

static int take_entries(struct reading *r, struct json_value doc, const struct policy_needs *defaults)
{
	struct json_value list, one;
	struct text key;
	size_t n, place = 0;
	int rc = take_list(r, doc, "affected", &list, &n);
	if (rc == 0 && !n)
		rc = wrong(r, "affected", "a list of at least one package");
	if (rc == 0 && n > POLICY_ENTRIES_MAX)
		rc = wrong(r, "affected", "a list of at most 64");
	if (rc < 0)
		return rc;
	r->p->entries = policy_array(r, n, sizeof(*r->p->entries));
	if (!r->p->entries)
		return err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &key, &one); place++) {
		struct policy_entry *e = &r->p->entries[r->p->n];
		size_t was = enter(r, ".affected[%zu]", place);
		*e = (struct policy_entry){.place = place};
		rc = take_entry(r, one, defaults, e);
		if (rc < 0)
			return rc;
		r->p->n += rc == 0;
		rc = 0;
		leave(r, was);
	}
	return r->p->n ? rc : wrong(r, "affected", "at least one package of the ecosystem PyPI");
}

static int take_times(struct reading *r, struct json_value doc)
{
	static const char *const keys[] = {"modified", "published"};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct json_value v = json_get(doc, keys[i]);
		struct text t = {0};
		struct stamp at;
		size_t used;
		if (i && !json_given(v))
			continue;
		if (!json_string(v, &t) || t.len > NAME_MAX_BYTES || !stamp_parse_iso(t, &at, &used) || used != t.len ||
		    at.quality != STAMP_ZONED)
			return wrong(r, keys[i], "a time such as 2026-09-09T14:00:00Z");
	}
	return json_given(json_get(doc, "withdrawn")) ? wrong(r, "withdrawn", "a policy that was not withdrawn") : 0;
}

/* "CVE-2026-12345" (the CSAF 2.0 schema has the same). */
static bool is_cve(struct text t)
{
	int64_t n;
	if (t.len < 13 || !text_starts(t, "CVE-") || t.ptr[8] != '-')
		return false;
	for (size_t i = 4; i < t.len; i++)
		if (i != 8 && (t.ptr[i] < '0' || t.ptr[i] > '9'))
			return false;
	return text_int64(text_from(t, 9), &n);
}

/* What others know it by, and what it is in words. */
static int take_words(struct reading *r, struct json_value doc)
{
	struct text *aliases = NULL, t = TEXT("");
	size_t n;
	int rc = take_texts(r, doc, "aliases", &aliases, &n);
	if (rc < 0)
		return rc;
	if (is_cve(r->p->id))
		r->p->cve = r->p->id;
	for (size_t i = 0; !r->p->cve.len && i < n; i++)
		if (is_cve(aliases[i]))
			r->p->cve = aliases[i];
	struct json_value v = json_get(doc, "summary");
	if (!json_given(v))
		return 0;
	if (!json_string(v, &t) || t.len > POLICY_SUMMARY_MAX_BYTES)
		return wrong(r, "summary", "a text of one line");
	r->p->summary = arena_text(&r->p->arena, t);
	return r->p->summary.ptr || !t.len ? 0 : err_nomem(r->err);
}

static int take_document(struct reading *r, struct json_value doc)
{
	static const char *const keys[] = {"schema_version", "id",      "modified",         "published",
					   "withdrawn",      "aliases", "related",          "upstream",
					   "summary",        "details", "severity",         "affected",
					   "references",     "credits", "database_specific"};
	struct policy_needs defaults = {.max_age_ns = TIME_UNKNOWN};
	struct json_value own = json_get(doc, "database_specific");
	if (!json_is_object(doc))
		return wrong(r, "", "an OSV document, an object,");
	int rc = check_keys(r, doc, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		rc = take_text(r, json_get(doc, "id"), "id", "a text of 1 to 256 bytes", &r->p->id);
	if (rc == 0)
		rc = take_words(r, doc);
	if (rc == 0)
		rc = take_times(r, doc);
	if (rc == 0 && json_given(own) && !json_is_object(own))
		rc = wrong(r, "database_specific", "an object");
	size_t was = enter(r, "database_specific");
	if (rc == 0)
		rc = take_needs(r, json_get(own, "pagetrail"), &defaults);
	if (rc)
		return rc;
	leave(r, was);
	return take_entries(r, doc, &defaults);
}

/* --- the whole --- */

static int read_document(struct reading *r, struct json *j, struct text document)
{
	unsigned char sha[SHA256_BYTES];
	struct json_value doc;
	size_t at = 0;
	int rc = json_parse(j, document, false, &doc, &at, r->err);
	if (rc > 0)
		rc = err_set(r->err, ERR_INPUT, "the policy is no JSON: see byte %zu", at);
	if (rc == 0)
		rc = take_document(r, doc);
	if (rc == 0)
		rc = load_commits(r);
	if (rc == 0)
		rc = sha256_once(document.ptr, document.len, sha, r->err);
	if (rc == 0)
		sha256_hex(sha, r->p->sha256);
	return rc;
}

int policy_read(struct policy **ret, struct text document, const char *folder,
		void (*warn)(void *ctx, struct text what), void *ctx, struct err *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	struct json *j = json_new();
	struct reading r = {.p = p, .folder = folder, .warn = warn, .ctx = ctx, .err = err};
	*ret = NULL;
	if (!p || !j) {
		free(p);
		json_free(j);
		return err_nomem(err);
	}
	/* an event, as long as a version that is read, may take few bytes of the document */
	arena_init(&p->arena, 64 * POLICY_MAX_BYTES + 4 * POLICY_COMMITS_MAX_BYTES);
	int rc = read_document(&r, j, document);
	json_free(j);
	if (rc < 0) {
		policy_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

int policy_load(struct policy **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
		struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(POLICY_MAX_BYTES);
	CLEANUP(buf_done) struct buf folder = BUF_INIT(8 * KIB);
	size_t slash = text_rfind_char(text_of(path), '/');
	*ret = NULL;
	int rc = buf_add_file(&b, path, "policy", err);
	if (rc == 0)
		rc = slash == SIZE_MAX ? buf_add(&folder, ".", 1, err)
				       : buf_add(&folder, path, MAX(slash, (size_t)1), err);
	if (rc == 0)
		rc = buf_add_char(&folder, '\0', err);
	if (rc == 0)
		rc = policy_read(ret, buf_text(&b), folder.ptr, warn, ctx, err);
	if (rc == 0 && !((*ret)->origin = arena_text(&(*ret)->arena, text_of(path))).ptr)
		rc = err_nomem(err);
	if (rc == 0)
		return 0;
	policy_free(*ret);
	*ret = NULL;
	err_where(err, "%s", path);
	return err_hint(err, "docs/policy.md has the form of a policy");
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	arena_done(&p->arena);
	free(p);
}
