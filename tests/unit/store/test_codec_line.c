/* SPDX-License-Identifier: Apache-2.0 */
/* test_codec_line.c - the line codec: every input comes back, what it saves, and a decoder that meets hostile bytes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/store/codec_line.h"
#include "../rounds.h"

static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? rng % below : rng;
}

/* Packs and unpacks in buffers of the exact size. Returns the packed length, 0 when lines were given up. */
static size_t trip(struct text raw)
{
	CLEANUP(codec_freep) struct codec *z = NULL;
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 30);
	struct err err = {0};
	assert_int_equal(codec_new(&z, NULL), 0);
	char *copy = malloc(raw.len + 1), *back = malloc(raw.len + 1);
	memcpy(copy, raw.ptr, raw.len);
	copy = realloc(copy, raw.len ? raw.len : 1);
	back = realloc(back, raw.len ? raw.len : 1);
	int r = line_pack(z, (struct text){copy, raw.len}, &out, &err);
	assert_true(r == 0 || r == 1);
	if (r == 1)
		assert_int_equal(out.len, 0);
	if (!r) {
		r = line_unpack(z, buf_text(&out), back, raw.len, &err);
		if (r)
			print_message("# %s\n", err.what);
		assert_int_equal(r, 0);
		assert_memory_equal(copy, back, raw.len);
	}
	free(copy);
	free(back);
	return out.len;
}

/* Many lines of one kind, so that packing pays, with one odd piece of text in the middle. */
static size_t trip_within(const char *odd, size_t len)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(1 << 20);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(buf_printf(&b, NULL, "id=%d value=", i), 0);
		assert_int_equal(buf_add(&b, odd, len, NULL), 0);
		assert_int_equal(buf_printf(&b, NULL, " the rest of the line\n"), 0);
	}
	size_t n = trip(buf_text(&b));
	assert_true(n > 0);
	/* and cut in the middle, without a newline at the end */
	trip((struct text){b.ptr, b.len - 17});
	trip((struct text){b.ptr + 7, b.len - 20});
	return n;
}

static void odd_values(void **state)
{
	(void)state;
	static const char *const odd[] = {
	    "0",
	    "00",
	    "000",
	    "007",
	    "0.0",
	    "0.5",
	    ".5",
	    "5.",
	    "00.50",
	    "-0",
	    "+7",
	    "1e5",
	    "1.2e-05",
	    "1.0000000000",
	    "9",
	    "99999999999999999",
	    "999999999999999999",
	    "9223372036854775807",
	    "9223372036854775808",
	    "18446744073709551615",
	    "18446744073709551616",
	    "19999999999999999999",
	    "99999999999999999999",
	    "123456789012345678901234567890",
	    "00000000000000001",
	    "000000000000000000000000",
	    "0.123456789012345",
	    "0.1234567890123456",
	    "123456789012345.12345",
	    "1.2.3",
	    "1.2.3.4:80",
	    "10.0.0.1",
	    "1..2",
	    "1.2.",
	    "v1",
	    "TP0",
	    "a100",
	    "x9y",
	    "0x1F",
	    "1.20ms",
	    "256MB",
	    "20msec",
	    "3.5GB/s",
	    "deadbeefdeadbeef",
	    "DEADBEEFDEADBEEF",
	    "DeadBeefDeadBeef",
	    "0123456789abcdef0",
	    "0123456789abcdef0123456789abcdef",
	    "1234567812345678",
	    "12345678123456781234567812345678",
	    "123e4567-e89b-12d3-a456-426614174000",
	    "123E4567-E89B-12D3-A456-426614174000",
	    "123e4567-e89b-12d3-a456-4266141740001",
	    "12345678-1234-1234-1234-123456789012",
	    "12345678-1234",
	    "2026-01-02T03:04:05",
	    "2026-01-02 03:04:05.678",
	    "2026-01-02T03:04:05.123456789Z",
	    "2026-01-02T03:04:05.1234567891",
	    "2026-02-30 03:04:05",
	    "2024-02-29 23:59:59",
	    "2026-13-01 00:00:00",
	    "1969-12-31 23:59:59",
	    "1970-01-01 00:00:00",
	    "2199-12-31 23:59:59.999999999",
	    "2200-01-01 00:00:00",
	    "2026-01-02 24:00:00",
	    "2026-01-02T03:04:60",
	    "2026-01-02 03:04:05.",
	    "2026-01-02_03:04:05",
	    "[]",
	    "[1]",
	    "[1,2,3]",
	    "[[1,2],[3,4]]",
	    "[[1, 2], [3, 4]]",
	    "[01]",
	    "[1,2",
	    "[[1,2],",
	    "[1,,2]",
	    "[[[[[[",
	    "[1]]",
	    "[ 1 ]",
	    "[1234567890123456789]",
	    "[0,0,0]",
	    "[]]",
	    "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWx",
	    "tenant-07",
	    "\xc3\xa9t\xc3\xa9",
	    "\xff\xfe",
	    "",
	    "\r",
	    "\t",
	    "a\nb",
	    "\n\n\n",
	    "\x01",
	    "\x06",
	    "\x07",
	    "\x7f",
	};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		trip_within(odd[i], strlen(odd[i]));
	trip_within("\0", 1);
	trip_within("a\0b\0\n\0", 6);
}

