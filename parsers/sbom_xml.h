/* SPDX-License-Identifier: Apache-2.0 */
/* sbom_xml.h - CycloneDX as XML, told as the JSON that it stands for; private to sbom.c
 *
 * CycloneDX/specification schema/bom-1.6.xsd: both forms have the same names; lists are elements round their items, "type", "alg" and
 * "name" of a property are attributes. What sbom.c does not look at is left out. So a bill says the same in both forms, by the same rules.
 */
#pragma once

#include <stdio.h>

#include "pagetrail/parser.h"
#include "pagetrail/xml_scan.h"

#define CYCLONEDX_NS "http://cyclonedx.org/schema/bom/"

struct bom_xml {
	struct parse *p;
	struct xml_scan s;
	struct buf *out; /* JSON */
	struct buf word;
	struct text prefix, space; /* of the root: "bom:" or "" */
};

/* The element's own name, where it is of CycloneDX; "" for those of others. */
static struct text own_name(const struct bom_xml *x)
{
	struct text space;
	if (!text_eq(text_sub(x->s.name, 0, x->prefix.len), x->prefix))
		return TEXT("");
	if (!x->prefix.len && (text_find_char(x->s.name, ':', 0) != SIZE_MAX ||
			       (xml_attribute(&x->s, "xmlns", &space) && !text_eq(space, x->space))))
		return TEXT("");
	return text_from(x->s.name, x->prefix.len);
}

/* At the first element: is it a bill of CycloneDX? */
static bool xml_root(struct bom_xml *x)
{
	char space[80];
	size_t colon;
	if (xml_next(&x->s) != XML_OPEN)
		return false;
	colon = text_find_char(x->s.name, ':', 0);
	x->prefix = colon == SIZE_MAX ? TEXT("") : text_sub(x->s.name, 0, colon + 1);
	snprintf(space, sizeof(space), "xmlns%s%.*s", x->prefix.len ? ":" : "",
		 TEXT_ARG(text_sub(x->prefix, 0, x->prefix.len ? MIN(x->prefix.len - 1, 60) : 0)));
	return text_is(text_from(x->s.name, x->prefix.len), "bom") && xml_attribute(&x->s, space, &x->space) &&
	       text_starts(x->space, CYCLONEDX_NS);
}

static int xml_fault(struct bom_xml *x)
{
	return parse_refuse(x->p, x->s.fault ? x->s.fault : "xml_syntax");
}

/* Goes behind the end of the element that was opened last. */
static int xml_pass(struct bom_xml *x)
{
	unsigned depth = x->s.depth;
	while (x->s.depth >= depth)
		if (xml_next(&x->s) <= XML_OVER)
			return xml_fault(x);
	return 0;
}

static int xml_put(struct bom_xml *x, const char *text)
{
	return buf_add_text(x->out, text_of(text), x->p->err);
}

static int xml_put_word(struct bom_xml *x, const char *before)
{
	int r = xml_put(x, before);
	return r ? r : buf_json_string(x->out, text_trim(buf_text(&x->word)), x->p->err);
}

static int xml_add_word(struct bom_xml *x, struct text raw, bool literal)
{
	int r = xml_unescape(raw, literal, &x->word, x->p->err);
	return r > 0 ? xml_fault(x) : r;
}

/* "NAME":"…" of an attribute, where there is one. */
static int xml_put_attribute(struct bom_xml *x, const char *name, const char *before)
{
	struct text raw;
	if (!xml_attribute(&x->s, name, &raw))
		return 0;
	buf_clear(&x->word);
	int r = xml_add_word(x, raw, false);
	return r ? r : xml_put_word(x, before);
}

/* The text of the element that was opened last, without that of elements in it. */
static int xml_put_text(struct bom_xml *x, const char *before)
{
	unsigned depth = x->s.depth;
	int r = 0;
	buf_clear(&x->word);
	while (!r && x->s.depth >= depth) {
		enum xml_token t = xml_next(&x->s);
		if (t <= XML_OVER)
			return xml_fault(x);
		if (t == XML_TEXT && x->s.depth == depth)
			r = xml_add_word(x, x->s.text, x->s.literal);
	}
	return r ? r : xml_put_word(x, before);
}

static int xml_component(struct bom_xml *x);

