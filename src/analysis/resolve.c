/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - rebuilds the dimension tables from the events of a case
 *
 * Order of work: page log (rids, workers, sequence), names of workers, clocks, boots and legs and lifetimes, joining,
 * boots of legs, rows. The tables of a case are always those of one complete run: everything is replaced, in the
 * caller's transaction, and `derived_from` names the evidence that they were made from.
 */
#include "resolve.h"

#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/begun.h"
#include "resolve_verify.h"
#include "sighting.h"

/* Changes whenever the same events would give other rows. */
#define RESOLVE_VERSION 22

static int resolve_open(struct resolve *r, struct case_file *c, struct err *err)
{
	*r = (struct resolve){.c = c};
	arena_init(&r->arena, SIZE_MAX / 2);
	scratch_init(&r->scratch);
	shelf_init(&r->workers, &r->scratch, sizeof(struct worker));
	shelf_init(&r->boots, &r->scratch, sizeof(struct boot));
	shelf_init(&r->boot_events, &r->scratch, sizeof(struct boot_event));
	shelf_init(&r->legs, &r->scratch, sizeof(struct leg));
	shelf_init(&r->lives, &r->scratch, sizeof(struct life));
	shelf_init(&r->hops, &r->scratch, sizeof(struct hop));
	shelf_init(&r->heard, &r->scratch, sizeof(uint8_t));
	shelf_init(&r->execs, &r->scratch, sizeof(struct exec));
	shelf_init(&r->rooms, &r->scratch, sizeof(struct room_node));
	shelf_init(&r->refs, &r->scratch, sizeof(struct ref_node));
	shelf_init(&r->gaps, &r->scratch, sizeof(struct gap));
	shelf_init(&r->strays, &r->scratch, sizeof(struct stray));
	shelf_init(&r->spans, &r->scratch, sizeof(struct span));
	shelf_init(&r->requests, &r->scratch, sizeof(struct request));
	shelf_init(&r->nul_runs, &r->scratch, sizeof(struct nul_run));
	return names_init(&r->names, &r->scratch, err);
}

static void resolve_close(struct resolve *r)
{
	struct shelf *const shelves[] = {&r->workers, &r->boots,  &r->boot_events, &r->legs,     &r->lives,
					 &r->hops,    &r->heard,  &r->execs,       &r->rooms,    &r->refs,
					 &r->gaps,    &r->strays, &r->spans,       &r->requests, &r->nul_runs};
	for (size_t i = 0; i < ARRAY_SIZE(shelves); i++)
		shelf_done(shelves[i]);
	names_done(&r->names);
	arena_done(&r->arena);
	free(r->span_open);
	free(r->worker_names);
	scratch_done(&r->scratch);
}

static int worker_cmp(const void *a, const void *b, void *ctx)
{
	const struct resolve *r = ctx;
	return text_cmp(names_text(&r->names, worker_at(r, *(const uint32_t *)a)->name),
			names_text(&r->names, worker_at(r, *(const uint32_t *)b)->name));
}

static int sort_workers(struct resolve *r, struct err *err)
{
	r->worker_order = order_new(r, r->workers.n);
	if (!r->worker_order)
		return err_nomem(err);
	return order_sort(r, r->worker_order, r->workers.n, worker_cmp, err);
}

static int resolve_clear(struct case_file *c, struct err *err)
{
	int res = row_tables_clear(c, err);
	return res ? res
		   : sql_exec(c,
			      "DELETE FROM planted; DELETE FROM sighting; DELETE FROM gap; DELETE FROM clock; DELETE "
			      "FROM boot; DELETE FROM "
			      "tenant; "
			      "DELETE FROM worker;",
			      err);
}

static int resolve_events(struct resolve *r, struct err *err)
{
	int res = load_sources(r, err);
	if (!res)
		layers_name(r);
	if (!res)
		res = page_scan(r, err);
	if (!res)
		res = workers_map(r, err);
	if (!res)
		res = clock_fit_all(r, err);
	if (!res)
		pages_seen(r);
	if (!res)
		res = boot_load(r, err);
	if (!res)
		res = boots_date(r, err);
	if (!res)
		res = nuls_load(r, err);
	if (!res)
		res = leg_load(r, err);
	if (!res)
		res = twins_look(r, err);
	if (!res)
		res = life_load(r, err);
	if (!res)
		res = boot_build(r, err);
	if (!res)
		res = page_join(r, err);
	if (!res)
		res = stray_attach(r, err);
	if (!res)
		res = boot_assign(r, err);
	if (!res)
		res = join_all(r, err);
	if (!res)
		res = apart_find(r, err);
	if (!res)
		res = kinds_look(r, err);
	return res ? res : sort_workers(r, err);
}

static int resolve_rows(struct resolve *r, struct err *err)
{
	int res = workers_write(r, err);
	if (!res)
		res = boot_write(r, err);
	if (!res)
		res = request_write(r, err);
	if (!res)
		res = gap_collect(r, err);
	if (!res)
		res = gap_write(r, err);
	if (!res)
		res = clock_write(r, err);
	return res ? res : sighting_write(r->c, err);
}

