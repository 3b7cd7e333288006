/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_write.c - what was collected of the fleet: snapshots, lists of packages, pods, containers, images, orders; its
 * inventory, its policy
 *
 * Fields are those that the programs write whose answers these are (docs/deploy.md); what is not read is left out, but for a few.
 */
#include "deploy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define REGISTRY  "registry.example/llm/"
#define PROXY_HEX "feedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedface"
#define OUT_INIT(M)                     \
	{                               \
		(M), BUF_INIT(16 * MIB) \
	}

static void stamp(int64_t us, char out[24])
{
	us_plain(us, out);
	out[10] = 'T';
	memcpy(out + 19, "Z", 2);
}

static const char *name_of(const struct fleet *f, const struct evidence *e)
{
	return f->m->worker[f->replica[e->replica].w].name;
}

static void write_out(struct out *o, const char *path)
{
	lines_file(o->m, path, buf_text(&o->b));
	buf_done(&o->b);
}

/* The folder may be there already. */
static void folder(struct model *m, const char *path)
{
	char full[4096];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", m->options->dir, path);
	if (stat(full, &st))
		make_folder(m, path);
}

/* ---- snapshots */

static void put_info(struct out *o, const struct fleet *f, const struct evidence *e)
{
	const struct worker *k = &f->m->worker[f->replica[e->replica].w];
	const struct life *l = &f->replica[e->replica].life[e->life];
	const char *mode = k->role == ROLE_PREFILL ? "prefill" : k->role == ROLE_DECODE ? "decode" : "null";

	out_put(
	    o,
	    "\"model_path\":\"%s\",\"served_model_name\":\"%s\",\"context_length\":%d,\"host\":\"%s\",\"port\":%d,"
	    "\"page_size\":%d,"
	    "\"tp_size\":%d,\"dp_size\":1,\"random_seed\":%d,\"disaggregation_mode\":\"%s\",\"disaggregation_transfer_"
	    "backend\":\"mooncake\","
	    "\"max_total_num_tokens\":%lld,\"max_req_input_len\":%lld,\"internal_states\":[{\"last_gen_throughput\":%d."
	    "25}],\"version\":\"%s\"}\n",
	    model_path(k->model), model_served(k->model), CONTEXT, LISTEN_HOST, k->port, PAGE_TOKENS, RANKS,
	    424242 + e->replica * TOLD + e->life, mode, (long long)l->pool_tokens, (long long)l->limit,
	    (int)(e->at_us / US_PER_S % 5000), e->version);
}

static void write_info(struct fleet *f, struct evidence *e)
{
	struct out o = OUT_INIT(f->m);
	const char *name = name_of(f, e);
	bool own = f->replica[e->replica].folder;
	char at[24], digits[24];
	size_t n = 0;

	stamp(e->at_us, at);
	for (size_t i = 0; at[i]; i++)
		if (at[i] != '-' && at[i] != ':')
			digits[n++] = at[i];
	digits[n] = 0;
	if (rng_chance(&f->m->rng, 333)) { /* the time is in the file's name alone */
		snprintf(e->file, sizeof(e->file), own ? "logs/%s/server_info-%s.json" : "logs/%s-server_info-%s.json",
			 name, digits);
		out_put(&o, "{");
	} else if (own) {
		snprintf(e->file, sizeof(e->file), "logs/%s/server_info_%.8s_%.6s.json", name, digits, digits + 9);
		out_put(&o, "# collected %s by hand\n{", at);
	} else {
		snprintf(e->file, sizeof(e->file), "logs/server_info/%.13s", at);
		folder(f->m, "logs/server_info");
		folder(f->m, e->file);
		snprintf(e->file, sizeof(e->file), "logs/server_info/%.13s/%s.json", at, name);
		out_put(&o, "{\"collected_at\":\"%s\",", at);
	}
	put_info(&o, f, e);
	write_out(&o, e->file);
}

static void write_undated(struct fleet *f, struct evidence *e)
{
	struct out o = OUT_INIT(f->m);
	char full[4096];
	struct timespec times[2] = {{.tv_sec = (time_t)(e->at_us / US_PER_S)},
				    {.tv_sec = (time_t)(e->at_us / US_PER_S)}};

	snprintf(e->file, sizeof(e->file),
		 f->replica[e->replica].folder ? "logs/%s/server_info.json" : "logs/%s-server_info.json",
		 name_of(f, e));
	out_put(&o, "{");
	put_info(&o, f, e);
	write_out(&o, e->file);
	snprintf(full, sizeof(full), "%s/%s", f->m->options->dir, e->file);
	if (!f->m->rc && utimensat(AT_FDCWD, full, times, 0)) {
		model_fail(f->m, err_set_errno(f->m->err, ERR_IO, "cannot set the time of a file"));
		err_where(f->m->err, "%s", full);
	}
}

