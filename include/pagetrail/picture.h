/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - pictures of their own, as SVG or DOT: drawn from rows that a query gives, so that the table of the same query
 * is equal to them
 *
 * Rows are added in the order of the query; texts are copied. The same rows give the same bytes. What a picture has no room
 * for is counted in the picture itself, with the command that lists it.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/err.h"

struct picture_words {
	struct text title;          /* heading */
	struct text command;        /* that prints the same data as a table */
	int64_t since_ns, until_ns; /* what was asked for; TIME_UNKNOWN: all */
};

/* --- timeline: one lane a worker (queries/lanes.sql) --- */
struct lanes_row {
	struct text worker; /* empty: not known */
	struct text what;   /* coverage, boot, gap, exposed_window, recipient_window, response */
	struct text kind;   /* coverage: role; gap: its kind; response: its class */
	struct text detail; /* boot: version; gap: effect; response: request; coverage: page_log or none */
	int64_t from_ns, to_ns;
	int64_t pool_tokens, input_limit, page_size; /* of a boot; 0: not known */
	int64_t count;                               /* of a window: responses */
};
struct lanes;
int lanes_new(struct lanes **ret, struct err *err) MUST_CHECK;
int lanes_add(struct lanes *l, const struct lanes_row *row, struct err *err) MUST_CHECK;
int lanes_draw(struct lanes *l, const struct picture_words *w, struct buf *out, struct err *err) MUST_CHECK;
void lanes_free(struct lanes *l); /* accepts NULL */
DEFINE_CLEANUP(struct lanes *, lanes_free)

/* --- lineage: pages of one request over time (queries/lineage_pages.sql) --- */
struct bands_row {
	struct text worker, pool, what, other, tenant, kind, grade;
	int64_t first_page, pages; /* pages 0: none named */
	int64_t from_ns, to_ns, wrote_ns;
};
struct bands;
int bands_new(struct bands **ret, struct err *err) MUST_CHECK;
int bands_add(struct bands *p, const struct bands_row *row, struct err *err) MUST_CHECK;
int bands_draw(struct bands *p, const struct picture_words *w, struct buf *out, struct err *err) MUST_CHECK;
void bands_free(struct bands *p); /* accepts NULL */
DEFINE_CLEANUP(struct bands *, bands_free)

/* --- graph: who read whose pages, as DOT (graphviz) ---
 *
 * Requests stand in a box of their tenant. Where there would be more than PICTURE_EDGES_MAX edges, requests are drawn together
 * by tenant, and then the tenants with the fewest reads as one; nodes that are fixed stay as they are. */
struct graph_node {
	struct text name;   /* nodes of the same name and tenant are one */
	struct text tenant; /* empty: not known */
	struct text note;   /* a second line; of the first of its name */
	bool fixed;         /* a leg, or what else belongs to no tenant */
};
struct graph_edge {
	struct graph_node from, to;
	struct text kind;  /* stale, late_write, not_ready, uninitialised, shared; empty: a leg's hand-off */
	struct text grade; /* physical, temporal; may be empty */
	struct text place; /* worker */
	int64_t pages;     /* 0: none to be said */
};
struct graph;
int graph_new(struct graph **ret, struct err *err) MUST_CHECK;
/* A node without edges, too, is drawn. */
int graph_add_node(struct graph *g, const struct graph_node *node, struct err *err) MUST_CHECK;
int graph_add(struct graph *g, const struct graph_edge *edge, struct err *err) MUST_CHECK;
int graph_draw(struct graph *g, const struct picture_words *w, struct buf *out, struct err *err) MUST_CHECK;
void graph_free(struct graph *g); /* accepts NULL */
DEFINE_CLEANUP(struct graph *, graph_free)
