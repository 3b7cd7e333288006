/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.c - an inventory as CSV: `replica,role,model,node,image,image_digest,state,started_at,retired_at`
 *
 * The header may order its columns as it likes; `replica` is required. Other columns are kept, and named once.
 */
#include "inventory_work.h"

#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/buf.h"
#include "pagetrail/collected.h"
#include "pagetrail/container.h"
#include "pagetrail/csv.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

enum { C_REPLICA, C_ROLE, C_MODEL, C_NODE, C_IMAGE, C_DIGEST, C_STATE, C_STARTED, C_RETIRED, COLUMNS };
static const char *const column_names[COLUMNS] = {"replica",      "role",  "model",      "node",      "image",
						  "image_digest", "state", "started_at", "retired_at"};

void inventory_warn(struct inventory_reader *r, const char *fmt, struct text t)
{
	char what[240];
	struct buf shown = BUF_INIT(1024);
	if (r->warn && text_visible(text_sub(t, 0, 80), 80, &shown, NULL) == 0) {
		struct text s = buf_text(&shown);
		snprintf(what, sizeof(what), fmt, (int)MIN(s.len, 120), s.ptr ? s.ptr : "");
		r->warn(r->ctx, text_of(what));
	}
	buf_done(&shown);
}

void inventory_taken(struct inventory *inv, struct stamp at)
{
	if (inv->taken_ns == TIME_UNKNOWN && at.ns != TIME_UNKNOWN && at.quality == STAMP_ZONED)
		inv->taken_ns = at.ns;
}

int inventory_add(struct inventory_reader *r, const struct inventory_row *row, struct err *err)
{
	struct inventory *inv = r->inv;
	if (inv->n == INVENTORY_ROWS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d replicas", INVENTORY_ROWS_MAX);
	if (inv->n == inv->cap) {
		size_t cap = inv->cap ? inv->cap * 2 : 64;
		struct inventory_row *more = reallocarray(inv->rows, cap, sizeof(*more));
		if (!more)
			return err_nomem(err);
		inv->rows = more;
		inv->cap = cap;
	}
	struct inventory_row *to = &inv->rows[inv->n];
	*to = *row;
	struct text *const texts[] = {&to->replica, &to->role,         &to->model, &to->node,
				      &to->image,   &to->image_digest, &to->extra};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = texts[i]->len ? arena_text(&inv->arena, *texts[i]) : TEXT("");
		if (!texts[i]->ptr)
			return err_nomem(err);
	}
	inv->n++;
	return 0;
}

/* ---- CSV ---- */

struct csv_reader {
	struct inventory_reader *r;
	struct csv csv;
	int column[CSV_CELLS_MAX];       /* that a cell is; COLUMNS: one of the others */
	struct text name[CSV_CELLS_MAX]; /* as the header has it */
	unsigned n_names;
	struct buf extra;
};

static int take_header(struct csv_reader *x, struct err *err)
{
	bool seen[COLUMNS] = {false};
	x->n_names = x->csv.n;
	for (unsigned i = 0; i < x->csv.n; i++) {
		int c = 0;
		while (c < COLUMNS && !text_is(x->csv.cells[i], column_names[c]))
			c++;
		x->column[i] = c;
		x->name[i] = x->csv.cells[i];
		bool twice = c < COLUMNS && seen[c];
		for (unsigned k = 0; k < i && c == COLUMNS; k++)
			twice |= text_eq(x->name[k], x->name[i]);
		if (twice)
			return csv_wrong(&x->csv, i, "the header has '%.*s' twice", x->csv.cells[i], err);
		if (c < COLUMNS)
			seen[c] = true;
		else if (!x->name[i].len)
			return csv_wrong(&x->csv, i, "a column without a name%.*s", TEXT(""), err);
	}
	for (unsigned i = 0; seen[C_REPLICA] && i < x->csv.n; i++)
		if (x->column[i] == COLUMNS)
			inventory_warn(x->r, "inventory: column '%.*s' is kept, but nothing follows from it",
				       x->name[i]);
	if (seen[C_REPLICA])
		return 0;
	csv_wrong(&x->csv, 0, "the header has no column 'replica', but '%.*s'", x->csv.cells[0], err);
	return err_hint(err, "the first line names the columns: replica,role,model,node,image,image_digest,state,"
			     "started_at,retired_at");
}