/* ---- packages, containers */

static void write_packages(struct fleet *f, struct evidence *e)
{
	struct out o = OUT_INIT(f->m);
	bool list = rng_chance(&f->m->rng, 500);
	const char *sep = f->replica[e->replica].folder ? "/" : "-";
	char at[24];

	stamp(e->at_us, at);
	snprintf(e->file, sizeof(e->file), "logs/%s%s%s.txt", name_of(f, e), sep, list ? "pip-list" : "pip-freeze");
	out_put(&o, "# collected %s on %s\n", at, name_of(f, e));
	if (list)
		out_put(&o, "Package    Version\n---------- --------------------\nsglang     %s\ntorch      2.8.0\n",
			e->version);
	else
		out_put(&o, "accelerate==1.2.1\nsglang==%s\ntorch==2.8.0\n", e->version);
	write_out(&o, e->file);
}

static void write_container(struct fleet *f, struct evidence *e)
{
	struct out o = OUT_INIT(f->m);
	const char *sep = f->replica[e->replica].folder ? "/" : "-";
	char at[24], started[24];

	stamp(e->at_us, at);
	stamp(e->started_us, started);
	snprintf(e->file, sizeof(e->file), "logs/%s%sinspect.json", name_of(f, e), sep);
	out_put(&o,
		"# collected "
		"%s\n[{\"Id\":\"%.40s%06d%018d\",\"Created\":\"%s\",\"State\":{\"Status\":\"running\",\"Running\":true,"
		"\"StartedAt\":\"%s\",\"FinishedAt\":\"0001-01-01T00:00:00Z\"},\"Image\":\"sha256:%s\",\"Name\":\"/"
		"engine\","
		"\"RestartCount\":0,\"Config\":{\"Image\":\"" REGISTRY "engine:stable\",\"Labels\":null}}]\n",
		at, PROXY_HEX, e->replica, 0, started, started, f->config);
	write_out(&o, e->file);
}

static void put_pod(struct out *o, const struct fleet *f, const struct evidence *e, bool first)
{
	const struct replica *r = &f->replica[e->replica];
	const struct worker *k = &f->m->worker[r->w];
	char started[24], ended[24], proxy[24];

	stamp(e->started_us, started);
	stamp(e->at_us - 90 * US_PER_S, ended);
	stamp(e->at_us - 600 * US_PER_S, proxy);
	out_put(o,
		"%s{\n\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"inference\","
		"\"labels\":{\"role\":\"%s\"}},"
		"\"spec\":{\"nodeName\":\"gpu-%d\",\"containers\":[{\"name\":\"engine\",\"image\":\"" REGISTRY
		"engine:stable\"}]},"
		"\"status\":{\"phase\":\"Running\",\"containerStatuses\":[",
		first ? "" : ",", k->name, (const char *[]){"prefill", "decode", "both"}[k->role], e->replica / 8);
	if (r->proxy) /* it was started after everything else, and that says nothing of the engine */
		out_put(o,
			"{\"name\":\"proxy\",\"image\":\"" REGISTRY "proxy:1\",\"imageID\":\"" REGISTRY
			"proxy@sha256:" PROXY_HEX
			"\",\"restartCount\":0,\"state\":{\"running\":{\"startedAt\":\"%s\"}}},",
			proxy);
	out_put(o,
		"{\"name\":\"engine\",\"image\":\"" REGISTRY "engine:stable\",\"imageID\":\"" REGISTRY
		"engine@sha256:%s\",",
		f->image[1]);
	if (e->waits)
		out_put(o,
			"\"restartCount\":7,\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}},\"lastState\":{"
			"\"terminated\":{"
			"\"exitCode\":1,\"startedAt\":\"%s\",\"finishedAt\":\"%s\"}}}]}}",
			ended, ended);
	else
		out_put(o, "\"restartCount\":%d,\"state\":{\"running\":{\"startedAt\":\"%s\"}},\"lastState\":{}}]}}",
			r->story->flags & STORY_REPLACED ? 1 : 0, started);
}