static void small_inputs(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\n", "\n\n", "a", "a\n", "1", "[", "2026-01-02T03:04:0", "12345678-"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(trip(text_of(texts[i])), 0);
	char same[300];
	memset(same, '\n', sizeof(same));
	trip((struct text){same, sizeof(same)});
	memset(same, '[', sizeof(same));
	trip((struct text){same, sizeof(same)});
	memset(same, '1', sizeof(same));
	trip((struct text){same, sizeof(same)});
	memset(same, 0, sizeof(same));
	trip((struct text){same, sizeof(same)});
}

/* More templates, columns, tokens and longer lines than there is room for. */
static void beyond_the_limits(void **state)
{
	(void)state;
	CLEANUP(buf_done) struct buf b = BUF_INIT(16 << 20);
	for (int i = 0; i < 3 * LINE_TEMPLATES_MAX; i++)
		assert_int_equal(
		    buf_printf(&b, NULL, "name%c%c%c=%d\n", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676, i), 0);
	trip(buf_text(&b));
	buf_clear(&b);
	for (int i = 0; i < 40000; i++)
		assert_int_equal(buf_printf(&b, NULL, "%d%s", i % 3, i % 1000 == 999 ? "\n" : " "), 0);
	trip(buf_text(&b));
	buf_clear(&b);
	for (int i = 0; i < 60000; i++)
		assert_int_equal(buf_printf(&b, NULL, "a longer line, "), 0);
	for (int i = 0; i < 30; i++)
		assert_int_equal(buf_printf(&b, NULL, "\nline %d", i), 0);
	trip(buf_text(&b));
	buf_clear(&b);
	for (int i = 0; i < 30; i++) {
		assert_int_equal(buf_printf(&b, NULL, "list [%d", i), 0);
		for (int k = 0; k < 150 * i; k++)
			assert_int_equal(buf_printf(&b, NULL, ",%d", k), 0);
		assert_int_equal(buf_printf(&b, NULL, "]\n"), 0);
	}
	trip(buf_text(&b));
	buf_clear(&b);
	while (b.len <= LINE_CHUNK_MAX)
		assert_int_equal(buf_printf(&b, NULL, "too long a chunk\n"), 0);
	assert_int_equal(trip(buf_text(&b)), 0);
}

static void random_text(struct buf *b)
{
	static const char *const pieces[] = {"a",          "id=",
					     "\"rid\":\"", "\"pages\":",
					     "[",          "]",
					     "[[",         "]]",
					     ",",          " ",
					     ":",          "-",
					     ".",          "\n",
					     "\n",         "\r\n",
					     "TP",         "v",
					     "e",          "0x",
					     "ms",         "2026-08-27T00:00:26",
					     "T",          "Z",
					     "\"",         "\x01",
					     "\x80",       "10.0.",
					     "INFO ",      "/",
					     "#",          "2026-08-27 01:02:03.",
					     "{",          "}",
					     "deadbeef",   "F"};
	static const char hex[] = "0123456789abcdefABCDEF";
	size_t want = 200 + rnd(6000);
	while (b->len < want) {
		int r = 0;
		switch (rnd(8)) {
		case 0: r = buf_printf(b, NULL, "%llu", (unsigned long long)rnd(0) >> rnd(64)); break;
		case 1: r = buf_printf(b, NULL, "%0*llu", (int)rnd(24), (unsigned long long)rnd(1000)); break;
		case 2: r = buf_printf(b, NULL, "%.*f", (int)rnd(18), (double)rnd(100000) / 7); break;
		case 3:
			for (size_t n = rnd(2) ? 32 : rnd(40); n && !r; n--)
				r = buf_add_char(b, hex[rnd(rnd(2) ? 16 : 22)], NULL);
			break;
		case 4: /* something that was there before */
			if (b->len > 40) {
				char old[40];
				size_t n = 1 + rnd(39);
				memcpy(old, b->ptr + rnd(b->len - n), n);
				r = buf_add(b, old, n, NULL);
			}
			break;
		default: r = buf_printf(b, NULL, "%s", pieces[rnd(ARRAY_SIZE(pieces))]);
		}
		assert_int_equal(r, 0);
	}
}

static void random_lines(void **state)
{
	(void)state;
	unsigned packed = 0, turns = rounds(1500, 300);
	for (unsigned turn = 0; turn < turns; turn++) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(1 << 20);
		random_text(&b);
		packed += trip(buf_text(&b)) > 0;
	}
	print_message("# %u of %u random texts fitted\n", packed, turns);
	assert_true(packed > turns / 3 * 2);
}

