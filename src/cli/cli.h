/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what the verbs share: arguments, rows out, an opened case, the clock and signals */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "pagetrail/analysis.h"
#include "pagetrail/buf.h"
#include "pagetrail/case.h"
#include "pagetrail/command.h"
#include "pagetrail/limits.h"
#include "pagetrail/policy.h"
#include "pagetrail/stamp.h"

/* --- args.c: options may stand anywhere; "--" ends them; --name=value and --name value --- */
/* OPTION_FILE: a text that may be missing, which means "-", standard output. OPTION_COUNT: at least 1, so that 0 may stand
 * for what was not given. */
enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_FILE, OPTION_INT, OPTION_COUNT, OPTION_TIME, OPTION_PARAM };
struct option_spec {
	const char *name; /* "--json" */
	enum option_kind kind;
	void *value; /* bool *, const char **, int64_t *, int64_t * (ns), struct params * */
};
enum { ARGS_MAX = 4096, PARAMS_MAX = 32 };
struct params { /* --param k=v, in order */
	unsigned n;
	struct text name[PARAMS_MAX], value[PARAMS_MAX];
};
struct args {
	int n; /* positional arguments, verb not counted */
	char **at;
};
/* Compacts argv in place. min/max positional arguments (max < 0: any number). Two tables of options (the second may be
 * NULL, 0): a verb's own and those that verbs share. */
int args_parse(struct args *ret, int argc, char **argv, const struct option_spec *own, size_t n_own,
	       const struct option_spec *shared, size_t n_shared, int min, int max, struct err *err) MUST_CHECK;

/* 2026-09-09T14:00:00Z, with or without zone (UTC), or a bare day; `what` and `name` are for the error. */
int args_time(const char *what, struct text name, struct text t, int64_t *ret_ns, struct err *err) MUST_CHECK;
/* Appends a word as a shell reads it: in single quotes where it is more than letters, digits and what is plain in any shell. */
int args_quote(struct buf *b, struct text t, struct err *err) MUST_CHECK;

/* --- site.c: the formats of the program, and the one that --map describes --- */
struct map;
struct parser;
struct site_formats {
	const struct parser **list;
	size_t n;
	struct map *map; /* NULL: none */
};
int site_open(struct site_formats *s, const char *map, struct err *err) MUST_CHECK;
/* Do the map's samples hold? ERR_INPUT when they do not. */
int site_proved(const struct site_formats *s, const char *map, struct err *err) MUST_CHECK;
/* Something in a file of the user that was not understood but does no harm: a line on stderr. ctx is not used. */
void say_note(void *ctx, struct text what);
void site_close(struct site_formats *s); /* accepts a zeroed one */

/* --- rows.c: one way out for rows: table, JSON, JSON lines, CSV --- */
enum rows_format { ROWS_TABLE, ROWS_JSON, ROWS_JSONL, ROWS_CSV };
struct rows_options {
	bool json, jsonl, csv;
	int64_t limit; /* -1: not given; 0: all */
	const char *columns, *tz;
};
#define ROWS_OPTIONS_INIT ((struct rows_options){.limit = -1})
#define ROWS_OPTIONS(o)                                                                                             \
	{"--json", OPTION_FLAG, &(o).json}, {"--jsonl", OPTION_FLAG, &(o).jsonl}, {"--csv", OPTION_FLAG, &(o).csv}, \
	    {"--limit", OPTION_INT, &(o).limit}, {"--columns", OPTION_TEXT, &(o).columns},                          \
	{                                                                                                           \
		"--tz", OPTION_TEXT, &(o).tz                                                                        \
	}

enum cell_type { CELL_TEXT, CELL_INT, CELL_REAL, CELL_JSON, CELL_TIME, CELL_BOOL };
enum { ROWS_COLUMNS_MAX = 128 };

/* Prints lines that wrap at words, as wide as the terminal is. */
void rows_sentences(struct text notes);
/* One line of text that wraps likewise; first, rest: columns that its first line, and the others, stand in. */
void rows_paragraph(struct text line, unsigned first, unsigned rest);
struct rows_column {
	struct text name;
	enum cell_type type;
};
struct rows; /* an output under way */
/* table_columns: comma list shown in a table when --columns is not given; NULL: all. name: the "query" of the document.
 */
