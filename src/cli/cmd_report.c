/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - writes reports from the case */
#include "publish.h"

#include <inttypes.h>
#include <string.h>

#include "pagetrail/inventory.h"
#include "pagetrail/report.h"

#define NOT_GIVEN INT64_MIN

static int on_file(void *ctx, struct text path)
{
	(void)ctx;
	printf("wrote %.*s\n", TEXT_ARG(path));
	return 0;
}

static int on_searched(void *ctx, const struct report_searched *s)
{
	(void)ctx;
	printf("searched %" PRIu64 " file%s (%" PRIu64 " byte%s) for %" PRIu64
	       " name%s, ids and times of others: 0 found; %" PRIu64 " left out (digits alone, or waived)\n",
	       s->files, PLURAL(s->files), s->bytes, PLURAL(s->bytes), s->names, PLURAL(s->names), s->left_out);
	return 0;
}

struct asked {
	const char *tenant, *audience, *key, *new_key, *note, *round, *answers, *regimes, *holidays, *sign, *inventory,
	    *before, *at;
	int64_t issue;
	struct params waived; /* name of a tenant, and why it may stand in papers of others */
	bool all;
};

/* Which kinds there are, for a message. */
static int no_kind(const char *name, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(4 * KIB);
	const char *kind;
	bool tenant, open;
	int rc = 0;
	for (size_t i = 0; !rc && (kind = report_kind(i, &tenant, &open)); i++)
		rc = buf_printf(&b, err, "%s%s", i ? ", " : "", kind);
	if (rc)
		return rc;
	err_set(err, ERR_USAGE, "no report kind '%s'", name);
	return err_hint(err, "there is: %s", b.ptr);
}

static int check_audience(struct report_options *o, const struct asked *a, bool tenant, bool open, struct err *err)
{
	const char *fixed = open ? "public" : "internal";
	o->audience = a->audience;
	if (tenant) {
		if (!a->audience)
			err_set(err, ERR_USAGE, "papers for tenants need --audience NAME");
		else if (!strcmp(a->audience, "internal") || !strcmp(a->audience, "public"))
			err_set(err, ERR_USAGE, "papers for tenants are not for the audience '%s'", a->audience);
		else
			return 0;
		return err_hint(err,
				"pseudonyms are made for one audience, and cannot be joined with those for another");
	}
	if (!a->audience)
		o->audience = fixed;
	if (!strcmp(o->audience, fixed))
		return 0;
	err_set(err, ERR_USAGE,
		open ? "the public report is for the audience '%s' only"
		     : "this report is for the audience '%s' only: it names tenants, requests or replicas",
		fixed);
	return err_hint(err, "do not hand it to a tenant or to the public");
}

/* What goes with which kind. */
static int check(struct report_options *o, const struct asked *a, struct err *err)
{
	bool tenant = a->all, open = false, found = a->all;
	const char *kind;
	for (size_t i = 0; !found && (kind = report_kind(i, &tenant, &open)); i++)
		found = !strcmp(kind, o->kind);
	if (!found)
		return no_kind(o->kind, err);
	int rc = check_audience(o, a, tenant, open, err);
	if (rc)
		return rc;
	if (tenant && !a->all && !a->tenant)
		return err_set(err, ERR_USAGE, "%s needs --tenant NAME", o->kind);
	if ((!tenant || a->all) && a->tenant)
		return err_set(err, ERR_USAGE, "--tenant goes with a notice");
	if (tenant && !a->key && !a->new_key) {
		err_set(err, ERR_USAGE, "papers for tenants need --case-key FILE");
		return err_hint(err, "--new-case-key FILE makes one; keep it outside of the case");
	}
	if (!tenant && (a->key || a->new_key))
		return err_set(err, ERR_USAGE, "this kind of report has no pseudonyms: it takes no key");
	if (a->key && a->new_key)
		return err_set(err, ERR_USAGE, "--case-key and --new-case-key exclude each other");
	if (a->round && strcmp(a->round, "hour") != 0 && strcmp(a->round, "day") != 0)
		return err_set(err, ERR_USAGE, "--round takes hour or day, not '%s'", a->round);
	if (a->issue < 1 || a->issue > ISSUE_MAX)
		return err_set(err, ERR_USAGE, "--issue takes a number from 1 to %d", ISSUE_MAX);
	struct text list = text_of(o->forms ? o->forms : ""), part;
	while (o->forms && text_split(&list, ',', &part))
		if (!text_is(part, "json") && !text_is(part, "md") && !text_is(part, "txt") && !text_is(part, "csv") &&
		    !text_is(part, "sheet") && !text_is(part, "iodef") && !text_is(part, "xlsx") &&
		    !text_is(part, "tsq"))
			return err_set(err, ERR_USAGE,
				       "--also takes json, md, txt, csv, sheet, xlsx, iodef and tsq, not '%.*s'",
				       TEXT_ARG(part));
	for (unsigned i = 0; i < a->waived.n; i++)
		if (a->waived.value[i].len < 10)
			return err_set(err, ERR_USAGE, "--waive %.*s=REASON needs a reason that others understand",
				       TEXT_ARG(a->waived.name[i]));
	o->waived = a->waived.name;
	o->n_waived = a->waived.n;
	o->tenant = a->tenant;
	o->round_s = a->round && !strcmp(a->round, "day") ? 86400 : 3600;
	o->issue = (int)a->issue;
	return 0;
}

