/* SPDX-License-Identifier: Apache-2.0 */
/* sbom_tags.h - SPDX 2 as tag-value, told as the JSON that it stands for; private to sbom.c
 *
 * spdx/spdx-spec 2.3, chapters 6, 7 and 11: "Tag: value" lines; a value in <text>…</text> goes over lines; '#' begins a comment. A package
 * begins with PackageName; a file, a snippet or a license ends it. What sbom.c does not look at is left out.
 */
#pragma once

#include "pagetrail/parser.h"

struct bom_tags {
	struct parse *p;
	struct buf *out;                     /* JSON of packages */
	struct buf top, refs, sums, related; /* of the document; of the package at hand; of the document */
	bool package, apart;                 /* in a package; in what is none */
};

static int tags_string(struct bom_tags *x, struct buf *b, const char *before, struct text value)
{
	int r = buf_add_text(b, text_of(before), x->p->err);
	return r ? r : buf_json_string(b, value, x->p->err);
}

static int tags_add(struct bom_tags *x, struct buf *b, const char *text)
{
	return buf_add_text(b, text_of(text), x->p->err);
}

static int tags_end_package(struct bom_tags *x)
{
	int r = 0;
	if (!x->package)
		return 0;
	x->package = false;
	r = tags_add(x, x->out, ",\"externalRefs\":[");
	if (!r)
		r = buf_add_text(x->out, buf_text(&x->refs), x->p->err);
	if (!r)
		r = tags_add(x, x->out, "],\"checksums\":[");
	if (!r)
		r = buf_add_text(x->out, buf_text(&x->sums), x->p->err);
	buf_clear(&x->refs);
	buf_clear(&x->sums);
	return r ? r : tags_add(x, x->out, "]}");
}

/* The words of a value, parted by blanks; the last one takes the rest. */
static size_t tags_words(struct text t, struct text *words, size_t max)
{
	size_t n = 0;
	for (t = text_trim(t); t.len && n < max; n++) {
		size_t at = n + 1 == max ? t.len : 0;
		while (at < t.len && t.ptr[at] != ' ' && t.ptr[at] != '\t')
			at++;
		words[n] = text_sub(t, 0, at);
		t = text_trim(text_from(t, at));
	}
	return n;
}

static int tags_external(struct bom_tags *x, struct text value)
{
	struct text w[3];
	if (tags_words(value, w, 3) < 3)
		return 0;
	int r = tags_string(x, &x->refs, x->refs.len ? ",{\"referenceType\":" : "{\"referenceType\":", w[1]);
	if (!r)
		r = tags_string(x, &x->refs, ",\"referenceLocator\":", w[2]);
	return r ? r : tags_add(x, &x->refs, "}");
}

static int tags_checksum(struct bom_tags *x, struct text value)
{
	size_t colon = text_find_char(value, ':', 0);
	if (colon == SIZE_MAX)
		return 0;
	int r =
	    tags_string(x, &x->sums, x->sums.len ? ",{\"algorithm\":" : "{\"algorithm\":", text_sub(value, 0, colon));
	if (!r)
		r = tags_string(x, &x->sums, ",\"checksumValue\":", text_trim(text_from(value, colon + 1)));
	return r ? r : tags_add(x, &x->sums, "}");
}

static int tags_relation(struct bom_tags *x, struct text value)
{
	struct text w[3];
	if (tags_words(value, w, 3) < 3)
		return 0;
	int r = tags_string(x, &x->related, x->related.len ? ",{\"spdxElementId\":" : "{\"spdxElementId\":", w[0]);
	if (!r)
		r = tags_string(x, &x->related, ",\"relationshipType\":", w[1]);
	if (!r)
		r = tags_string(x, &x->related, ",\"relatedSpdxElement\":", w[2]);
	return r ? r : tags_add(x, &x->related, "}");
}

static int tags_created(struct bom_tags *x, struct text value)
{
	int r = tags_string(x, &x->top, ",\"creationInfo\":{\"created\":", value);
	return r ? r : tags_add(x, &x->top, "}");
}

static int tags_begin_package(struct bom_tags *x, struct text name)
{
	bool first = !x->out->len;
	int r = tags_end_package(x);
	x->package = true;
	x->apart = false;
	return r ? r : tags_string(x, x->out, first ? "{\"name\":" : ",{\"name\":", name);
}

