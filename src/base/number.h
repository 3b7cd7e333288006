/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - a decimal number taken apart, so that time stamps are read without a detour through doubles (base only) */
#pragma once

#include "pagetrail/text.h"

struct number {
	bool minus;
	struct text whole, fraction; /* digits; whole has at least one */
	int exponent;
};

/* [-]digits[.digits][e[+-]digits], the whole text. */
bool number_shape(struct text t, struct number *ret);
/* The number times 10^shift, cut towards zero; false on overflow. */
bool number_scaled(const struct number *n, int shift, int64_t *ret);
