/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_rows.c - any bytes as a chunk of a table of requests, or as a block of the index of their names: every column, every entry
 * is decoded or refused */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/row_chunk.h"
#include "../../src/store/row_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cells(struct row_chunk *x, enum row_table table, uint32_t n)
{
	for (unsigned column = 0; column < row_tables[table].n_columns; column++) {
		const struct row_cells *c;
		struct buf b = BUF_INIT(1 << 20);
		size_t sum = 0;
		if (row_chunk_column(x, column, &c, NULL))
			continue;
		for (uint32_t i = 0; i < n; i++) {
			if (c->texts && c->has[i] && c->texts[i].len)
				sum += (unsigned char)c->texts[i].ptr[c->texts[i].len - 1];
			buf_clear(&b);
			if (c->ref_end && row_refs_json(c, i, &b, NULL))
				break;
		}
		static volatile size_t read;
		read = sum;
		(void)read;
		buf_done(&b);
	}
}

/* Nothing reads on behind its end, and no entry goes back or past the last hash. */
static void read_names(const uint8_t *data, size_t size)
{
	struct name_block b;
	uint64_t group;
	int64_t key = 0;
	if (size < sizeof(key))
		return;
	memcpy(&key, data, sizeof(key));
	if (name_block_open(&b, key, (struct text){(const char *)data + sizeof(key), size - sizeof(key)}, NULL))
		return;
	for (uint64_t last = b.print; name_block_next(&b, &group, NULL) == 1; last = b.print)
		if (b.print < last || b.print >> b.print_bits || group >> b.group_bits || b.at > b.end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_names(data, size);
	unsigned char sha256[SHA256_BYTES];
	struct row_chunk *x = NULL;
	struct codec *z = NULL;
	if (size < 4 || codec_new(&z, NULL))
		return 0;
	enum row_table table = data[0] % ROW_TABLES;
	uint32_t n = 1 + data[1] % 64;
	/* the head is right in half of the cases: what comes behind it is what is looked for */
	char head[8] = {0x52, 1, (char)table, (char)(data[2] % 8), (char)n};
	struct buf b = BUF_INIT(1 << 20);
	if (!(data[3] & 1) && buf_add(&b, head, 5, NULL))
		return 0;
	if (buf_add(&b, data + 4, size - 4, NULL) == 0 && !row_chunk_open(&x, table, n, buf_text(&b), z, NULL)) {
		read_cells(x, table, n);
		if (row_chunk_sha256(x, sha256, NULL))
			sha256[0] = 0;
	}
	row_chunk_unref(x);
	codec_free(z);
	buf_done(&b);
	return 0;
}
