/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.c - a text as it stands in JSON, in a URL, in hex, in Base64 */
#include "pagetrail/spelling.h"

#include <string.h>

#include <openssl/evp.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"

const char *const spelling_names[SPELLINGS] = {[SPELLED_PLAIN] = "plain",
					       [SPELLED_JSON] = "json",
					       [SPELLED_PERCENT] = "percent",
					       [SPELLED_HEX] = "hex",
					       [SPELLED_BASE64] = "base64"};

/* Of fewer characters a text would be found by chance. */
enum { BASE64_MIN_CHARS = 8 };

struct giver {
	struct text plain;
	struct buf b;
	int (*take)(void *ctx, enum spelling how, struct text spelled);
	void *ctx;
};

static int give(struct giver *g, enum spelling how, struct text spelled)
{
	return how != SPELLED_PLAIN && text_eq(spelled, g->plain) ? 0 : g->take(g->ctx, how, spelled);
}

static int give_json(struct giver *g, struct err *err)
{
	buf_clear(&g->b);
	int rc = buf_json_string(&g->b, g->plain, err);
	return rc ? rc : give(g, SPELLED_JSON, text_sub(buf_text(&g->b), 1, g->b.len - 2));
}

static int give_percent(struct giver *g, struct err *err)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	buf_clear(&g->b);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->plain.len; i++) {
		char c = g->plain.ptr[i];
		rc = c && strchr(unreserved, c) ? buf_add_char(&g->b, c, err)
						: buf_printf(&g->b, err, "%%%02X", (unsigned char)c);
	}
	return rc ? rc : give(g, SPELLED_PERCENT, buf_text(&g->b));
}

static int give_hex(struct giver *g, bool upper, struct err *err)
{
	buf_clear(&g->b);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->plain.len; i++)
		rc = buf_printf(&g->b, err, upper ? "%02X" : "%02x", (unsigned char)g->plain.ptr[i]);
	return rc ? rc : give(g, SPELLED_HEX, buf_text(&g->b));
}

/* before: bytes of another text in the same group of three; what depends on them, and on what follows, is cut off. */
static int give_base64(struct giver *g, size_t before, struct err *err)
{
	static const size_t cut_of[] = {0, 2, 3};
	CLEANUP(buf_done) struct buf in = BUF_INIT(MIB);
	int rc = buf_add(&in, "\0\0", before, err);
	if (rc == 0)
		rc = buf_add_text(&in, g->plain, err);
	buf_clear(&g->b);
	if (rc == 0)
		rc = buf_reserve(&g->b, 4 * (in.len / 3 + 1) + 1, err);
	if (rc)
		return rc;
	int n = EVP_EncodeBlock((unsigned char *)g->b.ptr, (const unsigned char *)in.ptr, (int)in.len);
	size_t end = (size_t)n - (in.len % 3 == 1 ? 3 : in.len % 3 == 2 ? 2 : 0);
	struct text said = {g->b.ptr + cut_of[before], end - cut_of[before]};
	if (end < cut_of[before] + BASE64_MIN_CHARS)
		return 0;
	rc = give(g, SPELLED_BASE64, said);
	bool other = false;
	for (char *p = g->b.ptr; rc == 0 && p < g->b.ptr + end; p++) {
		other |= *p == '+' || *p == '/';
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	}
	return rc == 0 && other ? give(g, SPELLED_BASE64, said) : rc;
}

int spellings_of(struct text t, int (*take)(void *ctx, enum spelling how, struct text spelled), void *ctx,
		 struct err *err)
{
	struct giver g = {t, BUF_INIT(MIB), take, ctx};
	if (t.len > MIB / 16)
		return err_set(err, ERR_BUG, "a text too long to be spelled");
	int rc = give(&g, SPELLED_PLAIN, t);
	if (rc == 0)
		rc = give_json(&g, err);
	if (rc == 0)
		rc = give_percent(&g, err);
	if (rc == 0)
		rc = give_hex(&g, false, err);
	if (rc == 0)
		rc = give_hex(&g, true, err);
	for (size_t before = 0; rc == 0 && before < 3; before++)
		rc = give_base64(&g, before, err);
	buf_done(&g.b);
	return rc;
}
