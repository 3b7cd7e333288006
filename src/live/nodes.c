/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - which nodes to ask: words of a command line, lines of a file, or pods as kubectl prints them
 *
 * Of a pod are read (Kubernetes API reference, core/v1 Pod): metadata.name, status.phase, status.podIP,
 * spec.containers[].ports[] (name, containerPort). A pod that has ended is passed over; one that cannot be asked is a node
 * without an address, so that it is missing from nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/live.h"

void live_nodes_begin(struct live_nodes *n)
{
	*n = (struct live_nodes){0};
	arena_init(&n->arena, 64 * MIB);
}

void live_nodes_done(struct live_nodes *n)
{
	free(n->list);
	arena_done(&n->arena);
	*n = (struct live_nodes){0};
}

static bool clean_name(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] <= ' ' || t.ptr[i] == 0x7f || t.ptr[i] == '!')
			return false;
	return t.len && t.len <= NAME_MAX_BYTES && text_utf8_valid(t);
}

/* name, url: copied. */
static int add(struct live_nodes *n, struct text name, struct text url, const char *why, struct err *err)
{
	if (!clean_name(name))
		return err_set(err, ERR_USAGE,
			       "a node's name has 1 to %d bytes, and no blank, '!' or control character",
			       NAME_MAX_BYTES);
	for (size_t i = 0; i < n->n; i++)
		if (text_eq(n->list[i].name, name)) {
			err_set(err, ERR_USAGE, "two nodes are named '%.*s'", TEXT_ARG(text_sub(name, 0, 100)));
			err_hint(err, "NAME=URL gives a node a name");
			return ERR_USAGE;
		}
	if (n->n == LIVE_NODES_MAX)
		return err_set(err, ERR_USAGE, "more than %d nodes", LIVE_NODES_MAX);
	if (n->n == n->cap) {
		size_t cap = n->cap ? 2 * n->cap : 16;
		struct live_node *more = reallocarray(n->list, cap, sizeof(*more));
		if (!more)
			return err_nomem(err);
		n->list = more;
		n->cap = cap;
	}
	struct live_node *node = &n->list[n->n];
	*node = (struct live_node){.name = arena_text(&n->arena, name), .why = why};
	if (!node->name.ptr)
		return err_nomem(err);
	if (url.len && !(node->url = arena_text(&n->arena, url)).ptr)
		return err_nomem(err);
	n->n++;
	return 0;
}

/* name: may be empty, then it is host and port. */
static int add_url(struct live_nodes *n, struct text name, struct text url, struct err *err)
{
	CLEANUP(buf_done) struct buf z = BUF_INIT(64 * KIB), host = BUF_INIT(64 * KIB);
	struct text checked;
	int rc = buf_add_text(&z, url, err);
	if (!rc)
		rc = live_url_check(z.ptr ? z.ptr : "", &checked, err);
	if (!rc && !name.len) {
		rc = live_url_host(z.ptr, &host, err);
		name = buf_text(&host);
	}
	return rc ? rc : add(n, name, checked, NULL, err);
}

int live_nodes_add(struct live_nodes *n, const char *word, struct err *err)
{
	struct text t = text_of(word);
	size_t eq = text_find_char(t, '=', 0), scheme = text_find(t, "://", 0);
	if (eq == SIZE_MAX || eq > scheme)
		return add_url(n, TEXT(""), t, err);
	return add_url(n, text_sub(t, 0, eq), text_from(t, eq + 1), err);
}

static int take_line(struct live_nodes *n, struct text line, struct err *err)
{
	size_t blank = 0;
	while (blank < line.len && line.ptr[blank] != ' ' && line.ptr[blank] != '\t')
		blank++;
	if (blank == line.len) {
		CLEANUP(buf_done) struct buf z = BUF_INIT(64 * KIB);
		int rc = buf_add_text(&z, line, err);
		return rc ? rc : live_nodes_add(n, z.ptr, err);
	}
	return add_url(n, text_sub(line, 0, blank), text_trim(text_from(line, blank)), err);
}

/* --- pods --- */

static struct text string_at(struct json_value v, const char *path)
{
	struct text t = TEXT("");
	(void)json_string(json_path(v, path), &t);
	return t;
}

