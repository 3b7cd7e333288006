/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - who read whose pages, as a directed graph in DOT
 *
 * Nodes are numbered in the order they came; no foreign text is a name of DOT's own. Every text goes through put_word(), which
 * is text_visible() and then quotes: in a quoted string of DOT a backslash begins an escape and an ampersand an entity.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/arena.h"
#include "pagetrail/array.h"
#include "pagetrail/limits.h"
#include "pagetrail/picture.h"
#include "svg.h"

enum { NAME_COLUMNS = 40, NOTE_COLUMNS = 60 };

struct node {
	struct text name, tenant, note;
	uint32_t group; /* tenant, by number; of a fixed node UINT32_MAX */
	uint32_t shown; /* node that it is drawn as, once grouped */
	bool fixed;
};

struct edge {
	uint32_t from, to; /* nodes */
	struct text kind, grade, place;
	int64_t pages, reads;
};

struct tenant {
	struct text name;
	uint64_t edges; /* at its requests */
	uint32_t nodes;
	bool merged; /* into "other tenants" */
};

struct table { /* numbers by hash, open addressing; 0: free, else number + 1 */
	uint32_t *at;
	size_t cap, n;
};

struct graph {
	struct node *nodes;
	struct edge *edges;
	struct tenant *tenants;
	uint32_t n_nodes, n_tenants;
	size_t n_edges, cap_nodes, cap_edges, cap_tenants;
	struct table by_name, by_tenant;
	struct text few[256];
	unsigned n_few;
	struct arena arena;
};

int graph_new(struct graph **ret, struct err *err)
{
	struct graph *g = calloc(1, sizeof(*g));
	if (!g)
		return err_nomem(err);
	arena_init(&g->arena, ARENA_MAX_BYTES);
	*ret = g;
	return 0;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->nodes);
	free(g->edges);
	free(g->tenants);
	free(g->by_name.at);
	free(g->by_tenant.at);
	arena_done(&g->arena);
	free(g);
}

static uint64_t node_hash(struct text name, struct text tenant)
{
	return text_hash(name) ^ text_hash(tenant) * 3;
}

static uint64_t hash_of(const struct graph *g, bool tenants, uint32_t i)
{
	return tenants ? text_hash(g->tenants[i].name) : node_hash(g->nodes[i].name, g->nodes[i].tenant);
}

static int table_room(struct graph *g, bool tenants, struct err *err)
{
	struct table *t = tenants ? &g->by_tenant : &g->by_name;
	if (t->n * 2 < t->cap)
		return 0;
	struct table more = {.cap = t->cap ? t->cap * 2 : 256, .n = t->n};
	more.at = calloc(more.cap, sizeof(*more.at));
	if (!more.at)
		return err_nomem(err);
	for (uint32_t i = 0; i < t->n; i++) {
		size_t k = hash_of(g, tenants, i) & (more.cap - 1);
		while (more.at[k])
			k = (k + 1) & (more.cap - 1);
		more.at[k] = i + 1;
	}
	free(t->at);
	*t = more;
	return 0;
}

static struct text kept(struct graph *g, struct text t, bool *ok)
{
	struct text copy = arena_text(&g->arena, text_sub(t, 0, 2 * NAME_MAX_BYTES));
	*ok &= !t.len || copy.ptr;
	return copy;
}

/* Kinds, grades and workers are few: each is kept once. */
static struct text few(struct graph *g, struct text t, bool *ok)
{
	for (unsigned i = 0; i < g->n_few; i++)
		if (text_eq(g->few[i], t))
			return g->few[i];
	struct text copy = kept(g, t, ok);
	if (g->n_few < ARRAY_SIZE(g->few))
		g->few[g->n_few++] = copy;
	return copy;
}

static int tenant_of(struct graph *g, struct text name, uint32_t *ret, struct err *err)
{
	bool ok = true;
	name = text_sub(name, 0, 2 * NAME_MAX_BYTES);
	int rc = table_room(g, true, err);
	if (rc)
		return rc;
	size_t k = text_hash(name) & (g->by_tenant.cap - 1);
	for (; g->by_tenant.at[k]; k = (k + 1) & (g->by_tenant.cap - 1))
		if (text_eq(g->tenants[g->by_tenant.at[k] - 1].name, name)) {
			*ret = g->by_tenant.at[k] - 1;
			return 0;
		}
	if (grow_array((void **)&g->tenants, &g->cap_tenants, g->n_tenants, sizeof(*g->tenants), err))
		return ERR_NOMEM;
	g->tenants[g->n_tenants] = (struct tenant){.name = kept(g, name, &ok)};
	*ret = g->n_tenants++;
	g->by_tenant.at[k] = g->n_tenants;
	g->by_tenant.n++;
	return ok ? 0 : err_nomem(err);
}

