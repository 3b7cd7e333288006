/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - opening a case for questions, and running an embedded query through rows.c */
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "pagetrail/begun.h"
#include "pagetrail/inventory.h"

void ask_param(struct ask *a, const char *name, const char *value)
{
	if (!value || a->params.n == PARAMS_MAX)
		return;
	a->params.name[a->params.n] = text_of(name);
	a->params.value[a->params.n++] = text_of(value);
}

int ask_int(struct case_file *c, const char *text, int64_t *ret, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, text, err);
	if (rc)
		return rc;
	rc = sql_step(s, err);
	*ret = rc == 1 ? sql_get_int(s, 0) : 0;
	return rc < 0 ? rc : 0;
}

/* pool= and limit= are assertions about boots that never printed theirs: they go to the analysis, not to a query. */
static int take_assertions(struct ask *a, struct err *err)
{
	for (unsigned i = 0; i < a->params.n; i++) {
		bool pool = text_is(a->params.name[i], "pool"), limit = text_is(a->params.name[i], "limit");
		if (!pool && !limit)
			continue;
		int64_t n;
		if (!text_count(a->params.value[i], &n) || n <= 0 || n > TOKENS_MAX)
			return err_set(err, ERR_USAGE, "--param %.*s takes a number of tokens, not '%.*s'",
				       TEXT_ARG(a->params.name[i]), TEXT_ARG(a->params.value[i]));
		if (pool)
			a->analysis.pool_tokens = n;
		else
			a->analysis.input_limit = n;
	}
	return 0;
}

static int take_policy(struct ask *a, struct err *err)
{
	if (a->policy && !text_starts(text_of(a->policy), POLICY_BUILTIN))
		return policy_load(&a->analysis.policy, a->policy, say_note, NULL, err);
	return policy_builtin(&a->analysis.policy, a->policy ? a->policy + strlen(POLICY_BUILTIN) : NULL, err);
}

/* Is it said which policy the rows follow? Where somebody gave one, and where classes are asked for. */
static void put_policy(const struct ask *a, struct text sql, struct rows *r)
{
	static const char *const functions[] = {"findings(", "finding_counts(", "exposed(", "explain(", "deploy("};
	const struct policy *p = a->analysis.policy;
	bool said = a->policy != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		said |= text_find(sql, functions[i], 0) != SIZE_MAX;
	if (!said)
		return;
	rows_param(r, TEXT("policy"), policy_origin(p));
	rows_param(r, TEXT("policy_id"), policy_id(p));
	rows_param(r, TEXT("policy_sha256"), text_of(policy_sha256(p)));
	if (*policy_commits_sha256(p))
		rows_param(r, TEXT("policy_commits_sha256"), text_of(policy_commits_sha256(p)));
}

/* Which inventory the rows were held against. */
static void put_inventory(const struct inventory *inv, struct rows *r)
{
	if (!inv)
		return;
	rows_param(r, TEXT("inventory"), inventory_path(inv));
	rows_param(r, TEXT("inventory_sha256"), text_of(inventory_sha256(inv)));
}

int correlate_now(struct case_file *c, struct text extra, struct err *err)
{
	int rc = case_begin(c, err);
	if (!rc)
		rc = resolve_record(c, system_now_ns(), extra, err);
	if (!rc)
		rc = case_commit(c, err);
	if (rc)
		case_rollback(c);
	return rc;
}

/* Evidence came in after the tables were made (an ingest was stopped): correlate now, if the file lets us. */
static int correlate(const char *path, struct err *err)
{
	CLEANUP(case_closep) struct case_file *c = NULL;
	int rc = case_open(&c, path, CASE_WRITE, err);
	if (!rc) {
		case_stop_on(c, &system_stop);
		case_threads(c, system_cpus());
		rc = correlate_now(c, TEXT(""), err);
	}
	if (rc == ERR_INTERRUPTED)
		return rc;
	if (rc) {
		err_hint(
		    err,
		    "the case holds evidence that is not correlated yet; make it writable and run 'pagetrail ingest'");
		return rc;
	}
	struct case_file *done = c;
	c = NULL;
	return case_close(done, err);
}

static int say_older(const struct err *why)
{
	fprintf(stderr,
		"pagetrail: note: workers, boots, clocks and gaps are older than the evidence, and cannot be made anew "
		"(%s)\n",
		why->what);
	return 0;
}