static int take_key(struct report_options *o, const struct asked *a, struct case_key *key, struct err *err)
{
	if (!a->key && !a->new_key)
		return 0;
	int rc = a->new_key ? case_key_new(key, a->new_key, err) : case_key_read(key, a->key, err);
	if (rc)
		return rc;
	o->key = key;
	printf("key %s%s\n", key->id, a->new_key ? " made" : "");
	return 0;
}

/* What people give beside the case. */
struct texts {
	struct buf note, answers, regimes, holidays;
};
#define TEXTS_INIT \
	((struct texts){BUF_INIT(MIB), BUF_INIT(SIDE_FILE_MAX_BYTES), BUF_INIT(SIDE_FILE_MAX_BYTES), BUF_INIT(MIB)})

static void texts_done(struct texts *t)
{
	buf_done(&t->note);
	buf_done(&t->answers);
	buf_done(&t->regimes);
	buf_done(&t->holidays);
}

static int text_read(struct buf *b, const char *path, const char *what, struct text *ret, struct err *err)
{
	int rc = path ? buf_add_file(b, path, what, err) : 0;
	if (path)
		*ret = b->len ? buf_text(b) : (struct text){"", 0};
	return rc;
}

static int texts_read(struct texts *t, struct report_options *o, const struct asked *a, struct err *err)
{
	bool sheet = a->all || !strcmp(o->kind, "worksheet");
	if (!sheet && (o->regime || a->regimes || a->holidays || o->zone))
		return err_set(err, ERR_USAGE, "--regime, --regimes, --holidays and --zone go with the worksheet");
	bool deploy = a->all || !strcmp(o->kind, "deploy");
	if (!deploy && (a->inventory || a->at))
		return err_set(err, ERR_USAGE, "--inventory and --at go with the deployment");
	int rc = text_read(&t->note, a->note, "note", &o->note, err);
	if (!rc)
		rc = text_read(&t->answers, a->answers, "answers", &o->answers, err);
	if (!rc)
		rc = text_read(&t->regimes, a->regimes, "regimes", &o->regimes, err);
	return rc ? rc : text_read(&t->holidays, a->holidays, "list of holidays", &o->holidays, err);
}

static int print_waiver(struct text name, struct text reason, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = text_visible(name, 200, &b, err);
	if (!rc)
		rc = buf_add_text(&b, TEXT(": "), err);
	if (!rc)
		rc = text_visible(reason, 1000, &b, err);
	if (!rc)
		printf("not searched for, waived by a person: %s\n", b.ptr);
	return rc;
}

DEFINE_CLEANUP(struct inventory *, inventory_free)

static int take_deployment(struct report_options *o, const struct asked *a, struct inventory **inventory,
			   struct err *err)
{
	o->deploy_at_ns = TIME_UNKNOWN;
	int rc = a->at ? args_time("option", TEXT("--at"), text_of(a->at), &o->deploy_at_ns, err) : 0;
	return !rc && a->inventory ? inventory_load(inventory, a->inventory, say_note, NULL, err) : rc;
}

DEFINE_CLEANUP(struct report_before *, report_before_free)

