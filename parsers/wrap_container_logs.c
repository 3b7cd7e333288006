/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_container_logs.c - wrapper container-logs: what command-line tools print of containers' logs
 *
 *   TIME line                             docker|kubectl logs --timestamps
 *   [pod/NAME/CONTAINER] TIME line        kubectl logs --prefix --timestamps; without TIME if not asked for
 *   NAME-1    | TIME line                 docker compose logs, the names padded; TIME with --timestamps
 *   TIME NAME.1.ID@NODE    | line         docker service logs
 *   NAMESPACE POD CONTAINER TIME line     stern; NAMESPACE when it follows several, TIME with --timestamps
 *   [POD CONTAINER] line, [POD] line      kubetail; a pod alone is one when it ends in those five characters
 * TIME is RFC 3339 with nine digits of fraction (RFC3339NanoFixed: containerd log/log.go, moby jsonmessage, kubelet
 * pkg/kubelet/kuberuntime/logs); these programs have joined what the runtime cut. stdout and stderr are one. Terminal colours round
 * the names are passed over. Words are taken for a pod only when they end as Kubernetes ends pods' names: in five characters of
 * the alphabet of apimachinery's util/rand, or in the number of a set's member. Templates: docker/compose cmd/formatter/logs.go,
 * docker/cli cli/command/service/logs.go, stern cmd/cmd.go.
 */
#include <string.h>

#include "pagetrail/wrapper.h"

static struct text skip_paint(struct text t)
{
	size_t n;

	while (t.len > 2 && t.ptr[0] == 0x1b && t.ptr[1] == '[') {
		for (n = 2; n < t.len && (t.ptr[n] == ';' || (t.ptr[n] >= '0' && t.ptr[n] <= '9')); n++)
			;
		t = text_from(t, n + (n < t.len));
	}
	return t;
}

