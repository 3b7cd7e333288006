/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - arrays that grow */
#pragma once

#include "pagetrail/err.h"

/* Room for one more element of *p, of which n are used and *cap have room; each of size bytes. What is there stays when it fails. */
int grow_array(void **p, size_t *cap, size_t n, size_t size, struct err *err) MUST_CHECK;