static int take_time(const struct csv_reader *x, unsigned cell, int64_t *ret, struct err *err)
{
	struct text t = x->csv.cells[cell];
	struct stamp s;
	size_t used;
	char day[32];
	if (t.len == 10) { /* a bare day means its beginning */
		snprintf(day, sizeof(day), "%.*sT00:00:00Z", TEXT_ARG(t));
		t = text_of(day);
	}
	if (!stamp_parse_iso(t, &s, &used) || used != t.len)
		return csv_wrong(&x->csv, cell, "'%.*s' is no time such as 2026-09-09T14:00:00Z", x->csv.cells[cell],
				 err);
	*ret = s.ns;
	return 0;
}

static int take_state(const struct csv_reader *x, unsigned cell, enum inventory_state *ret, struct err *err)
{
	static const char *const states[] = {"", "active", "draining", "retired"};
	for (unsigned i = 0; i < ARRAY_SIZE(states); i++)
		if (text_is(x->csv.cells[cell], states[i])) {
			*ret = (enum inventory_state)i;
			return 0;
		}
	return csv_wrong(&x->csv, cell, "state '%.*s': expected active, draining, retired or nothing",
			 x->csv.cells[cell], err);
}

static int take_value(struct csv_reader *x, unsigned cell, struct inventory_row *to, struct err *err)
{
	struct text t = x->csv.cells[cell];
	switch (x->column[cell]) {
	case C_REPLICA: to->replica = t; break;
	case C_ROLE:
		if (!text_is(t, "prefill") && !text_is(t, "decode") && !text_is(t, "unified"))
			return csv_wrong(&x->csv, cell, "role '%.*s': expected prefill, decode, unified or nothing", t,
					 err);
		to->role = t;
		break;
	case C_MODEL: to->model = t; break;
	case C_NODE: to->node = t; break;
	case C_IMAGE: to->image = t; break;
	case C_DIGEST:
		to->image_digest = image_digest(&x->r->inv->arena, t);
		if (!to->image_digest.len)
			return csv_wrong(&x->csv, cell, "image_digest '%.*s': expected sha256: and 64 hex digits", t,
					 err);
		break;
	case C_STATE: return take_state(x, cell, &to->state, err);
	case C_STARTED: return take_time(x, cell, &to->started_ns, err);
	case C_RETIRED: return take_time(x, cell, &to->retired_ns, err);
	default: {
		int rc = buf_add_char(&x->extra, x->extra.len ? ',' : '{', err);
		if (!rc)
			rc = buf_json_string(&x->extra, x->name[cell], err);
		if (!rc)
			rc = buf_add_char(&x->extra, ':', err);
		return rc ? rc : buf_json_string(&x->extra, t, err);
	}
	}
	return 0;
}

static int take_row(struct csv_reader *x, struct err *err)
{
	struct inventory_row row = {.started_ns = TIME_UNKNOWN, .retired_ns = TIME_UNKNOWN, .row = x->csv.line};
	unsigned replica = 0, retired = 0;
	int rc = 0;
	buf_clear(&x->extra);
	for (unsigned i = 0; !rc && i < x->csv.n; i++) {
		if (i >= x->n_names)
			return csv_wrong(&x->csv, i, "one column more than the header has: '%.*s'", x->csv.cells[i],
					 err);
		if (x->column[i] == C_REPLICA)
			replica = i;
		if (x->column[i] == C_RETIRED)
			retired = i;
		if (x->csv.cells[i].len > NAME_MAX_BYTES && x->column[i] == C_REPLICA)
			return csv_wrong(&x->csv, i, "a name of more than 256 bytes: '%.*s'", x->csv.cells[i], err);
		if (x->csv.cells[i].len)
			rc = take_value(x, i, &row, err);
	}
	if (!rc && !row.replica.len)
		return csv_wrong(&x->csv, replica, "the replica has no name%.*s", TEXT(""), err);
	if (!rc && row.replica.ptr[0] == '#')
		return csv_wrong(&x->csv, replica, "'%.*s': an inventory has no comments, and no name begins with '#'",
				 row.replica, err);
	if (!rc && row.retired_ns != TIME_UNKNOWN && row.started_ns != TIME_UNKNOWN && row.started_ns > row.retired_ns)
		return csv_wrong(&x->csv, retired, "retired_at '%.*s' is before started_at", x->csv.cells[retired],
				 err);
	if (!rc && x->extra.len)
		rc = buf_add_char(&x->extra, '}', err);
	row.extra = buf_text(&x->extra);
	return rc ? rc : inventory_add(x->r, &row, err);
}

