/* SPDX-License-Identifier: Apache-2.0 */
/* llm_d.c - format llm-d: what llm-d's routing sidecar and its endpoint picker say of requests
 *
 *   I0914 03:12:44.099979       1 connector_nixlv2.go:140] "received prefiller response" logger="proxy server" kv_transfer_params={…}
 *   {"level":"Level(-3)","ts":"2026-09-14T03:12:44Z","caller":"requestcontrol/director.go:304","msg":"Request handled",
 *    "x-request-id":"…","targetModel":"…","endpoint":"10.0.0.5:8000"}
 * Older sidecars write klog's text (local time, no year), newer ones and the picker zap's JSON. The sidecar makes a request's id
 * and logs it nowhere: what names a request is the prefill engine's own name for it in kv_transfer_params, or SGLang's room. The
 * blocks that stand beside it are the prefill engine's. Bodies hold prompts and are not read.
 * Sources: llm-d/llm-d-routing-sidecar internal/proxy (135efba, 1effd9b), llm-d/llm-d-inference-scheduler pkg/sidecar/proxy (05399b3,
 * 1956ad5), kubernetes-sigs/gateway-api-inference-extension pkg/epp (014fd18); a real log of a sidecar of May 2025.
 */
#include "gateway_access.h"
#include "pagetrail/json_scan.h"
#include "pagetrail/parser.h"
#include "python_repr.h"
#include "vllm_words.h"

enum { PAIRS_MAX = 32, CALLER_MAX_BYTES = 80, ROOMS = 64 };

struct state {
	uint64_t rooms[ROOMS]; /* that were told last: one request says its room two or three times */
	unsigned next;
};

struct pair {
	struct text key, value; /* value: as it stands */
};

struct line {
	struct stamp ts;
	struct text caller, message;
	bool error, json;
	struct pair pair[PAIRS_MAX];
	unsigned n;
};

/* --- reading --- */

static bool cut_digits(struct text *t, size_t n, int *ret)
{
	int64_t v;

	if (t->len < n || !all_digits(text_sub(*t, 0, n)) || !text_int64(text_sub(*t, 0, n), &v))
		return false;
	*ret = (int)v;
	*t = text_from(*t, n);
	return true;
}

static bool cut_char(struct text *t, char c)
{
	if (!t->len || t->ptr[0] != c)
		return false;
	*t = text_from(*t, 1);
	return true;
}

/* I0914 03:12:44.099979       1 file.go:110] (klog's header: severity, month and day, time, thread, place) */
static bool read_head(struct text *t, struct line *l, struct stamp era)
{
	int month, day, hour, min, sec, micros;
	size_t end;

	if (!t->len || !memchr("IWEF", t->ptr[0], 4))
		return false;
	l->error = t->ptr[0] == 'E' || t->ptr[0] == 'F';
	*t = text_from(*t, 1);
	if (!cut_digits(t, 2, &month) || !cut_digits(t, 2, &day) || !cut_char(t, ' ') || !cut_digits(t, 2, &hour) ||
	    !cut_char(t, ':') || !cut_digits(t, 2, &min) || !cut_char(t, ':') || !cut_digits(t, 2, &sec) ||
	    !cut_char(t, '.') || !cut_digits(t, 6, &micros) || !cut_char(t, ' '))
		return false;
	*t = skip_blanks(*t);
	end = text_find(*t, "] ", 0);
	if (end == SIZE_MAX || end > CALLER_MAX_BYTES || text_find(text_sub(*t, 0, end), ".go:", 0) == SIZE_MAX)
		return false;
	l->caller = text_sub(*t, 0, end);
	l->caller = text_from(l->caller, text_find_char(l->caller, ' ', 0) + 1);
	*t = text_from(*t, end + 2);
	return stamp_yearless(month, day, hour, min, sec, (int64_t)micros * 1000, era, &l->ts);
}

/* A quoted text, an object or list, or what stands up to the next blank. */
static bool cut_value(struct text *t, struct text *ret)
{
	struct json_scan s = {t->ptr, t->ptr + t->len};
	const char *blank;

	if (t->len && memchr("\"{[", t->ptr[0], 3)) {
		if (!scan_value(&s, ret))
			return false;
		*t = text_from(*t, (size_t)(s.p - t->ptr));
		return true;
	}
	blank = t->len ? memchr(t->ptr, ' ', t->len) : NULL;
	*ret = text_sub(*t, 0, blank ? (size_t)(blank - t->ptr) : t->len);
	*t = text_from(*t, ret->len);
	return true;
}

static void add_pair(struct line *l, struct text key, struct text value)
{
	if (l->n < PAIRS_MAX)
		l->pair[l->n++] = (struct pair){key, value};
}

