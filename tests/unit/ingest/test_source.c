/* SPDX-License-Identifier: Apache-2.0 */
/* test_source.c - containers of every kind, cut ones, nested ones, and what must not be opened */
#include <sys/stat.h>

#include "../../../src/ingest/source.h"
#include "../../../src/ingest/walk.h"
#include "toy.h"

enum { LINES = 5000 };

static char *text;
static size_t text_len;

struct seen {
	char names[16][256], containers[16][64], reasons[16][256];
	uint64_t bytes[16];
	bool same[16]; /* content is the text */
	unsigned n;
	unsigned char sha256[SHA256_BYTES];
	uint64_t stored;
	bool complete;
};

static void read_all(const char *name, struct seen *s)
{
	struct source *src = NULL;
	struct err err = {0};
	const struct member *m;
	char *buf = malloc(text_len * 4 + 1);
	int rc = source_open(&src, in_folder(name), &err);
	*s = (struct seen){0};
	assert_int_equal(rc, 0);
	assert_non_null(buf);
	while ((rc = source_next(src, &m, &err)) == 1) {
		size_t n = 0, have = 0;
		assert_true(s->n < 16);
		snprintf(s->names[s->n], 256, "%s", m->name + strlen(folder) + 1);
		snprintf(s->containers[s->n], 64, "%s", m->container);
		if (!m->empty_handed) {
			do {
				assert_int_equal(source_read(src, buf + have, MIN(700, text_len * 4 - have), &n, &err),
						 0);
				have += n;
			} while (n);
		}
		snprintf(s->reasons[s->n], 256, "%s", source_reason(src));
		s->bytes[s->n] = have;
		s->same[s->n] = have == text_len && !memcmp(buf, text, have);
		s->n++;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(source_end(src, s->sha256, &s->stored, &s->complete, &err), 0);
	source_close(src);
	free(buf);
}

static void check_digest(const char *name, const struct seen *s)
{
	struct stat st;
	unsigned char want[SHA256_BYTES];
	char *bytes;
	FILE *f = fopen(in_folder(name), "rb");
	assert_int_equal(stat(in_folder(name), &st), 0);
	assert_int_equal(s->stored, st.st_size);
	bytes = malloc((size_t)st.st_size + 1);
	assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	assert_int_equal(sha256_once(bytes, (size_t)st.st_size, want, NULL), 0);
	assert_memory_equal(want, s->sha256, SHA256_BYTES);
	free(bytes);
}

static void one(const char *command, const char *name, const char *container)
{
	struct seen s;
	if (!shell("%s 2>/dev/null", command)) {
		print_message("skipped: %s\n", command);
		return;
	}
	read_all(name, &s);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.names[0], name);
	assert_string_equal(s.containers[0], container);
	assert_string_equal(s.reasons[0], "");
	assert_true(s.same[0]);
	assert_true(s.complete);
	check_digest(name, &s);
}

static void test_plain_and_packed(void **state)
{
	(void)state;
	put("a.log", text, text_len);
	one("true", "a.log", "none");
	one("gzip -k a.log", "a.log.gz", "gzip");
	one("gzip -kc a.log.gz >b.gz", "b.gz", "gzip+gzip");
	one("xz -k a.log", "a.log.xz", "xz");
	one("bzip2 -k a.log", "a.log.bz2", "bzip2");
	one("zstd -q a.log", "a.log.zst", "zstd");
	one("lz4 -q a.log a.log.lz4", "a.log.lz4", "lz4");
	one("gzip -kc a.log | zstd -q >c.zst", "c.zst", "gzip+zstd");
	one("head -c 20000 a.log | gzip >d.gz && tail -c +20001 a.log | gzip >>d.gz", "d.gz", "gzip");
	one("head -c 20000 a.log | gzip >e.gz && tail -c +20001 a.log | gzip -n >>e.gz && head -c 512 /dev/zero >>e.gz",
	    "e.gz", "gzip");
}

