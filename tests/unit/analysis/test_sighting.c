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

/* ---- was the prompt seen? ---- */
static void test_prompt(void **state)
{
	(void)state;
	static const struct {
		const char *record;
		enum prompt prompt;
	} cases[] = {
	    {"{\"rid\":\"a\",\"obj\":{\"text\":\"say\"},\"out\":{\"text\":\"no\"}}", PROMPT_SEEN},
	    {"{\"rid\":\"a\",\"obj\":{\"text\":null,\"input_ids\":[1,2]},\"out\":{\"text\":\"no\"}}", PROMPT_UNSEEN},
	    {"{\"rid\":\"a\",\"obj\":{\"text\":\"say ... no\"}}", PROMPT_CUT},
	    {"{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}", PROMPT_SEEN},
	    {"{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},{\"content\":\"and on ...\"}]}", PROMPT_CUT},
	    {"{\"choices\":[{\"message\":{\"content\":\"it is\"}}]}", PROMPT_UNSEEN},
	    {"{\"prompt\":\"\"}", PROMPT_UNSEEN},
	    {"{\"prompts\":[\"a\",\"b\"]}", PROMPT_SEEN},
	    {"{\"log\":\"{\\\"prompt\\\":\\\"hello\\\"}\\n\"}", PROMPT_SEEN},
	    {"{\"out\":\"obj=G(text='hello')\"}", PROMPT_UNSEEN},
	    {"[2026-09-09 14:00:00] Finish: obj=G(rid='a', text='hello'), out={'text': 'b'}", PROMPT_SEEN},
	    {"[2026-09-09 14:00:00] Finish: obj=G(rid='a', text=None), out={'text': 'b'}", PROMPT_UNSEEN},
	    {"[2026-09-09 14:00:00] Finish: obj=G(text='begin' ... 'end'), out={'text': 'b'}", PROMPT_CUT},
	    {"[2026-09-09 14:00:00] Finish: obj=G(text='torn", PROMPT_CUT},
	    {"[2026-09-09 14:00:00] Receive: obj=C(messages=[{'role': 'user', 'content': \"it's\"}])", PROMPT_SEEN},
	    {"[2026-09-09 14:00:00] Finish: obj=G(rid='text='), out={'text': 'b'}", PROMPT_UNSEEN},
	    {"", PROMPT_UNSEEN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (prompt_in(text_of(cases[i].record)) != cases[i].prompt)
			fail_msg("%s: %d", cases[i].record, (int)prompt_in(text_of(cases[i].record)));
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
	same("SELECT says FROM explain('gw-2') WHERE about = 'X' AND step = 'fact'",
	     "Marker first-marker, planted in gw-1: its own prompt does not hold it.;");
}

#define ANSWER(n, prompt, answer)                                                      \
	line(0, 10 + 10 * (n), "what=finished rid=d" #n " room=900" #n " role=decode", \
	     "{\"obj\":{\"text\":" prompt "},\"out\":{\"text\":\"" answer "\"}}")

/* Six requests, of tenants a and b in turn; request n ends at 10 + 10 n. */
static void fleet_of_six(bool over_limit)
{
	memset(content, 0, sizeof(content));
	boots("0.5.9");
	for (int n = 1; n <= 6; n++)
		request(n, 5 + 10 * n, 10 + 10 * n, n % 2 ? "a" : "b", over_limit ? 1500 : 100, 200,
			over_limit ? "rejected" : "finished", over_limit ? 1 : 100);
	ids[0] = source("requests.log", "d", NULL);
	ids[1] = source("markers.json", NULL, NULL);
	ids[2] = source("filled.json", NULL, NULL);
	ids[3] = source("bodies.jsonl", NULL, NULL);
	run("UPDATE source SET format = 'markers' WHERE path LIKE '%.json'");
	strcpy(content[1], "{\"markers\":[{\"marker\":\"never-seen\"}]}");
	strcpy(content[2], content[1]);
	strcpy(content[3], "\n");
}

static void judged(const char *want)
{
	for (int k = 0; k < 4; k++)
		store(k);
	analyse(0, 0);
	same("SELECT marker, verdict, reason, coalesce(q.name, '-') FROM sighting s LEFT JOIN request q ON q.request = "
	     "s.seen_request WHERE part = 'answered' ORDER BY s.source, s.byte_off, marker",
	     want);
}

/* What was asked with the marker and says it again got it from nobody, whichever log holds the prompt; where none does, that is
 * said, and of the verdict it takes the certainty. */
static void test_echo(void **state)
{
	(void)state;
	fleet_of_six(false);
	ANSWER(2, "\"what does first-marker mean?\"", "first-marker means nothing");
	ANSWER(3, "null", "first-marker means nothing");
	ANSWER(4, "null", "first-marker means nothing");
	ANSWER(5, "\"a ... z\"", "first-marker means nothing");
	ANSWER(6, "\"hello\"", "first-marker means nothing");
	strcpy(content[1], "{\"markers\":[{\"marker\":\"first-marker\",\"planted_request\":\"gw-1\"}]}");
	line(3, 40, "what=received rid=d3 room=9003 role=decode",
	     "{\"prompt\":\"repeat first-marker\",\"rid\":\"d3\"}");
	judged("first-marker|unknown|echo_of_prompt|gw-2;first-marker|unknown|echo_of_prompt|gw-3;"
	       "first-marker|foreign|prompt_not_seen|gw-4;first-marker|foreign|prompt_seen_in_part|gw-5;"
	       "first-marker|foreign|not_in_prompt|gw-6;");
	same("SELECT request, x, class, reasons LIKE '%marker_prompt_not_seen%', cross_tenant FROM findings() ORDER BY "
	     "request",
	     "gw-1|unknown|C3|0|unknown;gw-2|unknown|C3|0|unknown;gw-3|unknown|C3|0|unknown;gw-4|yes|C1|1|yes;"
	     "gw-5|yes|C1|1|no;gw-6|yes|C1|0|yes;");
}

/* Nothing said contradicts nothing, nor do two ids of one request; and what contradicts hides no leak: a third request is neither. */
static void test_files(void **state)
{
	(void)state;
	fleet_of_six(false);
	ANSWER(2, "\"hello\"", "torn-marker");
	ANSWER(3, "\"hello\"", "blank-marker alias-marker torn-marker lost-marker");
	strcpy(content[1],
	       "{\"markers\":[{\"marker\":\"blank-marker\",\"planted_request\":null,\"planted_tenant\":null},"
	       "{\"marker\":\"alias-marker\",\"planted_request\":\"gw-1\"},"
	       "{\"marker\":\"torn-marker\",\"planted_request\":\"gw-1\"},{\"marker\":\"lost-marker\"}]}");
	strcpy(content[2], "{\"markers\":[{\"marker\":\"blank-marker\",\"planted_request\":\"gw-1\"},"
			   "{\"marker\":\"alias-marker\",\"planted_request\":\"d1\",\"planted_tenant\":\"a\"},"
			   "{\"marker\":\"torn-marker\",\"planted_request\":\"gw-2\"},"
			   "{\"marker\":\"lost-marker\",\"planted_request\":\"gw-77\",\"planted_tenant\":\"z\"}]}");
	judged("torn-marker|unknown|files_contradict|gw-2;alias-marker|foreign|not_in_prompt|gw-3;"
	       "blank-marker|foreign|not_in_prompt|gw-3;lost-marker|unknown|planting_not_known|gw-3;"
	       "torn-marker|foreign|not_in_prompt|gw-3;");
	same("SELECT marker, planted_name, coalesce(trouble, 'none') FROM planted WHERE marker <> 'never-seen' ORDER "
	     "BY planted",
	     "alias-marker|gw-1|none;blank-marker|gw-1|none;lost-marker|gw-77|request_in_no_log,tenant_in_no_log;"
	     "torn-marker|gw-2|files_contradict;torn-marker|gw-1|files_contradict;");
	same("SELECT missing, effect LIKE '%different things%', effect LIKE '%no log%', refs LIKE '%S_@0+%' FROM gap "
	     "WHERE kind = "
	     "'markers' ORDER BY gap",
	     "2|1|0|1;1|0|1|1;1|0|1|1;");
}

/* The beginning of an id is no id: a leak must not become somebody's own. An id of several requests is nobody's. */
static void test_exact_ids(void **state)
{
	(void)state;
	fleet_of_six(false);
	request(10001, 80, 90, "a", 100, 200, "finished", 100);
	line(0, 90, "what=finished rid=d10001 room=19001 role=decode",
	     "{\"rid\":\"d10001\",\"out\":{\"text\":\"first-marker\"}}");
	strcpy(
	    content[1],
	    "{\"markers\":[{\"marker\":\"first-marker\",\"planted_request\":\"gw-1000\",\"planted_tenant\":\"b\"}]}");
	judged("first-marker|foreign|prompt_not_seen|gw-10001;");
	same("SELECT planted_request, trouble FROM planted WHERE marker = 'first-marker'", "-|request_in_no_log;");
}

/* Where a longer marker stands, the shorter one in it was not seen; it is where it stands alone. */
static void test_nested(void **state)
{
	(void)state;
	fleet_of_six(false);
	ANSWER(1, "\"hello\"", "word-one-and-two");
	ANSWER(2, "\"hello\"", "d29yZC1vbmUtYW5kLXR3bw== 776F72642D6F6E652D616E642D74776F");
	ANSWER(3, "\"hello\"", "word-one-and-two, but and word-one");
	strcpy(content[1], "{\"markers\":[{\"marker\":\"word-one\",\"planted_request\":\"gw-6\"},"
			   "{\"marker\":\"one-and-two\",\"planted_request\":\"gw-6\"},"
			   "{\"marker\":\"word-one-and-two\",\"planted_request\":\"gw-1\"}]}");
	judged("word-one-and-two|own|planted_here|gw-1;word-one-and-two|foreign|not_in_prompt|gw-2;"
	       "word-one|foreign|not_in_prompt|gw-3;word-one-and-two|foreign|not_in_prompt|gw-3;");
	same("SELECT x FROM findings() WHERE request = 'gw-1'", "unknown;");
}

/* Nothing is seen before it was planted: that is a conflict, and it is said; what stands in the answer stays there. */
static void test_early(void **state)
{
	(void)state;
	fleet_of_six(true);
	ANSWER(2, "\"hello\"", "late-marker then-marker");
	ANSWER(4, "\"hello\"", "late-marker then-marker");
	char at[64];
	stamp_format(T0 + 38 * NS_PER_S, at, sizeof(at));
	snprintf(content[1], sizeof(content[1]),
		 "{\"markers\":[{\"marker\":\"late-marker\",\"planted_request\":\"gw-1\",\"planted_at\":\"%s\"},"
		 "{\"marker\":\"then-marker\",\"planted_request\":\"gw-1\"}]}",
		 at);
	judged("late-marker|foreign|not_in_prompt|gw-2;then-marker|foreign|not_in_prompt|gw-2;"
	       "late-marker|foreign|not_in_prompt|gw-4;then-marker|foreign|not_in_prompt|gw-4;");
	same("SELECT marker, q.name FROM sighting JOIN request q ON q.request = seen_request WHERE before_planted",
	     "late-marker|gw-2;");
	same("SELECT request, class, conflict, reasons LIKE '%marker_before_planted%', reasons LIKE '%conflict:X%' "
	     "FROM findings() "
	     "WHERE x = 'yes' ORDER BY request",
	     "gw-2|C1|1|1|0;gw-4|C1|0|0|0;");
	same("SELECT count(*) FROM gap WHERE kind = 'markers' AND effect LIKE '%before it was planted%'", "1;");
	same("SELECT trouble FROM planted WHERE marker = 'late-marker'", "seen_before_planted;");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_part),
					   cmocka_unit_test(test_prompt),
					   T(test_verdicts),
					   T(test_echo),
					   T(test_files),
					   T(test_exact_ids),
					   T(test_nested),
					   T(test_early)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
