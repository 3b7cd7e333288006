/* SPDX-License-Identifier: Apache-2.0 */
/* sbom.c - format sbom: what a bill of materials says is in an image (CycloneDX 1.x as JSON or XML, SPDX 2.x as JSON or tag-value)
 *
 * Field names: CycloneDX/specification schema/bom-1.6.schema.json and bom-1.7; spdx/spdx-spec 2.3 schemas/spdx-schema.json. Also as
 * the predicate of an in-toto Statement (its subject is then the image), and below "SPDX" or "sbom", as buildx and GitHub wrap it.
 * Packages are those whose package URL is pkg:pypi/NAME@VERSION (purl-spec, types/pypi); others are context. The subject's
 * digest is said with each of them: a pod that runs the digest holds what the list says. Which digest a generator names differs:
 * the manifest's (a package URL pkg:oci, syft's version, trivy's RepoDigest) is taken before the configuration's (trivy's ImageID).
 * A list that names several digests of that sort is of several images, or contradicts itself: what is in which, nobody can know, and
 * it is refused. A list shows what was built, not what runs.
 */
#include "installed.h"
#include "sbom_tags.h"
#include "sbom_xml.h"

enum { DESCRIBES_MAX = 16, PROPERTIES_MAX = 256, REFS_MAX = 64, PURL_MAX = 4 * NAME_MAX_BYTES };

struct bom {
	struct parse *p;
	struct collected from;
	struct text image, digest;
	bool several; /* digests of images */
	unsigned found;
};

/* One more that the document names. */
static void take_digest(struct bom *b, struct text digest)
{
	b->several = b->several || (digest.len && b->digest.len && !text_eq(digest, b->digest));
	if (!b->digest.len)
		b->digest = digest;
}

static struct text field(struct json_value v, const char *path)
{
	return installed_text(json_path(v, path));
}

/* --- package URLs --- */

static int hex_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* %41 is A; what is no escape stays as it is. */
static struct text decoded(struct arena *a, struct text t)
{
	char *to;
	size_t n = 0;

	if (text_find_char(t, '%', 0) == SIZE_MAX)
		return t;
	t = text_sub(t, 0, PURL_MAX);
	to = arena_room(a, t.len);
	if (!to)
		return (struct text){0};
	for (size_t i = 0; i < t.len; i++) {
		int high = t.ptr[i] == '%' && i + 2 < t.len ? hex_value(t.ptr[i + 1]) : -1;
		int low = high >= 0 ? hex_value(t.ptr[i + 2]) : -1;
		to[n++] = (char)(low >= 0 ? high * 16 + low : t.ptr[i]);
		i += low >= 0 ? 2 : 0;
	}
	return (struct text){to, n};
}

/* "pkg:pypi/sglang@0.5.22%2Bcu129?vcs_url=git%2Bhttps://git.example/x@REVISION": false when it is of another type. */
static bool read_pypi(struct arena *a, struct text purl, struct text *name, struct text *version, struct text *commit)
{
	static const char type[] = "pkg:pypi/";
	size_t query = text_find_char(purl, '?', 0), hash = text_find_char(purl, '#', 0), at;
	struct text path = text_sub(purl, 0, MIN(query, hash));

	if (!text_starts(path, type))
		return false;
	path = text_from(path, strlen(type));
	at = text_rfind_char(path, '@');
	*name = decoded(a, text_sub(path, 0, at));
	*version = at == SIZE_MAX ? (struct text){0} : decoded(a, text_from(path, at + 1));
	*commit = (struct text){0};
	at = text_find(purl, "vcs_url=", 0);
	if (at != SIZE_MAX && query < at) {
		struct text url = text_from(purl, at + 8), revision;
		url = decoded(a, text_sub(url, 0, MIN(text_find_char(url, '&', 0), text_find_char(url, '#', 0))));
		at = text_rfind_char(url, '@');
		revision = at == SIZE_MAX ? (struct text){0} : text_from(url, at + 1);
		if (installed_commit(revision))
			*commit = revision;
	}
	return name->len > 0;
}

/* --- events --- */

