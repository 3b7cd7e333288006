/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_kube.c - an inventory as kubectl prints it: pods or nodes
 *
 * Fields as in the Kubernetes API reference, core/v1 Pod and Node: metadata.name, .labels, .deletionTimestamp; spec.nodeName,
 * .unschedulable; status.phase, .startTime, .containerStatuses[] (name, image, imageID, state.running.startedAt,
 * state.terminated.finishedAt). Roles and digests are read as in evidence (container.h). Of a pod with several containers the image
 * is that of the first one in spec.containers: the others stand beside it.
 */
#include "inventory_work.h"

#include <inttypes.h>
#include <stdio.h>

#include "pagetrail/collected.h"
#include "pagetrail/container.h"
#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/stamp.h"

static struct text string_at(struct json_value v, const char *path)
{
	struct text t = TEXT("");
	(void)json_string(json_path(v, path), &t);
	return t;
}

static int time_at(struct json_value v, const char *path, unsigned at, int64_t *ret, struct err *err)
{
	struct text t = string_at(v, path);
	struct stamp s;
	size_t used;
	if (!t.len)
		return 0;
	if (!stamp_parse_iso(t, &s, &used) || used != t.len)
		return err_set(err, ERR_INPUT, "items[%u].%s: '%.*s' is no time", at, path,
			       TEXT_ARG(text_sub(t, 0, 40)));
	*ret = s.ns;
	return 0;
}

/* The status of the first container of the pod. */
static struct json_value first_status(struct json_value pod)
{
	struct json_value list = json_path(pod, "status.containerStatuses"), v;
	struct text name = string_at(pod, "spec.containers.0.name"), key;
	struct json_iter it = json_iter(list);
	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
		if (!name.len || text_eq(string_at(v, "name"), name))
			return v;
	return (struct json_value){0};
}

/* When a pod that is over ended: with its engine, else with the last of its containers, else when it was deleted. Without any of these
 * nobody knows. */
static int time_over(struct json_value pod, struct json_value status, unsigned at, int64_t *ret, struct err *err)
{
	static const char path[] = "state.terminated.finishedAt";
	struct json_value list = json_path(pod, "status.containerStatuses"), v;
	struct json_iter it = json_iter(list);
	struct text key;
	int rc = time_at(status, path, at, ret, err);
	bool own = *ret != TIME_UNKNOWN;
	while (!rc && !own && json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		int64_t its = TIME_UNKNOWN;
		rc = time_at(v, path, at, &its, err);
		*ret = MAX(*ret, its);
	}
	return rc || *ret != TIME_UNKNOWN ? rc : time_at(pod, "metadata.deletionTimestamp", at, ret, err);
}

static int take_pod(struct inventory_reader *r, struct json_value pod, struct inventory_row *row, struct err *err)
{
	struct json_value status = first_status(pod);
	struct text phase = string_at(pod, "status.phase");
	row->node = string_at(pod, "spec.nodeName");
	row->role = text_of(labels_role(json_path(pod, "metadata.labels")));
	row->image = string_at(status, "image");
	if (!row->image.len)
		row->image = string_at(pod, "spec.containers.0.image");
	row->image_digest = image_digest(&r->inv->arena, string_at(status, "imageID"));
	bool over = text_is(phase, "Succeeded") || text_is(phase, "Failed");
	row->state = over                                                       ? STATE_RETIRED
		     : json_given(json_path(pod, "metadata.deletionTimestamp")) ? STATE_DRAINING
										: STATE_ACTIVE;
	int rc = time_at(pod, "status.startTime", row->row, &row->started_ns, err);
	if (!rc && over)
		rc = time_over(pod, status, row->row, &row->retired_ns, err);
	return rc;
}

static int take_item(struct inventory_reader *r, struct json_value v, struct text kind, unsigned at, struct err *err)
{
	struct inventory_row row = {.started_ns = TIME_UNKNOWN, .retired_ns = TIME_UNKNOWN, .row = at};
	bool yes = false;
	int rc = 0;
	row.replica = string_at(v, "metadata.name");
	if (!row.replica.len || row.replica.len > NAME_MAX_BYTES)
		return err_set(err, ERR_INPUT, "items[%u].metadata.name: expected a name of 1 to %d bytes", at,
			       NAME_MAX_BYTES);
	if (text_is(kind, "Pod")) {
		rc = take_pod(r, v, &row, err);
	} else {
		row.node = row.replica;
		row.state = json_bool(json_path(v, "spec.unschedulable"), &yes) && yes ? STATE_DRAINING : STATE_ACTIVE;
		rc = time_at(v, "metadata.creationTimestamp", at, &row.started_ns, err);
	}
	return rc ? rc : inventory_add(r, &row, err);
}

/* A list's items, or the one thing that was asked for. */
static int take_document(struct inventory_reader *r, struct json_value doc, struct err *err)
{
	struct json_value items = json_get(doc, "items"), v;
	struct text kind = string_at(doc, "kind"), key, other = TEXT("");
	struct collected said = {.at = STAMP_INIT};
	unsigned at = 0;
	collected_fields(&said, doc);
	inventory_taken(r->inv, said.at);
	if (text_is(kind, "Pod") || text_is(kind, "Node"))
		return take_item(r, doc, kind, 0, err);
	if (json_type(items) != JSON_ARRAY)
		return err_set(err, ERR_INPUT,
			       "the inventory is JSON, but no list of pods or nodes (kind '%.*s', no items[])",
			       TEXT_ARG(text_sub(kind, 0, 40)));
	struct text each = text_ends(kind, "List") ? text_sub(kind, 0, kind.len - 4) : TEXT("");
	struct json_iter it = json_iter(items);
	int rc = 0;
	for (; !rc && json_next(&it, &key, &v); at++) {
		struct text its = string_at(v, "kind");
		its = its.len ? its : each; /* the items of a PodList say no kind */
		if (text_is(its, "Pod") || text_is(its, "Node"))
			rc = take_item(r, v, its, at, err);
		else if (!other.len)
			other = its.len ? its : TEXT("?");
	}
	if (!rc && other.len)
		inventory_warn(r, "inventory: items of kind '%.*s' are no replicas", other);
	return rc;
}

int inventory_read_json(struct inventory_reader *r, struct text content, struct err *err)
{
	struct json *j = json_new();
	struct json_value doc;
	if (!j)
		return err_nomem(err);
	int rc = json_document(j, content, "inventory", &doc, err);
	if (rc == 0)
		rc = take_document(r, doc, err);
	json_free(j);
	return rc;
}
