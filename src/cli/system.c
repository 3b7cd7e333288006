/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - the clock, signals and exit codes: what only a program, not a library, may touch */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
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
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction a = {.sa_handler = on_stop}, was;
	sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) /* what nohup ignores stays ignored */
		if (sigaction(stops[i], NULL, &was) || was.sa_handler != SIG_IGN)
			sigaction(stops[i], &a, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a limit of file size is an error like a full disk */
}

void system_keep_memory(int bytes)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, bytes);
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
