/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - the only room that opens a connection: requests to running nodes, and what became of each
 *
 * fetch.c sends requests, many at a time and each within limits, and never loses one: whatever a peer does, the call ends with
 * an outcome, a sentence and the bytes that came. snapshot.c asks nodes what they run, probe_*.c tests an endpoint.
 * What is not done: redirects are not followed, proxies, .netrc and cookies are not used, nothing but http and https is spoken.
 * The text of header values from a file (keys) is taken out of everything that comes back. One thread.
 */
#pragma once

#include <signal.h>

#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/digest.h"
#include "pagetrail/ingest.h"

/* --- headers.c: header lines from a file, which hold keys --- */
struct live_headers {
	struct arena arena;
	struct text *lines; /* "Name: value" */
	size_t n;
	struct text *secrets; /* values, and what stands behind a scheme in them */
	size_t n_secrets;
	struct text *needles; /* secrets as they are, in hex and in Base64 */
	size_t n_needles;
};
/* ERR_INPUT also where others than the owner may read the file. h->arena is initialised here. */
int live_headers_read(struct live_headers *h, const char *path, struct err *err) MUST_CHECK;
void live_headers_done(struct live_headers *h); /* accepts a zeroed one */
/* Overwrites each place of a secret with as many 'x'; returns how many. h may be NULL. */
size_t live_mask(const struct live_headers *h, char *p, size_t n);
/* Once, when all secrets are there. */
int live_mask_learn(struct live_headers *h, struct err *err) MUST_CHECK;
/* The same with what is a secret by its name or its form, in JSON or in text (mask_content.c). */
size_t live_mask_content(char *p, size_t n);
struct live_call;
/* All of a call that may hold one; they are counted in c->masked. */
void live_mask_call(struct live_call *c);

/* --- fetch.c: calls --- */
enum live_outcome {
	LIVE_ANSWERED,   /* status 200, and the answer came whole */
	LIVE_OTHER,      /* any other status below 300 */
	LIVE_NOT_THERE,  /* 404, 405, 410, 501 */
	LIVE_HTTP_ERROR, /* any other status from 400 on */
	LIVE_REDIRECTED, /* 3xx: not followed */
	LIVE_UNRESOLVED, /* no address of that name */
	LIVE_REFUSED,    /* no connection */
	LIVE_TLS,        /* no connection that can be trusted */
	LIVE_TIMED_OUT,
	LIVE_CUT,      /* the connection ended before the answer did */
	LIVE_LENGTH,   /* more came than the answer said it has, or it said two lengths */
	LIVE_TOO_LONG, /* more than may be read */
	LIVE_NOT_HTTP,
	LIVE_STOPPED, /* by a signal */
	LIVE_FAILED,  /* anything else */
	/* of snapshots: an answer came, but */
	LIVE_NOT_UNDERSTOOD, /* it is not what was asked for */
	LIVE_OF_OTHERS,      /* it speaks of other nodes */
	LIVE_NO_ADDRESS,     /* of a pod nothing can be asked */
	LIVE_OUTCOMES
};
extern const char *const live_outcome_names[LIVE_OUTCOMES];

struct live_call {
	/* in */
	const char *url;
	struct text body;           /* POST where ptr is set; must live until the end of the call */
	const char *const *headers; /* more of them, ending with NULL; may be NULL */
	void *ctx;
	/* out */
	int64_t started_ns, first_ns, ended_ns; /* first_ns: of the answer's content; TIME_UNKNOWN: none came */
	enum live_outcome outcome;
	long status;     /* 0: none */
	char why[256];   /* "" for an answer */
	char peer[80];   /* address:port; "" without a connection */
	char tls[512];   /* who the certificate names; "" without TLS */
	char type[128];  /* content-type */
	char place[256]; /* location of a redirect */
	char id[128];    /* x-request-id */
	size_t masked;   /* keys that were taken out */
	struct buf answer;
	/* private to fetch.c */
	void *easy;
	void *list;
	size_t header_bytes;
	char trouble[256]; /* CURL_ERROR_SIZE: the library's own words */
	char length[32];   /* content-length */
	bool too_long, excess, wrong, lengths;
};

struct live_options {
	const char *cacert;                 /* file of certificates to trust; NULL: those of the system */
	const struct live_headers *headers; /* may be NULL */
	int64_t connect_ms, total_ms;       /* time-outs */
	size_t max_bytes;                   /* of one answer */
	unsigned parallel;                  /* calls at a time */
	volatile sig_atomic_t *stop;        /* may be NULL */
	int64_t (*now)(void);
};

enum live_next { LIVE_CALL, LIVE_WAIT, LIVE_END };
struct live_source {
	/* Gives a call to be started (owned by the caller until done()), or says that there is none now, or no more. */
	enum live_next (*next)(void *ctx, struct live_call **ret);
	/* The call ended. May make further calls ready. */
	int (*done)(void *ctx, struct live_call *call, struct err *err);
	void *ctx;
};
/* Runs calls until there are no more and all have ended. After a stop those under way end as LIVE_STOPPED, and it returns
 * ERR_INTERRUPTED. */
