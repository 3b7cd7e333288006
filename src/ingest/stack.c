/* SPDX-License-Identifier: Apache-2.0 */
/* stack.c - a source's format: wrappers, outermost first, then the format of what is in them */
#include "stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stack_done(struct stack *s)
{
	free(s->choice);
	*s = (struct stack){0};
}

char *stack_name(const struct stack *s, char name[STACK_NAME_MAX])
{
	size_t n = 0;
	*name = '\0';
	for (unsigned i = 0; i < s->n && n < STACK_NAME_MAX; i++)
		n += (size_t)snprintf(name + n, STACK_NAME_MAX - n, "%s%s", n ? "+" : "", s->wrap[i]->name);
	if (s->parser && n < STACK_NAME_MAX)
		snprintf(name + n, STACK_NAME_MAX - n, "%s%s", n ? "+" : "", s->parser->name);
	return name;
}

bool stack_many(const struct stack *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->wrap[i]->many)
			return true;
	return false;
}

bool stack_document(const struct stack *s)
{
	return s->n ? s->wrap[0]->shape == SHAPE_DOCUMENT : s->parser && s->parser->shape == SHAPE_DOCUMENT;
}

bool stack_find(struct text name, const struct parser *const *list, size_t n, const struct wrapper *const *wraps,
		size_t n_wraps, struct stack *ret)
{
	struct text part;
	bool any = false;
	*ret = (struct stack){0};
	while (text_split(&name, '+', &part)) {
		const struct wrapper *w = wrapper_find(wraps, n_wraps, part);
		if (ret->parser || (w && ret->n == WRAP_DEPTH_MAX))
			return false;
		if (w) {
			ret->wrap[ret->n++] = w;
		} else {
			ret->parser = parser_find(list, n, part);
			if (!ret->parser || (ret->n && ret->parser->shape != SHAPE_LINES))
				return false;
		}
		any = true;
	}
	return any;
}

bool stack_fits(struct text format, struct text asked)
{
	size_t n = asked.len;
	if (format.len <= n)
		return text_eq(format, asked);
	return (text_eq(text_sub(format, 0, n), asked) && format.ptr[n] == '+') ||
	       (text_eq(text_from(format, format.len - n), asked) && format.ptr[format.len - n - 1] == '+');
}

bool format_known(struct text name, const struct parser *const *list, size_t n, const struct wrapper *const *wraps,
		  size_t n_wraps)
{
	struct stack s;
	return stack_find(name, list, n, wraps, n_wraps, &s);
}

bool format_is_document(struct text name, const struct parser *const *list, size_t n,
			const struct wrapper *const *wraps, size_t n_wraps)
{
	struct stack s;
	return stack_find(name, list, n, wraps, n_wraps, &s) && stack_document(&s);
}
