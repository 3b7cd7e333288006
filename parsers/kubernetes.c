/* SPDX-License-Identifier: Apache-2.0 */
/* kubernetes.c - format kubernetes: what a cluster says of pods, nodes and what orders pods (`kubectl get … -o json`)
 *
 * One object, a List, or a PodList and the like of the API itself (whose items do not name their kind). Field names are
 * those of the Kubernetes API, core/v1 and apps/v1 (k8s.io/api core/v1/types.go, apps/v1/types.go), leaderworkerset.x-k8s.io/v1
 * and argoproj.io/v1alpha1. Other kinds are context.
 * A digest in a pod's imageID is that of what the runtime pulled: with containerd the one of a manifest or of an index of
 * manifests, with a bare "sha256:" the one of the image's own configuration. It is what runs, where a tag can be moved.
 * Of a container that was started again only the end of the run before is told: ended_ns is then older than started_ns.
 */
#include "installed.h"

enum { SPEC_CONTAINERS_MAX = 64, HEAD_BYTES = 4096, WANTED_MAX = 1000000 };

struct object {
	struct parse *p;
	struct collected from;
	struct text kind, name, workload;
	struct json_value doc;
};

static struct text field(struct json_value v, const char *path)
{
	return installed_text(json_path(v, path));
}

static struct event *begin(const struct object *o, const char *what)
{
	struct event *e = parse_begin(o->p, EVENT_INSTALL, o->from.at);

	event_text(e, INSTALL_WHAT, text_of(what));
	return e;
}

/* --- pods --- */

/* In status.containerStatuses containers come by name, in spec.containers as they were written. */
static struct json_value spec_of(struct json_value containers, struct text name)
{
	struct json_iter it = json_iter(containers);
	struct json_value v;
	struct text key;

	for (unsigned i = 0; i < SPEC_CONTAINERS_MAX && json_type(containers) == JSON_ARRAY && json_next(&it, &key, &v);
	     i++)
		if (text_eq(field(v, "name"), name))
			return v;
	return (struct json_value){0};
}

static const char *state_of(const struct object *pod, struct json_value state)
{
	struct text phase = field(pod->doc, "status.phase");

	if (text_is(phase, "Failed") || text_is(phase, "Succeeded") || json_is_object(json_get(state, "terminated")))
		return "retired";
	if (json_given(json_path(pod->doc, "metadata.deletionTimestamp")))
		return "draining";
	if (json_is_object(json_get(state, "running")))
		return "active";
	if (json_is_object(json_get(state, "waiting")) || text_is(phase, "Pending"))
		return "waiting";
	return NULL; /* the node does not answer */
}

static int emit_container(const struct object *pod, struct json_value spec, struct json_value status)
{
	struct arena *a = &pod->p->scratch;
	struct json_value state = json_get(status, "state");
	struct text image = field(spec, "image"), digest = image_digest(a, field(status, "imageID"));
	struct text name = field(status, "name");
	const char *role = labels_role(json_path(pod->doc, "metadata.labels")), *says = state_of(pod, state);
	struct event *e = begin(pod, "container");
	int64_t restarts;

	installed_worker(e, pod->name);
	event_int(e, INSTALL_RUNG,
		  digest.len && json_is_object(json_get(state, "running")) ? RUNG_THERE : RUNG_ORDERED);
	event_text(e, INSTALL_IMAGE, image.len ? image : field(status, "image"));
	event_text(e, INSTALL_DIGEST, digest);
	event_text(e, INSTALL_CONTAINER, name.len ? name : field(spec, "name"));
	event_text(e, INSTALL_ROLE, text_of(role));
	event_text(e, INSTALL_NODE, field(pod->doc, "spec.nodeName"));
	event_text(e, INSTALL_STATE, text_of(says));
	event_text(e, INSTALL_WORKLOAD, pod->workload);
	installed_time(e, INSTALL_STARTED, json_path(state, "running.startedAt"));
	installed_time(e, INSTALL_ENDED, json_path(status, "lastState.terminated.finishedAt"));
	if (json_is_object(json_get(state, "terminated"))) {
		installed_time(e, INSTALL_STARTED, json_path(state, "terminated.startedAt"));
		installed_time(e, INSTALL_ENDED, json_path(state, "terminated.finishedAt"));
	}
	if (json_int64(json_get(status, "restartCount"), &restarts) && restarts >= 0)
		event_int(e, INSTALL_RESTARTS, restarts);
	return parse_emit(pod->p);
}

