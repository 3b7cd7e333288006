/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - reading JSON: handles into a parsed document (simdjson's DOM behind a C face)
 *
 * struct json *j: one parser, reused for many documents, one per thread. Handles and texts are valid until
 * the next json_parse() on the same parser. Numbers keep their integer value (no doubles for ids): int64 and
 * uint64 are told apart. Nesting is limited by JSON_DEPTH_MAX.
 * Foreign JSON that is not quite JSON: when the document fails for invalid UTF-8 or lone surrogate escapes it
 * is parsed once more with those replaced by U+FFFD; NaN, Infinity and numbers beyond a double become null, integers
 * beyond 64 bits become strings of their digits; json_repaired() then says so. A byte order mark is skipped. Of two
 * members with one name json_get() gives the first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pagetrail/text.h"

EXTERN_C_BEGIN

struct json;

enum json_type {
	JSON_NONE,
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,
	JSON_UINT,
	JSON_DOUBLE,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_value { /* small, passed by value; a zeroed one is JSON_NONE */
	const void *doc;
	size_t index;
};

struct json *json_new(void); /* NULL: out of memory */
void json_free(struct json *j);

/* 0 parsed; 1 not JSON (*ret_offset, if not NULL, gets a byte offset near the fault, best effort); negative ERR_*.
 * The input is copied unless `padded`, which promises BUF_PADDING readable bytes behind it. */
int json_parse(struct json *j, struct text doc, bool padded, struct json_value *ret, size_t *ret_offset,
	       struct err *err) MUST_CHECK;
bool json_repaired(const struct json *j);

enum json_type json_type(struct json_value v);
bool json_is_object(struct json_value v);
bool json_given(struct json_value v); /* there, and not null */

/* Member of an object; JSON_NONE when absent or v is no object. json_path splits at '.' when the whole
 * name is not itself a key: "a.b" finds {"a.b":…} first, then {"a":{"b":…}}. Array elements: "a.0.b". */
struct json_value json_get(struct json_value v, const char *key);
struct json_value json_path(struct json_value v, const char *path);

bool json_string(struct json_value v, struct text *ret); /* only strings */
bool json_int64(struct json_value v, int64_t *ret);      /* integers that fit */
bool json_uint64(struct json_value v, uint64_t *ret);
bool json_double(struct json_value v, double *ret); /* any number */
bool json_bool(struct json_value v, bool *ret);
/* Lenient readers for logs: integers also from strings ("700123") and from doubles without fraction. */
bool json_count(struct json_value v, int64_t *ret);
/* A number or string as text (ids, rooms): strings as they are; integers in decimal into tmp (>= 32 bytes). */
bool json_id(struct json_value v, char *tmp, struct text *ret);

/* Iteration in document order:
 *   struct json_iter it = json_iter(v); struct text key; struct json_value val;
 *   while (json_next(&it, &key, &val)) … (key is empty for arrays; objects and arrays only) */
struct json_iter {
	const void *doc;
	size_t at, end;
	bool object;
};
struct json_iter json_iter(struct json_value v);
bool json_next(struct json_iter *it, struct text *ret_key, struct json_value *ret_value);

/* Goes over the members of an object. odd() is called for each that is not in known[] (of which there may be 64), and for one of
 * those that was there before: `again` is its name then, else NULL. What it returns but 0 ends the walk, and is returned. */
int json_keys(struct json_value v, const char *const *known, size_t n_known,
	      int (*odd)(void *ctx, struct text key, const char *again), void *ctx);

/* Does any object in v, however deep, have two members of one name? Which of them is meant, nobody can know. 1 and the name: yes;
 * 0 no; ERR_NOMEM. where, if not NULL: the way to it, such as "markers[3].note.by". */
struct json_place {
	char path[240];
};
int json_twice(struct json_value v, struct text *ret, struct json_place *where, struct err *err) MUST_CHECK;
/* The same of what a program logged: names that differ by case or by '-' and '_' are one, and two members that say the same do no
 * harm. */
int json_contradicts(struct json_value v, struct text *ret, struct err *err) MUST_CHECK;

/* A whole document that a person gave, no object of which has two members of one name. ERR_INPUT says what is wrong with it; what:
 * "plan". */
int json_document(struct json *j, struct text t, const char *what, struct json_value *ret, struct err *err) MUST_CHECK;

/* Writes v as compact JSON (for keeping a nested value as one text). */
int json_write(struct json_value v, struct buf *out, struct err *err) MUST_CHECK;

EXTERN_C_END
