/* SPDX-License-Identifier: Apache-2.0 */
/* answers_check.c - who signed an answer and when, and whether an approved paper may say it
 *
 * An answer that says nothing yet leaves its blank open: in a draft, which is there to see what is missing. What breaks a rule of
 * wording.c is a remark in a draft. Neither is in an approved paper. Remarks come once a run, in however many papers an answer stands.
 */
#include <stdio.h>

#include "pagetrail/stamp.h"
#include "pagetrail/wording.h"
#include "side_file.h"

enum { PATH_SIZE = 256, DAY_HOURS_AHEAD = 14 }; /* somewhere it is that much later than in UTC */

/* As XPath has it; names are short by the schema. */
static const char *path_of(xmlNodePtr answer, const char *attr, char to[PATH_SIZE])
{
	static const char *const names[] = {"kind", "regime", "id"};
	int n = snprintf(to, PATH_SIZE, "%s", (const char *)answer->name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct text value = side_attr(answer, names[i]);
		if (value.ptr)
			n += snprintf(to + n, PATH_SIZE - (size_t)n, "[@%s='%.*s']", names[i],
				      TEXT_ARG(text_sub(value, 0, 40)));
	}
	snprintf(to + n, PATH_SIZE - (size_t)n, "%s%s", attr ? "/@" : "", attr ? attr : "");
	return to;
}

int answer_refused(struct facts *f, xmlNodePtr answer, const char *attr, const char *why)
{
	char path[PATH_SIZE];
	return err_set(f->err, ERR_INPUT, "the answers cannot be taken: line %ld: %s: %s", xmlGetLineNo(answer),
		       path_of(answer, attr, path), why);
}

/* ---- signed, and said once ---- */

static bool same(xmlNodePtr a, xmlNodePtr b, const char *attr)
{
	struct text x = side_attr(a, attr), y = side_attr(b, attr);
	return !x.ptr == !y.ptr && text_eq(x, y);
}

/* A clock and a field of a regime may have one id. */
static bool same_place(xmlNodePtr a, xmlNodePtr b)
{
	return b->type == XML_ELEMENT_NODE && side_is(a, "clock") == side_is(b, "clock") &&
	       side_is(a, "sample") == side_is(b, "sample") && same(a, b, "id") && same(a, b, "kind") &&
	       same(a, b, "regime");
}

/* TIME_UNKNOWN: no day that ever was. */
static int64_t day_of(struct text on)
{
	struct stamp s = STAMP_INIT;
	char tmp[32];
	size_t used;
	snprintf(tmp, sizeof(tmp), "%.10sT00:00:00Z", on.ptr);
	return on.len == 10 && stamp_parse_iso(text_of(tmp), &s, &used) ? s.ns : TIME_UNKNOWN;
}

int answer_check(struct facts *f, xmlNodePtr answer)
{
	int64_t on = day_of(text_trim(side_attr(answer, "on")));
	int64_t latest = MAX(f->o->now_ns, f->o->as_of_ns);
	for (xmlNodePtr n = answer->prev; n; n = n->prev)
		if (same_place(answer, n))
			return answer_refused(f, answer, NULL, "it stands twice");
	if (!text_says_something(side_attr(answer, "by")))
		return answer_refused(f, answer, "by", "it names nobody");
	if (on == TIME_UNKNOWN)
		return answer_refused(f, answer, "on", "no day that can be");
	if (on - DAY_HOURS_AHEAD * 3600 * NS_PER_S > latest)
		return answer_refused(f, answer, "on", "this day is still to come");
	bool words = !side_is(answer, "clock") && !side_is(answer, "sample");
	return words || text_says_something(side_text(answer)) ? 0
							       : answer_refused(f, answer, NULL, "it gives no reason");
}

/* ---- what it says ---- */

struct judging {
	struct facts *f;
	xmlNodePtr answer;
	bool open;
};

static int fault(struct judging *j, bool refuse, const char *why, const char *advice)
{
	struct facts *f = j->f;
	char path[PATH_SIZE], tmp[2 * PATH_SIZE];
	if (refuse) {
		int rc = answer_refused(f, j->answer, NULL, why);
		err_hint(f->err, "%s", advice);
		return rc;
	}
	int n = snprintf(tmp, sizeof(tmp), "the answers, line %ld: %s: %s: %s", xmlGetLineNo(j->answer),
			 path_of(j->answer, NULL, path), why, advice);
	if (f->o->on_remark)
		f->o->on_remark(f->o->ctx, (struct text){tmp, MIN((size_t)n, sizeof(tmp) - 1)});
	return 0;
}

static bool has_blank(xmlNodePtr answer)
{
	return side_is(answer, "answer") || side_is(answer, "not-applicable");
}

static int on_fault(void *ctx, const struct wording_fault *w)
{
	struct judging *j = ctx;
	char why[160];
	bool open = !strcmp(w->rule, "blank") && has_blank(j->answer);
	snprintf(why, sizeof(why), "it says '%.*s' (rule %s)", TEXT_ARG(text_sub(w->words, 0, 80)), w->rule);
	if (open && j->open)
		return 0;
	j->open |= open;
	return fault(j, open ? j->f->o->approved : j->f->approved, why, open ? "the blank is open" : w->advice);
}

/* As it stands in a page, where marks of Markdown hide nothing. */
static int judge_words(struct judging *j)
{
	xmlBufferPtr page = xmlBufferCreate();
	int n = page ? xmlNodeDump(page, j->answer->doc, j->answer, 0, 0) : -1;
	int rc = n < 0 ? err_nomem(j->f->err)
		       : wording_check((struct text){(const char *)xmlBufferContent(page), (size_t)n}, WORDING_XML,
				       on_fault, j, j->f->err);
	xmlBufferFree(page);
	return rc;
}

int answer_judge(struct facts *f, xmlNodePtr answer)
{
	static char open, said; /* what was found out of a node before */
	struct judging j = {.f = f, .answer = answer};
	int rc = 0;
	if (answer->_private && !(f->o->approved && answer->_private == &open))
		return answer->_private == &open;
	if (text_says_something(side_text(answer)))
		rc = judge_words(&j);
	else
		rc = fault(&j, f->o->approved, "it says nothing", "the blank is open"), j.open = true;
	if (rc)
		return rc;
	answer->_private = j.open ? &open : &said;
	return j.open;
}
