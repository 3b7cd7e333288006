/* SPDX-License-Identifier: Apache-2.0 */
/* instant.c - stamps of records, corrected as the table `clock` says */
#include "pagetrail/instant.h"

#include "pagetrail/sql.h"

int instants_load(struct instants *ret, struct case_file *c, int64_t source, struct arena *a, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret = (struct instants){0};
	int rc = sql_prepare(&s, c,
			     "SELECT count(*) OVER (), from_off, offset_ns, skew_ns, between_ns FROM clock "
			     "WHERE source = ?1 ORDER BY from_off",
			     err);
	if (rc == 0)
		rc = sql_int(s, 1, source, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		if (!ret->list)
			ret->list = arena_array(a, (size_t)sql_get_int(s, 0), sizeof(*ret->list));
		if (!ret->list)
			return err_nomem(err);
		ret->list[ret->n++] = (struct instant_piece){(uint64_t)sql_get_int(s, 1), sql_get_int(s, 2),
							     sql_get_int(s, 3), sql_get_int(s, 4)};
	}
	return rc;
}

static const struct instant_piece *piece_at(const struct instants *i, uint64_t off)
{
	static const struct instant_piece none = {0};
	size_t at = i->n;
	while (at > 1 && i->list[at - 1].from_off > off)
		at--;
	return at ? &i->list[at - 1] : &none;
}

int64_t instant_of(const struct instants *i, uint64_t off, int64_t ts_ns, enum stamp_quality quality)
{
	const struct instant_piece *p = piece_at(i, off);
	int64_t by = 0, at;
	switch (quality) {
	case STAMP_NONE:
	case STAMP_MONOTONIC: return TIME_UNKNOWN;
	case STAMP_ZONED: by = p->skew_ns; break;
	case STAMP_NAIVE:
	case STAMP_YEARLESS: by = p->offset_ns; break;
	case STAMP_INTERPOLATED: by = p->between_ns; break;
	}
	/* a stamp at the end of all times is hostile, and no time */
	return ts_ns == TIME_UNKNOWN || __builtin_sub_overflow(ts_ns, by, &at) ? TIME_UNKNOWN : at;
}

int64_t instant_skew(const struct instants *i, uint64_t off)
{
	return piece_at(i, off)->skew_ns;
}
