/* SPDX-License-Identifier: Apache-2.0 */
/* rowset.c - rows computed in C as a read-only table-valued function
 *
 * Eponymous only (no CREATE VIRTUAL TABLE), innocuous: they read the case and nothing else. Hidden columns are
 * arguments; a plan that cannot give an argument that the statement has is refused, so that joins feed them from the
 * left. An argument of NULL counts as not given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/stamp.h"
#include "vtab.h"

/* KEY_ARG: bit of idxNum and place among the arguments of what a spec's key has to be equal to. */
enum { ROWSET_COLUMNS_MAX = 63, KEY_ARG = ROWSET_KEY };

enum cell_type { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT, CELL_CONST };
struct cell {
	enum cell_type type;
	int64_t i;
	double d;
	size_t off, len;      /* in rowset.texts */
	const char *constant; /* of CELL_CONST */
};

struct rowset {
	unsigned n;
	bool failed; /* out of memory in a setter */
	bool in_order;
	uint64_t asked; /* bit per column: fill() was called for it */
	uint64_t set;   /* likewise: it is not NULL */
	struct buf texts;
	struct cell cells[];
};

/* What a registration owns. */
struct module {
	struct case_file *c;
	struct rowset_spec spec;
	void *ctx;
	unsigned
	    users; /* the registration, and tables that SQLite has not let go of: it may do so behind the registration's end */
};

static void module_done(void *aux)
{
	struct module *m = aux;
	if (--m->users > 0)
		return;
	if (m->spec.done)
		m->spec.done(m->ctx);
	free(m);
}

struct cursor {
	sqlite3_vtab_cursor base;
	struct module *m;
	void *state;
	bool open, eof;
	int64_t rowid;
	struct rowset *row;
	struct text args[KEY_ARG + 1];
	struct buf arg_texts;
};

static struct cell *cell(struct rowset *r, unsigned col)
{
	if (col >= r->n)
		return NULL;
	r->set |= UINT64_C(1) << col;
	return &r->cells[col];
}

bool rowset_in_order(const struct rowset *r)
{
	return r->in_order;
}

void rowset_int(struct rowset *r, unsigned col, int64_t v)
{
	struct cell *x = cell(r, col);
	if (x)
		*x = (struct cell){.type = CELL_INT, .i = v};
}

void rowset_time(struct rowset *r, unsigned col, int64_t ns)
{
	struct cell *x = cell(r, col);
	if (x)
		*x = (struct cell){.type = ns == TIME_UNKNOWN ? CELL_NULL : CELL_INT, .i = ns};
}

void rowset_real(struct rowset *r, unsigned col, double v)
{
	struct cell *x = cell(r, col);
	if (x)
		*x = (struct cell){.type = CELL_REAL, .d = v};
}

void rowset_text(struct rowset *r, unsigned col, struct text v)
{
	struct cell *x = cell(r, col);
	if (!x)
		return;
	*x = (struct cell){.type = v.ptr ? CELL_TEXT : CELL_NULL, .off = r->texts.len, .len = v.len};
	if (v.ptr && buf_add_text(&r->texts, v, NULL))
		r->failed = true;
}

void rowset_const(struct rowset *r, unsigned col, const char *v)
{
	struct cell *x = cell(r, col);
	if (x)
		*x = (struct cell){.type = v ? CELL_CONST : CELL_NULL, .constant = v, .len = v ? strlen(v) : 0};
}

/* --- SQLite's side --- */

static int rowset_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **zErr)
{
	const struct rowset_spec *spec = &((struct module *)aux)->spec;
	sqlite3_str *decl = vtab_columns(db);
	(void)argc, (void)argv;
	for (unsigned i = 0; i < spec->n_columns; i++) {
		const struct rowset_column *col = &spec->columns[i];
		char type[40];
		snprintf(type, sizeof(type), "%s%s", strcmp(col->type, "JSON") ? col->type : "TEXT",
			 col->hidden ? " HIDDEN" : "");
		vtab_column(decl, col->name, type);
	}
	int rc = vtab_connect(db, decl, aux, ret, zErr);
	((struct module *)aux)->users += rc == SQLITE_OK;
	return rc;
}

static int rowset_disconnect(sqlite3_vtab *vtab)
{
	struct module *m = vtab_module(vtab);
	if (m->spec.idle)
		m->spec.idle(m->ctx);
	module_done(m);
	return vtab_disconnect(vtab);
}

