/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_container_logs.c - wrapper container-logs: what `docker logs --timestamps` and `kubectl logs` print
 *
 *   TIME line                           --timestamps
 *   [pod/NAME/CONTAINER] TIME line      kubectl logs --prefix --timestamps; without TIME if not asked for
 * TIME is RFC 3339 with nine digits of fraction (RFC3339NanoFixed: containerd log/log.go, moby jsonmessage, kubelet
 * pkg/kubelet/kuberuntime/logs); both programs have joined what the runtime cut. stdout and stderr are one.
 */
#include "pagetrail/wrapper.h"

/* "[pod/NAME/CONTAINER] ": its length, or 0. */
static size_t read_prefix(struct text t, struct wrapped *w)
{
	size_t end, slash;

	if (!text_starts(t, "[pod/"))
		return 0;
	end = text_find_char(text_sub(t, 0, 600), ']', 0);
	if (end == SIZE_MAX || end + 1 >= t.len || t.ptr[end + 1] != ' ')
		return 0;
	w->pod = text_sub(t, 5, end - 5);
	slash = text_find_char(w->pod, '/', 0);
	if (slash == SIZE_MAX || slash == 0 || text_find_char(w->pod, ' ', 0) != SIZE_MAX)
		return 0;
	w->container = text_from(w->pod, slash + 1);
	w->pod.len = slash;
	return w->container.len ? end + 2 : 0;
}

static size_t digits_at(struct text t, size_t at)
{
	size_t n = 0;
	while (at + n < t.len && t.ptr[at + n] >= '0' && t.ptr[at + n] <= '9')
		n++;
	return n;
}

/* A stamp with a fraction of exactly nine digits (others write shorter ones) and a blank: its length, or 0. */
static size_t read_time(struct text t, struct stamp *ret)
{
	size_t used;

	if (t.len < 30 || t.ptr[0] < '0' || t.ptr[0] > '9' || t.ptr[10] != 'T' || t.ptr[19] != '.' ||
	    digits_at(t, 20) != 9 || !stamp_parse_iso(t, ret, &used) || used < 30 || ret->quality != STAMP_ZONED)
		return 0;
	return used < t.len && t.ptr[used] == ' ' ? used + 1 : used == t.len ? used : 0;
}

static bool is_cri(struct text rest)
{
	return (text_starts(rest, "stdout ") || text_starts(rest, "stderr ")) && rest.len > 7 &&
	       (rest.ptr[7] == 'P' || rest.ptr[7] == 'F');
}

static bool read_line(struct text t, struct wrapped *w, bool *ret_timed)
{
	size_t prefix = read_prefix(t, w), n;

	t = text_from(t, prefix);
	n = read_time(t, &w->ts);
	*ret_timed = n > 0;
	w->text = text_from(t, n);
	return prefix || n;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	bool timed;

	(void)u;
	return read_line(record, &w, &timed) && !is_cri(w.text) ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	bool timed;
	int r;

	if (!read_line(record, &w, &timed))
		return unwrap_refuse(u, "no_timestamp");
	if (!timed)
		w.ts = STAMP_INIT;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_container_logs = {
    .name = "container-logs",
    .summary = "output of docker logs --timestamps, kubectl logs --timestamps and --prefix",
    .checked = "moby 28, kubelet 1.3x source",
    .many = true,
    .bid = bid,
    .record = record,
};
