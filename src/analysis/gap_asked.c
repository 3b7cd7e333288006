/* SPDX-License-Identifier: Apache-2.0 */
/* gap_asked.c - nodes that were asked what they run and did not answer, and probes that came to nothing (docs/live.md)
 *
 * Of each node the newest run counts in which it was asked: what an older one lacked, a newer one made good. A path that a node does
 * not have (not_there) is an answer, as long as it gave another one. No other record is lost by such a gap: it says that
 * the newest evidence of what runs is older than somebody meant it to be.
 */
#include "resolve.h"

#include <stdlib.h>

enum {
	NODES_MAX = 1000,
	OUTCOMES_MAX = 8
}; /* nodes that are named, the others are counted; ways in which one node fails */

struct asked { /* the lines of one node, or of one run of probes */
	struct text name;
	struct gap gap;
	int64_t lines, good, named; /* named: failures that stand in `failed` */
	struct {
		struct text outcome;
		int64_t n;
	} failed[OUTCOMES_MAX];
	unsigned n_failed;
	struct refs absent; /* its lines that say not_there */
	int64_t seen_to;    /* the newest time of all lines */
};

struct asking {
	struct resolve *r;
	struct asked at;
	uint32_t told, more;
	int64_t more_missing;
	bool probes;
};

/* A file of lines as `snapshot` and `probe` keep them; what is no such line is not looked at. */
#define LINES(FORMAT, WHAT, COLUMNS)                                                                                   \
	"lines AS MATERIALIZED (SELECT source, path, off, len, " COLUMNS " FROM (SELECT s.source, s.path, r.byte_off " \
	"AS off, r.byte_len AS len, CASE WHEN json_valid(r.text) THEN r.text END AS t FROM source s JOIN records r "   \
	"ON r.source = s.source WHERE s.format = '" FORMAT "' AND s.duplicate = 0) WHERE json_extract(t, "             \
	"'$.pagetrail') = '" WHAT "')"
#define MEMBER(NAME, AS) "CAST(json_extract(t, '$." NAME "') AS TEXT) AS " AS

/* Columns: name, source, offset, length, outcome (NULL: it counts as answered), begun, ended. A node's requests of one run
 * stand in one source. */
static const char nodes_sql[] = "WITH " LINES(
    "live-attempts", "attempt",
    MEMBER("node", "name") ", " MEMBER("outcome", "outcome") ", " MEMBER(
	"collected_at",
	"at")) ", "
	       "newest AS (SELECT name, source, row_number() OVER (PARTITION BY name ORDER BY max(substr(at, 1, 19)) "
	       "DESC, source "
	       "DESC) AS age FROM lines WHERE name IS NOT NULL GROUP BY name, source) "
	       "SELECT name, source, off, len, CASE WHEN outcome <> 'answered' THEN outcome WHEN outcome IS NULL THEN "
	       "'unknown' END, "
	       "at, at FROM newest JOIN lines USING(name, source) WHERE age = 1 ORDER BY name, source, off";

/* One run of probes is a folder of sources. */
static const char probes_sql[] = "WITH " LINES(
    "live-probes", "probe",
    MEMBER("url", "name") ", " MEMBER("result", "result") ", " MEMBER("outcome", "outcome") ", " MEMBER(
	"started_at",
	"at") ", " MEMBER("ended_at",
			  "until") ", "
				   "rtrim(path, replace(path, '/', '')) AS run") ", "
										 "newest AS (SELECT name, run, "
										 "row_number() OVER (PARTITION BY name "
										 "ORDER BY max(substr(at, 1, 19)) DESC "
										 "NULLS LAST, "
										 "max(source) DESC) AS age FROM lines "
										 "WHERE name IS NOT NULL GROUP BY "
										 "name, run) "
										 "SELECT name, source, off, len, CASE "
										 "WHEN result = 'not_sent' THEN result "
										 "WHEN result NOT IN ('answered', "
										 "'refused', "
										 "'empty') OR result IS NULL THEN "
										 "coalesce(nullif(outcome, "
										 "'answered'), 'not_understood') END, "
										 "at, until "
										 "FROM newest JOIN lines USING(name, "
										 "run) WHERE age = 1 ORDER BY name, "
										 "source, off";