static bool lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* What Docker's names are made of, and what stands between them. */
static bool named(char c)
{
	return lower(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '@';
}

/* A word of small letters, digits and '-', and of '.' when dotted, at the start of *t; with the colours round it. */
static struct text take_word(struct text *t, bool dotted)
{
	struct text word;
	size_t n = 0;

	*t = skip_paint(*t);
	while (n < t->len && n < 254 && (lower(t->ptr[n]) || (dotted && t->ptr[n] == '.')))
		n++;
	word = text_sub(*t, 0, n);
	*t = skip_paint(text_from(*t, n));
	return word;
}

static bool take_char(struct text *t, char c)
{
	if (!t->len || t->ptr[0] != c)
		return false;
	*t = text_from(*t, 1);
	return true;
}

/* numbered: also a member of a set. */
static bool is_pod(struct text t, bool numbered)
{
	size_t dash = text_rfind_char(t, '-'), digits = 0, odd = 0;

	if (dash == SIZE_MAX || dash == 0 || dash + 1 == t.len)
		return false;
	for (size_t i = dash + 1; i < t.len; i++) {
		bool digit = t.ptr[i] >= '0' && t.ptr[i] <= '9';

		digits += digit;
		odd += !memchr("bcdfghjklmnpqrstvwxz2456789", t.ptr[i], 27);
	}
	return digits == t.len - dash - 1 ? numbered && digits < 5 : !odd && t.len - dash == 6;
}

/* "[pod/NAME/CONTAINER] ", "[POD CONTAINER] ", "[POD] " */
static bool read_bracket(struct text *t, struct wrapped *w)
{
	struct text rest = skip_paint(*t);
	bool kubectl;

	if (!take_char(&rest, '['))
		return false;
	rest = skip_paint(rest);
	kubectl = text_starts(rest, "pod/");
	rest = text_from(rest, kubectl ? 4 : 0);
	w->pod = take_word(&rest, true);
	if (!w->pod.len || (!kubectl && !is_pod(w->pod, true)))
		return false;
	if (take_char(&rest, kubectl ? '/' : ' ')) {
		w->container = take_word(&rest, true);
		if (!w->container.len)
			return false;
	} else if (kubectl || !is_pod(w->pod, false)) { /* "[gpu-01] " is a host's, too */
		return false;
	}
	if (!take_char(&rest, ']'))
		return false;
	rest = skip_paint(rest);
	if (!take_char(&rest, ' '))
		return false;
	*t = rest;
	return true;
}

/* "POD CONTAINER ", "NAMESPACE POD CONTAINER " */
static bool read_words(struct text *t, struct wrapped *w)
{
	struct text rest = *t, word = take_word(&rest, true);

	if (!word.len || !take_char(&rest, ' '))
		return false;
	if (!is_pod(word, true)) {
		word = take_word(&rest, true);
		if (!is_pod(word, true) || !take_char(&rest, ' '))
			return false;
	}
	w->pod = word;
	w->container = take_word(&rest, false);
	if (!w->container.len || (rest.len && !take_char(&rest, ' ')))
		return false;
	*t = rest;
	return true;
}

/* NAME.1.ID@NODE: a task of a service, and where it ran. */
static void read_task(struct wrapped *w)
{
	size_t at = text_find_char(w->container, '@', 0), dot;

	if (at == SIZE_MAX)
		return;
	w->host = text_from(w->container, at + 1);
	w->container.len = at;
	dot = text_rfind_char(w->container, '.');
	if (dot != SIZE_MAX && dot > 0)
		w->container.len = dot;
}

/* "NAME-1    | ": a name alone is followed by two blanks at least, as the names are padded. */
static bool read_bar(struct text *t, struct wrapped *w)
{
	struct text rest = skip_paint(*t), name;
	size_t n = 0, blanks = 0, small = 0;
	bool numbered;

	while (n < rest.len && n < 254 && named(rest.ptr[n])) {
		small += lower(rest.ptr[n]) && rest.ptr[n] != '-';
		n++;
	}
	name = text_sub(rest, 0, n);
	rest = skip_paint(text_from(rest, n));
	while (blanks < 128 && take_char(&rest, ' '))
		blanks++;
	rest = skip_paint(rest);
	if (n < 2 || !small || !blanks || !take_char(&rest, '|'))
		return false;
	numbered = name.ptr[n - 1] >= '0' && name.ptr[n - 1] <= '9';
	if (blanks < 2 && !(numbered && n > 2 && memchr("-_", name.ptr[n - 2], 2)))
		return false;
	rest = skip_paint(rest);
	if (rest.len && !take_char(&rest, ' '))
		return false;
	w->container = name;
	read_task(w);
	*t = skip_paint(rest); /* compose paints name, bar and blank */
	return true;
}

static bool read_names(struct text *t, struct wrapped *w)
{
	struct wrapped found = *w;

	if (!t->len || !(read_bracket(t, &found) || read_words(t, &found) || read_bar(t, &found)))
		return false;
	*w = found;
	return true;
}

static size_t digits_at(struct text t, size_t at)
{
	size_t n = 0;
	while (at + n < t.len && t.ptr[at + n] >= '0' && t.ptr[at + n] <= '9')
		n++;
	return n;
}

/* A stamp with a fraction of exactly nine digits (others write shorter ones) and a blank: its length, or 0. */
static size_t read_time(struct text t, struct stamp *ret)
{
	size_t used;

	if (t.len < 30 || t.ptr[0] < '0' || t.ptr[0] > '9' || t.ptr[10] != 'T' || t.ptr[19] != '.' ||
	    digits_at(t, 20) != 9 || !stamp_parse_iso(t, ret, &used) || used < 30 || ret->quality != STAMP_ZONED)
		return 0;
	return used < t.len && t.ptr[used] == ' ' ? used + 1 : used == t.len ? used : 0;
}

static bool is_cri(struct text rest)
{
	return (text_starts(rest, "stdout ") || text_starts(rest, "stderr ")) && rest.len > 7 &&
	       (rest.ptr[7] == 'P' || rest.ptr[7] == 'F');
}

static bool read_line(struct text t, struct wrapped *w, bool *ret_timed)
{
	struct text bare = t;
	size_t n = read_time(t, &w->ts);
	bool names, task = false;

	t = text_from(t, n);
	bare = t;
	names = n ? read_bar(&t, w) : read_names(&t, w);
	task = n && names && w->host.len;
	if (n && !task) { /* behind a time only a task is named: what else looks like a name is the log's */
		w->pod = w->container = w->host = (struct text){0};
		t = bare;
	}
	if (!n && names) {
		n = read_time(t, &w->ts);
		if (n && is_cri(text_from(t, n))) /* the time is that of a line of CRI in here */
			n = 0;
		t = text_from(t, n);
	}
	*ret_timed = n > 0;
	w->text = t;
	return names || n;
}

/* What stern says itself: "+ POD › CONTAINER" when it begins to follow one, "- POD › CONTAINER" when it is gone. */
static bool is_chatter(struct text t)
{
	t = skip_paint(t);
	return t.len > 4 && (t.ptr[0] == '+' || t.ptr[0] == '-') && t.ptr[1] == ' ' && t.len < 600 &&
	       text_find(t, " \xe2\x80\xba ", 0) != SIZE_MAX;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	bool timed;

	(void)u;
	if (is_chatter(record))
		return BID_WEAK;
	return read_line(record, &w, &timed) && !is_cri(w.text) ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {.ts = STAMP_INIT};
	bool timed;
	int r;

	if (is_chatter(record))
		return RECORD_CONTEXT;
	if (!read_line(record, &w, &timed))
		return unwrap_refuse(u, "no_timestamp");
	if (!timed)
		w.ts = STAMP_INIT;
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_container_logs = {
    .name = "container-logs",
    .summary =
	"output of docker and kubectl logs --timestamps, --prefix, docker compose and service logs, stern, kubetail",
    .checked = "moby 28, kubelet 1.3x, docker compose 2, stern 1.3x source",
    .many = true,
    .bid = bid,
    .record = record,
};
