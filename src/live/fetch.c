/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c - many calls at a time, each within its limits, over libcurl (curl.h)
 *
 * Whatever a peer does, a call ends: with an outcome, a sentence, and the bytes that came until then.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "curl.h"
#include "pagetrail/digest.h"
#include "pagetrail/limits.h"
#include "pagetrail/live.h"
#include "pagetrail/stamp.h"

enum { WAIT_MS = 10, POLL_MS = 100 };

const char *const live_outcome_names[LIVE_OUTCOMES] = {
    [LIVE_ANSWERED] = "answered",
    [LIVE_OTHER] = "other_status",
    [LIVE_NOT_THERE] = "not_there",
    [LIVE_HTTP_ERROR] = "http_error",
    [LIVE_REDIRECTED] = "redirected",
    [LIVE_UNRESOLVED] = "unresolved",
    [LIVE_REFUSED] = "refused",
    [LIVE_TLS] = "not_trusted",
    [LIVE_TIMED_OUT] = "timed_out",
    [LIVE_CUT] = "cut",
    [LIVE_LENGTH] = "wrong_length",
    [LIVE_TOO_LONG] = "too_long",
    [LIVE_NOT_HTTP] = "not_http",
    [LIVE_STOPPED] = "stopped",
    [LIVE_FAILED] = "failed",
    [LIVE_NO_ADDRESS] = "no_address",
    [LIVE_NOT_UNDERSTOOD] = "not_understood",
    [LIVE_OF_OTHERS] = "of_others",
};

struct run {
	const struct live_options *o;
	const struct live_source *source;
	CURLM *multi;
	struct live_call **active;
	unsigned n;
};

/* --- what comes --- */

static size_t on_content(char *p, size_t size, size_t n, void *ctx)
{
	struct live_call *c = ctx;
	size_t room = c->answer.max - c->answer.len, take = MIN(n * size, room);
	if (buf_add(&c->answer, p, take, NULL))
		return 0;
	c->too_long = take < n * size;
	return c->too_long ? 0 : n * size;
}

static void keep_header(char *to, size_t size, struct text value)
{
	value = text_trim(value);
	size_t n = MIN(value.len, size - 1);
	memcpy(to, value.ptr, n);
	to[n] = '\0';
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct live_call *c = ctx;
	struct text line = {p, n * size};
	size_t colon = text_find_char(line, ':', 0);
	const struct {
		const char *name;
		char *to;
		size_t size;
	} kept[] = {{"content-type", c->type, sizeof(c->type)},
		    {"location", c->place, sizeof(c->place)},
		    {"x-request-id", c->id, sizeof(c->id)}};
	c->header_bytes += line.len;
	if (c->header_bytes > LIVE_ANSWER_HEADER_BYTES) {
		c->too_long = true;
		return 0;
	}
	if (colon == strlen("content-length") && !strncasecmp(p, "content-length", colon)) {
		char length[sizeof(c->length)];
		keep_header(length, sizeof(length), text_from(line, colon + 1));
		c->lengths = c->lengths || (c->length[0] && strcmp(c->length, length) != 0);
		memcpy(c->length, length, sizeof(length));
	}
	for (size_t i = 0; colon != SIZE_MAX && i < ARRAY_SIZE(kept); i++)
		if (colon == strlen(kept[i].name) && !strncasecmp(p, kept[i].name, colon))
			keep_header(kept[i].to, kept[i].size, text_from(line, colon + 1));
	return line.len;
}

/* libcurl drops what comes behind the length that an answer gave, and only says so. */
static int on_debug(CURL *easy, curl_infotype what, char *p, size_t n, void *ctx)
{
	struct live_call *c = ctx;
	(void)easy;
	if (what == CURLINFO_TEXT && text_starts((struct text){p, n}, "Excess found"))
		c->excess = true;
	return 0;
}

/* --- one call --- */

