/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_stories.c - the kinds of replica that a fleet has while it is being repaired, and what each deserves to be called
 *
 * Fixed in 0.5.22, come back with 0.6.0, fixed again in 0.6.1; 0.5.24.post1 is listed. Written by hand from docs/deploy.md and
 * docs/policy.md.
 */
#include "deploy.h"

#define IN    "version_in_range"
#define OUT   "version_out_of_range"
#define LABEL ",local_label"
#define NEEDS "version_needs_commit"
#define SINCE "retired_undated"

const struct build_said builds[] = {
    {BUILD_OLD, "0.5.21", COMMIT_NONE, false, "affected", IN},
    {BUILD_OLD, "0.5.20", COMMIT_NONE, false, "affected", IN},
    {BUILD_OLD, "0.5.21.post1", COMMIT_NONE, false, "affected", IN},
    {BUILD_OLD, "0.5.21+cu124", COMMIT_NONE, false, "affected", IN LABEL},
    {BUILD_FIXED, "0.5.22", COMMIT_NONE, false, "fixed", OUT},
    {BUILD_FIXED, "0.5.23", COMMIT_NONE, false, "fixed", OUT},
    {BUILD_FIXED, "0.5.22+cu129", COMMIT_NONE, false, "fixed", OUT LABEL},
    {BUILD_FIXED, "0.5.22", COMMIT_WITH, true, "fixed", OUT},
    {BUILD_POST, "0.5.22.post1", COMMIT_NONE, false, "fixed", OUT},
    {BUILD_DEV, "0.5.22.dev12", COMMIT_NONE, false, "unknown", NEEDS},
    {BUILD_DEV, "0.5.23.dev3", COMMIT_NONE, false, "unknown", NEEDS},
    {BUILD_DEV_WITH, "0.5.22.dev12+g%s", COMMIT_WITH, false, "fixed", "commit_contains_fix"},
    {BUILD_DEV_WITH, "0.0.0.dev1+g%s", COMMIT_WITH, false, "fixed", "commit_contains_fix"},
    {BUILD_DEV_WITHOUT, "0.0.0.dev1+g%s", COMMIT_WITHOUT, false, "affected", "commit_lacks_fix"},
    {BUILD_DEV_WITHOUT, "0.5.23.dev3+g%s", COMMIT_WITHOUT, false, "affected", "commit_lacks_fix"},
    {BUILD_NO_TAG, "0.0.0.dev1+g%s", COMMIT_UNLISTED, false, "unknown", "local_label," NEEDS ",commit_not_listed"},
    {BUILD_LOCAL, "0.5.21+site.patch2", COMMIT_NONE, false, "affected", "local_label,local_build_below_fix"},
    {BUILD_BACKPORT, "0.5.21+site.patch1", COMMIT_NONE, false, "fixed", "backport_declared"},
    {BUILD_BACKPORT, "0.5.20+site.patch1", COMMIT_NONE, false, "fixed", "backport_undocumented"},
    {BUILD_CANDIDATE, "0.5.22rc1", COMMIT_NONE, false, "unknown", NEEDS},
    {BUILD_CANDIDATE, "0.6.1rc2", COMMIT_NONE, false, "unknown", NEEDS},
    {BUILD_NAME, "main", COMMIT_NONE, false, "unknown", "version_unreadable"},
    {BUILD_NAME, "latest", COMMIT_NONE, false, "unknown", "version_unreadable"},
    {BUILD_CONTRADICTS, "0.5.22", COMMIT_WITHOUT, true, "unknown", "commit_contradicts_version"},
    {BUILD_CONTRADICTS, "0.5.21", COMMIT_WITH, true, "unknown", "commit_contradicts_version"},
    {BUILD_AGAIN, "0.6.0", COMMIT_NONE, false, "affected", IN},
    {BUILD_AGAIN, "0.6.0.post1", COMMIT_NONE, false, "affected", IN},
    {BUILD_AGAIN_FIXED, "0.6.1", COMMIT_NONE, false, "fixed", OUT},
    {BUILD_AGAIN_FIXED, "0.6.1+cu129", COMMIT_NONE, false, "fixed", OUT LABEL},
    {BUILD_LISTED, "0.5.24.post1", COMMIT_NONE, false, "affected", "version_listed"},
};
const size_t n_builds = ARRAY_SIZE(builds);

