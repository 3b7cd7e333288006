/* SPDX-License-Identifier: Apache-2.0 */
/* page_sum.h - private to the store: a check sum at the end of each page of the file
 *
 * Hashes and seals say whether a case is as it was written, but no question can afford to look at all of them. A page
 * that is read is checked in a microsecond; so whatever was not written by us is an error, not an answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Page size of every case, and the bytes at the end of a page that SQLite leaves to us. */
enum { CASE_PAGE_BYTES = 8192, PAGE_SUM_BYTES = 8 };

/* Name of the VFS that writes and checks sums, on top of the one named (NULL: SQLite's own); NULL: out of memory. */
const char *page_sum_vfs(const char *below);
/* Does every byte that is read from this file come from a page whose sum was compared? Not while there is a write-ahead log. A
 * page of zeros passes all the same. */
struct sqlite3_file;
bool page_sum_all(struct sqlite3_file *f);
/* Puts the sum at the end of the page; number: from 0. */
void page_sum_put(unsigned char page[CASE_PAGE_BYTES], uint32_t number);
/* Is the sum that of the page in this place? */
int page_sum_holds(const unsigned char page[CASE_PAGE_BYTES], uint32_t number);