static void write_pods(struct fleet *f, int round)
{
	struct out o = OUT_INIT(f->m);
	char at[24], path[96];
	bool first = true;

	stamp(f->round_us[round], at);
	snprintf(path, sizeof(path), "logs/kube/%.10s", at);
	folder(f->m, "logs/kube");
	folder(f->m, path);
	snprintf(path, sizeof(path), "logs/kube/%.10s/pods.json", at);
	out_put(&o, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
	for (int i = 0; i < f->n_evidence; i++) {
		struct evidence *e = &f->evidence[i];

		if (e->form != FORM_POD || e->at_us != f->round_us[round])
			continue;
		put_pod(&o, f, e, first);
		memcpy(e->file, path, sizeof(path));
		first = false;
	}
	out_put(&o, "],\"collected_at\":\"%s\"}\n", at);
	if (first)
		buf_done(&o.b);
	else
		write_out(&o, path);
}

/* ---- images, orders */

static void write_bill(struct fleet *f, const char *path, const char *digest, const char *version)
{
	struct out o = OUT_INIT(f->m);
	char at[24];

	stamp(f->m->begin_us, at);
	out_put(&o,
		"{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,\"metadata\":{\"timestamp\":\"%s\","
		"\"component\":{"
		"\"type\":\"container\",\"name\":\"" REGISTRY "engine\",\"version\":\"sha256:%s\","
		"\"purl\":\"pkg:oci/"
		"engine@sha256%%3A%s\"}},\"components\":[{\"type\":\"library\",\"name\":\"sglang\",\"version\":\"%s\","
		"\"purl\":\"pkg:pypi/sglang@%s\"},{\"type\":\"library\",\"name\":\"torch\",\"version\":\"2.8.0\","
		"\"purl\":\"pkg:pypi/torch@2.8.0\"}]}\n",
		at, digest, digest, version, version);
	write_out(&o, path);
}

static void write_images(struct fleet *f)
{
	struct out o = OUT_INIT(f->m);

	folder(f->m, "logs/images");
	write_bill(f, "logs/images/sbom-1.json", f->image[0], "0.5.21");
	write_bill(f, "logs/images/sbom-2.json", f->image[1], "0.5.22");
	/* Docker names a container's image by its configuration; this names both side by side */
	out_put(&o,
		"[{\"Id\":\"sha256:%s\",\"RepoTags\":[\"" REGISTRY "engine:stable\"],\"RepoDigests\":[\"" REGISTRY
		"engine@sha256:%s\"],\"Architecture\":\"amd64\",\"Config\":{\"Labels\":null}}]\n",
		f->config, f->image[1]);
	write_out(&o, "logs/images/image-inspect.json");
}

static void write_orders(struct fleet *f)
{
	struct out o = OUT_INIT(f->m);
	char at[24];

	stamp(hours(f, ROLLOUT_H) - 60 * US_PER_S, at);
	out_put(&o, "%.19s.512Z statefulset.apps/prefill image updated\n", at);
	write_out(&o, "logs/rollout.log");
	if (!f->ordered)
		return;
	folder(f->m, "logs/kube");
	out_put(&o,
		"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\n\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"ReplicaSet\",\"metadata\":{"
		"\"name\":\"prefill-5c9f7d8b6\",\"creationTimestamp\":\"%s\"},\"spec\":{\"replicas\":12,\"template\":{"
		"\"spec\":{\"containers\":["
		"{\"name\":\"engine\",\"image\":\"" REGISTRY "engine@sha256:%s\"}]}}}}]}\n",
		at, f->image[1]);
	write_out(&o, "logs/kube/replicasets.json");
}

void deploy_documents(struct fleet *f)
{
	for (int i = 0; i < f->n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "logs/%s", f->m->worker[f->replica[i].w].name);
		if (f->replica[i].folder && !f->replica[i].log && f->replica[i].story->life[0])
			folder(f->m, path);
	}
	for (int i = 0; i < f->n_evidence; i++) {
		struct evidence *e = &f->evidence[i];
		const struct replica *r = &f->replica[e->replica];

		switch (e->form) {
		case FORM_NONE:
		case FORM_SAID:
		case FORM_POD: break;
		case FORM_LINE:
			snprintf(e->file, sizeof(e->file), r->folder ? "logs/%s/engine.log" : "logs/%s.log",
				 name_of(f, e));
			break;
		case FORM_INFO: write_info(f, e); break;
		case FORM_UNDATED: write_undated(f, e); break;
		case FORM_PIP: write_packages(f, e); break;
		case FORM_DOCKER: write_container(f, e); break;
		}
	}
	write_pods(f, 0);
	write_pods(f, 1);
	write_images(f);
	write_orders(f);
}

/* ---- the inventory */

