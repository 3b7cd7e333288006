/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_snapshot.c - asks running nodes what they say of themselves, as evidence of the case */
#include "live.h"

#include <inttypes.h>
#include <stdlib.h>

#include "pagetrail/digest.h"

static const struct {
	const char *name;
	enum cell_type type;
} columns[] = {
    {"node", CELL_TEXT},  {"document", CELL_TEXT}, {"outcome", CELL_TEXT}, {"status", CELL_INT}, {"bytes", CELL_INT},
    {"at", CELL_TIME},    {"ms", CELL_REAL},       {"url", CELL_TEXT},     {"peer", CELL_TEXT},  {"tls", CELL_TEXT},
    {"masked", CELL_INT}, {"why", CELL_TEXT},      {"ref", CELL_TEXT},
};

struct asked {
	struct rows *rows;
	int64_t count[LIVE_OUTCOMES], masked;
};

static int put_text(struct rows *r, const char *s, struct err *err)
{
	return rows_text(r, *s ? text_of(s) : (struct text){NULL, 0}, err);
}

static int on_attempt(void *ctx, const struct live_attempt *a, struct err *err)
{
	struct asked *k = ctx;
	const struct live_call *c = &a->call;
	char ref[96] = "";
	k->count[c->outcome]++;
	k->masked += (int64_t)c->masked;
	if (a->source)
		snprintf(ref, sizeof(ref), "S%" PRId64 "@%" PRIu64 "+%" PRIu64, a->source, a->off, a->len);
	int rc = rows_text(k->rows, a->node->name, err);
	if (!rc)
		rc = put_text(k->rows, a->document, err);
	if (!rc)
		rc = put_text(k->rows, live_outcome_names[c->outcome], err);
	if (!rc)
		rc = c->status ? rows_int(k->rows, c->status, err) : rows_null(k->rows, err);
	if (!rc)
		rc = rows_int(k->rows, (int64_t)c->answer.len, err);
	if (!rc)
		rc = rows_time(k->rows, c->ended_ns, err);
	if (!rc)
		rc = rows_real(k->rows, (double)(c->ended_ns - c->started_ns) / 1e6, err);
	const char *const texts[] = {a->url, c->peer, c->tls};
	for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
		rc = put_text(k->rows, texts[i], err);
	if (!rc)
		rc = rows_int(k->rows, (int64_t)c->masked, err);
	if (!rc)
		rc = put_text(k->rows, c->why, err);
	if (!rc)
		rc = put_text(k->rows, ref, err);
	return rc ? rc : rows_end_row(k->rows, err);
}

/* One row of the journal for the run; each source has its own. */
static int write_journal(const struct live_snapshot *s, size_t nodes, size_t passed_over, struct err *err)
{
	unsigned char head[SHA256_BYTES];
	char detail[160];
	snprintf(detail, sizeof(detail),
		 "{\"nodes\":%zu,\"answered\":%zu,\"not_answered\":%zu,\"pods_passed_over\":%zu}", nodes, s->answered,
		 nodes - s->answered, passed_over);
	int rc = case_begin(s->c, err);
	if (!rc)
		rc = journal_append(s->c, s->ingest->now_ns, "snapshot", text_of(detail), head, err);
	return rc ? rc : case_commit(s->c, err);
}

static int add_totals(struct asked *k, const struct live_snapshot *s, const struct live_nodes *nodes, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB), said = BUF_INIT(4 * KIB);
	int rc = buf_printf(
	    &b, err, "{\"nodes\":%zu,\"answered\":%zu,\"not_answered\":%zu,\"pods_passed_over\":%zu,\"outcomes\":{",
	    nodes->n, s->answered, nodes->n - s->answered, nodes->passed_over);
	for (size_t i = 0; !rc && i < LIVE_OUTCOMES; i++) {
		if (!k->count[i])
			continue;
		rc = buf_printf(&b, err, "%s\"%s\":%" PRId64, said.len ? "," : "", live_outcome_names[i], k->count[i]);
		if (!rc)
			rc = buf_printf(&said, err, "%s%s %" PRId64, said.len ? ", " : "", live_outcome_names[i],
					k->count[i]);
	}
	if (!rc)
		rc = buf_add_text(&b, TEXT("}}"), err);
	if (rc)
		return rc;
	rows_extra(k->rows, "totals", buf_text(&b));
	rows_note(k->rows, "%zu node%s: %zu answered, %zu did not, or not wholly. Requests: %.*s", nodes->n,
		  PLURAL(nodes->n), s->answered, nodes->n - s->answered, TEXT_ARG(buf_text(&said)));
	if (nodes->passed_over)
		rows_note(k->rows, "%zu pod%s had ended and %s not asked", nodes->passed_over,
			  PLURAL(nodes->passed_over), nodes->passed_over == 1 ? "was" : "were");
	if (k->masked)
		rows_note(k->rows, "%" PRId64 " key%s in answers %s overwritten with 'x' before anything was kept",
			  k->masked, PLURAL(k->masked), k->masked == 1 ? "was" : "were");
	return 0;
}

static int collect_nodes(struct live_nodes *nodes, const struct args *args, const char *file,
			 const struct live_pods *pods, struct err *err)
{
	int rc = 0;
	for (int i = 1; i < args->n && !rc; i++)
		rc = live_nodes_add(nodes, args->at[i], err);
	if (!rc && file)
		rc = live_nodes_read(nodes, file, pods, err);
	if (!rc && !nodes->n && !nodes->passed_over)
		rc = err_set(err, ERR_USAGE, "no node to ask");
	return rc == ERR_USAGE ? err_hint(err, "give URLs, NAME=URL, or --nodes FILE") : rc;
}

