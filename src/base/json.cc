/* SPDX-License-Identifier: Apache-2.0 */
/* json.cc - simdjson's DOM behind a C face
 *
 * A handle is a document and a place on its tape; simdjson's own tape_ref is the same pair, so that handles are
 * rebuilt from it at no cost. No exception leaves this file: nothing here throws but out of memory, and new is
 * nothrow.
 */
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <simdjson.h>

extern "C" {
#include "json.h"
#include "pagetrail/limits.h"
}

using simdjson::dom::document;
using simdjson::internal::tape_ref;
using simdjson::internal::tape_type;

/* mending writes three bytes for one at worst */
static constexpr size_t max_bytes = 4 * (RECORD_MAX_BYTES > DOCUMENT_MAX_BYTES ? RECORD_MAX_BYTES : DOCUMENT_MAX_BYTES);
static constexpr size_t first_bytes = 16 * 1024;

struct json {
	simdjson::dom::parser parser{max_bytes};
	struct buf copy {
	};
	bool repaired = false;
};

static tape_ref ref(struct json_value v)
{
	return tape_ref(static_cast<const document *>(v.doc), v.index);
}

static struct json_value value(const tape_ref &r)
{
	return json_value{r.doc, r.json_index};
}

static struct text string_of(const tape_ref &r)
{
	return text{r.get_c_str(), r.get_string_length()};
}

extern "C" struct json *json_new(void)
{
	struct json *j = new (std::nothrow) json;

	if (!j)
		return nullptr;
	j->copy.max = max_bytes;
	/* the outermost value costs simdjson one level */
	if (j->parser.allocate(first_bytes, JSON_DEPTH_MAX + 1) || j->parser.doc.allocate(first_bytes)) {
		delete j;
		return nullptr;
	}
	return j;
}

extern "C" void json_free(struct json *j)
{
	if (!j)
		return;
	buf_done(&j->copy);
	delete j;
}

static simdjson::error_code run(struct json *j, struct text doc)
{
	size_t room = j->parser.capacity();

	if (doc.len > max_bytes)
		return simdjson::CAPACITY;
	if (room < doc.len) {
		/* grows in steps, or every slightly longer line would cost an allocation */
		while (room < doc.len)
			room *= 2;
		if (room > max_bytes)
			room = max_bytes;
		if (j->parser.allocate(room, JSON_DEPTH_MAX + 1))
			return simdjson::MEMALLOC;
	}
	if (j->parser.doc.capacity() < doc.len && j->parser.doc.allocate(room))
		return simdjson::MEMALLOC;
	return j->parser.parse(doc.ptr, doc.len, false).error();
}

static bool mendable(simdjson::error_code code)
{
	switch (code) {
	case simdjson::UTF8_ERROR:
	case simdjson::STRING_ERROR:
	case simdjson::NUMBER_ERROR:
	case simdjson::TAPE_ERROR: /* NaN at the place of a value */
	case simdjson::N_ATOM_ERROR: return true;
	default: return false;
	}
}

/* Does mending reach the first fault? Most of what fails is no JSON at all, and says so in its first bytes. */
static bool fault_mendable_at(struct text doc, size_t at)
{
	return at >= doc.len || (unsigned char)doc.ptr[at] >= 0x80 || doc.ptr[at] == 'N' || doc.ptr[at] == 'I';
}

/* Is a long text broken in its first bytes? Heads of logs are offered to whoever reads documents, and each would copy and read a
 * MiB to find that out. What the cut itself may have broken is near its end. */
static bool broken_early(struct text doc, size_t *ret_at)
{
	constexpr size_t look = 256, near = 16;

	if (doc.len < 16 * look)
		return false;
	*ret_at = json_fault(text_sub(doc, 0, look));
	return *ret_at + near < look && !fault_mendable_at(doc, *ret_at);
}

static int parse_mended(struct json *j, struct text doc, simdjson::error_code *code, struct err *err)
{
	if (!fault_mendable_at(doc, json_fault(doc)))
		return 0;
	struct buf mended = BUF_INIT(max_bytes);
	int r = json_mend(doc, &mended, err);

	/* unchanged in length and bytes: nothing was mended, the first error stands */
	if (r == 0 && !text_eq(buf_text(&mended), doc)) {
		*code = run(j, buf_text(&mended));
		j->repaired = *code == simdjson::SUCCESS;
	}
	buf_done(&mended);
	return r;
}

extern "C" int json_parse(struct json *j, struct text doc, bool padded, struct json_value *ret, size_t *ret_offset,
			  struct err *err)
{
	size_t skipped = text_starts(doc, "\xef\xbb\xbf") ? 3 : 0; /* a byte order mark */
	simdjson::error_code code;
	int r;