static void test_cut_gzip(void **state)
{
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	assert_true(shell("gzip -kf a.log && head -c $(($(stat -c %%s a.log.gz) / 2)) a.log.gz >cut.gz"));
	read_all("cut.gz", &s);
	assert_int_equal(s.n, 1);
	assert_true(s.bytes[0] > text_len / 4 && s.bytes[0] < text_len);
	assert_non_null(strstr(s.reasons[0], "cut off"));
	assert_true(s.complete); /* of the stored file every byte was read */
	check_digest("cut.gz", &s);
	/* in the check sum, in the header, and after the first of two members */
	assert_true(
	    shell("head -c -5 a.log.gz >cut2.gz && head -c 5 a.log.gz >cut3.gz && cat a.log.gz cut3.gz >cut4.gz"));
	read_all("cut2.gz", &s);
	assert_true(s.same[0]);
	assert_non_null(strstr(s.reasons[0], "check sum"));
	read_all("cut3.gz", &s); /* nothing comes out of it: it is kept as it is */
	assert_int_equal(s.n, 1);
	assert_int_equal(s.bytes[0], 5);
	assert_non_null(strstr(s.reasons[0], "header"));
	read_all("cut4.gz", &s);
	assert_true(s.same[0]);
	assert_non_null(strstr(s.reasons[0], "header"));
	assert_true(shell("(cat a.log.gz; echo more) >tail.gz"));
	read_all("tail.gz", &s);
	assert_true(s.same[0]);
	assert_non_null(strstr(s.reasons[0], "other bytes follow"));
	assert_int_equal(s.n, 2);
	assert_string_equal(s.names[1], "tail.gz!(packed)");
	assert_int_equal(s.bytes[1], s.stored);
}

/* What Windows shells write: the log as if it had been UTF-8; nothing is lost, not even half a pair. */
static void test_utf16(void **state)
{
	static const char want[] =
	    "[2026-09-14] \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\xa0\xbd|\xed\xb8\x80\r\n\xed\xa0\xbd";
	static const uint16_t units[] = {'[',    '2', '0',    '2', '6',    '-',  '0',    '9',   '-',
					 '1',    '4', ']',    ' ', 0xe9,   ' ',  0x20ac, ' ',   0xd83d,
					 0xde00, ' ', 0xd83d, '|', 0xde00, '\r', '\n',   0xd83d};
	char little[64 + 2] = "\xff\xfe", big[64 + 2] = "\xfe\xff";
	const size_t n = 2 + 2 * ARRAY_SIZE(units);
	char *kept = text;
	size_t kept_len = text_len;
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	one("iconv -f UTF-8 -t UTF-16 a.log >b.log", "b.log", "utf-16");
	one("{ printf '\\376\\377'; iconv -f UTF-8 -t UTF-16BE a.log; } >c.log", "c.log", "utf-16");
	one("gzip -kf b.log", "b.log.gz", "utf-16+gzip");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		big[2 + 2 * i] = little[3 + 2 * i] = (char)(units[i] >> 8);
		big[3 + 2 * i] = little[2 + 2 * i] = (char)units[i];
	}
	text = (char *)want; /* what has to come out */
	text_len = sizeof(want) - 1;
	put("little.log", little, n);
	one("true", "little.log", "utf-16");
	put("big.log", big, n);
	one("true", "big.log", "utf-16");
	text = kept;
	text_len = kept_len;
	put("cut.log", little, n - 2 - 1); /* in a character: what is before it stays */
	read_all("cut.log", &s);
	assert_int_equal(s.bytes[0], sizeof(want) - 1 - 3 - 1);
	assert_non_null(strstr(s.reasons[0], "cut off"));
	/* begins like it, and is no text */
	put("odd.log", "\xff\xfe\0\0T\0\0\0e\0\0\0", 12);
	read_all("odd.log", &s);
	assert_string_equal(s.containers[0], "none");
	assert_int_equal(s.bytes[0], 12);
	put("mark.log", "\xff\xfe", 2);
	read_all("mark.log", &s);
	assert_string_equal(s.containers[0], "none");
}

/* Changes one byte; from the end when at is negative. */
static void flip(const char *from, const char *to, long at)
{
	assert_true(shell("cp %s %s", from, to));
	FILE *f = fopen(in_folder(to), "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	int c = fgetc(f);
	assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
	assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	fclose(f);
}

static void test_gzip_sums(void **state)
{
	static const struct {
		const char *packed;
		long at;
		const char *reason;
	} cases[] = {{"stored.gz", 9000, "checksum differs"},
		     {"a.log.gz", -8, "checksum differs"},
		     {"a.log.gz", -1, "size differs"}};
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	assert_true(shell("gzip -kf a.log && python3 -c \"import gzip; open('stored.gz', 'wb').write("
			  "gzip.compress(open('a.log', 'rb').read(), 0))\""));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		flip(cases[i].packed, "flipped.gz", cases[i].at);
		read_all("flipped.gz", &s);
		assert_int_equal(s.n, 1);
		assert_non_null(strstr(s.reasons[0], cases[i].reason));
		assert_int_equal(s.bytes[0], text_len); /* what was read is kept */
		check_digest("flipped.gz", &s);
	}
	/* of a tar inside: its files come out, and it is kept as it is */
	assert_true(shell("tar cf t.tar a.log && gzip -f t.tar"));
	flip("t.tar.gz", "f.tar.gz", -8);
	read_all("f.tar.gz", &s);
	assert_int_equal(s.n, 2);
	assert_true(s.same[0]);
	assert_string_equal(s.names[1], "f.tar.gz");
	assert_non_null(strstr(s.reasons[1], "checksum differs"));
	assert_int_equal(s.bytes[1], s.stored);
	check_digest("f.tar.gz", &s);
}