static int add_lines(struct live_call *c, const struct live_options *o, struct err *err)
{
	struct curl_slist *list = NULL, *longer;
	const char *fixed[] = {"Expect:", c->body.ptr ? "Content-Type: application/json" : NULL};
	bool ok = true;
	for (size_t i = 0; ok && i < ARRAY_SIZE(fixed) && fixed[i]; i++, list = longer ? longer : list)
		ok = (longer = curl.slist_append(list, fixed[i])) != NULL;
	for (size_t i = 0; ok && c->headers && c->headers[i]; i++, list = longer ? longer : list)
		ok = (longer = curl.slist_append(list, c->headers[i])) != NULL;
	for (size_t i = 0; ok && o->headers && i < o->headers->n; i++, list = longer ? longer : list)
		ok = (longer = curl.slist_append(list, o->headers->lines[i].ptr)) != NULL;
	c->list = list;
	return ok ? 0 : err_nomem(err);
}

static bool set_all(CURL *e, struct live_call *c, const struct live_options *o)
{
	bool ok =
	    !curl.easy_setopt(e, CURLOPT_URL, c->url) && !curl.easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") &&
	    !curl.easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) &&
	    !curl.easy_setopt(e, CURLOPT_PROXY, "") && /* whatever the environment says */
	    !curl.easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) &&
	    !curl.easy_setopt(e, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) &&
	    !curl.easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	    !curl.easy_setopt(e, CURLOPT_NOSIGNAL, 1L) && !curl.easy_setopt(e, CURLOPT_ERRORBUFFER, c->trouble) &&
	    !curl.easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_ms) &&
	    !curl.easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)o->total_ms) &&
	    !curl.easy_setopt(e, CURLOPT_USERAGENT, "pagetrail/" PAGETRAIL_VERSION) &&
	    !curl.easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
	    !curl.easy_setopt(e, CURLOPT_CERTINFO, 1L) && !curl.easy_setopt(e, CURLOPT_FORBID_REUSE, 1L) &&
	    !curl.easy_setopt(e, CURLOPT_HTTPHEADER, c->list) &&
	    !curl.easy_setopt(e, CURLOPT_WRITEFUNCTION, on_content) && !curl.easy_setopt(e, CURLOPT_WRITEDATA, c) &&
	    !curl.easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header) && !curl.easy_setopt(e, CURLOPT_HEADERDATA, c) &&
	    !curl.easy_setopt(e, CURLOPT_VERBOSE, 1L) && !curl.easy_setopt(e, CURLOPT_DEBUGFUNCTION, on_debug) &&
	    !curl.easy_setopt(e, CURLOPT_DEBUGDATA, c) && !curl.easy_setopt(e, CURLOPT_PRIVATE, c);
	if (ok && o->cacert)
		ok = !curl.easy_setopt(e, CURLOPT_CAINFO, o->cacert) && !curl.easy_setopt(e, CURLOPT_CAPATH, NULL);
	if (ok && c->body.ptr)
		ok = !curl.easy_setopt(e, CURLOPT_POST, 1L) &&
		     !curl.easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.len) &&
		     !curl.easy_setopt(e, CURLOPT_POSTFIELDS, c->body.ptr);
	return ok;
}

static int call_start(struct run *r, struct live_call *c, struct err *err)
{
	c->answer = BUF_INIT(r->o->max_bytes);
	c->started_ns = r->o->now();
	c->first_ns = c->ended_ns = TIME_UNKNOWN;
	c->trouble[0] = '\0';
	c->easy = curl.easy_init();
	int rc = c->easy ? add_lines(c, r->o, err) : err_nomem(err);
	if (!rc && !set_all(c->easy, c, r->o))
		rc = err_set(err, ERR_BUG, "a connection refuses its settings");
	if (!rc && curl.multi_add_handle(r->multi, c->easy) != CURLM_OK)
		rc = err_nomem(err);
	if (!rc)
		r->active[r->n++] = c;
	return rc;
}