/* The port named for what is asked, else the only one. 0: none, or several. */
static int64_t declared_port(struct json_value pod)
{
	static const char *const names[] = {"http", "api", "server", "metrics"};
	struct json_value containers = json_path(pod, "spec.containers"), c, p;
	struct json_iter it = json_iter(containers);
	struct text key;
	int64_t only = 0, named[ARRAY_SIZE(names)] = {0};
	unsigned n = 0;
	while (json_type(containers) == JSON_ARRAY && json_next(&it, &key, &c)) {
		struct json_value ports = json_get(c, "ports");
		struct json_iter pt = json_iter(ports);
		while (json_type(ports) == JSON_ARRAY && json_next(&pt, &key, &p)) {
			int64_t port = 0;
			if (!json_int64(json_get(p, "containerPort"), &port) || port < 1 || port > 65535)
				continue;
			n++;
			only = port;
			for (size_t i = 0; i < ARRAY_SIZE(names); i++)
				if (text_is(string_at(p, "name"), names[i]) && !named[i])
					named[i] = port;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (named[i])
			return named[i];
	return n == 1 ? only : 0;
}

static int take_pod(struct live_nodes *n, struct json_value pod, const struct live_pods *pods, struct err *err)
{
	struct text name = string_at(pod, "metadata.name"), ip = string_at(pod, "status.podIP");
	struct text phase = string_at(pod, "status.phase");
	char url[128];
	if (text_is(phase, "Succeeded") || text_is(phase, "Failed")) {
		n->passed_over++;
		return 0;
	}
	int64_t port = pods->port ? pods->port : declared_port(pod);
	if (!ip.len || ip.len > 64)
		return add(n, name, TEXT(""), "the pod has no address", err);
	if (!port)
		return add(n, name, TEXT(""), "the pod declares no port, or several: --port says which", err);
	snprintf(url, sizeof(url), text_find_char(ip, ':', 0) == SIZE_MAX ? "%s://%.*s:%lld" : "%s://[%.*s]:%lld",
		 pods->https ? "https" : "http", TEXT_ARG(ip), (long long)port);
	return add_url(n, name, text_of(url), err);
}

static int take_pods(struct live_nodes *n, struct json_value doc, const struct live_pods *pods, struct err *err)
{
	struct json_value items = json_get(doc, "items"), v;
	struct text key, kind = string_at(doc, "kind");
	int rc = 0;
	if (text_is(kind, "Pod"))
		return take_pod(n, doc, pods, err);
	if (json_type(items) != JSON_ARRAY)
		return err_set(err, ERR_INPUT, "the list of nodes is JSON, but no list of pods");
	for (struct json_iter it = json_iter(items); !rc && json_next(&it, &key, &v);) {
		struct text its = string_at(v, "kind");
		if (text_is(its, "Pod") || (!its.len && text_is(kind, "PodList")))
			rc = take_pod(n, v, pods, err);
	}
	return rc;
}

int live_nodes_parse(struct live_nodes *n, struct text content, const struct live_pods *pods, struct err *err)
{
	struct text rest = text_trim(content), line;
	size_t before = n->n, number = 0;
	int rc = 0;
	if (text_starts(rest, "{")) {
		struct json *j = json_new();
		struct json_value doc;
		rc = j ? json_document(j, rest, "list of nodes", &doc, err) : err_nomem(err);
		if (!rc)
			rc = take_pods(n, doc, pods, err);
		json_free(j);
	} else {
		for (rest = content; !rc && text_split(&rest, '\n', &line);) {
			number++;
			line = text_trim(line);
			if (line.len && line.ptr[0] != '#')
				rc = take_line(n, line, err);
		}
		if (rc)
			err_where(err, "line %zu of the list of nodes", number);
	}
	if (!rc && n->n == before && !n->passed_over)
		rc = err_set(err, ERR_INPUT, "the list of nodes has none");
	return rc;
}

int live_nodes_read(struct live_nodes *n, const char *path, const struct live_pods *pods, struct err *err)
{
	CLEANUP(buf_done) struct buf b = BUF_INIT(DOCUMENT_MAX_BYTES);
	int rc = buf_add_file(&b, path, "list of nodes", err);
	if (!rc)
		rc = live_nodes_parse(n, buf_text(&b), pods, err);
	if (rc == ERR_USAGE && err) /* of a file it is input that is wrong */
		err->code = ERR_INPUT;
	return rc == ERR_USAGE || rc == ERR_INPUT ? (err_where(err, "%s", path), ERR_INPUT) : rc;
}