static void whole_at(const struct seen *s, unsigned i, const char *name, const char *reason)
{
	assert_int_equal(s->n, i + 1);
	assert_string_equal(s->names[i], name);
	assert_string_equal(s->containers[i], "none");
	assert_int_equal(s->bytes[i], s->stored);
	if (!strstr(s->reasons[i], reason))
		fail_msg("%s: %s", name, s->reasons[i]);
	check_digest(name, s);
}

static void test_nothing_in_it(void **state)
{
	static const char nuls[20480];
	struct seen s;
	(void)state;
	put("nul.log", nuls, sizeof(nuls));
	read_all("nul.log", &s);
	whole_at(&s, 0, "nul.log", "");
	put("short", nuls, 100);
	read_all("short", &s);
	whole_at(&s, 0, "short", "");
	assert_true(shell("gzip -kf nul.log"));
	read_all("nul.log.gz", &s);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.containers[0], "gzip");
	assert_int_equal(s.bytes[0], sizeof(nuls));
	put("e.zip", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
	read_all("e.zip", &s);
	whole_at(&s, 0, "e.zip", "");
	assert_true(shell("mkdir -p only/folders && tar cf only.tar only"));
	read_all("only.tar", &s);
	whole_at(&s, 0, "only.tar", "");
	put("a.log", text, text_len);
	assert_true(shell("tar cf mix.tar e.zip only.tar nul.log.gz a.log"));
	read_all("mix.tar", &s);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.bytes[0], 22);
	assert_non_null(strstr(s.reasons[1], "holds no file"));
	assert_int_equal(s.bytes[2], sizeof(nuls));
	assert_true(s.same[3]);
}

static void test_damaged_archives(void **state)
{
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	put("b.log", text, text_len);
	put("c.log", text, text_len);
	assert_true(shell("tar cf d.tar a.log b.log c.log && tar cf x.tar c.log && cat d.tar x.tar >two.tar"));
	long second = 512 + (long)((text_len + 511) / 512) * 512;
	flip("d.tar", "first.tar", 20);
	read_all("first.tar", &s);
	assert_true(s.same[0] && s.same[1]);
	whole_at(&s, 2, "first.tar", "damaged");
	flip("d.tar", "middle.tar", second + 20);
	read_all("middle.tar", &s);
	assert_true(s.same[0] && s.same[1]);
	assert_string_equal(s.reasons[1], "");
	whole_at(&s, 2, "middle.tar", "damaged");
	read_all("two.tar", &s);
	assert_int_equal(s.n, 4);
	assert_true(s.same[3]);
	assert_true(shell("(cat d.tar; printf '%%01500d' 7) >junk.tar"));
	read_all("junk.tar", &s);
	whole_at(&s, 3, "junk.tar", "");
	assert_true(shell("head -c 100000 d.tar >cut.tar"));
	read_all("cut.tar", &s);
	assert_non_null(strstr(s.reasons[0], "cut off"));
	whole_at(&s, 1, "cut.tar", "cut off");
	if (!shell("python3 -c \"import zipfile; z = zipfile.ZipFile('d.zip', 'w', 0); z.write('a.log'); "
		   "z.write('b.log'); z.write('c.log')\""))
		skip();
	read_all("d.zip", &s);
	assert_int_equal(s.n, 3);
	flip("d.zip", "sum.zip", 5000);
	read_all("sum.zip", &s);
	assert_non_null(strstr(s.reasons[0], "damaged"));
	assert_true(s.same[1] && s.same[2]);
	whole_at(&s, 3, "sum.zip", "damaged");
	flip("d.zip", "header.zip", (long)(30 + 5 + text_len)); /* the second header: passed over in silence */
	read_all("header.zip", &s);
	whole_at(&s, 2, "header.zip", "names other files");
	assert_true(shell("head -c -30 d.zip >cut.zip"));
	read_all("cut.zip", &s);
	whole_at(&s, 3, "cut.zip", "cut off");
	for (unsigned i = 0; i < s.n; i++)
		assert_null(strstr(s.reasons[i], "archive_read"));
}

