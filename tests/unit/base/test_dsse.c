/* SPDX-License-Identifier: Apache-2.0 */
/* test_dsse.c - envelopes: what is signed, what openssl says of it, and what is not taken
 *
 * The keys are those of RFC 8032, section 7.1, tests 1 and 2. The signature below was made by `openssl pkeyutl -sign -rawin`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/dsse.h"
#include "pagetrail/limits.h"

#define PEM(kind, lines) "-----BEGIN " kind "-----\n" lines "\n-----END " kind "-----\n"
static const char first[] = PEM("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g");
static const char first_public[] = PEM("PUBLIC KEY", "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
static const char second[] = PEM("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7");
#define FIRST_ID "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"
#define TYPE     "http://example.com/HelloWorld"
#define SIG      "4DHX3Zn4qpBKvEj7maE8O9u9bjXEnPLLnyXVUJ2PXJR8DSLcL3QDpFvfJOj3pB/SPHsl6Jg4boxsMb6KvuYABw=="
#define ENVELOPE(payload, more, signatures) \
	"{\"payloadType\":\"" TYPE "\",\"payload\":\"" payload "\"," more "\"signatures\":[" signatures "]}\n"
#define SIGNED(id, sig) "{\"keyid\":\"" id "\",\"sig\":\"" sig "\"}"

static struct dsse_key *key_of(const char *pem)
{
	struct dsse_key *k;
	struct err err = {0};
	assert_int_equal(dsse_key_read(&k, text_of(pem), &err), 0);
	return k;
}

/* What dsse_verify() says, with the payload that it gives. */
static int verify(const char *pem, struct text envelope, char *payload, size_t size)
{
	struct dsse_key *k = key_of(pem);
	struct buf type = BUF_INIT(KIB), b = BUF_INIT(MIB);
	struct err err = {0};
	int rc = dsse_verify(k, envelope, &type, &b, &err);
	if (rc == 0)
		assert_true(text_is(buf_text(&type), TYPE));
	else
		assert_true(!b.len && !type.len);
	assert_true(rc >= 0 || err.what[0]);
	snprintf(payload, size, "%.*s", (int)b.len, b.len ? b.ptr : "");
	buf_done(&type);
	buf_done(&b);
	dsse_key_free(k);
	return rc;
}

static int says(const char *pem, const char *envelope)
{
	char payload[64];
	int rc = verify(pem, text_of(envelope), payload, sizeof(payload));
	if (rc == 0)
		assert_string_equal(payload, "hello world");
	return rc;
}

static void test_signs(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(KIB);
	struct dsse_key *k = key_of(first), *public = key_of(first_public);
	struct err err = {0};
	assert_int_equal(dsse_pae(text_of(TYPE), TEXT("hello world"), &b, &err), 0);
	assert_string_equal(b.ptr, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
	buf_clear(&b);
	assert_string_equal(dsse_key_id(k), FIRST_ID);
	assert_string_equal(dsse_key_id(public), FIRST_ID);
	assert_true(dsse_key_signs(k) && !dsse_key_signs(public));
	assert_int_equal(dsse_sign(k, text_of(TYPE), TEXT("hello world"), &b, &err), 0);
	assert_string_equal(b.ptr, ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED(FIRST_ID, SIG)));
	buf_clear(&b);
	assert_int_equal(dsse_sign(public, text_of(TYPE), TEXT("hello world"), &b, &err), ERR_INPUT);
	buf_done(&b);
	dsse_key_free(k);
	dsse_key_free(public);
}

static void test_verifies(void **state)
{
	(void)state;
	static const char good[] = ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED(FIRST_ID, SIG));
	assert_int_equal(says(first, good), 0);
	assert_int_equal(says(first_public, good), 0);
	assert_int_equal(says(second, good), 1);
	/* ids are hints, other members and other signatures are other people's; both alphabets, with and without padding */
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ", "\"x\":1,", SIGNED("", SIG))), 0);
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("b", "AAAA") "," SIGNED("a", SIG))), 0);
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("b", "AAAA"))), 1);
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ=", "", "")), 1);
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ=", "",
					      "{\"sig\":\"4DHX3Zn4qpBKvEj7maE8O9u9bjXEnPLLnyXVUJ2PXJR8"
					      "DSLcL3QDpFvfJOj3pB_SPHsl6Jg4boxsMb6KvuYABw\"}")),
			 0);
	/* as some write a slash */
	assert_int_equal(says(first, ENVELOPE("aGVsbG8gd29ybGQ=", "",
					      "{\"sig\":\"4DHX3Zn4qpBKvEj7maE8O9u9bjXEnPLLnyXVUJ2PXJR8DSLcL"
					      "3QDpFvfJOj3pB\\/SPHsl6Jg4boxsMb6KvuYABw==\"}")),
			 0);
	/* the type is signed too */
	assert_int_equal(
	    says(first,
		 "{\"payloadType\":\"http://example.com/HelloWorle\",\"payload\":\"aGVsbG8gd29ybGQ=\",\"signatures\":["
		 "{\"sig\":\"" SIG "\"}]}"),
	    1);
}

