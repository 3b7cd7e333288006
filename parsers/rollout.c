/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c - format rollout: what kubectl and Helm say while somebody rolls out, with or without a time in front
 *
 * Lines of `kubectl rollout status` (k8s.io/kubectl pkg/polymorphichelpers/rollout_status.go), of `kubectl set image`, `apply`, `rollout
 * restart` and the like (k8s.io/cli-runtime pkg/printers/name.go: kind.group/name and what was done), and of `helm upgrade` and
 * `install` (helm cmd/helm/status.go: LAST DEPLOYED is a local time). They say that something was ordered and when, never which
 * version runs; a dry run orders nothing. Between them stand lines of scripts, which nobody reads.
 */
#include <stdio.h>

#include "installed.h"

struct rollout {
	char name[NAME_MAX_BYTES]; /* of the Helm release that is being told of; empty: none */
	struct stamp deployed;     /* its LAST DEPLOYED */
	struct stamp line;         /* time in front of the line at hand */
};

/* "2026-09-10T08:03:00Z deployment …", as build logs have it. */
static struct text behind_time(struct text line, struct stamp *ret)
{
	size_t used;

	*ret = STAMP_INIT;
	line = text_trim(line);
	if (stamp_parse_iso(line, ret, &used) && used < line.len && line.ptr[used] == ' ')
		return text_trim(text_from(line, used));
	*ret = STAMP_INIT;
	return line;
}

static int emit(struct parse *p, struct stamp at, const char *kind, struct text name, struct text wanted, bool ordered)
{
	struct event *e = parse_begin(p, EVENT_INSTALL, at);

	event_text(e, INSTALL_WHAT, TEXT("order"));
	event_int(e, INSTALL_RUNG, RUNG_ORDERED);
	event_text(e, INSTALL_WORKLOAD, installed_pair(&p->scratch, text_of(kind), name));
	event_count(e, INSTALL_WANTED, wanted);
	if (ordered && e->ts.quality == STAMP_ZONED)
		event_int(e, INSTALL_INSTALLED, e->ts.ns);
	int r = parse_emit(p);
	return r < 0 ? r : RECORD_PARSED;
}

/* kubectl's word for a kind, with or without blank, to the API's. */
static const char *kind_of(struct text word)
{
	static const char *const kinds[][2] = {{"deployment", "Deployment"}, {"statefulset", "StatefulSet"},
					       {"daemonset", "DaemonSet"},   {"daemon set", "DaemonSet"},
					       {"replicaset", "ReplicaSet"}, {"leaderworkerset", "LeaderWorkerSet"}};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_is(word, kinds[i][0]))
			return kinds[i][1];
	return "";
}

static int take_done(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;

	(void)message;
	return emit(p, s->line, kind_of(match_group(m, "kind")), match_group(m, "name"), match_group(m, "wanted"),
		    false);
}

static int take_revision(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;

	(void)message;
	return emit(p, s->line, "ControllerRevision", match_group(m, "name"), match_group(m, "wanted"), false);
}

static int take_order(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;

	(void)message;
	if (match_group(m, "dry").len)
		return RECORD_CONTEXT;
	return emit(p, s->line, kind_of(match_group(m, "kind")), match_group(m, "name"), (struct text){0}, true);
}

static int take_release(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;

	(void)message;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)MIN(match_group(m, "name").len, sizeof(s->name) - 1),
		 match_group(m, "name").ptr);
	s->deployed = STAMP_INIT;
	return RECORD_CONTEXT;
}

static int take_deployed(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;
	char clf[32];
	int64_t day = 0;
	size_t used;

	(void)message;
	(void)text_int64(match_group(m, "day"), &day);
	snprintf(clf, sizeof(clf), "%02d/%.*s/%.*s:%.*s", (int)day, TEXT_ARG(match_group(m, "month")),
		 TEXT_ARG(match_group(m, "year")), TEXT_ARG(match_group(m, "time")));
	if (!stamp_parse_clf(text_of(clf), &s->deployed, &used))
		s->deployed = STAMP_INIT;
	return RECORD_CONTEXT;
}

