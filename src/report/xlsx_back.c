/* SPDX-License-Identifier: Apache-2.0 */
/* xlsx_back.c - a workbook read again: is each part whole, and what do its cells say?
 *
 * Reads what derive_xlsx.c wrote and has been on a disk since: a ZIP file, its parts XML. Everything is checked before it is used.
 */
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "derive.h"
#include "pagetrail/limits.h"

enum { END_BYTES = 22, CENTRAL_BYTES = 46, LOCAL_BYTES = 30, STORED = 0, DEFLATED = 8 };

static uint32_t number(const char *p, int bytes)
{
	uint32_t v = 0;
	for (int i = bytes; i-- > 0;)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static int damaged(struct err *err)
{
	return err_set(err, ERR_IO, "the workbook that was written cannot be read back");
}

/* One part, behind what out holds. */
static int inflate_part(struct text packed, int method, uint32_t size, uint32_t crc, struct buf *out, struct err *err)
{
	int rc = buf_reserve(out, size, err);
	if (rc)
		return rc;
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.ptr,
		      .avail_in = (uInt)packed.len,
		      .next_out = (Bytef *)(out->ptr + out->len),
		      .avail_out = size};
	if (method == STORED && packed.len == size) {
		memcpy(out->ptr + out->len, packed.ptr, size);
	} else {
		if (method != DEFLATED || inflateInit2(&z, -MAX_WBITS) != Z_OK)
			return damaged(err);
		int end = inflate(&z, Z_FINISH);
		inflateEnd(&z);
		if (end != Z_STREAM_END || z.avail_out)
			return damaged(err);
	}
	if (crc32(0, (const Bytef *)(out->ptr + out->len), size) != crc)
		return damaged(err);
	out->len += size;
	return 0;
}

/* The text; and once more, where "_x0041_" may stand for A: so are characters written that XML does not have, and such words
 * themselves, but not everywhere. */
static int add_text(struct text t, struct buf *out, struct err *err)
{
	int rc = buf_add_text(out, t, err);
	size_t from = 0;
	if (!rc)
		rc = buf_add_char(out, '\n', err);
	for (size_t i = 0; !rc && i + 7 <= t.len; i++) {
		if (t.ptr[i] != '_' || t.ptr[i + 1] != 'x' || t.ptr[i + 6] != '_' || !text_hex(text_sub(t, i + 2, 4)))
			continue;
		char utf8[4];
		size_t n = text_put_utf8(utf8, (uint32_t)strtoul(t.ptr + i + 2, NULL, 16));
		rc = buf_add(out, t.ptr + from, i - from, err);
		if (!rc)
			rc = buf_add(out, utf8, n, err);
		from = i + 7;
		i += 6;
	}
	if (!rc && from)
		rc = buf_add_text(out, text_from(t, from), err);
	return !rc && from ? buf_add_char(out, '\n', err) : rc;
}

/* The words of cells; of the list of sheets, their names. What else is there the library writes, the same for everybody. */
static int add_words(xmlNodePtr n, struct buf *out, struct err *err)
{
	int rc = 0;
	for (; n && !rc; n = n->next) {
		struct text t = n->type == XML_TEXT_NODE ? text_of((const char *)n->content)
				: n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, "sheet")
				    ? derive_attribute(n, "name")
				    : TEXT("");
		if (t.len)
			rc = add_text(t, out, err);
		if (!rc)
			rc = add_words(n->children, out, err);
	}
	return rc;
}

static int take_part(struct text part, struct buf *out, struct err *err)
{
	xmlDocPtr doc = part.len <= INT32_MAX
			    ? xmlReadMemory(part.ptr, (int)part.len, NULL, NULL,
					    XML_PARSE_NONET | XML_PARSE_HUGE | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)
			    : NULL;
	if (!doc)
		return damaged(err);
	int rc = add_words(xmlDocGetRootElement(doc), out, err);
	xmlFreeDoc(doc);
	return rc;
}

/* The entry at `at` of the list of contents; *at moves behind it. */
static int take_entry(struct text file, size_t *at, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf part = BUF_INIT(1024 * MIB);
	if (file.len < *at + CENTRAL_BYTES || memcmp(file.ptr + *at, "PK\1\2", 4) != 0)
		return damaged(err);
	const char *e = file.ptr + *at;
	size_t local = number(e + 42, 4);
	uint32_t packed = number(e + 20, 4);
	*at += CENTRAL_BYTES + number(e + 28, 2) + number(e + 30, 2) + number(e + 32, 2);
	if (file.len < local + LOCAL_BYTES || memcmp(file.ptr + local, "PK\3\4", 4) != 0)
		return damaged(err);
	size_t begin = local + LOCAL_BYTES + number(file.ptr + local + 26, 2) + number(file.ptr + local + 28, 2);
	if (begin > file.len || packed > file.len - begin)
		return damaged(err);
	int rc = inflate_part(text_sub(file, begin, packed), (int)number(e + 10, 2), number(e + 24, 4),
			      number(e + 16, 4), &part, err);
	return rc ? rc : take_part(buf_text(&part), out, err);
}

int xlsx_words(struct text file, struct buf *out, struct err *err)
{
	if (file.len < END_BYTES || memcmp(file.ptr + file.len - END_BYTES, "PK\5\6", 4) != 0)
		return damaged(err);
	const char *end = file.ptr + file.len - END_BYTES;
	size_t at = number(end + 16, 4), n = number(end + 10, 2);
	int rc = n ? 0 : damaged(err);
	while (!rc && n--)
		rc = take_entry(file, &at, out, err);
	return rc;
}
