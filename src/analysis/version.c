/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - PEP 440 in one walk over the text, and its order */
#include "pagetrail/version.h"

#include <inttypes.h>
#include <string.h>

#include "pagetrail/macros.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
	return c == '.' || c == '-' || c == '_';
}

static char at(struct text t, size_t i)
{
	return i < t.len ? lower(t.ptr[i]) : '\0';
}

/* A number at the beginning of *t; false: none, or too long a one. */
static bool take_number(struct text *t, uint64_t *ret)
{
	size_t n = 0;
	*ret = 0;
	while (is_digit(at(*t, n)))
		n++;
	struct text digits = text_sub(*t, 0, n);
	while (digits.len > 1 && digits.ptr[0] == '0')
		digits = text_from(digits, 1);
	if (!n || digits.len > VERSION_DIGITS_MAX || !text_uint64(digits, ret))
		return false;
	*t = text_from(*t, n);
	return true;
}

static bool take_word(struct text *t, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i < n; i++)
		if (at(*t, i) != word[i])
			return false;
	*t = text_from(*t, n);
	return true;
}

/* [separator] word [separator] [number]; 1 taken, 0 not there, -1 the number is none that we read. */
static int take_part(struct text *t, const char *const *words, size_t n, size_t *ret_word, uint64_t *ret)
{
	struct text rest = is_separator(at(*t, 0)) ? text_from(*t, 1) : *t;
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (!take_word(&rest, words[i]))
			continue;
		struct text behind = is_separator(at(rest, 0)) ? text_from(rest, 1) : rest;
		if (is_digit(at(behind, 0))) {
			if (!take_number(&behind, ret))
				return -1;
			rest = behind;
		} else if (behind.len < rest.len &&
			   (!behind.len || behind.ptr[0] == '+' || is_separator(behind.ptr[0]))) {
			rest = behind; /* "1.0a-", which the grammar allows */
		}
		*ret_word = i;
		*t = rest;
		return 1;
	}
	return 0;
}

static bool take_release(struct text *t, struct version *v)
{
	do {
		if (v->n_written)
			*t = text_from(*t, 1);
		if (v->n_written == VERSION_PARTS_MAX || !take_number(t, &v->release[v->n_written]))
			return false;
		v->n_written++;
	} while (at(*t, 0) == '.' && is_digit(at(*t, 1)));
	v->n_release = v->n_written;
	while (v->n_release > 1 && !v->release[v->n_release - 1])
		v->n_release--;
	return true;
}

static bool take_suffixes(struct text *t, struct version *v)
{
	/* longer words first where one begins like another */
	static const char *const pres[] = {"alpha", "beta", "preview", "pre", "rc", "a", "b", "c"};
	static const enum version_pre kinds[] = {VERSION_ALPHA,     VERSION_BETA,      VERSION_CANDIDATE,
						 VERSION_CANDIDATE, VERSION_CANDIDATE, VERSION_ALPHA,
						 VERSION_BETA,      VERSION_CANDIDATE};
	static const char *const posts[] = {"post", "rev", "r"}, *const devs[] = {"dev"};
	size_t word = 0;
	int r = take_part(t, pres, ARRAY_SIZE(pres), &word, &v->pre_number);
	if (r > 0)
		v->pre = kinds[word];
	if (r < 0)
		return false;
	if (at(*t, 0) == '-' && is_digit(at(*t, 1))) { /* "1.0-1" is a post-release */
		*t = text_from(*t, 1);
		v->has_post = true;
		if (!take_number(t, &v->post))
			return false;
	} else {
		r = take_part(t, posts, ARRAY_SIZE(posts), &word, &v->post);
		v->has_post = r > 0;
		if (r < 0)
			return false;
	}
	r = take_part(t, devs, ARRAY_SIZE(devs), &word, &v->dev);
	v->has_dev = r > 0;
	return r >= 0;
}

/* Parts of a local label: 1 the next one in *ret, 0 no more. */
static int local_next(struct text *rest, struct text *ret)
{
	size_t n = 0;
	if (!rest->len)
		return 0;
	while (n < rest->len && !is_separator(rest->ptr[n]))
		n++;
	*ret = text_sub(*rest, 0, n);
	*rest = text_from(*rest, MIN(n + 1, rest->len));
	return 1;
}

static bool local_good(struct text local)
{
	struct text rest = local, part;
	unsigned n = 0;
	if (!local.len || is_separator(local.ptr[local.len - 1]))
		return false;
	while (local_next(&rest, &part)) {
		if (!part.len || n++ == VERSION_PARTS_MAX)
			return false;
		for (size_t i = 0; i < part.len; i++)
			if (!is_digit(part.ptr[i]) && (lower(part.ptr[i]) < 'a' || lower(part.ptr[i]) > 'z'))
				return false;
	}
	return true;
}

