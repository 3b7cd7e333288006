/* SPDX-License-Identifier: Apache-2.0 */
/* map_reader.h - reading the text of a map: where one is, and what is wrong there (private to map_*.c) */
#pragma once

#include "map.h"

struct reader {
	struct map *m;
	void (*warn)(void *ctx, struct text what);
	void *ctx;
	struct err *err;
	char at[200]; /* records[0].fields.status */
	size_t n;
};

/* Goes to a place inside; reader_leave() goes back to what this returned. */
size_t reader_enter(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void reader_leave(struct reader *r, size_t before);
const char *reader_place(const struct reader *r);
/* ERR_INPUT: expected WHAT, not v. */
int reader_wrong(struct reader *r, struct json_value v, const char *expected);
/* Warns of keys that are none of these. */
int reader_keys(struct reader *r, struct json_value v, const char *const *keys, size_t n);
#define READER_KEYS(r, v, ...)                                    \
	reader_keys((r), (v), (const char *const[]){__VA_ARGS__}, \
		    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
/* A copy that ends in a zero byte. */
int reader_keep(struct reader *r, struct text t, const char **ret) MUST_CHECK;
/* The place of a member's word among words; *ret is left when there is no such member. */
int reader_word(struct reader *r, struct json_value v, const char *key, const char *const *words, size_t n,
		const char *expected, int *ret) MUST_CHECK;

/* map_fields.c: parts of one kind of records. */
int reader_time(struct reader *r, struct json_value v, const struct map_shape *s, struct map_time *t) MUST_CHECK;
int reader_fields(struct reader *r, struct json_value v, struct map_shape *s) MUST_CHECK;
int reader_when(struct reader *r, struct json_value v, struct map_shape *s) MUST_CHECK;
