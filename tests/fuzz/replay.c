/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs a fuzz target over files, and over cuts and flips of them: the part of fuzzing that every build can
 * do */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/rounds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 1 << 20 };

static void run(const uint8_t *data, size_t size)
{
	/* an allocation of exactly this size, so that a sanitizer sees one byte too many */
	uint8_t *copy = malloc(size + 1);
	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

int main(int argc, char **argv)
{
	static uint8_t data[FILE_MAX + 1];
	uint64_t seed = 88172645463325252u;
	const unsigned flips = rounds(64, 12);
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		size_t n = fread(data + 1, 1, FILE_MAX, f);
		fclose(f);
		for (int first = 0; first < 8; first++) { /* the target's own choice byte */
			data[0] = (uint8_t)first;
			run(data, n + 1);
		}
		for (unsigned k = 0; k < flips && n; k++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			size_t at = 1 + seed % n;
			uint8_t kept = data[at];
			data[0] = (uint8_t)k;
			data[at] = (uint8_t)(seed >> 32);
			run(data, k % 4 == 3 ? at + 1 : n + 1);
			data[at] = kept;
		}
	}
	printf("ok %d files\n", argc - 1);
	return 0;
}