int ask_open(struct case_file **ret, const char *path, struct ask *a, struct err *err)
{
	int rc = take_assertions(a, err);
	if (rc)
		return rc;
	CLEANUP(case_closep) struct case_file *c = NULL;
	rc = case_open(&c, path, CASE_READ, err);
	if (!rc && init_unmade(c))
		rc = case_unmade(c, err);
	if (rc)
		return rc;
	rc = resolve_needed(c, err);
	if (rc < 0)
		return rc;
	system_catch_stop();
	if (rc == 1) {
		case_closep(&c);
		c = NULL;
		struct err why = {0};
		rc = correlate(path, &why);
		if (rc < 0 && rc != ERR_INTERRUPTED && a->older_will_do)
			rc = say_older(&why);
		else if (rc < 0 && err)
			*err = why;
		if (!rc)
			rc = case_open(&c, path, CASE_READ, err);
		if (rc)
			return rc;
	}
	case_stop_on(c, &system_stop);
	case_threads(c, system_cpus());
	rc = take_policy(a, err);
	if (!rc)
		rc = analysis_register(c, &a->analysis, err);
	if (rc)
		return rc;
	*ret = c;
	c = NULL;
	return 0;
}

int ask_as_of(struct case_file *c, const struct ask *a, int64_t *ret_ns, struct err *err)
{
	*ret_ns = a->as_of_ns;
	if (a->as_of_ns != TIME_UNKNOWN)
		return 0;
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, "SELECT max(at_ns) FROM journal WHERE action IN ('init', 'ingest')", err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc == 1)
		*ret_ns = sql_get_time(s, 0);
	return rc < 0 ? rc : 0;
}

static enum cell_type cell_type_of(struct text type)
{
	static const struct {
		const char *name;
		enum cell_type type;
	} types[] = {
	    {"integer", CELL_INT}, {"real", CELL_REAL}, {"json", CELL_JSON}, {"time", CELL_TIME}, {"bool", CELL_BOOL}};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_is(type, types[i].name))
			return types[i].type;
	return CELL_TEXT;
}

static int columns_of(const struct query_info *info, struct sql *s, struct rows_column columns[ROWS_COLUMNS_MAX],
		      struct err *err)
{
	if (info->n_columns > ROWS_COLUMNS_MAX || (int)info->n_columns != sql_columns(s))
		return err_set(err, ERR_BUG, "query '%.*s' does not give the columns of its header",
			       TEXT_ARG(info->name));
	for (unsigned i = 0; i < info->n_columns; i++)
		columns[i] = (struct rows_column){info->columns[i].name, cell_type_of(info->columns[i].type)};
	return 0;
}

static int put_row(struct sql *s, const struct rows_column *columns, unsigned n, struct rows *r, struct err *err)
{
	for (unsigned i = 0; i < n; i++) {
		int rc;
		if (sql_type(s, (int)i) == SQL_NULL)
			rc = rows_null(r, err);
		else if (columns[i].type == CELL_INT || columns[i].type == CELL_BOOL)
			rc = rows_int(r, sql_get_int(s, (int)i), err);
		else if (columns[i].type == CELL_TIME)
			rc = rows_time(r, sql_get_int(s, (int)i), err);
		else if (columns[i].type == CELL_REAL)
			rc = rows_real(r, sql_get_real(s, (int)i), err);
		else
			rc = rows_text(r, sql_get_text(s, (int)i), err);
		if (rc)
			return rc;
	}
	return rows_end_row(r, err);
}

static int known_value(struct case_file *c, const char *sql, const char *what, struct text value, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, sql, err);
	if (!rc)
		rc = sql_text(s, 1, value, err);
	if (!rc)
		rc = sql_step(s, err);
	if (rc)
		return rc < 0 ? rc : 0;
	err_set(err, ERR_INPUT, "no %s '%.*s' in this case", what, TEXT_ARG(value));
	return err_where(err, "%s", case_path(c));
}

/* Is every parameter given that the query cannot do without? */
static int check_required(const struct query_info *info, const struct ask *a, struct err *err)
{
	for (unsigned k = 0; k < info->n_params; k++) {
		struct text name = info->params[k].name;
		bool given = !info->params[k].required;
		if (text_starts(name, ":"))
			name = text_from(name, 1);
		for (unsigned i = 0; i < a->params.n; i++)
			given |= text_eq(a->params.name[i], name);
		if (given)
			continue;
		err_set(err, ERR_USAGE, "query '%.*s' needs the parameter '%.*s': %.*s", TEXT_ARG(info->name),
			TEXT_ARG(name), TEXT_ARG(info->params[k].help));
		return err_hint(err, "give it as --param %.*s=VALUE", TEXT_ARG(name));
	}
	return 0;
}