static int node_of(struct graph *g, const struct graph_node *node, uint32_t *ret, struct err *err)
{
	struct text name = text_sub(node->name, 0, 2 * NAME_MAX_BYTES),
		    tenant = text_sub(node->tenant, 0, 2 * NAME_MAX_BYTES);
	bool ok = true;
	int rc = table_room(g, false, err);
	if (rc)
		return rc;
	size_t k = node_hash(name, tenant) & (g->by_name.cap - 1);
	for (; g->by_name.at[k]; k = (k + 1) & (g->by_name.cap - 1)) {
		const struct node *n = &g->nodes[g->by_name.at[k] - 1];
		if (n->fixed == node->fixed && text_eq(n->name, name) && text_eq(n->tenant, tenant)) {
			*ret = g->by_name.at[k] - 1;
			return 0;
		}
	}
	if (grow_array((void **)&g->nodes, &g->cap_nodes, g->n_nodes, sizeof(*g->nodes), err))
		return ERR_NOMEM;
	struct node n = {.fixed = node->fixed, .group = UINT32_MAX, .shown = g->n_nodes};
	n.name = kept(g, name, &ok);
	n.tenant = kept(g, tenant, &ok);
	n.note = kept(g, node->note, &ok);
	if (!node->fixed)
		rc = tenant_of(g, tenant, &n.group, err);
	if (rc || !ok)
		return rc ? rc : err_nomem(err);
	if (!node->fixed)
		g->tenants[n.group].nodes++;
	*ret = g->n_nodes;
	g->nodes[g->n_nodes++] = n;
	g->by_name.at[k] = g->n_nodes;
	g->by_name.n++;
	return 0;
}

int graph_add_node(struct graph *g, const struct graph_node *node, struct err *err)
{
	uint32_t n;
	return node_of(g, node, &n, err);
}

int graph_add(struct graph *g, const struct graph_edge *edge, struct err *err)
{
	struct edge e = {.pages = edge->pages, .reads = 1};
	bool ok = true;
	if (g->n_edges == PICTURE_ROWS_MAX) {
		err_set(err, ERR_LIMIT, "more than %zu reads to draw", PICTURE_ROWS_MAX);
		return err_hint(err, "draw a part of them: --worker, --kind");
	}
	int rc = node_of(g, &edge->from, &e.from, err);
	if (!rc)
		rc = node_of(g, &edge->to, &e.to, err);
	if (rc)
		return rc;
	if (grow_array((void **)&g->edges, &g->cap_edges, g->n_edges, sizeof(*g->edges), err))
		return ERR_NOMEM;
	e.kind = few(g, edge->kind, &ok);
	e.grade = few(g, edge->grade, &ok);
	e.place = few(g, edge->place, &ok);
	g->edges[g->n_edges++] = e;
	for (int i = 0; i < 2; i++) {
		uint32_t group = g->nodes[i ? e.to : e.from].group;
		if (group != UINT32_MAX)
			g->tenants[group].edges++;
	}
	return ok ? 0 : err_nomem(err);
}

/* --- drawing together --- */

/* Which node stands for this one when requests are drawn together. */
static uint32_t shown_as(const struct graph *g, uint32_t node, uint32_t others)
{
	const struct node *n = &g->nodes[node];
	if (n->fixed)
		return node;
	return g->n_nodes + (g->tenants[n->group].merged ? others : n->group);
}

static int edge_cmp(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	int c = text_cmp(x->kind, y->kind);
	return c ? c : text_cmp(x->grade, y->grade);
}

/* The edges between what requests are shown as; equal ones are one. */
static size_t join(const struct graph *g, struct edge *to)
{
	size_t n = 0;
	for (size_t i = 0; i < g->n_edges; i++) {
		to[i] = g->edges[i];
		to[i].from = shown_as(g, to[i].from, g->n_tenants);
		to[i].to = shown_as(g, to[i].to, g->n_tenants);
		to[i].place = (struct text){NULL, 0};
	}
	qsort(to, g->n_edges, sizeof(*to), edge_cmp);
	for (size_t i = 0; i < g->n_edges; i++)
		if (n && !edge_cmp(&to[n - 1], &to[i])) {
			to[n - 1].reads += to[i].reads;
			to[n - 1].pages += to[i].pages;
		} else {
			to[n++] = to[i];
		}
	return n;
}

struct rank {
	uint64_t edges;
	uint32_t tenant;
};

