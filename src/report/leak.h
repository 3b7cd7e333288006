/* SPDX-License-Identifier: Apache-2.0 */
/* leak.h - private to report: is there anything of another tenant in these bytes?
 *
 * Looked for are, of every tenant but the one the paper is for: its name, its pseudonym, every id of its requests, and its exact
 * times. Bytes are read as they are, and as XML, JSON, CSV, a URL and Base64 would be read. What is the own tenant's too is no hit, nor what lies
 * inside of one of its own names, however that is escaped there.
 *
 * A name that is a word of the forms themselves, or so short that it stands everywhere by chance, is common: in bytes it says nothing. It is
 * looked for in the values of the document, of which all other forms are made: there each value is known to be the form's, or not.
 */
#pragma once

#include <stddef.h>

#include "pagetrail/text.h"

struct buf;
struct facts;
struct audience_key;

enum leak_kind { LEAK_TENANT, LEAK_PSEUDONYM, LEAK_REQUEST, LEAK_TIME };

struct leak;
int leak_open(struct leak **ret, struct err *err) MUST_CHECK;
/* From here on ids of requests, too, are kept as leak_search_words() needs them; names and pseudonyms always are. */
void leak_fold_ids(struct leak *l);
void leak_free(struct leak *l); /* accepts NULL */
/* Room for so many texts more. */
int leak_room(struct leak *l, size_t n, struct err *err) MUST_CHECK;
/* Of a tenant's row; 0: of no known one. The same twice is once. */
int leak_add(struct leak *l, enum leak_kind kind, struct text t, uint32_t tenant, struct err *err) MUST_CHECK;
int leak_add_time(struct leak *l, int64_t ns, uint32_t tenant, struct err *err) MUST_CHECK;
/* Of the case: it may stand in any paper. */
void leak_allow_time(struct leak *l, int64_t ns);
/* The tenant may be told this as well: a model that it asked for. Beyond FACTS_MAX different ones they are not known as such. */
int leak_add_fact(struct leak *l, struct text t, uint32_t tenant, struct err *err) MUST_CHECK;
/* What stands in the empty form is common from here on. */
int leak_common(struct leak *l, struct text form, struct err *err) MUST_CHECK;
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
/* A text that is not the form's: what is common counts too; times do not. */
int leak_search_value(struct leak *l, struct text value, uint32_t own, struct leak_hit *ret,
		      struct err *err) MUST_CHECK;
/* What people wrote: also as they write names, in another case, with other blanks and dashes or with what cannot be seen (text_fold()). What is
 * common, so written, is no hit. Whatever looks like a pseudonym is one, of some audience, unless it is `reference` (may be NULL). */
int leak_search_words(struct leak *l, struct text words, uint32_t own, const char *reference, struct leak_hit *ret,
		      struct err *err) MUST_CHECK;
/* All of a case: names of tenants, requests with all their ids, times of what they did. audience: of pseudonyms; may be NULL. */
int leak_load(struct leak *l, struct facts *f, const struct audience_key *audience, struct err *err) MUST_CHECK;
uint64_t leak_names(const struct leak *l);
uint64_t leak_left_out(const struct leak *l);

/* leak_view.c: calls look() with each reading of the bytes that differs from them; base64: what a run of Base64 decodes to. look()
 * returns 0 to go on. */
int leak_views(struct text bytes, int (*look)(void *ctx, struct text view, bool base64), void *ctx,
	       struct err *err) MUST_CHECK;

/* The same bytes in one of the ways that leak_views() knows, with two places in them moved along. 1: something was an escape. */
enum { LEAK_WAYS = 5 };
int leak_spelling(struct text t, unsigned way, size_t *from, size_t *end, struct buf *out, struct err *err) MUST_CHECK;

/* --- leak_values.c: each value of a document --- */
struct leak_form { /* what a value of a form may be, whole */
	uint64_t *lines;
	size_t n, cap;
	bool sorted;
};
void leak_form_done(struct leak_form *f);
/* Each line of it; also its parts between commas and equal signs, and the quoted texts of a statement in SQL. */
int leak_form_add(struct leak_form *f, struct text lines, struct err *err) MUST_CHECK;
/* The bytes are those of a document (report.rng). A value that is the form's is no hit, but where rows and people say what is theirs. */
int leak_search_document(struct leak *l, struct leak_form *f, struct text xml, uint32_t own, struct leak_hit *ret,
			 struct err *err) MUST_CHECK;
