/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_syslog.c - wrapper syslog: RFC 3164, RFC 5424, and files that rsyslog and journalctl write
 *
 *   <PRI>Mmm dd hh:mm:ss HOST TAG[PID]: text         RFC 3164: no year, no zone, the day padded with a blank
 *   <PRI>1 TIME HOST APP PROCID MSGID SD text        RFC 5424; SD is - or [ID NAME="VALUE" …]…, a BOM may stand before text
 *   <PRI>Mmm dd hh:mm:ss TAG[PID]: text              the same by syslog(3) and HAProxy's format "local": no host
 *   Mmm dd hh:mm:ss HOST TAG[PID]: text              /var/log/syslog, journalctl -o short, short-precise
 *   TIME HOST TAG[PID]: text                         rsyslog's file format, journalctl -o short-iso
 *   Www YYYY-MM-DD hh:mm:ss ZONE HOST TAG[PID]: text journalctl -o short-full, with-unit
 *   SECONDS.MICROS HOST TAG[PID]: text               journalctl -o short-unix
 *   [SECONDS.MICROS] HOST TAG[PID]: text             journalctl -o short-monotonic: since the machine's start, which tells no time
 * Behind "LEN " when they were captured from TCP (RFC 6587). What is sent by UDP or a small relay is cut at 1024 to 8192 bytes.
 */
#include <string.h>

#include "log_words.h"
#include "pagetrail/wrapper.h"

static int two(const char *p)
{
	return (p[0] == ' ' || is_digit(p[0])) && is_digit(p[1]) ? (p[0] == ' ' ? 0 : p[0] - '0') * 10 + p[1] - '0'
								 : -1;
}

/* "Sep  4 03:12:44" with or without a fraction: its length, or 0. */
static size_t read_bsd_time(struct text t, struct stamp *ret)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t fraction = 0, scale = NS_PER_S;
	size_t n = 15;
	int month = 0;

	if (t.len < 16 || t.ptr[3] != ' ' || t.ptr[6] != ' ' || t.ptr[9] != ':' || t.ptr[12] != ':')
		return 0;
	while (month < 12 && memcmp(months + 3 * month, t.ptr, 3) != 0)
		month++;
	if (month == 12)
		return 0;
	if (t.ptr[n] == '.')
		for (n++; n < t.len && is_digit(t.ptr[n]); n++)
			if (scale > 1) {
				scale /= 10;
				fraction += (t.ptr[n] - '0') * scale;
			}
	if (!stamp_from_civil(WRAP_LEAP_YEAR, month + 1, two(t.ptr + 4), two(t.ptr + 7), two(t.ptr + 10),
			      two(t.ptr + 13), fraction, &ret->ns))
		return 0;
	ret->quality = STAMP_YEARLESS;
	ret->precision_ns = n > 15 ? 1000 : NS_PER_S;
	return n;
}

/* "Mon 2026-09-14 03:12:44 UTC": its length, or 0. A zone's name tells its offset for UTC alone. */
static size_t read_full_time(struct text t, struct stamp *ret)
{
	static const char days[] = "MonTueWedThuFriSatSun";
	struct text zone;
	size_t used, day = 0;

	if (t.len < 28 || t.ptr[3] != ' ' || t.ptr[14] != ' ' || t.ptr[23] != ' ')
		return 0;
	while (day < 7 && memcmp(days + 3 * day, t.ptr, 3) != 0)
		day++;
	if (day == 7 || !stamp_parse_iso(text_sub(t, 4, 19), ret, &used) || used != 19)
		return 0;
	zone = text_sub(t, 24, text_find_char(text_sub(t, 24, 8), ' ', 0));
	if (!zone.len || zone.len > 6)
		return 0;
	if (text_is(zone, "UTC") || text_is(zone, "GMT"))
		ret->quality = STAMP_ZONED;
	return 24 + zone.len;
}

