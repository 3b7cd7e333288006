/* SPDX-License-Identifier: Apache-2.0 */
/* secret.c - what begins like a key, by the marks that those who issue them put in front */
#include "pagetrail/secret.h"

#include "pagetrail/macros.h"

bool secret_like(struct text t)
{
	static const char *const starts[] = {"sk-",    "sk_", "pk_",    "rk_",    "Bearer ", "bearer ",
					     "Basic ", "eyJ", "AKIA",   "ASIA",   "AIza",    "ghp_",
					     "gsk_",   "hf_", "nvapi-", "glpat-", "xox",     "Digest "};

	for (size_t i = 0; t.len && i < ARRAY_SIZE(starts); i++)
		if (t.ptr[0] == starts[i][0] && text_starts(t, starts[i]))
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
