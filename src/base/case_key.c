/* SPDX-License-Identifier: Apache-2.0 */
/* case_key.c - case_key.h over libcrypto */
#include "pagetrail/case_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include "pagetrail/buf.h"
#include "pagetrail/private_file.h"

static const char head[] = "pagetrail-case-key-1 ";
enum { HEAD_LEN = sizeof(head) - 1, FILE_LEN = HEAD_LEN + 2 * CASE_KEY_BYTES + 1 };

static int refused(struct err *err)
{
	return err_set(err, ERR_BUG, "libcrypto refuses to compute a pseudonym");
}

int hmac_sha256(struct text key, struct text data, unsigned char out[SHA256_BYTES], struct err *err)
{
	unsigned n = 0;
	const unsigned char *p = (const unsigned char *)(data.len ? data.ptr : "");
	return HMAC(EVP_sha256(), key.len ? key.ptr : "", (int)key.len, p, data.len, out, &n) && n == SHA256_BYTES
		   ? 0
		   : refused(err);
}

int hkdf_sha256(struct text key, struct text salt, struct text info, unsigned char *out, size_t n, struct err *err)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	char sha[] = "SHA256";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, sha, 0),
	    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key.ptr, key.len),
	    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(salt.len ? salt.ptr : ""), salt.len),
	    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(info.len ? info.ptr : ""), info.len),
	    OSSL_PARAM_construct_end()};
	int rc = ctx && EVP_KDF_derive(ctx, out, n, params) == 1 ? 0 : refused(err);
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return rc;
}

/* --- the file --- */

static int name_key(struct case_key *k, struct err *err)
{
	unsigned char id[8];
	int rc = hkdf_sha256((struct text){(const char *)k->bytes, sizeof(k->bytes)}, TEXT(""),
			     TEXT("pagetrail key id"), id, sizeof(id), err);
	for (size_t i = 0; !rc && i < sizeof(id); i++)
		snprintf(k->id + 2 * i, 3, "%02x", id[i]);
	return rc;
}

int case_key_new(struct case_key *ret, const char *path, struct err *err)
{
	char line[FILE_LEN + 1], hex[SHA256_HEX];
	if (RAND_priv_bytes(ret->bytes, sizeof(ret->bytes)) != 1)
		return err_set(err, ERR_IO, "the system gives no random bytes for a key");
	int rc = name_key(ret, err);
	if (rc)
		return rc;
	sha256_hex(ret->bytes, hex);
	snprintf(line, sizeof(line), "%s%s\n", head, hex);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST) {
		err_set(err, ERR_IO, "there is a file '%s' already", path);
		err_hint(
		    err,
		    "a key is never written over: --case-key takes the one that is there, --new-case-key another name");
		return ERR_IO;
	}
	bool ok = fd >= 0 && write(fd, line, FILE_LEN) == FILE_LEN && !fsync(fd);
	int saved = errno;
	if (fd >= 0 && close(fd))
		ok = false;
	if (!ok && fd >= 0)
		unlink(path);
	errno = saved;
	OPENSSL_cleanse(line, sizeof(line));
	OPENSSL_cleanse(hex, sizeof(hex));
	return ok ? 0 : err_set_errno(err, ERR_IO, "cannot write the key '%s'", path);
}

int case_key_read(struct case_key *ret, const char *path, struct err *err)
{
	char line[FILE_LEN + 1];
	bool others = false;
	int fd = private_file_open(path, "key", &others, err);
	if (fd < 0)
		return fd;
	int rc = others ? private_file_refuse(path, "key", "resolve pseudonyms", err) : 0;
	ssize_t n = rc ? 0 : read(fd, line, sizeof(line));
	close(fd);
	if (rc)
		return rc;
	struct text t = text_chomp((struct text){line, n < 0 ? 0 : (size_t)n});
	if (n > FILE_LEN || !text_starts(t, head) || !sha256_unhex(text_from(t, HEAD_LEN), ret->bytes)) {
		err_set(err, ERR_INPUT, "'%s' is not a case key", path);
		err_hint(err, "make one with --new-case-key FILE");
		rc = ERR_INPUT;
	}
	OPENSSL_cleanse(line, sizeof(line));
	return rc ? rc : name_key(ret, err);
}

void case_key_wipe(struct case_key *k)
{
	OPENSSL_cleanse(k, sizeof(*k));
}

/* --- pseudonyms --- */

int audience_key_derive(struct audience_key *ret, const struct case_key *k, struct text audience, struct err *err)
{
	CLEANUP(buf_done) struct buf info = BUF_INIT(64 * 1024);
	int rc = buf_add_text(&info, TEXT("pagetrail audience:"), err);
	if (!rc)
		rc = buf_add_text(&info, audience, err);
	return rc ? rc
		  : hkdf_sha256((struct text){(const char *)k->bytes, sizeof(k->bytes)}, TEXT(""), buf_text(&info),
				ret->bytes, sizeof(ret->bytes), err);
}

int pseudonym_of(const struct audience_key *k, struct text tenant, char ret[PSEUDONYM_SIZE], struct err *err)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"; /* RFC 4648 */
	CLEANUP(buf_done) struct buf data = BUF_INIT(16 * 1024 * 1024);
	unsigned char mac[SHA256_BYTES];
	int rc = buf_add(&data, "tenant", 7, err); /* with its NUL */
	if (!rc)
		rc = buf_add_text(&data, tenant, err);
	if (!rc)
		rc = hmac_sha256((struct text){(const char *)k->bytes, sizeof(k->bytes)}, buf_text(&data), mac, err);
	if (rc)
		return rc;
	char *to = ret;
	*to++ = 'T';
	for (unsigned i = 0; i < 16; i++) {
		unsigned bit = 5 * i, pair = (unsigned)mac[bit / 8] << 8 | mac[bit / 8 + 1];
		if (i % 4 == 0)
			*to++ = '-';
		*to++ = digits[pair >> (11 - bit % 8) & 31];
	}
	*to = '\0';
	return 0;
}
