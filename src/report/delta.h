/* SPDX-License-Identifier: Apache-2.0 */
/* delta.h - private to report: what two issues of one report have in common, and what not
 *
 * A document is taken as a list of facts: a number, a limit, a blank, a duty's part, a row of a table. A fact has a place (its table, say), a
 * key by which it is found again in another issue (the request of a row), and a body, which is all that it says.
 */
#pragma once

#include "facts.h"
#include "pagetrail/arena.h"

enum delta_part { DELTA_NUMBERS, DELTA_PEOPLE, DELTA_ROWS, DELTA_PARTS };
struct delta_fact {
	enum delta_part part;
	struct text place, key, body;
};
/* A body is a list of names and what stands at each; a value begins with what it is. */
enum { DELTA_PAIR_END = '\x1e', DELTA_NAME_END = '\x1f', DELTA_TEXT = 't', DELTA_UNKNOWN = 'u', DELTA_ABSENT = 'a' };
/* The next pair of a body, NULL name: it was the last. */
bool delta_pair(struct text *body, struct text *ret_name, struct text *ret_value);

struct delta_facts {
	struct arena *arena;
	struct case_file *c;     /* NULL, or the case that says what a request of an earlier issue is called now */
	struct delta_fact *list; /* by part, place, key and body */
	size_t n, cap;
};
/* What both can be compared in: columns that `other` does not have are left out, and counted. */
struct delta_limits {
	int64_t rows, columns, tables; /* beyond what a document holds; that one issue has; made by another query */
};
/* delta_facts.c; ret->arena and ret->c are set by the caller, ret->list is the caller's (free). */
int delta_facts_of(struct delta_facts *ret, xmlDocPtr doc, xmlDocPtr other, struct delta_limits *l,
		   struct err *err) MUST_CHECK;

struct delta_change { /* NULL: it is not there */
	const struct delta_fact *before, *after;
};
struct delta {
	struct arena arena;
	const struct report_before *earlier;
	xmlDocPtr before, after;
	const struct kind *of; /* what both are */
	struct kind kind;      /* of the delta itself: for the same readers */
	struct delta_facts facts[2];
	struct delta_limits limits;
	struct delta_change *changes; /* in the order of their facts */
	size_t n, cap;
	int64_t same, changed, came, went;
	int64_t after_seq; /* row of the journal that the earlier issue ended with; 0: this journal has no such row */
};
/* The document of f->kind, made anew (taken over, also when this fails), against the earlier one; ERR_INPUT when they are not issues of one
 * paper. f->delta is set. */
int delta_open(struct facts *f, const struct report_before *earlier, xmlDocPtr after) MUST_CHECK;
void delta_free(struct delta *d); /* accepts NULL */

struct report_before {
	xmlDocPtr doc;
	char sha256[SHA256_HEX];
	int issue;
};