static void test_tampered(void **state)
{
	(void)state;
	static const char good[] = ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED(FIRST_ID, SIG));
	char bytes[sizeof(good)], payload[64];
	size_t differ = 0;
	for (size_t i = 0; i < sizeof(good) - 1; i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(bytes, good, sizeof(good));
			bytes[i] ^= (char)(1 << bit);
			int rc = verify(first, (struct text){bytes, sizeof(good) - 1}, payload, sizeof(payload));
			/* in the id, and in bits of Base64 and blanks that say nothing, it may hold: then it says the same */
			if (rc == 0)
				assert_string_equal(payload, "hello world");
			differ += rc != 0;
		}
	assert_true(differ > 8 * (sizeof(SIG) + sizeof(TYPE) + 10));
	for (size_t n = 0; n < sizeof(good) - 2; n++)
		assert_true(verify(first, (struct text){good, n}, payload, sizeof(payload)) != 0);
}

static void test_no_envelopes(void **state)
{
	(void)state;
	static const char *const none[] = {
	    "",
	    "[]",
	    "null",
	    "{}",
	    "{\"payload\":\"\",\"signatures\":[]}",
	    "{\"payloadType\":\"\",\"payload\":\"\",\"signatures\":[]}",
	    "{\"payloadType\":1,\"payload\":\"\",\"signatures\":[]}",
	    "{\"payloadType\":\"t\",\"signatures\":[]}",
	    "{\"payloadType\":\"t\",\"payload\":7,\"signatures\":[]}",
	    "{\"payloadType\":\"t\",\"payload\":\"\"}",
	    "{\"payloadType\":\"t\",\"payload\":\"\",\"signatures\":{}}",
	    "{\"payloadType\":\"t\",\"payload\":\"\",\"signatures\":[7]}",
	    "{\"payloadType\":\"t\",\"payload\":\"\",\"signatures\":[{}]}",
	    "{\"payloadType\":\"t\",\"payload\":\"\",\"signatures\":[NaN]}",
	    ENVELOPE("aGVsbG8gd29ybGQ=", "\"payload\":\"aGVsbG8h\",", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "\"payl\\u006fad\":\"aGVsbG8h\",", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "\"\xff\":0,", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("", SIG) ","),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("", SIG) "]"),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "\"payloadType\":\"t\",", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "\"signatures\":[],", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "", "{\"sig\":\"AAAA\",\"sig\":\"" SIG "\"}"),
	    ENVELOPE("aGVsbG8gd29ybGQ==", "", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ===", "", SIGNED("", SIG)),
	    ENVELOPE("aGVs=bG8gd29ybGQ", "", SIGNED("", SIG)),
	    ENVELOPE("aGVsb G8gd29ybGQ=", "", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=\\n", "", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ\\u0000", "", SIGNED("", SIG)),
	    ENVELOPE("a", "", SIGNED("", SIG)),
	    ENVELOPE("=", "", SIGNED("", SIG)),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("", "*")),
	    ENVELOPE("aGVsbG8gd29ybGQ=", "", SIGNED("", SIG)) ",",
	};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (says(first, none[i]) != ERR_INPUT)
			fail_msg("taken for an envelope: %s", none[i]);
	struct buf b = BUF_INIT(MIB);
	assert_int_equal(buf_printf(&b, NULL, "{\"payloadType\":\"t\",\"payload\":\"\",\"signatures\":[{\"sig\":\"\"}"),
			 0);
	for (int i = 0; i < SIGNATURES_MAX; i++)
		assert_int_equal(buf_printf(&b, NULL, ",{\"sig\":\"\"}"), 0);
	assert_int_equal(buf_printf(&b, NULL, "]}"), 0);
	assert_int_equal(says(first, b.ptr), ERR_INPUT);
	buf_done(&b);
}