static int rank_cmp(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	if (x->edges != y->edges)
		return x->edges > y->edges ? -1 : 1;
	return x->tenant < y->tenant ? -1 : 1;
}

/* Only the tenants with the most reads keep a node of their own: fewer and fewer, until the edges are few enough. */
static int merge(struct graph *g, struct edge *joined, size_t *n, struct err *err)
{
	struct rank *ranks = malloc((g->n_tenants + 1) * sizeof(*ranks));
	if (!ranks)
		return err_nomem(err);
	for (uint32_t i = 0; i < g->n_tenants; i++)
		ranks[i] = (struct rank){g->tenants[i].edges, i};
	qsort(ranks, g->n_tenants, sizeof(*ranks), rank_cmp);
	for (uint32_t keep = MIN(g->n_tenants, (uint32_t)PICTURE_EDGES_MAX); *n > PICTURE_ARROWS_MAX && keep;
	     keep = keep * 3 / 4) {
		for (uint32_t i = 0; i < g->n_tenants; i++)
			g->tenants[ranks[i].tenant].merged = i >= keep * 3 / 4;
		*n = join(g, joined);
	}
	free(ranks);
	return 0;
}

/* --- words --- */

static int put_quoted(struct buf *out, struct text shown, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < shown.len; i++) {
		char c = shown.ptr[i];
		if (c == '"' || c == '\\')
			rc = buf_add_char(out, '\\', err);
		if (!rc)
			rc = c == '&' ? buf_add_text(out, TEXT("&amp;"), err) : buf_add_char(out, c, err);
	}
	return rc;
}

static int put_word(struct buf *out, struct text t, size_t columns, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = svg_short(t, columns, &b, err);
	return rc ? rc : put_quoted(out, buf_text(&b), err);
}

static int put_long(struct buf *out, struct text t, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	int rc = text_visible(t, CELL_MAX_BYTES, &b, err);
	return rc ? rc : put_quoted(out, buf_text(&b), err);
}

static int put_label(struct buf *out, struct text name, struct text note, struct err *err)
{
	int rc = buf_add_text(out, TEXT("label=\""), err);
	if (!rc)
		rc = put_word(out, name, NAME_COLUMNS, err);
	if (!rc && note.len)
		rc = buf_add_text(out, TEXT("\\n"), err);
	if (!rc && note.len)
		rc = put_word(out, note, NOTE_COLUMNS, err);
	return rc ? rc : buf_add_char(out, '"', err);
}

static int put_tenant(struct buf *out, struct text name, struct err *err)
{
	return name.len ? put_word(out, name, NAME_COLUMNS, err) : buf_add_text(out, TEXT("tenant not known"), err);
}

