/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_info.c - what a case holds: sources with their accounting, workers, boots, clocks */
#include "cli.h"

#include <math.h>
#include <string.h>

#include "pagetrail/begun.h"

static int put_real(struct buf *b, double v, struct err *err)
{
	char tmp[TEXT_DOUBLE_MAX];
	return isfinite(v) ? buf_add(b, tmp, text_put_double(tmp, v), err) : buf_add(b, "null", 4, err);
}

/* Rows of a statement as a JSON array of objects: a column "x_at" is a time, "x_s" seconds from ns, "boots" and "refs"
 * JSON. */
static int put_value(struct buf *b, struct sql *s, int i, struct err *err)
{
	struct text name = text_of(sql_column_name(s, i));
	if (sql_type(s, i) == SQL_NULL)
		return buf_add(b, "null", 4, err);
	if (text_ends(name, "_at")) {
		char tmp[64];
		return buf_json_string(b, text_of(stamp_format(sql_get_int(s, i), tmp, sizeof(tmp))), err);
	}
	if (text_is(name, "refs"))
		return buf_add_text(b, sql_get_text(s, i), err);
	switch (sql_type(s, i)) {
	case SQL_INT: return buf_printf(b, err, "%lld", (long long)sql_get_int(s, i));
	case SQL_REAL: return put_real(b, sql_get_real(s, i), err);
	default: return buf_json_string(b, sql_get_text(s, i), err);
	}
}

static int put_object(struct buf *b, struct sql *s, int from, struct err *err)
{
	int rc = 0;
	for (int i = from; !rc && i < sql_columns(s); i++) {
		rc = buf_printf(b, err, "%s\"%s\":", i > from ? "," : "{", sql_column_name(s, i));
		if (!rc)
			rc = put_value(b, s, i, err);
	}
	return rc;
}

static int put_array(struct buf *b, struct case_file *c, const char *sql, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, c, sql, err), n = 0;
	if (!rc)
		rc = buf_add_char(b, '[', err);
	while (!rc && (rc = sql_step(s, err)) == 1) {
		rc = n++ ? buf_add(b, ",\n", 2, err) : 0;
		if (!rc)
			rc = put_object(b, s, 0, err);
		if (!rc)
			rc = buf_add_char(b, '}', err);
	}
	return rc ? rc : buf_add_char(b, ']', err);
}

#define BOOT_COLUMNS                                                                                             \
	"started_ns AS started_at, ended_ns AS ended_at, engine, version, commit_id AS \"commit\", model, role," \
	" transfer_backend, context_len, pool_tokens, page_size, input_limit, input_limit_basis, refs"

static int put_workers(struct buf *b, struct case_file *c, struct err *err)
{
	CLEANUP(sql_endp) struct sql *w = NULL, *boots = NULL;
	int rc = sql_prepare(&w, c,
			     "SELECT worker, name AS worker, role, engine, first_ns AS first_at, last_ns AS last_at"
			     " FROM worker ORDER BY name",
			     err);
	if (!rc)
		rc = sql_prepare(&boots, c,
				 "SELECT " BOOT_COLUMNS " FROM boot WHERE worker=?1 ORDER BY started_ns, boot", err);
	if (!rc)
		rc = buf_add_char(b, '[', err);
	int n = 0;
	while (!rc && (rc = sql_step(w, err)) == 1) {
		rc = n++ ? buf_add(b, ",\n", 2, err) : 0;
		if (!rc)
			rc = put_object(b, w, 1, err);
		if (!rc)
			rc = buf_add(b, ",\"boots\":[", 10, err);
		if (!rc)
			rc = sql_int(boots, 1, sql_get_int(w, 0), err);
		int m = 0;
		while (!rc && (rc = sql_step(boots, err)) == 1) {
			rc = m++ ? buf_add_char(b, ',', err) : 0;
			if (!rc)
				rc = put_object(b, boots, 0, err);
			if (!rc)
				rc = buf_add_char(b, '}', err);
		}
		if (!rc)
			rc = buf_add(b, "]}", 2, err);
	}
	return rc ? rc : buf_add_char(b, ']', err);
}

/* What the clock of a source is off where it begins, and where it ends. */
#define OFF(order)                                                                                                     \
	"coalesce((SELECT c.offset_ns FROM clock c WHERE c.source = s.source ORDER BY c.from_off " order " LIMIT 1), " \
	"0)"