/* 1 it is one, 0 not, -1 it breaks off. */
static int read_klog(struct text t, struct line *l, struct stamp era)
{
	struct text value;
	size_t eq;

	if (!read_head(&t, l, era))
		return 0;
	if (!t.len || t.ptr[0] != '"')
		return 1; /* Infof(): a sentence */
	if (!cut_value(&t, &value))
		return -1;
	l->message = text_sub(value, 1, value.len - 2);
	while ((t = skip_blanks(t)).len) {
		eq = text_find_char(t, '=', 0);
		if (eq == SIZE_MAX)
			return -1;
		struct text key = text_sub(t, 0, eq);

		t = text_from(t, eq + 1);
		if (!cut_value(&t, &value))
			return -1;
		add_pair(l, key, value);
	}
	return 1;
}

/* What is between the quotes. */
static struct text scan_bare(struct text v)
{
	return v.len > 1 && v.ptr[0] == '"' ? text_sub(v, 1, v.len - 2) : v;
}

static int read_zap(struct text t, struct line *l)
{
	struct json_scan s = scan_of(t);
	struct text key, v;
	size_t used;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	l->json = true;
	while ((r = scan_member(&s, &key)) == 1) {
		if (!scan_value(&s, &v))
			return -1;
		if (text_is(key, "msg") && l->message.ptr && !text_eq(l->message, scan_bare(v)))
			return -1;
		if (text_is(key, "msg"))
			l->message = scan_bare(v);
		else if (text_is(key, "caller"))
			l->caller = scan_bare(v);
		else if (text_is(key, "level"))
			l->error = text_is(v, "\"error\"");
		else if (text_is(key, "ts")) {
			v = scan_bare(v);
			if (!stamp_parse_iso(v, &l->ts, &used) && !stamp_parse_epoch(v, &l->ts))
				l->ts = STAMP_INIT;
		} else
			add_pair(l, key, v);
	}
	return r == 0 && scan_over(&s) ? 1 : -1;
}

/* Of two with one name that differ none: zap writes what a logger was given as often as it was given, and which is meant nobody can
 * know. */
static struct text raw_of(const struct line *l, const char *key)
{
	struct text found = {NULL, 0};

	for (unsigned i = 0; i < l->n; i++) {
		if (!text_is(l->pair[i].key, key))
			continue;
		if (found.ptr && !text_eq(found, l->pair[i].value))
			return (struct text){NULL, 0};
		found = l->pair[i].value;
	}
	return found;
}

static struct text text_of_key(struct parse *p, const struct line *l, const char *key)
{
	struct text raw = raw_of(l, key), t = {NULL, 0};

	if (!raw.len || (raw.ptr[0] != '"' && (text_is(raw, "null") || text_is(raw, "<nil>"))))
		return t;
	if (raw.ptr[0] != '"')
		return raw.ptr[0] == '{' || raw.ptr[0] == '[' ? t : raw;
	return scan_scalar(raw, &p->scratch, &t) ? t : (struct text){NULL, 0};
}

/* --- the blocks that a prefill engine offers --- */

static struct text member_of(struct parse *p, const struct line *l, struct text params, const char *key)
{
	struct text t;

	if (!params.len)
		return text_of_key(p, l, key);
	t = py_unquote(py_get(params, key));
	return text_is(t, "null") || text_is(t, "None") ? (struct text){NULL, 0} : t;
}

