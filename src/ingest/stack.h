/* SPDX-License-Identifier: Apache-2.0 */
/* stack.h - a source's format: wrappers, outermost first, then the format of what is in them
 *
 * Written with '+' between: cri+sglang-engine. A source of many origins may have no parser that is its own: each origin has
 * one, or none.
 */
#pragma once

#include "pagetrail/ingest.h"
#include "pagetrail/wrapper.h"

/* What the beginning of a source shows of one origin. */
struct origin_choice {
	uint64_t place, role;        /* origins.h */
	const struct parser *parser; /* NULL: not recognised */
};

struct stack {
	const struct wrapper *wrap[WRAP_DEPTH_MAX];
	unsigned n;
	const struct parser *parser;
	bool forced;                  /* somebody said that parser: it is that of all origins */
	bool proven;                  /* the beginning holds records in the wrappers that a format knows */
	struct origin_choice *choice; /* owned */
	size_t n_choices;
};

enum { STACK_NAME_MAX = 256 };

void stack_done(struct stack *s);                                   /* accepts a zeroed one */
char *stack_name(const struct stack *s, char name[STACK_NAME_MAX]); /* "" for none; returns name */
bool stack_many(const struct stack *s);
bool stack_document(const struct stack *s); /* the source is one record */
static inline bool stack_binary(const struct stack *s)
{
	return !s->n && s->parser && s->parser->shape == SHAPE_BINARY;
}
/* Is what was asked for (a stack, its wrappers, or what is in them) what this format is? */
bool stack_fits(struct text format, struct text asked);
/* Is it a stack of known names? *ret owns nothing then. */
bool stack_find(struct text name, const struct parser *const *parsers, size_t n_parsers,
		const struct wrapper *const *wraps, size_t n_wraps, struct stack *ret);