/* Whatever is signed, comes back; and one byte more or less does not verify. */
static void test_round(void **state)
{
	(void)state;
	struct dsse_key *k = key_of(second);
	uint64_t seed = 88172645463325252u;
	for (int i = 0; i < 300; i++) {
		struct buf payload = BUF_INIT(MIB), b = BUF_INIT(4 * MIB), type = BUF_INIT(KIB), back = BUF_INIT(MIB);
		struct err err = {0};
		for (int n = i < 64 ? i : (int)(seed % 5000); n > 0; n--) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			assert_int_equal(buf_add_char(&payload, (char)seed, &err), 0);
		}
		assert_int_equal(dsse_sign(k, TEXT("application/x; \"a\\b\""), buf_text(&payload), &b, &err), 0);
		assert_int_equal(dsse_verify(k, buf_text(&b), &type, &back, &err), 0);
		assert_true(text_eq(buf_text(&payload), buf_text(&back)));
		assert_true(text_is(buf_text(&type), "application/x; \"a\\b\""));
		buf_done(&payload), buf_done(&b), buf_done(&type), buf_done(&back);
	}
	dsse_key_free(k);
}

static void test_keys(void **state)
{
	(void)state;
	static const struct {
		const char *pem, *said;
	} none[] = {
	    {"", "no key in PEM"},
	    {"hello\n", "no key in PEM"},
	    {PEM("PRIVATE KEY", "AAAA"), "no key in PEM"},
	    {PEM("CERTIFICATE", "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"), "no key in PEM"},
	    /* X25519, and a curve of NIST */
	    {PEM("PRIVATE KEY", "MC4CAQAwBQYDK2VuBCIEIFCQ6+ByP0fHsqK3bvNoxYaZ4nX6MrJkhxPAYfa/UQp7"), "no Ed25519 key"},
	    {PEM("PRIVATE KEY", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7bXZR/Jz2GrSdd43\n"
				"AitvNdAiBoTNckLDmL99LO6TAzihRANCAATg0MIWEQfZn1kzh4I148Xbfb7MIWTW\n"
				"ad9yaDM7yNOSVnLnOHLuT4rnJX41mGnZsEXeEykVE0nlDUOf/g/fFVHp"),
	     "no Ed25519 key"},
	    {PEM("ENCRYPTED PRIVATE KEY", "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhWZ0iV1O9wVQICCAAw\n"
					  "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEIU+GLcj48r6Fe6fX9xSP/IEQCyh\n"
					  "uKebXxopt1m+CnKqGtkw7FoXixSkuVnh1kPqtqhZXH1GTdzFU3CGqy+mBSvAIE/k\n"
					  "UOJ1jL/qf6gPx7y1Yx8="),
	     "encrypted"},
	};
	struct dsse_key *k;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct err err = {0};
		assert_int_equal(dsse_key_read(&k, text_of(none[i].pem), &err), ERR_INPUT);
		assert_null(k);
		if (!strstr(err.what, none[i].said))
			fail_msg("%s, but: %s", none[i].said, err.what);
	}
	for (size_t n = 0; n < sizeof(first) - 2; n++) { /* cut off: none, or the whole of it */
		struct err err = {0};
		if (dsse_key_read(&k, (struct text){first, n}, &err) == 0)
			assert_string_equal(dsse_key_id(k), FIRST_ID);
		dsse_key_free(k);
	}
}

static void test_files(void **state)
{
	(void)state;
	char path[] = "/tmp/pagetrail-test-XXXXXX";
	int fd = mkstemp(path);
	struct dsse_key *k;
	struct err err = {0};
	assert_true(fd >= 0);
	assert_int_equal(write(fd, first, sizeof(first) - 1), sizeof(first) - 1);
	assert_int_equal(dsse_key_load(&k, path, &err), 0);
	assert_string_equal(dsse_key_id(k), FIRST_ID);
	dsse_key_free(k);
	assert_int_equal(fchmod(fd, 0604), 0);
	assert_int_equal(dsse_key_load(&k, path, &err), ERR_INPUT);
	assert_null(k);
	assert_string_equal(err.where, path);
	assert_int_equal(fchmod(fd, 0600), 0);
	err = (struct err){0};
	for (size_t i = 0; i < SIGNING_KEY_MAX_BYTES / sizeof(first) + 10; i++)
		assert_int_equal(write(fd, first, sizeof(first) - 1), sizeof(first) - 1);
	assert_int_equal(dsse_key_load(&k, path, &err), ERR_INPUT);
	assert_string_equal(err.where, path);
	close(fd);
	unlink(path);
	err = (struct err){0};
	assert_int_equal(dsse_key_load(&k, path, &err), ERR_INPUT);
	assert_string_equal(err.where, path);
	dsse_key_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_signs),        cmocka_unit_test(test_verifies), cmocka_unit_test(test_tampered),
	    cmocka_unit_test(test_no_envelopes), cmocka_unit_test(test_round),    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
