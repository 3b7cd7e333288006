/* SPDX-License-Identifier: Apache-2.0 */
/* case_key.h - the key that pseudonyms are made with, and the pseudonyms
 *
 * A key is 32 random bytes in a file of its own, outside of the case. A pseudonym is HMAC-SHA-256 under a key that HKDF derives for
 * one audience, so that papers for two audiences cannot be joined by it; without the key nobody can try names.
 */
#pragma once

#include "pagetrail/digest.h"

enum { CASE_KEY_BYTES = 32, KEY_ID_SIZE = 17, PSEUDONYM_SIZE = 22 };

struct case_key {
	unsigned char bytes[CASE_KEY_BYTES];
	char id[KEY_ID_SIZE]; /* names the key, tells nothing of it */
};

/* A new file, mode 0600. ERR_IO when there is one. */
int case_key_new(struct case_key *ret, const char *path, struct err *err) MUST_CHECK;
/* ERR_INPUT: it is no key, or others may read it. */
int case_key_read(struct case_key *ret, const char *path, struct err *err) MUST_CHECK;
void case_key_wipe(struct case_key *k);

struct audience_key {
	unsigned char bytes[SHA256_BYTES];
};
int audience_key_derive(struct audience_key *ret, const struct case_key *k, struct text audience,
			struct err *err) MUST_CHECK;
/* T-XXXX-XXXX-XXXX-XXXX, 80 bits. */
int pseudonym_of(const struct audience_key *k, struct text tenant, char ret[PSEUDONYM_SIZE],
		 struct err *err) MUST_CHECK;

/* RFC 5869, for up to SHA256_BYTES of output; RFC 2104. */
int hkdf_sha256(struct text key, struct text salt, struct text info, unsigned char *out, size_t n,
		struct err *err) MUST_CHECK;
int hmac_sha256(struct text key, struct text data, unsigned char out[SHA256_BYTES], struct err *err) MUST_CHECK;
