/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - PCRE2, compiled once and matched under limits; a pattern has no mutable part */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"
#include "pagetrail/pattern.h"

enum { GROUPS_MAX = 64, JIT_STACK_FIRST = 32 * 1024, JIT_STACK_MAX = 512 * 1024, HEAP_LIMIT_KIB = 4096 };

struct pattern {
	pcre2_code *code;
};

struct match {
	pcre2_match_data *data;
	pcre2_match_context *ctx;
	pcre2_jit_stack *stack;        /* NULL without JIT */
	const struct pattern *pattern; /* of the last true search, else NULL */
	const char *subject;
	unsigned n_groups;
};

/* Its texts name what follows a backslash, and a message that is shown has each backslash twice. */
static int bad(int code, size_t offset, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	PCRE2_UCHAR text[160] = "";
	int r = 0;

	if (code == PCRE2_ERROR_HEAP_FAILED)
		return err_nomem(err);
	pcre2_get_error_message(code, text, sizeof(text));
	for (const char *p = (const char *)text; *p && !r; p++)
		r = *p != '\\'            ? buf_add(&b, p, 1, err)
		    : p[1] && p[1] != ' ' ? buf_add_text(&b, TEXT("backslash "), err)
					  : buf_add_text(&b, TEXT("backslash"), err);
	return r ? r
		 : err_set(err, ERR_USAGE, "bad regular expression at offset %zu: %.*s", offset,
			   TEXT_ARG(buf_text(&b)));
}

/* The first `before` bytes are not the user's. */
static int compile(struct pattern **ret, const char *regex, size_t before, uint32_t options, struct err *err)
{
	struct pattern *p;
	PCRE2_SIZE offset = 0;
	uint32_t groups = 0;
	int code = 0;

	*ret = NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_nomem(err);
	/* bytes, whatever "(*UTF)" a user writes: a record may hold any of them */
	options |= PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C;
	p->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
	if (!p->code) {
		free(p);
		return bad(code, offset > before ? offset - before : 0, err);
	}
	pcre2_pattern_info(p->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups >= GROUPS_MAX) {
		pattern_free(p);
		return err_set(err, ERR_USAGE, "bad regular expression: more than %d groups", GROUPS_MAX - 1);
	}
	/* without JIT the interpreter does it */
	(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	*ret = p;
	return 0;
}

int pattern_compile(struct pattern **ret, const char *regex, bool extended, struct err *err)
{
	return compile(ret, regex, 0, extended ? PCRE2_EXTENDED : 0, err);
}

/* The option stands in the expression: behind it "(*CRLF)" and its like, which say what ends a line, are errors. */
int pattern_compile_lines(struct pattern **ret, const char *regex, struct err *err)
{
	static const char lines[] = "(?m)";
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	int r = buf_printf(&b, err, "%s%s", lines, regex);

	*ret = NULL;
	return r < 0 ? r : compile(ret, b.ptr, sizeof(lines) - 1, 0, err);
}

/* PCRE2_ENDANCHORED does not go with partial matching, which pattern_reach() needs. The expression is compiled by itself
 * first: what is wrong with it is said of what the user wrote. */
int pattern_compile_whole(struct pattern **ret, const char *regex, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(MIB);
	int r = compile(ret, regex, 0, 0, err);

	if (r < 0)
		return r;
	pattern_free(*ret);
	*ret = NULL;
	r = buf_printf(&b, err, "(?:%s)\\z", regex);
	return r < 0 ? r : compile(ret, b.ptr, 3, PCRE2_ANCHORED, err);
}

bool pattern_has(const struct pattern *p, const char *group)
{
	return pcre2_substring_number_from_name(p->code, (PCRE2_SPTR)group) > 0;
}

/* Entries of the table are sorted by name: the number, two bytes, and the name. */
const char *pattern_twice(const struct pattern *p)
{
	uint32_t n = 0, size = 0;
	PCRE2_SPTR table = NULL;

	pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &n);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table);
	for (uint32_t i = 1; i < n; i++) {
		const char *name = (const char *)table + (size_t)i * size + 2;

		if (strcmp(name, name - size) == 0)
			return name;
	}
	return NULL;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_code_free(p->code);
	free(p);
}

