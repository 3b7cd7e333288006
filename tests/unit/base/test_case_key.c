/* SPDX-License-Identifier: Apache-2.0 */
/* test_case_key.c - vectors of RFC 4231 and 5869; files that are no key, or not secret; pseudonyms */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pagetrail/case_key.h"

static void hex_is(const unsigned char *bytes, size_t n, const char *hex)
{
	for (size_t i = 0; i < n; i++) {
		char two[3];
		snprintf(two, sizeof(two), "%02x", bytes[i]);
		assert_memory_equal(two, hex + 2 * i, 2);
	}
}

static void test_vectors(void **state)
{
	(void)state;
	unsigned char out[SHA256_BYTES];
	/* RFC 4231, test case 2 */
	assert_int_equal(hmac_sha256(TEXT("Jefe"), TEXT("what do ya want for nothing?"), out, NULL), 0);
	hex_is(out, 32, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	/* RFC 5869, A.1 (the first 32 bytes) and A.3 */
	static const char ikm[22] =
	    "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b";
	assert_int_equal(hkdf_sha256((struct text){ikm, 22}, (struct text){"\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc", 13},
				     (struct text){"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9", 10}, out, 32, NULL),
			 0);
	hex_is(out, 32, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
	assert_int_equal(hkdf_sha256((struct text){ikm, 22}, TEXT(""), TEXT(""), out, 32, NULL), 0);
	hex_is(out, 32, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

static void test_files(void **state)
{
	(void)state;
	char dir[] = "/tmp/pagetrail-test-XXXXXX", path[64];
	struct case_key a, b;
	struct err err = {0};
	struct stat st;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/key", dir);
	assert_int_equal(case_key_read(&a, path, &err), ERR_INPUT);
	assert_int_equal(case_key_new(&a, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(case_key_new(&b, path, &err), ERR_IO); /* never over another */
	assert_int_equal(case_key_read(&b, path, &err), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(strlen(a.id), 16);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(case_key_read(&b, path, &err), ERR_INPUT);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 80), 0);
	assert_int_equal(case_key_read(&b, path, &err), ERR_INPUT);
	unlink(path);
	rmdir(dir);
}

static void test_pseudonyms(void **state)
{
	(void)state;
	struct case_key key = {.bytes = "0123456789abcdef0123456789abcde"};
	struct audience_key one, two;
	char a[PSEUDONYM_SIZE], b[PSEUDONYM_SIZE];
	assert_int_equal(audience_key_derive(&one, &key, TEXT("one"), NULL), 0);
	assert_int_equal(audience_key_derive(&two, &key, TEXT("two"), NULL), 0);
	assert_int_equal(pseudonym_of(&one, TEXT("tenant-a"), a, NULL), 0);
	assert_int_equal(strlen(a), PSEUDONYM_SIZE - 1);
	assert_memory_equal(a, "T-", 2);
	assert_int_equal(pseudonym_of(&one, TEXT("tenant-a"), b, NULL), 0);
	assert_string_equal(a, b);
	assert_int_equal(pseudonym_of(&one, TEXT("tenant-b"), b, NULL), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(pseudonym_of(&two, TEXT("tenant-a"), b, NULL), 0);
	assert_string_not_equal(a, b);
	/* by hand: HMAC of "tenant", NUL, id; the first 80 bits */
	unsigned char mac[SHA256_BYTES];
	assert_int_equal(
	    hmac_sha256((struct text){(const char *)one.bytes, 32}, (struct text){"tenant\0tenant-a", 15}, mac, NULL),
	    0);
	assert_int_equal(a[2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[mac[0] >> 3]);
	assert_int_equal(a[20], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[mac[9] & 31]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors), cmocka_unit_test(test_files),
					   cmocka_unit_test(test_pseudonyms)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
