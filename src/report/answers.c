/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c - what people said where the program leaves a blank, and which blanks are left
 *
 * An answer that fits no blank is an error, never ignored: somebody believes that it was said. answers_check.c judges what it says.
 */
#include "side_file.h"

static bool names(xmlNodePtr n, const char *attr, struct text value)
{
	struct text t = side_attr(n, attr);
	return t.ptr && text_eq(t, value);
}

/* regime: its id, or {NULL, 0}: a blank of f->kind. What is said of a field goes before what is said of its whole regime. */
static xmlNodePtr find(const struct facts *f, struct text regime, struct text id)
{
	xmlNodePtr found = NULL;
	for (xmlNodePtr n = f->answers ? xmlDocGetRootElement(f->answers)->children : NULL; n; n = n->next) {
		if (n->type != XML_ELEMENT_NODE || side_is(n, "clock") || side_is(n, "sample"))
			continue;
		if (regime.ptr && !side_attr(n, "id").ptr && names(n, "regime", regime))
			found = n;
		if (!names(n, "id", id))
			continue;
		bool any = !regime.ptr && !side_attr(n, "kind").ptr && !side_attr(n, "regime").ptr;
		if (regime.ptr ? names(n, "regime", regime) : names(n, "kind", text_of(f->kind->name)))
			return n;
		if (any) /* one for this kind alone goes before */
			found = n;
	}
	return found;
}

int answer_of(struct facts *f, struct text regime, struct text id, xmlNodePtr *ret)
{
	*ret = find(f, regime, id);
	int rc = *ret ? answer_judge(f, *ret) : 0;
	if (rc == 1)
		*ret = NULL;
	return MIN(rc, 0);
}

xmlNodePtr answer_clock(const struct facts *f, struct text regime, struct text id)
{
	for (xmlNodePtr n = f->answers ? xmlDocGetRootElement(f->answers)->children : NULL; n; n = n->next)
		if (n->type == XML_ELEMENT_NODE && side_is(n, "clock") && names(n, "id", id) &&
		    names(n, "regime", regime))
			return n;
	return NULL;
}

int put_answer(struct facts *f, xmlNodePtr node, xmlNodePtr answer, struct text otherwise)
{
	if (!answer) {
		f->open_blanks++;
		return put_text(f, node, otherwise);
	}
	int rc = put_attr(f, node, "state", side_is(answer, "answer") ? TEXT("answered") : TEXT("not-applicable"));
	if (!rc)
		rc = keep_said(f, side_attr(answer, "by"));
	if (!rc)
		rc = keep_said(f, side_text(answer));
	if (!rc)
		rc = put_attr(f, node, "by", side_attr(answer, "by"));
	if (!rc)
		rc = put_attr(f, node, "on", side_attr(answer, "on"));
	return rc ? rc : put_text(f, node, side_text(answer));
}

/* ---- does each fit? ---- */
static bool blank_there(struct text kind, struct text id)
{
	for (size_t i = 0; i < n_report_kinds; i++) {
		const struct kind *k = report_kinds[i];
		for (size_t b = 0; b < k->n_blanks && (!kind.ptr || text_is(kind, k->name)); b++)
			if (text_is(id, k->blanks[b].id))
				return true;
	}
	return false;
}

static bool in_regime(const struct facts *f, struct text regime, struct text id, const char *what)
{
	for (xmlNodePtr r = side_first(xmlDocGetRootElement(f->regimes), "regime"); r; r = side_next(r)) {
		if (!names(r, "id", regime))
			continue;
		for (xmlNodePtr n = side_first(r, what); n; n = side_next(n))
			if (names(n, "id", id))
				return !strcmp(what, "clock") || side_first(n, "person");
		if (!id.ptr)
			return true;
	}
	return false;
}

static int check(struct facts *f)
{
	for (xmlNodePtr n = xmlDocGetRootElement(f->answers)->children; n; n = n->next) {
		if (n->type != XML_ELEMENT_NODE)
			continue;
		struct text id = side_attr(n, "id"), regime = side_attr(n, "regime"), kind = side_attr(n, "kind");
		bool clock = side_is(n, "clock");
		bool fits = side_is(n, "sample") ? true
			    : regime.ptr         ? in_regime(f, regime, id, clock ? "clock" : "field")
						 : blank_there(kind, id);
		/* of a clock that never starts */
		fits |= regime.ptr && side_is(n, "not-applicable") && in_regime(f, regime, id, "clock");
		bool both = regime.ptr && !clock && !in_regime(f, regime, id, "field") && answer_clock(f, regime, id);
		int rc = both   ? answer_refused(f, n, NULL, "its clock was started as well")
			 : fits ? answer_check(f, n)
				: answer_refused(f, n, NULL, "there is no such blank");
		if (!fits)
			err_hint(f->err, "the report names each of its blanks");
		if (rc)
			return rc;
	}
	return 0;
}

int answers_read(struct facts *f)
{
	int rc = f->o->answers.ptr ? side_file_read(&f->answers, f->o, "answers.rng", "answers", f->o->answers,
						    SIDE_FILE_MAX_BYTES, f->err)
				   : 0;
	if (!rc && f->answers)
		rc = check(f);
	return !rc && f->answers ? samples_check(f) : rc;
}
