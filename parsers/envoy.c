/* SPDX-License-Identifier: Apache-2.0 */
/* envoy.c - format envoy: Envoy's default text access log, Istio's longer one, and the lines of `aigw run`
 *
 * [start] "METHOD path PROTOCOL" code flags [details termination "failure"] received sent duration service-time
 * "forwarded-for" "agent" "request-id" "authority" "upstream" …; Istio has the fields in brackets, and more at the end.
 * `aigw run`: [start] path model=M code llm_input_token=N llm_output_token=N [llm_…=N] Dms.
 *
 * The time is that of the start, the duration is in milliseconds, the bytes are those of bodies; a field that is not there is
 * "-" (envoyproxy.io, access log usage; Istio EnvoyTextLogFormat; envoyproxy/ai-gateway c217da8a5). Envoy does not
 * escape: a header with a quote in it can look like other fields, so a line with more quotes than it should have is
 * refused, and so is one of aigw that has its model twice. Flags DC and DR: the caller went away. Code 0: no answer was begun.
 */
#include "gateway_line.h"

static bool read_start(struct text *rest, struct stamp *ret)
{
	struct text time;
	size_t used;

	return cut_brackets(rest, &time) && stamp_parse_iso(time, ret, &used) && used == time.len;
}

/* ms: -1 unknown */
static void set_times(struct access_line *a, int64_t ms)
{
	if (a->ts.quality != STAMP_ZONED)
		return;
	a->start_ns = a->ts.ns;
	if (ms >= 0 && ms < 1000000000)
		a->end_ns = a->ts.ns + ms * 1000000;
}

static bool flags_gone(struct text flags)
{
	struct text one;

	while (text_split(&flags, ',', &one))
		if (flag_gone(one))
			return true;
	return false;
}

/* Only what Envoy itself made; none of it has a blank or a small letter in it. */
static bool is_flags(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!((t.ptr[i] >= 'A' && t.ptr[i] <= 'Z') || t.ptr[i] == ',' || t.ptr[i] == '-'))
			return false;
	return t.len > 0;
}

/* "…" that ends at the very next quote: nothing is escaped here. */
static bool cut_plain(struct text *rest, struct text *ret)
{
	size_t n = rest->len && rest->ptr[0] == '"' ? text_find_char(*rest, '"', 1) : SIZE_MAX;

	if (n == SIZE_MAX)
		return false;
	*ret = text_sub(*rest, 1, n - 1);
	return cut_blank(rest, n + 1);
}

struct line {
	struct access_line a;
	bool ambiguous; /* more quotes than fields, a field twice */
};

/* Istio's three fields between flags and bytes. */
static bool cut_istio(struct text *rest, struct text *ret_details)
{
	struct text termination, failure;

	return cut_word(rest, ret_details) && cut_word(rest, &termination) && cut_plain(rest, &failure);
}

static const char *read_tail(struct text t, struct line *l)
{
	struct text received, sent, duration, service, forwarded, agent, id, authority, upstream;
	int64_t ms;

	if (!cut_word(&t, &received) || !cut_word(&t, &sent) || !digits_of(received, &l->a.bytes_in) ||
	    !digits_of(sent, &l->a.bytes_out))
		return "bad_bytes";
	if (!cut_word(&t, &duration) || !cut_word(&t, &service))
		return "bad_duration";
	if (!cut_plain(&t, &forwarded) || !cut_plain(&t, &agent) || !cut_plain(&t, &id) || !cut_plain(&t, &authority) ||
	    !cut_plain(&t, &upstream))
		return "bad_headers";
	set_times(&l->a, digits_of(duration, &ms) ? ms : -1);
	l->a.id = not_dash(id);
	l->a.upstream = not_dash(upstream);
	l->ambiguous = text_find_char(t, '"', 0) != SIZE_MAX;
	return NULL;
}

/* t: behind the time. */
static const char *read_default(struct text t, struct line *l)
{
	struct text request, code, flags, details = {0}, rest;
	bool istio;

	if (!cut_plain(&t, &request))
		return "bad_request";
	if (!cut_word(&t, &code) || !status_of(code, &l->a.status))
		return "bad_status";
	if (!cut_word(&t, &flags) || !is_flags(flags))
		return "bad_flags";
	rest = t;
	istio = cut_istio(&rest, &details) && !read_tail(rest, l);
	if (!istio) {
		const char *why = read_tail(t, l);

		details = (struct text){0};
		if (why)
			return why;
	}
	l->a.path = path_of_request(request, &l->a.method);
	l->a.message = not_dash(flags);
	l->a.gone = flags_gone(flags) || text_starts(details, "downstream_remote_disconnect") ||
		    text_starts(details, "http1.downstream_remote") || text_starts(details, "http2.remote_reset");
	return NULL;
}

static bool read_counts(struct text t, struct line *l)
{
	struct text word;
	int64_t n;
	bool counted = false;

	while (cut_word(&t, &word)) {
		if (text_starts(word, "llm_input_token=") && digits_of(text_from(word, 16), &n))
			l->a.input = n, counted = true;
		else if (text_starts(word, "llm_output_token=") && digits_of(text_from(word, 17), &n))
			l->a.output = n, counted = true;
		else if (text_starts(word, "llm_input_token=-") || text_starts(word, "llm_output_token=-"))
			counted = true;
		else if (text_ends(word, "ms") && digits_of(text_sub(word, 0, word.len - 2), &n))
			set_times(&l->a, n);
	}
	return counted;
}

/* The path is the caller's, and so is the model's name: what stands behind model= and a code is Envoy's. */
static const char *read_aigw(struct text t, struct line *l)
{
	struct text path, model, code;

	if (!cut_word(&t, &path) || !cut_word(&t, &model) || !text_starts(model, "model="))
		return "not_access";
	if (!cut_word(&t, &code) || !status_of(code, &l->a.status))
		return "bad_status";
	l->ambiguous = text_find(t, " model=", 0) != SIZE_MAX;
	set_times(&l->a, -1);
	l->a.path = path_of(path);
	l->a.model = not_dash(text_from(model, 6));
	return read_counts(t, l) ? NULL : "no_counts";
}

/* NULL, or what is wrong. */
static const char *read_line(struct text t, struct line *l)
{
	*l = (struct line){.a = ACCESS_LINE_INIT};
	if (t.len < 32 || t.ptr[0] != '[')
		return "not_access";
	if (!read_start(&t, &l->a.ts) || !t.len)
		return "bad_time";
	return t.ptr[0] == '"' ? read_default(t, l) : read_aigw(t, l);
}

static int record(struct parse *p, struct text record)
{
	struct line l;

	const char *why = read_line(record, &l);

	if (why)
		return parse_refuse(p, why);
	if (l.ambiguous)
		return parse_refuse(p, "ambiguous");
	return access_emit(p, &l.a);
}

static enum bid bid(struct parse *p, struct text record)
{
	struct line l;

	(void)p;
	return read_line(record, &l) ? BID_NO : BID_STRONG;
}

const struct parser parser_envoy = {
    .name = "envoy",
    .summary = "Envoy access log, default text format; Istio's; `aigw run` of Envoy AI Gateway",
    .checked = "documents of Envoy 1.5 to 1.40; Istio's text format (2020 to 2026); Envoy AI Gateway c217da8a5",
    .emits = 1u << EVENT_GATEWAY,
    .bid = bid,
    .record = record,
};
