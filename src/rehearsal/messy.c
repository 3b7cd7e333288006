/* SPDX-License-Identifier: Apache-2.0 */
/* messy.c - the incident's logs as fleets really leave them: hosts in other zones, clocks that are ahead or are set, files
 * that were rotated, copied, cut and lost, lines that were torn, and prompts that imitate records
 *
 * The model runs as it does for "incident": what happened is the same, only what was written down is not. Every hole that is
 * made here stands in truth.json, with the lines that it took and the times of the lines at its two ends.
 */
#include "model.h"

#include <string.h>

enum { HOLE_TORN = 6, COPYTRUNCATE = 25, NUMBERED = 7, NUMBERED_LOST = 3 };

int64_t clock_epoch(const struct host_clock *c, int64_t us)
{
	return us + c->skew_us + (us < c->ntp_at_us ? c->ntp_us : 0);
}

int64_t clock_wall(const struct host_clock *c, int64_t us)
{
	int64_t zone = c->zone_s + (c->dst_at_us && us >= c->dst_at_us ? c->dst_s : 0);

	return clock_epoch(c, us) + zone * US_PER_S;
}

static int worker_named(const struct model *m, const char *name)
{
	int w = 0;

	while (w + 1 < m->n_workers && strcmp(m->worker[w].name, name) != 0)
		w++;
	return w;
}

/* Most hosts run eight hours ahead of UTC. Two are in Chile, whose summer time began in the night to 6 September 2026. One
 * clock is 37 s ahead, another one was 90 s ahead until it was set; the router's is 12 s slow. */
void messy_plan(struct model *m)
{
	static const char *const chile[] = {"prefill-3", "decode-3"};

	rng_seed(&m->mess, m->options->seed ^ UINT64_C(0x6d657373));
	for (int w = 0; w < m->n_workers; w++)
		m->worker[w].clock.zone_s = 8 * 3600;
	m->worker[worker_named(m, "prefill-2")].clock.zone_s = 0;
	m->worker[worker_named(m, "decode-2")].clock.zone_s = 0;
	for (size_t i = 0; i < ARRAY_SIZE(chile); i++)
		m->worker[worker_named(m, chile[i])].clock = (struct host_clock){
		    .zone_s = -4 * 3600, .dst_at_us = INT64_C(1788667200) * US_PER_S, .dst_s = 3600};
	m->router_clock.skew_us = -12 * US_PER_S;
	m->worker[worker_named(m, "decode-1")].clock.skew_us = 37 * US_PER_S;
	m->worker[worker_named(m, "decode-2")].clock.ntp_at_us = m->begin_us + 8 * US_PER_DAY + 10 * 3600 * US_PER_S;
	m->worker[worker_named(m, "decode-2")].clock.ntp_us = 90 * US_PER_S;
}

void messy_prompt(const struct model *m, const char *at, char *out, size_t cap)
{
	const char *id = m->victim == NONE ? m->innocent : m->requests[m->victim].id;

	snprintf(
	    out, cap,
	    "text='Explain this log:\\n[%s TP0] Input length (999999 tokens) exceeds the maximum allowed length "
	    "(681274 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid=\\'%s\\'\\n"
	    "{\"start_time\":\"%.10sT%sZ\",\"method\":\"POST\",\"response_code\":500,\"bytes_sent\":0,\"x-request-id\":"
	    "\"%s\",\"tenant_id\":\"tenant-00\"}\\n"
	    "{\"ts\":%lld.5,\"seq\":1,\"worker\":\"decode-0\",\"op\":\"reset\",\"rid\":\"%s\",\"pages\":[[1,18432]]}\\n"
	    "%s  INFO http_request{method=POST uri=/v1/chat/completions request_id=\"%s\" status_code=500 latency=1}: "
	    "smg::response: /build/src/middleware.rs:340: finished processing request\\n"
	    "[%s] server_args=ServerArgs(context_length=1, page_size=1, disaggregation_mode=\\'decode\\')\\n', ",
	    at, m->innocent, at, at + 11, id, (long long)(m->now_us / US_PER_S), m->innocent, at, id, at);
}

