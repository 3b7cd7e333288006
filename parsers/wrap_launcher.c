/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_launcher.c - wrapper launcher: what launchers of many processes put in front of their lines
 *
 *   [default0]:line                torchrun, behind --tee and --redirects: role and rank on its host; also with a blank
 *   [1,0]<stdout>:line             mpirun --tag-output: job and rank; Open MPI 5 writes [NAME@1,0]<stdout>: line
 *    3: line                       srun --label: number of the task, padded
 *   gpu-01: line                   pdsh, clush: the host
 * pytorch torch/distributed/elastic/multiprocessing (tail_log), documents of Open MPI 4 and 5, Slurm 23, pdsh 2. Ranks of torchrun
 * and mpirun are one worker, as if they had written without labels; tasks of srun and hosts are told apart. "[rank0]:", which torch
 * puts before its own warnings and tracebacks, is no label of a launcher: it stands among lines that have none.
 */
#include <string.h>

#include "log_words.h"
#include "pagetrail/wrapper.h"

static bool is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static size_t digits(struct text t, size_t at)
{
	size_t n = 0;

	while (at + n < t.len && n < 7 && is_digit(t.ptr[at + n]))
		n++;
	return n < 7 ? n : 0;
}

/* "[default0]:": its length, or 0. */
static size_t torchrun(struct text t, struct wrapped *w)
{
	size_t n = 1, rank;

	if (t.len < 5 || t.ptr[0] != '[' || !is_small(t.ptr[1]))
		return 0;
	while (n < t.len && n < 40 && (is_small(t.ptr[n]) || memchr("_-", t.ptr[n], 2)))
		n++;
	rank = digits(t, n);
	n += rank;
	if (!rank || n + 1 >= t.len || t.ptr[n] != ']' || t.ptr[n + 1] != ':')
		return 0;
	if (text_starts(t, "[rank"))
		return 0;
	w->stream = text_sub(t, 1, n - 1);
	n += 2;
	return n + (n < t.len && t.ptr[n] == ' ');
}

/* "[1,0]<stdout>:", "[NAME@1,0]<stdout>: ": its length, or 0. */
static size_t mpirun(struct text t, struct wrapped *w)
{
	size_t close = text_find_char(text_sub(t, 0, 100), ']', 0), job, at, end;

	if (t.len < 10 || t.ptr[0] != '[' || close == SIZE_MAX)
		return 0;
	at = text_rfind_char(text_sub(t, 0, close), '@');
	at = at == SIZE_MAX ? 1 : at + 1;
	job = digits(t, at);
	if (!job || t.ptr[at + job] != ',' || digits(t, at + job + 1) != close - at - job - 1 || close == at + job + 1)
		return 0;
	end = close + 1 + 8;
	if (!text_starts(text_from(t, close + 1), "<stdout>") && !text_starts(text_from(t, close + 1), "<stderr>"))
		return 0;
	if (end >= t.len || t.ptr[end] != ':')
		return 0;
	w->stream = text_sub(t, 1, end - 1);
	end++;
	return end + (at > 1 && end < t.len && t.ptr[end] == ' ');
}

/* " 3: ": its length, or 0. The task gets a name, because a number says nothing where other files have workers too. */
static size_t srun(struct text t, struct arena *a, struct wrapped *w)
{
	size_t from = 0, n;
	char *name;

	while (from < t.len && from < 6 && t.ptr[from] == ' ')
		from++;
	n = digits(t, from);
	if (!n || from + n >= t.len || t.ptr[from + n] != ':' || (from + n + 1 < t.len && t.ptr[from + n + 1] != ' '))
		return 0;
	name = arena_alloc(a, n + 5);
	if (name) {
		memcpy(name, "task-", 5);
		memcpy(name + 5, t.ptr + from, n);
		w->unit = (struct text){name, n + 5};
	}
	return MIN(from + n + 2, t.len);
}

/* "gpu-01: ": small letters with a number, which no level, exception or program has in front of a colon. */
static size_t host(struct text t, struct wrapped *w)
{
	size_t n = 0, numbers = 0;

	while (n < t.len && n < 254 && (is_small(t.ptr[n]) || is_digit(t.ptr[n]) || (n && memchr("-.", t.ptr[n], 2))))
		numbers += is_digit(t.ptr[n++]);
	if (n < 3 || !numbers || !is_small(t.ptr[0]) || n >= t.len || t.ptr[n] != ':' ||
	    (n + 1 < t.len && t.ptr[n + 1] != ' '))
		return 0;
	w->host = text_sub(t, 0, n);
	return MIN(n + 2, t.len);
}

static size_t label(struct text t, struct arena *a, struct wrapped *w)
{
	size_t n = torchrun(t, w);

	if (!n)
		n = mpirun(t, w);
	if (!n)
		n = srun(t, a, w);
	return n ? n : host(t, w);
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};

	return label(record, &u->scratch, &w) ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	size_t n = label(record, &u->scratch, &w);
	int r;

	if (!n)
		return unwrap_refuse(u, "no_label");
	w.text = text_from(record, n);
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_launcher = {
    .name = "launcher",
    .summary = "labels of torchrun, mpirun --tag-output, srun --label, pdsh and clush",
    .checked = "torch 2, Open MPI 4 and 5, Slurm 23, pdsh 2 documents",
    .many = true,
    .bid = bid,
    .record = record,
};