/* A window that ends before it begins holds nothing, which would be read as an answer. */
static int check_window(int64_t since, int64_t until, struct err *err)
{
	if (since == TIME_UNKNOWN || until == TIME_UNKNOWN || since <= until)
		return 0;
	err_set(err, ERR_USAGE, "'since' is later than 'until'");
	return err_hint(err, "the window is from 'since' on and ends before 'until'");
}

/* Of two values of one parameter nobody knows which is meant: also of an option and the parameter that it stands for. */
static int check_once(const struct ask *a, struct err *err)
{
	for (unsigned i = 1; i < a->params.n; i++)
		for (unsigned k = 0; k < i; k++)
			if (text_eq(a->params.name[i], a->params.name[k]))
				return err_set(err, ERR_USAGE, "the parameter '%.*s' is given twice",
					       TEXT_ARG(a->params.name[i]));
	return 0;
}

/* Binds what the query declares; a parameter that it does not know is an error, not ignored. */
static int bind_params(struct sql *s, const struct query_info *info, const struct ask *a, struct err *err)
{
	int64_t since = TIME_UNKNOWN, until = TIME_UNKNOWN;
	int res = check_once(a, err);
	if (!res)
		res = check_required(info, a, err);
	if (res)
		return res;
	for (unsigned i = 0; i < a->params.n; i++) {
		struct text name = a->params.name[i], value = a->params.value[i];
		char colon[128];
		snprintf(colon, sizeof(colon), ":%.*s", TEXT_ARG(name));
		const struct query_column *p = NULL;
		for (unsigned k = 0; k < info->n_params; k++)
			if (text_eq(info->params[k].name, name) || text_is(info->params[k].name, colon))
				p = &info->params[k];
		if (!p) {
			if (text_is(name, "pool") || text_is(name, "limit"))
				continue;
			err_set(err, ERR_USAGE, "query '%.*s' has no parameter '%.*s'", TEXT_ARG(info->name),
				TEXT_ARG(name));
			return err_hint(err, "see 'pagetrail query --list'");
		}
		int at = sql_param(s, colon), rc;
		int64_t n;
		if (text_is(p->type, "integer")) {
			if (!text_count(value, &n))
				return err_set(err, ERR_USAGE, "parameter '%.*s' takes a whole number", TEXT_ARG(name));
			rc = sql_int(s, at, n, err);
		} else if (text_is(p->type, "time")) {
			rc = text_int64(value, &n) ? 0 : args_time("parameter", name, value, &n, err);
			if (!rc)
				rc = sql_int(s, at, n, err);
			if (rc)
				return rc;
			since = text_is(name, "since") ? n : since;
			until = text_is(name, "until") ? n : until;
		} else {
			rc = sql_text(s, at, value, err);
		}
		if (rc)
			return rc;
	}
	return check_window(since, until, err);
}

/* How many rows the query has, one plain select: SQLite reads no more cells than its conditions need. */
static int count_rows(struct case_file *c, const struct query_info *info, const struct ask *a, int64_t *ret,
		      struct err *err)
{
	CLEANUP(sql_endp) struct sql *n = NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT(MIB);
	struct text sql = text_of(query_find(queries, n_queries, info->name)->sql);
	size_t from = text_find(sql, "\nFROM ", 0), end = text_find(sql, "\nORDER BY ", 0);
	if (from == SIZE_MAX || end == SIZE_MAX)
		return err_set(err, ERR_BUG, "query '%.*s' is not one select", TEXT_ARG(info->name));
	int rc = buf_printf(&text, err, "SELECT count(*)%.*s", TEXT_ARG(text_sub(sql, from, end - from)));
	if (!rc)
		rc = sql_prepare(&n, c, text.ptr, err);
	if (!rc)
		rc = bind_params(n, info, a, err);
	if (!rc)
		rc = sql_step(n, err);
	if (rc == 1)
		*ret = sql_get_int(n, 0);
	return MIN(rc, 0);
}

