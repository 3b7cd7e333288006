/* SPDX-License-Identifier: Apache-2.0 */
/* test_classify.c - all 243 combinations of predicates against the rules as they are written down */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pagetrail/analysis.h"
#include "pagetrail/json.h"

/* The rules as patterns over T A L D X: y n u, '.' any. First hit wins. The conflict rows stand first: a contradiction
 * is C1 when its content or a delivered read was seen, else C2. */
static const struct {
	const char *pattern;
	enum class_id class_id;
	bool conflict;
} rules[] = {
    {"n...y", CLASS_C1, true},  {".n..y", CLASS_C1, true},  {"..n.y", CLASS_C1, true},  {"...ny", CLASS_C1, true},
    {"n.yy.", CLASS_C1, true},  {".nyy.", CLASS_C1, true},  {"n.y..", CLASS_C2, true},  {".ny..", CLASS_C2, true},
    {"....y", CLASS_C1, false}, {"..yy.", CLASS_C1, false}, {"..yu.", CLASS_C2, false}, {"...n.", CLASS_C4, false},
    {"..n..", CLASS_C4, false}, {"n....", CLASS_C4, false}, {".n...", CLASS_C4, false}, {"yyuy.", CLASS_C2, false},
    {"u.uu.", CLASS_C5, false}, {".....", CLASS_C3, false},
};
static const char letter[] = {[TRI_NO] = 'n', [TRI_YES] = 'y', [TRI_UNKNOWN] = 'u'};

static struct predicates combination(unsigned i)
{
	enum tri v[5];
	for (unsigned k = 0; k < 5; k++, i /= 3)
		v[k] = (enum tri)(i % 3);
	return (struct predicates){v[0], v[1], v[2], v[3], v[4]};
}

static bool fits(const char *pattern, struct predicates p)
{
	const enum tri v[5] = {p.t, p.a, p.l, p.d, p.x};
	for (unsigned k = 0; k < 5; k++)
		if (pattern[k] != '.' && pattern[k] != letter[v[k]])
			return false;
	return true;
}

static void test_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 243; i++) {
		struct predicates p = combination(i);
		struct class_result c = classify(p, true, true);
		unsigned r = 0;
		while (!fits(rules[r].pattern, p))
			r++;
		if (c.class_id != rules[r].class_id || c.conflict != rules[r].conflict)
			fail_msg("T A L D X = %c %c %c %c %c: C%d%s, the rules say C%d%s", letter[p.t], letter[p.a],
				 letter[p.l], letter[p.d], letter[p.x], c.class_id, c.conflict ? " conflict" : "",
				 rules[r].class_id, rules[r].conflict ? " conflict" : "");
	}
}

/* A log that goes away turns a yes or a no into unknown. That may weaken a finding; it may never exclude it. */
static void test_losing_evidence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 243; i++) {
		struct predicates p = combination(i);
		struct class_result before = classify(p, true, true);
		if (before.conflict || before.class_id == CLASS_C4)
			continue;
		enum tri *const lost[] = {&p.t, &p.a, &p.l, &p.d, &p.x};
		for (unsigned k = 0; k < 5; k++) {
			enum tri kept = *lost[k];
			*lost[k] = TRI_UNKNOWN;
			assert_int_not_equal(classify(p, true, true).class_id, CLASS_C4);
			*lost[k] = kept;
		}
	}
}

static void test_disproved(void **state)
{
	(void)state;
	struct predicates t = {TRI_NO, TRI_YES, TRI_UNKNOWN, TRI_YES, TRI_UNKNOWN};
	struct predicates a = {TRI_YES, TRI_NO, TRI_UNKNOWN, TRI_YES, TRI_UNKNOWN};
	assert_int_equal(classify(t, true, true).rule, 5);
	assert_int_equal(classify(t, false, true).class_id, CLASS_C3);
	assert_int_equal(classify(t, true, false).class_id, CLASS_C4);
	assert_int_equal(classify(a, true, false).class_id, CLASS_C3);
	assert_int_equal(classify(a, false, true).class_id, CLASS_C4);
	for (unsigned i = 0; i < 243; i++) /* only rule 5 is switched off */
		if (classify(combination(i), true, true).rule != 5)
			assert_int_equal(classify(combination(i), false, false).class_id,
					 classify(combination(i), true, true).class_id);
}

static enum tri tri_of(struct json_value row, const char *at)
{
	struct text t = {NULL, 0};
	assert_true(json_string(json_path(row, at), &t));
	return text_is(t, "yes") ? TRI_YES : text_is(t, "no") ? TRI_NO : TRI_UNKNOWN;
}

/* The reference table, when it is at hand. */
static void test_reference(void **state)
{
	(void)state;
	const char *shared = getenv("PAGETRAIL_SHARED");
	char path[4096], *text = malloc(1 << 20);
	snprintf(path, sizeof(path), "%s/../reference/schemas/class_truth_table.json",
		 shared ? shared : "../shared/data");
	FILE *in = fopen(path, "rb");
	if (!in) {
		free(text);
		print_message("# skipped: no %s\n", path);
		return; /* cmocka's TAP prints a skipped test as "not ok" */
	}
	size_t n = fread(text, 1, 1 << 20, in);
	fclose(in);
	struct json *j = json_new();
	struct json_value doc, row;
	struct text key;
	assert_int_equal(json_parse(j, (struct text){text, n}, false, &doc, NULL, NULL), 0);
	struct json_iter it = json_iter(json_get(doc, "rows"));
	unsigned rows = 0;
	for (; json_next(&it, &key, &row); rows++) {
		struct predicates p = {tri_of(row, "0"), tri_of(row, "1"), tri_of(row, "2"), tri_of(row, "3"),
				       tri_of(row, "4")};
		struct class_result c = classify(p, true, true);
		struct text name;
		bool conflict;
		assert_true(json_string(json_path(row, "5"), &name));
		assert_true(json_bool(json_path(row, "6"), &conflict));
		assert_int_equal(c.class_id, name.ptr[1] - '0');
		assert_int_equal(c.conflict, conflict);
	}
	assert_int_equal(rows, 243);
	json_free(j);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_losing_evidence),
	    cmocka_unit_test(test_disproved),
	    cmocka_unit_test(test_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
