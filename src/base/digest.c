/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - SHA-256 through libcrypto */
#include <limits.h>

#include <openssl/evp.h>

#include "pagetrail/digest.h"

/* struct sha256 is never defined: the handle is libcrypto's own context, one allocation and no more. */
static EVP_MD_CTX *ctx_of(struct sha256 *s)
{
	return (EVP_MD_CTX *)s;
}

static int refused(struct err *err)
{
	return err_set(err, ERR_BUG, "libcrypto refuses to compute SHA-256");
}

int sha256_new(struct sha256 **ret, struct err *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	*ret = NULL;
	if (!ctx)
		return err_nomem(err);
	if (EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(ctx);
		return refused(err);
	}
	*ret = (struct sha256 *)ctx;
	return 0;
}

int sha256_add(struct sha256 *s, const void *p, size_t n, struct err *err)
{
	if (n == 0)
		return 0;
	return EVP_DigestUpdate(ctx_of(s), p, n) == 1 ? 0 : refused(err);
}

int sha256_end(struct sha256 *s, unsigned char out[SHA256_BYTES], struct err *err)
{
	int ok = EVP_DigestFinal_ex(ctx_of(s), out, NULL);

	EVP_MD_CTX_free(ctx_of(s));
	return ok == 1 ? 0 : refused(err);
}

void sha256_free(struct sha256 *s)
{
	EVP_MD_CTX_free(ctx_of(s));
}

int sha256_once(const void *p, size_t n, unsigned char out[SHA256_BYTES], struct err *err)
{
	return EVP_Digest(n ? p : "", n, out, NULL, EVP_sha256(), NULL) == 1 ? 0 : refused(err);
}

void sha256_hex(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX])
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[2 * SHA256_BYTES] = '\0';
}

bool sha256_unhex(struct text hex, unsigned char out[SHA256_BYTES])
{
	if (hex.len != SHA256_HEX - 1)
		return false;
	for (size_t i = 0; i < hex.len; i++) {
		char c = hex.ptr[i];
		int v = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (v < 0)
			return false;
		out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] | v : v << 4);
	}
	return true;
}

int buf_base64(struct buf *b, struct text t, struct err *err)
{
	if (t.len > INT_MAX / 2)
		return err_set(err, ERR_LIMIT, "too long for Base64: %zu bytes", t.len);
	int rc = buf_reserve(b, 4 * ((t.len + 2) / 3) + 1, err);
	if (rc == 0 && t.len)
		b->len +=
		    (size_t)EVP_EncodeBlock((unsigned char *)b->ptr + b->len, (const unsigned char *)t.ptr, (int)t.len);
	return rc;
}
