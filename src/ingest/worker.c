/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the name of the worker whose log a file is
 *
 * A stem is the file name without packing, log and rotation suffixes and without generic words behind a dot
 * ("decode-0.stdout.log.2.gz" is decode-0). A generic word with an index ("engine-0") is a name; a date or a bare
 * number is not. Pod hashes stay: they tell one pod from the next.
 */
#include "worker.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PARTS_MAX = 64 };

static bool one_of(struct text t, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (t.len == strlen(list[i]) && !strncasecmp(t.ptr, list[i], t.len))
			return true;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits with nothing but separators, 'T', 'Z' and blanks between: a number, a date, a time. An IPv4 address is a name.
 */
static bool is_number_or_date(struct text t)
{
	unsigned dots = 0, digits = 0, others = 0;
	for (size_t i = 0; i < t.len; i++) {
		char c = t.ptr[i];
		if (is_digit(c))
			digits++;
		else if (c == '.')
			dots++;
		else if (strchr("-_:+TZ ", c))
			others++;
		else
			return false;
	}
	return digits && !(dots == 3 && !others);
}

bool worker_is_generic(struct text t)
{
	static const char *const words[] = {
	    "logs",
	    "log",
	    "engine",
	    "engines",
	    "server",
	    "servers",
	    "stdout",
	    "stderr",
	    "output",
	    "outputs",
	    "out",
	    "err",
	    "error",
	    "errors",
	    "console",
	    "app",
	    "application",
	    "service",
	    "main",
	    "current",
	    "previous",
	    "latest",
	    "run",
	    "runs",
	    "var",
	    "tmp",
	    "data",
	    "home",
	    "root",
	    "mnt",
	    "opt",
	    "srv",
	    "incident",
	    "incidents",
	    "case",
	    "cases",
	    "evidence",
	    "dump",
	    "dumps",
	    "export",
	    "exports",
	    "raw",
	    "archive",
	    "archives",
	    "backup",
	    "old",
	    "new",
	    "files",
	    "container",
	    "containers",
	    "pods",
	    "pod",
	    "sglang",
	    "vllm",
	    "page",
	    "pages",
	    "pagelog",
	    "page-log",
	    "page_log",
	    "requests",
	    "request",
	    "access",
	    "events",
	    "trace",
	    "traces",
	    "metrics",
	    "snapshot",
	    "snapshots",
	    "info",
	    "server_info",
	    "server-info",
	    "get_server_info",
	    "serverinfo",
	    "kv",
	    "allocator",
	    "all",
	    "misc",
	    "journal",
	    "syslog",
	    "messages",
	    ".",
	    "..",
	    "",
	};
	return one_of(t, words, ARRAY_SIZE(words)) || is_number_or_date(t);
}

/* Behind a dot at the end of a name, these say how it is packed or turned over, not whose it is. */
static bool is_suffix(struct text t)
{
	static const char *const suffixes[] = {
	    "gz",   "zst", "zstd", "xz",    "bz2",    "lz4",  "tar", "tgz", "tzst", "txz", "tbz2", "zip", "log",
	    "logs", "txt", "json", "jsonl", "ndjson", "text", "tsv", "csv", "old",  "bak", "orig", "out", "err",
	};
	return one_of(t, suffixes, ARRAY_SIZE(suffixes)) || worker_is_generic(t);
}

static bool is_ipv4(struct text t)
{
	unsigned dots = 0, digits = 0;
	for (size_t i = 0; i < t.len; i++) {
		dots += t.ptr[i] == '.';
		digits += is_digit(t.ptr[i]);
	}
	return dots == 3 && digits >= 4 && dots + digits == t.len;
}

/* "-20260914", "_2026-09-14", "-2026-09-14T03" at the end of a stem; "-0" is an index and stays. */
static size_t date_length(struct text t)
{
	size_t n = 0, digits = 0;
	while (n < t.len && (is_digit(t.ptr[t.len - 1 - n]) || strchr("-_:TZ", t.ptr[t.len - 1 - n]))) {
		digits += is_digit(t.ptr[t.len - 1 - n]);
		n++;
	}
	/* from the first separator on, so that "decode-0-2026…" loses the date only */
	for (; n && digits >= 8; n--) {
		struct text tail = text_from(t, t.len - n);
		size_t year = tail.len && strchr("-_", tail.ptr[0]) ? 1 : 0;
		if (year && (text_starts(text_from(tail, 1), "20") || text_starts(text_from(tail, 1), "19")) &&
		    tail.len >= 9 && is_digit(tail.ptr[3]) && is_digit(tail.ptr[4]))
			return n;
	}
	return 0;
}

static struct text cut_words(struct text t)
{
	static const char *const streams[] = {"stdout",  "stderr", "log",         "logs",        "output",   "console",
					      "pagelog", "pages",  "server_info", "server-info", "requests", "access"};
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		size_t n = strlen(streams[i]);
		if (t.len > n + 1 && text_ends(t, streams[i]) && strchr("-_", t.ptr[t.len - n - 1])) {
			struct text rest = text_sub(t, 0, t.len - n - 1);
			if (!worker_is_generic(rest))
				return rest;
		}
	}
	return t;
}

