/* SPDX-License-Identifier: Apache-2.0 */
/* rotation.c - the files of one log, by their names */
#include "pagetrail/rotation.h"

#include "pagetrail/macros.h"
#include "pagetrail/stamp.h"

static struct text unpacked(struct text t)
{
	static const char *const ends[] = {".gz", ".zst", ".xz", ".bz2", ".lz4"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends(t, ends[i]))
			return text_sub(t, 0, t.len - text_of(ends[i]).len);
	return t;
}

/* A date of 8 digits, or with hyphens, that nothing but separators and a word ("log") surrounds. */
static bool date_of(struct text t, size_t *at, size_t *len, int64_t *day)
{
	for (size_t i = t.len; i-- > 0;) {
		int64_t y, m, d, ns;
		struct text x = text_from(t, i);
		bool hyphens = x.len >= 10 && x.ptr[4] == '-' && x.ptr[7] == '-';
		size_t n = hyphens ? 10 : 8;
		if (x.len < n || (i && t.ptr[i - 1] >= '0' && t.ptr[i - 1] <= '9') ||
		    (x.len > n && x.ptr[n] >= '0' && x.ptr[n] <= '9') || !text_int64(text_sub(x, 0, 4), &y) ||
		    !text_int64(text_sub(x, hyphens ? 5 : 4, 2), &m) ||
		    !text_int64(text_sub(x, hyphens ? 8 : 6, 2), &d) || y < 2000 || y > 2199 ||
		    !stamp_from_civil((int)y, (int)m, (int)d, 0, 0, 0, 0, &ns))
			continue;
		*at = i;
		*len = n;
		*day = ns / (86400 * NS_PER_S);
		return true;
	}
	return false;
}

struct rotation rotation_of(struct text path)
{
	struct text name = unpacked(path);
	size_t dot = text_rfind_char(name, '.'), slash = text_rfind_char(name, '/'), at, len;
	struct rotation p = {.stem = name};
	size_t from = slash == SIZE_MAX ? 0 : slash + 1;
	if (date_of(text_from(name, from), &at, &len, &p.index) && from + at > 0 && at) {
		p.dated = true;
		p.stem = text_sub(name, 0, from + at - 1); /* without the separator */
		p.tail = text_from(name, from + at + len);
	} else if (dot != SIZE_MAX && dot > from && name.len - dot <= 5 &&
		   text_int64(text_from(name, dot + 1), &p.index) && p.index >= 0) {
		p.numbered = true;
		p.stem = text_sub(name, 0, dot);
	} else {
		p.index = 0;
	}
	return p;
}
