/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - sends a plan of markers and over-limit probes to an endpoint, and puts what came into the case
 *
 * A prompt of an exact length is a list of token ids, which completions take (vLLM and SGLang: CompletionRequest.prompt); a chat's
 * is words, and its length an estimate. The request's id goes into the header X-Request-Id, which vLLM and gateways take, and
 * into the member "rid", which SGLang takes, so that logs can be joined. Of a prompt no text is kept but a marker's sentence: the
 * rest is one token or word, again and again, and is kept as that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/case.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"
#include "put.h"

/* Ids of ordinary tokens in any vocabulary of this size class; the first one differs, so that no prefix is shared. */
enum { FIRST_TOKEN = 1000, FIRST_TOKENS = 1000, FILL_TOKEN = 2000, FLUSH_BYTES = 16 << 20, BODY_MAX = 64 << 20 };
#define FILL_WORD " pad"
#define SENTENCE  "Keep this word to yourself, and answer with ok: "

struct flight { /* a request under way */
	struct live_call call;
	const struct live_probe *probe;
	struct buf body;
	char id[96], header[128];
	const char *headers[2];
};

struct probing {
	struct live_probe_run *r;
	size_t next;
	int64_t begun_ns, last_ns; /* last: when a request was begun */
	char *url;
	struct buf lines, markers;
	unsigned sources;
	struct err *err; /* of next() */
	int failed;
};

/* --- what is asked --- */

static size_t number_of(const struct probing *p, const struct live_probe *probe)
{
	return (size_t)(probe - p->r->plan->list);
}

static int put_filler(const struct probing *p, struct buf *b, const struct live_probe *probe, struct err *err)
{
	bool tokens = p->r->api == LIVE_COMPLETIONS;
	int rc = buf_reserve(b, (size_t)probe->tokens * 5 + 64, err);
	if (!rc)
		rc = tokens ? buf_printf(b, err, "[%zu", FIRST_TOKEN + number_of(p, probe) % FIRST_TOKENS)
			    : buf_printf(b, err, "\"%.*s", TEXT_ARG(probe->id));
	for (int64_t i = 1; !rc && i < probe->tokens; i++)
		rc = tokens ? buf_add_text(b, TEXT(",2000"), err) : buf_add_text(b, TEXT(FILL_WORD), err);
	return rc ? rc : buf_add_char(b, tokens ? ']' : '"', err);
}

static int put_prompt(const struct probing *p, struct buf *b, const struct live_probe *probe, struct err *err)
{
	CLEANUP(buf_done) struct buf said = BUF_INIT(4 * KIB);
	if (probe->kind == PROBE_OVER_LIMIT)
		return put_filler(p, b, probe, err);
	int rc = buf_printf(&said, err, SENTENCE "%.*s", TEXT_ARG(probe->marker));
	return rc ? rc : buf_json_string(b, buf_text(&said), err);
}

static int put_body(const struct probing *p, struct flight *f, struct err *err)
{
	const struct live_probe_run *r = p->r;
	struct buf *b = &f->body;
	int rc = buf_add_text(b, TEXT("{\"model\":"), err);
	if (!rc)
		rc = buf_json_string(b, text_of(r->model), err);
	if (!rc)
		rc = buf_add_text(b,
				  r->api == LIVE_CHAT ? TEXT(",\"messages\":[{\"role\":\"user\",\"content\":")
						      : TEXT(",\"prompt\":"),
				  err);
	if (!rc)
		rc = put_prompt(p, b, f->probe, err);
	if (!rc && r->api == LIVE_CHAT)
		rc = buf_add_text(b, TEXT("}]"), err);
	if (!rc)
		rc = buf_printf(b, err, ",\"max_tokens\":%" PRId64 ",\"temperature\":0,\"stream\":%s", r->max_tokens,
				f->probe->stream ? "true,\"stream_options\":{\"include_usage\":true}" : "false");
	if (!rc && r->send_rid)
		rc = buf_printf(b, err, ",\"rid\":\"%s\"", f->id);
	return rc ? rc : buf_add_char(b, '}', err);
}

static int prepare(struct probing *p, struct flight **ret, struct err *err)
{
	struct flight *f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->probe = &p->r->plan->list[p->next];
	f->body = BUF_INIT(BODY_MAX);
	snprintf(f->id, sizeof(f->id), "%.*s-%s", TEXT_ARG(f->probe->id), p->r->run);
	snprintf(f->header, sizeof(f->header), "X-Request-Id: %s", f->id);
	f->headers[0] = f->header;
	int rc = put_body(p, f, err);
	f->call = (struct live_call){.url = p->url, .body = buf_text(&f->body), .headers = f->headers, .ctx = f};
	*ret = f;
	return rc;
}

static void flight_free(struct flight *f)
{
	live_call_done(&f->call);
	buf_done(&f->body);
	free(f);
}

