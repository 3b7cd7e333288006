/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_xml.c - any bytes as XML of others: the scanner keeps to its input and its order, and a bill of materials made of it adds up */
#include <stdint.h>
#include <stdlib.h>

#include "pagetrail/ingest.h"
#include "pagetrail/xml_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const struct parser parser_sbom;

static void want(bool so)
{
	if (!so)
		abort();
}

static bool within(struct text t, struct text all)
{
	return !t.len || (t.ptr >= all.ptr && t.len <= all.len && (size_t)(t.ptr - all.ptr) <= all.len - t.len);
}

static void unescape(struct text raw, bool literal, bool attribute)
{
	struct buf b = BUF_INIT(MIB);
	struct err err = {0};
	int rc = xml_unescape(raw, literal, &b, &err);
	want(rc >= 0 && rc <= 1);
	want(b.len <= raw.len); /* nothing becomes longer */
	want(rc == 0 || (!literal && text_find_char(raw, '&', 0) != SIZE_MAX));
	want(!attribute || text_find_char(raw, '<', 0) == SIZE_MAX);
	buf_done(&b);
}

/* Elements close in order, by the names that they were opened with. */
static void scan(struct text all)
{
	static const char *const asked[] = {"xmlns", "type", "alg", "name", "bom-ref", ""};
	struct xml_scan s = xml_scan_of(all);
	struct text open[XML_DEPTH_MAX], value;
	size_t depth = 0, roots = 0;
	enum xml_token t;
	for (size_t tokens = 0; (t = xml_next(&s)) > XML_OVER; tokens++) {
		want(tokens <= 2 * all.len); /* it ends */
		if (t == XML_OPEN) {
			want(depth < XML_DEPTH_MAX && s.name.len && within(s.name, all) && within(s.attributes, all));
			roots += depth == 0;
			open[depth++] = s.name;
			for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
				if (xml_attribute(&s, asked[i], &value)) {
					want(*asked[i] && within(value, s.attributes));
					unescape(value, false, true);
				}
		} else if (t == XML_CLOSE) {
			want(depth > 0 && text_eq(s.name, open[--depth]));
		} else {
			want(depth > 0 && within(s.text, all));
			unescape(s.text, s.literal, false);
		}
	}
	want(t == XML_BROKEN ? s.fault != NULL : depth == 0 && roots == 1);
	want(xml_next(&s) == t);
}

static int on_record(void *ctx, uint64_t off, struct text record, enum verdict v, const char *reason)
{
	(void)ctx, (void)off, (void)record;
	want(v != RECORD_UNPARSED || reason);
	return 0;
}

static int on_event(void *ctx, const struct event *e, struct err *err)
{
	struct buf b = BUF_INIT(16 * MIB);
	(void)ctx;
	int rc = event_dump(e, &b, err);
	buf_done(&b);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text all = {(const char *)data, size};
	const struct parser *list[] = {&parser_sbom};
	struct account a;
	struct err err = {0};
	scan(all);
	if (ingest_text(list[0], list, 1, all, on_event, on_record, NULL, &a, &err) == 0)
		want(a.records == a.parsed + a.context + a.unparsed + a.duplicate && a.bytes == all.len);
	return 0;
}