int rows_open(struct rows **ret, const struct rows_options *o, const char *case_path, struct text name,
	      const struct rows_column *columns, unsigned n, const char *table_columns, struct err *err) MUST_CHECK;
void rows_param(struct rows *r, struct text name, struct text value); /* shown under "params" */
void rows_as_of(struct rows *r, int64_t ns);
/* An additional member of the JSON document (value is JSON), e.g. totals; tables print `note` below instead, if not
 * NULL. */
void rows_extra(struct rows *r, const char *name, struct text json);
void rows_note(struct rows *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Cells in column order; rows_end_row() after the last. */
int rows_null(struct rows *r, struct err *err) MUST_CHECK;
int rows_text(struct rows *r, struct text v, struct err *err) MUST_CHECK; /* NULL ptr: null. Also for CELL_JSON */
int rows_int(struct rows *r, int64_t v, struct err *err) MUST_CHECK;
int rows_real(struct rows *r, double v, struct err *err) MUST_CHECK;
int rows_time(struct rows *r, int64_t ns, struct err *err) MUST_CHECK;
int rows_end_row(struct rows *r, struct err *err) MUST_CHECK;
bool rows_full(const struct rows *r);       /* what comes is counted only */
void rows_found(struct rows *r, int64_t n); /* how many there are in all */
/* Rows that another thread makes, cell by cell as above, for rows_join() to give out; *ret NULL: not of this form, where rows
 * are counted or measured one by one (a table, a limit). bytes: that it will hold, mostly. A part is freed by rows_drop(). */
int rows_part(struct rows **ret, const struct rows *r, size_t bytes, struct err *err) MUST_CHECK;
size_t rows_part_bytes(const struct rows *part); /* not joined yet */
/* Rows of a list of its own, made cell by cell as above, for rows_extra(); freed by rows_drop(). */
int rows_list(struct rows **ret, const struct rows_column *columns, unsigned n, struct err *err) MUST_CHECK;
int rows_listed(const struct rows *list, struct buf *b, struct err *err) MUST_CHECK; /* appends it as JSON */
void rows_join(struct rows *r, struct rows *part);
/* Writes what is left and frees; *ret_count = rows given (not only those shown). */
int rows_close(struct rows *r, int64_t *ret_count, struct err *err) MUST_CHECK;
void rows_drop(struct rows *r); /* frees; rows that were given out stay given out. Accepts NULL */

/* --- ask.c: opening a case for questions, and running embedded queries --- */
struct ask {
	struct rows_options rows;
	struct analysis_params analysis;
	struct params params; /* --param; "pool" and "limit" go to the analysis */
	const char *policy;   /* --policy: a file, or POLICY_BUILTIN with a name; NULL: POLICY_DEFAULT */
	int64_t as_of_ns;
	bool
	    count_rest; /* rows beyond the limit are counted by another run of the query, which does not compute their cells */
	bool
	    older_will_do; /* tables that cannot be brought up to date now are shown as they are, with a word about it */
};
#define ASK_INIT ((struct ask){.rows = ROWS_OPTIONS_INIT, .as_of_ns = TIME_UNKNOWN})
#define ASK_OPTIONS(a)                                                                                          \
	ROWS_OPTIONS((a).rows), {"--param", OPTION_PARAM, &(a).params}, {"--policy", OPTION_TEXT, &(a).policy}, \
	{                                                                                                       \
		"--as-of", OPTION_TIME, &(a).as_of_ns                                                           \
	}
/* Opens read-only with everything registered; correlates first when evidence came in since (and the case is writable).
 */
int ask_open(struct case_file **ret, const char *path, struct ask *a, struct err *err) MUST_CHECK;
/* Makes the tables anew and commits them with a row of the journal; extra as in resolve_record(). */
int correlate_now(struct case_file *c, struct text extra, struct err *err) MUST_CHECK;
/* When the evidence last changed: the default of as_of, so that the same case gives the same bytes. */
int ask_as_of(struct case_file *c, const struct ask *a, int64_t *ret_ns, struct err *err) MUST_CHECK;
/* Runs the query with a->params and prints rows. before_close (may be NULL) may add extras and notes. */
int ask_query(struct case_file *c, const char *name, struct ask *a, const char *table_columns,
	      int (*before_close)(struct case_file *c, struct rows *r, struct err *err), int64_t *ret_count,
	      struct err *err) MUST_CHECK;
/* The same rows, given to add() one by one in place of being printed. */
int ask_rows(struct case_file *c, const char *name, const struct ask *a,
	     int (*add)(void *ctx, struct sql *s, struct err *err), void *ctx, struct err *err) MUST_CHECK;
/* The first rows of a query with no parameter but :at, if that, as a JSON list. at_ns may be TIME_UNKNOWN; *ret_more: there are more. */
int ask_list(struct case_file *c, const char *name, int64_t at_ns, int64_t max, struct buf *b, int64_t *ret_n,
	     bool *ret_more, struct err *err) MUST_CHECK;
/* Adds a parameter of the verb's own (a named option); NULL value: nothing. */
void ask_param(struct ask *a, const char *name, const char *value);
/* A name that nobody has would read as "nothing found": ERR_INPUT unless the statement gives a row for it. NULL: no check. */
int ask_known(struct case_file *c, const char *sql, const char *what, const char *value, struct err *err) MUST_CHECK;
/* How many paths a run of ingest was given and did not read to the end. */
int ask_interrupted(struct case_file *c, int64_t *ret, struct err *err) MUST_CHECK;
/* One integer out of a constant statement (0 when no row). */
int ask_int(struct case_file *c, const char *sql, int64_t *ret, struct err *err) MUST_CHECK;

/* --- keep.c: a file given to a verb becomes evidence of the case, which is correlated again where that changes something --- */
int keep_file(const char *case_path, const char *path, const char *format, struct err *err) MUST_CHECK;

/* --- write_file.c: to a file, whole or not at all, where place_check() lets it; "-" is standard output --- */
int write_file(struct case_file *c, const char *kind, const char *file, struct text bytes, struct err *err) MUST_CHECK;

/* --- explain.c: the reasoning behind one request's responses, as text, with the original lines --- */
int explain_print(struct case_file *c, int64_t request, struct err *err) MUST_CHECK;

/* --- system.c: the only clock; signals; exit codes --- */
int64_t system_now_ns(void);
extern volatile sig_atomic_t system_stop; /* set by SIGINT, SIGTERM and SIGHUP once system_catch_stop() was called */
void system_catch_stop(void);
/* Buffers of a megabyte come and go by the thousand: giving each back to the system costs more than hashing it. Each thread
 * keeps up to that much of what it has freed. */
void system_keep_memory(int bytes);
unsigned system_cpus(void);
void system_print_error(const struct err *err);
int system_exit_code(const struct err *err);
int system_flush(struct err *err) MUST_CHECK; /* stdout: ERR_IO when it could not be written */

/* --- progress.c: a line on a terminal, JSON lines, or nothing --- */
struct progress_state {
	const char *phase;       /* reading, resolving, done: a constant */
	uint64_t bytes, records; /* read out of the files */
	uint64_t stored_bytes;   /* of the files as given, that were used up */
	uint64_t total_bytes;    /* of all files; 0: not known */
	struct text path;        /* may be empty */
};
struct progress {
	bool json, terminal, shown; /* shown: a line stands on the terminal */
	const char *phase;
	int64_t started_ns, last_ns;
};
/* mode: of --progress; NULL: on a terminal only. */
int progress_open(struct progress *p, const char *mode, struct err *err) MUST_CHECK;
void progress_show(struct progress *p, const struct progress_state *st);
void progress_clear(struct progress *p); /* before anything else is printed */

/* --- init.c: a new case with its first journal row --- */
int init_case(struct case_file **ret, const char *path, const char *id, const char *title, struct err *err) MUST_CHECK;
/* A case whose maker was killed: it has neither a row of the journal nor a source. */
bool init_unmade(struct case_file *c);