static int info_json(struct case_file *c, const struct ask *ask, struct err *err)
{
	static const char sources[] =
	    "SELECT source, path, sha256, content_sha256, bytes, stored_bytes, container, format, worker, records, "
	    "parsed, context,"
	    " unparsed, duplicate, first_ns - " OFF("") " AS first_at, last_ns - " OFF(
		"DESC") " AS last_at, status, reason, "
			"bytes_parsed, "
			"bytes_context,"
			" bytes_unparsed, bytes_duplicate, worker_basis, tz, tz_basis FROM source s ORDER BY source";
	static const char clocks[] = "SELECT source, from_ns AS from_at, offset_ns / 1e9 AS offset_s, skew_ns / 1e9 AS "
				     "skew_s, bound_ns / 1e9 AS bound_s,"
				     " basis FROM clock ORDER BY source, from_off";
	static const char interrupted[] =
	    "SELECT path, begun_ns AS begun_at, files, started AS files_begun FROM (" BEGUN_SQL ")";
	CLEANUP(buf_done) struct buf b = BUF_INIT(256 * MIB);
	int64_t as_of;
	int rc = ask_as_of(c, ask, &as_of, err);
	if (rc)
		return rc;
	char tmp[64];
	rc = buf_printf(&b, err, "{\"tool\":\"pagetrail\",\"version\":\"%s\",\"case\":", PAGETRAIL_VERSION);
	if (!rc)
		rc = buf_json_string(&b, text_of(case_path(c)), err);
	if (!rc)
		rc = buf_printf(&b, err, ",\"query\":\"info\",\"as_of\":\"%s\",\n\"sources\":",
				stamp_format(as_of, tmp, sizeof(tmp)));
	if (!rc)
		rc = put_array(&b, c, sources, err);
	if (!rc)
		rc = buf_add(&b, ",\n\"workers\":", 12, err);
	if (!rc)
		rc = put_workers(&b, c, err);
	if (!rc)
		rc = buf_add(&b, ",\n\"clocks\":", 11, err);
	if (!rc)
		rc = put_array(&b, c, clocks, err);
	if (!rc)
		rc = buf_add(&b, ",\n\"interrupted\":", 16, err);
	if (!rc)
		rc = put_array(&b, c, interrupted, err);
	if (!rc)
		rc = buf_add(&b, "}\n", 2, err);
	if (!rc)
		fwrite(b.ptr, 1, b.len, stdout);
	return rc ? rc : system_flush(err);
}

static int section(struct case_file *c, const char *title, const char *query, struct ask *ask, const char *columns,
		   struct err *err)
{
	printf("%s\n", title);
	int rc = ask_query(c, query, ask, columns, NULL, NULL, err);
	puts("");
	return rc;
}

static int info_tables(struct case_file *c, struct ask *ask, struct err *err)
{
	static const char *const keys[] = {"id", "title"};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
		CLEANUP(buf_done) struct buf shown = BUF_INIT(256 * KIB);
		int rc = case_info_get(c, keys[i], &b, err);
		if (!rc)
			rc = text_visible(buf_text(&b), CELL_MAX_BYTES, &shown, err);
		if (rc < 0)
			return rc;
		if (!rc)
			printf("%s: %s\n", keys[i], shown.ptr);
	}
	int rc = section(c, "SOURCES", "sources", ask,
			 "source,path,format,worker,records,parsed,context,unparsed,duplicate,status", err);
	if (!rc)
		rc = section(c, "WORKERS", "workers", ask, "worker,role,engine,first_at,last_at,page_log", err);
	if (!rc)
		rc = section(c, "BOOTS", "boots", ask,
			     "worker,started_at,version,context_len,pool_tokens,input_limit,context_exceeds_pool", err);
	if (!rc)
		rc = section(c, "CLOCKS", "clocks", ask, "source,from,offset_s,skew_s,bound_s,basis", err);
	if (!rc)
		rc = section(c, "GAPS", "gaps", ask, "kind,source,worker,from,to,missing,unit,effect", err);
	return rc;
}

static int run(int argc, char **argv, struct err *err)
{
	struct ask ask = ASK_INIT;
	const struct option_spec shared[] = {ASK_OPTIONS(ask)};
	struct args args;
	int rc = args_parse(&args, argc, argv, NULL, 0, shared, ARRAY_SIZE(shared), 1, 1, err);
	if (rc)
		return rc;
	if (ask.rows.jsonl || ask.rows.csv || ask.rows.columns) {
		err_set(err, ERR_USAGE, "'info' gives tables or --json");
		return err_hint(err, "for rows use 'pagetrail query CASE sources', workers, boots or clocks");
	}
	struct zone *zone = NULL; /* a wrong zone is said before anything is printed */
	if (ask.rows.tz && (rc = zone_open(&zone, text_of(ask.rows.tz), err)))
		return rc;
	zone_close(zone);
	CLEANUP(case_closep) struct case_file *c = NULL;
	ask.older_will_do = true;
	rc = ask_open(&c, args.at[0], &ask, err);
	if (rc)
		return rc;
	return ask.rows.json ? info_json(c, &ask, err) : info_tables(c, &ask, err);
}

const struct command command_info = {
    .name = "info",
    .synopsis = "CASE",
    .summary = "Shows what a case holds: sources, accounting, workers, boots, clocks, gaps",
    .help = "  --json --limit N --tz ZONE\n\n"
	    "For every source, records = parsed + context + unparsed + duplicate, and so for bytes.\n",
    .run = run,
};