int match_new(struct match **ret, struct err *err)
{
	struct match *m = calloc(1, sizeof(*m));

	*ret = NULL;
	if (!m)
		return err_nomem(err);
	m->data = pcre2_match_data_create(GROUPS_MAX, NULL);
	m->ctx = pcre2_match_context_create(NULL);
	if (!m->data || !m->ctx) {
		match_free(m);
		return err_nomem(err);
	}
	pcre2_set_match_limit(m->ctx, PATTERN_MATCH_LIMIT);
	pcre2_set_depth_limit(m->ctx, PATTERN_DEPTH_LIMIT);
	pcre2_set_heap_limit(m->ctx, HEAP_LIMIT_KIB);
	m->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MAX, NULL);
	if (m->stack)
		pcre2_jit_stack_assign(m->ctx, NULL, m->stack);
	*ret = m;
	return 0;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	pcre2_jit_stack_free(m->stack);
	pcre2_match_context_free(m->ctx);
	pcre2_match_data_free(m->data);
	free(m);
}

void match_clear(struct match *m)
{
	m->pattern = NULL;
}

int pattern_try(const struct pattern *p, struct match *m, struct text t, size_t from, struct err *err)
{
	int r;

	m->pattern = NULL;
	if (from > t.len)
		return 0;
	if (!t.ptr)
		t.ptr = "";
	r = pcre2_match(p->code, (PCRE2_SPTR)t.ptr, t.len, from, 0, m->data, m->ctx);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r <= 0)
		return err_set(err, ERR_LIMIT, "the expression takes too many steps");
	m->pattern = p;
	m->subject = t.ptr;
	m->n_groups = (unsigned)r;
	return 1;
}

bool pattern_search(const struct pattern *p, struct match *m, struct text t, size_t from)
{
	return pattern_try(p, m, t, from, NULL) == 1;
}

/* Each beginning of what can be gone on from can be gone on from, too: halving finds the longest. */
int pattern_reach(const struct pattern *p, struct match *m, struct text t, size_t *ret, struct err *err)
{
	size_t good = 0, bad = t.len + 1;

	match_clear(m);
	while (bad - good > 1) {
		size_t n = good + (bad - good) / 2;
		int r = pcre2_match(p->code, (PCRE2_SPTR)t.ptr, n, 0, PCRE2_PARTIAL_HARD, m->data, m->ctx);

		if (r >= 0 || r == PCRE2_ERROR_PARTIAL)
			good = n;
		else if (r == PCRE2_ERROR_NOMATCH)
			bad = n;
		else
			return err_set(err, ERR_LIMIT, "the expression takes too many steps");
	}
	*ret = good;
	return 0;
}

static struct text group(const struct match *m, unsigned n)
{
	const PCRE2_SIZE *at;

	if (!m || !m->pattern || n >= m->n_groups)
		return (struct text){NULL, 0};
	at = pcre2_get_ovector_pointer(m->data);
	/* \K in a lookahead can put the start behind the end */
	if (at[2 * n] == PCRE2_UNSET || at[2 * n] > at[2 * n + 1])
		return (struct text){NULL, 0};
	return (struct text){m->subject + at[2 * n], at[2 * n + 1] - at[2 * n]};
}

struct text match_whole(const struct match *m)
{
	return group(m, 0);
}

struct text match_group(const struct match *m, const char *name)
{
	int n;

	if (!m || !m->pattern)
		return (struct text){NULL, 0};
	n = pcre2_substring_number_from_name(m->pattern->code, (PCRE2_SPTR)name);
	return n > 0 ? group(m, (unsigned)n) : (struct text){NULL, 0};
}
