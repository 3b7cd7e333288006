/* SPDX-License-Identifier: Apache-2.0 */
/* test_xlsx.c - what stands nowhere but inside of a workbook is found there; what a cell cannot hold is cut, and says so */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <libxml/parser.h>
#include <xlsxwriter.h>

#include "../../../src/report/derive.h"
#include "../../../src/report/leak.h"
#include "pagetrail/limits.h"

static const char planted[] = "req_x0041_<&\"7";

static int hits(struct text t)
{
	struct leak *l = NULL;
	struct leak_hit hit;
	assert_int_equal(leak_open(&l, NULL), 0);
	assert_int_equal(leak_add(l, LEAK_REQUEST, text_of(planted), 1, NULL), 0);
	int found = leak_search(l, t, 2, &hit, NULL);
	leak_free(l);
	return found;
}

/* The file itself is compressed: nothing is found in its bytes, but in its words. */
static void inside(struct text file, bool there)
{
	CLEANUP(buf_done) struct buf words = BUF_INIT(64 * MIB);
	struct err err = {0};
	assert_int_equal(hits(file), 0);
	if (xlsx_words(file, &words, &err))
		fail_msg("%s", err.what);
	assert_int_equal(hits(buf_text(&words)), there);
}

static void workbook_of(const char *xml, struct buf *out)
{
	xmlDocPtr doc = xmlReadMemory(xml, (int)strlen(xml), NULL, NULL, XML_PARSE_HUGE);
	struct err err = {0};
	assert_non_null(doc);
	if (derive_xlsx(doc, INT64_C(1788000000000000000), out, &err))
		fail_msg("%s", err.what);
	xmlFreeDoc(doc);
}

#define PLANTED "req_x0041_&lt;&amp;&quot;7"
static const char document[] =
    "<report kind='scope'><header><case-id>%s</case-id></header><numbers><number id='%s' value='1'/></numbers>"
    "<limits><limit id='a' count='1'>%s</limit></limits>"
    "<section id='s' title='%s'><text>t</text><table rows='1' empty-means='e' truncated='false'>"
    "<column label='%s' type='text'/><column label='b' type='json'/><row><cell>%s</cell><cell><item "
    "name='n'>%s</item></cell></row>"
    "</table></section></report>";
enum { PLACES = 7 };

static void test_ours(void **state)
{
	(void)state;
	for (int at = -1; at < PLACES; at++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT(64 * MIB);
		const char *in[PLACES];
		char xml[4096];
		for (int i = 0; i < PLACES; i++)
			in[i] = i == at ? PLANTED : "word";
		snprintf(xml, sizeof(xml), document, in[0], in[1], in[2], in[3], in[4], in[5], in[6]);
		workbook_of(xml, &out);
		inside(buf_text(&out), at >= 0);
	}
}

enum place { NOWHERE, SHARED_STRING, SHEET_NAME, TITLE, AUTHOR, COMMENTS, CUSTOM, ANYWHERE };

/* Other writers put texts elsewhere: into the list of shared ones, and what is said of the file. */
static void test_theirs(void **state)
{
	(void)state;
	for (enum place at = NOWHERE; at < ANYWHERE; at++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT(64 * MIB);
		char path[] = "/tmp/pagetrail-test-XXXXXX";
		int fd = mkstemp(path);
		assert_true(fd >= 0);
		lxw_workbook *wb = workbook_new(path);
		lxw_worksheet *sheet = workbook_add_worksheet(wb, at == SHEET_NAME ? planted : "sheet");
		lxw_doc_properties p = {.title = (char *)(at == TITLE ? planted : "t"),
					.author = (char *)(at == AUTHOR ? planted : "a"),
					.comments = (char *)(at == COMMENTS ? planted : "c")};
		worksheet_write_string(sheet, 0, 0, at == SHARED_STRING ? planted : "s", NULL);
		workbook_set_properties(wb, &p);
		workbook_set_custom_property_string(wb, "name", at == CUSTOM ? planted : "v");
		assert_int_equal(workbook_close(wb), LXW_NO_ERROR);
		assert_int_equal(buf_add_file(&out, path, "workbook", NULL), 0);
		unlink(path);
		close(fd);
		inside(buf_text(&out), at != NOWHERE);
	}
}

/* A cell holds 32,767 UTF-16 units: so many stand there, one more and it is cut and says how many there were. */
static void test_cut(void **state)
{
	(void)state;
	static const struct {
		const char *one;
		size_t units;
	} letters[] = {{"a", 1}, {"\xc3\xa9", 1}, {"\xe2\x82\xac", 1}, {"\xf0\x9f\x98\x80", 2}};
	for (size_t k = 0; k < ARRAY_SIZE(letters); k++)
		for (int over = 0; over < 3; over++) {
			CLEANUP(buf_done)
			struct buf cell = BUF_INIT(MIB), xml = BUF_INIT(MIB), out = BUF_INIT(64 * MIB);
			CLEANUP(buf_done) struct buf words = BUF_INIT(64 * MIB);
			char note[80];
			size_t units = 32767 - (letters[k].units == 2);
			for (size_t i = 0; i < units / letters[k].units; i++)
				assert_int_equal(buf_add_text(&cell, text_of(letters[k].one), NULL), 0);
			for (int i = 0; i < over; i++)
				assert_int_equal(buf_add_text(&cell, text_of(letters[k].one), NULL), 0);
			units += (size_t)over * letters[k].units;
			assert_int_equal(
			    buf_printf(
				&xml, NULL,
				"<report kind='scope'><header/><section id='s' title='t'><table rows='1'><column "
				"label='l' type='text'/><row><cell>%s</cell></row></table></section></report>",
				cell.ptr),
			    0);
			workbook_of(xml.ptr, &out);
			assert_int_equal(xlsx_words(buf_text(&out), &words, NULL), 0);
			snprintf(note, sizeof(note), " [cut here: %zu characters are in the XML]", units);
			bool whole = text_find(buf_text(&words), cell.ptr, 0) != SIZE_MAX;
			bool says = text_find(buf_text(&words), note, 0) != SIZE_MAX;
			assert_int_equal(whole, units <= 32767);
			assert_int_equal(says, units > 32767);
			/* what is cut off ends with a whole character */
			assert_true(text_utf8_valid(buf_text(&words)));
		}
}

static void test_torn(void **state)
{
	(void)state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(64 * MIB), words = BUF_INIT(64 * MIB);
	workbook_of("<report kind='scope'><header/></report>", &out);
	for (size_t n = 0; n < out.len; n += 97)
		assert_int_equal(xlsx_words((struct text){out.ptr, n}, &words, NULL), ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ours), cmocka_unit_test(test_theirs),
					   cmocka_unit_test(test_cut), cmocka_unit_test(test_torn)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
