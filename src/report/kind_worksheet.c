/* SPDX-License-Identifier: Apache-2.0 */
/* kind_worksheet.c - what each duty to notify asks for: what the case says of it, what people have to, and when it falls due
 *
 * Which duties there are, and their periods, is data (reports/regimes.xml, or a file of the same shape). A clock starts
 * only where a person says when; no duty is said to apply, or not to.
 */
#include <string.h>

#include "pagetrail/deadline.h"
#include "side_file.h"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final report"},
    {"approver", "Approval", "name, function, date"},
    {"applies", "Which of these apply", "by name, with the reasoning, also where one does not"},
};

static const struct section sections[] = {
    {.id = "tenants",
     .title = "Tenants on both sides",
     .query = "report_tenants",
     .shown = "tenant=Tenant,c1=Received C1,c2=Received C2,c3=Received C3,c5=Received C5,e1=Own requests "
	      "E1,e2=E2,e3=E3,e5=E5",
     .text = "Whom notices go to, and the number of their responses and requests by class."},
};

/* ---- one regime ---- */
static int copy_attr(struct facts *f, xmlNodePtr to, xmlNodePtr from, const char *name)
{
	struct text t = side_attr(from, name);
	return t.ptr ? put_attr(f, to, name, t) : 0;
}

static int copy_attrs(struct facts *f, xmlNodePtr to, xmlNodePtr from, const char *const *names, size_t n)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < n; i++)
		rc = copy_attr(f, to, from, names[i]);
	return rc;
}

static int64_t clock_at(const struct facts *f, struct text regime, struct text id)
{
	struct text at = side_attr(answer_clock(f, regime, id), "at");
	struct stamp s = STAMP_INIT;
	size_t used;
	return at.ptr && stamp_parse_iso(at, &s, &used) && used == at.len ? s.ns : TIME_UNKNOWN;
}

static int put_clock(struct facts *f, xmlNodePtr parent, struct text regime, xmlNodePtr clock)
{
	static const char *const own[] = {"id", "citation"};
	char tmp[40];
	struct text id = side_attr(clock, "id");
	xmlNodePtr answer = answer_clock(f, regime, id), node = put_node(f, parent, "clock"), never = NULL;
	int64_t at = clock_at(f, regime, id);
	int rc = copy_attrs(f, node, clock, own, ARRAY_SIZE(own));
	if (!rc && answer && at == TIME_UNKNOWN)
		rc = answer_refused(f, answer, "at", "no time that can be");
	if (!rc)
		rc = answer ? MIN(answer_judge(f, answer), 0) : answer_of(f, regime, id, &never);
	if (!rc && answer)
		rc = put_attr(f, node, "at", text_of(stamp_format(at, tmp, sizeof(tmp))));
	if (!rc && answer)
		rc = copy_attr(f, node, answer, "by");
	if (!rc && answer)
		rc = put_attr(f, node, "reason", side_text(answer));
	if (!rc && never)
		rc = put_attr(f, node, "by", side_attr(never, "by"));
	if (!rc && never)
		rc = put_attr(f, node, "never", side_text(never));
	f->open_blanks += !answer && !never;
	return rc ? rc : put_text(f, node, side_text(clock));
}

static int put_due(struct facts *f, xmlNodePtr parent, struct text regime, xmlNodePtr due)
{
	static const char *const own[] = {"id", "citation", "from", "within"};
	char tmp[40];
	struct due d;
	xmlNodePtr node = put_node(f, parent, "due");
	int rc = copy_attrs(f, node, due, own, ARRAY_SIZE(own));
	int64_t from = clock_at(f, regime, side_attr(due, "from"));
	int64_t at = due_parse(side_attr(due, "within"), &d) ? due_at(from, d, f->zone, f->holidays) : TIME_UNKNOWN;
	if (!rc && at != TIME_UNKNOWN)
		rc = put_attr(f, node, "at", text_of(stamp_format(at, tmp, sizeof(tmp))));
	return rc ? rc : put_text(f, node, side_text(due));
}

/* Names of an attribute as elements: what stands under them in the document. */
static int put_values(struct facts *f, xmlNodePtr field, const char *attr, struct text names, unsigned *n)
{
	struct text name;
	int rc = 0;
	while (!rc && names.ptr && text_split(&names, ' ', &name)) {
		name = text_trim(name);
		if (!name.len)
			continue;
		rc = put_attr(f, put_node(f, field, "value"), attr, name);
		*n += 1;
	}
	return rc;
}

struct tally {
	int64_t fields, said, answered, not_applicable;
};

static int put_field(struct facts *f, xmlNodePtr parent, struct text regime, xmlNodePtr field, struct tally *t)
{
	static const char *const own[] = {"id", "citation", "title"};
	xmlNodePtr node = put_node(f, parent, "field"), person = side_first(field, "person");
	unsigned values = 0;
	int rc = copy_attrs(f, node, field, own, ARRAY_SIZE(own));
	if (!rc)
		rc = put_values(f, node, "number", side_attr(field, "numbers"), &values);
	if (!rc)
		rc = put_values(f, node, "time", side_attr(field, "times"), &values);
	t->fields++;
	t->said += values > 0;
	if (rc || !person)
		return rc;
	xmlNodePtr answer;
	rc = answer_of(f, regime, side_attr(field, "id"), &answer);
	if (rc)
		return rc;
	t->answered += answer && side_is(answer, "answer");
	t->not_applicable += answer && !side_is(answer, "answer");
	return put_answer(f, put_node(f, node, "person"), answer, side_text(person));
}

