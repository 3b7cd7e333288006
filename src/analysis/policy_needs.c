/* SPDX-License-Identifier: Apache-2.0 */
/* policy_needs.c - what Pagetrail adds to OSV: what stands under "pagetrail" */
#include <string.h>

#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"
#include "policy_work.h"

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
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		leave(r, was);
	return rc;
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
	n->disaggregated = false;
	n->n_backends = 0;
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0 && json_given(value) && !json_bool(value, &n->disaggregated))
		rc = wrong(r, keys[0], "true or false");
	if (rc == 0)
		rc = take_texts(r, v, keys[1], &n->backends, &n->n_backends);
	if (rc == 0)
		leave(r, was);
	return rc;
}

static int take_backport(struct reading *r, struct json_value v, struct backport *ret)
{
	static const char *const keys[] = {"version", "declared_by", "declared_at", "evidence"};
	static const char expected[] = "a version, or an object with version, declared_by, declared_at and evidence";
	struct text t, said[4] = {{0}};
	struct version version;
	struct stamp at;
	size_t used;
	if (json_string(v, &t)) {
		int rc = take_text(r, v, "", expected, &ret->version);
		return rc || version_read(ret->version, &version) ? rc : wrong(r, "", "a version (PEP 440)");
	}
	if (!json_is_object(v))
		return wrong(r, "", expected);
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		rc = take_text(r, json_get(v, keys[0]), keys[0], "a version", &ret->version);
	if (rc == 0 && !version_read(ret->version, &version)) /* a tag is moved: it can stand for nothing */
		rc = wrong(r, keys[0], "a version (PEP 440)");
	for (size_t i = 1; rc == 0 && i < ARRAY_SIZE(keys); i++)
		if (json_given(json_get(v, keys[i])) && (!json_string(json_get(v, keys[i]), &said[i]) || !said[i].len))
			rc = wrong(r, keys[i], "a text");
	if (rc == 0 && said[2].len && (!stamp_parse_iso(said[2], &at, &used) || used != said[2].len))
		rc = wrong(r, keys[2], "a time such as 2026-09-09T14:00:00Z");
	ret->documented = said[1].len && said[2].len && said[3].len;
	return rc;
}

static int take_backports(struct reading *r, struct json_value v, struct policy_needs *n)
{
	struct json_value list, one;
	struct text key;
	size_t many;
	int rc = take_list(r, v, "backports", &list, &many);
	if (rc < 0 || !json_given(list))
		return rc;
	n->n_backports = 0;
	n->backports = policy_array(r, many, sizeof(*n->backports));
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

int take_needs(struct reading *r, struct json_value v, struct policy_needs *n)
{
	static const char *const keys[] = {"requires", "trigger", "backports", "fixed_commits", "max_evidence_age"};
	struct json_value age = json_get(v, "max_evidence_age"), commits = json_get(v, "fixed_commits");
	struct text t;
	if (!json_given(v))
		return 0;
	if (!json_is_object(v))
		return wrong(r, "pagetrail", "an object");
	size_t was = enter(r, ".pagetrail");
	int rc = check_keys(r, v, keys, ARRAY_SIZE(keys));
	if (rc == 0)
		rc = take_requires(r, json_get(v, "requires"), n);
	if (rc == 0)
		rc = take_trigger(r, json_get(v, "trigger"), n);
	if (rc == 0)
		rc = take_backports(r, v, n);
	if (rc == 0 && json_given(commits))
		rc = take_text(r, commits, "fixed_commits", "the name of a file", &n->commits_file);
	if (rc == 0 && json_given(age) && (!json_string(age, &t) || !duration(t, &n->max_age_ns)))
		rc = wrong(r, "max_evidence_age", "a length of days or hours, such as P7D or PT36H,");
	if (rc == 0)
		leave(r, was);
	return rc;
}