/* A page log of our own: what is random in it, and little more, is what is left. */
static size_t page_log(struct buf *b, unsigned requests)
{
	size_t random_bytes = 0;
	double at = 1788000000;
	unsigned long long seq = 0;
	for (unsigned i = 0; i < requests; i++) {
		unsigned long long hi = rnd(0), lo = rnd(0), room = rnd(0) >> 1, page = rnd(60000), n = 1 + rnd(100);
		static const char *const ops[] = {"alloc", "recv", "write", "read", "free"};
		random_bytes += 24;
		for (unsigned k = 0; k < ARRAY_SIZE(ops); k++, at += (double)rnd(1000) / 1000)
			assert_int_equal(
			    buf_printf(b, NULL,
				       "{\"ts\":%.3f,\"seq\":%llu,\"worker\":\"decode-0\",\"op\":\"%s\","
				       "\"rid\":\"%016llx%016llx\",\"room\":%llu,\"pages\":[[%llu,%llu]]}\n",
				       at, seq++, ops[k], hi, lo, room, page, n),
			    0);
	}
	return random_bytes;
}

static void random_ids_are_kept_once(void **state)
{
	(void)state;
	CLEANUP(buf_done) struct buf b = BUF_INIT(8 << 20);
	size_t random_bytes = page_log(&b, 1000), n = trip(buf_text(&b));
	print_message("# %zu bytes of page log in %zu, of which %zu random\n", b.len, n, random_bytes);
	assert_true(n > 0 && n < random_bytes * 9 / 5);
}

static void hostile_bytes(void **state)
{
	(void)state;
	CLEANUP(codec_freep) struct codec *z = NULL;
	assert_int_equal(codec_new(&z, NULL), 0);
	unsigned refused = 0, turns = 4000;
	struct buf packed = BUF_INIT(1 << 20), raw = BUF_INIT(1 << 20);
	for (unsigned turn = 0; turn < turns; turn++) {
		if (turn % 50 == 0) {
			buf_clear(&raw);
			buf_clear(&packed);
			if (turn % 100)
				random_text(&raw);
			else
				page_log(&raw, 2 + (unsigned)rnd(20));
			int r = line_pack(z, buf_text(&raw), &packed, NULL);
			assert_true(r == 0 || r == 1);
			if (r)
				continue;
		}
		if (!packed.len)
			continue;
		size_t len = packed.len, want = raw.len;
		unsigned char *copy = malloc(len);
		memcpy(copy, packed.ptr, len);
		switch (turn % 4) {
		case 0: len = (size_t)rnd(len); break;
		case 1: copy[rnd(MIN(len, 8))] = (unsigned char)rnd(256); break;
		case 2: want = (size_t)rnd(2 * want); break;
		default:
			for (unsigned k = 0; k <= rnd(4); k++)
				copy[rnd(len)] ^= (unsigned char)(1u << rnd(8));
		}
		copy = realloc(copy, len ? len : 1);
		char *dest = malloc(want ? want : 1);
		int r = line_unpack(z, (struct text){(const char *)copy, len}, dest, want, NULL);
		assert_true(r == 0 || r == ERR_DAMAGED);
		refused += r != 0;
		free(dest);
		free(copy);
	}
	assert_true(refused > turns / 4);
	buf_done(&packed);
	buf_done(&raw);
}

