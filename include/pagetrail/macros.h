/* SPDX-License-Identifier: Apache-2.0 */
/* macros.h - the few compiler attributes and helpers that every room uses */
#pragma once

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

/* Behind a noun that is counted. */
#define PLURAL(n) ((n) == 1 ? "" : "s")

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK             __attribute__((warn_unused_result))
#define UNUSED                 __attribute__((unused))

/* Scope-bound clean-up: CLEANUP(x_closep) struct x *x = NULL; the function gets the address. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Defines x_freep() for CLEANUP() from a destructor that accepts NULL. */
#define DEFINE_CLEANUP(type, fn)                 \
	static inline UNUSED void fn##p(type *p) \
	{                                        \
		fn(*p);                          \
	}

#ifdef __cplusplus
#define EXTERN_C_BEGIN extern "C" {
#define EXTERN_C_END   }
#else
#define EXTERN_C_BEGIN
#define EXTERN_C_END
#endif