static void call_drop(struct run *r, struct live_call *c)
{
	if (!c->easy) /* so there is no list either, and libcurl may never have been loaded */
		return;
	if (r)
		curl.multi_remove_handle(r->multi, c->easy);
	curl.easy_cleanup(c->easy);
	curl.slist_free_all(c->list);
	c->easy = c->list = NULL;
}

void live_call_done(struct live_call *c)
{
	call_drop(NULL, c);
	buf_done(&c->answer);
}

/* --- how it ended --- */

static void note_peer(struct live_call *c)
{
	char *ip = NULL;
	long port = 0;
	if (curl.easy_getinfo(c->easy, CURLINFO_PRIMARY_IP, &ip) || !ip || !*ip ||
	    curl.easy_getinfo(c->easy, CURLINFO_PRIMARY_PORT, &port))
		return;
	snprintf(c->peer, sizeof(c->peer), strchr(ip, ':') ? "[%s]:%ld" : "%s:%ld", ip, port);
}

/* Subject, issuer and end of the peer's own certificate. */
static void note_tls(struct live_call *c)
{
	static const char *const wanted[] = {"Subject", "Issuer", "Expire date"};
	struct curl_certinfo *info = NULL;
	size_t n = 0;
	if (curl.easy_getinfo(c->easy, CURLINFO_CERTINFO, &info) || !info || info->num_of_certs < 1)
		return;
	for (struct curl_slist *l = info->certinfo[0]; l; l = l->next)
		for (size_t i = 0; i < ARRAY_SIZE(wanted) && n < sizeof(c->tls); i++) {
			size_t len = strlen(wanted[i]);
			if (!strncmp(l->data, wanted[i], len) && l->data[len] == ':')
				n += (size_t)snprintf(c->tls + n, sizeof(c->tls) - n, "%s%s: %.150s", n ? "; " : "",
						      wanted[i], l->data + len + 1);
		}
}

static enum live_outcome outcome_of_status(long status)
{
	if (status == 200)
		return LIVE_ANSWERED;
	if (status < 300) /* a part, or nothing: what is whole was asked for */
		return LIVE_OTHER;
	if (status < 400)
		return LIVE_REDIRECTED;
	return status == 404 || status == 405 || status == 410 || status == 501 ? LIVE_NOT_THERE : LIVE_HTTP_ERROR;
}

/* An answer whose pieces do not say their lengths did not end early: it is none. libcurl has one code for both
 * (lib/transfer.c: "%s in chunked-encoding"). */
static bool bad_chunks(const struct live_call *c, CURLcode code)
{
	return code == CURLE_RECV_ERROR && strstr(c->trouble, "chunked-encoding");
}

static enum live_outcome outcome_of(const struct live_call *c, CURLcode code)
{
	if (c->too_long)
		return LIVE_TOO_LONG;
	if (c->lengths)
		return LIVE_LENGTH;
	if (bad_chunks(c, code))
		return LIVE_NOT_HTTP;
	switch (code) {
	case CURLE_OK: return c->excess ? LIVE_LENGTH : outcome_of_status(c->status);
	case CURLE_COULDNT_RESOLVE_HOST: return LIVE_UNRESOLVED;
	case CURLE_COULDNT_CONNECT: return LIVE_REFUSED;
	case CURLE_OPERATION_TIMEDOUT: return LIVE_TIMED_OUT;
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR: return LIVE_CUT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_USE_SSL_FAILED: return LIVE_TLS;
	case CURLE_UNSUPPORTED_PROTOCOL: /* an answer that begins with no status line is HTTP/0.9 to libcurl */
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP2: return LIVE_NOT_HTTP;
	default: return LIVE_FAILED;
	}
}