static const char *style_of(struct text kind)
{
	static const char *const styles[][2] = {
	    {"stale", "style=solid, color=\"#b3261e\", penwidth=2"},
	    {"late_write", "style=bold, color=\"#8a4b00\", arrowhead=vee, penwidth=2"},
	    {"not_ready", "style=dotted, color=\"#0b5394\", penwidth=2"},
	    {"uninitialised", "style=dotted, color=\"#777777\", arrowhead=empty"},
	    {"shared", "style=dashed, color=\"#35628a\", arrowhead=empty"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		if (text_is(kind, styles[i][0]))
			return styles[i][1];
	return "style=solid, color=\"#000000\"";
}

static int put_edge(struct buf *out, const struct edge *e, struct err *err)
{
	int rc = buf_printf(out, err, "\tn%u -> n%u [%s, label=\"", e->from, e->to, style_of(e->kind));
	if (!rc)
		rc = put_word(out, e->kind, NAME_COLUMNS, err);
	if (!rc && e->reads > 1)
		rc = buf_printf(out, err, ", %" PRId64 " reads", e->reads);
	if (!rc && e->pages)
		rc = buf_printf(out, err, ", %" PRId64 " page%s", e->pages, e->pages == 1 ? "" : "s");
	if (!rc && (e->grade.len || e->place.len))
		rc = buf_add_text(out, TEXT("\\n"), err);
	if (!rc)
		rc = put_word(out, e->grade, NAME_COLUMNS, err);
	if (!rc && e->place.len)
		rc = buf_add_text(out, e->grade.len ? TEXT(", ") : TEXT(""), err);
	if (!rc)
		rc = put_word(out, e->place, NAME_COLUMNS, err);
	return rc ? rc : buf_add_text(out, TEXT("\"];\n"), err);
}

static int put_fixed(const struct graph *g, struct buf *out, struct err *err)
{
	int rc = 0;
	for (uint32_t i = 0; !rc && i < g->n_nodes; i++) {
		if (!g->nodes[i].fixed)
			continue;
		rc = buf_printf(out, err, "\tn%u [shape=box, style=bold, ", i);
		if (!rc)
			rc = put_label(out, g->nodes[i].name, g->nodes[i].note, err);
		if (!rc)
			rc = buf_add_text(out, TEXT("];\n"), err);
	}
	return rc;
}

/* A box for each tenant, with its requests. */
static int put_requests(const struct graph *g, struct buf *out, struct err *err)
{
	int rc = 0;
	for (uint32_t t = 0; !rc && t < g->n_tenants; t++) {
		rc = buf_printf(out, err, "\tsubgraph cluster_%u {\n\t\tlabel=\"", t);
		if (!rc)
			rc = put_tenant(out, g->tenants[t].name, err);
		if (!rc)
			rc = buf_add_text(out, TEXT("\";\n\t\tstyle=rounded;\n"), err);
		for (uint32_t i = 0; !rc && i < g->n_nodes; i++) {
			if (g->nodes[i].group != t)
				continue;
			rc = buf_printf(out, err, "\t\tn%u [", i);
			if (!rc)
				rc = put_label(out, g->nodes[i].name, g->nodes[i].note, err);
			if (!rc)
				rc = buf_add_text(out, TEXT("];\n"), err);
		}
		if (!rc)
			rc = buf_add_text(out, TEXT("\t}\n"), err);
	}
	return rc;
}

static int put_tenants(const struct graph *g, struct buf *out, struct err *err)
{
	uint32_t merged = 0;
	uint64_t requests = 0;
	int rc = 0;
	for (uint32_t t = 0; !rc && t < g->n_tenants; t++) {
		const struct tenant *x = &g->tenants[t];
		if (x->merged) {
			merged++;
			requests += x->nodes;
			continue;
		}
		rc = buf_printf(out, err, "\tn%u [label=\"", g->n_nodes + t);
		if (!rc)
			rc = put_tenant(out, x->name, err);
		if (!rc)
			rc = buf_printf(out, err, "\\n%u request%s\"];\n", x->nodes, x->nodes == 1 ? "" : "s");
	}
	if (!rc && merged)
		rc =
		    buf_printf(out, err, "\tn%u [label=\"%u other tenant%s\\n%" PRIu64 " request%s\", style=dashed];\n",
			       g->n_nodes + g->n_tenants, merged, PLURAL(merged), requests, PLURAL(requests));
	return rc;
}

static int put_head(const struct graph *g, const struct picture_words *w, size_t shown, bool together, struct buf *out,
		    struct err *err)
{
	int rc = buf_add_text(out, TEXT("digraph pagetrail {\n\tlabel=\""), err);
	if (!rc)
		rc = put_long(out, w->title, err);
	if (!rc)
		rc = buf_printf(out, err, "\\nArrows lead from whose content it was to who read it; %s.",
				together ? "each node is a tenant" : "boxes are tenants");
	if (!rc && together)
		rc = buf_printf(out, err,
				"\\nDrawn together by tenant: %zu reads (more than %d) of %u nodes as %zu arrows; "
				"pages are sums over "
				"reads.",
				g->n_edges, PICTURE_EDGES_MAX, g->n_nodes, shown);
	if (!rc)
		rc = buf_add_text(out, TEXT("\\nThe same data as a table: "), err);
	if (!rc)
		rc = put_long(out, w->command, err);
	return rc ? rc
		  : buf_add_text(out,
				 TEXT("\";\n\tlabelloc=t;\n\trankdir=LR;\n\tfontname=\"DejaVu Sans\";\n"
				      "\tnode [shape=ellipse, fontname=\"DejaVu Sans\", fontsize=11];\n"
				      "\tedge [fontname=\"DejaVu Sans\", fontsize=10];\n"),
				 err);
}

int graph_draw(struct graph *g, const struct picture_words *w, struct buf *out, struct err *err)
{
	struct edge *edges = g->edges, *joined = NULL;
	size_t n = g->n_edges;
	bool together = n > PICTURE_EDGES_MAX;
	int rc = 0;
	if (together) {
		edges = joined = malloc(n * sizeof(*joined));
		if (!joined)
			return err_nomem(err);
		n = join(g, joined);
		rc = merge(g, joined, &n, err);
	}
	if (!rc)
		rc = put_head(g, w, n, together, out, err);
	if (!rc)
		rc = put_fixed(g, out, err);
	if (!rc)
		rc = together ? put_tenants(g, out, err) : put_requests(g, out, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = put_edge(out, &edges[i], err);
	free(joined);
	return rc ? rc : buf_add_text(out, TEXT("}\n"), err);
}