/* "1789355564.123456", or "[ 4711.123456]" with a meaning of its own: its length, or 0. */
static size_t read_seconds(struct text t, struct stamp *ret)
{
	bool boot = text_starts(t, "[");
	size_t from = boot, n, dot;

	while (boot && from < t.len && from < 8 && t.ptr[from] == ' ')
		from++;
	for (dot = from; dot < t.len && dot < from + 12 && is_digit(t.ptr[dot]);)
		dot++;
	if (dot == from || dot >= t.len || t.ptr[dot] != '.')
		return 0;
	for (n = dot + 1; n < t.len && n < dot + 8 && is_digit(t.ptr[n]);)
		n++;
	if (n != dot + 7)
		return 0;
	*ret = STAMP_INIT;
	if (boot)
		return n < t.len && t.ptr[n] == ']' ? n + 1 : 0;
	return stamp_parse_epoch(text_sub(t, 0, n), ret) && ret->quality == STAMP_ZONED ? n : 0;
}

/* "<30>": its length, or 0. */
static size_t pri_length(struct text t)
{
	size_t n = 1;

	if (t.len < 4 || t.ptr[0] != '<')
		return 0;
	while (n < 4 && is_digit(t.ptr[n]))
		n++;
	/* 24 facilities of 8 severities */
	return n > 1 && t.ptr[n] == '>' && !(n == 4 && memcmp(t.ptr + 1, "191", 3) > 0) ? n + 1 : 0;
}

/* "85 " before the priority. */
static size_t octets_length(struct text t)
{
	size_t n = 0;

	while (n < t.len && n < 8 && is_digit(t.ptr[n]))
		n++;
	return n && n + 1 < t.len && t.ptr[n] == ' ' && t.ptr[n + 1] == '<' ? n + 1 : 0;
}

static bool word(struct text *rest, struct text *ret)
{
	return rest->len && text_split(rest, ' ', ret) && ret->len && ret->len <= NAME_MAX_BYTES;
}

/* TAG[PID]: or TAG: and what is behind; *ret_pid: it has one. */
static bool read_tag(struct text *rest, struct text *tag, bool *ret_pid)
{
	size_t n = 0, end;

	while (n < rest->len && n < 128 && !strchr(" :[", rest->ptr[n]) && rest->ptr[n])
		n++;
	*tag = text_sub(*rest, 0, n);
	*ret_pid = n < rest->len && rest->ptr[n] == '[';
	end = n;
	if (*ret_pid)
		for (end++; end < rest->len && end < n + 24 && rest->ptr[end] != ']';)
			end++;
	end += *ret_pid;
	if (n == 0 || end >= rest->len || rest->ptr[end] != ':' || (end + 1 < rest->len && rest->ptr[end + 1] != ' '))
		return false;
	*rest = text_from(*rest, end + 2);
	return true;
}

/* A value without the backslashes before '"', '\\' and ']'. */
static struct text unescape(struct text t, struct arena *a)
{
	char *out;
	size_t n = 0;

	if (!t.len || !memchr(t.ptr, '\\', t.len) || !(out = arena_alloc(a, t.len)))
		return t;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] == '\\' && i + 1 < t.len && strchr("\"\\]", t.ptr[i + 1]))
			i++;
		out[n++] = t.ptr[i];
	}
	return (struct text){out, n};
}

/* [ID NAME="VALUE" …]…: what is behind; values of pods and containers are taken. false: it does not end. */
static bool read_data(struct text *rest, struct arena *a, struct wrapped *w)
{
	size_t i = 0, name = 0, from;

	if (text_starts(*rest, "-")) {
		*rest = text_from(*rest, 1);
		return true;
	}
	while (i < rest->len && rest->ptr[i] == '[') {
		for (i++, name = i; i < rest->len && rest->ptr[i] != ']'; i++) {
			struct text key = text_sub(*rest, name, i - name), value;

			if (rest->ptr[i] == ' ')
				name = i + 1;
			if (rest->ptr[i] != '"')
				continue;
			for (from = ++i; i < rest->len && rest->ptr[i] != '"'; i++)
				i += rest->ptr[i] == '\\';
			value = text_sub(*rest, from, i - from);
			if (text_is(key, "pod=") || text_is(key, "pod_name="))
				w->pod = unescape(value, a);
			else if (text_is(key, "container=") || text_is(key, "container_name="))
				w->container = unescape(value, a);
		}
		i++;
	}
	if (i == 0 || i > rest->len)
		return false;
	*rest = text_from(*rest, i);
	return true;
}