/* Packed files that are damaged before anything comes out of them, and behind. */
static void test_damaged_packed(void **state)
{
	static const char *const commands[][2] = {{"zstd -q -f a.log", "zst"},
						  {"xz -kf a.log", "xz"},
						  {"bzip2 -kf a.log", "bz2"},
						  {"lz4 -q -f a.log a.log.lz4", "lz4"}};
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *ext = commands[i][1];
		char name[32];
		if (!shell("%s 2>/dev/null", commands[i][0]))
			continue;
		assert_true(shell("head -c 60 a.log.%s >cut.%s", ext, ext));
		snprintf(name, sizeof(name), "cut.%s", ext);
		read_all(name, &s);
		whole_at(&s, 0, name, "cut off");
		assert_true(shell("(cat a.log.%s; printf '%%0100d' 7) >tail.%s", ext, ext));
		snprintf(name, sizeof(name), "tail.%s", ext);
		read_all(name, &s);
		assert_true(s.n > 0 && s.reasons[0][0]);
		assert_int_equal(s.bytes[s.n - 1], s.stored); /* some unpackers lose the last block: it is kept */
	}
}

static void test_changed(void **state)
{
	struct err err = {0};
	(void)state;
	for (int way = 0; way < 4; way++) {
		struct source *src = NULL;
		const struct member *m;
		unsigned char sha[SHA256_BYTES];
		char *buf = malloc(text_len * 200);
		size_t n = 0;
		uint64_t bytes;
		bool complete, lost;
		put("live.log", text, text_len);
		for (int i = 0; i < 5; i++)
			assert_true(shell("cat live.log live.log >x && mv x live.log"));
		assert_int_equal(source_open(&src, in_folder("live.log"), &err), 0);
		assert_int_equal(source_next(src, &m, &err), 1);
		assert_int_equal(source_read(src, buf, 1000, &n, &err), 0);
		assert_true(way == 0 || shell(way == 1   ? "truncate -s 300000 live.log"
					      : way == 2 ? "echo more >>live.log"
							 : "printf x | dd of=live.log conv=notrunc status=none"));
		assert_int_equal(source_read(src, buf, text_len * 200, &n, &err), 0);
		assert_int_equal(source_end(src, sha, &bytes, &complete, &err), 0);
		const char *why = source_changed(src, &lost);
		assert_int_equal(lost, way == 1 || way == 3);
		assert_true(way == 0 ? why == NULL
				     : strstr(why, way == 1   ? "shorter"
						   : way == 2 ? "growing"
							      : "was changed") != NULL);
		source_close(src);
		free(buf);
	}
}

static void test_archives(void **state)
{
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	put("empty.log", "", 0);
	assert_true(shell("gzip -kf a.log && mkdir -p d && tar cf t.tar d a.log empty.log a.log.gz && zstd -qf t.tar"));
	read_all("t.tar.zst", &s);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.names[0], "t.tar.zst!a.log");
	assert_string_equal(s.containers[0], "tar+zstd");
	assert_true(s.same[0]);
	assert_string_equal(s.names[1], "t.tar.zst!empty.log");
	assert_int_equal(s.bytes[1], 0);
	assert_string_equal(s.reasons[1], "");
	assert_string_equal(s.containers[2], "gzip+tar+zstd");
	assert_true(s.same[2]);
	check_digest("t.tar.zst", &s);
	/* tar in zstd in tar is as deep as it goes; what is deeper is kept as it is, its neighbours are read */
	assert_true(shell("tar cf o.tar t.tar.zst a.log"));
	read_all("o.tar", &s);
	assert_int_equal(s.n, 4);
	assert_string_equal(s.names[0], "o.tar!t.tar.zst!a.log");
	assert_true(s.same[0]);
	assert_non_null(strstr(s.reasons[2], "nested deeper"));
	assert_true(s.bytes[2] > 0);
	assert_true(s.same[3]);
	assert_true(shell("gzip -kf o.tar"));
	read_all("o.tar.gz", &s);
	assert_int_equal(s.n, 2);
	assert_non_null(strstr(s.reasons[0], "nested deeper"));
	assert_true(s.same[1]);
	if (shell("python3 -c \"import zipfile; z = zipfile.ZipFile('z.zip', 'w', 8); z.write('a.log'); "
		  "z.write('t.tar')\"")) {
		read_all("z.zip", &s);
		assert_int_equal(s.n, 4);
		assert_string_equal(s.containers[0], "zip");
		assert_true(s.same[0]);
		assert_string_equal(s.names[3], "z.zip!t.tar!a.log.gz");
		assert_true(s.same[3]);
	}
}