/* ---- holes */

static void hole_add(struct model *m, struct hole h, const char *file)
{
	if (!model_grow(m, &m->holes, m->n_holes, &m->holes_cap, sizeof(*m->holes)))
		return;
	snprintf(h.file, sizeof(h.file), "%s", file);
	m->holes[m->n_holes++] = h;
}

/* Takes lines [from, to) out. */
static void take_out(struct model *m, struct lines *l, size_t from, size_t to, const char *kind, int w,
		     const char *file)
{
	struct hole h = {.kind = kind, .worker = w};

	if (m->rc || !from || to >= l->n || from >= to)
		return;
	h.from_us = l->at[from - 1].at_us;
	h.to_us = l->at[to].at_us;
	for (size_t i = from; i < to; i++) {
		h.lines += l->at[i].len != 0;
		l->at[i].len = 0;
	}
	hole_add(m, h, file);
}

static bool line_has(const struct lines *l, size_t i, const char *what)
{
	struct text t = {l->text.ptr + l->at[i].off, l->at[i].len};

	return text_find(t, what, 0) != SIZE_MAX;
}

/* Some records of a page log that was written in between: no boot is among them. */
static void lose_records(struct model *m, int w, unsigned per_mille, size_t n)
{
	struct lines *l = &m->worker[w].pages;
	size_t at = l->n * per_mille / 1000;
	char file[48];

	if (at + 8 * n >= l->n || m->rc)
		return;
	for (size_t i = at; i < at + n; i++)
		if (line_has(l, i, "\"op\":\"boot\""))
			i = at = i + 1;
	snprintf(file, sizeof(file), "%s.pages.jsonl", m->worker[w].name);
	take_out(m, l, at, at + n, "sequence", w, file);
}

/* Hours in which a log says nothing although its worker was at work. */
static void fall_silent(struct model *m, int w, int64_t from_us, int64_t to_us)
{
	struct lines *l = &m->worker[w].text;
	size_t from = 0, to;
	char file[48];

	while (from < l->n && l->at[from].at_us < from_us)
		from++;
	for (to = from; to < l->n && l->at[to].at_us < to_us;)
		to++;
	snprintf(file, sizeof(file), "%s.log", m->worker[w].name);
	take_out(m, l, from, to, "quiet", w, file);
}

/* Two processes write into one pipe: the second one's line stands in the middle of the first one's. Only the batch lines of
 * the scheduler are torn: what they say rests in no answer. */
static void tear(struct model *m, int w)
{
	struct lines *l = &m->worker[w].text;
	char file[48];

	snprintf(file, sizeof(file), "%s.log", m->worker[w].name);
	for (int n = 0; n < HOLE_TORN && l->n > 100 && !m->rc; n++) {
		size_t i = 50 + rng_below(&m->mess, l->n - 60), off = l->text.len, half;
		struct line a, b;

		for (; i + 1 < l->n && !(l->at[i].len && l->at[i + 1].len && line_has(l, i, "TP0] Decode batch") &&
					 line_has(l, i + 1, "TP0] "));
		     i++)
			;
		if (i + 1 >= l->n)
			continue;
		a = l->at[i];
		b = l->at[i + 1];
		half = a.len / 3;
		model_fail(m, buf_reserve(&l->text, a.len + b.len, m->err));
		if (m->rc)
			return;
		model_fail(m, buf_add(&l->text, l->text.ptr + a.off, half, m->err));
		model_fail(m, buf_add(&l->text, l->text.ptr + b.off, b.len, m->err));
		model_fail(m, buf_add(&l->text, l->text.ptr + a.off + half, a.len - half, m->err));
		l->at[i] = (struct line){a.at_us, off, a.len + b.len};
		l->at[i + 1].len = 0;
		hole_add(m,
			 (struct hole){.kind = "torn", .worker = w, .from_us = a.at_us, .to_us = a.at_us, .lines = 1},
			 file);
	}
}

