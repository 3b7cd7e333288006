/* SPDX-License-Identifier: Apache-2.0 */
/* python_packages.c - format python-packages: which Python packages are installed, as pip and uv say it
 *
 * Whole documents, of these forms: `pip freeze`, `pip list` (table or JSON), `pip show`, `pip inspect`; and files of an
 * installation: METADATA, RECORD, direct_url.json (Python packaging, "Recording installed projects" and PEP 610). A list
 * says what lies on the disk of the environment that it was made in, not what the running process loaded. Of an address
 * nothing is kept but its revision: it may hold a password.
 */
#include "installed.h"

struct package {
	struct text name, version, commit;
};

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._-", c));
}

static bool is_name(struct text t)
{
	if (!t.len || strchr("._-", t.ptr[0]))
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!name_char(t.ptr[i]))
			return false;
	return true;
}

/* A version begins with a digit, or v and a digit (PEP 440). */
static bool is_version(struct text t)
{
	size_t at = t.len && (t.ptr[0] == 'v' || t.ptr[0] == 'V') ? 1 : 0;
	if (at >= t.len || t.ptr[at] < '0' || t.ptr[at] > '9')
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!name_char(t.ptr[i]) && !strchr("+!*", t.ptr[i]))
			return false;
	return true;
}

/* Next word of *rest, blanks and tabs between. */
static struct text next_word(struct text *rest)
{
	size_t n = 0;
	*rest = text_trim(*rest);
	while (n < rest->len && rest->ptr[n] != ' ' && rest->ptr[n] != '\t')
		n++;
	struct text word = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n);
	return word;
}

/* "git+https://host/path.git@REVISION#egg=name&…": the revision, when it is one of a commit. */
static struct text commit_of(struct text address)
{
	size_t hash = text_find_char(address, '#', 0);
	struct text t = text_sub(address, 0, hash == SIZE_MAX ? address.len : hash);
	size_t at = text_rfind_char(t, '@');
	struct text commit = at == SIZE_MAX ? (struct text){0} : text_from(t, at + 1);
	return installed_commit(commit) ? commit : (struct text){0};
}

static struct text egg_of(struct text address)
{
	size_t at = text_find(address, "#egg=", 0), n = 0;
	struct text t = at == SIZE_MAX ? (struct text){0} : text_from(address, at + 5);
	while (n < t.len && name_char(t.ptr[n]))
		n++;
	return text_sub(t, 0, n);
}

/* --- one line each; 1 a package, 0 none but known, -1 of another form --- */

static int freeze_line(struct text line, struct package *ret)
{
	static const char editable[] = "# Editable";
	*ret = (struct package){0};
	line = text_trim(line);
	if (text_starts(line, editable)) { /* "# Editable install with no version control (sglang==0.5.22)" */
		size_t from = text_find_char(line, '(', 0), to = text_rfind_char(line, ')');
		if (from == SIZE_MAX || to == SIZE_MAX || to < from)
			return 0;
		line = text_sub(line, from + 1, to - from - 1);
	}
	if (!line.len || line.ptr[0] == '#')
		return 0;
	if (text_starts(line, "-e ") || text_starts(line, "--editable ")) {
		ret->name = egg_of(line);
		ret->commit = commit_of(line);
		return ret->name.len ? 1 : 0;
	}
	if (line.ptr[0] == '-')
		return 0; /* --index-url and the like */
	size_t at = text_find(line, "==", 0);
	if (at != SIZE_MAX) {
		struct text rest = text_from(line, at + 2);
		ret->name = text_trim(text_sub(line, 0, at));
		while (rest.len && rest.ptr[0] == '=') /* === is an arbitrary string */
			rest = text_from(rest, 1);
		ret->version = next_word(&rest);
		rest = text_trim(rest);
		bool clean = !rest.len || rest.ptr[0] == '#' || rest.ptr[0] == ';' || text_starts(rest, "--hash");
		return clean && is_name(ret->name) && ret->version.len ? 1 : -1;
	}
	at = text_find(line, " @ ", 0);
	if (at == SIZE_MAX)
		return -1;
	ret->name = text_trim(text_sub(line, 0, at));
	ret->commit = commit_of(text_from(line, at + 3));
	return is_name(ret->name) ? 1 : -1;
}

/* "sglang      0.5.22   /path/of/an/editable/project" */
static int table_line(struct text line, struct package *ret)
{
	*ret = (struct package){0};
	ret->name = next_word(&line);
	ret->version = next_word(&line);
	if (!ret->name.len || text_starts(ret->name, "---"))
		return 0;
	return is_name(ret->name) && is_version(ret->version) ? 1 : -1;
}

