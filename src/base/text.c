/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - views of bytes: comparing, searching, cutting, hashing; nothing here copies or allocates */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pagetrail/macros.h"
#include "pagetrail/text.h"

struct text text_of(const char *s)
{
	return s ? (struct text){s, strlen(s)} : (struct text){"", 0};
}

int text_cmp(struct text a, struct text b)
{
	size_t n = MIN(a.len, b.len);
	int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

	if (r)
		return r;
	return a.len < b.len ? -1 : a.len > b.len;
}

bool text_ends(struct text t, const char *suffix)
{
	size_t n = strlen(suffix);

	return n <= t.len && (n == 0 || memcmp(t.ptr + t.len - n, suffix, n) == 0);
}

/* Needles are short: where their first and last byte stand at the right distance, the rest is compared. */
static const char *find(const char *p, size_t len, const char *needle, size_t n)
{
#ifdef __SSE2__
	const __m128i first = _mm_set1_epi8(needle[0]), last = _mm_set1_epi8(needle[n - 1]);

	for (; len >= n + 15; p += 16, len -= 16) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(p + n - 1));
		__m128i both = _mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, last));

		for (unsigned left = (unsigned)_mm_movemask_epi8(both); left; left &= left - 1) {
			const char *at = p + __builtin_ctz(left);

			if (memcmp(at, needle, n) == 0)
				return at;
		}
	}
#endif
	return memmem(p, len, needle, n);
}

size_t text_find(struct text t, const char *needle, size_t from)
{
	size_t n = strlen(needle);
	const char *p;

	if (from > t.len)
		return SIZE_MAX;
	if (n == 0)
		return from;
	if (t.len - from < n)
		return SIZE_MAX;
	p = n == 1 ? memchr(t.ptr + from, needle[0], t.len - from) : find(t.ptr + from, t.len - from, needle, n);
	return p ? (size_t)(p - t.ptr) : SIZE_MAX;
}

size_t text_find_char(struct text t, char c, size_t from)
{
	const char *p;

	if (from >= t.len)
		return SIZE_MAX;
	p = memchr(t.ptr + from, c, t.len - from);
	return p ? (size_t)(p - t.ptr) : SIZE_MAX;
}

size_t text_rfind_char(struct text t, char c)
{
	const char *p = t.len ? memrchr(t.ptr, c, t.len) : NULL;

	return p ? (size_t)(p - t.ptr) : SIZE_MAX;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct text text_trim(struct text t)
{
	size_t from = 0;

	while (from < t.len && is_blank(t.ptr[from]))
		from++;
	t = text_from(t, from);
	while (t.len && is_blank(t.ptr[t.len - 1]))
		t.len--;
	return t;
}

struct text text_chomp(struct text t)
{
	if (t.len && t.ptr[t.len - 1] == '\n') {
		t.len--;
		if (t.len && t.ptr[t.len - 1] == '\r')
			t.len--;
	}
	return t;
}

/* A rest whose ptr is NULL is used up: that tells "a," (two parts) from "a" (one). */
bool text_split(struct text *rest, char sep, struct text *ret)
{
	size_t at;

	if (!rest->ptr)
		return false;
	at = text_find_char(*rest, sep, 0);
	if (at == SIZE_MAX) {
		*ret = *rest;
		*rest = (struct text){NULL, 0};
	} else {
		*ret = text_sub(*rest, 0, at);
		*rest = text_from(*rest, at + 1);
	}
	return true;
}

/* The multiply-and-fold hash: two lanes of 16 bytes a step. Not for cryptography. */
#define K0 UINT64_C(0xa0761d6478bd642f)
#define K1 UINT64_C(0xe7037ed1a0b428db)
#define K2 UINT64_C(0x8ebc6af09c88c6e3)
#define K3 UINT64_C(0x589965cc75374cc3)

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Little-endian on every machine: hashes may be written to files. */
static uint64_t load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static uint64_t load32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

uint64_t text_hash(struct text t)
{
	const char *p = t.ptr;
	size_t n = t.len;
	uint64_t a = 0, b = 0, h = K0, h2 = K3;

	if (n > 32) {
		while (n > 32) {
			h = fold(load64(p) ^ K1, load64(p + 8) ^ h);
			h2 = fold(load64(p + 16) ^ K2, load64(p + 24) ^ h2);
			p += 32;
			n -= 32;
		}
		h ^= h2;
	}
	if (n > 16) {
		h = fold(load64(p) ^ K1, load64(p + 8) ^ h);
		p += 16;
		n -= 16;
	}
	if (n >= 8) {
		a = load64(p);
		b = load64(p + n - 8);
	} else if (n >= 4) {
		a = load32(p);
		b = load32(p + n - 4);
	} else if (n) {
		a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
		    (unsigned char)p[n - 1];
	}
	return fold(K1 ^ t.len, fold(a ^ K2, b ^ h));
}
