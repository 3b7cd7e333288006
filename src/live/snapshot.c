/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - asks running nodes what they say of themselves, and keeps it as evidence
 *
 * Paths: SGLang srt/entrypoints/http_server.py: /server_info, before it /get_server_info; /model_info, before it /get_model_info;
 * /v1/models and /metrics, which vLLM answers too (entrypoints/openai/api_server.py).
 * An answer goes through ingest in the format that was asked for and no other: a node cannot put a log, or a fact about another
 * node, into the case. It stands in an object of ours, which alone says when and from where it came. What did not come whole, or is
 * not what was asked for, is a line of what was asked (format live-attempts), with the bytes that came; nothing is read out of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/case.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"
#include "put.h"

enum { PATHS = 2, ATTEMPTS_MAX = 8 };

static const struct document {
	const char *name, *format;
	const char *paths[PATHS]; /* the next one is asked where one is not there */
	bool json;
} documents[] = {
    {"server_info", "sglang-server-info", {"/server_info", "/get_server_info"}, true},
    {"model_info", "model-info", {"/model_info", "/get_model_info"}, true},
    {"models", "model-info", {"/v1/models"}, true},
    {"metrics", "prometheus", {"/metrics"}, false},
};

/* A node on its way through what is asked of it, one after the other. */
struct visit {
	const struct live_node *node;
	struct live_attempt attempts[ATTEMPTS_MAX];
	unsigned n, document, path;
	bool busy, over;
};

struct batch {
	struct live_snapshot *s;
	struct visit *visits;
	size_t n;
	unsigned number; /* in this run */
	struct arena arena;
	bool nomem;
};

/* --- asking --- */

static const char *url_of(struct batch *b, const struct live_node *node, const char *path)
{
	char *url = arena_alloc(&b->arena, node->url.len + strlen(path) + 1);
	if (url)
		sprintf(url, "%.*s%s", TEXT_ARG(node->url), path);
	else
		b->nomem = true;
	return url;
}

static enum live_next next(void *ctx, struct live_call **ret)
{
	struct batch *b = ctx;
	bool waiting = false;
	for (size_t i = 0; i < b->n && !b->nomem; i++) {
		struct visit *v = &b->visits[i];
		waiting = waiting || !v->over;
		if (v->busy || v->over)
			continue;
		const struct document *d = &documents[v->document];
		struct live_attempt *a = &v->attempts[v->n];
		*a = (struct live_attempt){.node = v->node, .document = d->name};
		a->url = url_of(b, v->node, d->paths[v->path]);
		a->call = (struct live_call){.url = a->url, .ctx = v};
		if (!a->url)
			break;
		v->busy = true;
		v->n++;
		*ret = &a->call;
		return LIVE_CALL;
	}
	return waiting && !b->nomem ? LIVE_WAIT : LIVE_END;
}

/* A node that gives no connection, or answers without end, is not asked for more. */
static bool hopeless(enum live_outcome outcome)
{
	return outcome == LIVE_UNRESOLVED || outcome == LIVE_REFUSED || outcome == LIVE_TLS ||
	       outcome == LIVE_TOO_LONG || outcome == LIVE_STOPPED || outcome == LIVE_NOT_HTTP;
}

static int done(void *ctx, struct live_call *call, struct err *err)
{
	struct visit *v = call->ctx;
	(void)ctx;
	(void)err;
	const struct document *d = &documents[v->document];
	v->busy = false;
	live_mask_call(call);
	bool older = call->outcome == LIVE_NOT_THERE && v->path + 1 < PATHS && d->paths[v->path + 1];
	v->path = older ? v->path + 1 : 0;
	v->document += older ? 0 : 1;
	v->over = v->document == ARRAY_SIZE(documents) || hopeless(call->outcome) ||
		  (call->outcome == LIVE_TIMED_OUT && !call->peer[0]);
	return 0;
}

/* --- what came --- */

