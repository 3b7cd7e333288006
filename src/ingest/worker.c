/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the name of the worker whose log a file is
 *
 * A stem is the file name without packing, log and rotation suffixes and without generic words behind a dot
 * ("decode-0.stdout.log.2.gz" is decode-0). A generic word with an index ("engine-0") is a name; a date or a bare
 * number is not. Pod hashes stay: they tell one pod from the next. A list of pods, or a document that no folder gives to
 * anybody, is nobody's.
 */
#include "worker.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PARTS_MAX = 64 };

static bool one_of(struct text t, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (t.len == strlen(list[i]) && (!t.len || !strncasecmp(t.ptr, list[i], t.len)))
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

/* "rank3", "tp_0", "info-2", "requests-1": which one of many files of this kind, not whose. */
static bool is_numbered_kind(struct text t)
{
	static const char *const kinds[] = {"rank",     "node_rank", "tp",     "dp",      "pp",     "ep",
					    "attn_tp",  "part",      "chunk",  "log",     "info",   "server_info",
					    "snapshot", "stdout",    "stderr", "metrics", "trace",  "requests",
					    "request",  "access",    "error",  "events",  "output", "get_server_info"};
	size_t n = t.len;
	while (n && is_digit(t.ptr[n - 1]))
		n--;
	if (n == t.len || !n)
		return false;
	struct text word = text_sub(t, 0, strchr("-_", t.ptr[n - 1]) ? n - 1 : n);
	size_t last = text_rfind_char(word, '_'); /* "dp0_tp3" */
	return one_of(word, kinds, ARRAY_SIZE(kinds)) ||
	       (last != SIZE_MAX && last > 2 && word.len - last == 3 && is_digit(t.ptr[last - 1]) &&
		is_numbered_kind(text_sub(t, 0, last)) && one_of(text_from(word, last + 1), kinds, ARRAY_SIZE(kinds)));
}

/* Snapshots, and lists made by tools: what such a file is, never whose. */
static bool is_document_word(struct text t)
{
	/* clang-format off */
	static const char *const words[] = {
	    "server_info", "server-info", "get_server_info", "serverinfo", "server_args",
	    "server-args", "model_info", "model-info", "get_model_info", "get-model-info", "models", "v1_models",
	    "v1-models", "prometheus", "prom", "pip", "pip-freeze", "pip_freeze", "pip-list", "pip_list",
	    "pip-show", "pip_show", "pip-inspect", "pip_inspect", "pip3", "uv-pip", "packages", "installed",
	    "requirements", "dist-info", "direct_url", "inspect", "docker-inspect", "docker_inspect", "podman-inspect",
	    "podman_inspect", "image-inspect", "image_inspect", "images", "image", "sbom", "sboms", "bom", "cdx",
	    "cyclonedx", "spdx", "syft", "trivy", "rollout",
	};
	/* clang-format on */
	return one_of(t, words, ARRAY_SIZE(words));
}

/* "pods", "inference-pods": a list of many, each of which is named in it. */
static bool is_list_of_many(struct text t)
{
	static const char *const words[] = {"pods", "nodes", "deployments", "replicasets", "statefulsets"};
	static const char *const whole[] = {"pod",         "deployment", "replicaset",
					    "statefulset", "daemonsets", "leaderworkersets"};
	size_t from = t.len;
	while (from && !strchr("-_", t.ptr[from - 1]))
		from--;
	return one_of(text_from(t, from), words, ARRAY_SIZE(words)) || one_of(t, whole, ARRAY_SIZE(whole));
}

bool worker_is_generic(struct text t)
{
	/* clang-format off */
	static const char *const words[] = {
	    "logs", "log", "engine", "engines", "server", "servers", "stdout", "stderr", "output", "outputs",
	    "out", "err", "error", "errors", "console", "app", "application", "service", "main", "current",
	    "previous", "latest", "run", "runs", "var", "tmp", "data", "home", "root", "mnt", "opt", "srv",
	    "incident", "incidents", "case", "cases", "evidence", "dump", "dumps", "export", "exports", "raw",
	    "archive", "archives", "backup", "old", "new", "files", "container", "containers", "pods", "pod",
	    "sglang", "vllm", "page", "pages", "pagelog", "page-log", "page_log", "requests", "request",
	    "access", "events", "trace", "traces", "metrics", "snapshot", "snapshots", "info", "kv", "allocator", "all", "misc", "journal",
	    "syslog", "messages", "sglang-request-metrics", "sglang_request_metrics", "request-metrics",
	    "request_metrics", "sglang-metrics", "sglang_metrics", "sglang-router", "sglang_router",
	    "sgl-router", "sgl_router", "sgl-model-gateway", "sgl_model_gateway", "smg", "sglang-engine",
	    "sglang_engine", "sglang-server", "sglang_server", "vllm-server", "launch", "launch_server",
	    "serve", "api", "api-server", "api_server", "http", "nohup", "screen", "terminal", "startup",
	    "boot", "debug", "warn", "warning", "warnings", "fatal", "combined", "full", "audit", "worker",
	    "workers", "rank", "ranks", "replica", "replicas", "instance",
	    "instances", "download", "downloads", "upload", "uploads", "input",
	    "inputs", "local", "usr", "default", "core", "json", "namespaces", "today", "yesterday",
	    "kv_pages", "kv-pages", "kv-events", "kv_events", "page_events", "page-events", "pagetrail", "alloc", "request-log",
	    "request_log", "request-logs", "request_logs", "requests-log", "access-log", "access_log",
	    "access_logs", "access-logs", "error-log", "error_log", "server-log", "server_log", "inference", "inference-server", "inference_server", "model", "model-server", "llm", "llm-server",
	    ".", "..", "",
	};
	/* clang-format on */
	return one_of(t, words, ARRAY_SIZE(words)) || is_document_word(t) || is_number_or_date(t) ||
	       is_numbered_kind(t);
}

/* Behind a dot at the end of a name, these say how it is packed or turned over, not whose it is. */
static bool is_suffix(struct text t)
{
	static const char *const suffixes[] = {
	    "gz",  "zst",  "zstd",  "xz",     "bz2",  "lz4", "tar", "tgz", "tzst", "txz", "tbz2", "zip", "log", "logs",
	    "txt", "json", "jsonl", "ndjson", "text", "tsv", "csv", "xml", "old",  "bak", "orig", "out", "err", "bin",
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

/* "20260914-decode-0", "2026-09-14T03_decode-0": the date in front. */
static size_t date_in_front(struct text t)
{
	size_t n = 0, digits = 0, end = 0;
	if (!text_starts(t, "20") && !text_starts(t, "19"))
		return 0;
	for (; n < t.len && (is_digit(t.ptr[n]) || strchr("-_:TZ", t.ptr[n])) && digits <= 14; n++) {
		digits += is_digit(t.ptr[n]);
		if (digits >= 8 && strchr("-_", t.ptr[n]) && n + 1 < t.len && !is_digit(t.ptr[n + 1]))
			end = n + 1;
	}
	return end;
}

static struct text cut_words(struct text t)
{
	/* clang-format off */
	static const char *const streams[] = {
	    "stdout", "stderr", "log", "logs", "output", "console", "pagelog", "page-log", "pages", "server_info",
	    "server-info", "requests", "access", "server", "request-metrics", "request_metrics", "engine", "metrics",
	    "info", "error", "errors", "events", "trace", "snapshot", "pip-freeze", "pip_freeze", "pip-list", "pip_list",
	    "pip-inspect", "pip_inspect", "packages", "docker-inspect", "docker_inspect", "inspect", "sbom", "model_info",
	    "models",
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_SIZE(streams) && !worker_is_generic(t); i++) {
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
		t = text_from(t, date_in_front(t));
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
	if (n && is_list_of_many(parts[n - 1]))
		return TEXT("");
	bool document = n && is_document_word(parts[n - 1]); /* whose it is, only a folder can say */
	for (size_t i = n; i-- > 0;) {
		if (!worker_is_generic(parts[i]))
			return arena_text(a, parts[i]);
		if (!document && !first.len && parts[i].len && !is_number_or_date(parts[i]))
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

/* NAMESPACE_POD_UID; the UID of a static pod is a hash without dashes. */
static struct text pod_of_folder(struct text t)
{
	size_t last = text_rfind_char(t, '_'), first = text_find_char(t, '_', 0);
	if (last == SIZE_MAX || first >= last)
		return TEXT("");
	struct text uid = text_from(t, last + 1);
	return is_hex(uid, 36, "-") || is_hex(uid, 32, "") ? text_sub(t, first + 1, last - first - 1) : TEXT("");
}

struct text worker_of_pod(const char *path)
{
	struct text rest = text_of(path), file = last_part(&rest);
	(void)last_part(&rest); /* the container's folder */
	struct text pod = pod_of_folder(last_part(&rest));
	if (pod.len)
		return pod;
	/* POD_NAMESPACE_CONTAINER-ID.log */
	size_t id = text_rfind_char(file, '-');
	if (id != SIZE_MAX && text_ends(file, ".log") && is_hex(text_sub(file, id + 1, file.len - id - 5), 64, "")) {
		size_t first = text_find_char(file, '_', 0);
		if (first != SIZE_MAX && first > 0)
			return text_sub(file, 0, first);
	}
	/* ".../pods/NAMESPACE_POD_UID/..." of another depth, or below an archive's name */
	for (rest = text_of(path); rest.len;) {
		struct text part = last_part(&rest), before = rest;
		size_t member = text_rfind_char(part, '!');
		pod = pod_of_folder(member == SIZE_MAX ? part : text_from(part, member + 1));
		struct text folder = last_part(&before);
		if (pod.len && (text_is(folder, "pods") || text_ends(folder, "!pods")))
			return pod;
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

/* A unit or program that says more than what kind of program it is. */
static struct text unit_name(struct text unit)
{
	static const char *const hosts[] = {"docker", "dockerd", "containerd", "kubelet", "systemd", "init"};
	if (text_ends(unit, ".service") || text_ends(unit, ".scope"))
		unit.len = text_rfind_char(unit, '.');
	bool session = text_starts(unit, "session-") || text_starts(unit, "user@") || text_starts(unit, "run-") ||
		       text_starts(unit, "docker-") || text_starts(unit, "cri-");
	return session || worker_is_generic(unit) || one_of(unit, hosts, ARRAY_SIZE(hosts)) ? TEXT("") : unit;
}

int worker_of_facts(struct buf *out, struct text host, struct text unit, struct text pod, struct text container,
		    struct err *err)
{
	if (pod.len)
		return buf_add_text(out, text_sub(pod, 0, NAME_MAX_BYTES), err);
	struct text what = container.len && !worker_is_generic(container) ? container : unit_name(unit);
	int rc = buf_add_text(out, text_sub(host, 0, NAME_MAX_BYTES / 2), err);
	if (rc == 0 && host.len && what.len)
		rc = buf_add_char(out, ':', err);
	return rc < 0 ? rc : buf_add_text(out, text_sub(what, 0, NAME_MAX_BYTES / 2 - 1), err);
}