/* What the tables rest on, cheaply: no event is decoded for it. */
static int derived_from(struct case_file *c, char out[SHA256_HEX + 16], struct err *err)
{
	static const char *const texts[] = {
	    "SELECT count(*), coalesce(max(chunk), 0) FROM event_chunk",
	    "SELECT count(*), coalesce(sum(records), 0) FROM reject",
	    ("SELECT source, status, format, worker, worker_alias, role, tz, tz_basis, records, unparsed, "
	     "content_sha256 "
	     "FROM source ORDER BY source"),
	    "SELECT source, byte_off, whole FROM seam ORDER BY source, byte_off",
	    BEGUN_SQL,
	};
	struct sha256 *hash = NULL;
	int res = sha256_new(&hash, err);
	for (size_t i = 0; i < ARRAY_SIZE(texts) && !res; i++) {
		CLEANUP(sql_endp) struct sql *s = NULL;
		res = sql_prepare(&s, c, texts[i], err);
		while (!res && (res = sql_step(s, err)) == 1) {
			res = 0;
			for (int k = 0; k < sql_columns(s) && !res; k++) {
				struct text t = sql_get_text(s, k);
				res = sha256_add(hash, t.ptr ? t.ptr : "", t.len, err);
				if (!res)
					res = sha256_add(hash, t.ptr ? "\1" : "\2", 1, err);
			}
		}
	}
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	if (res) {
		sha256_free(hash);
		return res;
	}
	res = sha256_end(hash, digest, err);
	if (res)
		return res;
	sha256_hex(digest, hex);
	(void)snprintf(out, SHA256_HEX + 16, "v%d %s", RESOLVE_VERSION, hex);
	return 0;
}

static int resolve_into(struct case_file *c, bool fresh, struct event_feed *feed, struct err *err)
{
	struct resolve r;
	char state[SHA256_HEX + 16];
	int res = resolve_open(&r, c, err);
	r.feed = feed;
	if (!res)
		res = resolve_events(&r, err);
	if (!res && !fresh)
		res = resolve_clear(c, err);
	if (!res)
		res = resolve_rows(&r, err);
	char unlisted[32], twice[32];
	(void)snprintf(unlisted, sizeof(unlisted), "%u", r.unlisted);
	(void)snprintf(twice, sizeof(twice), "%u", r.twice);
	CLEANUP(buf_done) struct buf ordered = BUF_INIT(16 * MIB);
	CLEANUP(buf_done) struct buf doubted = BUF_INIT(16 * MIB);
	if (!res)
		res = page_ordered(&r, &ordered, err);
	if (!res)
		res = page_doubted(&r, &doubted, err);
	resolve_close(&r);
	if (!res)
		res = case_info_set(c, "page_logs_in_order", buf_text(&ordered), err);
	if (!res)
		res = case_info_set(c, "page_logs_in_doubt", buf_text(&doubted), err);
	if (!res)
		res = case_info_set(c, "page_rids_unlisted", text_of(unlisted), err);
	if (!res)
		res = case_info_set(c, "responses_twice_at_most", text_of(twice), err);
	if (!res)
		res = derived_from(c, state, err);
	return res ? res : case_info_set(c, "derived_from", text_of(state), err);
}

int resolve_spool_new(struct event_spool **ret, bool pages, struct err *err)
{
	const uint32_t columns[EVENT_KINDS] = {
	    [EVENT_BOOT] = RESOLVE_BOOT,       [EVENT_LEG] = RESOLVE_LEG,
	    [EVENT_GATEWAY] = RESOLVE_GATEWAY, [EVENT_PAGE] = pages ? RESOLVE_PAGE : 0,
	    [EVENT_LOAD] = RESOLVE_LOAD,
	};
	return event_spool_new(ret, columns, err);
}

/* Nobody had the events at hand: the first pass over them fills a spool for the next. Page logs are read once. */
static int resolve_spooled(struct case_file *c, bool fresh, struct event_feed *feed, struct err *err)
{
	struct event_spool *spool = NULL;
	int res = case_spooled(c) ? 0 : resolve_spool_new(&spool, false, err);
	if (spool)
		case_spool(c, spool);
	if (!res)
		res = resolve_into(c, fresh, feed, err);
	if (spool)
		case_spool(c, NULL);
	event_spool_free(spool);
	return res;
}

int resolve_case(struct case_file *c, struct err *err)
{
	return resolve_spooled(c, false, NULL, err);
}

int resolve_again(struct case_file *c, struct event_feed *feed, struct err *err)
{
	return resolve_spooled(c, true, feed, err);
}

int resolve_needed(struct case_file *c, struct err *err)
{
	CLEANUP(buf_done) struct buf have = BUF_INIT(4 * KIB);
	char state[SHA256_HEX + 16];
	int res = case_info_get(c, "derived_from", &have, err);
	if (res)
		return res;
	res = derived_from(c, state, err);
	return res ? res : !text_is(buf_text(&have), state);
}
