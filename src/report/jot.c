/* SPDX-License-Identifier: Apache-2.0 */
/* jot.c - writing JSON member by member */
#include "jot.h"

#include <inttypes.h>

static void raw(struct jot *j, struct text t)
{
	if (!j->rc)
		j->rc = buf_add_text(j->b, t, j->err);
}

static void quoted(struct jot *j, struct text t)
{
	if (!j->rc)
		j->rc = buf_json_string(j->b, t, j->err);
}

/* A comma but behind an opening bracket; no value ends with one. */
static void item(struct jot *j, const char *key)
{
	char last = j->b->len ? j->b->ptr[j->b->len - 1] : '[';
	if (last != '{' && last != '[')
		raw(j, TEXT(","));
	if (!key)
		return;
	quoted(j, text_of(key));
	raw(j, TEXT(":"));
}

void jot_open(struct jot *j, const char *key, char bracket)
{
	item(j, key);
	raw(j, (struct text){&bracket, 1});
}

void jot_close(struct jot *j, char bracket)
{
	raw(j, (struct text){&bracket, 1});
}

void jot_text(struct jot *j, const char *key, struct text t)
{
	item(j, key);
	quoted(j, t);
}

void jot_text_or_null(struct jot *j, const char *key, struct text t)
{
	if (t.len)
		jot_text(j, key, t);
	else
		jot_json(j, key, TEXT("null"));
}

void jot_printf(struct jot *j, const char *key, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB);
	va_list ap;
	va_start(ap, fmt);
	if (!j->rc)
		j->rc = buf_vprintf(&b, j->err, fmt, ap);
	va_end(ap);
	jot_text(j, key, buf_text(&b));
}

void jot_int(struct jot *j, const char *key, int64_t v)
{
	char digits[TEXT_NUMBER_MAX];
	jot_json(j, key, (struct text){digits, text_put_int64(digits, v)});
}

void jot_time(struct jot *j, const char *key, int64_t ns)
{
	char at[40];
	jot_text_or_null(j, key, text_of(stamp_format(ns, at, sizeof(at))));
}

void jot_json(struct jot *j, const char *key, struct text json)
{
	item(j, key);
	if (!j->rc)
		j->rc = buf_json_value(j->b, json, j->err);
}

void jot_statement(struct jot *j)
{
	jot_open(j, NULL, '{');
	jot_text(j, "_type", TEXT("https://in-toto.io/Statement/v1"));
	jot_open(j, "subject", '[');
}

void jot_subject(struct jot *j, struct text name, struct text sha256_hex)
{
	jot_open(j, NULL, '{');
	jot_text(j, "name", name);
	jot_open(j, "digest", '{');
	jot_text(j, "sha256", sha256_hex);
	jot_close(j, '}');
	jot_close(j, '}');
}