static int put_regime(struct facts *f, xmlNodePtr regime)
{
	static const char *const own[] = {"id", "title", "law", "status", "basis", "source", "as-of"};
	xmlNodePtr node = put_node(f, f->root, "regime");
	struct text id = side_attr(regime, "id");
	struct tally t = {0};
	int64_t open = f->open_blanks;
	int rc = copy_attrs(f, node, regime, own, ARRAY_SIZE(own));
	for (xmlNodePtr n = side_first(regime, "clock"); !rc && n; n = side_next(n))
		rc = put_clock(f, node, id, n);
	for (xmlNodePtr n = side_first(regime, "due"); !rc && n; n = side_next(n))
		rc = put_due(f, node, id, n);
	for (xmlNodePtr n = side_first(regime, "field"); !rc && n; n = side_next(n))
		rc = put_field(f, node, id, n, &t);
	if (!rc)
		rc = put_attr_int(f, node, "fields", t.fields);
	if (!rc)
		rc = put_attr_int(f, node, "said", t.said);
	if (!rc)
		rc = put_attr_int(f, node, "answered", t.answered);
	if (!rc)
		rc = put_attr_int(f, node, "not-applicable", t.not_applicable);
	return rc ? rc : put_attr_int(f, node, "open", f->open_blanks - open);
}

static int no_regime(struct facts *f, xmlNodePtr all)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	int rc = 0;
	for (xmlNodePtr n = side_first(all, "regime"); !rc && n; n = side_next(n))
		rc = buf_printf(&b, f->err, "%s%.*s", b.len ? ", " : "", TEXT_ARG(side_attr(n, "id")));
	if (rc)
		return rc;
	err_set(f->err, ERR_USAGE, "no regime '%s'", f->o->regime);
	return err_hint(f->err, "there is: %s", b.ptr);
}

static int put_regimes(struct facts *f)
{
	xmlNodePtr all = xmlDocGetRootElement(f->regimes);
	bool any = false;
	int rc = 0;
	for (xmlNodePtr n = side_first(all, "regime"); !rc && n; n = side_next(n)) {
		if (f->o->regime && !text_is(side_attr(n, "id"), f->o->regime))
			continue;
		any = true;
		rc = put_regime(f, n);
	}
	return rc ? rc : any ? put_samples(f) : no_regime(f, all);
}

/* ---- the table ---- */
/* What a schema cannot say: periods run from clocks that there are, ids stand once, numbers are those of the document. */
static int check_regime(struct facts *f, xmlNodePtr regime)
{
	static const char *const parts[] = {"clock", "due", "field"};
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
		for (xmlNodePtr n = side_first(regime, parts[k]); n; n = side_next(n)) {
			bool fits = k != 1;
			for (xmlNodePtr o = side_first(regime, "clock"); o && !fits; o = side_next(o))
				fits = text_eq(side_attr(o, "id"), side_attr(n, "from"));
			for (xmlNodePtr o = n->next; o && fits; o = o->next)
				fits = o->type != XML_ELEMENT_NODE || side_is(o, "due") || k == 1 ||
				       !text_eq(side_attr(o, "id"), side_attr(n, "id"));
			if (!fits)
				return err_set(f->err, ERR_INPUT,
					       "the regimes cannot be taken: line %ld: %s '%.*s' stands twice, or runs "
					       "from no clock",
					       xmlGetLineNo(n), parts[k], TEXT_ARG(side_attr(n, "id")));
		}
	for (xmlNodePtr n = side_first(regime, "field"); n; n = side_next(n)) {
		struct text names = side_attr(n, "numbers"), name;
		while (names.ptr && text_split(&names, ' ', &name)) {
			bool known = !text_trim(name).len;
			for (size_t i = 0; i < case_numbers.n_numbers && !known; i++)
				known = text_is(text_trim(name), case_numbers.numbers[i].id);
			if (!known)
				return err_set(f->err, ERR_INPUT,
					       "the regimes cannot be taken: line %ld: no number '%.*s'",
					       xmlGetLineNo(n), TEXT_ARG(name));
		}
	}
	return 0;
}

int regimes_read(struct facts *f)
{
	struct text content =
	    f->o->regimes.ptr ? f->o->regimes : asset_find(f->o->assets, f->o->n_assets, "regimes.xml");
	int rc = side_file_read(&f->regimes, f->o, "regimes.rng", "regimes", content, SIDE_FILE_MAX_BYTES, f->err);
	for (xmlNodePtr n = rc ? NULL : side_first(xmlDocGetRootElement(f->regimes), "regime"); n && !rc;
	     n = side_next(n)) {
		rc = check_regime(f, n);
		for (xmlNodePtr o = side_next(n); o && !rc; o = side_next(o))
			if (text_eq(side_attr(o, "id"), side_attr(n, "id")))
				rc = err_set(f->err, ERR_INPUT, "the regimes cannot be taken: '%.*s' stands twice",
					     TEXT_ARG(side_attr(n, "id")));
	}
	if (!rc && f->o->zone)
		rc = zone_open(&f->zone, text_of(f->o->zone), f->err);
	return !rc && f->o->holidays.ptr ? holidays_read(&f->holidays, f->o->holidays, f->err) : rc;
}

const struct kind kind_worksheet = {
    .name = "worksheet",
    .sheet = "worksheet.xsl",
    .readers = READERS_OPERATOR,
    .numbers = &case_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .figures = put_regimes,
};