/* ITEM elements of the list that was opened last, by give(). */
static int xml_list(struct bom_xml *x, const char *before, const char *item, int (*give)(struct bom_xml *x))
{
	unsigned depth = x->s.depth;
	bool any = false;
	int r = xml_put(x, before);
	if (!r)
		r = xml_put(x, "[");
	while (!r && x->s.depth >= depth) {
		enum xml_token t = xml_next(&x->s);
		if (t <= XML_OVER)
			return xml_fault(x);
		if (t != XML_OPEN)
			continue;
		if (!text_is(own_name(x), item)) {
			r = xml_pass(x);
			continue;
		}
		r = any ? xml_put(x, ",") : 0;
		if (!r)
			r = give(x);
		any = true;
	}
	return r ? r : xml_put(x, "]");
}

static int xml_hash(struct bom_xml *x)
{
	int r = xml_put(x, "{\"is\":1");
	if (!r)
		r = xml_put_attribute(x, "alg", ",\"alg\":");
	if (!r)
		r = xml_put_text(x, ",\"content\":");
	return r ? r : xml_put(x, "}");
}

static int xml_property(struct bom_xml *x)
{
	int r = xml_put(x, "{\"is\":1");
	if (!r)
		r = xml_put_attribute(x, "name", ",\"name\":");
	if (!r)
		r = xml_put_text(x, ",\"value\":");
	return r ? r : xml_put(x, "}");
}

/* An element of a component. */
static int xml_member(struct bom_xml *x)
{
	struct text name = own_name(x);
	if (text_is(name, "name"))
		return xml_put_text(x, ",\"name\":");
	if (text_is(name, "version"))
		return xml_put_text(x, ",\"version\":");
	if (text_is(name, "purl"))
		return xml_put_text(x, ",\"purl\":");
	if (text_is(name, "hashes"))
		return xml_list(x, ",\"hashes\":", "hash", xml_hash);
	if (text_is(name, "properties"))
		return xml_list(x, ",\"properties\":", "property", xml_property);
	if (text_is(name, "components"))
		return xml_list(x, ",\"components\":", "component", xml_component);
	return xml_pass(x);
}

/* All elements in the one that was opened last; as deep as XML_DEPTH_MAX. */
static int xml_members(struct bom_xml *x, int (*member)(struct bom_xml *x))
{
	unsigned depth = x->s.depth;
	int r = 0;
	while (!r && x->s.depth >= depth) {
		enum xml_token t = xml_next(&x->s);
		if (t <= XML_OVER)
			return xml_fault(x);
		if (t == XML_OPEN)
			r = member(x);
	}
	return r;
}

static int xml_component(struct bom_xml *x)
{
	int r = xml_put(x, "{\"is\":1");
	if (!r)
		r = xml_put_attribute(x, "type", ",\"type\":");
	if (!r)
		r = xml_members(x, xml_member);
	return r ? r : xml_put(x, "}");
}

static int xml_metadata(struct bom_xml *x)
{
	struct text name = own_name(x);
	if (text_is(name, "timestamp"))
		return xml_put_text(x, ",\"timestamp\":");
	if (!text_is(name, "component"))
		return xml_pass(x);
	int r = xml_put(x, ",\"component\":");
	return r ? r : xml_component(x);
}

static int xml_top(struct bom_xml *x)
{
	struct text name = own_name(x);
	if (text_is(name, "components"))
		return xml_list(x, ",\"components\":", "component", xml_component);
	if (!text_is(name, "metadata"))
		return xml_pass(x);
	int r = xml_put(x, ",\"metadata\":{\"is\":1");
	if (!r)
		r = xml_members(x, xml_metadata);
	return r ? r : xml_put(x, "}");
}

/* 0, RECORD_UNPARSED with the reason set, or ERR_*. */
static int bom_of_xml(struct parse *p, struct text document, struct buf *out)
{
	struct bom_xml x = {.p = p, .s = xml_scan_of(document), .out = out, .word = BUF_INIT(DOCUMENT_MAX_BYTES)};
	int r = text_utf8_valid(document) && xml_root(&x) ? 0 : xml_fault(&x);
	if (!r)
		r = xml_put(&x, "{\"bomFormat\":\"CycloneDX\"");
	if (!r)
		r = xml_members(&x, xml_top);
	if (!r)
		r = xml_put(&x, "}");
	if (!r && xml_next(&x.s) != XML_OVER)
		r = xml_fault(&x);
	buf_done(&x.word);
	return r;
}

static bool is_bom_xml(struct text document)
{
	struct bom_xml x = {.s = xml_scan_of(document)};
	return xml_root(&x);
}