static int ask_nodes(const char *path, const struct live_nodes *nodes, struct live_args *live,
		     const struct rows_options *rows, size_t *ret_answered, struct err *err)
{
	CLEANUP(site_close) struct site_formats site = {0};
	CLEANUP(case_closep) struct case_file *c = NULL;
	struct asked k = {0};
	struct rows_column cols[ARRAY_SIZE(columns)];
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		cols[i] = (struct rows_column){text_of(columns[i].name), columns[i].type};
	int rc = site_open(&site, NULL, err);
	if (!rc)
		rc = live_case(&c, path, err);
	if (!rc)
		rc = rows_open(&k.rows, rows, path, TEXT("snapshot"), cols, ARRAY_SIZE(columns),
			       "node,document,outcome,status,bytes,peer,why", err);
	if (rc)
		return rc;
	struct ingest_options o = {.parsers = site.list,
				   .n_parsers = site.n,
				   .wrappers = wrappers,
				   .n_wrappers = n_wrappers,
				   .now_ns = system_now_ns()};
	struct live_snapshot s = {.c = c, .live = &live->options, .ingest = &o, .on_attempt = on_attempt, .ctx = &k};
	rows_as_of(k.rows, o.now_ns);
	rc = live_snapshot(&s, nodes, err);
	struct err first = *err;
	if (!rc || rc == ERR_INTERRUPTED) { /* what came is kept, told and correlated */
		struct err second = {0};
		int after = write_journal(&s, nodes->n, nodes->passed_over, &second);
		if (!after)
			after = add_totals(&k, &s, nodes, &second);
		if (!after && !rc)
			after = live_correlate(c, &second);
		if (!rc && after) {
			rc = after;
			first = second;
		}
	}
	int shown = rows_close(k.rows, NULL, err);
	*ret_answered = s.answered;
	if (rc) {
		*err = first;
		return rc;
	}
	struct case_file *done = c;
	c = NULL;
	return shown ? shown : case_close(done, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct rows_options rows = ROWS_OPTIONS_INIT;
	CLEANUP(live_args_close) struct live_args live = LIVE_ARGS_INIT;
	CLEANUP(live_nodes_done) struct live_nodes nodes = {0};
	struct live_pods pods = {0};
	const char *file = NULL;
	const struct option_spec options[] = {{"--nodes", OPTION_TEXT, &file},
					      {"--port", OPTION_COUNT, &pods.port},
					      {"--https", OPTION_FLAG, &pods.https},
					      LIVE_OPTIONS(live)};
	const struct option_spec shared[] = {ROWS_OPTIONS(rows)};
	struct args args;
	size_t answered = 0;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, -1, err);
	if (!rc && pods.port > 65535)
		rc = err_set(err, ERR_USAGE, "--port takes 1 to 65535");
	live_nodes_begin(&nodes);
	if (!rc)
		rc = collect_nodes(&nodes, &args, file, &pods, err);
	if (!rc)
		rc = live_args_open(&live, 15, 8, err);
	if (rc)
		return rc;
	system_catch_stop();
	rc = ask_nodes(args.at[0], &nodes, &live, &rows, &answered, err);
	return rc ? rc : answered < nodes.n ? EXIT_FOUND : EXIT_DONE;
}

const struct command command_snapshot = {
    .name = "snapshot",
    .synopsis = "CASE [NAME=]URL… [--nodes FILE] [--header-file FILE] [--cacert FILE] [--timeout S]",
    .summary = "Asks running nodes what they say of themselves, and keeps the answers as evidence",
    .help = "From each node /server_info, /model_info (or their older names), /v1/models and\n"
	    "/metrics are asked. What comes is kept byte for byte with its time and its peer, and\n"
	    "'deploy' counts it as said by the process itself. Who refuses, is late, lies about a\n"
	    "length or answers nonsense is kept as an attempt, with the bytes that came.\n"
	    "NAME is the worker's, as its logs name it; without it the node is HOST:PORT.\n\n"
	    "  --nodes FILE         lines '[NAME] URL', or the JSON of kubectl get pods\n"
	    "  --port N, --https    of pods; without --port the one that they declare\n"
	    "  --header-file FILE   header lines to send, such as Authorization; nobody else may\n"
	    "                       read the file. They are kept and shown nowhere\n"
	    "  --cacert FILE        certificates to trust, instead of the system's\n"
	    "  --connect-timeout S  seconds until there is a connection: 5\n"
	    "  --timeout S          seconds for a whole answer: 15\n"
	    "  --max-bytes N        of one answer: 4194304\n"
	    "  --parallel N         nodes asked at a time: 8\n"
	    "  --json --jsonl --csv --columns A,B --limit N --tz ZONE\n\n"
	    "Redirects are not followed, proxies are not used. Exit code 1 when a node did not\n"
	    "answer, or not wholly. docs/live.md says what is kept.\n\n"
	    "  pagetrail snapshot case.ptc prefill-0=http://10.0.0.5:30000\n"
	    "  kubectl get pods -l app=engine -o json > pods.json\n"
	    "  pagetrail snapshot case.ptc --nodes pods.json --port 30000\n",
    .run = run,
};
