/* SPDX-License-Identifier: Apache-2.0 */
/* page_sum.c - a check sum at the end of each page of the file, written and checked in a VFS around SQLite's own
 *
 * Only the main file has sums, and only whole pages are written to it; the write-ahead log has SQLite's. The number of
 * the page is part of its sum: a page that lies in another's place is noticed. A page of zeros is right anywhere: SQLite
 * does not write pages that it took and freed again. SQLite needs the registered structs to stay where they are:
 * they are the one static thing here, and nothing in them changes once they are registered.
 */
#include "page_sum.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <sqlite3.h>

#include "pagetrail/case.h"

/* --- the sum --- */

static uint32_t get_le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_le32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* Two running sums, each of which takes in the other: the order of the words counts. Each step can be undone, so different
 * numbers give the same bytes different sums. */
static void sum(const unsigned char *page, uint32_t number, unsigned char ret[PAGE_SUM_BYTES])
{
	uint32_t a = number, b = 0;
	for (size_t i = 0; i < CASE_PAGE_BYTES - PAGE_SUM_BYTES; i += 8) {
		a += get_le32(page + i) + b;
		b += get_le32(page + i + 4) + a;
	}
	put_le32(ret, a);
	put_le32(ret + 4, b);
}

void page_sum_put(unsigned char page[CASE_PAGE_BYTES], uint32_t number)
{
	sum(page, number, page + CASE_PAGE_BYTES - PAGE_SUM_BYTES);
}

int page_sum_holds(const unsigned char page[CASE_PAGE_BYTES], uint32_t number)
{
	unsigned char want[PAGE_SUM_BYTES];
	sum(page, number, want);
	return !memcmp(want, page + CASE_PAGE_BYTES - PAGE_SUM_BYTES, PAGE_SUM_BYTES) ||
	       (!page[0] && !memcmp(page, page + 1, CASE_PAGE_BYTES - 1));
}

/* --- a file --- */

struct summed_file {
	sqlite3_file base;
	bool sums; /* its first page says that there are */
	bool log;  /* and that some pages may be in a write-ahead log */
	sqlite3_file *below;
};

static struct summed_file *of(sqlite3_file *f)
{
	return (struct summed_file *)f;
}

#define BELOW(f)          (of(f)->below)
#define PASS(f, fn, ...)  (BELOW(f)->pMethods->fn(BELOW(f), __VA_ARGS__))
#define PASS_ALONE(f, fn) (BELOW(f)->pMethods->fn(BELOW(f)))

/* The head of the file, big endian: page size, how much of a page SQLite leaves free, version. What sums mean in a newer
 * version nobody knows here; it is refused as soon as its head has been read. */
static void learn(struct summed_file *f, const unsigned char *p, int n, sqlite3_int64 off)
{
	if (off == 0 && n >= 100)
		f->log = p[18] != 1 || p[19] != 1;
	if (off == 0 && n >= 100)
		f->sums = p[16] == CASE_PAGE_BYTES >> 8 && p[17] == 0 && p[20] == PAGE_SUM_BYTES && !p[60] && !p[61] &&
			  !p[62] && p[63] <= CASE_VERSION;
}

static bool is_page(const struct summed_file *f, int n, sqlite3_int64 off)
{
	return f->sums && n == CASE_PAGE_BYTES && off % CASE_PAGE_BYTES == 0;
}

static uint32_t number_at(sqlite3_int64 off)
{
	return (uint32_t)(off / CASE_PAGE_BYTES);
}

static int file_close(sqlite3_file *f)
{
	return BELOW(f)->pMethods ? PASS_ALONE(f, xClose) : SQLITE_OK;
}

static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 off)
{
	int rc = PASS(f, xRead, to, n, off);
	if (rc != SQLITE_OK)
		return rc;
	learn(of(f), to, n, off);
	return is_page(of(f), n, off) && !page_sum_holds(to, number_at(off)) ? SQLITE_CORRUPT : SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 off)
{
	unsigned char page[CASE_PAGE_BYTES];
	learn(of(f), from, n, off);
	if (!is_page(of(f), n, off))
		return PASS(f, xWrite, from, n, off);
	memcpy(page, from, CASE_PAGE_BYTES);
	page_sum_put(page, number_at(off));
	return PASS(f, xWrite, page, n, off);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return PASS(f, xTruncate, size);
}

static int file_sync(sqlite3_file *f, int flags)
{
	return PASS(f, xSync, flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return PASS(f, xFileSize, ret);
}

static int file_lock(sqlite3_file *f, int level)
{
	return PASS(f, xLock, level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	return PASS(f, xUnlock, level);
}

static int file_reserved(sqlite3_file *f, int *ret)
{
	return PASS(f, xCheckReservedLock, ret);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl, op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return PASS_ALONE(f, xSectorSize);
}

static int file_traits(sqlite3_file *f)
{
	return PASS_ALONE(f, xDeviceCharacteristics);
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return PASS(f, xShmMap, page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return PASS(f, xShmLock, off, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
	PASS_ALONE(f, xShmBarrier);
}

static int file_shm_unmap(sqlite3_file *f, int drop)
{
	return PASS(f, xShmUnmap, drop);
}

#define FILE_METHODS(version)                                                                       \
	.iVersion = (version), .xClose = file_close, .xRead = file_read, .xWrite = file_write,      \
	.xTruncate = file_truncate, .xSync = file_sync, .xFileSize = file_size, .xLock = file_lock, \
	.xUnlock = file_unlock, .xCheckReservedLock = file_reserved, .xFileControl = file_control,  \
	.xSectorSize = file_sector, .xDeviceCharacteristics = file_traits

/* Mapped pages (version 3) could not be checked. */
static const sqlite3_io_methods plain_methods = {FILE_METHODS(1)};
static const sqlite3_io_methods shared_methods = {
    FILE_METHODS(2),
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

bool page_sum_all(sqlite3_file *f)
{
	return f && (f->pMethods == &plain_methods || f->pMethods == &shared_methods) && of(f)->sums && !of(f)->log;
}

/* --- the VFS --- */

struct summed_vfs {
	sqlite3_vfs base;
	sqlite3_vfs *below;
};

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *ret_flags)
{
	sqlite3_vfs *below = ((struct summed_vfs *)vfs)->below;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return below->xOpen(below, name, f, flags, ret_flags);
	*of(f) = (struct summed_file){.below = (sqlite3_file *)(of(f) + 1)};
	int rc = below->xOpen(below, name, BELOW(f), flags, ret_flags);
	const sqlite3_io_methods *m = BELOW(f)->pMethods;
	if (m)
		f->pMethods = m->iVersion >= 2 && m->xShmMap ? &shared_methods : &plain_methods;
	return rc;
}

static struct summed_vfs usual, unlocked;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add(struct summed_vfs *v, const char *name, const char *below)
{
	sqlite3_vfs *b = sqlite3_vfs_find(below);
	if (!b)
		return;
	v->base = *b;
	v->base.pNext = NULL;
	v->base.zName = name;
	v->base.szOsFile = (int)sizeof(struct summed_file) + b->szOsFile;
	v->base.xOpen = vfs_open;
	v->below = b;
	sqlite3_vfs_register(&v->base, 0);
}

static void add_all(void)
{
	if (sqlite3_initialize())
		return;
	add(&usual, "pagetrail", NULL);
	add(&unlocked, "pagetrail-none", "unix-none");
}

const char *page_sum_vfs(const char *below)
{
	pthread_once(&once, add_all);
	return below ? unlocked.base.zName : usual.base.zName;
}
