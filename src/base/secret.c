/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - what begins like a key, by the marks that those who issue them put in front */
#include "pagetrail/secret.h"

#include "pagetrail/macros.h"

/* Short marks begin names, too: with those it takes the length of a key. */
enum { KEY_MIN = 16 };

bool secret_like(struct text t)
{
	static const char *const any[] = {"sk-", "Bearer ", "bearer ", "Basic ", "Digest "};
	static const char *const longer[] = {"sk_",  "pk_",  "rk_", "eyJ",    "AKIA",   "ASIA",  "AIza",
					     "ghp_", "gsk_", "hf_", "nvapi-", "glpat-", "xoxb-", "xoxp-"};

	for (size_t i = 0; t.len && i < ARRAY_SIZE(any); i++)
		if (t.ptr[0] == any[i][0] && text_starts(t, any[i]))
			return true;
	for (size_t i = 0; t.len >= KEY_MIN && i < ARRAY_SIZE(longer); i++)
		if (t.ptr[0] == longer[i][0] && text_starts(t, longer[i]))
			return true;
	return false;
}

struct text secret_not(struct text t)
{
	return secret_like(t) ? (struct text){NULL, 0} : t;
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
