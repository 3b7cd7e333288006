/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - SHA-256 through libcrypto, one shot and running, and hex */
#pragma once

#include "pagetrail/buf.h"

enum { SHA256_BYTES = 32, SHA256_HEX = 65 };

struct sha256; /* running digest */

int sha256_new(struct sha256 **ret, struct err *err) MUST_CHECK;
int sha256_add(struct sha256 *s, const void *p, size_t n, struct err *err) MUST_CHECK;
/* Ends the digest and frees s. */
int sha256_end(struct sha256 *s, unsigned char out[SHA256_BYTES], struct err *err) MUST_CHECK;
void sha256_free(struct sha256 *s); /* accepts NULL */
int sha256_once(const void *p, size_t n, unsigned char out[SHA256_BYTES], struct err *err) MUST_CHECK;
/* Appends t as Base64 (RFC 4648) with padding. ERR_LIMIT above a gigabyte. */
int buf_base64(struct buf *b, struct text t, struct err *err) MUST_CHECK;
void sha256_hex(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX]);
/* 64 hex digits of either case. */
bool sha256_unhex(struct text hex, unsigned char out[SHA256_BYTES]) MUST_CHECK;