static void judge(struct live_call *c, enum live_outcome outcome, const char *why)
{
	c->outcome = outcome;
	snprintf(c->why, sizeof(c->why), "%s", why);
}

/* Samples of an engine's own page carry neither; a page that was gathered from many does, and would speak for others. */
static bool names_others(struct text t)
{
	struct text line;
	while (text_split(&t, '\n', &line)) {
		size_t open = text_find_char(line, '{', 0);
		if (text_starts(line, "#") || open == SIZE_MAX)
			continue;
		struct text labels = text_from(line, open);
		if (text_find(labels, "pod=", 0) != SIZE_MAX || text_find(labels, "instance=", 0) != SIZE_MAX ||
		    text_find(labels, "\"pod\"", 0) != SIZE_MAX || text_find(labels, "\"instance\"", 0) != SIZE_MAX)
			return true;
	}
	return false;
}

static int check_answer(struct live_attempt *a, const struct document *d, struct json *j, struct err *err)
{
	struct live_call *c = &a->call;
	struct json_value doc;
	struct text twice;
	size_t off = 0;
	if (c->outcome != LIVE_ANSWERED)
		return 0;
	if (!d->json) {
		if (!c->answer.len)
			judge(c, LIVE_NOT_UNDERSTOOD, "an empty answer");
		else if (names_others(buf_text(&c->answer)))
			judge(c, LIVE_OF_OTHERS, "its samples name pods or instances: it is no page of one engine");
		return 0;
	}
	int rc = json_parse(j, buf_text(&c->answer), true, &doc, &off, err);
	if (rc == 1)
		judge(c, LIVE_NOT_UNDERSTOOD, c->answer.len ? "no JSON" : "an empty answer");
	else if (rc == 0 && !json_is_object(doc))
		judge(c, LIVE_NOT_UNDERSTOOD, "JSON, but no object");
	else if (rc == 0 && (rc = json_twice(doc, &twice, NULL, err)) > 0)
		judge(c, LIVE_NOT_UNDERSTOOD, "an object with two members of one name: which is meant, nobody knows");
	return MIN(rc, 0);
}

static const struct document *document_of(const struct live_attempt *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		if (!strcmp(documents[i].name, a->document))
			return &documents[i];
	return NULL;
}

/* What a source says of where it came from: in front of the answer. */
static int put_origin(struct buf *b, const struct live_attempt *a, struct err *err)
{
	int rc = live_put_time(b, "collected_at", a->call.ended_ns, err);
	if (!rc)
		rc = live_put_member(b, "node", a->node->name, err);
	if (!rc)
		rc = live_put_member(b, "document", text_of(a->document), err);
	if (!rc)
		rc = live_put_member(b, "url", text_of(a->url), err);
	return rc ? rc : live_put_call(b, &a->call, err);
}

/* The answer as a document: JSON inside of an object of ours, samples behind a comment. The bytes are as they came. */
static int put_document(struct buf *b, const struct live_attempt *a, bool json, struct err *err)
{
	char at[40];
	int rc = 0;
	if (!json)
		rc = buf_printf(b, err, "# collected %s by pagetrail snapshot\n# ",
				stamp_format(a->call.ended_ns, at, sizeof(at)));
	if (!rc)
		rc = buf_add_char(b, '{', err);
	if (!rc)
		rc = put_origin(b, a, err);
	if (!rc)
		rc = buf_add_text(b, json ? TEXT("\"body\":\n") : TEXT("\"body\":\"below\"}\n"), err);
	if (!rc)
		rc = buf_add_text(b, buf_text(&a->call.answer), err);
	return rc || !json ? rc : buf_add_text(b, TEXT("\n}\n"), err);
}

static int put_attempt(struct buf *b, struct live_attempt *a, struct err *err)
{
	a->off = b->len;
	int rc = buf_add_text(b, TEXT("{\"pagetrail\":\"attempt\","), err);
	if (!rc)
		rc = put_origin(b, a, err);
	if (!rc && a->name[0])
		rc = buf_add_text(b, TEXT("\"kept_as\":"), err);
	if (!rc)
		rc = a->name[0] ? buf_json_string(b, text_of(a->name), err)
				: live_put_bytes(b, "answer", buf_text(&a->call.answer), err);
	if (!rc)
		rc = buf_add_text(b, TEXT("}"), err);
	a->len = b->len - a->off;
	return rc ? rc : buf_add_char(b, '\n', err);
}

