/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_work.h - what is held while sightings are made; private to sighting*.c
 *
 * sighting_plan.c says where markers were planted, sighting_search.c finds them, sighting_place.c says whose record each lies
 * in, sighting_verdict.c what that means.
 */
#pragma once

#include "sighting.h"

#include "pagetrail/analysis.h"
#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/literals.h"
#include "pagetrail/markers.h"
#include "pagetrail/spelling.h"
#include "pagetrail/sql.h"

/* What is wrong with an account. */
enum trouble {
	TROUBLE_CONTRADICTED = 1,  /* another file says something else */
	TROUBLE_NO_REQUEST = 2,    /* its planted_request stands in no log */
	TROUBLE_MANY_REQUESTS = 4, /* several requests have that id */
	TROUBLE_NO_TENANT = 8,     /* its planted_tenant stands in no log */
	TROUBLE_OTHER_TENANT = 16, /* logs name another tenant for that request */
	TROUBLE_SEEN_BEFORE = 32,  /* it was seen before planted_at */
};

/* What files say of one marker; files that do not contradict each other give one account together. */
struct account {
	struct marker said;
	int64_t source;          /* the first of them */
	int64_t request, tenant; /* 0: not known */
	unsigned trouble;
};

struct planted { /* one marker; its accounts are said to be true, and at most one is */
	struct text text;
	struct account *accounts;
	size_t n;
};

/* What is searched for is the end of a spelling; its beginning, and what stands beside it, is compared where that was found. */
enum { NEEDLE_MAX_BYTES = 48 };
struct needle {
	uint32_t marker;
	struct spelled spelled;
};

struct hit {
	int64_t source;
	uint64_t off, len;   /* of its record, where an event speaks of it; else of the text found */
	uint64_t at, at_len; /* of the text found */
	uint32_t needle, marker;
	enum part part;
	int64_t request, tenant;   /* 0: not known */
	bool placed, torn_between; /* an event says whose record it is; two of them say different things */
	bool echo;                 /* the marker stands in this request's own prompt */
	bool early;                /* the request had ended before the marker was planted */
	enum prompt prompt;        /* how much of its prompt the logs hold; of hits that could be foreign */
};

struct sightings {
	struct case_file *c;
	struct arena arena, spellings;
	struct planted *planted; /* by text */
	size_t n_planted;
	struct needle *needles;
	size_t n_needles, cap_needles, longest;
	struct literals *literals;
	struct hit *hits;
	size_t n, cap;
	bool full;      /* not all hits were kept */
	bool unspelled; /* not all spellings were looked for */
	/* the walk */
	int64_t source;
	struct buf seam; /* end of the chunk before, and beginning of this one */
	uint64_t seam_off;
	struct literals_thread *own;
	struct sql *tenant; /* of a request */
};

int sighting_plan(struct sightings *s, struct err *err) MUST_CHECK;
int sighting_plan_write(struct sightings *s, struct err *err) MUST_CHECK;
/* Hits inside of longer ones are left out. */
int sighting_search(struct sightings *s, struct err *err) MUST_CHECK;
int sighting_place(struct sightings *s, struct err *err) MUST_CHECK;
int sighting_judge(struct sightings *s, struct err *err) MUST_CHECK;
int sighting_tenant_of(struct sightings *s, int64_t request, int64_t *ret, struct err *err) MUST_CHECK;

struct verdict {
	const char *verdict, *reason;
	enum tri crosses;
};
struct verdict sighting_verdict(const struct planted *p, const struct hit *h);