/* Only now it is known whether it was one: a dry run is "pending-…". */
static int take_status(struct parse *p, const struct match *m, struct text message)
{
	struct rollout *s = p->state;
	int r = RECORD_CONTEXT;

	(void)message;
	if (s->name[0] && text_is(match_group(m, "status"), "deployed"))
		r = emit(p, s->deployed, "Release", text_of(s->name), (struct text){0}, true);
	s->name[0] = 0;
	return r;
}

#define NAME "(?<name>[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)"

static const struct line_pattern patterns[] = {
    {"done", NULL,
     "^(?<kind>deployment|daemon\\x20set|statefulset)\\x20\"" NAME "\"\\x20successfully\\x20rolled\\x20out$",
     "deployment \"prefill\" successfully rolled out", take_done},
    {"waiting-new", "Waiting for ",
     "^Waiting\\x20for\\x20(?<kind>deployment|daemon\\x20set)\\x20\"" NAME
     "\"\\x20rollout\\x20to\\x20finish:\\x20[0-9]{1,9}\\x20out\\x20of\\x20(?<wanted>[0-9]{1,9})\\x20new\\x20(?:"
     "replicas|pods)\\x20"
     "have\\x20been\\x20updated\\.\\.\\.$",
     "Waiting for deployment \"prefill\" rollout to finish: 2 out of 12 new replicas have been updated...", take_done},
    {"waiting-old", "Waiting for ",
     "^Waiting\\x20for\\x20(?:deployment|daemon\\x20set)\\x20\"" NAME
     "\"\\x20rollout\\x20to\\x20finish:\\x20[0-9]{1,9}\\x20(?:old\\x20replicas\\x20are\\x20pending\\x20termination|"
     "of\\x20[0-9]{1,9}\\x20"
     "updated\\x20(?:replicas|pods)\\x20are\\x20available)\\.\\.\\.$",
     "Waiting for deployment \"prefill\" rollout to finish: 1 old replicas are pending termination...", NULL},
    {"waiting-other", "Waiting for ",
     "^Waiting\\x20for\\x20(?:(?:deployment|daemon\\x20set|statefulset)\\x20spec\\x20update\\x20to\\x20be\\x20observed|"
     "[0-9]{1,9}\\x20pods\\x20"
     "to\\x20be\\x20ready|statefulset\\x20rolling\\x20update\\x20to\\x20complete\\x20[0-9]{1,9}"
     "\\x20pods\\x20at\\x20revision\\x20" NAME "|partitioned\\x20roll\\x20out\\x20to\\x20finish:\\x20[0-9]{1,9}"
     "\\x20out\\x20of\\x20[0-9]{1,9}\\x20new\\x20pods\\x20have\\x20been\\x20"
     "updated)\\.\\.\\.$",
     "Waiting for deployment spec update to be observed...", NULL},
    {"revision", NULL,
     "^statefulset\\x20rolling\\x20update\\x20complete\\x20(?<wanted>[0-9]{1,9})\\x20pods\\x20at\\x20revision\\x20" NAME
     "\\.\\.\\.$",
     "statefulset rolling update complete 24 pods at revision decode-5c9f7d8b6...", take_revision},
    {"deadline", NULL, "^(?:error:\\x20)?deployment\\x20\"" NAME "\"\\x20exceeded\\x20its\\x20progress\\x20deadline$",
     "error: deployment \"prefill\" exceeded its progress deadline", NULL},
    {"ordered", NULL,
     "^(?<kind>deployment|statefulset|daemonset|replicaset|leaderworkerset)(?:\\.[a-z0-9.-]{1,253})?/" NAME
     "\\x20(?:image\\x20updated|configured|created|patched|restarted|scaled|rolled\\x20back|env\\x20updated|edited|"
     "replaced|"
     "serverside-applied)(?<dry>\\x20\\((?:server\\x20)?dry\\x20run\\))?$",
     "deployment.apps/prefill image updated", take_order},
    {"unchanged", NULL,
     "^(?:deployment|statefulset|daemonset|replicaset|leaderworkerset)(?:\\.[a-z0-9.-]{1,253})?/" NAME
     "\\x20(?:unchanged|paused|resumed|annotated|labeled|condition\\x20met)$",
     "deployment.apps/prefill unchanged", NULL},
    {"other-kind", NULL,
     "^(?!(?:deployment|statefulset|daemonset|replicaset|leaderworkerset)[./"
     "])[a-z]{1,63}(?:\\.[a-z0-9.-]{1,253})?/" NAME "\\x20(?:configured|created|patched|replaced|serverside-applied|"
     "unchanged)(?:\\x20\\((?:server\\x20)?dry\\x20run\\))?$",
     "service/router created", NULL},
    {"helm-release", "Release \"", "^Release\\x20\"" NAME "\"\\x20has\\x20been\\x20upgraded\\.",
     "Release \"llm\" has been upgraded. Happy Helming!", take_release},
    {"helm-name", "NAME: ", "^NAME:\\x20" NAME "$", "NAME: llm", take_release},
    {"helm-deployed", "LAST DEPLOYED: ",
     "^LAST\\x20DEPLOYED:\\x20[A-Z][a-z]{2}\\x20(?<month>[A-Z][a-z]{2})\\x20{1,2}(?<day>[0-9]{1,2})\\x20(?<time>[0-9]{"
     "2}:[0-9]{2}:[0-9]{2})\\x20"
     "(?<year>[0-9]{4})$",
     "LAST DEPLOYED: Thu Sep 10 08:03:00 2026", take_deployed},
    {"helm-status", "STATUS: ", "^STATUS:\\x20(?<status>[a-zA-Z-]{1,32})$", "STATUS: deployed", take_status},
    {"helm-other", NULL, "^(?:NAMESPACE|REVISION|TEST\\x20SUITE|DESCRIPTION|CHART|VERSION):\\x20", "REVISION: 12",
     NULL},
};