static bool may_send(const struct probing *p, int64_t now)
{
	const struct live_probe_run *r = p->r;
	return p->next < r->plan->n && p->next < r->max_requests && now - p->begun_ns < r->max_ns && !p->failed;
}

static enum live_next next(void *ctx, struct live_call **ret)
{
	struct probing *p = ctx;
	struct flight *f = NULL;
	int64_t now = p->r->live->now();
	if (!may_send(p, now))
		return LIVE_END;
	if (p->last_ns != TIME_UNKNOWN && now >= p->last_ns && now - p->last_ns < p->r->gap_ns)
		return LIVE_WAIT;
	p->failed = prepare(p, &f, p->err);
	if (p->failed) {
		if (f)
			flight_free(f);
		return LIVE_END;
	}
	p->next++;
	p->r->sent++;
	p->last_ns = now;
	*ret = &f->call;
	return LIVE_CALL;
}

/* --- what came --- */

/* answered: text of a model; refused: it says so; empty: neither; unknown: it did not come whole. */
static const char *result_of(const struct live_call *c, const struct live_answer *a)
{
	if (a->text.len)
		return "answered";
	if (c->status >= 400 || (c->outcome == LIVE_ANSWERED && a->understood && a->error))
		return "refused";
	return c->outcome == LIVE_ANSWERED && a->understood && a->ended ? "empty" : "unknown";
}

static int put_plan_members(const struct probing *p, struct buf *b, const struct live_probe *probe, const char *id,
			    struct err *err)
{
	const struct live_probe_run *r = p->r;
	int rc = buf_add_text(b, TEXT("{\"pagetrail\":\"probe\","), err);
	if (!rc)
		rc = live_put_member(b, "probe", probe->id, err);
	if (!rc)
		rc = live_put_member(b, "request_id", text_of(id), err);
	if (!rc)
		rc = live_put_member(b, "kind", probe->kind == PROBE_MARKER ? TEXT("marker") : TEXT("over_limit"), err);
	if (!rc && probe->kind == PROBE_OVER_LIMIT)
		rc = buf_printf(b, err, "\"tokens\":%" PRId64 ",\"tokens_flag\":\"%s\",", probe->tokens,
				r->api == LIVE_COMPLETIONS ? "exact" : "estimate");
	if (!rc && r->plan->limit)
		rc = buf_printf(b, err, "\"limit\":%" PRId64 ",", r->plan->limit);
	if (!rc)
		rc = live_put_member(b, "model", text_of(r->model), err);
	if (!rc)
		rc = live_put_member(b, "url", text_of(p->url), err);
	return rc ? rc : buf_printf(b, err, "\"stream\":%s,", probe->stream ? "true" : "false");
}

/* All of the prompt that is kept: a sentence with a marker, or what was repeated. */
static int put_asked(const struct probing *p, struct buf *b, const struct live_probe *probe, struct err *err)
{
	bool tokens = p->r->api == LIVE_COMPLETIONS;
	if (probe->kind == PROBE_MARKER) {
		int rc = buf_add_text(b, TEXT("\"request\":{\"prompt\":"), err);
		if (!rc)
			rc = put_prompt(p, b, probe, err);
		return rc ? rc : buf_add_text(b, TEXT("},"), err);
	}
	if (tokens)
		return buf_printf(
		    b, err, "\"request\":{\"first\":\"token %zu\",\"prompt\":\"token %d\",\"times\":%" PRId64 "},",
		    FIRST_TOKEN + number_of(p, probe) % FIRST_TOKENS, FILL_TOKEN, probe->tokens - 1);
	return buf_printf(b, err, "\"request\":{\"first\":\"%.*s\",\"prompt\":\"%s\",\"times\":%" PRId64 "},",
			  TEXT_ARG(probe->id), FILL_WORD, probe->tokens - 1);
}

static int put_came(struct buf *b, const struct live_call *c, const struct live_answer *a, struct err *err)
{
	int rc = live_put_call(b, c, err);
	if (!rc)
		rc = live_put_time(b, "first_at", c->first_ns, err);
	if (!rc)
		rc = live_put_member(b, "x_request_id", text_of(c->id), err);
	if (!rc)
		rc = live_put_member(b, "response_id", buf_text(&a->id), err);
	if (!rc)
		rc = live_put_member(b, "finish_reason", buf_text(&a->finish), err);
	if (!rc && a->prompt >= 0)
		rc = buf_printf(b, err, "\"prompt_tokens\":%" PRId64 ",", a->prompt);
	if (!rc && a->output >= 0)
		rc = buf_printf(b, err, "\"completion_tokens\":%" PRId64 ",", a->output);
	if (!rc)
		rc = buf_printf(b, err, "\"text_bytes\":%zu,\"result\":\"%s\",\"response\":{\"text\":", a->text.len,
				result_of(c, a));
	if (!rc)
		rc = buf_json_string(b, buf_text(&a->text), err);
	if (!rc)
		rc = buf_add_char(b, ',', err);
	if (!rc)
		rc = live_put_bytes(b, "raw", buf_text(&c->answer), err);
	return rc ? rc : buf_add_text(b, TEXT("}}\n"), err);
}

