/* SPDX-License-Identifier: Apache-2.0 */
/* test_evidence.c - evidence chunks: the codec that is chosen, older codecs, damage */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/store/codec.h"
#include "../../../src/store/store.h"

static struct text sha_of(const struct evidence_chunk *e)
{
	return (struct text){(const char *)e->sha256, SHA256_BYTES};
}

/* Encodes, decodes, compares; gives the codec. */
static int trip(struct text raw, size_t *ret_len)
{
	struct evidence_chunk e;
	struct err err = {0};
	CLEANUP(buf_done) struct buf back = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	assert_int_equal(evidence_encode(raw, 0, &e, &err), 0);
	assert_int_equal(evidence_decode(e.codec, e.byte_len, buf_text(&e.data), sha_of(&e), &back, &err), 0);
	assert_true(text_eq(raw, buf_text(&back)));
	assert_true(e.data.len <= raw.len);
	*ret_len = e.data.len;
	int codec = e.codec;
	evidence_done(&e);
	return codec;
}

static void the_shortest_is_chosen(void **state)
{
	(void)state;
	size_t n;
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 << 20);
	assert_int_equal(trip(TEXT(""), &n), 0);
	assert_int_equal(trip(TEXT("short"), &n), 0);
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < 4000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		assert_int_equal(buf_add(&b, &x, sizeof(x), NULL), 0);
	}
	assert_int_equal(trip(buf_text(&b), &n), 0); /* noise */
	buf_clear(&b);
	for (int i = 0; i < 4000; i++)
		assert_int_equal(buf_printf(&b, NULL, "%s", "one long line without any end, again and again; "), 0);
	assert_int_not_equal(trip(buf_text(&b), &n), 0);
	buf_clear(&b);
	for (int i = 0; i < 4000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		assert_int_equal(buf_printf(&b, NULL, "2026-01-02 03:%02d:%02d.%03d INFO req=%016llx took %d.%02d ms\n",
					    i / 60 % 60, i % 60, i % 1000, (unsigned long long)x, i % 90, i % 100),
				 0);
	}
	assert_int_equal(trip(buf_text(&b), &n), 2);
	assert_true(n < b.len / 5);
}

/* What was written before the line codec existed. */
static void older_codecs_stay_readable(void **state)
{
	(void)state;
	struct text raw = TEXT("{\"ts\":1788000000.5,\"op\":\"alloc\",\"rid\":\"a1\",\"pages\":[[0,12]]}\n"), sha;
	unsigned char sum[SHA256_BYTES];
	CLEANUP(codec_freep) struct codec *z = NULL;
	CLEANUP(buf_done) struct buf packed = BUF_INIT(1 << 20), back = packed;
	assert_int_equal(sha256_once(raw.ptr, raw.len, sum, NULL), 0);
	sha = (struct text){(const char *)sum, sizeof(sum)};
	assert_int_equal(codec_new(&z, NULL), 0);
	assert_int_equal(codec_pack(z, raw, 1, &packed, NULL), 0);
	assert_int_equal(evidence_decode(0, (int64_t)raw.len, raw, sha, &back, NULL), 0);
	assert_true(text_eq(raw, buf_text(&back)));
	assert_int_equal(evidence_decode(1, (int64_t)raw.len, buf_text(&packed), sha, &back, NULL), 0);
	assert_true(text_eq(raw, buf_text(&back)));
	/* and what is none of them */
	int64_t len = (int64_t)raw.len;
	assert_int_equal(evidence_decode(0, len - 1, raw, sha, &back, NULL), ERR_DAMAGED);
	assert_int_equal(evidence_decode(1, len + 1, buf_text(&packed), sha, &back, NULL), ERR_DAMAGED);
	assert_int_equal(evidence_decode(2, len, buf_text(&packed), sha, &back, NULL), ERR_DAMAGED);
	assert_int_equal(evidence_decode(3, len, raw, sha, &back, NULL), ERR_DAMAGED);
	assert_int_equal(evidence_decode(0, -1, raw, sha, &back, NULL), ERR_DAMAGED);
	assert_int_equal(evidence_decode(0, INT64_MAX, raw, sha, &back, NULL), ERR_DAMAGED);
	sum[0] ^= 1;
	assert_int_equal(evidence_decode(1, len, buf_text(&packed), sha, &back, NULL), ERR_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_shortest_is_chosen),
	    cmocka_unit_test(older_codecs_stay_readable),
	};
	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