static void test_links_and_damage(void **state)
{
	struct seen s;
	(void)state;
	put("a.log", text, text_len);
	put("z.log", text, text_len);
	assert_true(
	    shell("ln -f a.log hard.log && ln -sf a.log soft.log && tar cf links.tar a.log hard.log soft.log z.log"));
	read_all("links.tar", &s);
	assert_int_equal(s.n, 4);
	assert_non_null(strstr(s.reasons[1], "hard link"));
	assert_non_null(strstr(s.reasons[2], "symbolic link"));
	assert_true(s.same[3]);
	assert_string_equal(s.reasons[3], "");
	/* a member that is damaged does not take its neighbours along */
	assert_true(shell("gzip -kf a.log && head -c 3000 a.log.gz >cut.gz && tar cf mixed.tar cut.gz z.log"));
	read_all("mixed.tar", &s);
	assert_int_equal(s.n, 2);
	assert_non_null(strstr(s.reasons[0], "cut off"));
	assert_true(s.same[1]);
	assert_true(shell("head -c 60000 mixed.tar >cut.tar"));
	read_all("cut.tar", &s);
	assert_true(s.n >= 2);
	assert_true(s.reasons[s.n - 1][0]);
	assert_true(s.bytes[1] > 0 && !s.same[1]);
}

static void test_text_that_looks_odd(void **state)
{
	/* beginnings that libarchive knows as formats which are not enabled */
	static const char *const heads[] = {"#mtree\n/set type=file\n",
					    "!<arch>\n",
					    "070707 log\n",
					    "begin 644 x\n",
					    "PK is text\n",
					    "BZh is text\n",
					    "WARC/1.0\r\n"};
	struct seen s;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		put("odd.log", heads[i], strlen(heads[i]));
		read_all("odd.log", &s);
		assert_int_equal(s.n, 1);
		assert_string_equal(s.containers[0], "none");
		assert_int_equal(s.bytes[0], strlen(heads[i]));
		assert_string_equal(s.reasons[0], "");
	}
}

static int note(void *ctx, const char *path, const char *why, struct err *err)
{
	struct buf *b = ctx;
	return buf_printf(b, err, "%s%s%s\n", path + strlen(folder), why ? ": " : "", why ? why : "");
}

static void test_walk(void **state)
{
	struct buf b = BUF_INIT(1 << 16);
	struct err err = {0};
	struct source *src = NULL;
	(void)state;
	assert_true(
	    shell("mkdir -p w/b w/a/x && touch w/b/2 w/b/10 w/a/x/f w/.hidden && ln -sf b/2 w/link && mkfifo w/pipe"));
	assert_int_equal(walk(in_folder("w"), note, &b, &err), 0);
	assert_string_equal(b.ptr, "/w/.hidden\n/w/a/x/f\n/w/b/10\n/w/b/2\n/w/link: symbolic link, not followed\n"
				   "/w/pipe: not a regular file\n");
	buf_clear(&b);
	assert_int_equal(walk(in_folder("w/link"), note, &b, &err), 0);
	assert_string_equal(b.ptr, "/w/link\n"); /* given by name: followed */
	buf_clear(&b);
	assert_int_equal(walk(in_folder("w/none"), note, &b, &err), 0);
	assert_string_equal(b.ptr,
			    "/w/none: No such file or directory: check the path, something in it is not there\n");
	buf_done(&b);
	assert_int_equal(source_open(&src, in_folder("w/pipe"), &err), ERR_INPUT);
	assert_int_equal(source_open(&src, in_folder("w"), &err), ERR_INPUT);
	assert_int_equal(source_open(&src, in_folder("none"), &err), ERR_INPUT);
}

static int setup(void **state)
{
	unsigned x = 1;
	text = malloc(LINES * 40);
	for (int i = 0; i < LINES; i++) {
		x = x * 1103515245 + 12345;
		text_len += (size_t)sprintf(text + text_len, "T%d line %u\n", i, x);
	}
	return folder_make(state);
}

static int teardown(void **state)
{
	free(text);
	return folder_drop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_plain_and_packed),
	    cmocka_unit_test(test_cut_gzip),
	    cmocka_unit_test(test_utf16),
	    cmocka_unit_test(test_gzip_sums),
	    cmocka_unit_test(test_nothing_in_it),
	    cmocka_unit_test(test_damaged_archives),
	    cmocka_unit_test(test_damaged_packed),
	    cmocka_unit_test(test_changed),
	    cmocka_unit_test(test_archives),
	    cmocka_unit_test(test_links_and_damage),
	    cmocka_unit_test(test_text_that_looks_odd),
	    cmocka_unit_test(test_walk),
	};
	(void)toys;
	return cmocka_run_group_tests(tests, setup, teardown);
}
