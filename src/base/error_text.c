/* SPDX-License-Identifier: Apache-2.0 */
/* error_text.c - which words of an error text are the program's own */
#include "pagetrail/error_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"
#include "pagetrail/macros.h"

/* Of the error texts of engines, gateways, HTTP libraries and Go's and Python's networking; sorted. */
/* clang-format off */
static const char *const words[] = {
	"a", "able", "abort", "aborted", "aborting", "accept", "accepted", "access", "account", "active", "actual",
	"address", "after", "again", "all", "allocate", "allocated", "allocation", "allowed", "already", "an", "and",
	"another", "any", "api", "app", "are", "argument", "as", "assistant", "at", "attempt", "attempts", "auth",
	"authentication", "authorization", "available", "back", "backend", "backoff", "bad", "basic", "batch", "be",
	"bearer", "because", "been", "before", "began", "behind", "being", "between", "body", "bootstrap", "bootstrapping",
	"both", "broken", "budget", "buffer", "busy", "but", "by", "byte", "bytes", "cache", "call", "called", "calls",
	"can", "cancel", "canceled", "cancelled", "candidates", "cannot", "capacity", "certificate", "chat", "check",
	"chunk", "circuit", "client", "clients", "close", "closed", "code", "complete", "completed", "completion",
	"completions", "concurrency", "config", "configured", "connect", "connecting", "connection", "connections",
	"contact", "contains", "content", "context", "control", "could", "cpu", "credentials", "cuda", "current", "data",
	"deadline", "decode", "decoder", "decoding", "default", "deployment", "detail", "details", "device", "dial",
	"dialing", "did", "digest", "disabled", "disconnect", "disconnected", "dispatch", "dns", "do", "does", "down",
	"due", "during", "early", "either", "empty", "enabled", "encode", "encoding", "encountered", "end", "ended",
	"endpoint", "endpoints", "engine", "enough", "entity", "eof", "error", "errors", "event", "exceed", "exceeded",
	"exceeds", "exception", "exhausted", "exit", "exited", "expected", "expired", "external", "failed", "failing",
	"failure", "fallback", "fallbacks", "fatal", "fetch", "field", "file", "filter", "filtered", "find", "finish",
	"finished", "first", "for", "forbidden", "format", "found", "free", "from", "full", "function", "gateway",
	"generate", "generated", "generation", "get", "given", "gone", "got", "gpu", "grpc", "had", "handle", "handler",
	"handling", "handshake", "has", "have", "header", "headers", "health", "healthy", "hit", "hop", "host", "however",
	"http", "https", "id", "idle", "if", "image", "in", "inactive", "incomplete", "incorrect", "inference",
	"initializing", "input", "insufficient", "internal", "internally", "invalid", "io", "ip", "is", "it", "its", "json",
	"keep", "key", "kv", "large", "larger", "last", "latency", "layer", "least", "left", "length", "less", "limit",
	"limited", "limits", "line", "list", "live", "load", "loaded", "loading", "local", "long", "longer", "lookup",
	"lost", "malformed", "many", "match", "max", "maximum", "memory", "message", "messages", "method", "min", "minimum",
	"missing", "mode", "model", "models", "more", "most", "ms", "must", "name", "nccl", "network", "new", "nixl", "no",
	"node", "nodes", "none", "not", "null", "number", "object", "of", "off", "offline", "on", "one", "only", "open",
	"operation", "or", "original", "other", "out", "output", "over", "overflow", "overload", "overloaded", "own",
	"page", "pages", "pair", "parameter", "parameters", "parse", "parsing", "pass", "path", "payload", "pd", "peer",
	"pending", "per", "permission", "permitted", "pool", "port", "post", "pre", "prefill", "prefilling", "previous",
	"priority", "process", "processed", "processing", "prompt", "prompts", "protocol", "provide", "provided",
	"provider", "proxy", "queue", "queued", "quota", "raised", "range", "rank", "rate", "rdma", "reached", "read",
	"reading", "ready", "reason", "received", "recv", "reduce", "refused", "region", "reject", "rejected", "release",
	"released", "remaining", "remote", "removed", "request", "requested", "requests", "required", "reset", "resolve",
	"resource", "resources", "response", "responses", "result", "resulted", "retracted", "retries", "retry", "retrying",
	"return", "returned", "room", "route", "router", "routing", "running", "runtime", "same", "schedule", "scheduled",
	"scheduler", "schema", "second", "seconds", "see", "segment", "select", "selected", "send", "sending", "sent",
	"sequence", "server", "servers", "service", "serving", "session", "set", "shared", "short", "shorter", "shutdown",
	"shutting", "sides", "since", "size", "slot", "slots", "small", "socket", "some", "started", "starting", "state",
	"status", "still", "stop", "stopped", "stream", "streaming", "string", "such", "support", "supported", "syntax",
	"system", "target", "task", "tcp", "team", "temporarily", "temporary", "terminated", "text", "than", "that", "the",
	"their", "then", "there", "they", "this", "thread", "time", "timed", "timeout", "tls", "to", "token", "tokens",
	"too", "total", "transfer", "transferred", "transport", "tried", "try", "trying", "type", "unable", "unauthorized",
	"unavailable", "unexpected", "unhealthy", "unknown", "unreachable", "unsuccessful", "unsupported", "upstream",
	"upstreams", "url", "usage", "use", "used", "user", "uses", "using", "v1", "v2", "valid", "value", "values",
	"version", "via", "wait", "waited", "waiting", "was", "we", "were", "when", "which", "while", "will", "window",
	"with", "within", "without", "worker", "workers", "would", "write", "writing", "wrong", "you", "your", "zero",
	"zone",
};
/* clang-format on */

