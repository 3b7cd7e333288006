/* SPDX-License-Identifier: Apache-2.0 */
/* headers.c - header lines from a file that only its owner may read, and taking keys out of what comes back */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/limits.h"
#include "pagetrail/live.h"
#include "pagetrail/private_file.h"

static int read_private(struct buf *b, const char *path, struct err *err)
{
	static const char what[] = "file of headers";
	bool others = false;
	int fd = private_file_open(path, what, &others, err);
	if (fd < 0)
		return fd;
	int rc = others ? private_file_refuse(path, what, "use the keys in it", err) : 0;
	if (!rc)
		rc = private_file_read(fd, what, b, err);
	close(fd);
	return rc;
}

static bool token(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!isalnum((unsigned char)t.ptr[i]) && !strchr("!#$%&'*+-.^_`|~", t.ptr[i]))
			return false;
	return t.len > 0;
}

/* What says how a message is framed or to whom it goes belongs to the program. */
static bool ours(struct text name)
{
	static const char *const names[] = {
	    "host",    "content-length", "transfer-encoding", "connection",          "expect",          "te",
	    "upgrade", "content-type",   "keep-alive",        "proxy-authorization", "accept-encoding", "x-request-id"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (name.len == strlen(names[i]) && !strncasecmp(name.ptr, names[i], name.len))
			return true;
	return false;
}

static void add_secret(struct live_headers *h, struct text t)
{
	if (t.len >= LIVE_SECRET_MIN_BYTES)
		h->secrets[h->n_secrets++] = t;
}

/* The line's text is never repeated in an error: it may be the key. */
static int take_line(struct live_headers *h, struct text line, unsigned number, struct err *err)
{
	size_t colon = text_find_char(line, ':', 0);
	struct text name = text_sub(line, 0, colon == SIZE_MAX ? 0 : colon);
	struct text value = colon == SIZE_MAX ? TEXT("") : text_trim(text_from(line, colon + 1));
	if (!token(name) || !value.len)
		return err_set(err, ERR_INPUT, "line %u of the file of headers is not 'Name: value'", number);
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
			return err_set(err, ERR_INPUT, "line %u of the file of headers holds a control character",
				       number);
	if (ours(name))
		return err_set(err, ERR_INPUT, "line %u of the file of headers: the program sets '%.*s' itself", number,
			       TEXT_ARG(name));
	if (h->n == LIVE_HEADERS_MAX)
		return err_set(err, ERR_INPUT, "the file of headers has more than %d", LIVE_HEADERS_MAX);
	CLEANUP(buf_done) struct buf b = BUF_INIT(2 * LIVE_HEADERS_MAX_BYTES);
	int rc = buf_printf(&b, err, "%.*s: %.*s", TEXT_ARG(name), TEXT_ARG(value));
	if (rc)
		return rc;
	struct text kept = arena_text(&h->arena, buf_text(&b));
	if (!kept.ptr)
		return err_nomem(err);
	h->lines[h->n++] = kept;
	value = text_from(kept, name.len + 2);
	add_secret(h, value);
	size_t scheme = text_find_char(value, ' ', 0);
	if (scheme != SIZE_MAX)
		add_secret(h, text_trim(text_from(value, scheme)));
	return 0;
}

int live_headers_read(struct live_headers *h, const char *path, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(LIVE_HEADERS_MAX_BYTES);
	struct text rest, line;
	unsigned number = 0;
	*h = (struct live_headers){0};
	arena_init(&h->arena, MIB);
	h->lines = arena_array(&h->arena, LIVE_HEADERS_MAX, sizeof(*h->lines));
	h->secrets = arena_array(&h->arena, 2 * LIVE_HEADERS_MAX, sizeof(*h->secrets));
	if (!h->lines || !h->secrets)
		return err_nomem(err);
	int rc = read_private(&b, path, err);
	rest = buf_text(&b);
	while (!rc && text_split(&rest, '\n', &line)) {
		number++;
		line = text_trim(line);
		if (line.len && line.ptr[0] != '#')
			rc = take_line(h, line, number, err);
	}
	if (!rc && !h->n)
		rc = err_set(err, ERR_INPUT, "the file of headers has none");
	if (!rc)
		rc = live_mask_learn(h, err);
	if (b.ptr)
		explicit_bzero(b.ptr, b.len);
	if (rc)
		err_where(err, "%s", path);
	return rc;
}

void live_headers_done(struct live_headers *h)
{
	for (size_t i = 0; i < h->n; i++)
		explicit_bzero((char *)h->lines[i].ptr, h->lines[i].len);
	arena_done(&h->arena);
	*h = (struct live_headers){0};
}