static int64_t time_of(struct text t)
{
	struct stamp s;
	size_t used;
	return stamp_parse_iso(t, &s, &used) && used == t.len && s.quality == STAMP_ZONED ? sane(s.ns) : UNKNOWN;
}

static uint32_t worker_named(const struct resolve *r, struct text name)
{
	for (uint32_t i = 0; i < r->workers.n; i++)
		if (text_eq(names_text(&r->names, worker_at(r, i)->name), name))
			return i;
	return NO_INDEX;
}

static uint32_t source_of(const struct resolve *r, int64_t id)
{
	for (uint32_t i = 0; i < r->n_sources; i++)
		if (r->sources[i].id == id)
			return i;
	return NO_INDEX;
}

static int count_failure(struct asked *a, struct resolve *r, struct text outcome, struct err *err)
{
	unsigned i = 0;
	while (i < a->n_failed && !text_eq(a->failed[i].outcome, outcome))
		i++;
	a->gap.missing++;
	if (i == OUTCOMES_MAX)
		return 0;
	if (i == a->n_failed) {
		a->failed[i].outcome = arena_text(&r->arena, text_sub(outcome, 0, 40));
		a->failed[i].n = 0;
		a->n_failed++;
		if (!a->failed[i].outcome.ptr)
			return err_nomem(err);
	}
	a->failed[i].n++;
	a->named++;
	return 0;
}

/* A line that says of something asked for that it did not come. */
static int take_failure(struct asking *k, struct sql *s, struct text outcome, struct ref_node ref, struct err *err)
{
	struct asked *a = &k->at;
	a->gap.from = earlier(a->gap.from, time_of(sql_get_text(s, 5)));
	a->gap.to = later(a->gap.to, time_of(sql_get_text(s, 6)));
	int res = count_failure(a, k->r, outcome, err);
	return res ? res : refs_add(k->r, &a->gap.refs, ref, err);
}

static int take_line(struct asking *k, struct sql *s, struct err *err)
{
	struct text outcome = sql_get_text(s, 4);
	struct asked *a = &k->at;
	struct ref_node ref = {.off = (uint64_t)sql_get_int(s, 2), .source = source_of(k->r, sql_get_int(s, 1))};
	ref.len = (uint32_t)MIN((uint64_t)sql_get_int(s, 3), UINT32_MAX);
	a->lines++;
	a->gap.source = ref.source;
	a->seen_to = later(a->seen_to, time_of(sql_get_text(s, 6)));
	a->good += !outcome.ptr;
	if (!outcome.ptr)
		return 0;
	/* whether a path that is not there is a failure, the node's other answers tell */
	if (!k->probes && text_is(outcome, "not_there"))
		return refs_add(k->r, &a->absent, ref, err);
	return take_failure(k, s, outcome, ref, err);
}

static struct text failures(struct resolve *r, const struct asked *a)
{
	struct text list = TEXT("");
	for (unsigned i = 0; i < a->n_failed && list.ptr; i++)
		list = arena_printf(&r->arena, "%.*s%s%.*s %lld", TEXT_ARG(list), i ? ", " : "",
				    TEXT_ARG(a->failed[i].outcome), (long long)a->failed[i].n);
	if (list.ptr && a->gap.missing > a->named)
		list = arena_printf(&r->arena, "%.*s, others %lld", TEXT_ARG(list),
				    (long long)(a->gap.missing - a->named));
	return list;
}