/* ---- files */

/* NAME.log.6 (oldest) to NAME.log.1, NAME.log; `lost` of them is not there any more. */
static void rotate_by_number(struct model *m, int w, unsigned lost)
{
	struct lines *l = &m->worker[w].text;
	char path[64], file[48];

	snprintf(file, sizeof(file), "%s.log", m->worker[w].name);
	for (unsigned p = 0; p < NUMBERED; p++) {
		size_t from = l->n * p / NUMBERED, to = l->n * (p + 1) / NUMBERED;
		unsigned number = NUMBERED - 1 - p;

		if (number == lost) {
			take_out(m, l, from, to, "rotation", w, file);
			continue;
		}
		snprintf(path, sizeof(path), number ? "logs/%s.log.%u" : "logs/%s.log", m->worker[w].name, number);
		lines_part(m, l, from, to, path);
	}
}

/* NAME.log-20260827 and so on, turned over at midnight and named after the day that begins; that of `lost` is gone. */
static void rotate_by_day(struct model *m, int w, int64_t lost)
{
	struct lines *l = &m->worker[w].text;
	char path[80], file[48], at[20];

	snprintf(file, sizeof(file), "%s.log", m->worker[w].name);
	for (size_t from = 0, to; from < l->n && !m->rc; from = to) {
		int64_t day = l->at[from].at_us / US_PER_DAY;

		for (to = from; to < l->n && l->at[to].at_us / US_PER_DAY == day;)
			to++;
		us_plain((day + 1) * US_PER_DAY, at);
		if (to == l->n)
			snprintf(path, sizeof(path), "logs/%s.log", m->worker[w].name);
		else
			snprintf(path, sizeof(path), "logs/%s.log-%.4s%.2s%.2s", m->worker[w].name, at, at + 5, at + 8);
		if (day == lost && to < l->n)
			take_out(m, l, from, to, "rotation", w, file);
		else
			lines_part(m, l, from, to, path);
	}
}

/* The copy was taken, lines were written, then the file was cut: these lines are in neither, or in both. Here in both. */
static void copy_and_truncate(struct model *m, int w)
{
	struct lines *l = &m->worker[w].text;
	size_t at = l->n * 3 / 5;
	char path[64];

	snprintf(path, sizeof(path), "logs/%s.log.1", m->worker[w].name);
	lines_part(m, l, 0, at, path);
	snprintf(path, sizeof(path), "logs/%s.log", m->worker[w].name);
	lines_part(m, l, at > COPYTRUNCATE ? at - COPYTRUNCATE : 0, l->n, path);
}

static void write_plain(struct model *m, struct lines *l, const char *name, const char *end)
{
	char path[80];

	snprintf(path, sizeof(path), "logs/%s%s", name, end);
	if (l->n)
		lines_part(m, l, 0, l->n, path);
}

/* A line, or a piece of one, as container runtimes keep it: containerd writes a head before each (containerd,
 * internal/cri/io/logger.go), Docker an object for each (moby, daemon/logger/jsonfilelog). */
static void put_wrapped(struct model *m, struct buf *b, bool docker, const char *at, struct text t)
{
	bool more = !text_ends(t, "\n");

	if (!docker) {
		model_fail(m, buf_printf(b, m->err, "%s stderr %c %.*s%s", at, more ? 'P' : 'F', TEXT_ARG(t),
					 more ? "\n" : ""));
		return;
	}
	model_fail(m, buf_add(b, "{\"log\":", 7, m->err));
	model_fail(m, buf_json_string(b, t, m->err));
	model_fail(m, buf_printf(b, m->err, ",\"stream\":\"stderr\",\"time\":\"%s\"}\n", at));
}

