/* SPDX-License-Identifier: Apache-2.0 */
/* installed.h - what formats of deployment evidence share: digests, times, roles and names out of foreign JSON
 *
 * Never read, and never in an event: environment, arguments, annotations; they hold keys.
 */
#pragma once

#include <string.h>

#include "pagetrail/arena.h"
#include "pagetrail/collected.h"
#include "pagetrail/parser.h"

enum { DIGEST_DIGITS = 64 };

static inline struct text installed_text(struct json_value v)
{
	struct text t = {0};

	return json_string(v, &t) ? t : (struct text){0};
}

/* Does the key begin within the first bytes? For documents of which only the head is at hand. */
static inline bool installed_mentions(struct text document, size_t within, const char *key)
{
	return text_find(text_sub(document, 0, within), key, 0) != SIZE_MAX;
}

static inline bool installed_commit(struct text t)
{
	return t.len >= 7 && t.len <= DIGEST_DIGITS && text_hex(t);
}

/* "sha256:…" in lower case out of an image's name, address or id, behind `sha256:` or, percent-encoded, `sha256%3A`; also
 * 64 bare digits. Empty: none. A digest of another length or kind is none. */
static inline struct text installed_digest(struct arena *a, struct text t)
{
	static const char *const marks[] = {"sha256:", "sha256%3A", "sha256%3a"};
	struct text digits = t;
	char *to;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t at = text_find(t, marks[i], 0);
		if (at == SIZE_MAX)
			continue;
		digits = text_from(t, at + strlen(marks[i]));
		if (digits.len > DIGEST_DIGITS && !text_hex(text_sub(digits, DIGEST_DIGITS, 1)))
			digits.len = DIGEST_DIGITS;
		break;
	}
	if (digits.len != DIGEST_DIGITS || !text_hex(digits) || !(to = arena_room(a, 7 + DIGEST_DIGITS)))
		return (struct text){0};
	memcpy(to, "sha256:", 7);
	for (size_t i = 0; i < DIGEST_DIGITS; i++)
		to[7 + i] = (char)(digits.ptr[i] >= 'A' && digits.ptr[i] <= 'F' ? digits.ptr[i] + 32 : digits.ptr[i]);
	return (struct text){to, 7 + DIGEST_DIGITS};
}

/* A time with its zone; "0001-01-01T00:00:00Z" is how Go writes "never". */
static inline bool installed_stamp(struct json_value v, struct stamp *ret)
{
	struct text t = installed_text(v);
	struct stamp ts;
	size_t used;

	if (!stamp_parse_iso(t, &ts, &used) || used != t.len || ts.quality != STAMP_ZONED || ts.ns <= 0)
		return false;
	*ret = ts;
	return true;
}

static inline void installed_time(struct event *e, unsigned column, struct json_value v)
{
	struct stamp ts;

	if (installed_stamp(v, &ts))
		event_int(e, column, ts.ns);
}

/* A replica's name; one that begins with '/' would be a rank. */
static inline void installed_worker(struct event *e, struct text name)
{
	while (name.len && name.ptr[0] == '/')
		name = text_from(name, 1);
	if (name.len)
		event_worker(e, name);
}

/* "Kind/name", in the record's memory. */
static inline struct text installed_pair(struct arena *a, struct text kind, struct text name)
{
	kind = text_sub(kind, 0, 64);
	name = text_sub(name, 0, 4 * NAME_MAX_BYTES);
	char *to = kind.len && name.len ? arena_room(a, kind.len + 1 + name.len) : NULL;

	if (!to)
		return (struct text){0};
	memcpy(to, kind.ptr, kind.len);
	to[kind.len] = '/';
	memcpy(to + kind.len + 1, name.ptr, name.len);
	return (struct text){to, kind.len + 1 + name.len};
}

/* --- roles, by the words of a label's value --- */

enum role_words { ROLE_PREFILL = 1, ROLE_DECODE = 2, ROLE_BOTH = 4, ROLE_ASIDE = 8 };

static inline unsigned installed_word(struct text w)
{
	static const struct {
		const char *word;
		unsigned means;
	} words[] = {{"prefill", ROLE_PREFILL}, {"prefiller", ROLE_PREFILL}, {"decode", ROLE_DECODE},
		     {"decoder", ROLE_DECODE},  {"both", ROLE_BOTH},         {"unified", ROLE_BOTH},
		     {"router", ROLE_ASIDE},    {"gateway", ROLE_ASIDE},     {"proxy", ROLE_ASIDE},
		     {"lb", ROLE_ASIDE},        {"epp", ROLE_ASIDE},         {"frontend", ROLE_ASIDE}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_is(w, words[i].word))
			return words[i].means;
	return 0;
}

/* Words of "sglang-decode-0"; what stands before a router or proxy is a router or proxy. */
static inline unsigned installed_words(struct text value)
{
	unsigned found = 0;

	for (size_t from = 0, to; from < value.len && value.len < NAME_MAX_BYTES; from = to + 1) {
		for (to = from; to < value.len && !strchr("-_. /", value.ptr[to]); to++)
			;
		found |= installed_word(text_sub(value, from, to - from));
	}
	return found & ROLE_ASIDE ? 0 : found;
}

static inline const char *installed_role_name(unsigned words)
{
	switch (words) {
	case ROLE_PREFILL: return "prefill";
	case ROLE_DECODE: return "decode";
	case ROLE_BOTH:
	case ROLE_PREFILL | ROLE_DECODE: return "unified";
	default: return NULL;
	}
}

/* Labels whose job it is to name a role come first (llm-d's is "prefill", "decode" or "both"); of the others a value counts
 * when it has one of the two words, and only as long as no other label has the other. NULL: not known. */
static inline const char *installed_role(struct json_value labels)
{
	static const char *const named[] = {"llm-d.ai/role", "role", "app.kubernetes.io/component"};
	struct json_iter it = json_iter(labels);
	struct json_value v;
	struct text key;
	unsigned all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		const char *role = installed_role_name(installed_words(installed_text(json_get(labels, named[i]))));
		if (role)
			return role;
	}
	while (json_is_object(labels) && json_next(&it, &key, &v)) {
		unsigned one = installed_words(installed_text(v));
		if (one == ROLE_PREFILL || one == ROLE_DECODE)
			all |= one;
	}
	return all == (ROLE_PREFILL | ROLE_DECODE) ? NULL : installed_role_name(all);
}