static int tell(struct asking *k, struct err *err)
{
	struct resolve *r = k->r;
	struct asked *a = &k->at;
	struct text name = text_sub(a->name, 0, 100);
	if (!k->probes && !a->good && !a->gap.missing) { /* all that it has is not what is asked for */
		a->gap.missing = a->lines;
		a->failed[a->n_failed++].outcome = TEXT("not_there");
		a->failed[0].n = a->named = a->lines;
		a->gap.refs = a->absent;
	}
	if (!a->lines || !a->gap.missing)
		return 0;
	if (k->told == NODES_MAX) {
		k->more++;
		k->more_missing += a->gap.missing;
		return 0;
	}
	k->told++;
	struct text list = failures(r, a);
	if (!list.ptr)
		return err_nomem(err);
	if (a->gap.to == UNKNOWN)
		a->gap.to = a->seen_to;
	if (a->gap.from == UNKNOWN)
		a->gap.from = a->gap.to;
	if (!k->probes)
		a->gap.worker = worker_named(r, a->name);
	if (k->probes)
		a->gap.effect = arena_printf(
		    &r->arena,
		    "of %lld probe%s of %.*s %lld came to no answer (%.*s): whether it refuses what it must, and keeps "
		    "apart what it is asked, is shown by the others alone",
		    (long long)a->lines, PLURAL(a->lines), TEXT_ARG(name), (long long)a->gap.missing, TEXT_ARG(list));
	else
		a->gap.effect = arena_printf(
		    &r->arena,
		    a->good
			? "%.*s was asked what it runs, and answered in part (%.*s): what the other answers would "
			  "have said is unknown"
			: "%.*s was asked what it runs, and did not answer (%.*s): whether it still runs what older "
			  "records say is unknown",
		    TEXT_ARG(name), TEXT_ARG(list));
	return gap_add(r, &a->gap, err);
}

static int begin(struct asking *k, struct text name, struct err *err)
{
	k->at = (struct asked){
	    .gap = {.kind = "unanswered", .source = NO_INDEX, .worker = NO_INDEX, .from = UNKNOWN, .to = UNKNOWN},
	    .seen_to = UNKNOWN};
	k->at.name = arena_text(&k->r->arena, text_sub(name, 0, NAME_MAX_BYTES));
	return k->at.name.ptr ? 0 : err_nomem(err);
}

static int tell_more(struct asking *k, struct err *err)
{
	struct gap g = {.kind = "unanswered",
			.source = NO_INDEX,
			.worker = NO_INDEX,
			.from = UNKNOWN,
			.to = UNKNOWN,
			.missing = k->more_missing};
	if (!k->more)
		return 0;
	g.effect = arena_printf(&k->r->arena,
				"%u more %s asked, and did not answer, or not wholly ('query CASE snapshots' and "
				"'query CASE probes' list them)",
				k->more, k->more == 1 ? "was" : "were");
	return gap_add(k->r, &g, err);
}

static int ask(struct resolve *r, const char *sql, bool probes, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf name = BUF_INIT(DOCUMENT_MAX_BYTES);
	struct asking k = {.r = r, .probes = probes};
	bool any = false;
	int res = sql_prepare(&s, r->c, sql, err);
	while (res >= 0 && (res = sql_step(s, err)) == 1) {
		struct text next = sql_get_text(s, 0);
		res = 0;
		if (!any || !text_eq(buf_text(&name), next)) {
			res = any ? tell(&k, err) : 0;
			buf_clear(&name);
			if (!res)
				res = buf_add_text(&name, next, err);
			if (!res)
				res = begin(&k, next, err);
			any = true;
		}
		if (!res)
			res = take_line(&k, s, err);
	}
	if (res >= 0)
		res = any ? tell(&k, err) : 0;
	return res ? res : tell_more(&k, err);
}

int gap_asked(struct resolve *r, struct err *err)
{
	int res = ask(r, nodes_sql, false, err);
	return res ? res : ask(r, probes_sql, true, err);
}