int live_run(const struct live_options *o, const struct live_source *source, struct err *err) MUST_CHECK;
/* Is it http(s)://host[:port][/path], without user, query and fragment? ERR_USAGE. Without the '/' at its end. */
int live_url_check(const char *url, struct text *ret, struct err *err) MUST_CHECK;
/* host:port as the URL says it */
int live_url_host(const char *url, struct buf *out, struct err *err) MUST_CHECK;
void live_call_done(struct live_call *c); /* frees what it holds */

/* --- nodes.c: which nodes --- */
struct live_node {
	struct text name, url; /* url ptr NULL: no address, why says it */
	const char *why;
};
struct live_nodes {
	struct arena arena;
	struct live_node *list;
	size_t n, cap, passed_over; /* pods that have ended */
};
struct live_pods {
	int64_t port; /* 0: what the pod declares */
	bool https;
};
void live_nodes_begin(struct live_nodes *n);
void live_nodes_done(struct live_nodes *n);
/* "URL" or "NAME=URL" of the command line. */
int live_nodes_add(struct live_nodes *n, const char *word, struct err *err) MUST_CHECK;
/* A file: lines "[NAME] URL", or the JSON of `kubectl get pods -o json`. */
int live_nodes_read(struct live_nodes *n, const char *path, const struct live_pods *pods, struct err *err) MUST_CHECK;
int live_nodes_parse(struct live_nodes *n, struct text content, const struct live_pods *pods,
		     struct err *err) MUST_CHECK;

/* --- snapshot.c --- */
struct live_attempt { /* one document asked of one node */
	const struct live_node *node;
	const char *document; /* server_info, model_info, metrics, models */
	const char *url;
	struct live_call call;
	char name[512];            /* of the source that its answer became; "": only the attempt is kept */
	struct buf document_bytes; /* that source */
	int64_t source;            /* where it stands; 0: nowhere */
	uint64_t off, len;
};
struct live_snapshot {
	struct case_file *c;
	const struct live_options *live;
	const struct ingest_options *ingest; /* now_ns, parsers; format, worker and callbacks are not used */
	/* An attempt is in the case. */
	int (*on_attempt)(void *ctx, const struct live_attempt *a, struct err *err);
	void *ctx;
	/* out */
	size_t answered, silent; /* nodes that did, and those that did not, or not wholly */
};
int live_snapshot(struct live_snapshot *s, const struct live_nodes *nodes, struct err *err) MUST_CHECK;

/* --- plan.c: a file of markers and over-limit probes, as `canary --plan` writes it (docs/live.md) --- */
enum live_probe_kind { PROBE_MARKER, PROBE_OVER_LIMIT };
struct live_probe {
	struct text id;
	enum live_probe_kind kind;
	struct text marker; /* of a marker */
	int64_t tokens;     /* of an over-limit probe */
	bool stream;
};
struct live_plan {
	struct arena arena;
	struct live_probe *list;
	size_t n;
	int64_t limit, context; /* 0: not said */
	struct text note;
	char sha256[SHA256_HEX]; /* of the file */
};
/* ERR_INPUT says where it is wrong. The arena is initialised here. */
int live_plan_read(struct live_plan *p, const char *path, struct err *err) MUST_CHECK;
int live_plan_parse(struct live_plan *p, struct text content, struct err *err) MUST_CHECK;
void live_plan_done(struct live_plan *p); /* accepts a zeroed one */

/* --- answer.c: what an OpenAI-compatible endpoint answered --- */
struct live_answer {
	struct buf text;        /* all that a model said, put together */
	struct buf id, finish;  /* "" not said */
	int64_t prompt, output; /* usage; -1: not said */
	bool error;             /* it says that it failed */
	bool understood;        /* it is such an answer, or such an error */
	bool ended;             /* a stream that says that it is over; an answer that came at once always is */
};
/* stream: events (text/event-stream); a line that was cut counts as not there. */
int live_answer_read(struct live_answer *a, struct text bytes, bool stream, struct err *err) MUST_CHECK;
void live_answer_done(struct live_answer *a);

/* --- model.c: which model an endpoint serves: ERR_INPUT unless it names one --- */
int live_model(const struct live_options *o, struct text endpoint, struct buf *ret, struct err *err) MUST_CHECK;

/* --- probe.c --- */
enum live_api { LIVE_COMPLETIONS, LIVE_CHAT };
struct live_probe_run {
	struct case_file *c;
	const struct live_options *live;
	const struct ingest_options *ingest;
	const struct live_plan *plan;
	struct text endpoint;    /* as live_url_check() gives it */
	const char *model, *run; /* run: a few letters that no other run has, in all ids */
	enum live_api api;
	int64_t max_tokens, gap_ns; /* gap: between the beginnings of two requests */
	size_t max_requests;
	int64_t max_ns; /* for all of them */
	bool send_rid;
	void (*on_progress)(void *ctx, size_t done, size_t all); /* may be NULL */
	void *ctx;
	/* out */
	size_t sent, ended;
};
/* Sends what is planned, in order, and puts requests, answers and a file of the markers planted into the case. */
int live_probe_run(struct live_probe_run *r, struct err *err) MUST_CHECK;
