/* SPDX-License-Identifier: Apache-2.0 */
/* test_sighting.c - markers in the evidence: whose record, whose words, which verdict */
#include "../../../src/analysis/sighting.h"
#include "fleet_fixture.h"

#include "pagetrail/evidence.h"

/* ---- whose words ---- */
static void test_part(void **state)
{
	(void)state;
	static const struct {
		const char *record;
		enum part part;
	} cases[] = {
	    {"{\"rid\":\"a\",\"obj\":{\"text\":\"say MARK\"},\"out\":{\"text\":\"no\"}}", PART_ASKED},
	    {"{\"rid\":\"a\",\"obj\":{\"text\":\"say\"},\"out\":{\"text\":\"MARK\"}}", PART_ANSWERED},
	    {"{\"messages\":[{\"role\":\"user\",\"content\":\"MARK\"}]}", PART_ASKED},
	    {"{\"choices\":[{\"message\":{\"content\":\"it is MARK\"}}]}", PART_ANSWERED},
	    {"{\"response\":\"{\\\"choices\\\":[{\\\"text\\\":\\\"MARK\\\"}]}\"}", PART_ANSWERED},
	    /* JSON in a string: the inner keys tell; an outer one that knows tells first */
	    {"{\"log\":\"{\\\"prompt\\\":\\\"MARK\\\"}\\n\",\"stream\":\"stdout\"}", PART_ASKED},
	    {"{\"log\":\"{\\\"out\\\":{\\\"text\\\":\\\"MARK\\\"}}\\n\"}", PART_ANSWERED},
	    {"{\"request\":{\"response\":\"MARK\"}}", PART_ASKED},
	    /* what a prompt says about itself does not count */
	    {"{\"prompt\":\"\\\"response\\\": out={'text': MARK\"}", PART_ASKED},
	    {"{\"text\":\"MARK\"}", PART_UNKNOWN},
	    {"{\"MARK\":\"prompt\"}", PART_UNKNOWN},
	    {"2026-09-09T14:00:00Z stdout F {\"output\":\"MARK\"}", PART_ANSWERED},
	    {"[2026-09-09 14:00:00] Finish: obj=GenerateReqInput(rid='a', text='MARK'), out={'text': 'b'}", PART_ASKED},
	    {"[2026-09-09 14:00:00] Finish: obj=GenerateReqInput(rid='a', text='c'), out={'text': 'MARK'}",
	     PART_ANSWERED},
	    {"[2026-09-09 14:00:00] layout={'text': 'MARK'}", PART_UNKNOWN},
	    {"plain words and MARK", PART_UNKNOWN},
	    /* nor what it says where the record is a line: in quotes of either kind, behind an escaped one, in JSON of its own */
	    {"[2026-09-09 14:00:00] Finish: obj=GenerateReqInput(rid='a', text=\"it's, out={'text': 'MARK'}\")",
	     PART_ASKED},
	    {"[2026-09-09 14:00:00] Finish: obj=GenerateReqInput(text='say \\', out={MARK'), out={'text': 'b'}",
	     PART_ASKED},
	    {"[2026-09-09 14:00:00] Receive: obj=GenerateReqInput(text='{\"response\":\"MARK\"}')", PART_ASKED},
	    {"[2026-09-09 14:00:00] Finish: obj=G(text='a', image_data=b', out= MARK')", PART_ASKED},
	    {"[2026-09-09 14:00:00] Finish: obj=G(text='a'), out={'text': 'obj=G(text=MARK)'}", PART_ANSWERED},
	    {"INFO Received request a: prompt: '{\"response\":\"MARK\"}', params: P()", PART_UNKNOWN},
	    {"INFO Received request a: prompt: 'x out={MARK', params: P()", PART_UNKNOWN},
	    {"[2026-09-09T14:00:00Z] gateway's line {\"choices\":[{\"text\":\"MARK\"}]}", PART_ANSWERED},
	    {"{\"user_text\":\"out={'text': 'MARK'}\"}", PART_UNKNOWN},
	    {"{\"user_text\":\"{\\\"response\\\":\\\"MARK\\\"}\"}", PART_UNKNOWN},
	    {"{\"log\":\"Finish: obj=G(text='out={MARK'), out={}\\n\"}", PART_ASKED},
	    {"{\"log\":\"Finish: obj=G(text='a'), out={'text': 'MARK'}\\n\"}", PART_ANSWERED},
	    {"{\"out\":[\"MARK", PART_UNKNOWN}, /* torn */
	    {"MARK", PART_UNKNOWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t at = (size_t)(strstr(cases[i].record, "MARK") - cases[i].record);
		enum part p = part_at(text_of(cases[i].record), at);
		if (p != cases[i].part)
			fail_msg("%s: %s, not %s", cases[i].record, part_names[p], part_names[cases[i].part]);
	}
	/* no nesting is too deep to end */
	char deep[4096] = "";
	for (int i = 0; i < 1000; i++)
		strcat(deep, "[{");
	strcat(deep, "MARK");
	part_at(text_of(deep), strlen(deep) - 4);
}

/* ---- verdicts ---- */
static char content[4][4096];
static int64_t ids[4];

/* One more line of a source, with its event: the fixture's events lie 100 bytes apart. */
static void line(int k, double at, const char *columns, const char *text)
{
	size_t len = strlen(content[k]);
	put(ids[k], EVENT_LEG, at, columns);
	snprintf(content[k] + len, sizeof(content[k]) - len, "%-99s\n", text);
	assert_int_equal(strlen(content[k]), len + 100);
}

static void store(int k)
{
	struct evidence_chunk e;
	char sql[200];
	assert_int_equal(evidence_encode(text_of(content[k]), 0, &e, NULL), 0);
	assert_int_equal(evidence_append(fixture, ids[k], &e, NULL), 0);
	evidence_done(&e);
	snprintf(sql, sizeof(sql), "UPDATE source SET bytes = %zu WHERE source = %lld", strlen(content[k]),
		 (long long)ids[k]);
	run(sql);
}

static void test_verdicts(void **state)
{
	(void)state;
	memset(content, 0, sizeof(content));
	boots("0.5.9");
	request(1, 10, 20, "a", 100, 200, "finished", 100);
	request(2, 30, 40, "b", 100, 200, "finished", 100);
	request(3, 50, 60, "a", 100, 200, "finished", 100);
	ids[0] = source("requests.log", "d", NULL);
	ids[1] = source("markers.json", NULL, NULL);
	ids[2] = source("other.txt", NULL, NULL);
	run("UPDATE source SET format = 'markers' WHERE path = 'markers.json'");
	line(0, 20, "what=finished rid=d1 room=9001 role=decode",
	     "{\"rid\":\"d1\",\"obj\":{\"text\":\"keep first-marker\"},\"out\":{\"text\":\"first-marker it is\"}}");
	line(0, 40, "what=finished rid=d2 room=9002 role=decode",
	     "{\"rid\":\"d2\",\"obj\":{\"text\":\"hello\"},\"out\":{\"text\":\"you said first-marker and "
	     "Zmlyc3QtbWFya2Vy\"}}");
	line(0, 60, "what=finished rid=d3 room=9003 role=decode",
	     "{\"rid\":\"d3\",\"obj\":{\"text\":\"why first-marker, "
	     "tenant-marker?\"},\"out\":{\"text\":\"lonely-marker\"}}");
	strcpy(content[1],
	       "{\"markers\":[{\"marker\":\"first-marker\",\"planted_request\":\"gw-1\"},{\"marker\":\"tenant-marker\","
	       "\"planted_tenant\":\"b\"},{\"marker\":\"lonely-marker\"},{\"marker\":\"never-seen-marker\"}]}");
	strcpy(content[2], "nobody knows whose words these are: first-marker\n");
	for (int k = 0; k < 3; k++)
		store(k);
	analyse(0, 0);
	same("SELECT marker, verdict, part, spelling, coalesce(q.name, '-'), s.cross_tenant FROM sighting s LEFT JOIN "
	     "request q ON "
	     "q.request = s.seen_request ORDER BY s.source, s.byte_off, marker, part",
	     "first-marker|own|answered|plain|gw-1|no;first-marker|own|asked|plain|gw-1|no;"
	     "first-marker|foreign|answered|plain|gw-2|yes;"
	     "first-marker|unknown|asked|plain|gw-3|no;lonely-marker|unknown|answered|plain|gw-3|unknown;"
	     "tenant-marker|unknown|asked|plain|gw-3|yes;"
	     "first-marker|unknown|unknown|plain|-|unknown;");
	/* X, and a class that nothing else would give; below the limit, so that the trigger excludes nobody any more */
	same("SELECT request, x, class, conflict FROM findings() ORDER BY request",
	     "gw-1|unknown|C3|0;gw-2|yes|C1|1;gw-3|unknown|C3|0;");
	same("SELECT refs LIKE '%S5@%' FROM findings() WHERE request = 'gw-2'", "1;");
	same("SELECT request, class, grade, readers, reader_tenants, pages FROM exposed() WHERE request = 'gw-1'",
	     "gw-1|E1|content|1|1|-;");
	same("SELECT count(*) FROM explain('gw-2') WHERE about = 'X' AND refs IS NOT NULL", "1;");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_part), T(test_verdicts)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
