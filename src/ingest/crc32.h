/* SPDX-License-Identifier: Apache-2.0 */
/* crc32.h - the check sum of gzip (polynomial 0xEDB88320), eight bytes at a time */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct crc32 {
	uint32_t table[8][256];
	uint32_t state;
};

void crc32_init(struct crc32 *c); /* once */
void crc32_begin(struct crc32 *c);
void crc32_add(struct crc32 *c, const void *p, size_t n);
uint32_t crc32_value(const struct crc32 *c);