static int record(struct parse *p, struct text record)
{
	struct rollout *s = p->state;
	struct text line = behind_time(record, &s->line);

	if (!line.len)
		return RECORD_CONTEXT;
	int r = parse_patterns(p, line);
	return r == RECORD_UNPARSED ? parse_refuse(p, "other_line") : r;
}

/* The lines that nobody else writes; what Helm says of a release is known by its LAST DEPLOYED and its first line. */
static enum bid bid(struct parse *p, struct text record)
{
	struct stamp at;
	struct text line = behind_time(record, &at);
	size_t slash = text_find_char(text_sub(line, 0, 80), '/', 0);
	bool likely = text_starts(line, "Waiting for ") || text_starts(line, "Release \"") ||
		      text_starts(line, "LAST DEPLOYED: ") || text_ends(line, "successfully rolled out") ||
		      text_starts(line, "statefulset rolling ") || slash != SIZE_MAX;

	for (size_t i = 0; likely && line.len < 1024 && i < p->parser->n_patterns; i++) {
		const struct line_pattern *l = &p->parser->patterns[i];
		bool shared = text_starts(text_of(l->name), "helm-") && !text_is(text_of(l->name), "helm-release") &&
			      !text_is(text_of(l->name), "helm-deployed");
		if (!shared && (!l->starts || text_starts(line, l->starts)) &&
		    pattern_search(p->compiled[i], p->match, line, 0))
			return BID_STRONG;
	}
	return BID_NO;
}

const struct parser parser_rollout = {
    .name = "rollout",
    .summary = "lines of kubectl rollout, set image and apply, and of helm upgrade",
    .checked = "kubectl rollout_status.go for deployments, output of Helm 3; the other lines not checked",
    .shape = SHAPE_LINES,
    .emits = 1u << EVENT_INSTALL,
    .state_bytes = sizeof(struct rollout),
    .patterns = patterns,
    .n_patterns = ARRAY_SIZE(patterns),
    .bid = bid,
    .record = record,
};