static struct text stem_of(struct text name)
{
	struct text t = name;
	for (size_t before = SIZE_MAX; t.len < before;) {
		before = t.len;
		size_t dot = text_rfind_char(t, '.');
		bool address = is_ipv4(t); /* its last number is no rotation */
		if (dot != SIZE_MAX && dot > 0 && !address && is_suffix(text_from(t, dot + 1)))
			t.len = dot;
		size_t date = date_length(t);
		if (date < t.len)
			t.len -= date;
		t = cut_words(t);
	}
	return t;
}

struct text worker_of_path(struct arena *a, const char *path)
{
	struct text parts[PARTS_MAX], rest = text_of(path), first = {NULL, 0};
	size_t n = 0;
	while (rest.len) {
		size_t end = 0;
		while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '!')
			end++;
		struct text part = text_sub(rest, 0, end);
		if (part.len) {
			if (n == PARTS_MAX) { /* the nearest ones decide */
				memmove(parts, parts + 1, sizeof(parts) - sizeof(parts[0]));
				n--;
			}
			bool file = end == rest.len || rest.ptr[end] == '!';
			parts[n++] = file ? stem_of(part) : part;
		}
		rest = text_from(rest, end + 1);
	}
	for (size_t i = n; i-- > 0;) {
		if (!worker_is_generic(parts[i]))
			return arena_text(a, parts[i]);
		if (!first.len && parts[i].len && !is_number_or_date(parts[i]))
			first = parts[i];
	}
	return first.len ? arena_text(a, first) : TEXT("");
}

static struct text last_part(struct text *path)
{
	size_t slash = text_rfind_char(*path, '/');
	struct text part = slash == SIZE_MAX ? *path : text_from(*path, slash + 1);
	path->len = slash == SIZE_MAX ? 0 : slash;
	return part;
}

static bool is_hex(struct text t, size_t len, const char *also)
{
	if (t.len != len)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!strchr("0123456789abcdef", t.ptr[i]) && !strchr(also, t.ptr[i]))
			return false;
	return true;
}

struct text worker_of_pod(const char *path)
{
	struct text rest = text_of(path), file = last_part(&rest);
	(void)last_part(&rest); /* the container's folder */
	struct text pod = last_part(&rest);
	size_t last = text_rfind_char(pod, '_');
	size_t first = text_find_char(pod, '_', 0);
	if (last != SIZE_MAX && first < last && is_hex(text_from(pod, last + 1), 36, "-"))
		return text_sub(pod, first + 1, last - first - 1);
	/* POD_NAMESPACE_CONTAINER-ID.log */
	size_t id = text_rfind_char(file, '-');
	if (id != SIZE_MAX && text_ends(file, ".log") && is_hex(text_sub(file, id + 1, file.len - id - 5), 64, "")) {
		first = text_find_char(file, '_', 0);
		if (first != SIZE_MAX && first > 0)
			return text_sub(file, 0, first);
	}
	return TEXT("");
}

static bool means_one_host(struct text host)
{
	return host.len && !text_is(host, "0.0.0.0") && !text_is(host, "::") && !text_is(host, "[::]") &&
	       !text_is(host, "*") && !text_is(host, "localhost") && !text_is(host, "::1") && !text_is(host, "[::1]") &&
	       !text_starts(host, "127.");
}

struct text worker_of_boot(struct arena *a, const struct event *e)
{
	uint32_t need = UINT32_C(1) << BOOT_HOST | UINT32_C(1) << BOOT_PORT;
	if (e->kind != EVENT_BOOT || e->worker.len || (e->known & need) != need || !means_one_host(e->t[BOOT_HOST]))
		return TEXT("");
	char tmp[NAME_MAX_BYTES + 32];
	bool bare6 = text_find_char(e->t[BOOT_HOST], ':', 0) != SIZE_MAX && e->t[BOOT_HOST].ptr[0] != '[';
	snprintf(tmp, sizeof(tmp), bare6 ? "[%.*s]:%lld" : "%.*s:%lld", (int)MIN(e->t[BOOT_HOST].len, NAME_MAX_BYTES),
		 e->t[BOOT_HOST].ptr, (long long)e->i[BOOT_PORT]);
	return arena_text(a, text_of(tmp));
}
