/* SPDX-License-Identifier: Apache-2.0 */
/* secret.h - keys and tokens that stand where names or messages should: they never get into an event */
#pragma once

#include "pagetrail/macros.h"
#include "pagetrail/text.h"

/* Does it begin like an API key, a token or an authorization header? */
bool secret_like(struct text t);
/* t up to the first word that is one: error texts repeat keys ("Incorrect API key provided: sk-…"). */
struct text secret_cut(struct text t);

/* A key of at least 20 bytes that stands where a word begins. */
struct secret {
	struct text whole; /* all that must go, with "Bearer " before it */
	struct text key;   /* the same key has the same bytes wherever it stands */
	bool weak;         /* may be a password: not even a digest of it may stay */
};
enum { SECRET_MIN_BYTES = 14 }; /* no shorter text holds one */
/* The first at or after `from`. prose: a message, where "Basic authentication" is no secret. */
bool secret_find(struct text t, size_t from, bool prose, struct secret *ret) MUST_CHECK;

/* --- what a secret is called (secret_name.c), in any spelling: api_key, "API key", apiKey, HF-TOKEN, Authorization --- */
enum secret_name {
	SECRET_NAME_NONE,
	SECRET_NAME_MAYBE, /* a token: unless its value is a number or a mark of a vocabulary */
	SECRET_NAME
};
enum secret_name secret_name(struct text name);
/* What stands there where no secret is given: None, null, false, "***"; and what a token may be besides. */
bool secret_value_is_none(struct text value, enum secret_name name);