/* --- into the case --- */

static struct live_attempt *attempt_named(struct batch *b, struct text name)
{
	for (size_t i = 0; i < b->n; i++)
		for (unsigned k = 0; k < b->visits[i].n; k++)
			if (text_is(name, b->visits[i].attempts[k].name))
				return &b->visits[i].attempts[k];
	return NULL;
}

static int on_source(void *ctx, const struct source_result *r)
{
	struct batch *b = ctx;
	struct live_attempt *a = attempt_named(b, r->path);
	if (a) {
		a->source = r->source;
		a->off = 0;
		a->len = r->account.bytes;
		if (r->status >= SOURCE_UNRECOGNISED || r->account.unparsed)
			judge(&a->call, LIVE_NOT_UNDERSTOOD, "it is not what was asked for");
		else if (!r->account.parsed)
			judge(&a->call, LIVE_NOT_UNDERSTOOD, "nothing in it is what an engine says of itself");
		return 0;
	}
	for (size_t i = 0; i < b->n; i++) /* the lines of what was asked */
		for (unsigned k = 0; k < b->visits[i].n; k++)
			if (!b->visits[i].attempts[k].source)
				b->visits[i].attempts[k].source = r->source;
	return 0;
}

static int ingest(struct batch *b, const struct ingest_given *list, size_t n, struct err *err)
{
	struct ingest_options o = *b->s->ingest;
	o.on_source = on_source;
	o.on_progress = NULL;
	o.stop = NULL; /* what came is kept, also when the run was stopped */
	o.ctx = b;
	return n ? ingest_bytes(b->s->c, &o, list, n, err) : 0;
}

/* Makes a document of an answer, in its place. */
static int prepare(struct batch *b, struct live_attempt *a, struct json *j, struct ingest_given *ret, struct err *err)
{
	const struct document *d = document_of(a);
	char at[40];
	int rc = check_answer(a, d, j, err);
	if (rc || a->call.outcome != LIVE_ANSWERED)
		return rc;
	snprintf(a->name, sizeof(a->name), "snapshot/%s/%.*s/%s", stamp_format(a->call.started_ns, at, sizeof(at)),
		 TEXT_ARG(a->node->name), d->paths[0] + 1);
	struct buf doc = BUF_INIT(DOCUMENT_MAX_BYTES);
	rc = put_document(&doc, a, d->json, err);
	if (rc) {
		buf_done(&doc);
		return rc;
	}
	buf_done(&a->document_bytes);
	a->document_bytes = doc;
	struct text node = arena_text(&b->arena, a->node->name);
	if (!node.ptr)
		return err_nomem(err);
	*ret = (struct ingest_given){a->name, d->format, node.ptr, buf_text(&a->document_bytes)};
	return 1;
}

static int keep_answers(struct batch *b, struct err *err)
{
	struct ingest_given *list = calloc(b->n * ATTEMPTS_MAX, sizeof(*list));
	struct json *j = json_new();
	size_t n = 0;
	int rc = list && j ? 0 : err_nomem(err);
	for (size_t i = 0; i < b->n && rc >= 0; i++)
		for (unsigned k = 0; k < b->visits[i].n && rc >= 0; k++) {
			rc = prepare(b, &b->visits[i].attempts[k], j, &list[n], err);
			n += rc == 1;
		}
	if (rc >= 0)
		rc = ingest(b, list, n, err);
	json_free(j);
	free(list);
	return rc;
}

