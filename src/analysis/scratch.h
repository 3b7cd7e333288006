/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - private to src/analysis: memory within a budget, the rest in a temporary file (resolve_scratch.c) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that lives as long as the run. Addresses never change. */
struct scratch_piece {
	char *ptr;
	size_t size;
	bool in_file;
};
struct scratch {
	struct scratch_piece *pieces;
	uint32_t n, cap;
	size_t at;    /* used of the newest */
	int fd;       /* the temporary file; -1: none yet, or none to be had */
	int statm;    /* where the system says what is resident; -1: nowhere */
	bool no_file; /* there is no room for one: everything is plain memory */
	int64_t file_bytes;
	size_t floor;  /* resident when everything had just been given back */
	size_t budget; /* resident more than that: it is given back again */
	unsigned turns, drops;
};
void scratch_init(struct scratch *s);
void scratch_done(struct scratch *s);
void *scratch_alloc(struct scratch *s, size_t n, size_t size); /* zeroed; NULL: out of memory */
void scratch_trim(struct scratch *s);
