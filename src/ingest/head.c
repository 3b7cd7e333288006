/* SPDX-License-Identifier: Apache-2.0 */
/* head.c - hashes of the first 128, 256, … bytes of a source */
#include "head.h"

#define MEMBER ",\"head\":\""

int head_of(struct head *h, struct text content, struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	*h = (struct head){0};
	for (size_t len = HEAD_BYTES; h->n < HEAD_LEVELS && len <= content.len; len *= 2) {
		int rc = sha256_once(content.ptr, len, sha, err);
		if (rc < 0)
			return rc;
		h->at[h->n++] = (uint32_t)sha[0] << 24 | (uint32_t)sha[1] << 16 | (uint32_t)sha[2] << 8 | sha[3];
	}
	return 0;
}

bool head_alike(const struct head *a, const struct head *b)
{
	unsigned n = a->n < b->n ? a->n : b->n;
	return n && a->at[n - 1] == b->at[n - 1];
}

int head_put(const struct head *h, struct buf *out, struct err *err)
{
	int rc = h->n ? buf_add_text(out, TEXT(MEMBER), err) : 0;
	for (unsigned i = 0; i < h->n && rc == 0; i++)
		rc = buf_printf(out, err, "%08x", (unsigned)h->at[i]);
	return rc == 0 && h->n ? buf_add_char(out, '"', err) : rc;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void head_get(struct head *h, struct text basis)
{
	size_t at = text_find(basis, MEMBER, 0);
	struct text hex = at == SIZE_MAX ? TEXT("") : text_from(basis, at + sizeof(MEMBER) - 1);
	*h = (struct head){0};
	for (; h->n < HEAD_LEVELS && hex.len >= 8; hex = text_from(hex, 8)) {
		uint32_t v = 0;
		for (int i = 0; i < 8; i++) {
			if (digit(hex.ptr[i]) < 0)
				return;
			v = v << 4 | (uint32_t)digit(hex.ptr[i]);
		}
		h->at[h->n++] = v;
	}
}