	*ret = json_value{nullptr, 0};
	j->repaired = false;
	doc = text_from(doc, skipped);
	if (doc.len == 0) {
		if (ret_offset)
			*ret_offset = skipped;
		return 1;
	}
	size_t at;
	if (broken_early(doc, &at)) {
		if (ret_offset)
			*ret_offset = skipped + at;
		return 1;
	}
	if (!padded) {
		buf_clear(&j->copy);
		r = buf_add_text(&j->copy, doc, err);
		if (r < 0)
			return r;
		doc = buf_text(&j->copy);
	}
	code = run(j, doc);
	/* simdjson lets the lone second half of a pair through, as bytes that are not UTF-8 */
	if (mendable(code) || (code == simdjson::SUCCESS && json_lone_surrogate(doc))) {
		r = parse_mended(j, doc, &code, err);
		if (r < 0)
			return r;
	}
	if (code == simdjson::MEMALLOC)
		return err_nomem(err);
	if (code == simdjson::CAPACITY)
		return err_set(err, ERR_LIMIT, "JSON of more than %zu bytes", max_bytes);
	if (code != simdjson::SUCCESS) {
		if (ret_offset)
			*ret_offset = skipped + json_fault(doc);
		return 1;
	}
	*ret = json_value{&j->parser.doc, 1}; /* tape[0] is the root's bracket */
	return 0;
}

extern "C" bool json_repaired(const struct json *j)
{
	return j->repaired;
}

extern "C" enum json_type json_type(struct json_value v)
{
	if (!v.doc)
		return JSON_NONE;
	switch (ref(v).tape_ref_type()) {
	case tape_type::START_ARRAY: return JSON_ARRAY;
	case tape_type::START_OBJECT: return JSON_OBJECT;
	case tape_type::STRING: return JSON_STRING;
	case tape_type::INT64: return JSON_INT;
	case tape_type::UINT64: return JSON_UINT;
	case tape_type::DOUBLE: return JSON_DOUBLE;
	case tape_type::TRUE_VALUE:
	case tape_type::FALSE_VALUE: return JSON_BOOL;
	case tape_type::NULL_VALUE: return JSON_NULL;
	default: return JSON_NONE;
	}
}

extern "C" bool json_given(struct json_value v)
{
	enum json_type t = json_type(v);
	return t != JSON_NONE && t != JSON_NULL;
}

bool json_is_object(struct json_value v)
{
	return v.doc && ref(v).tape_ref_type() == tape_type::START_OBJECT;
}

/* First member of that name. Most of the time of reading a log of JSON lines is spent here. */
static struct json_value get(struct json_value v, const char *key, size_t len)
{
	if (!json_is_object(v))
		return json_value{nullptr, 0};
	tape_ref r = ref(v);
	size_t end = r.matching_brace_index() - 1;

	for (r.json_index++; r.json_index < end;) {
		const char *name = r.get_c_str();
		/* names differ in length or first letter mostly */
		bool same =
		    r.get_string_length() == len && (len == 0 || (name[0] == key[0] && memcmp(name, key, len) == 0));

		r.json_index++;
		if (same)
			return value(r);
		r.json_index = r.after_element();
	}
	return json_value{nullptr, 0};
}

extern "C" struct json_value json_get(struct json_value v, const char *key)
{
	return get(v, key, strlen(key));
}

static struct json_value element(struct json_value v, struct text index)
{
	uint64_t n;

	if (json_type(v) != JSON_ARRAY || !text_uint64(index, &n))
		return json_value{nullptr, 0};
	struct json_iter it = json_iter(v);
	struct text key;
	struct json_value ret;

	while (json_next(&it, &key, &ret))
		if (n-- == 0)
			return ret;
	return json_value{nullptr, 0};
}

/* Longest names first; `left` bounds the ways in which a path of many dots can be read. */
static struct json_value walk(struct json_value v, struct text path, unsigned *left)
{
	size_t n = path.len;

	while (n != SIZE_MAX && *left) {
		struct text head = text_sub(path, 0, n);
		struct json_value found;

		(*left)--;
		found = json_is_object(v) ? get(v, head.ptr, n) : element(v, head);
		if (found.doc && n < path.len)
			found = walk(found, text_from(path, n + 1), left);
		if (found.doc)
			return found;
		n = text_rfind_char(head, '.');
	}
	return json_value{nullptr, 0};
}

extern "C" struct json_value json_path(struct json_value v, const char *path)
{
	unsigned left = 1000;

	return walk(v, text_of(path), &left);
}

extern "C" bool json_string(struct json_value v, struct text *ret)
{
	if (json_type(v) != JSON_STRING)
		return false;
	*ret = string_of(ref(v));
	return true;
}

extern "C" bool json_int64(struct json_value v, int64_t *ret)
{
	/* simdjson uses UINT64 only beyond INT64_MAX */
	if (json_type(v) != JSON_INT)
		return false;
	*ret = ref(v).next_tape_value<int64_t>();
	return true;
}