/* A delta is asked for as itself, and is of the kind of the earlier issue, with all that goes with that kind. */
static int take_before(struct report_options *o, struct asked *a, struct report_before **before, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(BEFORE_MAX_BYTES);
	bool delta = !a->all && !strcmp(o->kind, "delta");
	if (delta != (a->before != NULL)) {
		err_set(err, ERR_USAGE, delta ? "a delta needs --before FILE" : "--before goes with the kind delta");
		return err_hint(err, "FILE is the XML of an earlier issue");
	}
	int rc = delta ? buf_add_file(&b, a->before, "earlier issue", err) : 0;
	if (!rc && delta)
		rc = report_before_open(before, buf_text(&b), report_assets, n_report_assets, err);
	if (rc)
		return rc;
	if (delta)
		o->kind = report_before_kind(*before);
	o->before = *before;
	if (a->issue == NOT_GIVEN)
		a->issue = delta ? report_before_issue(*before) + 1 : 1;
	return 0;
}

/* A new key is made late: not for a case that cannot be opened. It stays when the rest fails, since what was written may
 * have left the house. */
static int write_report(const char *path, struct ask *ask, struct report_options *o, const struct asked *a,
			struct case_key *key, struct err *err)
{
	CLEANUP(case_closep) struct case_file *c = NULL;
	o->deploy_age_ns = ask->as_of_ns;
	ask->analysis.often = true;
	int rc = ask_open(&c, path, ask, err);
	if (!rc)
		rc = resolve_sealed(c, err);
	if (!rc)
		rc = ask_as_of(c, ask, &o->as_of_ns, err);
	o->params = &ask->analysis;
	if (!rc)
		rc = take_key(o, a, key, err);
	if (rc)
		return rc;
	rc = report_write(c, o, err);
	return rc < 0 && a->new_key
		   ? err_hint(err, "the key '%s' is made and stays: use it with --case-key", a->new_key)
		   : rc;
}

static int write_reports(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	struct asked a = {.issue = NOT_GIVEN};
	struct case_key key = {.id = ""};
	struct dsse_key *signer = NULL;
	struct report_options o = {.out_dir = ".",
				   .assets = report_assets,
				   .n_assets = n_report_assets,
				   .queries = queries,
				   .n_queries = n_queries,
				   .on_file = on_file,
				   .on_searched = on_searched,
				   .on_remark = say_note,
				   .now_ns = system_now_ns()};
	const struct option_spec options[] = {{"--out", OPTION_TEXT, &o.out_dir},
					      {"--audience", OPTION_TEXT, &a.audience},
					      {"--issue", OPTION_COUNT, &a.issue},
					      {"--tenant", OPTION_TEXT, &a.tenant},
					      {"--case-key", OPTION_TEXT, &a.key},
					      {"--new-case-key", OPTION_TEXT, &a.new_key},
					      {"--note", OPTION_TEXT, &a.note},
					      {"--round", OPTION_TEXT, &a.round},
					      {"--all", OPTION_FLAG, &a.all},
					      {"--answers", OPTION_TEXT, &a.answers},
					      {"--approved", OPTION_FLAG, &o.approved},
					      {"--regime", OPTION_TEXT, &o.regime},
					      {"--regimes", OPTION_TEXT, &a.regimes},
					      {"--holidays", OPTION_TEXT, &a.holidays},
					      {"--zone", OPTION_TEXT, &o.zone},
					      {"--also", OPTION_TEXT, &o.forms},
					      {"--key", OPTION_TEXT, &a.sign},
					      {"--waive", OPTION_PARAM, &a.waived},

					      {"--inventory", OPTION_TEXT, &a.inventory},
					      {"--at", OPTION_TEXT, &a.at},
					      {"--before", OPTION_TEXT, &a.before}};
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	CLEANUP(texts_done) struct texts texts = TEXTS_INIT;
	struct args args;
	int rc = args_parse(&args, argc, argv, options, ARRAY_SIZE(options), shared, ARRAY_SIZE(shared), 1, 2, err);
	if (rc)
		return rc;
	if (a.all == (args.n == 2))
		return err_set(err, ERR_USAGE, "name one kind of report, or give --all");
	o.kind = a.all ? NULL : args.at[1];
	CLEANUP(report_before_freep) struct report_before *before = NULL;
	rc = take_before(&o, &a, &before, err);
	if (!rc)
		rc = check(&o, &a, err);
	if (!rc)
		rc = texts_read(&texts, &o, &a, err);
	CLEANUP(inventory_freep) struct inventory *inventory = NULL;
	if (!rc)
		rc = take_deployment(&o, &a, &inventory, err);
	ask.analysis.inventory = inventory;
	if (!rc)
		rc = publish_key(&signer, a.sign, err);
	o.sign = signer;
	if (!rc)
		rc = write_report(args.at[0], &ask, &o, &a, &key, err);
	for (unsigned i = 0; !rc && i < a.waived.n; i++)
		rc = print_waiver(a.waived.name[i], a.waived.value[i], err);
	case_key_wipe(&key);
	dsse_key_free(signer);
	return rc ? rc : EXIT_DONE;
}