static int take_pod(struct object *pod, unsigned *found)
{
	struct json_value specs = json_path(pod->doc, "spec.containers"), list, v;
	struct json_value owner = json_path(pod->doc, "metadata.ownerReferences.0");
	struct text key;

	pod->workload = installed_pair(&pod->p->scratch, field(owner, "kind"), field(owner, "name"));
	list = json_path(pod->doc, "status.containerStatuses");
	bool started = json_type(json_path(pod->doc, "status.containerStatuses.0")) != JSON_NONE;
	unsigned before = *found;
	if (!started)
		list = specs; /* no node has taken it yet */
	struct json_iter it = json_iter(list);
	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		if (!json_is_object(v))
			continue;
		int r = started ? emit_container(pod, spec_of(specs, field(v, "name")), v)
				: emit_container(pod, v, (struct json_value){0});
		if (r < 0)
			return r;
		++*found;
	}
	if (*found > before)
		return 0;
	++*found; /* it is there, whatever it holds */
	return emit_container(pod, (struct json_value){0}, (struct json_value){0});
}

/* --- nodes --- */

static struct text ready_of(struct json_value node)
{
	struct json_value list = json_path(node, "status.conditions"), v;
	struct json_iter it = json_iter(list);
	struct text key;

	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v))
		if (text_is(field(v, "type"), "Ready"))
			return field(v, "status");
	return (struct text){0};
}

static int take_node(struct object *node, unsigned *found)
{
	struct text ready = ready_of(node->doc);
	bool cordoned = false;
	struct event *e = begin(node, "node");

	(void)json_bool(json_path(node->doc, "spec.unschedulable"), &cordoned);
	event_text(e, INSTALL_NODE, node->name);
	if (text_is(ready, "True"))
		event_text(e, INSTALL_STATE, cordoned ? TEXT("draining") : TEXT("active"));
	else if (text_is(ready, "False"))
		event_text(e, INSTALL_STATE, TEXT("waiting"));
	++*found;
	return parse_emit(node->p);
}

/* --- what orders pods --- */

/* Pods of this template: of a LeaderWorkerSet each replica is a group, of one leader and size - 1 workers. */
static bool pods_wanted(const struct object *o, const char *template, int64_t *ret)
{
	int64_t replicas, size;
	bool leader = text_ends(text_of(template), ".leaderTemplate");
	bool grouped = leader || text_ends(text_of(template), ".workerTemplate");

	if (!json_int64(json_path(o->doc, "spec.replicas"), &replicas) || replicas < 0 || replicas > WANTED_MAX)
		return false;
	*ret = replicas;
	if (!grouped || leader)
		return true;
	if (!json_int64(json_path(o->doc, "spec.leaderWorkerTemplate.size"), &size) || size < 1 || size > WANTED_MAX)
		return false;
	bool apart = json_is_object(json_path(o->doc, "spec.leaderWorkerTemplate.leaderTemplate"));
	*ret = replicas * (apart ? size - 1 : size);
	return true;
}

static int take_template(struct object *o, const char *path, unsigned *found)
{
	struct json_value template = json_path(o->doc, path), list = json_path(template, "spec.containers"), v;
	struct json_iter it = json_iter(list);
	struct text key;
	const char *role = labels_role(json_path(template, "metadata.labels"));
	int64_t wanted;

	if (!role)
		role = labels_role(json_path(o->doc, "metadata.labels"));
	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		if (!json_is_object(v))
			continue;
		struct event *e = begin(o, "order");
		event_int(e, INSTALL_RUNG, RUNG_ORDERED);
		event_text(e, INSTALL_IMAGE, field(v, "image"));
		event_text(e, INSTALL_DIGEST, image_digest(&o->p->scratch, field(v, "image")));
		event_text(e, INSTALL_CONTAINER, field(v, "name"));
		event_text(e, INSTALL_ROLE, text_of(role));
		event_text(e, INSTALL_WORKLOAD, o->workload);
		if (pods_wanted(o, path, &wanted))
			event_int(e, INSTALL_WANTED, wanted);
		if (text_is(o->kind, "ReplicaSet")) /* one for each template; others are changed in place */
			installed_time(e, INSTALL_INSTALLED, json_path(o->doc, "metadata.creationTimestamp"));
		int r = parse_emit(o->p);
		if (r < 0)
			return r;
		++*found;
	}
	return 0;
}

static int take_order(struct object *o, unsigned *found)
{
	static const char *const templates[] = {"spec.template", "spec.leaderWorkerTemplate.leaderTemplate",
						"spec.leaderWorkerTemplate.workerTemplate"};
	int r = 0;

	o->workload = installed_pair(&o->p->scratch, o->kind, o->name);
	for (size_t i = 0; i < ARRAY_SIZE(templates) && r >= 0; i++)
		r = take_template(o, templates[i], found);
	return r;
}

/* An Argo CD Application names the images that it last found in what it orders, and when it last finished. The revision is
 * one of the repository of manifests, and says nothing of an engine. */
