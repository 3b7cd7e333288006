/* SPDX-License-Identifier: Apache-2.0 */
/* leak.h - private to report: is there anything of another tenant in these bytes?
 *
 * Looked for are, of every tenant but the one the paper is for: its name, its pseudonym, every id of its requests, and its exact
 * times. Bytes are read as they are, and as XML, JSON, CSV, a URL and Base64 would be read. What is the own tenant's too is no hit, nor what lies
 * inside of one of its own names.
 */
#pragma once

#include "pagetrail/text.h"

struct facts;
struct audience_key;

enum leak_kind { LEAK_TENANT, LEAK_PSEUDONYM, LEAK_REQUEST, LEAK_TIME };

struct leak;
int leak_open(struct leak **ret, struct err *err) MUST_CHECK;
void leak_free(struct leak *l); /* accepts NULL */
/* Room for so many texts more. */
int leak_room(struct leak *l, size_t n, struct err *err) MUST_CHECK;
/* Of a tenant's row; 0: of no known one. The same twice is once. */
int leak_add(struct leak *l, enum leak_kind kind, struct text t, uint32_t tenant, struct err *err) MUST_CHECK;
int leak_add_time(struct leak *l, int64_t ns, uint32_t tenant, struct err *err) MUST_CHECK;
/* Of the case: it may stand in any paper. */
void leak_allow_time(struct leak *l, int64_t ns);
/* What stands in the empty form is nobody's: it is left out from here on. */
void leak_leave_out(struct leak *l, struct text form);
/* It is also the name of something that is nobody's, such as a model: as the id of a request it is looked for no more. */
void leak_not_an_id(struct leak *l, struct text name);
/* A person says that this name of a tenant is a common word: it is looked for no more. False: no tenant has it. */
bool leak_waive(struct leak *l, struct text name);

struct leak_hit {
	enum leak_kind kind;
	uint32_t tenant;   /* whose it is; 0: not known */
	struct text found; /* the beginning of it, in room */
	char room[64];
};
/* 1: something was found. own: row of the tenant that the bytes are for; 0: of none. */
int leak_search(struct leak *l, struct text bytes, uint32_t own, struct leak_hit *ret, struct err *err) MUST_CHECK;
/* All of a case: names of tenants, requests with all their ids, times of what they did. audience: of pseudonyms; may be NULL. */
int leak_load(struct leak *l, struct facts *f, const struct audience_key *audience, struct err *err) MUST_CHECK;
uint64_t leak_names(const struct leak *l);
uint64_t leak_left_out(const struct leak *l);

/* leak_view.c: calls look() with each reading of the bytes that differs from them; base64: what a run of Base64 decodes to. look()
 * returns 0 to go on. */
int leak_views(struct text bytes, int (*look)(void *ctx, struct text view, bool base64), void *ctx,
	       struct err *err) MUST_CHECK;
