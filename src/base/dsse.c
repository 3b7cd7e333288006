/* SPDX-License-Identifier: Apache-2.0 */
/* dsse.c - envelopes, signed and checked with Ed25519 through libcrypto */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "pagetrail/digest.h"
#include "pagetrail/dsse.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/limits.h"
#include "pagetrail/private_file.h"

enum { SIGNATURE_BYTES = 64 };

struct dsse_key {
	EVP_PKEY *pkey;
	bool private;
	char id[SHA256_HEX];
};

/* What libcrypto has to say stays with it: its messages name its own sources. */
static int refused(struct err *err, const char *what)
{
	ERR_clear_error();
	return err_set(err, ERR_BUG, "libcrypto refuses to %s", what);
}

/* ---- keys ---- */

/* Nobody is asked for a password; an encrypted key is refused. */
static int no_password(char *buf, int size, int rwflag, void *ctx)
{
	(void)buf, (void)size, (void)rwflag;
	*(bool *)ctx = true;
	return -1;
}

static EVP_PKEY *read_pem(struct text pem, bool private, bool *ret_encrypted)
{
	BIO *bio = BIO_new_mem_buf(pem.len ? pem.ptr : "", (int)pem.len);
	EVP_PKEY *key = NULL;

	if (bio)
		key = private ? PEM_read_bio_PrivateKey(bio, NULL, no_password, ret_encrypted)
			      : PEM_read_bio_PUBKEY(bio, NULL, no_password, ret_encrypted);
	BIO_free(bio);
	ERR_clear_error();
	return key;
}

static int name_key(struct dsse_key *k, struct err *err)
{
	unsigned char *der = NULL, sha[SHA256_BYTES];
	int n = i2d_PUBKEY(k->pkey, &der);

	if (n <= 0)
		return refused(err, "write the public key");
	int rc = sha256_once(der, (size_t)n, sha, err);
	OPENSSL_free(der);
	if (rc == 0)
		sha256_hex(sha, k->id);
	return rc;
}

int dsse_key_read(struct dsse_key **ret, struct text pem, struct err *err)
{
	bool encrypted = false;
	struct dsse_key *k;
	int rc = 0;

	*ret = NULL;
	if (pem.len > SIGNING_KEY_MAX_BYTES)
		return err_set(err, ERR_INPUT, "the key is larger than %zu bytes", SIGNING_KEY_MAX_BYTES);
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_nomem(err);
	k->pkey = read_pem(pem, true, &encrypted);
	k->private = k->pkey != NULL;
	if (!k->pkey && !encrypted)
		k->pkey = read_pem(pem, false, &encrypted);
	if (encrypted) {
		rc = err_set(err, ERR_INPUT, "the key is encrypted");
		err_hint(err, "decrypt it with 'openssl pkey -in KEY -out OTHER'; nobody is asked for a password here");
	} else if (!k->pkey) {
		rc = err_set(err, ERR_INPUT, "this is no key in PEM (PRIVATE KEY or PUBLIC KEY)");
		err_hint(err, "'openssl genpkey -algorithm ed25519 -out KEY' makes one");
	} else if (!EVP_PKEY_is_a(k->pkey, "ED25519")) {
		rc = err_set(err, ERR_INPUT, "the key is no Ed25519 key");
		err_hint(err, "'openssl genpkey -algorithm ed25519 -out KEY' makes one");
	} else {
		rc = name_key(k, err);
	}
	if (rc < 0)
		dsse_key_free(k);
	else
		*ret = k;
	return rc;
}

int dsse_key_load(struct dsse_key **ret, const char *path, struct err *err)
{
	struct buf b = BUF_INIT(SIGNING_KEY_MAX_BYTES);
	bool others = false;
	int fd = private_file_open(path, "key", &others, err);

	*ret = NULL;
	if (fd < 0)
		return fd;
	int rc = private_file_read(fd, "key", &b, err);
	close(fd);
	if (rc == 0)
		rc = dsse_key_read(ret, buf_text(&b), err);
	if (rc < 0)
		err_where(err, "%s", path);
	if (rc == 0 && others && (*ret)->private) { /* the public half is for all */
		dsse_key_free(*ret);
		*ret = NULL;
		rc = private_file_refuse(path, "key", "sign in your name", err);
	}
	if (b.ptr)
		OPENSSL_cleanse(b.ptr, b.len);
	buf_done(&b);
	return rc;
}

void dsse_key_free(struct dsse_key *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->pkey);
	free(k);
}

const char *dsse_key_id(const struct dsse_key *k)
{
	return k->id;
}

bool dsse_key_signs(const struct dsse_key *k)
{
	return k->private;
}

/* ---- Base64 (RFC 4648): read in both alphabets, as the protocol asks for ---- */

