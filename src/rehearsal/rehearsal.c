/* SPDX-License-Identifier: Apache-2.0 */
/* rehearsal.c - plans a scenario, runs the model, writes DIR/logs and DIR/truth.json
 *
 * The folder must be empty or absent: a rehearsal never mixes with real logs. Nothing is written before the model has
 * ended.
 */
#include "model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct rehearsal_scenario rehearsal_scenarios[] = {
    {"incident",
     "prompts over the prefill pool limit are rejected, handed over as one token and answered from stale pages"},
    {"messy",
     "the incident, with everything wrong with its logs that logs have: zones, clocks, holes, copies, forgeries"},
    {"canary", "the incident, with markers planted in prompts and request logs that hold text"},
    {"late_write", "aborted transfers go on writing into pages that were given to other requests"},
    {"prefix_share", "tenants share cached prompt prefixes, as they should"},
    {"clean", "nothing goes wrong; an odd seed runs pools below the context window"},
    {"deploy",
     "a fleet in the middle of being repaired, with an inventory, a policy and all that was collected of its versions"},
};
const size_t n_rehearsal_scenarios = ARRAY_SIZE(rehearsal_scenarios);

static const int64_t default_requests[] = {8000, 8000, 8000, 3000, 2400, 2500, 400};

/* Enough for a case of some hundred megabytes; the model keeps its logs in memory until the end. */
#define REQUESTS_MAX 400000

static int folder_ready(const char *dir, struct err *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d && errno == ENOENT) {
		if (!mkdir(dir, 0777))
			return 0;
		rc = err_set_errno(err, ERR_IO, "cannot make the folder");
	} else if (!d) {
		rc = err_set_errno(err, ERR_IO, "cannot open the folder");
	} else {
		while ((e = readdir(d)) && !rc)
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
				rc = err_set(err, ERR_USAGE, "the folder is not empty");
				err_hint(err, "name an empty or a new folder");
			}
		closedir(d);
	}
	if (rc)
		err_where(err, "%s", dir);
	return rc;
}

int make_folder(struct model *m, const char *name)
{
	char full[4096];
	int n = snprintf(full, sizeof(full), "%s/%s", m->options->dir, name);

	if (m->rc)
		return m->rc;
	if (n < 0 || (size_t)n >= sizeof(full))
		model_fail(m, err_set(m->err, ERR_USAGE, "the folder's name is too long"));
	else if (mkdir(full, 0777)) {
		model_fail(m, err_set_errno(m->err, ERR_IO, "cannot make the folder"));
		err_where(m->err, "%s", full);
	}
	return m->rc;
}

static void write_all(struct model *m)
{
	char path[128];

	if (make_folder(m, "logs"))
		return;
	if (m->messy) {
		messy_write(m);
		return;
	}
	for (int w = 0; w < m->n_workers; w++) {
		struct worker *k = &m->worker[w];

		snprintf(path, sizeof(path), "logs/%s.log", k->name);
		lines_write(m, &k->text, path);
		snprintf(path, sizeof(path), "logs/%s.pages.jsonl", k->name);
		lines_write(m, &k->pages, path);
		snprintf(path, sizeof(path), "logs/%s.metrics.log", k->name);
		lines_write(m, &k->metric, path);
	}
	lines_write(m, &m->router, "logs/router.log");
	lines_write(m, &m->gateway, "logs/gateway.jsonl");
	snapshots_write(m);
	if (m->canary)
		canary_write(m, "markers.json");
	truth_write(m, "truth.json");
}

static void model_free(struct model *m)
{
	for (int w = 0; w < m->n_workers; w++) {
		struct worker *k = &m->worker[w];

		pool_done(&k->pool);
		for (int i = 0; i < TEMPLATES; i++)
			free(k->prefix[i].pages.at);
		free(k->waiting.at);
		lines_done(&k->text);
		lines_done(&k->pages);
		lines_done(&k->metric);
	}
	for (uint32_t i = 0; i < m->n_attempts; i++) {
		free(m->attempts[i].p.at);
		free(m->attempts[i].d.at);
	}
	for (uint32_t i = 0; i < m->n_requests; i++)
		free(m->requests[i].reads);
	lines_done(&m->router);
	lines_done(&m->gateway);
	free(m->attempts);
	free(m->requests);
	free(m->boots);
	free(m->heap);
	free(m->exposures);
	free(m->sightings);
	free(m->holes);
	free(m);
}

int rehearsal_write(const struct rehearsal_options *o, struct err *err)
{
	struct model *m;
	size_t s;
	int rc;

	for (s = 0; s < n_rehearsal_scenarios && strcmp(o->scenario, rehearsal_scenarios[s].name); s++)
		;
	if (s == n_rehearsal_scenarios) {
		err_set(err, ERR_USAGE, "there is no scenario \"%s\"", o->scenario);
		err_hint(err, "take incident, messy, canary, late_write, prefix_share, clean or deploy");
		return ERR_USAGE;
	}
	if (o->requests < 0 || o->requests > REQUESTS_MAX)
		return err_set(err, ERR_USAGE, "--requests takes 1 to %d", REQUESTS_MAX);
	bool shuffled = o->allocator && !strcmp(o->allocator, "shuffled");
	if (o->allocator && !shuffled && strcmp(o->allocator, "sorted")) {
		err_set(err, ERR_USAGE, "there is no allocator \"%s\"", o->allocator);
		return err_hint(err, "take sorted or shuffled");
	}
	rc = folder_ready(o->dir, err);
	if (rc)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return err_nomem(err);
	m->options = o;
	m->err = err;
	m->again = m->victim = NONE;
	m->n_normal = o->requests ? o->requests : default_requests[s];
	m->shuffled = shuffled;
	rng_seed(&m->rng, o->seed);
	rng_seed(&m->shuffle, o->seed);
	if (!strcmp(o->scenario, "deploy")) {
		deploy_write(m);
	} else {
		fleet_plan(m);
		model_run(m);
		write_all(m);
	}
	rc = m->rc;
	model_free(m);
	return rc;
}
