/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest.c - which files a case is made of; the same for others: check sums, DFXML, a signed statement */
#include "pagetrail/manifest.h"
#include "publish.h"

static struct {
	const char *dfxml, *sums, *statement, *key; /* files; NULL: not asked for */
	struct dsse_key *signer;
	const struct ask *ask;
} asked;

DEFINE_CLEANUP(struct manifest *, manifest_free)

static int write_files(struct case_file *c, const struct manifest *m, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf sums = BUF_INIT(SIGNED_MAX_BYTES), dfxml = BUF_INIT(SIGNED_MAX_BYTES);
	CLEANUP(buf_done) struct buf statement = BUF_INIT(SIGNED_MAX_BYTES), envelope = BUF_INIT(2 * SIGNED_MAX_BYTES);
	CLEANUP(buf_done) struct buf said = BUF_INIT(64 * KIB);
	int rc = asked.sums ? manifest_sums(m, &sums, err) : 0;
	if (!rc && asked.dfxml)
		rc = manifest_dfxml(m, &dfxml, err);
	if (!rc && asked.statement)
		rc = manifest_statement(m, &statement, err);
	if (!rc && asked.signer)
		rc = publish_sign(asked.signer, &statement, &envelope, err);
	if (!rc)
		rc = buf_add_char(&said, '[', err);
	if (!rc && asked.sums)
		rc = publish_file(c, "sums", asked.sums, &sums, NULL, &said, r, err);
	if (!rc && asked.dfxml)
		rc = publish_file(c, "dfxml", asked.dfxml, &dfxml, NULL, &said, r, err);
	if (!rc && asked.statement)
		rc = publish_file(c, "statement", asked.statement, asked.signer ? &envelope : &statement, asked.signer,
				  &said, r, err);
	if (!rc)
		rc = buf_add_char(&said, ']', err);
	if (!rc)
		rows_extra(r, "published", buf_text(&said));
	return rc;
}

static int add_extras(struct case_file *c, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf totals = BUF_INIT(64 * KIB), said = BUF_INIT(64 * KIB);
	CLEANUP(manifest_freep) struct manifest *m = NULL;
	int64_t dated_ns;
	const struct query_text *q = query_find(queries, n_queries, TEXT("manifest"));
	int rc = q ? ask_as_of(c, asked.ask, &dated_ns, err) : err_set(err, ERR_BUG, "no query 'manifest'");
	if (!rc)
		rc = manifest_load(&m, c, q->sql, dated_ns, err);
	if (!rc)
		rc = manifest_totals(m, &totals, err);
	if (!rc)
		rc = manifest_say(m, &said, err);
	if (rc)
		return rc;
	rows_extra(r, "totals", buf_text(&totals));
	rows_note(r, "%.*s", TEXT_ARG(buf_text(&said)));
	return write_files(c, m, r, err);
}

static int check_options(const struct publish_name *files, size_t n, struct err *err)
{
	int rc = publish_check_files(files, n, err);
	if (!rc && asked.key && !asked.statement)
		rc = err_set(err, ERR_USAGE, "--key is for --statement");
	return rc ? rc : publish_key(&asked.signer, asked.key, err);
}

static int show(const char *path, struct ask *ask, struct err *err)
{
	CLEANUP(case_closep) struct case_file *c = NULL;
	const struct publish_name files[] = {{"--sums", asked.sums, false},
					     {"--dfxml", asked.dfxml, false},
					     {"--statement", asked.statement, false},
					     {"--key", asked.key, true},
					     {"CASE", path, true}};
	int rc = check_options(files, ARRAY_SIZE(files), err);
	if (!rc)
		rc = ask_open(&c, path, ask, err);
	if (!rc)
		rc = publish_places(c, files, ARRAY_SIZE(files), err);
	return rc ? rc
		  : ask_query(c, "manifest", ask,
			      "source,file,member,status,format,worker,stored_bytes,records,unparsed,sha256",
			      add_extras, NULL, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const struct option_spec options[] = {{"--sums", OPTION_TEXT, &asked.sums},
					      {"--dfxml", OPTION_TEXT, &asked.dfxml},
					      {"--statement", OPTION_TEXT, &asked.statement},
					      {"--key", OPTION_TEXT, &asked.key}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	asked.ask = &ask;
	ask.older_will_do = true;
	rc = show(args.at[0], &ask, err);
	dsse_key_free(asked.signer);
	asked.signer = NULL;
	return rc;
}

const struct command command_manifest = {
    .name = "manifest",
    .synopsis = "CASE [--sums FILE] [--dfxml FILE] [--statement FILE [--key FILE]]",
    .summary = "Lists the files a case is made of, with digests, for others to check",
    .help = "A row for each source: the file as it was given and its SHA-256, what was read\n"
	    "out of it and the SHA-256 of that, its records, its times and how sure they are,\n"
	    "who read it and when. Files with bytes that were known already have rows too\n"
	    "(status known), and so have those that could not be read. Totals, the head of\n"
	    "the journal and the content digest stand below.\n\n"
	    "  --sums FILE       SHA-256 of each file as given: 'sha256sum -c FILE' checks\n"
	    "                    them, in the folder that the paths begin in\n"
	    "  --dfxml FILE      Digital Forensics XML (DFXML 2.0)\n"
	    "  --statement FILE  an in-toto statement about the files\n"
	    "  --key FILE        signs it (DSSE) with an Ed25519 key in PEM\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "The same case gives the same bytes. What the columns mean: docs/manifest.md.\n\n"
	    "  pagetrail manifest case.ptc --sums SHA256SUMS && sha256sum -c SHA256SUMS\n",
    .run = run,
};
