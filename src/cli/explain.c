/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - explain(request) for people: prose that wraps, and the original lines behind each predicate
 *
 * Lines are quoted from the evidence, cut, and made harmless; `show` gives them whole. Of lines that differ only in their head
 * one is quoted.
 */
#include "cli.h"

#include <inttypes.h>

#include "pagetrail/evidence.h"

struct printer {
	struct case_file *c;
	struct buf line, text, last; /* last: what was quoted before, without its head */
	size_t alike;                /* records like it since */
	int64_t response;            /* that was begun; 0: none */
	bool changes;                /* their heading was printed */
};

static int visible(struct printer *p, struct text t, size_t max, struct err *err)
{
	buf_clear(&p->text);
	return text_visible(t, max, &p->text, err);
}

static int paragraph(struct printer *p, struct text t, unsigned first, unsigned rest, struct err *err)
{
	int rc = visible(p, t, SIZE_MAX, err);
	if (rc == 0)
		rows_paragraph(buf_text(&p->text), first, rest);
	return rc;
}

/* What is asked, and of whom. */
static int heading(struct printer *p, int64_t response, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc =
	    sql_prepare(&s, p->c,
			"SELECT q.name, t.name, r.started_ns, r.status FROM response r JOIN request q USING(request) "
			"LEFT JOIN tenant t ON t.tenant = q.tenant WHERE r.response = ?1",
			err);
	if (rc == 0)
		rc = sql_int(s, 1, response, err);
	if (rc == 0)
		rc = sql_step(s, err);
	if (rc != 1)
		return rc;
	char at[64] = "time unknown";
	if (sql_type(s, 2) != SQL_NULL)
		stamp_format(sql_get_int(s, 2), at, sizeof(at));
	buf_clear(&p->line);
	rc = buf_printf(&p->line, err, "%.*s: tenant %.*s, %s", TEXT_ARG(sql_get_text(s, 0)),
			TEXT_ARG(sql_type(s, 1) == SQL_NULL ? TEXT("unknown") : sql_get_text(s, 1)), at);
	if (rc == 0 && sql_type(s, 3) != SQL_NULL)
		rc = buf_printf(&p->line, err, ", status %" PRId64, sql_get_int(s, 3));
	if (p->response)
		fputc('\n', stdout);
	p->response = response;
	p->changes = false;
	return rc == 0 ? paragraph(p, buf_text(&p->line), 0, 2, err) : rc;
}

/* Ranks write the same line one after the other: all but time and rank, which stand in brackets before it. */
static struct text without_head(struct text line)
{
	size_t end = text_starts(line, "[") ? text_find_char(line, ']', 0) : SIZE_MAX;
	return end == SIZE_MAX ? line : text_from(line, end + 1);
}

static void say_alike(struct printer *p)
{
	if (p->alike)
		printf("      and %zu record%s like it\n", p->alike, PLURAL(p->alike));
	p->alike = 0;
}

/* The original line that a reference names; 1: it is like the one before. A reference that cannot be read is said, not
 * skipped. */
static int quote(struct printer *p, struct text name, struct err *err)
{
	struct ref ref;
	if (!ref_parse(name, &ref))
		return err_set(err, ERR_BUG, "'%.*s' is no reference", TEXT_ARG(name));
	struct err unread = {0};
	buf_clear(&p->line);
	int rc =
	    evidence_read(p->c, ref.source, ref.off, MIN(ref.len, (uint64_t)EXPLAIN_LINE_MAX_BYTES), &p->line, &unread);
	if (rc < 0 && rc != ERR_DAMAGED && rc != ERR_INPUT) {
		*err = unread;
		return rc;
	}
	struct text said = rc < 0 ? text_of(unread.what) : text_chomp(buf_text(&p->line));
	if (p->last.len && text_eq(without_head(said), buf_text(&p->last))) {
		p->alike++;
		return 1;
	}
	say_alike(p);
	printf("      %.*s\n", TEXT_ARG(name));
	buf_clear(&p->last);
	rc = buf_add_text(&p->last, without_head(said), err);
	if (rc == 0)
		rc = visible(p, said, SIZE_MAX, err);
	if (rc == 0 && ref.len > EXPLAIN_LINE_MAX_BYTES)
		rc = buf_printf(&p->text, err, "… (%" PRIu64 " bytes)", ref.len);
	if (rc == 0)
		rows_paragraph(buf_text(&p->text), 8, 8);
	return rc;
}

