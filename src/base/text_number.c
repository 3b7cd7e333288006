/* SPDX-License-Identifier: Apache-2.0 */
/* text_number.c - numbers out of texts (the whole text must be the number, overflow is "not a number") and back */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "pagetrail/macros.h"
#include "pagetrail/text.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool to_int64(bool minus, uint64_t u, int64_t *ret)
{
	if (u > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = minus ? (int64_t)(0 - u) : (int64_t)u;
	return true;
}

bool text_uint64(struct text t, uint64_t *ret)
{
	uint64_t v = 0;

	if (t.len == 0)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (!is_digit(t.ptr[i]))
			return false;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(t.ptr[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

bool text_int64(struct text t, int64_t *ret)
{
	bool minus = t.len && t.ptr[0] == '-';
	uint64_t u;

	return text_uint64(text_from(t, minus), &u) && to_int64(minus, u, ret);
}

bool text_count(struct text t, int64_t *ret)
{
	bool minus = t.len && t.ptr[0] == '-';
	struct text rest = text_from(t, minus), group;
	bool first = true;
	uint64_t v = 0, part;
	size_t plain = 0;

	/* nearly all are short and without a comma */
	while (plain < rest.len && is_digit(rest.ptr[plain]))
		plain++;
	if (plain && plain == rest.len && plain <= 18) {
		for (size_t i = 0; i < plain; i++)
			v = v * 10 + (uint64_t)(rest.ptr[i] - '0');
		return to_int64(minus, v, ret);
	}
	if (text_find_char(rest, ',', 0) == SIZE_MAX)
		return text_int64(t, ret);
	while (text_split(&rest, ',', &group)) {
		if (first ? group.len > 3 : group.len != 3)
			return false;
		if (!text_uint64(group, &part) || __builtin_mul_overflow(v, 1000, &v) ||
		    __builtin_add_overflow(v, part, &v))
			return false;
		first = false;
	}
	return to_int64(minus, v, ret);
}

bool number_shape(struct text t, struct number *ret)
{
	size_t i = 0, from;
	struct text exp;
	int64_t e = 0;
	bool exp_minus = false;

	*ret = (struct number){0};
	if (i < t.len && t.ptr[i] == '-') {
		ret->minus = true;
		i++;
	}
	for (from = i; i < t.len && is_digit(t.ptr[i]);)
		i++;
	ret->whole = text_sub(t, from, i - from);
	if (ret->whole.len == 0)
		return false;
	if (i < t.len && t.ptr[i] == '.') {
		for (from = ++i; i < t.len && is_digit(t.ptr[i]);)
			i++;
		ret->fraction = text_sub(t, from, i - from);
		if (ret->fraction.len == 0)
			return false;
	}
	if (i < t.len && (t.ptr[i] == 'e' || t.ptr[i] == 'E')) {
		i++;
		if (i < t.len && (t.ptr[i] == '-' || t.ptr[i] == '+'))
			exp_minus = t.ptr[i++] == '-';
		exp = text_from(t, i);
		if (!text_int64(exp, &e) || e < 0 || e > 100000)
			return false;
		i = t.len;
	}
	ret->exponent = (int)(exp_minus ? -e : e);
	return i == t.len;
}

/* Digit k of the digits stands for 10^(whole.len - 1 - k + exponent + shift); those below one are cut off. */
bool number_scaled(const struct number *n, int shift, int64_t *ret)
{
	int64_t power = (int64_t)n->whole.len - 1 + n->exponent + shift;
	uint64_t v = 0;

	if (power < 18) { /* no more digits than fit: nothing to check */
		for (size_t i = 0; i < n->whole.len && power >= 0; i++, power--)
			v = v * 10 + (uint64_t)(n->whole.ptr[i] - '0');
		for (size_t i = 0; i < n->fraction.len && power >= 0; i++, power--)
			v = v * 10 + (uint64_t)(n->fraction.ptr[i] - '0');
		for (; v && power >= 0; power--)
			v *= 10;
		return to_int64(n->minus, v, ret);
	}
	for (int part = 0; part < 2; part++) {
		struct text digits = part ? n->fraction : n->whole;

		for (size_t i = 0; i < digits.len && power >= 0; i++, power--)
			if (__builtin_mul_overflow(v, 10, &v) ||
			    __builtin_add_overflow(v, (uint64_t)(digits.ptr[i] - '0'), &v))
				return false;
	}
	for (; v && power >= 0; power--)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	return to_int64(n->minus, v, ret);
}

bool text_seconds_ns(struct text t, int64_t *ret_ns)
{
	struct number n;
	int64_t ns;

	/* the smallest int64_t means "no time" */
	if (!number_shape(t, &n) || !number_scaled(&n, 9, &ns) || ns == INT64_MIN)
		return false;
	*ret_ns = ns;
	return true;
}

bool text_double(struct text t, double *ret)
{
	static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
					 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	char copy[1024];
	struct number n;
	int64_t mantissa;
	int exponent;
	locale_t c;

	if (t.len >= sizeof(copy) || !number_shape(t, &n))
		return false;
	/* exact in a double, and so is the power: one rounding only */
	exponent = n.exponent - (int)n.fraction.len;
	if (n.whole.len + n.fraction.len <= 15 && exponent >= -22 && exponent <= 22) {
		struct number digits = n;

		digits.exponent = (int)n.fraction.len;
		digits.minus = false;
		if (number_scaled(&digits, 0, &mantissa)) {
			*ret =
			    exponent < 0 ? (double)mantissa / power10[-exponent] : (double)mantissa * power10[exponent];
			if (n.minus)
				*ret = -*ret;
			return true;
		}
	}
	/* strtod() reads the decimal point of the process's locale; glibc's "C" locale needs no memory */
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return false;
	memcpy(copy, t.ptr, t.len);
	copy[t.len] = '\0';
	*ret = strtod_l(copy, NULL, c);
	freelocale(c);
	return isfinite(*ret);
}

size_t text_put_uint64(char *to, uint64_t v)
{
	static const char pairs[] =
	    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
	    "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
	    "888990919293949596979899";
	char digits[TEXT_NUMBER_MAX];
	size_t at = sizeof(digits);

	for (; v >= 100; v /= 100)
		memcpy(digits + (at -= 2), pairs + 2 * (v % 100), 2);
	if (v >= 10)
		memcpy(digits + (at -= 2), pairs + 2 * v, 2);
	else
		digits[--at] = (char)('0' + v);
	memcpy(to, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at;
}

size_t text_put_int64(char *to, int64_t v)
{
	if (v >= 0)
		return text_put_uint64(to, (uint64_t)v);
	*to = '-';
	return 1 + text_put_uint64(to + 1, 0 - (uint64_t)v);
}

size_t text_put_double(char *to, double v)
{
	double back;
	int n = 0;

	if (!isfinite(v))
		return (size_t)snprintf(to, TEXT_DOUBLE_MAX, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(to, TEXT_DOUBLE_MAX, "%.*g", digits, v);
		if (text_double((struct text){to, (size_t)n}, &back) && back == v)
			break;
	}
	return (size_t)n;
}

bool text_hex(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!t.ptr[i] || !strchr("0123456789abcdefABCDEF", t.ptr[i]))
			return false;
	return t.len > 0;
}