extern "C" bool json_uint64(struct json_value v, uint64_t *ret)
{
	enum json_type type = json_type(v);
	uint64_t u;

	if (type != JSON_INT && type != JSON_UINT)
		return false;
	u = ref(v).next_tape_value<uint64_t>();
	if (type == JSON_INT && u > INT64_MAX) /* negative */
		return false;
	*ret = u;
	return true;
}

extern "C" bool json_double(struct json_value v, double *ret)
{
	switch (json_type(v)) {
	case JSON_DOUBLE: *ret = ref(v).next_tape_value<double>(); return true;
	case JSON_INT: *ret = static_cast<double>(ref(v).next_tape_value<int64_t>()); return true;
	case JSON_UINT: *ret = static_cast<double>(ref(v).next_tape_value<uint64_t>()); return true;
	default: return false;
	}
}

extern "C" bool json_bool(struct json_value v, bool *ret)
{
	if (json_type(v) != JSON_BOOL)
		return false;
	*ret = ref(v).is_true();
	return true;
}

extern "C" bool json_count(struct json_value v, int64_t *ret)
{
	switch (json_type(v)) {
	case JSON_INT: return json_int64(v, ret);
	case JSON_STRING: return text_count(string_of(ref(v)), ret);
	case JSON_DOUBLE: {
		double d = ref(v).next_tape_value<double>();

		/* 2^63 is a double, INT64_MAX is none */
		if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != std::trunc(d))
			return false;
		*ret = static_cast<int64_t>(d);
		return true;
	}
	default: return false;
	}
}

template <typename T> static struct text decimal(T n, char *tmp)
{
	return text{tmp, static_cast<size_t>(std::to_chars(tmp, tmp + 32, n).ptr - tmp)};
}

extern "C" bool json_id(struct json_value v, char *tmp, struct text *ret)
{
	switch (json_type(v)) {
	case JSON_STRING: *ret = string_of(ref(v)); return true;
	case JSON_INT: *ret = decimal(ref(v).next_tape_value<int64_t>(), tmp); return true;
	case JSON_UINT: *ret = decimal(ref(v).next_tape_value<uint64_t>(), tmp); return true;
	default: return false;
	}
}

extern "C" struct json_iter json_iter(struct json_value v)
{
	enum json_type type = json_type(v);

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return (struct json_iter){nullptr, 0, 0, false};
	return (struct json_iter){v.doc, v.index + 1, ref(v).matching_brace_index() - size_t{1}, type == JSON_OBJECT};
}

extern "C" bool json_next(struct json_iter *it, struct text *ret_key, struct json_value *ret_value)
{
	if (!it->doc || it->at >= it->end)
		return false;
	tape_ref r(static_cast<const document *>(it->doc), it->at);

	*ret_key = text{"", 0};
	if (it->object) {
		*ret_key = string_of(r);
		r.json_index++;
	}
	*ret_value = value(r);
	it->at = r.after_element();
	return true;
}

static int write_double(double d, struct buf *out, struct err *err)
{
	char tmp[40];
	struct text t = {tmp, static_cast<size_t>(std::to_chars(tmp, tmp + sizeof(tmp), d).ptr - tmp)};
	int r = buf_add_text(out, t, err);

	/* stays what it was: 1.0 is not an integer */
	if (r == 0 && text_find_char(t, '.', 0) == SIZE_MAX && text_find_char(t, 'e', 0) == SIZE_MAX)
		r = buf_add(out, ".0", 2, err);
	return r;
}

static int write_all(struct json_value v, struct buf *out, struct err *err)
{
	struct json_iter it = json_iter(v);
	struct text key;
	struct json_value item;
	bool first = true;
	int r = buf_add_char(out, it.object ? '{' : '[', err);

	while (r == 0 && json_next(&it, &key, &item)) {
		if (!first)
			r = buf_add_char(out, ',', err);
		first = false;
		if (r == 0 && it.object) {
			r = buf_json_string(out, key, err);
			if (r == 0)
				r = buf_add_char(out, ':', err);
		}
		if (r == 0)
			r = json_write(item, out, err); /* as deep as JSON_DEPTH_MAX */
	}
	return r ? r : buf_add_char(out, it.object ? '}' : ']', err);
}

extern "C" int json_write(struct json_value v, struct buf *out, struct err *err)
{
	char tmp[32];
	struct text t;

	switch (json_type(v)) {
	case JSON_NONE:
	case JSON_NULL: return buf_add(out, "null", 4, err);
	case JSON_BOOL: return buf_add_text(out, text_of(ref(v).is_true() ? "true" : "false"), err);
	case JSON_INT:
	case JSON_UINT: json_id(v, tmp, &t); return buf_add_text(out, t, err);
	case JSON_DOUBLE: return write_double(ref(v).next_tape_value<double>(), out, err);
	case JSON_STRING: return buf_json_string(out, string_of(ref(v)), err);
	case JSON_ARRAY:
	case JSON_OBJECT: return write_all(v, out, err);
	}
	return 0;
}
