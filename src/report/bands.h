/* SPDX-License-Identifier: Apache-2.0 */
/* bands.h - private to bands*.c: one request's pages, grouped by what became of them */
#pragma once

#include "pagetrail/picture.h"
#include "svg.h"

/* PAGES_OP: what a request does with its own pages; the others are reads of content that is not the reader's. */
enum bands_what {
	PAGES_ALLOC,
	PAGES_WRITE, /* also recv */
	PAGES_READ,  /* also send */
	PAGES_SHARE,
	PAGES_FREE,
	PAGES_ZERO,
	PAGES_FROM,
	PAGES_BY,
	PAGES_WHATS
};
enum { BANDS_MAX = 24, OWNERS_MAX = 24, READERS_MAX = 6, PANELS_MAX = 8, BAND_OWNERS = 4 };
enum { PAGES_LEFT = 220 }; /* pixels */
#define PAGES_NOBODY UINT32_MAX

struct bands_item {
	enum bands_what what;
	uint32_t panel, party; /* party: of parties[]; PAGES_NOBODY */
	uint32_t first, end;   /* pages; first == end: none */
	uint32_t kind;         /* of kinds[] */
	bool sure;
	int64_t from, to, wrote;
};

struct party { /* whose content was read, or who read */
	struct text name, tenant;
	unsigned look;  /* which fill */
	int letter;     /* from 0; -1: it has none */
	uint64_t pages; /* read of it, in all bands */
	int64_t first_read;
	uint32_t seen; /* band that it was counted in */
	bool owner;
};

struct reach { /* of one operation on the pages of a band */
	int64_t first, last;
	uint64_t n;
};

struct band { /* pages that fared alike */
	uint32_t first_page, runs;
	uint64_t pages;
	uint32_t *spans; /* indexes of intervals */
	uint32_t n_spans, cap_spans;
	struct reach op[PAGES_WHATS];
	struct {
		uint32_t party;
		uint32_t kind;
		int64_t wrote, from, to;
		bool sure;
	} owner[BAND_OWNERS];
	uint32_t n_owner;  /* of owner[]: a party twice for reads of two kinds */
	uint32_t n_owners; /* parties, may be more */
	uint32_t n_readers;
	bool rest; /* what other bands had no room for */
	int y, h;
};

struct panel { /* one pool of one worker */
	struct text worker, pool;
	struct band bands[BANDS_MAX + 1];
	uint32_t n_bands, fates, level; /* fates: ways to fare, before any were drawn together */
	uint32_t *edges;                /* bounds of intervals */
	uint32_t n_edges;
	int top, bottom;
};

struct bands_gap {
	struct text worker;
	uint32_t kind;
	int64_t from, to;
};

struct bands {
	struct bands_item *items;
	size_t n_items, cap_items;
	struct party *parties;
	uint32_t n_parties;
	size_t cap_parties;
	struct panel *panels;
	uint32_t n_panels;
	int64_t elsewhere; /* rows of pools that have no panel */
	struct bands_gap *gaps;
	size_t n_gaps, cap_gaps;
	struct text kinds[16];
	uint32_t n_kinds;
	int64_t left_out;
	struct axis axis;
	bool timed; /* some row says when: the axis spans these */
	struct arena arena;
};

/* bands_group.c: bands of each panel, and what is in them. */
int bands_group(struct bands *p, struct err *err) MUST_CHECK;

#define PAGES_MARK         "fill=\"#000\""
#define PAGES_READ_MARK    "fill=\"#fff\" stroke=\"#000\""
#define PAGES_FOREIGN_MARK "fill=\"none\" stroke=\"#b3261e\" stroke-width=\"3\""
#define PAGES_BY_MARK      "fill=\"#fff\" stroke=\"#b3261e\" stroke-width=\"2\""
#define PAGES_OWN_FILL     "fill=\"#dcdcdc\" stroke=\"#999\""
#define PAGES_SEVERAL_FILL "fill=\"url(#pt-dots)\" stroke=\"#555\""
#define PAGES_NOBODY_FILL  "fill=\"#fff\" stroke=\"#999\" stroke-dasharray=\"3 3\""
#define PAGES_HELD         "fill=\"none\" stroke=\"#000\" stroke-width=\"2\""

/* bands_strips.c */
void bands_strips(struct bands *p, struct svg *s);
/* The fill of a party, and its letter on it. */
void bands_fill(struct svg *s, unsigned look, int x, int y, int w, int h, struct text tip);
void bands_letter(struct svg *s, int x, int y, const char *letter);