extern const struct command command_lint;

/* A case called "lint" is ./lint. */
static int run(int argc, char **argv, struct err *err)
{
	if (argc > 1 && !strcmp(argv[1], "lint"))
		return command_lint.run(argc - 1, argv + 1, err);
	return write_reports(argc, argv, err);
}

const struct command command_report = {
    .name = "report",
    .synopsis =
	"CASE KIND | CASE --all | lint FILE… [--out DIR] [--tenant NAME --audience NAME --case-key FILE] [--as-of T] "
	"[--issue N] [--policy FILE]",
    .summary = "Writes a report: canonical XML, and HTML made from it",
    .help = "  scope              all of it, for the operator\n"
	    "  worksheet          what each duty to notify asks for, for who notifies\n"
	    "  deploy             what each replica runs, and how well that is known\n"
	    "  notice-exposed, notice-recipient, notice-none\n"
	    "                     to a tenant: was read by others, received others' text, neither\n"
	    "  public             totals\n"
	    "  delta              what came, went or changed since an earlier issue of one of these\n"
	    "  lint FILE…         words that a disclosure may not use, as 'lint' does\n"
	    "  --all              all of them, a notice for each tenant that is concerned\n"
	    "  --also FORM,FORM   json, md, txt, csv, sheet, xlsx, iodef: the same facts in other forms too; csv:\n"
	    "                     tables for programs, sheet: for spreadsheets, xlsx: one\n"
	    "                     workbook, iodef: the incident for other teams (RFC 7970),\n"
	    "                     of scope and public; tsq: a request for a time stamp (RFC 3161)\n"
	    "  --out DIR          where to write; default is the current folder\n"
	    "  --tenant NAME      whom a notice is for\n"
	    "  --audience NAME    of notices: pseudonyms of two audiences cannot be joined\n"
	    "  --case-key FILE    key that pseudonyms are made with; not in the case\n"
	    "  --new-case-key FILE  makes one, and uses it\n"
	    "  --before FILE      of delta: the XML of the earlier issue; all else as for its kind\n"
	    "  --inventory FILE, --at T  of deploy: as in 'deploy'\n"
	    "  --answers FILE     what people say to blanks (docs/reports.md)\n"
	    "  --approved         no draft; refused while a blank is open\n"
	    "  --regime NAME, --regimes FILE  of the worksheet: one duty; another table of them\n"
	    "  --holidays FILE, --zone ZONE   of the worksheet: days off, and where it is owed\n"
	    "  --key KEY.pem      signs each document (DSSE, Ed25519; docs/reports.md)\n"
	    "  --note FILE        text of a person, for papers that leave the house\n"
	    "  --waive NAME=REASON  a tenant's name that is a common word is not searched for\n"
	    "                     in papers of others; the reason is printed\n"
	    "  --round hour|day   times of reading in notices; default is hour\n"
	    "  --as-of T          time printed; default: when the evidence last changed\n"
	    "  --issue N          number of this issue of the report; default 1\n"
	    "  --param pool=N     as in 'scope'\n"
	    "  --policy FILE      as in 'scope'\n\n"
	    "The scope report is internal: it names tenants and requests. Files for a\n"
	    "tenant or the public are read again and searched for names, ids and times of\n"
	    "others; one hit, and no file is left. The same case and arguments give the\n"
	    "same bytes.\n\n"
	    "  pagetrail report case.ptc scope --out reports/\n"
	    "  pagetrail report case.ptc --all --out reports/ --audience tenants \\\n"
	    "    --new-case-key case.key\n",
    .run = run,
};
