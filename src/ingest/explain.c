/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - `formats explain`: what every format makes of a file, step by step */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "far.h"
#include "records.h"

enum { RECORDS_SHOWN = 10, WIDTH = 100 };

struct explain {
	struct formats f;
	const struct wrapper *const *wrappers;
	size_t n_wrappers;
	int (*write)(void *ctx, struct text line);
	void *ctx;
	struct err *err;
	unsigned shown, bidders;
	uint64_t events;
};

static int say(struct explain *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int say(struct explain *x, const char *fmt, ...)
{
	struct buf b = BUF_INIT(64 * KIB);
	va_list ap;
	va_start(ap, fmt);
	int rc = buf_vprintf(&b, x->err, fmt, ap);
	va_end(ap);
	if (rc == 0)
		rc = x->write(x->ctx, buf_text(&b));
	buf_done(&b);
	return rc;
}

static int count_bids(struct explain *x, struct text head, size_t i)
{
	static const char *const names[] = {"no", "weak", "strong"};
	struct parse *p;
	int rc = formats_get(&x->f, i, &p);
	if (rc < 0)
		return rc;
	if (x->f.list[i]->shape == SHAPE_DOCUMENT) {
		enum bid b = formats_bid(&x->f, p, text_from(head, bom_length(head)), false);
		x->bidders += b != BID_NO;
		return b ? say(x, "  %s: the whole document: %s", x->f.list[i]->name, names[b]) : 0;
	}
	unsigned strong = 0, weak = 0, records = 0, first = 0;
	if (x->f.list[i]->shape == SHAPE_BINARY) {
		detect_binary(&x->f, p, head, &records, &strong, &weak);
		return strong + weak ? say(x, "  %s: %u strong, %u weak of the first %u record%s", x->f.list[i]->name,
					   strong, weak, records, PLURAL(records))
				     : 0;
	}
	struct text rest = text_from(head, bom_length(head)), line, sample = {NULL, 0};
	for (unsigned n = 1; records < DETECT_RECORDS && line_next(&rest, &line); n++) {
		line = line_strip_nul(line);
		if (!text_trim(line).len)
			continue;
		records++;
		enum bid b = formats_bid(&x->f, p, line, false);
		strong += b == BID_STRONG;
		weak += b == BID_WEAK;
		if (b && !first) {
			first = n;
			sample = text_sub(line, 0, WIDTH);
		}
	}
	if (!strong && !weak)
		return 0;
	x->bidders++;
	return say(x, "  %s: %u strong, %u weak of %u record%s; first in line %u: %.*s", x->f.list[i]->name, strong,
		   weak, records, PLURAL(records), first, TEXT_ARG(sample));
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct explain *x = ctx;
	(void)e;
	(void)err;
	x->events++;
	return 0;
}

/* The longest beginning of a message that a pattern of the format still could go on from. */
static size_t best_start(const struct parser *p, struct text t, const char **ret_name)
{
	size_t best = 0;
	*ret_name = NULL;
	for (size_t i = 0; i < p->n_patterns; i++) {
		const char *s = p->patterns[i].starts;
		size_t n = 0;
		for (size_t from = 0; s && *s && from < MIN(t.len, 200); from++) { /* behind any envelope */
			n = 0;
			while (s[n] && from + n < t.len && t.ptr[from + n] == s[n])
				n++;
			if (n > 3 && from + n > best) {
				best = from + n;
				*ret_name = p->patterns[i].name;
			}
		}
	}
	return best;
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	struct explain *x = ctx;
	if (v != RECORD_UNPARSED || x->shown >= RECORDS_SHOWN)
		return 0;
	x->shown++;
	struct text t = text_sub(record, 0, WIDTH);
	return say(x, "  byte %llu, %s: %.*s", (unsigned long long)off, reason, TEXT_ARG(t));
}

struct pass {
	struct explain *x;
	const struct parser *parser;
};

static int on_pass_event(void *ctx, const struct event *e, struct err *err)
{
	return on_event(((struct pass *)ctx)->x, e, err);
}

static int on_pass_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	struct pass *pass = ctx;
	bool show = v == RECORD_UNPARSED && pass->x->shown < RECORDS_SHOWN;
	int rc = on_record(pass->x, off, record, v, reason);
	const char *name;
	size_t column = show && rc == 0 ? best_start(pass->parser, record, &name) : 0;
	if (column)
		rc = say(pass->x, "    pattern '%s' came furthest: it stopped at column %zu", name, column + 1);
	return rc;
}

