/* SPDX-License-Identifier: Apache-2.0 */
/* boot_write.c - rows of boot and worker
 *
 * Boots are numbered by worker, then start. A worker has a row when an engine or a page log spoke of it.
 */
#include "resolve.h"

int boot_write(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	CLEANUP(buf_done) struct buf refs = BUF_INIT(64 * KIB);
	int64_t id = 0;
	int res =
	    sql_prepare(&s, r->c,
			"INSERT INTO boot(boot, worker, started_ns, ended_ns, engine, version, commit_id, model, role, "
			"transfer_backend, context_len, pool_tokens, page_size, input_limit, input_limit_basis, "
			"auto_truncate, refs) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			err);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		const struct worker *w = worker_at(r, r->worker_order[i]);
		for (uint32_t k = 0; k < w->n_boots && w->id && !res; k++) {
			struct boot *b = boot_at(r, w->boots_from + k);
			b->id = ++id;
			const int64_t ints[] = {b->id, w->id, b->started_ns, b->ended_ns};
			for (int c = 0; c < 4 && !res; c++)
				res = sql_int(s, c + 1, ints[c], err);
			for (int c = 0; c < 4 && !res; c++)
				res = sql_text(s, c + 5, names_text(&r->names, b->text[c]), err);
			if (!res)
				res = sql_text(s, 9, maybe(role_name(b->role)), err);
			if (!res)
				res = sql_text(s, 10, names_text(&r->names, b->text[BT_BACKEND]), err);
			for (int c = 0; c < BN_TRUNCATE && !res; c++)
				res = sql_int(s, c + 11, b->number[c], err);
			if (!res)
				res = sql_text(s, 15, maybe(b->limit_basis), err);
			if (!res)
				res = sql_int(s, 16, b->number[BN_TRUNCATE], err);
			if (!res)
				res = refs_json(r, &b->refs, &refs, err);
			if (!res)
				res = sql_text(s, 17, buf_text(&refs), err);
			if (!res)
				res = sql_run(s, err);
		}
	}
	return res;
}

/* --- workers, which follow from boots and legs --- */

static int worker_write(struct resolve *r, struct sql *s, uint32_t at, struct err *err)
{
	struct worker *w = worker_at(r, at);
	uint32_t engine = 0;
	for (uint32_t k = 0; k < w->n_boots; k++)
		if (boot_at(r, w->boots_from + k)->text[BT_ENGINE])
			engine = boot_at(r, w->boots_from + k)->text[BT_ENGINE];
	int res = sql_int(s, 1, w->id, err);
	if (!res)
		res = sql_text(s, 2, names_text(&r->names, w->name), err);
	if (!res)
		res = sql_text(s, 3, maybe(role_name(w->role)), err);
	if (!res)
		res = sql_text(s, 4, names_text(&r->names, engine), err);
	if (!res)
		res = sql_int(s, 5, w->first_ns, err);
	if (!res)
		res = sql_int(s, 6, w->last_ns, err);
	if (!res)
		res = sql_int(s, 7, w->page_log, err);
	return res ? res : sql_run(s, err);
}

int workers_write(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int64_t id = 0;
	int res = sql_prepare(&s, r->c,
			      "INSERT INTO worker(worker, name, role, engine, first_ns, last_ns, has_page_log) "
			      "VALUES(?,?,?,?,?,?,?)",
			      err);
	for (uint32_t i = 0; i < r->workers.n && !res; i++) {
		uint32_t at = r->worker_order[i];
		struct worker *w = worker_at(r, at);
		/* a server whose ranks speak for it needs no row; neither does a gateway's or an empty source's name */
		if (!w->used && (!w->has_boots || w->has_ranks))
			continue;
		w->id = ++id;
		res = worker_write(r, s, at, err);
	}
	return res;
}
