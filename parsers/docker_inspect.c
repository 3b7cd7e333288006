/* SPDX-License-Identifier: Apache-2.0 */
/* docker_inspect.c - format docker-inspect: containers and images of one machine (`docker inspect`, `podman inspect`)
 *
 * Field names are those of the Docker Engine API (moby api/types/image/image_inspect.go) and of podman
 * (libpod/define/container_inspect.go). A container's `Image` is the digest of the image's configuration; what a registry calls
 * the image, a digest of a manifest, stands in `ImageDigest` (podman, where its version writes it), in an image that was ordered by digest, and in an
 * image's RepoDigests: an image gives one event for each name that it has, so that either leads to the other.
 * One container in a document is that of the worker the file is named for; of several each is known by its name, those that a
 * kubelet made by their pod.
 * Labels come from whoever built the image, or a base of it (Ubuntu's bear a version): org.opencontainers.image.version counts
 * only beside a title, source or revision, which a base distribution does not set.
 */
#include "installed.h"

enum { HEAD_BYTES = 4096, DIGESTS_MAX = 64 };

static struct text label(struct json_value labels, const char *key)
{
	return installed_text(json_get(labels, key));
}

static bool is_container(struct json_value v)
{
	return installed_text(json_get(v, "Id")).len && json_is_object(json_get(v, "State")) &&
	       (json_is_object(json_get(v, "Config")) || installed_text(json_get(v, "Image")).len);
}

static bool is_image(struct json_value v)
{
	return installed_text(json_get(v, "Id")).len && !json_is_object(json_get(v, "State")) &&
	       (json_type(json_get(v, "RepoTags")) == JSON_ARRAY ||
		json_type(json_get(v, "RepoDigests")) == JSON_ARRAY);
}

static void set_labels(struct event *e, struct json_value labels)
{
	struct text title = label(labels, "org.opencontainers.image.title");
	struct text commit = label(labels, "org.opencontainers.image.revision");

	event_text(e, INSTALL_PACKAGE, title);
	if (installed_commit(commit))
		event_text(e, INSTALL_COMMIT, commit);
	if (title.len || commit.len || label(labels, "org.opencontainers.image.source").len)
		event_text(e, INSTALL_VERSION, label(labels, "org.opencontainers.image.version"));
}

static const char *state_of(struct json_value state)
{
	static const char *const known[][2] = {
	    {"created", "waiting"},   {"running", "active"}, {"paused", "waiting"}, {"restarting", "waiting"},
	    {"removing", "draining"}, {"exited", "retired"}, {"dead", "retired"},   {"stopped", "retired"}};
	struct text status = installed_text(json_get(state, "Status"));
	bool running;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_is(status, known[i][0]))
			return known[i][1];
	return json_bool(json_get(state, "Running"), &running) && running ? "active" : NULL;
}

static int emit_container(struct parse *p, const struct collected *from, struct json_value v, bool alone)
{
	struct arena *a = &p->scratch;
	struct json_value state = json_get(v, "State"), labels = json_path(v, "Config.Labels");
	struct text pod = label(labels, "io.kubernetes.pod.name"), name = installed_text(json_get(v, "Name"));
	struct text image = installed_text(json_path(v, "Config.Image")), worker = from->worker;
	struct text digest = image_digest(a, installed_text(json_get(v, "ImageDigest")));
	const char *says = state_of(state);
	struct event *e = parse_begin(p, EVENT_INSTALL, from->at);
	int64_t restarts;

	while (name.len && name.ptr[0] == '/')
		name = text_from(name, 1);
	if (!digest.len && text_find_char(image, '@', 0) != SIZE_MAX)
		digest = image_digest(a, image);
	if (!digest.len)
		digest = image_digest(a, installed_text(json_get(v, "Image")));
	if (pod.len)
		worker = pod;
	installed_worker(e, worker.len || alone ? worker : name);
	event_text(e, INSTALL_WHAT, TEXT("container"));
	event_int(e, INSTALL_RUNG, digest.len && says && !strcmp(says, "active") ? RUNG_THERE : RUNG_ORDERED);
	event_text(e, INSTALL_IMAGE, image.len ? image : installed_text(json_get(v, "ImageName")));
	event_text(e, INSTALL_DIGEST, digest);
	event_text(e, INSTALL_CONTAINER, name);
	event_text(e, INSTALL_ROLE, text_of(labels_role(labels)));
	event_text(e, INSTALL_STATE, text_of(says));
	installed_time(e, INSTALL_STARTED, json_get(state, "StartedAt"));
	installed_time(e, INSTALL_ENDED, json_get(state, "FinishedAt"));
	if (json_int64(json_get(v, "RestartCount"), &restarts) && restarts >= 0)
		event_int(e, INSTALL_RESTARTS, restarts);
	set_labels(e, labels);
	return parse_emit(p);
}