static int take_offer(struct parse *p, const struct line *l)
{
	struct text params = raw_of(l, "kv_transfer_params");
	struct text blocks = params.len ? py_get(params, "remote_block_ids") : raw_of(l, "remote_block_ids");
	struct text rid = outer_id(member_of(p, l, params, "remote_request_id"), false);
	struct text engine = member_of(p, l, params, "remote_engine_id");
	struct page_run *runs;
	struct event *e;
	uint32_t n;
	int r;

	if (!block_runs(p, blocks, &runs, &n))
		return RECORD_CONTEXT;
	e = parse_begin(p, EVENT_PAGE, l->ts);
	event_text(e, PAGE_OP, TEXT("send"));
	event_text(e, PAGE_POOL, TEXT("kv"));
	event_text(e, PAGE_RID, rid);
	event_runs(e, runs, n);
	event_worker(e, engine);
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

/* --- requests --- */

static int take_gateway(struct parse *p, const struct line *l, const char *what)
{
	struct event *e = parse_begin(p, EVENT_GATEWAY, l->ts);
	struct text model = text_of_key(p, l, "incomingModelName"), upstream = text_of_key(p, l, "endpoint"),
		    room = text_of_key(p, l, "bootstrap_room");
	int64_t status;
	int r;

	if (!room.len)
		room = text_of_key(p, l, "room_id");
	if (!model.len)
		model = text_of_key(p, l, "model");
	event_text(e, GATEWAY_WHAT, text_of(what));
	event_text(e, GATEWAY_ID, text_of_key(p, l, "x-request-id"));
	event_text(e, GATEWAY_ROOM, room);
	event_text(e, GATEWAY_MODEL, model);
	if (digits_of(raw_of(l, "code"), &status) && status >= 100 && status <= 599)
		event_int(e, GATEWAY_STATUS, status);
	/* older pickers print the whole of what they know of a pod */
	if (!text_starts(upstream, "{"))
		event_text(e, GATEWAY_UPSTREAM, address_of(upstream));
	if (l->error)
		event_text(e, GATEWAY_MESSAGE,
			   secret_cut(l->json ? text_of_key(p, l, "error") : text_of_key(p, l, "err")));
	r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

static bool is_told(struct parse *p, struct text room)
{
	struct state *s = p->state;
	uint64_t h = text_hash(room) | 1;

	for (size_t i = 0; i < ROOMS; i++)
		if (s->rooms[i] == h)
			return true;
	s->rooms[s->next] = h;
	s->next = (s->next + 1) % ROOMS;
	return false;
}

static int take(struct parse *p, const struct line *l)
{
	struct text room = raw_of(l, "bootstrap_room").len ? raw_of(l, "bootstrap_room") : raw_of(l, "room_id");
	bool named = raw_of(l, "x-request-id").len > 2;

	if (text_is(l->message, "received prefiller response"))
		return take_offer(p, l);
	if (text_is(l->message, "Request handled") && named)
		return take_gateway(p, l, "started");
	if (room.len && (text_is(l->message, "bootstrap info added") || text_is(l->message, "sending prefill request")))
		return is_told(p, room) ? RECORD_CONTEXT : take_gateway(p, l, "started");
	if (l->error && (text_is(l->message, "request failed") || text_is(l->message, "prefill request failed")))
		return take_gateway(p, l, "prefill_error");
	return l->error && named ? take_gateway(p, l, "error") : RECORD_CONTEXT;
}

static int read_line(struct text t, struct line *l, struct stamp era)
{
	*l = (struct line){.ts = STAMP_INIT};
	return t.len && t.ptr[0] == '{' ? read_zap(t, l) : read_klog(t, l, era);
}

/* Files of the sidecar and of the picker. */
static bool is_ours(const struct line *l)
{
	static const char *const files[] = {
	    "chat_completions.go:", "responses.go:", "connector_",      "data_parallel.go:", "decode.go:",
	    "proxy_helpers.go:",    "proxy/",        "requestcontrol/", "handlers/",         "scheduling/",
	    "scheduler/",           "flowcontrol/"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (text_starts(l->caller, files[i]))
			return true;
	return false;
}

static bool is_sidecar(const struct line *l)
{
	return text_is(raw_of(l, "logger"), "\"proxy server\"");
}

static int record(struct parse *p, struct text record)
{
	struct text bare = text_trim(record);
	struct line l;
	int r;

	if (!bare.len)
		return RECORD_CONTEXT;
	/* klog writes a text of several lines as key=<, then each behind a tab, then " >" */
	if (record.ptr[0] == '\t' || text_starts(record, " >"))
		return RECORD_CONTINUES;
	r = read_line(bare, &l, p->era);
	if (r == 0)
		return parse_refuse(p, "not_klog");
	if (r < 0)
		return parse_refuse(p, l.json && bare.ptr[bare.len - 1] == '}' ? "json_syntax" : "torn");
	if (l.json && (!l.message.ptr || !l.caller.ptr))
		return parse_refuse(p, "foreign_json");
	return take(p, &l);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct text bare = text_trim(record);
	struct line l;

	(void)p;
	if (!bare.len || read_line(bare, &l, STAMP_INIT) != 1 || text_find(l.caller, ".go:", 0) == SIZE_MAX)
		return BID_NO;
	if (is_sidecar(&l) || (l.json && is_ours(&l) && l.message.ptr && raw_of(&l, "x-request-id").len))
		return BID_STRONG;
	return is_ours(&l) ? BID_WEAK : BID_NO;
}

const struct parser parser_llm_d = {
    .name = "llm-d",
    .summary = "llm-d's routing sidecar and endpoint picker (klog text, JSON lines)",
    .checked =
	"llm-d-routing-sidecar 135efba, llm-d-inference-scheduler 05399b3 and 1956ad5, gateway-api-inference-extension "
	"014fd18 (sources); a real log of May 2025",
    .emits = 1u << EVENT_GATEWAY | 1u << EVENT_PAGE,
    .state_bytes = sizeof(struct state),
    .bid = bid,
    .record = record,
};