static int quotes(struct printer *p, struct text refs, struct err *err)
{
	size_t n = 0, left = 0, at = 0;
	struct text name;
	buf_clear(&p->last);
	while (refs_next(refs, &at, &name)) {
		if (n == EXPLAIN_LINES_MAX) {
			left++;
			continue;
		}
		int rc = quote(p, name, err);
		if (rc < 0)
			return rc;
		n += rc == 0;
	}
	say_alike(p);
	if (left)
		printf("      and %zu more record%s: --json lists %s\n", left, PLURAL(left), left == 1 ? "it" : "them");
	return 0;
}

/* response_id, step, about, value, code, says, refs */
static int print_step(struct printer *p, struct sql *s, struct err *err)
{
	struct text step = sql_get_text(s, 1), about = sql_get_text(s, 2), value = sql_get_text(s, 3),
		    says = sql_get_text(s, 5);
	int rc = 0;
	if (sql_get_int(s, 0) != p->response)
		rc = heading(p, sql_get_int(s, 0), err);
	if (rc < 0)
		return rc;
	if (text_is(step, "class"))
		return paragraph(p, says, value.len ? 0 : 2, 2, err);
	if (text_is(step, "reason") || text_is(step, "fact"))
		rc = paragraph(p, says, 4, 4, err);
	else if (text_is(step, "note"))
		rc = paragraph(p, says, 0, 2, err);
	else if (text_is(step, "change")) {
		if (!p->changes)
			puts("\nWhat would change the answer");
		p->changes = true;
		buf_clear(&p->line);
		rc = buf_printf(&p->line, err, "%.*s is %.*s. %.*s", TEXT_ARG(about), TEXT_ARG(value), TEXT_ARG(says));
		if (rc == 0)
			rc = paragraph(p, buf_text(&p->line), 2, 4, err);
	} else {
		buf_clear(&p->line);
		rc = buf_printf(&p->line, err, "%.*s %.*s: %.*s", TEXT_ARG(about), TEXT_ARG(value), TEXT_ARG(says));
		fputc('\n', stdout);
		if (rc == 0)
			rc = paragraph(p, buf_text(&p->line), 0, 2, err);
	}
	return rc;
}

int explain_print(struct case_file *c, int64_t request, struct err *err)
{
	struct printer p = {.c = c, .line = BUF_INIT(16 * MIB), .text = BUF_INIT(64 * MIB), .last = BUF_INIT(MIB)};
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf refs = BUF_INIT(MIB);
	int rc = sql_prepare(&s, c, "SELECT response_id, step, about, value, code, says, refs FROM explain(?1)", err);
	if (rc == 0)
		rc = sql_int(s, 1, request, err);
	while (rc == 0 && (rc = sql_step(s, err)) == 1) {
		/* a predicate's records come after its reasons */
		bool next = text_is(sql_get_text(s, 1), "predicate") || text_is(sql_get_text(s, 1), "change") ||
			    text_is(sql_get_text(s, 1), "note") || text_is(sql_get_text(s, 1), "class");
		rc = next ? quotes(&p, buf_text(&refs), err) : 0;
		if (next)
			buf_clear(&refs);
		if (rc == 0 && sql_type(s, 6) != SQL_NULL)
			rc = buf_add_text(&refs, sql_get_text(s, 6), err);
		if (rc == 0)
			rc = print_step(&p, s, err);
	}
	if (rc == 0)
		rc = quotes(&p, buf_text(&refs), err);
	if (rc == 0 && !p.response)
		puts("no response of this request is in the evidence; 'pagetrail lineage' shows what is");
	buf_done(&p.line);
	buf_done(&p.text);
	buf_done(&p.last);
	return rc < 0 ? rc : system_flush(err);
}