/* "sglang-0.5.22.dist-info/RECORD,,": an installation's list of its own files */
static int record_line(struct text line, struct package *ret)
{
	size_t end = text_find(line, ".dist-info/RECORD,", 0);
	*ret = (struct package){0};
	if (end == SIZE_MAX)
		return text_find(line, ",", 0) == SIZE_MAX && text_trim(line).len ? -1 : 0;
	struct text stem = text_sub(line, 0, end);
	size_t slash = text_rfind_char(stem, '/');
	if (slash != SIZE_MAX)
		stem = text_from(stem, slash + 1);
	size_t dash = text_find_char(stem, '-', 0); /* names are escaped there: no '-' in them */
	if (dash == SIZE_MAX)
		return -1;
	ret->name = text_sub(stem, 0, dash);
	ret->version = text_from(stem, dash + 1);
	return is_name(ret->name) && is_version(ret->version) ? 1 : -1;
}

static bool is_table(struct text document)
{
	struct text line = {0}, rest;
	rest = document;
	if (!text_split(&rest, '\n', &line))
		return false;
	return text_is(next_word(&line), "Package") && text_is(next_word(&line), "Version");
}

/* "Metadata-Version: 2.4" (a METADATA file) or "Name: x", "Version: y" (pip show): a block a package. */
static bool is_fields(struct text document)
{
	size_t at = text_find(document, "\nVersion: ", 0);
	return at != SIZE_MAX && at < 400 &&
	       (text_starts(document, "Metadata-Version: ") || text_starts(document, "Name: "));
}

static bool is_record(struct text document)
{
	return text_find(document, ".dist-info/RECORD,", 0) != SIZE_MAX &&
	       text_find(document, ",sha256=", 0) != SIZE_MAX;
}

/* --- JSON --- */

static bool is_direct_url(struct json_value doc)
{
	return json_is_object(doc) && installed_text(json_get(doc, "url")).len &&
	       (json_is_object(json_get(doc, "vcs_info")) || json_is_object(json_get(doc, "archive_info")) ||
		json_is_object(json_get(doc, "dir_info")));
}

/* The list in `pip list --format json` or `pip inspect`; JSON_NONE: neither. */
static struct json_value list_of(struct json_value doc)
{
	struct json_value list = json_type(doc) == JSON_ARRAY ? doc : json_get(doc, "installed"), first = {0};
	struct json_iter it = json_iter(list);
	struct text key;
	if (json_type(list) != JSON_ARRAY || !json_next(&it, &key, &first))
		return (struct json_value){0};
	bool own = installed_text(json_get(first, "name")).len && installed_text(json_get(first, "version")).len;
	return own || json_is_object(json_get(first, "metadata")) ? list : (struct json_value){0};
}

/* --- events --- */

static int emit(struct parse *p, struct stamp at, struct text worker, const struct package *k, enum rung rung)
{
	struct event *e = parse_begin(p, EVENT_INSTALL, at);
	event_text(e, INSTALL_WHAT, TEXT("package"));
	event_int(e, INSTALL_RUNG, rung);
	event_text(e, INSTALL_PACKAGE, k->name);
	event_text(e, INSTALL_VERSION, k->version);
	event_text(e, INSTALL_COMMIT, k->commit);
	if (worker.len)
		event_worker(e, worker);
	return parse_emit(p);
}

static int take_lines(struct parse *p, struct text rest, struct stamp at, int (*read)(struct text, struct package *),
		      enum rung rung)
{
	struct text line;
	struct package k;
	unsigned found = 0;
	while (text_split(&rest, '\n', &line)) {
		if (read(line, &k) <= 0)
			continue;
		int r = emit(p, at, (struct text){0}, &k, rung);
		if (r < 0)
			return r;
		found++;
	}
	return found ? RECORD_PARSED : parse_refuse(p, "no_packages");
}

/* Blocks of "Key: value", each of which begins with its name; a METADATA file has one, and a text behind it. */
static int take_fields(struct parse *p, struct text rest, struct stamp at)
{
	bool metadata = text_starts(rest, "Metadata-Version: ");
	struct package k = {0};
	struct text line;
	unsigned found = 0;
	while (text_split(&rest, '\n', &line)) {
		line = text_trim(line);
		if (metadata && !line.len)
			break;
		if (text_starts(line, "Name: "))
			k = (struct package){.name = text_trim(text_from(line, 6))};
		if (!text_starts(line, "Version: ") || !is_name(k.name))
			continue;
		k.version = text_trim(text_from(line, 9));
		int r = emit(p, at, (struct text){0}, &k, metadata ? RUNG_BUILT : RUNG_THERE);
		if (r < 0)
			return r;
		k = (struct package){0};
		found++;
	}
	return found ? RECORD_PARSED : parse_refuse(p, "no_packages");
}