/* Number of hidden columns before `col`: the argument that this column is. */
static unsigned arg_index(const struct rowset_spec *spec, unsigned col)
{
	unsigned n = 0;
	for (unsigned i = 0; i < col; i++)
		n += spec->columns[i].hidden;
	return n;
}

/* Is what the statement asks for the order in which rows can come? */
static bool is_in_order(const struct rowset_spec *spec, const sqlite3_index_info *info)
{
	if (info->nOrderBy < 1 || (unsigned)info->nOrderBy > spec->n_order)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != (int)spec->order[i])
			return false;
	return true;
}

/* Is it an equality of the spec's key, compared byte by byte? */
static bool is_key(const struct rowset_spec *spec, sqlite3_index_info *info, int i)
{
	return spec->key && info->aConstraint[i].iColumn == (int)*spec->key && info->aConstraint[i].usable &&
	       info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
	       !strcmp(sqlite3_vtab_collation(info, i), "BINARY");
}

/* idxNum: bit per argument that is given; argv in the order of the arguments. idxStr: "o" in order. */
static int rowset_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct rowset_spec *spec = &((struct module *)vtab_module(vtab))->spec;
	int at[KEY_ARG + 1];
	uint32_t given = 0, wanted = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		int col = info->aConstraint[i].iColumn;
		if (is_key(spec, info, i)) {
			given |= 1u << KEY_ARG;
			at[KEY_ARG] = i;
		}
		if (col < 0 || !spec->columns[col].hidden || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		unsigned arg = arg_index(spec, (unsigned)col);
		wanted |= 1u << arg;
		if (info->aConstraint[i].usable && !(given >> arg & 1)) {
			given |= 1u << arg;
			at[arg] = i;
		}
	}
	if (wanted & ~given)
		return SQLITE_CONSTRAINT;
	int next = 1;
	for (unsigned arg = 0; arg <= KEY_ARG; arg++) {
		if (!(given >> arg & 1))
			continue;
		info->aConstraintUsage[at[arg]].argvIndex = next++;
		info->aConstraintUsage[at[arg]].omit = arg != KEY_ARG; /* who hands it down may be misunderstood */
	}
	info->idxNum = (int)given;
	info->orderByConsumed = is_in_order(spec, info);
	if (info->orderByConsumed)
		info->idxStr = (char *)"o";
	info->estimatedRows = given ? 100 : 10000;
	info->estimatedCost = given ? 1000 : 100000;
	return SQLITE_OK;
}

static int rowset_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct module *m = vtab_module(vtab);
	struct cursor *cur = calloc(1, sizeof(*cur));
	size_t size = sizeof(struct rowset) + m->spec.n_columns * sizeof(struct cell);
	if (!cur || !(cur->row = calloc(1, size))) {
		free(cur);
		return SQLITE_NOMEM;
	}
	cur->m = m;
	cur->row->n = m->spec.n_columns;
	cur->row->texts = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	cur->arg_texts = BUF_INIT(CHUNK_MAX_DECODED_BYTES);
	*ret = &cur->base;
	return SQLITE_OK;
}

static void cursor_end(struct cursor *cur)
{
	if (cur->open && cur->m->spec.close)
		cur->m->spec.close(cur->state);
	cur->open = false;
	cur->state = NULL;
}

static int rowset_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	cursor_end(cur);
	buf_done(&cur->row->texts);
	buf_done(&cur->arg_texts);
	free(cur->row);
	free(cur);
	return SQLITE_OK;
}

static int fail(struct cursor *cur, int code, struct err *err)
{
	if (!err->code)
		err_set(err, code, "%s() failed", cur->m->spec.name);
	cur->eof = true;
	return store_pending(cur->m->c, err, &cur->base.pVtab->zErrMsg);
}

static int rowset_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	for (uint64_t left = cur->row->set; left; left &= left - 1)
		cur->row->cells[__builtin_ctzll(left)].type = CELL_NULL;
	buf_clear(&cur->row->texts);
	cur->row->asked = cur->row->set = 0;
	int r = cur->m->spec.next(cur->state, cur->row, &err);
	if (r >= 0 && cur->row->failed)
		r = err_nomem(&err);
	if (r < 0)
		return fail(cur, r, &err);
	cur->eof = !r;
	cur->rowid++;
	return SQLITE_OK;
}

