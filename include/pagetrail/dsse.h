/* SPDX-License-Identifier: Apache-2.0 */
/* dsse.h - a payload in a signed envelope (DSSE v1, github.com/secure-systems-lab/dsse, protocol.md and envelope.md), by Ed25519
 *
 * What is signed is not the JSON around it but its "pre-authentication encoding": the type and the bytes, each with its length. So a
 * reader checks before it parses, and no second form of the same JSON matters. A key's id is the SHA-256, in hex, of its public half
 * as DER (SubjectPublicKeyInfo): `openssl pkey -pubin -outform DER | sha256sum` prints it. Keys are files that a person names; they
 * are held no longer than needed, and their bytes are wiped. Ed25519 is deterministic: the same key and bytes give the same envelope.
 */
#pragma once

#include "pagetrail/buf.h"

struct dsse_key; /* a public key, with or without its private half */

/* PEM: "PRIVATE KEY" or "PUBLIC KEY". ERR_INPUT, also when it is of another algorithm, or encrypted: nobody is asked for a word. */
int dsse_key_load(struct dsse_key **ret, const char *path, struct err *err) MUST_CHECK;
int dsse_key_read(struct dsse_key **ret, struct text pem, struct err *err) MUST_CHECK;
void dsse_key_free(struct dsse_key *k); /* accepts NULL */
const char *dsse_key_id(const struct dsse_key *k);
bool dsse_key_signs(const struct dsse_key *k); /* it has its private half */

/* Appends what is signed. */
int dsse_pae(struct text type, struct text payload, struct buf *out, struct err *err) MUST_CHECK;
/* Appends the envelope, one line. ERR_INPUT: the key has no private half. */
int dsse_sign(const struct dsse_key *k, struct text type, struct text payload, struct buf *out,
	      struct err *err) MUST_CHECK;
/* 0: a signature in it is by this key, and type and payload are what was signed; 1: none is, and they are empty.
 * ERR_INPUT: this is no envelope. Key ids in the envelope are hints that are not relied on. */
int dsse_verify(const struct dsse_key *k, struct text envelope, struct buf *type, struct buf *payload,
		struct err *err) MUST_CHECK;
