/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - how far a long command is: one line on a terminal, JSON lines for a program, else nothing
 *
 * Four times a second at most, but each phase is said once. What is left is only estimated when the size of all that is
 * to be read is known, and not before a second has passed. Paths are foreign text.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EVERY_NS = 250 * 1000 * 1000, COLUMNS = 80, ESTIMATE_AFTER_S = 1 };

int progress_open(struct progress *p, const char *mode, struct err *err)
{
	const char *term = getenv("TERM");
	*p = (struct progress){.started_ns = system_now_ns()};
	if (mode && strcmp(mode, "json") && strcmp(mode, "none")) {
		err_set(err, ERR_USAGE, "--progress takes json or none, not '%s'", mode);
		return err_hint(err, "without it there is a line of progress on a terminal, and none elsewhere");
	}
	p->json = mode && !strcmp(mode, "json");
	p->terminal = !mode && isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
	return 0;
}

static double elapsed_s(const struct progress *p)
{
	double s = (double)(p->last_ns - p->started_ns) / 1e9;
	return s > 0 ? s : 0;
}

/* Seconds; negative: not known. */
static double left_s(const struct progress *p, const struct progress_state *st)
{
	double s = elapsed_s(p);
	if (!st->total_bytes || !st->stored_bytes || s < ESTIMATE_AFTER_S || strcmp(st->phase, "reading"))
		return -1;
	uint64_t done = MIN(st->stored_bytes, st->total_bytes);
	return s * (double)(st->total_bytes - done) / (double)done;
}

static void show_json(const struct progress *p, const struct progress_state *st)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	double s = elapsed_s(p), left = left_s(p, st);
	int rc =
	    buf_printf(&b, NULL,
		       "{\"phase\":\"%s\",\"bytes\":%" PRIu64 ",\"records\":%" PRIu64
		       ",\"bytes_per_s\":%.0f,\"elapsed_s\":%.1f,\"stored_bytes\":%" PRIu64 ",\"total_bytes\":",
		       st->phase, st->bytes, st->records, s > 0 ? (double)st->bytes / s : 0.0, s, st->stored_bytes);
	if (!rc)
		rc = st->total_bytes ? buf_printf(&b, NULL, "%" PRIu64, st->total_bytes) : buf_add(&b, "null", 4, NULL);
	if (!rc)
		rc = left >= 0 ? buf_printf(&b, NULL, ",\"left_s\":%.0f", left)
			       : buf_add(&b, ",\"left_s\":null", 14, NULL);
	if (!rc)
		rc = buf_add(&b, ",\"path\":", 8, NULL);
	if (!rc)
		rc = st->path.len ? buf_json_string(&b, st->path, NULL) : buf_add(&b, "null", 4, NULL);
	if (!rc)
		fprintf(stderr, "%.*s}\n", TEXT_ARG(buf_text(&b)));
}

static size_t terminal_columns(void)
{
	struct winsize w;
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col;
	const char *columns = getenv("COLUMNS"); /* a terminal that does not know its size */
	int64_t n;
	return columns && text_int64(text_of(columns), &n) && n > 1 && n <= 10000 ? (size_t)n : COLUMNS;
}

/* The end of a path says more than its beginning: cut in front, at a character. */
static struct text tail_of(struct text shown, size_t columns)
{
	while (text_columns(shown) > columns) {
		size_t n = 1;
		while (n < shown.len && (shown.ptr[n] & 0xc0) == 0x80)
			n++;
		shown = text_from(shown, n);
	}
	return shown;
}

static void put_span(char *out, size_t size, double s)
{
	if (s < 100)
		snprintf(out, size, "%.0f s", s);
	else if (s < 6000)
		snprintf(out, size, "%.0f min", s / 60);
	else
		snprintf(out, size, "%.1f h", s / 3600);
}

static void show_line(const struct progress *p, const struct progress_state *st)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT(64 * KIB), path = BUF_INIT(64 * KIB);
	char passed[32], left[64] = "";
	double s = elapsed_s(p), rest = left_s(p, st);
	size_t columns = terminal_columns() - 1; /* a full line would wrap */
	put_span(passed, sizeof(passed), s);
	if (rest >= 0) {
		char tmp[32];
		put_span(tmp, sizeof(tmp), rest);
		snprintf(left, sizeof(left), ", about %s left", tmp);
	}
	int rc = 0;
	if (strcmp(st->phase, "reading"))
		rc = buf_printf(&line, NULL, "%s: ", st->phase);
	if (!rc)
		rc = buf_printf(&line, NULL, "%.1f MB, %" PRIu64 " records, %.1f MB/s, %s%s  ", (double)st->bytes / 1e6,
				st->records, s > 0 ? (double)st->bytes / 1e6 / s : 0.0, passed, left);
	if (!rc)
		rc = text_visible(st->path, 4 * KIB, &path, NULL);
	if (rc)
		return;
	size_t used = line.len < columns ? line.len : columns; /* all of it is ASCII */
	struct text tail = tail_of(buf_text(&path), columns - used);
	fprintf(stderr, "\r%.*s%.*s\033[K", (int)used, line.ptr, TEXT_ARG(tail));
	fflush(stderr);
}

void progress_show(struct progress *p, const struct progress_state *st)
{
	int64_t now = system_now_ns();
	bool turn = !p->phase || strcmp(p->phase, st->phase) != 0;
	if ((!p->json && !p->terminal) || (!turn && now - p->last_ns < EVERY_NS))
		return;
	p->last_ns = now;
	p->phase = st->phase;
	if (p->json)
		show_json(p, st);
	else
		show_line(p, st);
	p->shown = p->terminal;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
