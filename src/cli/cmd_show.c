/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - original bytes: exact to a file or pipe, made harmless on a terminal */
#include "cli.h"

#include <unistd.h>

#include "pagetrail/evidence.h"

struct writer {
	bool visible;
	struct err *err;
};

static int write_bytes(void *ctx, struct text bytes, uint64_t off)
{
	struct writer *w = ctx;
	(void)off;
	if (!w->visible) {
		fwrite(bytes.ptr, 1, bytes.len, stdout);
		return ferror(stdout) ? err_set_errno(w->err, ERR_IO, "cannot write the output") : 0;
	}
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * MIB);
	struct text line;
	while (text_split(&bytes, '\n', &line)) {
		buf_clear(&b);
		int rc = text_visible(text_chomp(line), SIZE_MAX, &b, w->err);
		if (rc)
			return rc;
		fwrite(b.ptr ? b.ptr : "", 1, b.len, stdout);
		fputc('\n', stdout);
	}
	return 0;
}

static int show_ref(struct case_file *c, const char *arg, struct writer *w, struct err *err)
{
	struct ref ref;
	if (!ref_parse(text_of(arg), &ref)) {
		err_set(err, ERR_USAGE, "'%s' is not a reference", arg);
		return err_hint(err, "references look like S3@4096+180");
	}
	CLEANUP(buf_done) struct buf b = BUF_INIT(1024 * MIB);
	int rc = evidence_read(c, ref.source, ref.off, ref.len, &b, err);
	if (rc)
		return err_where(err, "%s", arg), rc;
	return write_bytes(w, buf_text(&b), ref.off);
}

/* A source that is not there would read as one without bytes. */
static int show_source(struct case_file *c, int64_t source, struct writer *w, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT 1 FROM source WHERE source = ?1", err);
	if (!rc)
		rc = sql_int(s, 1, source, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc == 1)
		return evidence_each(c, source, write_bytes, w, err);
	if (rc)
		return rc;
	err_set(err, ERR_INPUT, "no source %lld in this case", (long long)source);
	return err_where(err, "%s", case_path(c));
}

static int run(int argc, char **argv, struct err *err)
{
	int64_t source = -1;
	bool all = false, raw = false;
	const struct option_spec options[] = {
	    {"--source", OPTION_COUNT, &source}, {"--all", OPTION_FLAG, &all}, {"--raw", OPTION_FLAG, &raw}};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), NULL, 0, 1, -1, err);
	if (rc)
		return rc;
	if ((args.n > 1 || source < 0 || !all) && (args.n < 2 || source >= 0 || all)) {
		err_set(err, ERR_USAGE, "'show' takes references, or --source N --all");
		return err_hint(err, "see 'pagetrail help show'");
	}
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = case_open(&c, args.at[0], CASE_READ, err);
	if (rc)
		return rc;
	struct writer w = {.visible = !raw && isatty(STDOUT_FILENO), .err = err};
	if (source >= 0) {
		rc = show_source(c, source, &w, err);
		return rc ? rc : EXIT_DONE;
	}
	for (int i = 1; !rc && i < args.n; i++)
		rc = show_ref(c, args.at[i], &w, err);
	return rc ? rc : EXIT_DONE;
}

const struct command command_show = {
    .name = "show",
    .synopsis = "CASE REF… | CASE --source N --all [--raw]",
    .summary = "Prints original records, byte for byte",
    .help = "REF is what the other verbs print in refs: S3@4096+180 = source 3, 180 bytes from offset 4096.\n"
	    "To a file or a pipe the bytes are exact. On a terminal control characters are made visible.\n\n"
	    "  --source N --all   the whole source, as it was read\n"
	    "  --raw              exact bytes on a terminal too\n\n"
	    "  pagetrail show case.ptc S3@4096+180\n",
    .run = run,
};