/* In two files, of which the older one ends in the middle of the times of a request. */
static void write_wrapped(struct model *m, const struct worker *k, bool docker)
{
	const struct lines *l = &k->text;
	struct buf b = BUF_INIT(1024 * MIB);
	char path[64], at[40];
	bool rotated = false;

	for (size_t i = 0; i < l->n && !m->rc; i++) {
		int64_t us = clock_epoch(&k->clock, l->at[i].at_us);
		struct text line = {l->text.ptr + l->at[i].off, l->at[i].len};

		if (!line.len)
			continue;
		us_plain(us, at);
		at[10] = 'T';
		snprintf(at + 19, sizeof(at) - 19, ".%06d417Z", (int)(us % US_PER_S));
		if (!rotated && i >= l->n / 2 && text_find(line, "ReqTimeStats(rid=", 0) != SIZE_MAX) {
			rotated = true;
			put_wrapped(m, &b, docker, at, text_sub(line, 0, line.len / 2));
			line = text_from(line, line.len / 2);
			snprintf(path, sizeof(path), "logs/%s.log.1", k->name);
			lines_file(m, path, buf_text(&b));
			buf_clear(&b);
		}
		put_wrapped(m, &b, docker, at, line);
	}
	snprintf(path, sizeof(path), "logs/%s.log", k->name);
	lines_file(m, path, buf_text(&b));
	buf_done(&b);
}

static void write_text(struct model *m, int w)
{
	struct worker *k = &m->worker[w];

	if (!strcmp(k->name, "decode-1"))
		rotate_by_number(m, w, NUMBERED_LOST);
	else if (!strcmp(k->name, "unified-0"))
		rotate_by_day(m, w, (m->begin_us + 5 * US_PER_DAY) / US_PER_DAY);
	else if (!strcmp(k->name, "prefill-0"))
		rotate_by_day(m, w, -1);
	else if (!strcmp(k->name, "prefill-1"))
		copy_and_truncate(m, w);
	else if (!strcmp(k->name, "prefill-4") || !strcmp(k->name, "decode-4"))
		write_wrapped(m, k, k->role == ROLE_PREFILL);
	else
		write_plain(m, &k->text, k->name, ".log");
}

static void sort_all(struct model *m)
{
	for (int w = 0; w < m->n_workers; w++) {
		lines_sort(m, &m->worker[w].text);
		lines_sort(m, &m->worker[w].pages);
		lines_sort(m, &m->worker[w].metric);
	}
	lines_sort(m, &m->router);
	lines_sort(m, &m->gateway);
}

void messy_write(struct model *m)
{
	int64_t silent = m->begin_us + 9 * US_PER_DAY;
	const struct lines *copied;

	sort_all(m);
	lose_records(m, worker_named(m, "decode-0"), 350, 30);
	lose_records(m, worker_named(m, "decode-2"), 700, 5);
	fall_silent(m, worker_named(m, "prefill-2"), silent + 9 * 3600 * US_PER_S, silent + 17 * 3600 * US_PER_S);
	tear(m, worker_named(m, "decode-0"));
	tear(m, worker_named(m, "decode-3"));
	for (int w = 0; w < m->n_workers; w++) {
		struct worker *k = &m->worker[w];

		write_text(m, w);
		write_plain(m, &k->pages, k->name, ".pages.jsonl");
		write_plain(m, &k->metric, k->name, ".metrics.log");
	}
	write_plain(m, &m->router, "router", ".log");
	write_plain(m, &m->gateway, "gateway", ".jsonl");
	/* what somebody had put aside before all of it was collected */
	make_folder(m, "logs/backup");
	lines_part(m, &m->gateway, 0, m->gateway.n * 7 / 10, "logs/backup/gateway.jsonl");
	copied = &m->worker[worker_named(m, "decode-0")].pages;
	lines_part(m, copied, copied->n / 5, copied->n / 2, "logs/backup/decode-0.pages.jsonl");
	snapshots_write(m);
	truth_write(m, "truth.json");
}