static int emit_image(struct bom *b, struct text digest)
{
	struct event *e = parse_begin(b->p, EVENT_INSTALL, b->from.at);

	b->found++;
	event_text(e, INSTALL_WHAT, TEXT("image"));
	event_int(e, INSTALL_RUNG, RUNG_BUILT);
	event_text(e, INSTALL_IMAGE, b->image);
	event_text(e, INSTALL_DIGEST, digest);
	installed_worker(e, b->from.worker);
	return parse_emit(b->p);
}

static int emit_package(struct bom *b, struct text purl, struct text own_version)
{
	struct text name, version, commit;

	if (!read_pypi(&b->p->scratch, purl, &name, &version, &commit))
		return 0;
	struct event *e = parse_begin(b->p, EVENT_INSTALL, b->from.at);
	b->found++;
	event_text(e, INSTALL_WHAT, TEXT("package"));
	event_int(e, INSTALL_RUNG, RUNG_BUILT);
	event_text(e, INSTALL_PACKAGE, name);
	event_text(e, INSTALL_VERSION, version.len ? version : own_version);
	event_text(e, INSTALL_COMMIT, commit);
	event_text(e, INSTALL_IMAGE, b->image);
	event_text(e, INSTALL_DIGEST, b->digest);
	installed_worker(e, b->from.worker);
	return parse_emit(b->p);
}

/* --- CycloneDX --- */

/* trivy's "aquasecurity:trivy:RepoDigest" and "aquasecurity:trivy:ImageID" (pkg/sbom/core). */
static struct text property(struct json_value component, const char *ends)
{
	struct json_value list = json_get(component, "properties"), v;
	struct json_iter it = json_iter(list);
	struct text key;

	for (unsigned i = 0; i < PROPERTIES_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v); i++)
		if (text_ends(field(v, "name"), ends))
			return field(v, "value");
	return (struct text){0};
}

/* The digests under SHA-256 or SHA256 in "hashes" or "checksums": those of a file, where the image has another name of its own. */
static void checksums(struct bom *b, struct json_value list, const char *alg, const char *value)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;

	if (b->digest.len)
		return;
	for (unsigned i = 0; i < REFS_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v); i++)
		if (text_is(field(v, alg), "SHA-256") || text_is(field(v, alg), "SHA256"))
			take_digest(b, image_digest(&b->p->scratch, field(v, value)));
}

/* What a package URL, a version and trivy's properties say of an image. */
static void cyclonedx_digests(struct bom *b, struct json_value c)
{
	struct arena *a = &b->p->scratch;
	struct json_value list = json_get(c, "properties"), v;
	struct json_iter it = json_iter(list);
	struct text key;

	if (text_starts(field(c, "purl"), "pkg:oci/"))
		take_digest(b, image_digest(a, field(c, "purl")));
	for (unsigned i = 0; i < PROPERTIES_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v); i++)
		if (text_ends(field(v, "name"), ":RepoDigest"))
			take_digest(b, image_digest(a, field(v, "value")));
	if (text_starts(field(c, "version"), "sha256:"))
		take_digest(b, image_digest(a, field(c, "version")));
}

/* Images among the components: nested as deep as the JSON may be. */
static void cyclonedx_images(struct bom *b, struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;

	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		if (text_is(field(v, "type"), "container"))
			cyclonedx_digests(b, v);
		cyclonedx_images(b, json_get(v, "components"));
	}
}

static int cyclonedx_subject(struct bom *b, struct json_value c)
{
	struct text id = image_digest(&b->p->scratch, property(c, ":ImageID"));
	int r = 0;

	if (!text_is(field(c, "type"), "container"))
		return emit_package(b, field(c, "purl"), field(c, "version"));
	if (!b->image.len)
		b->image = field(c, "name");
	if (!b->digest.len)
		b->digest = id;
	if (b->image.len || b->digest.len)
		r = emit_image(b, b->digest);
	if (r >= 0 && id.len && !text_eq(id, b->digest))
		r = emit_image(b, id);
	return r;
}

/* Nested as deep as the JSON may be. */
static int cyclonedx_components(struct bom *b, struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;
	int r = 0;

	while (r >= 0 && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		r = emit_package(b, field(v, "purl"), field(v, "version"));
		if (r >= 0)
			r = cyclonedx_components(b, json_get(v, "components"));
	}
	return r;
}

