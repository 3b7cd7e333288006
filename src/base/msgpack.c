/* SPDX-License-Identifier: Apache-2.0 */
/* msgpack.c - reading MessagePack one value at a time, without allocating and without recursion */
#include "pagetrail/msgpack.h"

#include <string.h>

static uint64_t big_endian(const char *p, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

/* The next n bytes as a number. */
static bool take(struct text *rest, size_t n, uint64_t *ret)
{
	if (rest->len < n)
		return false;
	*ret = big_endian(rest->ptr, n);
	*rest = text_from(*rest, n);
	return true;
}

static enum msgpack_end take_bytes(struct text *rest, uint64_t n, enum msgpack_type type, struct msgpack_value *ret)
{
	if (rest->len < n)
		return MSGPACK_CUT;
	ret->type = type;
	ret->bytes = text_sub(*rest, 0, (size_t)n);
	*rest = text_from(*rest, (size_t)n);
	return MSGPACK_OK;
}

/* An element has one byte at least, a pair two. */
static enum msgpack_end take_count(struct text *rest, uint64_t n, enum msgpack_type type, struct msgpack_value *ret)
{
	ret->type = type;
	ret->count = (uint32_t)n;
	return n * (type == MSGPACK_MAP ? 2 : 1) > rest->len ? MSGPACK_CUT : MSGPACK_OK;
}

static enum msgpack_end set_int(struct msgpack_value *ret, int64_t v)
{
	ret->type = MSGPACK_INT;
	ret->i = v;
	ret->u = (uint64_t)v;
	return MSGPACK_OK;
}

static enum msgpack_end set_uint(struct msgpack_value *ret, uint64_t v)
{
	ret->type = v > INT64_MAX ? MSGPACK_UINT : MSGPACK_INT;
	ret->u = v;
	ret->i = v > INT64_MAX ? INT64_MAX : (int64_t)v;
	return MSGPACK_OK;
}

static enum msgpack_end set_float(struct msgpack_value *ret, uint64_t bits, bool half)
{
	uint32_t low = (uint32_t)bits;
	float f;

	ret->type = MSGPACK_FLOAT;
	if (half) {
		memcpy(&f, &low, sizeof(f));
		ret->d = (double)f;
	} else {
		memcpy(&ret->d, &bits, sizeof(ret->d));
	}
	return MSGPACK_OK;
}

/* Types 0xc4 to 0xdf, v being the number behind the type. */
static enum msgpack_end sized(struct text *rest, unsigned char type, uint64_t v, struct msgpack_value *ret)
{
	uint64_t kind;

	switch (type) {
	case 0xc4:
	case 0xc5:
	case 0xc6: return take_bytes(rest, v, MSGPACK_BIN, ret);
	case 0xc7:
	case 0xc8:
	case 0xc9: return take(rest, 1, &kind) ? take_bytes(rest, v, MSGPACK_EXT, ret) : MSGPACK_CUT;
	case 0xca: return set_float(ret, v, true);
	case 0xcb: return set_float(ret, v, false);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf: return set_uint(ret, v);
	case 0xd0: return set_int(ret, (int8_t)(uint8_t)v);
	case 0xd1: return set_int(ret, (int16_t)(uint16_t)v);
	case 0xd2: return set_int(ret, (int32_t)(uint32_t)v);
	case 0xd3: return set_int(ret, (int64_t)v);
	case 0xd9:
	case 0xda:
	case 0xdb: return take_bytes(rest, v, MSGPACK_STR, ret);
	case 0xdc:
	case 0xdd: return take_count(rest, v, MSGPACK_ARRAY, ret);
	case 0xde:
	case 0xdf: return take_count(rest, v, MSGPACK_MAP, ret);
	default:
		return take_bytes(rest, 1 + (UINT64_C(1) << (type - 0xd4)), MSGPACK_EXT,
				  ret); /* fixext, with its type */
	}
}

enum msgpack_end msgpack_next(struct text *rest, struct msgpack_value *ret)
{
	/* bytes of the number behind the types from 0xc4 on */
	static const unsigned char size[] = {1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8, 1, 2,
					     4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4};
	unsigned char type;
	uint64_t v;

	*ret = (struct msgpack_value){0};
	if (rest->len == 0)
		return MSGPACK_CUT;
	type = (unsigned char)rest->ptr[0];
	*rest = text_from(*rest, 1);
	if (type < 0x80 || type >= 0xe0)
		return set_int(ret, (int8_t)type);
	if (type < 0x90)
		return take_count(rest, type & 15, MSGPACK_MAP, ret);
	if (type < 0xa0)
		return take_count(rest, type & 15, MSGPACK_ARRAY, ret);
	if (type < 0xc0)
		return take_bytes(rest, type & 31, MSGPACK_STR, ret);
	if (type == 0xc0)
		return MSGPACK_OK;
	if (type == 0xc1)
		return MSGPACK_BAD;
	if (type < 0xc4) {
		ret->type = MSGPACK_BOOL;
		ret->b = type == 0xc3;
		return MSGPACK_OK;
	}
	return take(rest, size[type - 0xc4], &v) ? sized(rest, type, v, ret) : MSGPACK_CUT;
}

enum msgpack_end msgpack_skip(struct text *rest)
{
	struct msgpack_value v;
	uint64_t left = 1; /* values still to take; each takes a byte at least, so that this ends */

	for (; left > 0; left--) {
		enum msgpack_end end = msgpack_next(rest, &v);

		if (end != MSGPACK_OK)
			return end;
		if (v.type == MSGPACK_ARRAY)
			left += v.count;
		else if (v.type == MSGPACK_MAP)
			left += UINT64_C(2) * v.count;
	}
	return MSGPACK_OK;
}
