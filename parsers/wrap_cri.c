/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_cri.c - wrapper cri: container logs of containerd and CRI-O, as kubelet keeps them
 *
 *   TIME stdout|stderr TAG text
 * TIME is RFC 3339 with up to nanoseconds, zeros at the end left out, in the node's zone or Z. TAG is P (more follows) or F,
 * perhaps with further tags behind ':'. Chunks are of 16 KiB; a last line without its end is written as P, and no F follows.
 * containerd 301026e58 internal/cri/io/logger.go; cri-api constants.go (LogTagDelimiter).
 */
#include "pagetrail/wrapper.h"

/* The line's parts; false: it is none. */
static bool read_line(struct text t, struct wrapped *w)
{
	size_t used;

	if (t.len < 28 || t.ptr[0] < '0' || t.ptr[0] > '9' || t.ptr[10] != 'T' || !stamp_parse_iso(t, &w->ts, &used) ||
	    w->ts.quality != STAMP_ZONED)
		return false;
	t = text_from(t, used);
	if (!text_starts(t, " stdout ") && !text_starts(t, " stderr "))
		return false;
	w->stream = text_sub(t, 1, 6);
	t = text_from(t, 8);
	if (t.len == 0 || (t.ptr[0] != 'P' && t.ptr[0] != 'F'))
		return false;
	w->more = t.ptr[0] == 'P';
	used = 1;
	if (t.len > 1 && t.ptr[1] == ':')
		while (used < t.len && used < 64 && t.ptr[used] != ' ')
			used++;
	if (used < t.len && t.ptr[used] != ' ')
		return false;
	w->text = text_from(t, used + 1);
	return true;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};

	(void)u;
	return read_line(record, &w) ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	int r;

	if (!read_line(record, &w))
		return unwrap_refuse(u, "no_cri");
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_cri = {
    .name = "cri",
    .summary = "container logs of containerd and CRI-O (/var/log/pods), long lines joined",
    .checked = "containerd 2.1 source",
    .bid = bid,
    .record = record,
};