static int print_rows(struct case_file *c, struct sql *s, const struct query_info *info, const struct ask *a,
		      const struct rows_column *columns, struct rows *r, struct err *err)
{
	int64_t n = 0;
	int rc = 0;
	while (!rc && !(a->count_rest && rows_full(r)) && (rc = sql_step(s, err)) == 1)
		rc = system_stop ? err_set(err, ERR_INTERRUPTED, "stopped")
				 : put_row(s, columns, info->n_columns, r, err);
	if (rc || !a->count_rest || !rows_full(r))
		return rc;
	rc = count_rows(c, info, a, &n, err);
	rows_found(r, n);
	return rc;
}

/* Classes as the query's help names them: C1 to C5, or E1 to E5. */
static int check_class(const struct query_column *p, struct text value, struct err *err)
{
	char letter = text_find(p->help, "E1", 0) != SIZE_MAX ? 'E' : 'C';
	struct text rest = value, part;
	while (text_split(&rest, ',', &part))
		if (part.len != 2 || part.ptr[0] != letter || part.ptr[1] < '1' || part.ptr[1] > '5')
			return err_set(err, ERR_USAGE, "parameter 'class' takes classes such as %c1,%c2, not '%.*s'",
				       letter, letter, TEXT_ARG(part));
	return 0;
}

/* A worker or a class that does not exist is a slip of the pen: "no rows" would be read as an answer. */
static int check_values(struct case_file *c, const struct query_info *info, const struct ask *a, struct err *err)
{
	static const struct {
		const char *param, *what, *sql;
	} named[] = {{":worker", "worker", "SELECT 1 FROM worker WHERE name = ?1"},
		     {":tenant", "tenant", "SELECT 1 FROM tenant WHERE name = ?1"}};
	int rc = 0;
	for (unsigned i = 0; !rc && i < a->params.n; i++) {
		char colon[128];
		snprintf(colon, sizeof(colon), ":%.*s", TEXT_ARG(a->params.name[i]));
		for (unsigned k = 0; !rc && k < info->n_params; k++) {
			if (!text_is(info->params[k].name, colon))
				continue;
			for (size_t w = 0; !rc && w < ARRAY_SIZE(named); w++)
				if (!strcmp(colon, named[w].param))
					rc = known_value(c, named[w].sql, named[w].what, a->params.value[i], err);
			if (!rc && !strcmp(colon, ":class"))
				rc = check_class(&info->params[k], a->params.value[i], err);
		}
	}
	return rc;
}

int ask_interrupted(struct case_file *c, int64_t *ret, struct err *err)
{
	return ask_int(c, "SELECT count(*) FROM (" BEGUN_SQL ")", ret, err);
}

/* Rows of a case that lacks files look like those of a whole one: each answer says it. */
static int say_interrupted(struct case_file *c, struct rows *r, struct err *err)
{
	char number[32];
	int64_t n;
	int rc = ask_interrupted(c, &n, err);
	if (rc || !n)
		return rc;
	snprintf(number, sizeof(number), "%" PRId64, n);
	rows_extra(r, "interrupted", text_of(number));
	rows_note(r,
		  "NOTE: 'pagetrail ingest' was stopped, and files that it was given are not in the case (gaps of kind "
		  "interrupted): run it again, or read this as incomplete.");
	return 0;
}

static int run_query(struct case_file *c, struct sql *s, struct query_info *info, struct ask *a,
		     const char *table_columns,
		     int (*before_close)(struct case_file *c, struct rows *r, struct err *err), int64_t *ret_count,
		     struct err *err)
{
	struct rows_column columns[ROWS_COLUMNS_MAX];
	unsigned n = info->n_columns;
	int rc = columns_of(info, s, columns, err);
	if (!rc)
		rc = bind_params(s, info, a, err);
	if (!rc)
		rc = check_values(c, info, a, err);
	if (rc)
		return rc;
	struct rows *r = NULL;
	rc = rows_open(&r, &a->rows, case_path(c), info->name, columns, n, table_columns, err);
	if (rc)
		return rc;
	for (unsigned i = 0; i < a->params.n; i++)
		rows_param(r, a->params.name[i], a->params.value[i]);
	put_policy(a, text_of(query_find(queries, n_queries, info->name)->sql), r);
	put_inventory(a->analysis.inventory, r);
	int64_t as_of;
	rc = ask_as_of(c, a, &as_of, err);
	if (!rc)
		rows_as_of(r, as_of);
	if (!rc)
		rc = print_rows(c, s, info, a, columns, r, err);
	if (!rc)
		rc = say_interrupted(c, r, err);
	if (!rc && before_close)
		rc = before_close(c, r, err);
	if (rc) {
		rows_drop(r);
		return rc;
	}
	int64_t count;
	rc = rows_close(r, &count, err);
	if (!rc && !count && !a->rows.json && !a->rows.jsonl && !a->rows.csv) {
		/* what an empty answer means holds for the whole question only */
		CLEANUP(buf_done) struct buf said = BUF_INIT(4 * KIB);
		if (a->params.n)
			puts("no rows match what was asked for");
		else if (info->empty.len && !buf_printf(&said, NULL, "no rows: %.*s", TEXT_ARG(info->empty)))
			rows_sentences(buf_text(&said));
	}
	if (ret_count)
		*ret_count = count;
	return rc;
}