static int emit_image(struct parse *p, const struct collected *from, struct json_value v, struct text name,
		      struct text digest, struct text config)
{
	struct event *e = parse_begin(p, EVENT_INSTALL, from->at);

	event_text(e, INSTALL_WHAT, TEXT("image"));
	event_int(e, INSTALL_RUNG, RUNG_BUILT);
	event_text(e, INSTALL_IMAGE, name);
	event_text(e, INSTALL_DIGEST, digest);
	event_text(e, INSTALL_CONFIG, config);
	set_labels(e, json_path(v, "Config.Labels"));
	return parse_emit(p);
}

/* The image by its own id, then by what registries call it. */
static int take_image(struct parse *p, const struct collected *from, struct json_value v)
{
	struct text name = installed_text(json_path(v, "RepoTags.0")), key;
	struct json_value list = json_get(v, "RepoDigests"), one;
	struct json_iter it = json_iter(list);
	struct text id = image_digest(&p->scratch, installed_text(json_get(v, "Id")));
	int r = emit_image(p, from, v, name, id, (struct text){0});

	for (unsigned i = 0; r >= 0 && i < DIGESTS_MAX && json_type(list) == JSON_ARRAY && json_next(&it, &key, &one);
	     i++) {
		struct text digest = image_digest(&p->scratch, installed_text(one));
		if (digest.len)
			r = emit_image(p, from, v, name.len ? name : installed_text(one), digest, id);
	}
	return r;
}

static int take_one(struct parse *p, const struct collected *around, struct json_value v, bool alone, unsigned *found)
{
	struct collected from = *around;

	collected_fields(&from, v);
	if (is_container(v)) {
		++*found;
		return emit_container(p, &from, v, alone);
	}
	if (!is_image(v))
		return 0;
	++*found;
	return take_image(p, &from, v);
}

static unsigned count_containers(struct json_value list)
{
	struct json_iter it = json_iter(list);
	struct json_value v;
	struct text key;
	unsigned n = 0;

	while (json_next(&it, &key, &v) && n < 2)
		n += is_container(v);
	return n;
}

static int record(struct parse *p, struct text record)
{
	struct collected from = {.at = p->fallback};
	struct text rest = collected_header(record, &from.at), key;
	struct json_value doc, v;
	unsigned found = 0;

	if (!rest.len)
		return RECORD_CONTEXT;
	int r = parse_document(p, rest, p->padded, &doc);
	if (r)
		return r;
	if (json_type(doc) != JSON_ARRAY) {
		r = take_one(p, &from, doc, true, &found);
	} else {
		bool alone = count_containers(doc) == 1;
		struct json_iter it = json_iter(doc);
		while (r >= 0 && json_next(&it, &key, &v))
			r = take_one(p, &from, v, alone, &found);
	}
	return r < 0 ? r : found ? RECORD_PARSED : parse_refuse(p, "no_containers");
}

static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at = STAMP_INIT;
	struct text rest = collected_header(record, &at), key;
	struct json_value doc, v;

	if (!rest.len || (rest.ptr[0] != '{' && rest.ptr[0] != '[') ||
	    !installed_mentions(rest, HEAD_BYTES, "\"Id\"") ||
	    !(installed_mentions(rest, HEAD_BYTES, "\"State\"") ||
	      installed_mentions(rest, HEAD_BYTES, "\"RepoTags\"") ||
	      installed_mentions(rest, HEAD_BYTES, "\"RepoDigests\"")))
		return BID_NO;
	int r = json_parse(p->json, rest, false, &doc, NULL, p->err);
	if (r) /* the head of a large one, or one that was cut */
		return r > 0 && (installed_mentions(rest, HEAD_BYTES, "\"RestartCount\"") ||
				 installed_mentions(rest, HEAD_BYTES, "\"RepoDigests\"") ||
				 installed_mentions(rest, HEAD_BYTES, "\"StartedAt\""))
			   ? BID_STRONG
			   : BID_NO;
	if (json_type(doc) != JSON_ARRAY)
		return is_container(doc) || is_image(doc) ? BID_STRONG : BID_NO;
	struct json_iter it = json_iter(doc);
	while (json_next(&it, &key, &v))
		if (is_container(v) || is_image(v))
			return BID_STRONG;
	return BID_NO;
}

const struct parser parser_docker_inspect = {
    .name = "docker-inspect",
    .summary = "containers and images of one machine: docker inspect, podman inspect",
    .checked = "moby image_inspect.go (1a819038546b), podman container_inspect.go (011b357f918f); no real output",
    .shape = SHAPE_DOCUMENT,
    .emits = 1u << EVENT_INSTALL,
    .bid = bid,
    .record = record,
};
