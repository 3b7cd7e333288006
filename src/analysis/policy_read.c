/* SPDX-License-Identifier: Apache-2.0 */
/* policy_read.c - an OSV document becomes a policy, or is refused with the place of what is wrong
 *
 * Members of OSV that say nothing about versions are not looked at; every member of ours is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"
#include "policy_work.h"

enum { PLACE_MAX = 200 };

struct reading {
	struct policy *p;
	const char *folder;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
	struct err *err;
	char place[PLACE_MAX]; /* in the document, "affected[0].ranges[1]" */
};

/* Goes one step down; the old length is for leave(). */
__attribute__((format(printf, 2, 3))) static size_t enter(struct reading *r, const char *format, ...)
{
	size_t was = strlen(r->place);
	va_list args;
	va_start(args, format);
	vsnprintf(r->place + was, sizeof(r->place) - was, format, args);
	va_end(args);
	return was;
}

static void leave(struct reading *r, size_t was)
{
	r->place[was] = '\0';
}

static int wrong(struct reading *r, const char *key, const char *expected)
{
	return err_set(r->err, ERR_INPUT, "the policy is wrong at %s%s%s: %s is expected", r->place,
		       *r->place && *key ? "." : "", key, expected);
}

static void warn_unknown(struct reading *r, struct json_value v, const char *const *known, size_t n_known)
{
	struct json_iter it = json_iter(v);
	struct text key;
	struct json_value value;
	while (r->warn && json_next(&it, &key, &value)) {
		char said[PLACE_MAX + 300];
		bool there = false;
		for (size_t i = 0; i < n_known; i++)
			there |= text_is(key, known[i]);
		if (there)
			continue;
		int n = snprintf(said, sizeof(said), "the key '%.*s' of %s in the policy is not known, and not read",
				 (int)MIN(key.len, (size_t)200), key.ptr, r->place);
		r->warn(r->ctx, (struct text){said, MIN((size_t)n, sizeof(said) - 1)});
	}
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

/* A list that may be left out. */
static int take_list(struct reading *r, struct json_value v, const char *key, struct json_value *ret, size_t *ret_n)
{
	*ret = json_get(v, key);
	*ret_n = 0;
	if (!json_given(*ret))
		return 0;
	if (json_type(*ret) != JSON_ARRAY)
		return wrong(r, key, "a list");
	*ret_n = count(*ret);
	return 0;
}

static void *array(struct reading *r, size_t n, size_t size)
{
	return arena_array(&r->p->arena, MAX(n, (size_t)1), size);
}

static int take_text(struct reading *r, struct json_value v, const char *key, const char *expected, struct text *ret)
{
	struct text t;
	if (!json_string(v, &t) || !t.len || t.len > NAME_MAX_BYTES)
		return wrong(r, key, expected);
	*ret = arena_text(&r->p->arena, t);
	return ret->ptr ? 0 : err_nomem(r->err);
}

static int take_texts(struct reading *r, struct json_value v, const char *key, struct text **ret, size_t *ret_n)
{
	struct json_value list, one;
	struct text name;
	size_t n;
	int rc = take_list(r, v, key, &list, &n);
	if (rc < 0 || !n)
		return rc;
	*ret = array(r, n, sizeof(**ret));
	if (!*ret)
		return err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &name, &one);) {
		size_t was = enter(r, "%s%s[%zu]", *r->place ? "." : "", key, *ret_n);
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
	int rc =
	    json_is_object(v) && count(v) == 1 ? 0 : wrong(r, "", "one of introduced, fixed, last_affected and limit");
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
	return rc ? rc : wrong(r, "", "one of introduced, fixed, last_affected and limit");
}

/* In the order of versions; what ends a range comes before what begins one at the same place: the beginning counts. */
static int event_cmp(const void *a, const void *b)
{
	const struct range_event *x = a, *y = b;
	int places = (y->zero - x->zero) + (x->star - y->star);
	int c = places || x->zero || x->star ? places : version_cmp(&x->version, &y->version);
	return c ? c : (x->kind == RANGE_INTRODUCED) - (y->kind == RANGE_INTRODUCED);
}