/* clang-format off */
#define AFFECTED(why) {"verified_affected", "L4", why}
#define FIXED(why)    {"verified_fixed", "L4", why}
#define OPEN(why)     {"undetermined", "L4", why}
#define STALE(why)    {"stale", "L4", why}
#define CONFLICT(why) {"conflicting", "L4", why}
#define SILENT        {"undetermined", NULL, "no_version"}
#define THERE         {"undetermined", "L3", "process_not_seen"}
#define UNSEEN(why)   {"not_observed", NULL, why}
#define RETIRED       {"retired", "L4", "retired_by_inventory"}
#define FIRST         {FORM_SAID, WHEN_START, 0, BUILD_NONE}
#define SECOND        {FORM_SAID, WHEN_START, 1, BUILD_NONE}
#define ROUND_1(life) {FORM_INFO, WHEN_ROUND_1, life, BUILD_NONE}
/* restarted with something else, which says so at once */
#define BECOMES(name, kind, form, then) \
	{name, -1, {BUILD_OLD, kind}, 0, {FIRST, {form, WHEN_START, 1, BUILD_NONE}}, {AFFECTED(NULL), then, then, then}}

const struct story stories[] = {
    {"upgraded", -1, {BUILD_OLD, BUILD_FIXED}, STORY_MAYBE_POD, {FIRST, SECOND},
     {AFFECTED(NULL), FIXED(OUT), FIXED(OUT), FIXED(OUT)}},
    {"asked_later", -1, {BUILD_OLD, BUILD_FIXED}, STORY_MAYBE_POD, {FIRST, ROUND_1(1)},
     {AFFECTED(NULL), SILENT, FIXED(OUT), FIXED(OUT)}},
    {"refuses", ROLE_PREFILL, {BUILD_OLD, BUILD_FIXED}, STORY_REFUSES, {FIRST, SECOND},
     {AFFECTED(NULL), FIXED(OUT), {"verified_fixed", "L5", OUT}, {"verified_fixed", "L5", OUT}}},
    {"serves", ROLE_PREFILL, {BUILD_OLD, BUILD_FIXED}, STORY_SERVES, {FIRST, SECOND},
     {AFFECTED(NULL), FIXED(OUT), FIXED(OUT), CONFLICT("served_over_limit")}},
    {"always_fixed", -1, {BUILD_FIXED}, STORY_MAYBE_POD, {FIRST, {FORM_INFO, WHEN_MIDDLE, 0, BUILD_NONE}, ROUND_1(0)},
     {FIXED(OUT), FIXED(OUT), FIXED(OUT), FIXED(OUT)}},
    {"not_upgraded", -1, {BUILD_OLD}, 0, {FIRST, ROUND_1(0)},
     {AFFECTED(IN), STALE("older_than_allowed"), AFFECTED(IN), AFFECTED(IN)}},
    {"rolled_back", -1, {BUILD_FIXED, BUILD_OLD}, 0, {FIRST, SECOND},
     {FIXED(OUT), AFFECTED(NULL), AFFECTED(NULL), AFFECTED(NULL)}},
    {"old_evidence", -1, {BUILD_FIXED}, 0, {FIRST},
     {FIXED(OUT), STALE("older_than_allowed"), STALE("older_than_allowed"), STALE("older_than_allowed")}},
    {"dev_without_commit", -1, {BUILD_OLD, BUILD_DEV}, 0, {ROUND_1(1)}, {SILENT, SILENT, OPEN(NEEDS), OPEN(NEEDS)}},
    BECOMES("dev_with_fix", BUILD_DEV_WITH, FORM_SAID, FIXED("commit_contains_fix")),
    BECOMES("dev_without_fix", BUILD_DEV_WITHOUT, FORM_SAID, AFFECTED("commit_lacks_fix")),
    BECOMES("dev_without_tag", BUILD_NO_TAG, FORM_SAID, OPEN("commit_not_listed")),
    BECOMES("local_build", BUILD_LOCAL, FORM_SAID, AFFECTED("local_build_below_fix")),
    BECOMES("backport", BUILD_BACKPORT, FORM_SAID, FIXED(NULL)),
    BECOMES("candidate", BUILD_CANDIDATE, FORM_SAID, OPEN(NEEDS)),
    BECOMES("named", BUILD_NAME, FORM_INFO, OPEN("version_unreadable")),
    BECOMES("commit_contradicts", BUILD_CONTRADICTS, FORM_LINE, OPEN("commit_contradicts_version")),
    BECOMES("post_release", BUILD_POST, FORM_SAID, FIXED(OUT)),
    BECOMES("defect_again", BUILD_AGAIN, FORM_SAID, AFFECTED(IN)),
    BECOMES("fixed_again", BUILD_AGAIN_FIXED, FORM_SAID, FIXED(OUT)),
    BECOMES("listed_version", BUILD_LISTED, FORM_SAID, AFFECTED("version_listed")),
    {"disk_ahead", -1, {BUILD_OLD}, 0, {FIRST, ROUND_1(0), {FORM_PIP, WHEN_ROUND_1, 0, BUILD_FIXED}},
     {AFFECTED(IN), STALE("older_than_allowed"), CONFLICT("versions_conflict"), CONFLICT("versions_conflict")}},
    {"disk_behind", -1, {BUILD_OLD, BUILD_FIXED}, 0, {FIRST, SECOND, {FORM_PIP, WHEN_ROUND_2, 1, BUILD_OLD}},
     {AFFECTED(NULL), FIXED(OUT), FIXED(OUT), CONFLICT("versions_conflict")}},
    {"two_snapshots", -1, {BUILD_OLD, BUILD_FIXED}, 0,
     {FIRST, {FORM_INFO, WHEN_ROUND_1, 1, BUILD_OLD}, {FORM_INFO, WHEN_ROUND_2, 1, BUILD_NONE}},
     {AFFECTED(NULL), SILENT, AFFECTED(NULL), CONFLICT("versions_conflict")}},
    {"replaced", -1, {BUILD_OLD, BUILD_FIXED}, STORY_REPLACED, {FIRST, SECOND, {FORM_POD, WHEN_ROUND_2, 1, BUILD_FIXED}},
     {AFFECTED(NULL), FIXED(OUT), FIXED(OUT), STALE("restarted_since")}},
    {"crashes", -1, {BUILD_OLD, BUILD_FIXED}, STORY_CRASHES, {FIRST, SECOND, {FORM_POD, WHEN_ROUND_2, 1, BUILD_FIXED}},
     {AFFECTED(NULL), FIXED(OUT), FIXED(OUT), STALE("process_ended")}},
    {"ended", -1, {BUILD_OLD, BUILD_FIXED}, STORY_ENDS, {FIRST, SECOND},
     {AFFECTED(NULL), FIXED(OUT), STALE("process_ended"), STALE("process_ended")}},
    {"never_seen", -1, {BUILD_NONE}, 0, {{FORM_NONE, WHEN_START, 0, BUILD_NONE}},
     {UNSEEN("not_seen"), UNSEEN("not_seen"), UNSEEN("not_seen"), UNSEEN("not_seen")}},
    {"ordered", -1, {BUILD_NONE}, STORY_ORDERED, {{FORM_NONE, WHEN_START, 0, BUILD_NONE}},
     {{"not_observed", "L2", "not_seen"}, {"not_observed", "L2", "not_seen"}, {"not_observed", "L2", "not_seen"},
      {"not_observed", "L2", "not_seen"}}},
    {"retired", -1, {BUILD_OLD}, STORY_RETIRED, {FIRST}, {AFFECTED(IN), RETIRED, RETIRED, RETIRED}},
    {"retired_disk_left", -1, {BUILD_OLD}, STORY_RETIRED | STORY_DELETED, {FIRST, {FORM_PIP, WHEN_ROUND_1, 0, BUILD_FIXED}},
     {AFFECTED(IN), RETIRED, RETIRED, RETIRED}},
    {"retired_undated", -1, {BUILD_OLD}, STORY_RETIRED | STORY_UNDATED, {FIRST},
     {AFFECTED(SINCE), STALE(SINCE), STALE(SINCE), STALE("process_ended")}},
    {"retired_undated_at_work", -1, {BUILD_OLD}, STORY_WORKS_ON | STORY_UNDATED, {FIRST, ROUND_1(0)},
     {AFFECTED(SINCE), STALE("older_than_allowed"), AFFECTED(SINCE), AFFECTED(SINCE)}},
    {"retired_undated_upgraded", -1, {BUILD_OLD, BUILD_FIXED}, STORY_WORKS_ON | STORY_UNDATED, {FIRST, SECOND},
     {AFFECTED(SINCE), FIXED(SINCE), FIXED(SINCE), FIXED(SINCE)}},
    {"retired_undated_unseen", -1, {BUILD_NONE}, STORY_UNDATED, {{FORM_NONE, WHEN_START, 0, BUILD_NONE}},
     {UNSEEN(SINCE), UNSEEN(SINCE), UNSEEN(SINCE), UNSEEN("not_seen")}},
    {"retired_at_work", -1, {BUILD_OLD}, STORY_WORKS_ON, {FIRST, ROUND_1(0)},
     {AFFECTED(IN), CONFLICT("seen_after_retired"), CONFLICT("seen_after_retired"), CONFLICT("seen_after_retired")}},
    {"outside", -1, {BUILD_OLD, BUILD_FIXED}, STORY_UNLISTED, {FIRST, SECOND},
     {AFFECTED("outside_inventory"), FIXED("outside_inventory"), FIXED("outside_inventory"), FIXED("outside_inventory")}},
    {"outside_not_upgraded", -1, {BUILD_OLD}, STORY_UNLISTED, {FIRST, ROUND_1(0)},
     {AFFECTED("outside_inventory"), STALE("older_than_allowed"), AFFECTED("outside_inventory"), AFFECTED("outside_inventory")}},
    {"unmet", ROLE_UNIFIED, {BUILD_OLD}, 0, {FIRST, ROUND_1(0)},
     {OPEN("requirements_not_met"), STALE("older_than_allowed"), OPEN("requirements_not_met"), OPEN("requirements_not_met")}},
    {"unified_upgraded", ROLE_UNIFIED, {BUILD_OLD, BUILD_FIXED}, 0, {FIRST, SECOND},
     {OPEN("requirements_not_met"), FIXED(OUT), FIXED(OUT), FIXED(OUT)}},
    {"not_started", -1, {BUILD_NONE, BUILD_FIXED}, STORY_LATE, {SECOND},
     {UNSEEN("not_started_yet"), UNSEEN("not_started_yet"), UNSEEN("not_started_yet"), FIXED(OUT)}},
    {"image_only", -1, {BUILD_OLD, BUILD_FIXED}, STORY_NO_LOG, {{FORM_POD, WHEN_ROUND_1, 1, BUILD_FIXED}},
     {UNSEEN("not_seen"), UNSEEN("not_seen"), THERE, THERE}},
    {"container_only", -1, {BUILD_OLD, BUILD_FIXED}, STORY_NO_LOG, {{FORM_DOCKER, WHEN_ROUND_1, 1, BUILD_FIXED}},
     {UNSEEN("not_seen"), UNSEEN("not_seen"), THERE, THERE}},
    {"disk_only", -1, {BUILD_OLD}, STORY_NO_LOG, {{FORM_PIP, WHEN_ROUND_1, 0, BUILD_FIXED}},
     {UNSEEN("not_seen"), UNSEEN("not_seen"), THERE, THERE}},
    {"silent", -1, {BUILD_OLD, BUILD_FIXED}, 0, {{FORM_NONE, WHEN_START, 0, BUILD_NONE}}, {SILENT, SILENT, SILENT, SILENT}},
    {"undated", -1, {BUILD_OLD, BUILD_FIXED}, 0, {FIRST, {FORM_UNDATED, WHEN_ROUND_1, 1, BUILD_NONE}},
     {AFFECTED(NULL), SILENT, STALE("evidence_undated"), STALE("evidence_undated")}},
};
const size_t n_stories = ARRAY_SIZE(stories);
