/* SPDX-License-Identifier: Apache-2.0 */
/* detect_stack.h - which wrappers a source has, and what is in them (private to detection) */
#pragma once

#include "detect.h"

/* Goes on from what a bare look at the head found (*ret). Takes wrappers only where something is recognised inside them, or
 * where a source can hold many origins, or where they were asked for. inside: the lines are not the first. */
int detect_stack(struct formats *f, struct text head, bool whole, const struct stack *asked, bool inside,
		 struct detection *ret, struct stack *ret_stack, struct err *err) MUST_CHECK;