static int take_range(struct reading *r, struct json_value v, struct policy_range *ret)
{
	struct json_value list, one;
	struct text type, key;
	size_t n;
	bool seen[4] = {false};
	if (!json_string(json_get(v, "type"), &type) ||
	    (!text_is(type, "ECOSYSTEM") && !text_is(type, "SEMVER") && !text_is(type, "GIT")))
		return wrong(r, "type", "ECOSYSTEM, SEMVER or GIT");
	ret->git = text_is(type, "GIT");
	int rc = take_list(r, v, "events", &list, &n);
	if (rc == 0 && !n)
		rc = wrong(r, "events", "a list of at least one event");
	ret->events = rc == 0 ? array(r, n, sizeof(*ret->events)) : NULL;
	if (rc == 0 && !ret->events)
		rc = err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &key, &one);) {
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

/* --- ours --- */

/* P7D, PT36H, P1W, P1DT12H: days have 24 hours; months and years have no length. */
static bool duration(struct text t, int64_t *ret_ns)
{
	int64_t total = 0;
	bool time = false, any = false;
	if (!text_starts(t, "P"))
		return false;
	for (t = text_from(t, 1); t.len;) {
		size_t n = 0;
		int64_t v, unit = 0;
		if (t.ptr[0] == 'T' && !time) {
			time = true;
			any = false;
			t = text_from(t, 1);
			continue;
		}
		while (n < t.len && t.ptr[n] >= '0' && t.ptr[n] <= '9')
			n++;
		if (n == t.len || !text_int64(text_sub(t, 0, n), &v))
			return false;
		switch (t.ptr[n]) {
		case 'W': unit = time ? 0 : 7 * 86400; break;
		case 'D': unit = time ? 0 : 86400; break;
		case 'H': unit = time ? 3600 : 0; break;
		case 'M': unit = time ? 60 : 0; break;
		case 'S': unit = time ? 1 : 0; break;
		default: break;
		}
		if (!unit || __builtin_mul_overflow(v, unit * NS_PER_S, &v) || __builtin_add_overflow(total, v, &total))
			return false;
		any = true;
		t = text_from(t, n + 1);
	}
	*ret_ns = total;
	return any;
}

static int take_trigger(struct reading *r, struct json_value v, struct policy_needs *n)
{
	static const char *const keys[] = {"prompt_tokens_at_least"};
	static const char expected[] = "\"input_limit\", \"any\" or {\"prompt_tokens_at_least\": N}";
	struct text t;
	if (!json_given(v))
		return 0;
	if (json_string(v, &t) && (text_is(t, "input_limit") || text_is(t, "any"))) {
		n->trigger = text_is(t, "any") ? TRIGGER_ANY : TRIGGER_INPUT_LIMIT;
		return 0;
	}
	n->trigger = TRIGGER_TOKENS;
	if (!json_is_object(v) || !json_int64(json_get(v, keys[0]), &n->trigger_tokens) || n->trigger_tokens < 1 ||
	    n->trigger_tokens > TOKENS_MAX)
		return wrong(r, "trigger", expected);
	size_t was = enter(r, ".trigger");
	warn_unknown(r, v, keys, ARRAY_SIZE(keys));
	leave(r, was);
	return 0;
}

static int take_requires(struct reading *r, struct json_value v, struct policy_needs *n)
{
	static const char *const keys[] = {"disaggregated", "transfer_backend"};
	struct json_value value = json_get(v, keys[0]);
	if (!json_given(v))
		return 0;
	if (!json_is_object(v))
		return wrong(r, "requires", "an object with disaggregated, transfer_backend or both");
	size_t was = enter(r, ".requires");
	if (json_given(value) && !json_bool(value, &n->disaggregated))
		return wrong(r, keys[0], "true or false");
	int rc = take_texts(r, v, keys[1], &n->backends, &n->n_backends);
	if (rc)
		return rc;
	warn_unknown(r, v, keys, ARRAY_SIZE(keys));
	leave(r, was);
	return 0;
}

static int take_backport(struct reading *r, struct json_value v, struct backport *ret)
{
	static const char *const keys[] = {"version", "declared_by", "declared_at", "evidence"};
	static const char expected[] = "a version, or an object with version, declared_by, declared_at and evidence";
	struct text t, said[4] = {{0}};
	struct stamp at;
	size_t used;
	if (json_string(v, &t))
		return take_text(r, v, "", expected, &ret->version);
	if (!json_is_object(v))
		return wrong(r, "", expected);
	int rc = take_text(r, json_get(v, keys[0]), keys[0], "a version", &ret->version);
	for (size_t i = 1; rc == 0 && i < ARRAY_SIZE(keys); i++)
		if (json_given(json_get(v, keys[i])) && (!json_string(json_get(v, keys[i]), &said[i]) || !said[i].len))
			rc = wrong(r, keys[i], "a text");
	if (rc == 0 && said[2].len && (!stamp_parse_iso(said[2], &at, &used) || used != said[2].len))
		rc = wrong(r, keys[2], "a time such as 2026-09-09T14:00:00Z");
	ret->documented = said[1].len && said[2].len && said[3].len;
	if (rc == 0)
		warn_unknown(r, v, keys, ARRAY_SIZE(keys));
	return rc;
}

static int take_backports(struct reading *r, struct json_value v, struct policy_needs *n)
{
	struct json_value list, one;
	struct text key;
	size_t many;
	int rc = take_list(r, v, "backports", &list, &many);
	if (rc < 0 || !many)
		return rc;
	n->n_backports = 0;
	n->backports = array(r, many, sizeof(*n->backports));
	if (!n->backports)
		return err_nomem(r->err);
	for (struct json_iter it = json_iter(list); rc == 0 && json_next(&it, &key, &one);) {
		size_t was = enter(r, ".backports[%zu]", n->n_backports);
		rc = take_backport(r, one, &n->backports[n->n_backports]);
		if (rc == 0) {
			leave(r, was);
			n->n_backports++;
		}
	}
	return rc;
}

/* What is not given stays: as the top of the document has it. */
static int take_needs(struct reading *r, struct json_value v, struct policy_needs *n)
{
	static const char *const keys[] = {"requires", "trigger", "backports", "fixed_commits", "max_evidence_age"};
	struct text t;
	if (!json_given(v))
		return 0;
	if (!json_is_object(v))
		return wrong(r, "pagetrail", "an object");
	size_t was = enter(r, ".pagetrail");
	if (json_given(json_get(v, keys[0])))
		n->disaggregated = false, n->n_backends = 0;
	int rc = take_requires(r, json_get(v, keys[0]), n);
	if (rc == 0)
		rc = take_trigger(r, json_get(v, keys[1]), n);
	if (rc == 0)
		rc = take_backports(r, v, n);
	if (rc == 0 && json_given(json_get(v, keys[3])))
		rc = take_text(r, json_get(v, keys[3]), keys[3], "the name of a file", &n->commits_file);
	struct json_value age = json_get(v, keys[4]);
	if (rc == 0 && json_given(age) && (!json_string(age, &t) || !duration(t, &n->max_age_ns)))
		rc = wrong(r, keys[4], "a length such as P7D or PT36H");
	if (rc)
		return rc;
	warn_unknown(r, v, keys, ARRAY_SIZE(keys));
	leave(r, was);
	return 0;
}

/* --- entries --- */

static int take_entry(struct reading *r, struct json_value v, const struct policy_needs *defaults,
		      struct policy_entry *ret)
{
	struct json_value list, one, own = json_get(json_get(v, "database_specific"), "pagetrail");
	struct text key;
	size_t n;
	ret->needs = *defaults;
	if (!json_is_object(v))
		return wrong(r, "", "an object with package");
	int rc = take_text(r, json_get(json_get(v, "package"), "name"), "package.name", "the name of a package",
			   &ret->package);
	if (rc == 0)
		rc = take_texts(r, v, "versions", &ret->versions, &ret->n_versions);
	if (rc == 0)
		rc = take_list(r, v, "ranges", &list, &n);
	ret->ranges = rc == 0 ? array(r, n, sizeof(*ret->ranges)) : NULL;
	if (rc == 0 && !ret->ranges)
		rc = err_nomem(r->err);
	for (struct json_iter it = rc == 0 && n ? json_iter(list) : (struct json_iter){0};
	     rc == 0 && n && json_next(&it, &key, &one);) {
		size_t was = enter(r, ".ranges[%zu]", ret->n_ranges);
		rc = take_range(r, one, &ret->ranges[ret->n_ranges]);
		if (rc == 0) {
			leave(r, was);
			ret->n_ranges++;
		}
	}
	if (rc == 0 && !ret->n_ranges && !ret->n_versions)
		rc = wrong(r, "", "ranges or versions");
	if (rc)
		return rc;
	size_t was = enter(r, ".database_specific");
	rc = take_needs(r, own, &ret->needs);
	if (rc == 0)
		leave(r, was);
	return rc;
}

static int take_document(struct reading *r, struct json_value doc)
{
	struct policy_needs defaults = {.max_age_ns = TIME_UNKNOWN};
	struct json_value list, one;
	struct text key, modified;
	struct stamp at;
	size_t n, used;
	if (!json_is_object(doc))
		return wrong(r, "the top", "an OSV document, an object,");
	int rc = take_text(r, json_get(doc, "id"), "id", "a text", &r->p->id);
	if (rc == 0 && (!json_string(json_get(doc, "modified"), &modified) || !stamp_parse_iso(modified, &at, &used) ||
			used != modified.len || at.quality != STAMP_ZONED))
		rc = wrong(r, "modified", "a time such as 2026-09-09T14:00:00Z");
	if (rc == 0 && json_given(json_get(doc, "withdrawn")))
		rc = wrong(r, "withdrawn", "a policy that was not withdrawn");
	if (rc == 0 && json_string(json_get(doc, "summary"), &key))
		r->p->summary = arena_text(&r->p->arena, text_sub(key, 0, MESSAGE_MAX_BYTES));
	size_t was = enter(r, "database_specific");
	if (rc == 0)
		rc = take_needs(r, json_get(json_get(doc, "database_specific"), "pagetrail"), &defaults);
	if (rc)
		return rc;
	leave(r, was);
	rc = take_list(r, doc, "affected", &list, &n);
	if (rc == 0 && !n)
		rc = wrong(r, "affected", "a list of at least one package");
	r->p->entries = rc == 0 ? array(r, n, sizeof(*r->p->entries)) : NULL;
	if (rc == 0 && !r->p->entries)
		rc = err_nomem(r->err);
	for (struct json_iter it = rc == 0 ? json_iter(list) : (struct json_iter){0};
	     rc == 0 && json_next(&it, &key, &one);) {
		was = enter(r, "affected[%zu]", r->p->n);
		rc = take_entry(r, one, &defaults, &r->p->entries[r->p->n]);
		if (rc == 0) {
			leave(r, was);
			r->p->n++;
		}
	}
	return rc;
}

/* --- the list of commits --- */

static int commit_order(const void *a, const void *b)
{
	const struct listed_commit *x = a, *y = b;
	return text_cmp(x->hash, y->hash);
}

static int take_commits(struct reading *r, const char *path, struct text content)
{
	size_t lines = 0, number = 0;
	struct text line, rest = content;
	while (text_split(&rest, '\n', &line))
		lines++;
	r->p->commits = array(r, lines, sizeof(*r->p->commits));
	if (!r->p->commits)
		return err_nomem(r->err);
	for (rest = content; text_split(&rest, '\n', &line);) {
		number++;
		line = text_trim(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		size_t tab = text_find_char(line, '\t', 0);
		struct text hash = text_sub(line, 0, tab == SIZE_MAX ? 0 : tab),
			    says = tab == SIZE_MAX ? (struct text){0} : text_trim(text_from(line, tab + 1));
		bool hex = hash.len >= 7 && hash.len <= 64, has = text_is(says, "contains_fix");
		for (size_t i = 0; hex && i < hash.len; i++)
			hex = hash.ptr[i] && strchr("0123456789abcdefABCDEF", hash.ptr[i]);
		if (!hex || (!has && !text_is(says, "lacks_fix")))
			return err_set(
			    r->err, ERR_INPUT,
			    "%s is wrong at line %zu: a commit (7 to 64 hex digits), a tab, and contains_fix or "
			    "lacks_fix are expected",
			    path, number);
		struct text own = arena_text(&r->p->arena, hash);
		if (!own.ptr)
			return err_nomem(r->err);
		for (size_t i = 0; i < own.len; i++)
			if (own.ptr[i] >= 'A' && own.ptr[i] <= 'F')
				((char *)own.ptr)[i] = (char)(own.ptr[i] + 32);
		r->p->commits[r->p->n_commits++] = (struct listed_commit){own, has};
	}
	qsort(r->p->commits, r->p->n_commits, sizeof(*r->p->commits), commit_order);
	return 0;
}

static int hash_of(struct text t, char out[SHA256_HEX], struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	int rc = sha256_once(t.ptr, t.len, sha, err);
	if (rc == 0)
		sha256_hex(sha, out);
	return rc;
}

/* One file for the whole document: every entry that names one has to name the same. */
static int load_commits(struct reading *r)
{
	struct text name = {0};
	char path[4096];
	for (size_t i = 0; i < r->p->n; i++) {
		struct text own = r->p->entries[i].needs.commits_file;
		if (own.len && name.len && !text_eq(own, name))
			return err_set(r->err, ERR_INPUT,
				       "the policy is wrong at "
				       "affected[%zu].database_specific.pagetrail.fixed_commits: the same file "
				       "as in other entries is expected",
				       i);
		name = own.len ? own : name;
	}
	if (!name.len)
		return 0;
	if (!r->folder)
		return err_set(r->err, ERR_INPUT,
			       "the policy names a file of commits, and there is no folder to look for it in");
	bool whole = name.ptr[0] == '/' || !*r->folder;
	int n = snprintf(path, sizeof(path), "%s%s%.*s", whole ? "" : r->folder, whole ? "" : "/", TEXT_ARG(name));
	if ((size_t)n >= sizeof(path) || memchr(name.ptr, 0, name.len))
		return err_set(r->err, ERR_INPUT, "the policy names a file of commits that cannot be: %.200s", path);
	CLEANUP(buf_done) struct buf b = BUF_INIT(POLICY_COMMITS_MAX_BYTES);
	int rc = buf_add_file(&b, path, "list of commits", r->err);
	if (rc == 0)
		rc = take_commits(r, path, buf_text(&b));
	return rc == 0 ? hash_of(buf_text(&b), r->p->commits_sha256, r->err) : rc;
}

int policy_read(struct policy **ret, struct text document, const char *folder,
		void (*warn)(void *ctx, struct text what), void *ctx, struct err *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	struct json *j = json_new();
	struct reading r = {.p = p, .folder = folder, .warn = warn, .ctx = ctx, .err = err};
	struct json_value doc;
	size_t at = 0;
	*ret = NULL;
	if (!p || !j) {
		free(p);
		json_free(j);
		return err_nomem(err);
	}
	arena_init(&p->arena, 4 * POLICY_MAX_BYTES + 4 * POLICY_COMMITS_MAX_BYTES);
	int rc = json_parse(j, document, false, &doc, &at, err);
	if (rc > 0)
		rc = err_set(err, ERR_INPUT, "the policy is no JSON: see byte %zu", at);
	if (rc == 0)
		rc = take_document(&r, doc);
	if (rc == 0)
		rc = load_commits(&r);
	if (rc == 0)
		rc = hash_of(document, p->sha256, err);
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
		rc = buf_add(&folder, slash == SIZE_MAX ? "." : path, slash == SIZE_MAX ? 1 : MAX(slash, (size_t)1),
			     err);
	if (rc == 0)
		rc = buf_add_char(&folder, '\0', err);
	if (rc == 0)
		rc = policy_read(ret, buf_text(&b), folder.ptr, warn, ctx, err);
	return rc < 0 ? err_where(err, "%s", path) : rc;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	arena_done(&p->arena);
	free(p);
}