/* The name stands in the file's folder alone; an address ends with that of its repository. */
static int take_direct_url(struct parse *p, struct json_value doc, struct stamp at)
{
	struct text url = installed_text(json_get(doc, "url"));
	struct package k = {.commit = installed_text(json_path(doc, "vcs_info.commit_id"))};
	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	size_t slash = text_rfind_char(url, '/');
	k.name = slash == SIZE_MAX ? url : text_from(url, slash + 1);
	if (k.name.len > 4 && text_is(text_from(k.name, k.name.len - 4), ".git"))
		k.name.len -= 4;
	if (!is_name(k.name) || !installed_commit(k.commit))
		return RECORD_CONTEXT; /* a folder or an archive: says nothing of the revision */
	int r = emit(p, at, (struct text){0}, &k, RUNG_BUILT);
	return r < 0 ? r : RECORD_PARSED;
}

static int take_json(struct parse *p, struct json_value doc, struct stamp at)
{
	struct collected from = {.at = at};
	struct json_value list = list_of(doc), v;
	struct json_iter it = json_iter(list);
	struct text key;
	unsigned found = 0;
	collected_fields(&from, doc);
	if (is_direct_url(doc))
		return take_direct_url(p, doc, from.at);
	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		struct json_value meta = json_is_object(json_get(v, "metadata")) ? json_get(v, "metadata") : v;
		struct package k = {installed_text(json_get(meta, "name")), installed_text(json_get(meta, "version")),
				    installed_text(json_path(v, "direct_url.vcs_info.commit_id"))};
		if (!is_name(k.name))
			continue;
		int r = emit(p, from.at, from.worker, &k, RUNG_THERE);
		if (r < 0)
			return r;
		found++;
	}
	return found ? RECORD_PARSED : parse_refuse(p, "no_packages");
}

static int record(struct parse *p, struct text record)
{
	struct stamp at = p->fallback;
	struct text rest = collected_header(record, &at);
	struct json_value doc;
	if (!rest.len)
		return RECORD_CONTEXT;
	if (rest.ptr[0] == '{' || rest.ptr[0] == '[') {
		int r = parse_document(p, rest, p->padded, &doc);
		return r ? r : take_json(p, doc, at);
	}
	if (is_fields(rest))
		return take_fields(p, rest, at);
	if (is_record(rest))
		return take_lines(p, rest, at, record_line, RUNG_BUILT);
	return take_lines(p, record, at, is_table(rest) ? table_line : freeze_line, RUNG_THERE);
}

/* Every line is one of `pip freeze`, but the last of a part of the file; one at least is a package. */
static bool is_freeze(struct text document)
{
	struct text line, rest = document;
	struct package k;
	unsigned found = 0;
	while (text_split(&rest, '\n', &line)) {
		int r = freeze_line(line, &k);
		if (r < 0 && rest.len)
			return false;
		found += r > 0;
	}
	return found > 0;
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at = STAMP_INIT;
	struct text rest = collected_header(record, &at);
	struct json_value doc;
	if (!rest.len)
		return BID_NO;
	if (rest.ptr[0] == '{' || rest.ptr[0] == '[') {
		bool likely = text_find(text_sub(rest, 0, 4096), "\"version\"", 0) != SIZE_MAX ||
			      text_find(text_sub(rest, 0, 4096), "_info\"", 0) != SIZE_MAX;
		if (!likely || json_parse(p->json, rest, false, &doc, NULL, p->err) != 0)
			return BID_NO;
		return is_direct_url(doc) || json_type(list_of(doc)) == JSON_ARRAY ? BID_STRONG : BID_NO;
	}
	return is_table(rest) || is_fields(rest) || is_record(rest) || is_freeze(record) ? BID_STRONG : BID_NO;
}

const struct parser parser_python_packages = {
    .name = "python-packages",
    .summary = "installed Python packages: pip freeze, list, show, inspect; METADATA, RECORD, direct_url.json",
    .checked = "pip 23 to 25, uv 0.5; PEP 376, 610, 639",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_INSTALL,
    .bid = bid,
    .record = record,
};