int ask_query(struct case_file *c, const char *name, struct ask *a, const char *table_columns,
	      int (*before_close)(struct case_file *c, struct rows *r, struct err *err), int64_t *ret_count,
	      struct err *err)
{
	const struct query_text *q = query_find(queries, n_queries, text_of(name));
	if (!q) {
		err_set(err, ERR_USAGE, "no query '%s'", name);
		return err_hint(err, "see 'pagetrail query --list'");
	}
	struct query_info info;
	int rc = query_info_parse(q, &info, err);
	if (rc)
		return rc;
	CLEANUP(sql_endp) struct sql *s = NULL;
	rc = sql_prepare(&s, c, q->sql, err);
	if (!rc)
		rc = run_query(c, s, &info, a, table_columns, before_close, ret_count, err);
	query_info_done(&info);
	return rc;
}

int ask_rows(struct case_file *c, const char *name, const struct ask *a,
	     int (*add)(void *ctx, struct sql *s, struct err *err), void *ctx, struct err *err)
{
	const struct query_text *q = query_find(queries, n_queries, text_of(name));
	struct query_info info;
	CLEANUP(sql_endp) struct sql *s = NULL;
	if (!q)
		return err_set(err, ERR_BUG, "no query '%s'", name);
	int rc = query_info_parse(q, &info, err);
	if (rc)
		return rc;
	rc = sql_prepare(&s, c, q->sql, err);
	if (!rc)
		rc = bind_params(s, &info, a, err);
	while (!rc && (rc = sql_step(s, err)) == 1)
		rc = system_stop ? err_set(err, ERR_INTERRUPTED, "stopped") : add(ctx, s, err);
	query_info_done(&info);
	return rc;
}

DEFINE_CLEANUP(struct rows *, rows_drop)

static int list_rows(struct sql *s, const struct query_info *info, int64_t max, struct buf *b, int64_t *ret_n,
		     bool *ret_more, struct err *err)
{
	struct rows_column columns[ROWS_COLUMNS_MAX];
	CLEANUP(rows_dropp) struct rows *list = NULL;
	int rc = columns_of(info, s, columns, err);
	if (!rc)
		rc = rows_list(&list, columns, info->n_columns, err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		*ret_more = *ret_n == max;
		if (*ret_more || system_stop)
			break;
		rc = put_row(s, columns, info->n_columns, list, err);
		++*ret_n;
	}
	if (system_stop)
		return err_set(err, ERR_INTERRUPTED, "stopped");
	return rc < 0 ? rc : rows_listed(list, b, err);
}

int ask_list(struct case_file *c, const char *name, int64_t at_ns, int64_t max, struct buf *b, int64_t *ret_n,
	     bool *ret_more, struct err *err)
{
	const struct query_text *q = query_find(queries, n_queries, text_of(name));
	struct query_info info;
	CLEANUP(sql_endp) struct sql *s = NULL;
	*ret_n = 0;
	*ret_more = false;
	if (!q)
		return err_set(err, ERR_BUG, "no query '%s'", name);
	int rc = query_info_parse(q, &info, err);
	if (rc)
		return rc;
	rc = sql_prepare(&s, c, q->sql, err);
	if (!rc && sql_param(s, ":at"))
		rc = sql_int(s, sql_param(s, ":at"), at_ns, err);
	if (!rc)
		rc = list_rows(s, &info, max, b, ret_n, ret_more, err);
	query_info_done(&info);
	return rc;
}

int ask_known(struct case_file *c, const char *sql, const char *what, const char *value, struct err *err)
{
	return value ? known_value(c, sql, what, text_of(value), err) : 0;
}