/* A pod that is over says when its engine ended, or when it was deleted, or neither. */
static void put_over(struct out *o, const struct replica *r, bool deleted)
{
	char at[24];

	if (!r->retired_us || deleted != !!(r->story->flags & STORY_DELETED))
		return;
	stamp(r->retired_us, at);
	out_put(
	    o,
	    deleted
		? ",\"deletionTimestamp\":\"%s\""
		: ",\"containerStatuses\":[{\"name\":\"engine\",\"state\":{\"terminated\":{\"finishedAt\":\"%s\"}}}]",
	    at);
}

static void inventory_pods(struct fleet *f)
{
	struct out o = OUT_INIT(f->m);
	bool first = true;
	char listed[24];

	out_put(&o, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
	for (int i = 0; i < f->n; i++) {
		const struct replica *r = &f->replica[i];
		const struct worker *k = &f->m->worker[r->w];
		char at[24];

		if (!r->listed)
			continue;
		stamp(r->started_us ? r->started_us : f->m->begin_us, at);
		out_put(&o,
			"%s{\n\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
			"\"role\":\"%s\"}",
			first ? "" : ",", k->name, (const char *[]){"prefill", "decode", "both"}[k->role]);
		put_over(&o, r, true);
		out_put(&o, "},\"spec\":{\"nodeName\":\"gpu-%d\"},\"status\":{\"phase\":\"%s\",\"startTime\":\"%s\"",
			i / 8,
			!r->retired                 ? "Running"
			: r->story->life[LIVES - 1] ? "Failed"
						    : "Succeeded",
			at);
		put_over(&o, r, false);
		out_put(&o, "}}");
		first = false;
	}
	stamp(hours(f, LISTED_H), listed);
	out_put(&o, "],\"collected_at\":\"%s\"}\n", listed);
	write_out(&o, "inventory-pods.json");
}

void deploy_inventory(struct fleet *f)
{
	struct out o = OUT_INIT(f->m);

	out_put(&o, "replica,role,model,node,rack,image_digest,state,started_at,retired_at\r\n");
	for (int i = 0; i < f->n; i++) {
		const struct replica *r = &f->replica[i];
		const struct worker *k = &f->m->worker[r->w];
		char started[24] = "", retired[24] = "";

		if (!r->listed)
			continue;
		if (r->started_us)
			stamp(r->started_us, started);
		if (r->retired_us)
			stamp(r->retired_us, retired);
		out_put(&o, "%s,%s,%s,gpu-%d,\"%d, left\",%s%s,%s,%s,%s\r\n", k->name,
			(const char *[]){"prefill", "decode", "unified"}[k->role], model_served(k->model), i / 8,
			i / 16, r->story->flags & STORY_ORDERED ? "sha256:" : "",
			r->story->flags & STORY_ORDERED ? f->image[1] : "",
			r->retired ? "retired"
			: i % 3    ? "active"
				   : "",
			started, retired);
	}
	write_out(&o, "inventory.csv");
	inventory_pods(f);
}

/* ---- the policy */

void deploy_policy(struct fleet *f)
{
	struct out o = OUT_INIT(f->m);

	out_put(&o, "# git rev-list, exported\n%s\tcontains_fix\n%s\tlacks_fix\n", f->commit[COMMIT_WITH],
		f->commit[COMMIT_WITHOUT]);
	write_out(&o, "commits.txt");
	out_put(
	    &o,
	    "{\n\"schema_version\":\"1.7.3\",\"id\":\"x_rehearsal-deploy-1\",\"modified\":\"2026-09-01T00:00:00Z\","
	    "\"summary\":\"Rejected prompts go on across the "
	    "hand-off\",\n\"affected\":[{\n\"package\":{\"ecosystem\":\"PyPI\",\"name\":\"sglang\"},\n"
	    "\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[{\"introduced\":\"0\"},{\"fixed\":\"0.5.22\"},{"
	    "\"introduced\":\"0.6.0\"},"
	    "{\"fixed\":\"0.6.1\"}]}],\n\"versions\":[\"0.5.24.post1\"],\n\"database_specific\":{\"pagetrail\":{\"max_"
	    "evidence_age\":\"PT%dH\","
	    "\"requires\":{\"disaggregated\":true,\"transfer_backend\":[\"mooncake\"]},\"trigger\":\"input_limit\","
	    "\n\"backports\":[{"
	    "\"version\":\"0.5.21+site.patch1\",\"declared_by\":\"platform\",\"declared_at\":\"2026-09-01T00:00:00Z\","
	    "\"evidence\":\"change 17\"},\"0.5.20+site.patch1\"],\"fixed_commits\":\"commits.txt\"}}}]\n}\n",
	    MAX_AGE_H);
	write_out(&o, "policy.json");
}