static int put_marker(struct probing *p, const struct flight *f, struct err *err)
{
	struct buf *b = &p->markers;
	int rc = buf_add_text(b, b->len ? TEXT(",\n{") : TEXT("{\"markers\":[\n{"), err);
	if (!rc)
		rc = live_put_member(b, "marker", f->probe->marker, err);
	if (!rc)
		rc = live_put_time(b, "planted_at", f->call.started_ns, err);
	return rc ? rc : buf_printf(b, err, "\"planted_request\":\"%s\"}", f->id);
}

static int ingest(struct probing *p, const char *name, const char *format, struct text bytes, struct err *err)
{
	struct ingest_options o = *p->r->ingest;
	o.on_source = NULL;
	o.on_progress = NULL;
	o.stop = NULL; /* what came is kept, also when the run was stopped */
	const struct ingest_given given = {name, format, "probe", bytes};
	return bytes.len ? ingest_bytes(p->r->c, &o, &given, 1, err) : 0;
}

static int flush(struct probing *p, struct err *err)
{
	char name[128], at[40];
	snprintf(name, sizeof(name), "probe/%s/answers-%u.jsonl", stamp_format(p->begun_ns, at, sizeof(at)),
		 ++p->sources);
	int rc = ingest(p, name, "live-probes", buf_text(&p->lines), err);
	buf_clear(&p->lines);
	return rc;
}

static int done(void *ctx, struct live_call *call, struct err *err)
{
	struct probing *p = ctx;
	struct flight *f = call->ctx;
	struct live_answer a;
	int rc = live_answer_read(&a, buf_text(&call->answer), f->probe->stream, err);
	if (!rc && !a.text.len) /* an error; in text of a model nothing is touched that may be a marker */
		live_mask_call(call);
	if (!rc)
		rc = put_plan_members(p, &p->lines, f->probe, f->id, err);
	if (!rc)
		rc = put_asked(p, &p->lines, f->probe, err);
	if (!rc)
		rc = put_came(&p->lines, call, &a, err);
	if (!rc && f->probe->kind == PROBE_MARKER)
		rc = put_marker(p, f, err);
	if (!rc && p->lines.len >= FLUSH_BYTES)
		rc = flush(p, err);
	live_answer_done(&a);
	flight_free(f);
	p->r->ended++;
	if (p->r->on_progress)
		p->r->on_progress(p->r->ctx, p->r->ended, p->r->plan->n);
	return rc;
}

static int put_not_sent(struct probing *p, struct err *err)
{
	int rc = 0;
	for (size_t i = p->next; i < p->r->plan->n && !rc; i++) {
		rc = put_plan_members(p, &p->lines, &p->r->plan->list[i], "", err);
		if (!rc)
			rc = buf_add_text(&p->lines, TEXT("\"result\":\"not_sent\"}\n"), err);
	}
	return rc;
}

static int keep(struct probing *p, struct err *err)
{
	char name[128], at[40];
	int rc = put_not_sent(p, err);
	if (!rc)
		rc = flush(p, err);
	if (!rc && p->markers.len)
		rc = buf_add_text(&p->markers, TEXT("\n]}\n"), err);
	snprintf(name, sizeof(name), "probe/%s/planted.json", stamp_format(p->begun_ns, at, sizeof(at)));
	return rc ? rc : ingest(p, name, "markers", buf_text(&p->markers), err);
}

int live_probe_run(struct live_probe_run *r, struct err *err)
{
	struct text base = r->endpoint;
	if (text_ends(base, "/v1"))
		base.len -= 3;
	struct probing p = {.r = r,
			    .begun_ns = r->live->now(),
			    .last_ns = TIME_UNKNOWN,
			    .lines = BUF_INIT(SIZE_MAX / 2), /* bounded by FLUSH_BYTES and one answer */
			    .markers = BUF_INIT(SIZE_MAX / 2),
			    .err = err};
	r->sent = r->ended = 0;
	if (asprintf(&p.url, "%.*s%s", TEXT_ARG(base),
		     r->api == LIVE_CHAT ? "/v1/chat/completions" : "/v1/completions") < 0)
		return err_nomem(err);
	const struct live_source source = {next, done, &p};
	struct err first = {0};
	int rc = live_run(r->live, &source, &first);
	if (p.failed)
		rc = p.failed;
	else if (rc && err)
		*err = first;
	if (!rc || rc == ERR_INTERRUPTED) {
		struct err second;
		int kept = keep(&p, rc ? &second : err);
		if (kept && rc && err)
			*err = second;
		rc = kept ? kept : rc;
	}
	free(p.url);
	buf_done(&p.lines);
	buf_done(&p.markers);
	return rc;
}
