/* SPDX-License-Identifier: Apache-2.0 */
/* put.c - writing what came into JSON */
#include "put.h"

#include <stdio.h>

#include "pagetrail/digest.h"
#include "pagetrail/stamp.h"

int live_put_member(struct buf *b, const char *name, struct text t, struct err *err)
{
	int rc = buf_printf(b, err, "\"%s\":", name);
	if (!rc)
		rc = t.len ? buf_json_string(b, t, err) : buf_add_text(b, TEXT("null"), err);
	return rc ? rc : buf_add_char(b, ',', err);
}

int live_put_time(struct buf *b, const char *name, int64_t ns, struct err *err)
{
	char at[40];
	return live_put_member(b, name, text_of(stamp_format(ns, at, sizeof(at))), err);
}

/* Control characters take six bytes each as JSON: what is full of them stands shorter in Base64. */
static bool plain(struct text t)
{
	size_t odd = 0;
	for (size_t i = 0; i < t.len; i++) {
		bool line = t.ptr[i] == '\n' || t.ptr[i] == '\r' || t.ptr[i] == '\t';
		if ((unsigned char)t.ptr[i] < ' ' && !line)
			return false;
		odd += line;
	}
	return odd <= 16 + t.len / 8 && text_utf8_valid(t);
}

int live_put_bytes(struct buf *b, const char *name, struct text bytes, struct err *err)
{
	bool utf8 = plain(bytes);
	int rc = buf_printf(b, err, utf8 ? "\"%s\":" : "\"%s_base64\":\"", name);
	if (!rc)
		rc = utf8 ? buf_json_string(b, bytes, err) : buf_base64(b, bytes, err);
	return rc || utf8 ? rc : buf_add_char(b, '"', err);
}

int live_put_call(struct buf *b, const struct live_call *c, struct err *err)
{
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	int rc = sha256_once(c->answer.ptr ? c->answer.ptr : "", c->answer.len, digest, err);
	if (!rc)
		rc = live_put_time(b, "started_at", c->started_ns, err);
	if (!rc)
		rc = live_put_time(b, "ended_at", c->ended_ns, err);
	if (!rc)
		rc = live_put_member(b, "peer", text_of(c->peer), err);
	if (!rc)
		rc = live_put_member(b, "tls", text_of(c->tls), err);
	if (!rc)
		rc = live_put_member(b, "outcome", text_of(live_outcome_names[c->outcome]), err);
	if (!rc)
		rc = live_put_member(b, "why", text_of(c->why), err);
	if (!rc && c->status)
		rc = buf_printf(b, err, "\"status\":%ld,", c->status);
	if (!rc)
		rc = live_put_member(b, "content_type", text_of(c->type), err);
	if (rc)
		return rc;
	sha256_hex(digest, hex);
	return buf_printf(b, err, "\"bytes\":%zu,\"sha256\":\"%s\",\"masked\":%zu,", c->answer.len, hex, c->masked);
}