static int read_csv(struct inventory_reader *r, struct text content, struct err *err)
{
	struct csv_reader *x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	x->r = r;
	x->extra = BUF_INIT(DOCUMENT_MAX_BYTES);
	csv_open(&x->csv, content);
	x->csv.plain = true; /* RFC 4180: no line is left out, whatever it begins with */
	int rc = csv_next(&x->csv, &r->inv->arena, err);
	if (rc == 0)
		rc = err_set(err, ERR_INPUT, "the inventory is empty");
	if (rc == 1)
		rc = take_header(x, err);
	while (rc == 0 && (rc = csv_next(&x->csv, &r->inv->arena, err)) == 1)
		rc = take_row(x, err);
	buf_done(&x->extra);
	free(x);
	return rc;
}

/* ---- both forms ---- */

static int row_cmp(const void *a, const void *b)
{
	const struct inventory_row *x = a, *y = b;
	int c = text_cmp(x->replica, y->replica);
	return c ? c : (x->row > y->row) - (x->row < y->row);
}

/* A replica that is named twice would be counted twice. */
static int check_once(struct inventory *inv, bool json, struct err *err)
{
	if (inv->n)
		qsort(inv->rows, inv->n, sizeof(*inv->rows), row_cmp);
	for (size_t i = 1; i < inv->n; i++) {
		struct text name = inv->rows[i].replica;
		struct buf shown = BUF_INIT(4 * KIB);
		if (!text_eq(name, inv->rows[i - 1].replica))
			continue;
		int rc = text_visible(name, 80, &shown, err);
		if (!rc)
			rc = err_set(err, ERR_INPUT,
				     json ? "items %u and %u are both the replica '%s'"
					  : "lines %u and %u are both of the replica '%s' (column 'replica')",
				     inv->rows[i - 1].row, inv->rows[i].row, shown.ptr);
		buf_done(&shown);
		return rc;
	}
	return 0;
}

int inventory_read(struct inventory **ret, struct text content, void (*warn)(void *ctx, struct text what), void *ctx,
		   struct err *err)
{
	struct inventory *inv = calloc(1, sizeof(*inv));
	unsigned char sha[SHA256_BYTES];
	if (!inv)
		return err_nomem(err);
	arena_init(&inv->arena, 4 * DOCUMENT_MAX_BYTES);
	inv->taken_ns = TIME_UNKNOWN;
	struct inventory_reader r = {inv, warn, ctx};
	struct stamp taken = STAMP_INIT;
	struct text begin = collected_header(content, &taken);
	bool json = text_starts(begin, "{") || text_starts(begin, "[");
	if (json)
		inventory_taken(inv, taken);
	int rc = json ? inventory_read_json(&r, begin, err) : read_csv(&r, content, err);
	if (!rc)
		rc = check_once(inv, json, err);
	if (!rc)
		rc = sha256_once(content.ptr, content.len, sha, err);
	if (!rc)
		sha256_hex(sha, inv->sha256);
	if (rc < 0) {
		inventory_free(inv);
		return rc;
	}
	*ret = inv;
	return 0;
}

int inventory_load(struct inventory **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
		   struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	int rc = buf_add_file(&b, path, "inventory", err);
	if (!rc)
		rc = inventory_read(ret, buf_text(&b), warn, ctx, err);
	if (rc)
		return err_where(err, "%s", path);
	struct stamp named = STAMP_INIT;
	if (collected_name(path, 6, &named))
		inventory_taken(*ret, named);
	(*ret)->path = arena_text(&(*ret)->arena, text_of(path));
	if ((*ret)->path.ptr)
		return 0;
	inventory_free(*ret);
	*ret = NULL;
	return err_nomem(err);
}

void inventory_free(struct inventory *inv)
{
	if (!inv)
		return;
	arena_done(&inv->arena);
	free(inv->rows);
	free(inv);
}

size_t inventory_count(const struct inventory *inv)
{
	return inv->n;
}

const struct inventory_row *inventory_at(const struct inventory *inv, size_t i)
{
	return &inv->rows[i];
}

struct text inventory_path(const struct inventory *inv)
{
	return inv->path;
}

const char *inventory_sha256(const struct inventory *inv)
{
	return inv->sha256;
}

int64_t inventory_taken_ns(const struct inventory *inv)
{
	return inv->taken_ns;
}