static int tags_take(struct bom_tags *x, struct text tag, struct text value)
{
	static const struct {
		const char *tag, *member;
	} texts[] = {{"SPDXID", ",\"SPDXID\":"},
		     {"PackageVersion", ",\"versionInfo\":"},
		     {"PrimaryPackagePurpose", ",\"primaryPackagePurpose\":"}};
	static const char *const others[] = {"FileName", "SnippetSPDXID", "LicenseID", "Reviewer", "Annotator"};
	if (text_is(tag, "SPDXVersion"))
		return tags_string(x, &x->top, x->top.len ? ",\"spdxVersion\":" : "\"spdxVersion\":", value);
	if (text_is(tag, "Created"))
		return tags_created(x, value);
	if (text_is(tag, "Relationship"))
		return tags_relation(x, value);
	if (text_is(tag, "PackageName"))
		return tags_begin_package(x, value);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		x->apart = x->apart || text_is(tag, others[i]);
	if (!x->package || x->apart)
		return 0;
	if (text_is(tag, "ExternalRef"))
		return tags_external(x, value);
	if (text_is(tag, "PackageChecksum"))
		return tags_checksum(x, value);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (text_is(tag, texts[i].tag))
			return tags_string(x, x->out, texts[i].member, value);
	return 0;
}

/* The line at *at, without its end; false: none is left. */
static bool tags_line(struct text t, size_t *at, struct text *ret)
{
	if (*at >= t.len)
		return false;
	size_t end = text_find_char(t, '\n', *at);
	*ret = text_sub(t, *at, (end == SIZE_MAX ? t.len : end) - *at);
	*at = end == SIZE_MAX ? t.len : end + 1;
	return true;
}

static int tags_lines(struct bom_tags *x, struct text t)
{
	struct text line;
	size_t at = 0;
	int r = 0;
	while (!r && tags_line(t, &at, &line)) {
		line = text_trim(line);
		size_t colon = text_find_char(line, ':', 0);
		if (!line.len || line.ptr[0] == '#')
			continue;
		if (colon == SIZE_MAX)
			return parse_refuse(x->p, "tag_syntax");
		struct text tag = text_trim(text_sub(line, 0, colon)), value = text_trim(text_from(line, colon + 1));
		if (text_starts(value, "<text>")) {
			size_t from = (size_t)(value.ptr - t.ptr) + strlen("<text>"),
			       to = text_find(t, "</text>", from);
			if (to == SIZE_MAX)
				return parse_refuse(x->p, "torn");
			value = text_trim(text_sub(t, from, to - from));
			at = text_find_char(t, '\n', to);
			at = at == SIZE_MAX ? t.len : at + 1;
		}
		r = tags_take(x, tag, value);
	}
	return r;
}

/* 0, RECORD_UNPARSED with the reason set, or ERR_*. */
static int bom_of_tags(struct parse *p, struct text document, struct buf *out)
{
	struct buf packages = BUF_INIT(out->max);
	struct bom_tags x = {
	    p, &packages, BUF_INIT(out->max), BUF_INIT(out->max), BUF_INIT(out->max), BUF_INIT(out->max), false, false};
	int r = text_utf8_valid(document) ? 0 : parse_refuse(p, "tag_syntax");
	if (!r)
		r = tags_lines(&x, document);
	if (!r)
		r = tags_end_package(&x);
	const struct text parts[] = {TEXT("{"),
				     buf_text(&x.top),
				     TEXT(",\"packages\":["),
				     buf_text(&packages),
				     TEXT("],\"relationships\":["),
				     buf_text(&x.related),
				     TEXT("]}")};
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !r; i++)
		r = buf_add_text(out, parts[i], p->err);
	struct buf *all[] = {&packages, &x.top, &x.refs, &x.sums, &x.related};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		buf_done(all[i]);
	return r;
}

static bool is_bom_tags(struct text document)
{
	struct text line;
	size_t at = 0;
	while (tags_line(document, &at, &line)) {
		line = text_trim(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		return text_starts(line, "SPDXVersion:") &&
		       text_starts(text_trim(text_from(line, strlen("SPDXVersion:"))), "SPDX-2.");
	}
	return false;
}