static int take_application(struct object *o, unsigned *found)
{
	struct json_value list = json_path(o->doc, "status.summary.images"), v;
	struct json_iter it = json_iter(list);
	struct text key;

	o->workload = installed_pair(&o->p->scratch, o->kind, o->name);
	while (json_type(list) == JSON_ARRAY && json_next(&it, &key, &v)) {
		struct text image = installed_text(v);
		if (!image.len)
			continue;
		struct event *e = begin(o, "order");
		event_int(e, INSTALL_RUNG, RUNG_ORDERED);
		event_text(e, INSTALL_IMAGE, image);
		event_text(e, INSTALL_DIGEST, image_digest(&o->p->scratch, image));
		event_text(e, INSTALL_WORKLOAD, o->workload);
		installed_time(e, INSTALL_INSTALLED, json_path(o->doc, "status.operationState.finishedAt"));
		int r = parse_emit(o->p);
		if (r < 0)
			return r;
		++*found;
	}
	return 0;
}

/* --- documents --- */

static const struct {
	const char *kind;
	int (*take)(struct object *o, unsigned *found);
} kinds[] = {
    {"Pod", take_pod},
    {"Node", take_node},
    {"Deployment", take_order},
    {"ReplicaSet", take_order},
    {"StatefulSet", take_order},
    {"DaemonSet", take_order},
    {"LeaderWorkerSet", take_order},
    {"ReplicationController", take_order},
    {"Application", take_application},
};

static int take_object(struct parse *p, const struct collected *from, struct text kind, struct json_value v,
		       unsigned *found)
{
	struct object o = {.p = p, .from = *from, .kind = kind, .name = field(v, "metadata.name"), .doc = v};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_is(kind, kinds[i].kind))
			return kinds[i].take(&o, found);
	return 0;
}

static bool is_list(struct json_value doc)
{
	return text_ends(field(doc, "kind"), "List") && json_type(json_get(doc, "items")) == JSON_ARRAY;
}

static bool is_object(struct json_value doc)
{
	return json_is_object(doc) && field(doc, "apiVersion").len && field(doc, "kind").len &&
	       (is_list(doc) || json_is_object(json_get(doc, "metadata")));
}

static int take(struct parse *p, struct json_value doc, struct stamp at, unsigned *found)
{
	struct collected from = {.at = at};
	struct text kind = field(doc, "kind"), own, key;
	struct json_value list = json_get(doc, "items"), v;
	struct json_iter it = json_iter(list);
	int r = 0;

	collected_fields(&from, doc);
	if (!is_list(doc))
		return take_object(p, &from, kind, doc, found);
	kind.len -= 4;
	while (r >= 0 && json_next(&it, &key, &v)) {
		own = field(v, "kind");
		r = take_object(p, &from, own.len ? own : kind, v, found);
	}
	return r;
}

static int record(struct parse *p, struct text record)
{
	struct stamp at = p->fallback;
	struct text rest = collected_header(record, &at);
	struct json_value doc;
	unsigned found = 0;

	if (!rest.len)
		return RECORD_CONTEXT;
	int r = parse_document(p, rest, p->padded, &doc);
	if (r)
		return r;
	if (!is_object(doc))
		return parse_refuse(p, "no_objects");
	r = take(p, doc, at, &found);
	return r < 0 ? r : found ? RECORD_PARSED : RECORD_CONTEXT;
}

/* `"kind": "Pod"` somewhere in what is there of a document; in a text of its own the quotes would be escaped. */
static bool names_kind(struct text t)
{
	for (size_t at = 0; (at = text_find(t, "\"kind\"", at)) != SIZE_MAX; at++) {
		struct text v = text_trim(text_sub(t, at + 6, 80));
		if (!text_starts(v, ":"))
			continue;
		v = text_trim(text_from(v, 1));
		size_t end = text_starts(v, "\"") ? text_find_char(v, '"', 1) : SIZE_MAX;
		v = end == SIZE_MAX ? (struct text){0} : text_sub(v, 1, end - 1);
		if (text_ends(v, "List"))
			v.len -= 4;
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
			if (text_is(v, kinds[i].kind))
				return true;
	}
	return false;
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at = STAMP_INIT;
	struct text rest = collected_header(record, &at);
	struct json_value doc;

	if (!rest.len || rest.ptr[0] != '{' || !installed_mentions(rest, HEAD_BYTES, "\"apiVersion\""))
		return BID_NO;
	int r = json_parse(p->json, rest, false, &doc, NULL, p->err);
	if (r == 0)
		return is_object(doc) ? BID_STRONG : BID_NO;
	return r > 0 && names_kind(rest) ? BID_STRONG : BID_NO; /* the head of a large one, or one that was cut */
}

const struct parser parser_kubernetes = {
    .name = "kubernetes",
    .summary = "kubectl get pods, nodes, deployments, replicasets, statefulsets -o json; Argo CD applications",
    .checked = "k8s.io/api apps/v1 (3bd457f5291b), core/v1 ContainerStatus; LeaderWorkerSet and Argo CD not checked",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_INSTALL,
    .bid = bid,
    .record = record,
};