static int base64_char(unsigned char c)
{
	return c == '-' ? '+' : c == '_' ? '/' : c;
}

/* 1: it is none. Blanks and lines are none either. */
static int take_base64(struct text t, struct buf *out, struct err *err)
{
	struct buf b = BUF_INIT(SIGNED_MAX_BYTES + SIGNED_MAX_BYTES / 2);
	size_t n = t.len, pads;
	int rc;

	while (n && t.ptr[n - 1] == '=')
		n--;
	pads = t.len - n;
	if (n % 4 == 1 || pads > 2 || (pads && t.len % 4))
		return 1;
	rc = buf_add(&b, t.ptr, n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		b.ptr[i] = (char)base64_char((unsigned char)b.ptr[i]);
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", b.ptr[i]) || !b.ptr[i])
			rc = 1;
	}
	for (pads = 0; rc == 0 && b.len % 4; pads++)
		rc = buf_add_char(&b, '=', err);
	if (rc == 0)
		rc = buf_reserve(out, b.len + 1, err);
	if (rc == 0 && b.len) {
		int got =
		    EVP_DecodeBlock((unsigned char *)out->ptr + out->len, (const unsigned char *)b.ptr, (int)b.len);
		if (got < (int)pads)
			rc = 1;
		else
			out->len += (size_t)got - pads;
	}
	buf_done(&b);
	return rc;
}

/* ---- envelopes ---- */

int dsse_pae(struct text type, struct text payload, struct buf *out, struct err *err)
{
	int rc = buf_printf(out, err, "DSSEv1 %zu ", type.len);

	if (rc == 0)
		rc = buf_add_text(out, type, err);
	if (rc == 0)
		rc = buf_printf(out, err, " %zu ", payload.len);
	return rc ? rc : buf_add_text(out, payload, err);
}

static int sign(const struct dsse_key *k, struct text bytes, unsigned char out[SIGNATURE_BYTES], struct err *err)
{
	size_t n = SIGNATURE_BYTES;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx)
		return err_nomem(err);
	bool ok = EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->pkey) == 1 &&
		  EVP_DigestSign(ctx, out, &n, (const unsigned char *)bytes.ptr, bytes.len) == 1 &&
		  n == SIGNATURE_BYTES;
	EVP_MD_CTX_free(ctx);
	return ok ? 0 : refused(err, "sign");
}

/* 0: it is the key's signature of these bytes; 1: it is not. */
static int check(const struct dsse_key *k, struct text bytes, struct text signature, struct err *err)
{
	EVP_MD_CTX *ctx;

	if (signature.len != SIGNATURE_BYTES)
		return 1;
	ctx = EVP_MD_CTX_new();
	if (!ctx)
		return err_nomem(err);
	int rc = EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, k->pkey) == 1 ? 0 : refused(err, "check a signature");
	if (rc == 0)
		rc = EVP_DigestVerify(ctx, (const unsigned char *)signature.ptr, signature.len,
				      (const unsigned char *)bytes.ptr, bytes.len) == 1
			 ? 0
			 : 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return rc;
}