/* The same with frames that are not compressed, so that the damage gets behind zstd: streams, columns, templates. */
static void hostile_frames(void **state)
{
	(void)state;
	CLEANUP(codec_freep) struct codec *z = NULL;
	assert_int_equal(codec_new(&z, NULL), 0);
	unsigned refused = 0, turns = 6000;
	for (unsigned turn = 0; turn < turns; turn++) {
		CLEANUP(buf_done) struct buf raw = BUF_INIT(1 << 20), packed = raw, open = raw;
		page_log(&raw, 2 + (unsigned)rnd(4));
		random_text(&raw);
		if (line_pack(z, buf_text(&raw), &packed, NULL))
			continue;
		uint64_t n[4] = {0};
		size_t at = 0;
		for (unsigned i = 0; i < 4; i++)
			for (unsigned shift = 0, more = 1; more; shift += 7, at++) {
				n[i] |= (uint64_t)(packed.ptr[at] & 0x7f) << shift;
				more = packed.ptr[at] & 0x80;
			}
		assert_int_equal(buf_reserve(&open, n[0] + n[2] + 40, NULL), 0);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(buf_varint(&open, n[i & 2], NULL), 0);
		size_t head = open.len;
		for (unsigned i = 0; i < 4; at += n[i + 1], i += 2) {
			if (n[i] == n[i + 1])
				memcpy(open.ptr + open.len, packed.ptr + at, n[i]);
			else
				assert_int_equal(codec_unpack(z, (struct text){packed.ptr + at, n[i + 1]},
							      open.ptr + open.len, n[i], NULL),
						 0);
			open.len += n[i];
		}
		char *copy = malloc(open.len), *dest = malloc(raw.len);
		memcpy(copy, open.ptr, open.len);
		struct text t = {copy, open.len};
		assert_int_equal(line_unpack(z, t, dest, raw.len, NULL), 0);
		assert_memory_equal(dest, raw.ptr, raw.len);
		for (unsigned k = 0; k <= rnd(3); k++) {
			size_t where = head + rnd(rnd(2) ? MIN(n[0], 200) : n[0]);
			copy[where] = (char)(rnd(2) ? rnd(256) : (uint64_t)copy[where] ^ 1u << rnd(8));
		}
		int r = line_unpack(z, t, dest, raw.len, NULL);
		assert_true(r == 0 || r == ERR_DAMAGED);
		refused += r != 0;
		free(copy);
		free(dest);
	}
	assert_true(refused > turns / 4);
}

static void calendar(void **state)
{
	(void)state;
	for (int64_t days = 0; days < 365 * 250; days++) {
		int year;
		unsigned month, day;
		line_date(days, &year, &month, &day);
		assert_int_equal(line_days(year, month, day), days);
	}
	assert_int_equal(line_days(1970, 1, 1), 0);
	assert_int_equal(line_days(2000, 3, 1), 11017);
}

int main(void)
{
	const char *seed = getenv("SEED");
	rng = seed ? strtoull(seed, NULL, 10) : 88172645463325252u;
	print_message("# SEED=%llu\n", (unsigned long long)rng);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(odd_values),    cmocka_unit_test(small_inputs),
	    cmocka_unit_test(random_lines),  cmocka_unit_test(beyond_the_limits),
	    cmocka_unit_test(hostile_bytes), cmocka_unit_test(random_ids_are_kept_once),
	    cmocka_unit_test(calendar),      cmocka_unit_test(hostile_frames),
	};
	return cmocka_run_group_tests_name("codec_line", tests, NULL, NULL);
}