/* Everything that was asked, in one source. */
static int keep_attempts(struct batch *b, struct err *err)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT(SIZE_MAX / 2); /* bounded by calls and their bytes */
	char name[128], at[40];
	int rc = 0;
	for (size_t i = 0; i < b->n && !rc; i++)
		for (unsigned k = 0; k < b->visits[i].n && !rc; k++) {
			struct live_attempt whole =
			    b->visits[i].attempts[k]; /* where it stands is kept only of the others */
			struct live_attempt *a = whole.name[0] ? &whole : &b->visits[i].attempts[k];
			rc = put_attempt(&lines, a, err);
		}
	snprintf(name, sizeof(name), "snapshot/%s/asked-%u-nodes.jsonl",
		 stamp_format(b->s->ingest->now_ns, at, sizeof(at)), b->number);
	const struct ingest_given given = {name, "live-attempts", NULL, buf_text(&lines)};
	return rc ? rc : ingest(b, &given, lines.len > 0, err);
}

/* A pod without an address was asked nothing, and is an attempt all the same. */
static void add_unasked(struct visit *v, int64_t now_ns)
{
	struct live_attempt *a = &v->attempts[v->n++];
	*a = (struct live_attempt){.node = v->node, .document = documents[0].name, .url = ""};
	a->call =
	    (struct live_call){.url = "", .ctx = v, .started_ns = now_ns, .first_ns = TIME_UNKNOWN, .ended_ns = now_ns};
	judge(&a->call, LIVE_NO_ADDRESS, v->node->why);
	v->over = true;
}

/* Did the node answer? Everything that it has came, and some of it was understood. */
static bool visit_answered(const struct visit *v)
{
	bool any = false;
	for (unsigned i = 0; i < v->n; i++) {
		enum live_outcome o = v->attempts[i].call.outcome;
		if (o != LIVE_ANSWERED && o != LIVE_NOT_THERE)
			return false;
		any = any || o == LIVE_ANSWERED;
	}
	return any;
}

static int keep_batch(struct batch *b, struct err *err)
{
	int rc = keep_answers(b, err);
	if (!rc)
		rc = keep_attempts(b, err);
	for (size_t i = 0; i < b->n && !rc; i++) {
		struct visit *v = &b->visits[i];
		*(visit_answered(v) ? &b->s->answered : &b->s->silent) += 1;
		for (unsigned k = 0; k < v->n && !rc; k++)
			rc = b->s->on_attempt(b->s->ctx, &v->attempts[k], err);
	}
	return rc;
}

static int run_batch(struct live_snapshot *s, const struct live_node *nodes, size_t n, unsigned number, struct err *err)
{
	struct batch b = {.s = s, .n = n, .number = number};
	struct err kept = {0};
	b.visits = calloc(n, sizeof(*b.visits));
	if (!b.visits)
		return err_nomem(err);
	arena_init(&b.arena, 64 * MIB);
	for (size_t i = 0; i < n; i++) {
		b.visits[i].node = &nodes[i];
		if (!nodes[i].url.ptr)
			add_unasked(&b.visits[i], s->live->now());
	}
	const struct live_source source = {next, done, &b};
	int rc = live_run(s->live, &source, &kept);
	if (b.nomem)
		rc = err_nomem(&kept);
	int stored = rc && rc != ERR_INTERRUPTED ? rc : keep_batch(&b, err); /* what came before a stop is kept */
	if (rc && (rc != ERR_INTERRUPTED || !stored) && err)
		*err = kept;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < b.visits[i].n; k++) {
			live_call_done(&b.visits[i].attempts[k].call);
			buf_done(&b.visits[i].attempts[k].document_bytes);
		}
	free(b.visits);
	arena_done(&b.arena);
	return stored ? stored : rc;
}

int live_snapshot(struct live_snapshot *s, const struct live_nodes *nodes, struct err *err)
{
	int rc = 0;
	unsigned number = 1;
	for (size_t i = 0; i < nodes->n && !rc; i += s->live->parallel)
		rc = run_batch(s, nodes->list + i, MIN(nodes->n - i, (size_t)s->live->parallel), number++, err);
	return rc;
}
