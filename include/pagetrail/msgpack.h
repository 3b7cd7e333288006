/* SPDX-License-Identifier: Apache-2.0 */
/* msgpack.h - reading MessagePack one value at a time, without allocating and without recursion
 *
 * A library would build a tree, and allocate for the count that an array claims before it saw one element. Here a count
 * is believed only as far as there are bytes for as many elements, and texts are parts of the input. Arrays and maps
 * are read as their head; their elements follow (of a map: key, value, key, …).
 * Shapes after the MessagePack specification (github.com/msgpack/msgpack, spec.md).
 */
#pragma once

#include "pagetrail/text.h"

enum msgpack_type {
	MSGPACK_NIL,
	MSGPACK_BOOL,
	MSGPACK_INT,  /* i; negative, or fits */
	MSGPACK_UINT, /* u; above INT64_MAX */
	MSGPACK_FLOAT,
	MSGPACK_STR,
	MSGPACK_BIN,
	MSGPACK_ARRAY, /* count elements follow */
	MSGPACK_MAP,   /* count pairs follow */
	MSGPACK_EXT,   /* bytes without their type */
};

struct msgpack_value {
	enum msgpack_type type;
	bool b;
	int64_t i;
	uint64_t u; /* the bits of i, or of a larger number */
	double d;
	struct text bytes;
	uint32_t count;
};

enum msgpack_end {
	MSGPACK_OK = 0,
	MSGPACK_CUT = 1, /* the input ends inside of a value */
	MSGPACK_BAD = 2, /* no MessagePack */
};

/* Takes the next value off *rest. */
enum msgpack_end msgpack_next(struct text *rest, struct msgpack_value *ret);
/* Takes the next value off *rest with all that is in it, however deep. */
enum msgpack_end msgpack_skip(struct text *rest);
