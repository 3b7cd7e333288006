/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - the clock, signals, exit codes and progress: what only a program, not a library, may touch */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t system_stop;

int64_t system_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void on_stop(int sig)
{
	(void)sig;
	/* a second signal ends the program the hard way: the case survives that too */
	if (system_stop)
		_exit(EXIT_STOPPED);
	system_stop = 1;
}

void system_catch_stop(void)
{
	struct sigaction a = {.sa_handler = on_stop};
	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

unsigned system_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

static void put_visible(struct text t)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	if (!text_visible(t, 4 * KIB, &b, NULL))
		fwrite(b.ptr, 1, b.len, stderr);
}

void system_print_error(const struct err *err)
{
	if (!err->what[0]) /* a closed pager: nobody is there to be told */
		return;
	fputs("pagetrail: ", stderr);
	put_visible(text_of(err->what));
	if (err->where[0]) {
		fputs(" (", stderr);
		put_visible(text_of(err->where));
		fputs(")", stderr);
	}
	if (err->hint[0]) {
		fputs(": ", stderr);
		put_visible(text_of(err->hint));
	}
	fputs("\n", stderr);
}

int system_exit_code(const struct err *err)
{
	switch (err->code) {
	case 0: return EXIT_DONE;
	case ERR_USAGE: return EXIT_USAGE;
	case ERR_INPUT:
	case ERR_IO: return EXIT_INPUT;
	case ERR_STORE:
	case ERR_DAMAGED: return EXIT_CASE;
	default: return EXIT_STOPPED;
	}
}

int system_flush(struct err *err)
{
	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		return errno == EPIPE ? err_set(err, ERR_IO, "%s", "")
				      : err_set_errno(err, ERR_IO, "cannot write the output");
	return 0;
}

void progress_open(struct progress *p, const char *mode)
{
	*p = (struct progress){.json = mode && text_is(text_of(mode), "json"), .started_ns = system_now_ns()};
	p->terminal = !p->json && (mode || isatty(STDERR_FILENO));
}

void progress_show(struct progress *p, uint64_t bytes, uint64_t records, struct text path)
{
	int64_t now = system_now_ns();
	if ((!p->json && !p->terminal) || now - p->last_ns < NS_PER_S / 5)
		return;
	p->last_ns = now;
	double s = (double)(now - p->started_ns) / 1e9;
	if (p->json) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
		if (buf_json_string(&b, path, NULL))
			return;
		fprintf(stderr, "{\"bytes\":%" PRIu64 ",\"records\":%" PRIu64 ",\"elapsed_s\":%.1f,\"path\":%.*s}\n",
			bytes, records, s, TEXT_ARG(buf_text(&b)));
		return;
	}
	/* the end of a path says more than its beginning */
	struct text tail = path.len > 40 ? text_from(path, path.len - 40) : path;
	fprintf(stderr, "\r\033[K%.1f MB, %" PRIu64 " records, %.1f MB/s, %.0f s  ", (double)bytes / 1e6, records,
		s > 0 ? (double)bytes / 1e6 / s : 0.0, s);
	put_visible(tail);
	fflush(stderr);
}

void progress_close(struct progress *p)
{
	if (p->terminal && p->last_ns)
		fputs("\r\033[K", stderr);
}