static void say_why(struct live_call *c, CURLcode code, const struct live_options *o)
{
	switch (c->outcome) {
	case LIVE_ANSWERED: c->why[0] = '\0'; break;
	case LIVE_OTHER:
	case LIVE_NOT_THERE:
	case LIVE_HTTP_ERROR: snprintf(c->why, sizeof(c->why), "HTTP status %ld", c->status); break;
	case LIVE_REDIRECTED:
		snprintf(c->why, sizeof(c->why), "HTTP status %ld to %.180s: not followed", c->status,
			 c->place[0] ? c->place : "nowhere");
		break;
	case LIVE_TIMED_OUT:
		snprintf(c->why, sizeof(c->why), "no %s within %lld ms", c->status ? "whole answer" : "answer",
			 (long long)(c->peer[0] ? o->total_ms : MIN(o->connect_ms, o->total_ms)));
		break;
	case LIVE_TOO_LONG:
		snprintf(c->why, sizeof(c->why), "more than %zu bytes",
			 c->header_bytes > LIVE_ANSWER_HEADER_BYTES ? LIVE_ANSWER_HEADER_BYTES : o->max_bytes);
		break;
	case LIVE_CUT:
		snprintf(c->why, sizeof(c->why), "the connection ended after %zu bytes of an answer that goes on",
			 c->answer.len);
		break;
	case LIVE_LENGTH:
		if (c->lengths) {
			snprintf(c->why, sizeof(c->why), "it says two lengths that differ");
			break;
		}
		snprintf(c->why, sizeof(c->why), "more came than the %zu bytes that it said it has", c->answer.len);
		break;
	default:
		if (bad_chunks(c, code))
			snprintf(c->why, sizeof(c->why), "after %zu bytes: %.200s", c->answer.len, c->trouble);
		else
			snprintf(c->why, sizeof(c->why), "%s", curl.easy_strerror(code));
	}
}

static void mask_all(struct live_call *c, const struct live_headers *h)
{
	char *const texts[] = {c->why, c->tls, c->type, c->place, c->id};
	c->masked = live_mask(h, c->answer.ptr, c->answer.len);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		c->masked += live_mask(h, texts[i], strlen(texts[i]));
}

static void call_end(struct run *r, struct live_call *c, CURLcode code, bool stopped)
{
	curl_off_t first = 0;
	c->ended_ns = r->o->now();
	curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &c->status);
	if (c->answer.len && !curl.easy_getinfo(c->easy, CURLINFO_STARTTRANSFER_TIME_T, &first) && first > 0)
		c->first_ns = c->started_ns + first * 1000;
	note_peer(c);
	note_tls(c);
	c->outcome = stopped ? LIVE_STOPPED : outcome_of(c, code);
	say_why(c, code, r->o);
	if (stopped)
		snprintf(c->why, sizeof(c->why), "stopped by a signal");
	mask_all(c, r->o->headers);
	call_drop(r, c);
	for (unsigned i = 0; i < r->n; i++)
		if (r->active[i] == c)
			r->active[i] = r->active[--r->n];
}

/* --- all of them --- */

static bool stopped(const struct run *r)
{
	return r->o->stop && *r->o->stop;
}

static int take_ended(struct run *r, struct err *err)
{
	CURLMsg *m;
	int left, rc = 0;
	while (!rc && (m = curl.multi_info_read(r->multi, &left))) {
		struct live_call *c = NULL;
		CURLcode code = m->data.result;
		if (m->msg != CURLMSG_DONE || curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c) || !c)
			continue;
		call_end(r, c, code, false);
		rc = r->source->done(r->source->ctx, c, err);
	}
	return rc;
}

