/* SPDX-License-Identifier: Apache-2.0 */
/* container.c - what names a container: its image by digest, its role by labels */
#include <string.h>

#include "pagetrail/container.h"
#include "pagetrail/limits.h"

enum { DIGEST_DIGITS = 64 };

struct text image_digest(struct arena *a, struct text t)
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

static struct text string_of(struct json_value v)
{
	struct text t = {0};

	return json_string(v, &t) ? t : (struct text){0};
}

/* --- roles, by the words of a label's value --- */

enum role_words { ROLE_PREFILL = 1, ROLE_DECODE = 2, ROLE_BOTH = 4, ROLE_ASIDE = 8 };

static unsigned word(struct text w)
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
static unsigned words_of(struct text value)
{
	unsigned found = 0;

	for (size_t from = 0, to; from < value.len && value.len < NAME_MAX_BYTES; from = to + 1) {
		for (to = from; to < value.len && !strchr("-_. /", value.ptr[to]); to++)
			;
		found |= word(text_sub(value, from, to - from));
	}
	return found & ROLE_ASIDE ? 0 : found;
}

static const char *role_name(unsigned words)
{
	switch (words) {
	case ROLE_PREFILL: return "prefill";
	case ROLE_DECODE: return "decode";
	case ROLE_BOTH:
	case ROLE_PREFILL | ROLE_DECODE: return "unified";
	default: return NULL;
	}
}

const char *labels_role(struct json_value labels)
{
	static const char *const named[] = {"llm-d.ai/role", "role", "app.kubernetes.io/component"};
	struct json_iter it = json_iter(labels);
	struct json_value v;
	struct text key;
	unsigned all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		const char *role = role_name(words_of(string_of(json_get(labels, named[i]))));
		if (role)
			return role;
	}
	while (json_is_object(labels) && json_next(&it, &key, &v)) {
		unsigned one = words_of(string_of(v));
		if (one == ROLE_PREFILL || one == ROLE_DECODE)
			all |= one;
	}
	return all == (ROLE_PREFILL | ROLE_DECODE) ? NULL : role_name(all);
}
