/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - format markers: the list of markers that were planted in requests (docs/markers.md)
 *
 * It is no log: it gives no events. It is evidence all the same, because findings rest on it, so it is kept as a source; the
 * markers are looked for when the case is correlated.
 */
#include "pagetrail/markers.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/parser.h"

static int read_document(struct parse *p, struct text record, struct json_value *ret)
{
	return json_parse(p->json, record, p->padded, ret, NULL, p->err);
}

/* Goes to the value of that member of the object at s. */
static bool go_to(struct json_scan *s, const char *name)
{
	struct text key, value;
	if (!scan_open(s, '{'))
		return false;
	while (scan_member(s, &key) == 1) {
		if (text_is(key, name))
			return true;
		if (!scan_value(s, &value))
			return false;
	}
	return false;
}

/* By its beginning: a long list is not seen whole. What is wrong further on is refused, not taken for something else. */
static enum bid markers_bid(struct parse *p, struct text record)
{
	struct json_scan s = scan_of(record);
	struct text marker;
	(void)p;
	if (!go_to(&s, "markers") || !scan_open(&s, '[') || scan_element(&s) != 1 || !go_to(&s, "marker"))
		return BID_NO;
	return scan_peek(&s) == '"' && scan_string(&s, &marker) ? BID_STRONG : BID_NO;
}

static int markers_record(struct parse *p, struct text record)
{
	struct json_value doc;
	struct markers m;
	struct err why = {0};
	int rc = read_document(p, record, &doc);
	if (rc != 0)
		return rc < 0 ? rc : parse_refuse(p, "json_syntax");
	rc = markers_read(&m, doc, &p->scratch, NULL, NULL, &why);
	if (rc < 0 && rc != ERR_INPUT) {
		*p->err = why;
		return rc;
	}
	return rc < 0 ? parse_refuse(p, "markers_invalid") : RECORD_CONTEXT;
}

const struct parser parser_markers = {
    .name = "markers",
    .summary = "planted markers, to be looked for in what other requests got",
    .checked = "this version (docs/markers.md)",
    .shape = SHAPE_DOCUMENT,
    .bid = markers_bid,
    .record = markers_record,
};
