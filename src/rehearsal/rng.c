/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - xoshiro256** and the few distributions that the model needs
 *
 * Integers only: the same seed gives the same numbers on every machine, compiler and C library.
 * For that, one expression draws once: arguments and operands are evaluated in any order.
 */
#include "model.h"

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

void rng_seed(struct rng *r, uint64_t seed)
{
	/* splitmix64, as the authors of xoshiro advise: no seed gives the all-zero state */
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ z >> 31;
	}
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	uint64_t reject = (UINT64_MAX - n + 1) % n,
		 x; /* 2^64 mod n: values below it would make some results likelier */

	do
		x = rng_next(r);
	while (x < reject);
	return x % n;
}

int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
	return hi <= lo ? lo : lo + (int64_t)rng_below(r, (uint64_t)(hi - lo) + 1);
}

bool rng_chance(struct rng *r, unsigned per_mille)
{
	return rng_below(r, 1000) < per_mille;
}

int64_t rng_exp(struct rng *r, int64_t mean)
{
	/* the mean of each of 32 equal parts of the exponential distribution with mean 1024 */
	static const uint16_t part[32] = {16,   49,   83,   119,  155,  193,  233,  274,  316,  361,  407,
					  456,  507,  561,  618,  678,  742,  811,  884,  963,  1048, 1141,
					  1244, 1358, 1486, 1633, 1805, 2011, 2270, 2618, 3153, 4573};
	int64_t q = part[rng_below(r, 32)];

	q += (int64_t)rng_below(r, 33) - 16; /* no lumps */
	return mean / 1024 * q + mean % 1024 * q / 1024;
}

size_t rng_pick(struct rng *r, const uint32_t *weights, size_t n)
{
	uint64_t sum = 0, x;
	size_t i;

	for (i = 0; i < n; i++)
		sum += weights[i];
	x = rng_below(r, sum);
	for (i = 0; i + 1 < n && x >= weights[i]; i++)
		x -= weights[i];
	return i;
}

void rng_hex(struct rng *r, char *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = "0123456789abcdef"[rng_below(r, 16)];
	out[n] = 0;
}

void rng_alnum(struct rng *r, char *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[rng_below(r, 62)];
	out[n] = 0;
}
