/* SPDX-License-Identifier: Apache-2.0 */
/* cache_block.h - what the formats of KV cache events share: hashes as text, the row of one block
 *
 * A hash of 64 bits has 16 hex digits, whether its engine writes it signed (SGLang) or unsigned (vLLM, Dynamo): the same
 * bits are the same text. A longer one has two digits a byte.
 */
#pragma once

#include "pagetrail/parser.h"

enum { CACHE_HASH_BYTES_MAX = 64, CACHE_HEX_MAX = 2 * CACHE_HASH_BYTES_MAX };

struct cache_hash {
	char hex[CACHE_HEX_MAX];
	uint8_t len; /* 0: none is given */
};

static inline struct text cache_hash_text(const struct cache_hash *h)
{
	return (struct text){h->hex, h->len};
}

/* n <= CACHE_HASH_BYTES_MAX */
static inline void cache_hash_bytes(struct cache_hash *h, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++) {
		h->hex[2 * i] = "0123456789abcdef"[b[i] >> 4];
		h->hex[2 * i + 1] = "0123456789abcdef"[b[i] & 15];
	}
	h->len = (uint8_t)(2 * n);
}

static inline void cache_hash_u64(struct cache_hash *h, uint64_t v)
{
	unsigned char b[8];

	for (unsigned i = 0; i < 8; i++)
		b[i] = (unsigned char)(v >> (56 - 8 * i));
	cache_hash_bytes(h, b, sizeof(b));
}