static int explain_parse(struct explain *x, const struct parser *parser, const struct stack *stack, struct text head)
{
	struct pass pass = {x, parser};
	char name[STACK_NAME_MAX];
	struct account a = {0};
	x->shown = 0;
	x->events = 0;
	stack_name(stack, name);
	int rc = say(x, "%s over the first %zu bytes, records it does not understand (at most %d):",
		     stack->n ? name : parser->name, head.len, RECORDS_SHOWN);
	if (rc == 0 && stack->n)
		rc = ingest_text_wrapped(text_of(name), x->f.list, x->f.n, x->wrappers, x->n_wrappers, head,
					 on_pass_event, on_pass_record, &pass, &a, x->err);
	else if (rc == 0)
		rc = ingest_text(parser, x->f.list, x->f.n, head, on_pass_event, on_pass_record, &pass, &a, x->err);
	if (rc == 0)
		rc = say(x, "  records %llu = parsed %llu + context %llu + unparsed %llu; events %llu",
			 (unsigned long long)a.records, (unsigned long long)a.parsed, (unsigned long long)a.context,
			 (unsigned long long)a.unparsed, (unsigned long long)x->events);
	return rc;
}

static int more_of(void *ctx, struct buf *to, struct err *err)
{
	size_t n = 0;
	int rc = buf_reserve(to, DETECT_BYTES, err);
	if (rc == 0)
		rc = source_read(ctx, to->ptr + to->len, DETECT_BYTES, &n, err);
	to->len += n;
	return rc < 0 ? rc : n > 0;
}

static int explain_member(struct explain *x, struct source *src, const struct member *m, char *block, bool *any)
{
	const struct far far = {more_of, src};
	size_t n = 0;
	struct detection d;
	struct stack stack = {0};
	char name[STACK_NAME_MAX];
	int rc = say(x, "%s", m->name);
	if (rc == 0 && strcmp(m->container, "none") != 0)
		rc = say(x, "container: %s", m->container);
	if (rc == 0 && m->empty_handed)
		return say(x, "cannot be read: %s", source_reason(src));
	if (rc == 0)
		rc = source_read(src, block, DETECT_BYTES, &n, x->err);
	if (rc < 0)
		return rc;
	struct text head = {block, n};
	rc = detect_with(&x->f, head, n < DETECT_BYTES, NULL, &d, &stack, x->err);
	if (rc == 0)
		rc = say(x, "bids in the first %zu bytes:", n);
	x->bidders = 0;
	for (size_t i = 0; i < x->f.n && rc == 0; i++)
		rc = count_bids(x, head, i);
	if (rc == 0 && !x->bidders) /* behind a wrapper it is the text that was wrapped that bids */
		rc = say(x, stack.n ? "  none: formats bid for what stands in the wrapper" : "  none");
	if (rc < 0)
		return rc;
	if (n == DETECT_BYTES && d.unknown && !stack.n)
		rc = far_look(&far, &x->f, head, &d, &stack, x->err);
	if (rc == 0 && d.to && d.parser)
		rc = say(x, "recognised by bytes %llu to %llu", (unsigned long long)d.from, (unsigned long long)d.to);
	if (rc < 0)
		return rc;
	bool known = d.parser || (stack.n && !d.reason);
	*any = *any || known;
	for (unsigned i = 0; i < stack.n && rc == 0; i++)
		rc = say(x, "wrapper: %s (%s)", stack.wrap[i]->name, stack.wrap[i]->summary);
	for (size_t i = 0; stack_many(&stack) && i < stack.n_choices && i < RECORDS_SHOWN && rc == 0; i++)
		rc = say(x, "  origin %zu: %s", i + 1,
			 stack.choice[i].parser ? stack.choice[i].parser->name : "not recognised");
	if (d.runner_up)
		rc = say(x, "runner-up: %s, score %u", d.runner_up->name, d.runner_up_score);
	if (rc == 0 && known)
		rc = say(x, "format: %s, score %u of %u record%s", stack_name(&stack, name), d.score, d.records,
			 PLURAL(d.records));
	else if (rc == 0)
		rc =
		    say(x, "not recognised: %s%s%s", d.reason, d.best ? "; best bid " : "", d.best ? d.best->name : "");
	const struct parser *closest = d.parser ? d.parser : d.best;
	if (rc == 0 && closest)
		rc = explain_parse(x, closest, &stack, head);
	stack_done(&stack);
	return rc;
}

int detect_explain(const struct parser *const *list, size_t n, const struct wrapper *const *wraps, size_t n_wraps,
		   const char *path, int (*write)(void *ctx, struct text line), void *ctx, struct err *err)
{
	CLEANUP(source_closep) struct source *src = NULL;
	struct explain x = {.wrappers = wraps, .n_wrappers = n_wraps, .write = write, .ctx = ctx, .err = err};
	const struct member *m;
	bool any = false;
	int rc = source_open(&src, path, err);
	if (rc < 0) {
		err_where(err, "%s", path);
		return rc;
	}
	char *block = malloc(DETECT_BYTES);
	rc = block ? formats_open(&x.f, list, n, err) : err_nomem(err);
	if (rc == 0)
		rc = formats_wrap(&x.f, wraps, n_wraps, err);
	while (rc == 0 && (rc = source_next(src, &m, err)) == 1)
		rc = explain_member(&x, src, m, block, &any);
	formats_close(&x.f);
	free(block);
	return rc < 0 ? rc : any ? 0 : 1;
}