bool version_read(struct text t, struct version *ret)
{
	struct text rest;
	*ret = (struct version){0};
	t = text_trim(t);
	if (at(t, 0) == 'v')
		t = text_from(t, 1);
	rest = t;
	if (take_number(&rest, &ret->epoch) && at(rest, 0) == '!')
		t = text_from(rest, 1);
	else
		ret->epoch = 0;
	if (!take_release(&t, ret) || !take_suffixes(&t, ret))
		return false;
	if (at(t, 0) == '+') {
		ret->local = text_from(t, 1);
		return local_good(ret->local);
	}
	return t.len == 0;
}

static int cmp(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* 1.0.dev1 < 1.0a1 < 1.0 */
static int pre_rank(const struct version *v)
{
	if (v->pre)
		return (int)v->pre;
	return v->has_dev && !v->has_post ? 0 : 4;
}

static struct text without_zeros(struct text digits)
{
	while (digits.len > 1 && digits.ptr[0] == '0')
		digits = text_from(digits, 1);
	return digits;
}

static int cmp_text(struct text a, struct text b)
{
	for (size_t i = 0; i < a.len && i < b.len; i++)
		if (lower(a.ptr[i]) != lower(b.ptr[i]))
			return (unsigned char)lower(a.ptr[i]) < (unsigned char)lower(b.ptr[i]) ? -1 : 1;
	return cmp(a.len, b.len);
}

static bool is_number(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.ptr[i]))
			return false;
	return true;
}

/* Numbers are above words; of equal beginnings the longer label is above. Numbers may have any length. */
static int cmp_local(struct text a, struct text b)
{
	for (;;) {
		struct text x, y;
		int more_a = local_next(&a, &x), more_b = local_next(&b, &y), r;
		if (!more_a || !more_b)
			return more_a - more_b;
		bool na = is_number(x), nb = is_number(y);
		if (na != nb)
			return na ? 1 : -1;
		if (na) {
			x = without_zeros(x);
			y = without_zeros(y);
		}
		r = na && x.len != y.len ? cmp(x.len, y.len) : cmp_text(x, y);
		if (r)
			return r;
	}
}

int version_cmp(const struct version *a, const struct version *b)
{
	int r = cmp(a->epoch, b->epoch);
	for (unsigned i = 0; !r && i < MAX(a->n_release, b->n_release); i++)
		r = cmp(i < a->n_release ? a->release[i] : 0, i < b->n_release ? b->release[i] : 0);
	if (!r)
		r = pre_rank(a) - pre_rank(b);
	if (!r && a->pre)
		r = cmp(a->pre_number, b->pre_number);
	if (!r)
		r = a->has_post - b->has_post;
	if (!r && a->has_post)
		r = cmp(a->post, b->post);
	if (!r)
		r = b->has_dev - a->has_dev;
	if (!r && a->has_dev)
		r = cmp(a->dev, b->dev);
	return r ? r : cmp_local(a->local, b->local);
}

int version_put(const struct version *v, struct buf *out, struct err *err)
{
	static const char *const pres[] = {"", "a", "b", "rc"};
	struct text rest = v->local, part;
	char sign = '+';
	int r = v->epoch ? buf_printf(out, err, "%" PRIu64 "!", v->epoch) : 0;
	for (unsigned i = 0; !r && i < v->n_written; i++)
		r = buf_printf(out, err, "%s%" PRIu64, i ? "." : "", v->release[i]);
	if (!r && v->pre)
		r = buf_printf(out, err, "%s%" PRIu64, pres[v->pre], v->pre_number);
	if (!r && v->has_post)
		r = buf_printf(out, err, ".post%" PRIu64, v->post);
	if (!r && v->has_dev)
		r = buf_printf(out, err, ".dev%" PRIu64, v->dev);
	while (!r && local_next(&rest, &part)) {
		r = buf_add_char(out, sign, err);
		sign = '.';
		if (is_number(part))
			part = without_zeros(part);
		for (size_t i = 0; !r && i < part.len; i++)
			r = buf_add_char(out, lower(part.ptr[i]), err);
	}
	return r;
}

bool version_is_final(const struct version *v)
{
	return !v->pre && !v->has_dev;
}

bool version_is_plain(const struct version *v)
{
	static const char *const plain[] = {"cu", "rocm", "cpu", "xpu", "npu", "musa", "hpu"};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		struct text rest = v->local;
		bool digits = take_word(&rest, plain[i]);
		for (size_t k = 0; digits && k < rest.len; k++)
			digits = is_digit(rest.ptr[k]) || rest.ptr[k] == '.';
		if (digits)
			return true;
	}
	return !v->local.len;
}