static int take_cyclonedx(struct bom *b, struct json_value doc)
{
	struct json_value subject = json_path(doc, "metadata.component");
	struct bom others = *b;
	int r;

	if (text_is(field(subject, "type"), "container")) {
		cyclonedx_digests(b, subject);
		checksums(b, json_get(subject, "hashes"), "alg", "content");
		others = *b;
	}
	cyclonedx_images(&others, json_get(subject, "components"));
	cyclonedx_images(&others, json_get(doc, "components"));
	if (b->digest.len && others.several)
		return parse_refuse(b->p, "several_digests");
	r = cyclonedx_subject(b, subject);
	return r < 0 ? r : cyclonedx_components(b, json_get(doc, "components"));
}

/* --- SPDX --- */

static struct text spdx_purl(struct json_value package)
{
	struct json_value list = json_get(package, "externalRefs"), v;
	struct json_iter it = json_iter(list);
	struct text key;

	for (unsigned i = 0; i < REFS_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v); i++)
		if (text_is(field(v, "referenceType"), "purl"))
			return field(v, "referenceLocator");
	return (struct text){0};
}

/* The ids of what the document is about: documentDescribes, or the relationships DESCRIBES. */
static size_t spdx_described(struct json_value doc, struct text ids[DESCRIBES_MAX])
{
	struct json_value list = json_get(doc, "documentDescribes"), v;
	struct json_iter it = json_iter(list);
	struct text key;
	size_t n = 0;

	while (n < DESCRIBES_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
		if (installed_text(v).len)
			ids[n++] = installed_text(v);
	list = json_get(doc, "relationships");
	it = json_iter(list);
	while (n < DESCRIBES_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
		if (text_is(field(v, "relationshipType"), "DESCRIBES") && field(v, "relatedSpdxElement").len)
			ids[n++] = field(v, "relatedSpdxElement");
	return n;
}

/* The image; where the document says what it is about, an image that it was built from is another. */
static void spdx_subject(struct bom *b, struct json_value doc)
{
	struct arena *a = &b->p->scratch;
	struct text ids[DESCRIBES_MAX], key;
	size_t n = spdx_described(doc, ids);
	struct json_value list = json_get(doc, "packages"), v;
	struct json_iter it = json_iter(list);

	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		struct text purl = spdx_purl(v);
		size_t i = 0;
		if (!text_is(field(v, "primaryPackagePurpose"), "CONTAINER") && !text_starts(purl, "pkg:oci/"))
			continue;
		while (i < n && !text_eq(field(v, "SPDXID"), ids[i]))
			i++;
		if (n && i == n)
			continue;
		if (!b->image.len)
			b->image = field(v, "name");
		take_digest(b, image_digest(a, purl));
		if (text_starts(field(v, "versionInfo"), "sha256:"))
			take_digest(b, image_digest(a, field(v, "versionInfo")));
		checksums(b, json_get(v, "checksums"), "algorithm", "checksumValue");
	}
}

static int take_spdx(struct bom *b, struct json_value doc)
{
	struct json_value list = json_get(doc, "packages"), v;
	struct json_iter it = json_iter(list);
	struct text key;
	int r = 0;

	spdx_subject(b, doc);
	if (b->several)
		return parse_refuse(b->p, "several_digests");
	if (b->image.len || b->digest.len)
		r = emit_image(b, b->digest);
	while (r >= 0 && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
		r = emit_package(b, spdx_purl(v), field(v, "versionInfo"));
	return r;
}

/* --- documents --- */

static bool is_cyclonedx(struct json_value v)
{
	return text_is(field(v, "bomFormat"), "CycloneDX");
}

static bool is_spdx(struct json_value v)
{
	return text_starts(field(v, "spdxVersion"), "SPDX-2.");
}

static struct json_value find_bom(struct json_value doc)
{
	static const char *const wrappers[] = {"predicate", "SPDX", "sbom", "predicate.Data"};

	for (size_t i = 0; i < ARRAY_SIZE(wrappers) && !is_cyclonedx(doc) && !is_spdx(doc); i++) {
		struct json_value inner = json_path(doc, wrappers[i]);
		if (is_cyclonedx(inner) || is_spdx(inner))
			return inner;
	}
	return is_cyclonedx(doc) || is_spdx(doc) ? doc : (struct json_value){0};
}

/* The document as JSON, whatever it is written in. */
static int open_document(struct parse *p, struct text t, struct buf *told, struct json_value *ret)
{
	bool xml = t.ptr[0] == '<', tags = !xml && is_bom_tags(t);

	if (!xml && !tags)
		return parse_document(p, t, p->padded, ret);
	int r = xml ? bom_of_xml(p, t, told) : bom_of_tags(p, t, told);
	if (r == ERR_LIMIT)
		return parse_refuse(p, "too_long");
	return r ? r : parse_document(p, buf_text(told), false, ret);
}

static int take_document(struct parse *p, struct text rest, struct bom b, struct buf *told)
{
	struct json_value doc, bom;

	int r = open_document(p, rest, told, &doc);
	if (r)
		return r;
	bom = find_bom(doc);
	if (!json_is_object(bom))
		return parse_refuse(p, "no_bill_of_materials");
	collected_fields(&b.from, doc);
	if (b.from.at.ns == TIME_UNKNOWN) /* when it was made */
		(void)installed_stamp(json_path(bom, is_spdx(bom) ? "creationInfo.created" : "metadata.timestamp"),
				      &b.from.at);
	if (text_starts(field(doc, "_type"), "https://in-toto.io/Statement/")) {
		b.image = field(doc, "subject.0.name");
		struct json_value list = json_get(doc, "subject"), v;
		struct json_iter it = json_iter(list);
		struct text key;
		while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
			take_digest(&b, image_digest(&p->scratch, field(v, "digest.sha256")));
	}
	r = is_spdx(bom) ? take_spdx(&b, bom) : take_cyclonedx(&b, bom);
	return r ? r : b.found ? RECORD_PARSED : RECORD_CONTEXT;
}

static int record(struct parse *p, struct text record)
{
	struct bom b = {.p = p, .from.at = STAMP_INIT};
	struct buf told = BUF_INIT(4 * DOCUMENT_MAX_BYTES);
	struct text rest = collected_header(record, &b.from.at);

	if (!rest.len)
		return RECORD_CONTEXT;
	/* a cut shortens the last value to another one, where nothing closes */
	if (is_bom_tags(rest) && record.ptr[record.len - 1] != '\n')
		return parse_refuse(p, "torn");
	int r = take_document(p, rest, b, &told);
	buf_done(&told);
	return r;
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at = STAMP_INIT;
	struct text rest = collected_header(record, &at);
	struct json_value doc;

	if (rest.len && (rest.ptr[0] == '<' ? is_bom_xml(rest) : is_bom_tags(rest)))
		return BID_STRONG;
	if (!rest.len || rest.ptr[0] != '{')
		return BID_NO;
	size_t cyclonedx = text_find(rest, "\"bomFormat\"", 0), spdx = text_find(rest, "\"spdxVersion\"", 0);
	if (cyclonedx == SIZE_MAX && spdx == SIZE_MAX)
		return BID_NO;
	int r = json_parse(p->json, rest, false, &doc, NULL, p->err);
	if (r == 0)
		return json_is_object(find_bom(doc)) ? BID_STRONG : BID_NO;
	/* the head of a large one, or one that was cut */
	return r > 0 && (installed_mentions(text_from(rest, cyclonedx), 40, "\"CycloneDX\"") ||
			 installed_mentions(text_from(rest, spdx), 40, "\"SPDX-2."))
		   ? BID_STRONG
		   : BID_NO;
}

const struct parser parser_sbom = {
    .name = "sbom",
    .summary =
	"bills of materials: CycloneDX as JSON or XML, SPDX 2 as JSON or tag-value; JSON also in an in-toto statement",
    .checked = "schemas of CycloneDX 1.6, 1.7, JSON and XML; SPDX 2.3 of syft, CycloneDX 1.4 of trivy by their output",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_INSTALL,
    .bid = bid,
    .record = record,
};
