/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_scratch.c - memory for one run of resolve: a budget, and a temporary file for what goes beyond it
 *
 * Everything is cut from large pieces and given back together. The first piece is plain memory: a small case needs no
 * file. Later ones are mapped from a file without a name, so that nothing is left of it however the program ends. When
 * more than a budget of it is resident, the process lets go of all of it: what was written stays in the system's cache,
 * which may write it out, and comes back where it is touched, at the same address. Passes go in order of time, and in order
 * through the memory; where many requests have one and the same time (or none), their order is that of their names, which
 * jumps: then the budget grows, as letting go after every few steps would take most of the time. Room in the file is reserved before it
 * is used; where there is none, plain memory is taken.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pagetrail/temp_file.h"
#include "resolve.h"

#define PIECE_BYTES    (16 * MIB)
#define PLAIN_BYTES    (16 * MIB)  /* before a file is made */
#define RESIDENT_BYTES (40 * MIB)  /* of the file */
#define RESIDENT_MOST  (160 * MIB) /* the same, of what is not read in order */
#define SOON_TURNS     16          /* to let go again after so few is to fetch everything again and again */
#define BLIND_TURNS    64          /* where nobody says what is resident */

void scratch_init(struct scratch *s)
{
	*s = (struct scratch){.fd = -1, .statm = -1, .budget = RESIDENT_BYTES};
}

void scratch_done(struct scratch *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		(void)munmap(s->pieces[i].ptr, s->pieces[i].size);
	free(s->pieces);
	if (s->fd >= 0)
		(void)close(s->fd);
	if (s->statm >= 0)
		(void)close(s->statm);
	scratch_init(s);
}

/* Bytes of files, and of memory shared like one, that this process holds at the moment; 0: unknown. */
static size_t resident_files(int statm)
{
	char line[128];
	unsigned long long total, resident, shared;
	ssize_t n = statm >= 0 ? pread(statm, line, sizeof(line) - 1, 0) : 0;
	if (n <= 0)
		return 0;
	line[n] = 0;
	if (sscanf(line, "%llu %llu %llu", &total, &resident, &shared) != 3)
		return 0;
	return (size_t)shared * (size_t)sysconf(_SC_PAGESIZE);
}

/* NULL: there is no room in a file. */
static char *map_file(struct scratch *s, size_t bytes)
{
	if (s->no_file)
		return NULL;
	if (s->fd < 0) {
		s->fd = temp_file();
		s->statm = s->fd < 0 ? -1 : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
		s->floor = resident_files(s->statm);
	}
	char *p = MAP_FAILED;
	/* a page that cannot be stored when it is touched would end the process */
	if (s->fd >= 0 && !posix_fallocate(s->fd, s->file_bytes, (off_t)bytes))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, s->file_bytes);
	s->no_file = p == MAP_FAILED;
	if (s->no_file)
		return NULL;
	s->file_bytes += (int64_t)bytes;
	return p;
}

static bool piece_add(struct scratch *s, size_t bytes)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 16;
		struct scratch_piece *to = realloc(s->pieces, cap * sizeof(*to));
		if (!to)
			return false;
		s->pieces = to;
		s->cap = cap;
	}
	char *p = s->n ? map_file(s, bytes) : NULL;
	bool in_file = p != NULL;
	if (!p)
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	s->pieces[s->n++] = (struct scratch_piece){p, bytes, in_file};
	s->at = 0;
	return true;
}

void *scratch_alloc(struct scratch *s, size_t n, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (size && n > (SIZE_MAX / 4) / size)
		return NULL;
	size_t bytes = (MAX(n * size, 1) + 63) / 64 * 64;
	if (!s->n || bytes > s->pieces[s->n - 1].size - s->at) {
		size_t piece = s->n ? PIECE_BYTES : PLAIN_BYTES;
		if (!piece_add(s, MAX(piece, (bytes + page - 1) / page * page)))
			return NULL;
	}
	void *ret = s->pieces[s->n - 1].ptr + s->at;
	s->at += bytes;
	return ret;
}

void scratch_trim(struct scratch *s)
{
	if (s->fd < 0)
		return;
	size_t now = resident_files(s->statm);
	s->turns++;
	if (now ? now < s->floor + s->budget : s->turns % BLIND_TURNS)
		return;
	if (now && s->turns < SOON_TURNS && s->budget < RESIDENT_MOST) {
		s->budget += RESIDENT_BYTES;
		return;
	}
	s->turns = 0;
	s->drops++;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->pieces[i].in_file)
			(void)madvise(s->pieces[i].ptr, s->pieces[i].size, MADV_DONTNEED);
	s->floor = resident_files(s->statm);
}

int resolve_breathe(struct resolve *r, struct err *err)
{
	scratch_trim(&r->scratch);
	return case_stopped(r->c) ? err_set(err, ERR_INTERRUPTED, "stopped") : 0;
}
