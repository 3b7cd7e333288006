/* SPDX-License-Identifier: Apache-2.0 */
/* derive_form.c - the words of all other forms, taken from the forms of a document that holds nothing */
#include <libxml/parser.h>
#include <string.h>

#include "derive.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

static const char nothing[] =
    "<report kind='' of=''><header/><numbers><number id='' value='1' unit=''/></numbers><limits><limit/></limits>"
    "<section id='list' title=''><text/>"
    "<table title='' rows='0' truncated='true' empty-means=''><column name='' label='' type='time'/></table>"
    "<table title='' rows='1' truncated='true' empty-means=''><column name='' label='' type='time'/>"
    "<row><cell unknown='true'/></row></table></section></report>";

static const char fixed[] =
    "<!DOCTYPE html><meta http-equiv=\"Content-Type\" content=\"text/html; charset=UTF-8\">\n"
    "report xml html json md txt xlsx csv sheet numbers list sha256 iodef dsse tsq\n"
    "_type subject name digest sha256 predicateType predicate tool kind issue state draft approved\n"
    "https://in-toto.io/Statement/v1 urn:pagetrail:report-seal:1 payloadType payload signatures\n"
    "application/vnd.in-toto+json keyid sig\n";

static int derive_all(xmlDocPtr doc, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(MIB);
	int rc = derive_json(doc, out, err);
	for (int i = 0; !rc && i < 2; i++) {
		rc = derive_text(doc, i, out, err);
		if (!rc)
			rc = derive_csv_numbers(doc, i, out, err);
	}
	if (!rc)
		rc = derive_xlsx(doc, TIME_UNKNOWN, &file, err);
	return rc ? rc : xlsx_words(buf_text(&file), out, err);
}

int derive_form(struct buf *out, struct err *err)
{
	int rc = buf_add_text(out, text_of(fixed), err);
	xmlDocPtr doc = rc ? NULL : xmlReadMemory(nothing, (int)strlen(nothing), NULL, NULL, XML_PARSE_NONET);
	if (!rc)
		rc = doc ? derive_all(doc, out, err) : err_nomem(err);
	xmlFreeDoc(doc);
	return rc;
}