enum { WORD_MAX = 24, NAME_LONGEST = 64, NUMBER_LONGEST = 15, DIGITS_MAX = 10, WHOLE_PERCENT = 75 };

static int by_word(const void *key, const void *word)
{
	const struct text *k = key;
	const char *w = *(const char *const *)word;
	size_t n = strlen(w);
	int c = strncasecmp(k->ptr, w, MIN(k->len, n)); /* the text may hold NUL, the word does not */
	return c ? c : (k->len > n) - (k->len < n);
}

static bool known(struct text t)
{
	return t.len && t.len <= WORD_MAX && bsearch(&t, words, ARRAY_SIZE(words), sizeof(words[0]), by_word);
}

static bool ends_in(struct text t, const char *end)
{
	size_t n = strlen(end);
	return t.len > n && !memcmp(t.ptr + t.len - n, end, n);
}

/* litellm.BadRequestError, ServiceUnavailable: begins big, ends as names of errors do. */
static bool names_error(struct text t)
{
	static const char *const ends[] = {"Error", "Exception", "Timeout", "Failure", "Unavailable", "Exceeded"};
	if (t.len > NAME_LONGEST)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!(t.ptr[i] == '.' || t.ptr[i] == '_' || (t.ptr[i] >= '0' && t.ptr[i] <= '9') ||
		      ((t.ptr[i] | 32) >= 'a' && (t.ptr[i] | 32) <= 'z')))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends_in(t, ends[i]))
			return true;
	return false;
}

/* A count, a time, an address; no longer than these are. */
static bool number(struct text t)
{
	size_t digits = 0, i = 0;
	for (; i < t.len && memchr("0123456789.,:%", t.ptr[i], 14); i++)
		digits += t.ptr[i] >= '0' && t.ptr[i] <= '9';
	struct text unit = text_from(t, i);
	bool address = memchr(t.ptr, ':', i) || (t.len && memchr(t.ptr, '.', i) != memrchr(t.ptr, '.', i));
	return digits && t.len <= (address ? NUMBER_LONGEST + 6 : NUMBER_LONGEST) &&
	       digits <= (address ? 17u : DIGITS_MAX) &&
	       (!unit.len || text_is(unit, "ms") || text_is(unit, "s") || text_is(unit, "MB") || text_is(unit, "GiB"));
}

static struct text core_of(struct text t)
{
	static const char around[] = "\"'`()[]{}<>,;:.!?";
	while (t.len && memchr(around, t.ptr[0], sizeof(around) - 1))
		t = text_from(t, 1);
	while (t.len && memchr(around, t.ptr[t.len - 1], sizeof(around) - 1))
		t.len--;
	return t;
}

/* A word of several, such as read_timeout, rate-limit or upstream=10.0.0.7:80. */
static bool made_of_known(struct text t)
{
	for (size_t from = 0, i = 0; i <= t.len; i++) {
		if (i < t.len && !memchr("-_/=", t.ptr[i], 4))
			continue;
		struct text part = core_of(text_sub(t, from, i - from));
		if (part.len && !known(part) && !number(part))
			return false;
		from = i + 1;
	}
	return true;
}