static bool read_5424(struct text t, struct arena *a, struct wrapped *w)
{
	struct text time, skipped;
	size_t used;

	t = text_from(t, 2);
	if (!word(&t, &time) || !word(&t, &w->host) || !word(&t, &w->unit) || !word(&t, &skipped) ||
	    !word(&t, &skipped) || !read_data(&t, a, w))
		return false;
	if (!stamp_parse_iso(time, &w->ts, &used) || used != time.len)
		w->ts = STAMP_INIT;
	if (w->ts.ns == TIME_UNKNOWN && !text_is(time, "-"))
		return false;
	if (text_is(w->host, "-"))
		w->host.len = 0;
	if (text_is(w->unit, "-"))
		w->unit.len = 0;
	if (t.len && t.ptr[0] != ' ')
		return false;
	t = text_from(t, 1);
	w->text = text_starts(t, "\xef\xbb\xbf") ? text_from(t, 3) : t;
	return true;
}

static enum bid read_line(struct text t, struct arena *a, struct wrapped *w)
{
	size_t octets = octets_length(t), pri = pri_length(text_from(t, octets)), n, end;
	bool pid, iso = false, journal = false;

	t = text_from(t, octets + pri);
	if (pri && text_starts(t, "1 "))
		return read_5424(t, a, w) ? BID_STRONG : BID_NO;
	n = read_bsd_time(t, &w->ts);
	if (!n && t.len > 20 && t.ptr[10] == 'T' && is_digit(t.ptr[0]) && stamp_parse_iso(t, &w->ts, &n) &&
	    w->ts.quality == STAMP_ZONED)
		iso = true;
	else if (!n)
		journal = (n = read_full_time(t, &w->ts)) > 0 || (n = read_seconds(t, &w->ts)) > 0;
	if (n == 0 || n >= t.len || t.ptr[n] != ' ')
		return BID_NO;
	t = text_from(t, n + 1);
	end = text_find_char(t, ' ', 0);
	/* the host may be left out, as HAProxy, syslog(3) and the kernel's /dev/log write it */
	if (!(end != SIZE_MAX && end > 2 && t.ptr[end - 1] == ':' && t.ptr[end - 2] == ']') && !word(&t, &w->host))
		return BID_NO;
	if (!read_tag(&t, &w->unit, &pid))
		return BID_NO;
	w->text = t;
	if (journal && !pid)
		return BID_NO;
	return pri || pid || !iso ? BID_STRONG : BID_WEAK;
}

/* What journalctl says itself. */
static bool is_chatter(struct text t)
{
	return text_starts(t, "-- ") &&
	       (text_starts(t, "-- Logs begin") || text_starts(t, "-- Journal begins") || text_starts(t, "-- Boot ") ||
		text_starts(t, "-- No entries") || text_starts(t, "-- Reboot --"));
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};

	return is_chatter(record) ? BID_WEAK : read_line(record, &u->scratch, &w);
}

/* Limits of relays: RFC 3164, rsyslog's old and new default, and those in between. */
static bool at_a_limit(size_t bytes)
{
	return bytes == 1024 || bytes == 2048 || bytes == 4096 || bytes == 8192;
}

static int record(struct unwrap *u, struct text record)
{
	struct wrapped w = {0};
	int r;

	if (is_chatter(record))
		return RECORD_CONTEXT;
	if (read_line(record, &u->scratch, &w) == BID_NO)
		return unwrap_refuse(u, record.len && record.ptr[0] == ' ' ? "continued" : "no_syslog");
	w.cut = at_a_limit(record.len) || at_a_limit(record.len + 1);
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_syslog = {
    .name = "syslog",
    .summary = "syslog: RFC 3164, RFC 5424, /var/log/syslog, journalctl -o short and its kin",
    .checked = "RFC 3164, 5424, 6587; systemd 25x and rsyslog documents",
    .many = true,
    .bid = bid,
    .record = record,
};