/* Copies the arguments: they must stay while rows are read. */
static int take_args(struct cursor *cur, int given, sqlite3_value **argv, struct err *err)
{
	size_t off[KEY_ARG + 1];
	int next = 0;
	buf_clear(&cur->arg_texts);
	memset(cur->args, 0, sizeof(cur->args));
	for (unsigned arg = 0; arg <= KEY_ARG; arg++) {
		if (!(given >> arg & 1))
			continue;
		sqlite3_value *v = argv[next++];
		if (sqlite3_value_type(v) == SQLITE_NULL ||
		    (arg == KEY_ARG && sqlite3_value_type(v) != SQLITE_TEXT)) /* SQLite checks it */
			continue;
		const char *p = (const char *)sqlite3_value_text(v);
		if (!p)
			return err_nomem(err);
		off[arg] = cur->arg_texts.len;
		cur->args[arg] = (struct text){p, (size_t)sqlite3_value_bytes(v)};
		int r = buf_add_text(&cur->arg_texts, cur->args[arg], err);
		if (!r)
			r = buf_add_char(&cur->arg_texts, 0, err);
		if (r)
			return r;
	}
	for (unsigned arg = 0; arg <= KEY_ARG; arg++)
		if (cur->args[arg].ptr)
			cur->args[arg].ptr = cur->arg_texts.ptr + off[arg];
	return 0;
}

static int rowset_filter(sqlite3_vtab_cursor *base, int given, const char *idxStr, int argc, sqlite3_value **argv)
{
	struct cursor *cur = (struct cursor *)base;
	struct err err = {0};
	(void)argc;
	cur->row->in_order = idxStr && *idxStr == 'o';
	cursor_end(cur);
	cur->rowid = 0;
	int r = take_args(cur, given, argv, &err);
	if (!r)
		r = cur->m->spec.open(cur->m->ctx, cur->args, &cur->state, &err);
	if (r < 0)
		return fail(cur, r, &err);
	cur->open = true;
	return rowset_next(base);
}

static int rowset_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->eof;
}

static int rowset_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
	struct cursor *cur = (struct cursor *)base;
	const struct cell *x = &cur->row->cells[col];
	if (x->type == CELL_NULL && cur->m->spec.fill && !(cur->row->asked >> col & 1)) {
		struct err err = {0};
		cur->row->asked |= UINT64_C(1) << col;
		int r = cur->m->spec.fill(cur->state, cur->row, (unsigned)col, &err);
		if (r >= 0 && cur->row->failed)
			r = err_nomem(&err);
		if (r < 0)
			return fail(cur, r, &err);
	}
	switch (x->type) {
	case CELL_INT: sqlite3_result_int64(out, x->i); break;
	case CELL_REAL: sqlite3_result_double(out, x->d); break;
	case CELL_CONST: sqlite3_result_text64(out, x->constant, x->len, SQLITE_STATIC, SQLITE_UTF8); break;
	case CELL_TEXT:
		sqlite3_result_text64(out, x->len ? cur->row->texts.ptr + x->off : "", x->len, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
		break;
	default:
		if (cur->m->spec.columns[col].hidden) {
			struct text t = cur->args[arg_index(&cur->m->spec, (unsigned)col)];
			if (t.ptr)
				sqlite3_result_text64(out, t.ptr, t.len, SQLITE_TRANSIENT, SQLITE_UTF8);
		}
	}
	return SQLITE_OK;
}

static int rowset_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)base)->rowid;
	return SQLITE_OK;
}

static const sqlite3_module rowset_module = {
    .xConnect = rowset_connect,
    .xBestIndex = rowset_best_index,
    .xDisconnect = rowset_disconnect,
    .xDestroy = rowset_disconnect,
    .xOpen = rowset_open,
    .xClose = rowset_close,
    .xFilter = rowset_filter,
    .xNext = rowset_next,
    .xEof = rowset_eof,
    .xColumn = rowset_column,
    .xRowid = rowset_rowid,
};

int rowset_register(struct case_file *c, const struct rowset_spec *spec, void *ctx, struct err *err)
{
	bool fits =
	    spec->n_columns && spec->n_columns <= ROWSET_COLUMNS_MAX && arg_index(spec, spec->n_columns) <= KEY_ARG;
	struct module *m = fits ? malloc(sizeof(*m)) : NULL;
	if (!m) {
		if (spec->done)
			spec->done(ctx);
		return fits ? err_nomem(err) : err_set(err, ERR_BUG, "%s(): number of columns", spec->name);
	}
	*m = (struct module){c, *spec, ctx, 1};
	/* ends m also when it fails */
	int rc = sqlite3_create_module_v2(c->db, spec->name, &rowset_module, m, module_done);
	return rc == SQLITE_OK ? 0 : store_error(c, rc, err);
}