int dsse_sign(const struct dsse_key *k, struct text type, struct text payload, struct buf *out, struct err *err)
{
	struct buf pae = BUF_INIT(SIGNED_MAX_BYTES + 4 * KIB);
	unsigned char sig[SIGNATURE_BYTES];
	int rc = k->private ? 0 : err_set(err, ERR_INPUT, "this is a public key: its private half signs");

	if (rc == 0)
		rc = dsse_pae(type, payload, &pae, err);
	if (rc == 0)
		rc = sign(k, buf_text(&pae), sig, err);
	buf_done(&pae);
	if (rc == 0)
		rc = buf_add_text(out, TEXT("{\"payloadType\":"), err);
	if (rc == 0)
		rc = buf_json_string(out, type, err);
	if (rc == 0)
		rc = buf_add_text(out, TEXT(",\"payload\":\""), err);
	if (rc == 0)
		rc = buf_base64(out, payload, err);
	if (rc == 0)
		rc = buf_printf(out, err, "\",\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"", k->id);
	if (rc == 0)
		rc = buf_base64(out, (struct text){(const char *)sig, sizeof(sig)}, err);
	return rc ? rc : buf_add_text(out, TEXT("\"}]}\n"), err);
}

static int no_envelope(struct err *err, const char *why)
{
	return err_set(err, ERR_INPUT, "this is no signed envelope (DSSE): %s", why);
}

/* Takes the members of an object, each to the place of its name; other members are other people's. Of two of one name another
 * reader may take the other one: there is one. raw[] of what is not there has no bytes. */
static int take_members(struct json_scan *s, const char *const *names, size_t n, struct text *raw, struct arena *a,
			struct err *err)
{
	struct text key, value;
	int rc;

	if (!scan_open(s, '{'))
		return no_envelope(err, "no object");
	while ((rc = scan_member(s, &key)) == 1) {
		key = scan_unescape(key, a);
		if (!key.ptr)
			return err_nomem(err);
		if (!scan_value(s, &value))
			return no_envelope(err, "no JSON");
		for (size_t i = 0; i < n; i++) {
			if (!text_is(key, names[i]))
				continue;
			if (raw[i].len)
				return no_envelope(err, "a member is there twice");
			raw[i] = value;
		}
	}
	return rc < 0 ? no_envelope(err, "no JSON") : 0;
}

static int take_string(struct text raw, struct arena *a, const char *why, struct text *ret, struct err *err)
{
	if (!text_starts(raw, "\""))
		return no_envelope(err, why);
	*ret = scan_unescape(text_sub(raw, 1, raw.len - 2), a);
	return ret->ptr ? 0 : err_nomem(err);
}

static int take_envelope(struct text envelope, struct arena *a, struct buf *type, struct buf *payload,
			 struct text *ret_signatures, struct err *err)
{
	static const char *const names[] = {"payloadType", "payload", "signatures"};
	struct text raw[ARRAY_SIZE(names)] = {{0}}, t;
	struct json_scan s = scan_of(envelope);
	int rc = text_utf8_valid(envelope) ? 0 : no_envelope(err, "no JSON");

	if (rc == 0)
		rc = take_members(&s, names, ARRAY_SIZE(names), raw, a, err);
	if (rc == 0 && !scan_over(&s))
		rc = no_envelope(err, "more than one object");
	if (rc == 0)
		rc = take_string(raw[0], a, "no payloadType", &t, err);
	if (rc == 0)
		rc = t.len ? buf_add_text(type, t, err) : no_envelope(err, "no payloadType");
	if (rc == 0)
		rc = take_string(raw[1], a, "no payload", &t, err);
	if (rc == 0)
		rc = take_base64(t, payload, err);
	if (rc)
		return rc < 0 ? rc : no_envelope(err, "its payload is no Base64");
	*ret_signatures = raw[2];
	return text_starts(raw[2], "[") ? 0 : no_envelope(err, "no signatures");
}

static int take_signature(struct json_scan *s, struct arena *a, struct buf *out, struct err *err)
{
	static const char *const names[] = {"keyid", "sig"};
	struct text raw[ARRAY_SIZE(names)] = {{0}}, t;
	int rc = take_members(s, names, ARRAY_SIZE(names), raw, a, err);

	if (rc == 0)
		rc = take_string(raw[1], a, "a signature without sig", &t, err);
	if (rc == 0)
		rc = take_base64(t, out, err);
	return rc > 0 ? no_envelope(err, "a signature is no Base64") : rc;
}

/* All of them are read, whichever holds: an envelope is one, or is none. */
static int try_signatures(const struct dsse_key *k, struct text list, struct text bytes, struct arena *a,
			  struct err *err)
{
	struct json_scan s = scan_of(list);
	bool holds = false;
	int rc = scan_open(&s, '[') ? 0 : no_envelope(err, "no signatures"), more = 0;

	for (unsigned n = 0; rc == 0 && (more = scan_element(&s)) == 1; n++) {
		struct buf sig = BUF_INIT(64 * KIB);
		rc = n == SIGNATURES_MAX ? no_envelope(err, "too many signatures") : take_signature(&s, a, &sig, err);
		if (rc == 0)
			rc = check(k, bytes, buf_text(&sig), err);
		holds |= rc == 0;
		rc = MIN(rc, 0);
		buf_done(&sig);
	}
	if (rc == 0 && more < 0)
		rc = no_envelope(err, "no JSON");
	return rc ? rc : holds ? 0 : 1;
}

/* Read forward, not parsed: a payload may be larger than what is parsed of logs. */
int dsse_verify(const struct dsse_key *k, struct text envelope, struct buf *type, struct buf *payload, struct err *err)
{
	struct buf pae = BUF_INIT(SIGNED_MAX_BYTES + 64 * KIB);
	struct text signatures = {0};
	struct arena a;
	int rc;

	arena_init(&a, 2 * SIGNED_MAX_BYTES);
	buf_clear(type);
	buf_clear(payload);
	rc = take_envelope(envelope, &a, type, payload, &signatures, err);
	if (rc == 0)
		rc = dsse_pae(buf_text(type), buf_text(payload), &pae, err);
	if (rc == 0)
		rc = try_signatures(k, signatures, buf_text(&pae), &a, err);
	if (rc) {
		buf_clear(type);
		buf_clear(payload);
	}
	buf_done(&pae);
	arena_done(&a);
	return rc;
}