static int run_all(struct run *r, struct err *err)
{
	enum live_next next = LIVE_WAIT;
	struct live_call *c;
	int rc = 0, running;
	do {
		while (!rc && r->n < r->o->parallel && !stopped(r) &&
		       (next = r->source->next(r->source->ctx, &c)) == LIVE_CALL)
			rc = call_start(r, c, err);
		if (!rc && curl.multi_perform(r->multi, &running) != CURLM_OK)
			rc = err_set(err, ERR_BUG, "connections cannot go on");
		if (!rc)
			rc = take_ended(r, err);
		if (!rc && (r->n || next == LIVE_WAIT) &&
		    curl.multi_poll(r->multi, NULL, 0, next == LIVE_WAIT ? WAIT_MS : POLL_MS, NULL) != CURLM_OK)
			rc = err_set(err, ERR_BUG, "connections cannot be waited for");
	} while (!rc && !stopped(r) && (r->n || next != LIVE_END));
	struct err second;
	while (r->n) { /* each call ends, and is told of */
		c = r->active[r->n - 1];
		call_end(r, c, CURLE_OK, true);
		int told = r->source->done(r->source->ctx, c, rc ? &second : err);
		rc = rc ? rc : told;
	}
	if (rc || !stopped(r))
		return rc;
	err_set(err, ERR_INTERRUPTED, "stopped by a signal");
	err_hint(err, "what came until then is kept");
	return ERR_INTERRUPTED;
}

int live_run(const struct live_options *o, const struct live_source *source, struct err *err)
{
	struct run r = {.o = o, .source = source};
	int rc = curl_load(err);
	if (rc)
		return rc;
	r.multi = curl.multi_init();
	r.active = calloc(MAX(o->parallel, 1u), sizeof(struct live_call *));
	rc = r.multi && r.active ? run_all(&r, err) : err_nomem(err);
	curl.multi_cleanup(r.multi);
	free(r.active);
	return rc;
}

/* --- addresses --- */

static bool has_part(CURLU *u, CURLUPart part)
{
	char *v = NULL;
	bool has = !curl.url_get(u, part, &v, 0);
	curl.free(v);
	return has;
}

static int wrong_url(struct err *err, const char *why)
{
	err_set(err, ERR_USAGE, "not the address of a node: %s", why);
	err_hint(err, "http://HOST:PORT or https://HOST:PORT");
	return ERR_USAGE;
}

int live_url_check(const char *url, struct text *ret, struct err *err)
{
	struct text t = text_of(url);
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] <= ' ' || (unsigned char)t.ptr[i] >= 0x7f)
			return wrong_url(err, "it holds a blank, or what is no ASCII");
	if (!text_starts(t, "http://") && !text_starts(t, "https://"))
		return wrong_url(err, "only http:// and https:// are spoken");
	int rc = curl_load(err);
	if (rc)
		return rc;
	CURLU *u = curl.url();
	if (!u)
		return err_nomem(err);
	if (curl.url_set(u, CURLUPART_URL, url, 0))
		rc = wrong_url(err, "it cannot be read");
	else if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
		rc = wrong_url(err,
			       "a user or a key in it would be seen by others: --header-file holds what must not be");
	else if (has_part(u, CURLUPART_QUERY) || has_part(u, CURLUPART_FRAGMENT))
		rc = wrong_url(err, "the part behind '?' or '#' does not belong to it");
	curl.url_cleanup(u);
	while (t.len && t.ptr[t.len - 1] == '/')
		t.len--;
	*ret = t;
	return rc;
}

int live_url_host(const char *url, struct buf *out, struct err *err)
{
	char *host = NULL, *port = NULL;
	int rc = curl_load(err);
	if (rc)
		return rc;
	CURLU *u = curl.url();
	rc = u ? 0 : err_nomem(err);
	if (!rc && (curl.url_set(u, CURLUPART_URL, url, 0) || curl.url_get(u, CURLUPART_HOST, &host, 0) ||
		    curl.url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)))
		rc = wrong_url(err, "it cannot be read");
	if (!rc)
		rc = buf_printf(out, err, "%s:%s", host, port);
	curl.free(host);
	curl.free(port);
	curl.url_cleanup(u);
	return rc;
}