/* What stands for a key (parse.c): it still joins. */
static bool hidden_key(struct text t)
{
	static const char begin[] = "secret:";
	struct text rest = text_from(t, sizeof(begin) - 1);
	if (!text_starts(t, begin) || rest.len != 12)
		return text_is(t, "secret");
	for (size_t i = 0; i < rest.len; i++)
		if (!memchr("0123456789abcdef", rest.ptr[i], 16))
			return false;
	return true;
}

enum kind { OTHER, OWN, NUMBER, MARKS };

static enum kind kind_of(struct text token)
{
	struct text t = core_of(token);
	struct text rest = text_ends(t, "'s") ? text_sub(t, 0, t.len - 2) : t;
	if (!t.len)
		return MARKS;
	if (number(t))
		return NUMBER;
	return known(rest) || hidden_key(t) || names_error(t) || made_of_known(rest) ? OWN : OTHER;
}

static bool next_token(struct text *rest, struct text *ret)
{
	while (rest->len && memchr(" \t\r\n", rest->ptr[0], 4))
		*rest = text_from(*rest, 1);
	size_t n = 0;
	while (n < rest->len && !memchr(" \t\r\n", rest->ptr[n], 4))
		n++;
	*ret = text_sub(*rest, 0, n);
	*rest = text_from(*rest, n);
	return n > 0;
}

/* Ends a clause: "word:" or "word." or a dash. */
static bool ends_clause(struct text token)
{
	return memchr(":.;!?", token.ptr[token.len - 1], 5) || text_is(token, "-");
}

static int left_out(struct buf *out)
{
	bool there = text_ends(buf_text(out), "\xe2\x80\xa6");
	return there ? 0 : buf_printf(out, NULL, "%s\xe2\x80\xa6", out->len ? " " : "");
}

static int put_clause(struct text clause, struct buf *out)
{
	unsigned all = 0, own = 0;
	struct text rest = clause, token;
	bool before = false;
	int rc = 0;
	while (next_token(&rest, &token)) {
		enum kind k = kind_of(token);
		all += k == OWN || k == OTHER;
		own += k == OWN;
	}
	if (!own || own * 100 < all * WHOLE_PERCENT)
		return left_out(out);
	rest = clause;
	while (!rc && next_token(&rest, &token)) {
		struct text ahead = rest, next;
		enum kind k = kind_of(token);
		/* a number belongs to a word beside it */
		bool keep = k == OWN || k == MARKS ||
			    (k == NUMBER && (before || (next_token(&ahead, &next) && kind_of(next) == OWN)));
		rc = keep ? buf_printf(out, NULL, "%s%.*s", out->len ? " " : "", TEXT_ARG(token)) : left_out(out);
		before = k == OWN;
	}
	return rc;
}

/* DC, or UF,URX: Envoy's flags; cD--: HAProxy's state at the end. */
static bool flags(struct text t)
{
	size_t n = 0;
	if (t.len == 4 && t.ptr[2] == '-')
		return memchr("-CSPLRIDUKcks", t.ptr[0], 13) && memchr("-RQCHDLT", t.ptr[1], 9);
	for (size_t i = 0; i < t.len; i++) {
		n = t.ptr[i] == ',' ? 0 : n + 1;
		if (n > 4 || !(t.ptr[i] == ',' || t.ptr[i] == '-' || (t.ptr[i] >= 'A' && t.ptr[i] <= 'Z')))
			return false;
	}
	return t.len && t.len <= WORD_MAX;
}

struct text error_text(struct text t, struct arena *a)
{
	if (flags(t))
		return t;
	struct buf b = BUF_INIT(4 * MESSAGE_MAX_BYTES);
	struct text rest = text_sub(t, 0, 2 * MESSAGE_MAX_BYTES), token, clause = {rest.ptr, 0}, ret = {"", 0};
	int rc = 0;
	while (!rc && next_token(&rest, &token)) {
		clause.len = (size_t)(token.ptr + token.len - clause.ptr);
		if (!ends_clause(token))
			continue;
		rc = put_clause(clause, &b);
		clause = (struct text){rest.ptr, 0};
	}
	if (!rc && text_trim(clause).len)
		rc = put_clause(clause, &b);
	if (!rc && b.len)
		ret = arena_text(a, buf_text(&b));
	else if (rc)
		ret = (struct text){NULL, 0};
	buf_done(&b);
	return ret;
}
