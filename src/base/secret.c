/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - what begins like a key, by the marks that those who issue them put in front
 *
 * parse_emit() looks at every text of every event here: the walk over a text without keys has one branch a byte that is taken
 * only where a word begins with the first letter of a mark.
 */
#include "pagetrail/secret.h"

#include "pagetrail/macros.h"

/* Short marks begin names, too: with those it takes the length of a key. */
enum { KEY_MIN = 16, LONG_KEY_MIN = 20, SCHEME_MIN = 8 };

enum alphabet { ALNUM = 1, UNDER = 2, DASH = 4, DOT = 8, TOKEN68 = 16, REST = 32 };

static const struct mark {
	const char *text;
	unsigned char alphabet; /* what a key is made of, behind its mark */
	bool any;               /* no name begins so: whatever the length */
	bool scheme;            /* of an Authorization header */
	bool weak;              /* may hold a password: a digest of it could be guessed */
} marks[] = {
    {"sk-", ALNUM | UNDER | DASH, .any = true},
    {"Bearer ", TOKEN68, .any = true, .scheme = true},
    {"bearer ", TOKEN68, .any = true, .scheme = true},
    {"Basic ", TOKEN68, .any = true, .scheme = true, .weak = true},
    {"basic ", TOKEN68, .any = true, .scheme = true, .weak = true},
    {"Digest ", REST, .any = true, .scheme = true, .weak = true},
    {"sk_", ALNUM | UNDER},
    {"pk_", ALNUM | UNDER},
    {"rk_", ALNUM | UNDER},
    {"eyJ", ALNUM | UNDER | DASH | DOT},
    {"AKIA", ALNUM},
    {"ASIA", ALNUM},
    {"AIza", ALNUM | UNDER | DASH},
    {"ya29.", ALNUM | UNDER | DASH | DOT},
    {"ghp_", ALNUM},
    {"gho_", ALNUM},
    {"ghu_", ALNUM},
    {"ghs_", ALNUM},
    {"ghr_", ALNUM},
    {"github_pat_", ALNUM | UNDER},
    {"glpat-", ALNUM | UNDER | DASH | DOT},
    {"gsk_", ALNUM},
    {"hf_", ALNUM},
    {"nvapi-", ALNUM | UNDER | DASH},
    {"xai-", ALNUM},
    {"xoxa-", ALNUM | DASH},
    {"xoxb-", ALNUM | DASH},
    {"xoxp-", ALNUM | DASH},
};

bool secret_like(struct text t)
{
	for (size_t i = 0; t.len && i < ARRAY_SIZE(marks); i++)
		if (t.ptr[0] == marks[i].text[0] && (marks[i].any || t.len >= KEY_MIN) && text_starts(t, marks[i].text))
			return true;
	return false;
}

static bool word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-';
}

struct text secret_cut(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!(i && word(t.ptr[i - 1])) && secret_like(text_from(t, i)))
			return text_sub(t, 0, i);
	return t;
}

/* --- keys anywhere in a text --- */

enum { BEGINS = 1, WORD = 2 };

/* BEGINS: the first letter of a mark. */
static const unsigned char classes[256] = {
    ['0' ... '9'] = WORD, ['A'] = WORD | BEGINS, ['B'] = WORD | BEGINS, ['C'] = WORD,          ['D'] = WORD | BEGINS,
    ['E' ... 'Z'] = WORD, ['a'] = WORD,          ['b'] = WORD | BEGINS, ['c' ... 'd'] = WORD,  ['e'] = WORD | BEGINS,
    ['f'] = WORD,         ['g'] = WORD | BEGINS, ['h'] = WORD | BEGINS, ['i' ... 'm'] = WORD,  ['n'] = WORD | BEGINS,
    ['o'] = WORD,         ['p'] = WORD | BEGINS, ['q'] = WORD,          ['r'] = WORD | BEGINS, ['s'] = WORD | BEGINS,
    ['t' ... 'w'] = WORD, ['x'] = WORD | BEGINS, ['y'] = WORD | BEGINS, ['z'] = WORD,          ['_'] = WORD,
    ['-'] = WORD,
};

static bool made_of(unsigned char c, unsigned alphabet)
{
	if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
		return true;
	switch (c) {
	case '_': return alphabet & (UNDER | TOKEN68);
	case '-': return alphabet & (DASH | TOKEN68);
	case '.': return alphabet & (DOT | TOKEN68);
	case '~':
	case '+':
	case '/':
	case '=': return alphabet & TOKEN68;
	default: return false;
	}
}

static bool key_at(struct text t, bool prose, struct secret *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const struct mark *m = &marks[i];
		size_t from, n;

		if (t.ptr[0] != m->text[0] || !text_starts(t, m->text))
			continue;
		from = n = strlen(m->text);
		while (n < t.len && (m->alphabet & REST || made_of((unsigned char)t.ptr[n], m->alphabet)))
			n++;
		/* words follow "Bearer " in a sentence, but in no name */
		if (m->scheme ? n - from < (prose ? LONG_KEY_MIN : SCHEME_MIN) : n < LONG_KEY_MIN)
			continue;
		ret->whole = text_sub(t, 0, n);
		ret->key = m->scheme ? text_from(ret->whole, from) : ret->whole;
		ret->weak = m->weak;
		return true;
	}
	return false;
}

bool secret_find(struct text t, size_t from, bool prose, struct secret *ret)
{
	unsigned before = from ? classes[(unsigned char)t.ptr[from - 1]] : 0;

	for (size_t i = from; i < t.len; i++) {
		unsigned class = classes[(unsigned char)t.ptr[i]];

		/* in a path that is escaped, "%20sk-…" begins a word, too */
		if (class & BEGINS && (!(before & WORD) || (i >= 3 && t.ptr[i - 3] == '%')) &&
		    key_at(text_from(t, i), prose, ret))
			return true;
		before = class;
	}
	return false;
}
