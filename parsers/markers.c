/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - format markers: the list of markers that were planted in requests (docs/markers.md)
 *
 * It is no log: it gives no events. It is evidence all the same, because findings rest on it, so it is kept as a source; the
 * markers are looked for when the case is correlated.
 */
#include "pagetrail/markers.h"
#include "pagetrail/parser.h"

static int read_document(struct parse *p, struct text record, struct json_value *ret)
{
	return json_parse(p->json, record, p->padded, ret, NULL, p->err);
}

static enum bid markers_bid(struct parse *p, struct text record)
{
	struct json_value doc, v;
	struct text key, marker;
	if (read_document(p, record, &doc) != 0 || json_type(json_get(doc, "markers")) != JSON_ARRAY)
		return BID_NO;
	struct json_iter it = json_iter(json_get(doc, "markers"));
	return json_next(&it, &key, &v) && json_string(json_get(v, "marker"), &marker) ? BID_STRONG : BID_NO;
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
