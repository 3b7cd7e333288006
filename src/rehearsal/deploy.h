/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.h - a fleet in the middle of being repaired: what each replica ran, and what was written down of it
 *
 * Private to deploy*.c. The world is made of stories (deploy_stories.c): each is one way to be, or not to be, upgraded, and
 * says by hand which verdict it deserves at four times. No verdict is computed here: a test derives them from the records.
 *
 * Hours after the beginning: 0 first starts, 36 the first time that is asked for, 57 roll-out, 60 the second one, 62 a round
 * of snapshots, 84 the third one, 92 the last round, 99 pods are listed as an inventory, 102 the logs end.
 */
#pragma once

#include "model.h"

enum { ASKED = 4, TOLD = 4, LIVES = 2, REPLICAS_MAX = WORKERS_MAX, EVIDENCE_MAX = REPLICAS_MAX * TOLD };
enum {
	ASKED_1_H = 36,
	ROLLOUT_H = 57,
	ASKED_2_H = 60,
	ROUND_1_H = 62,
	ASKED_3_H = 84,
	ROUND_2_H = 92,
	LISTED_H = 99,
	LAST_H = 102
};
enum { MAX_AGE_H = 54, SIGNS_MAX = 512 };

/* What is run, as docs/policy.md tells builds apart. */
enum build_kind {
	BUILD_NONE,
	BUILD_OLD,
	BUILD_FIXED,
	BUILD_POST,
	BUILD_DEV,
	BUILD_DEV_WITH,
	BUILD_DEV_WITHOUT,
	BUILD_NO_TAG,
	BUILD_LOCAL,
	BUILD_BACKPORT,
	BUILD_CANDIDATE,
	BUILD_NAME,
	BUILD_CONTRADICTS,
	BUILD_AGAIN,
	BUILD_AGAIN_FIXED,
	BUILD_LISTED
};
/* Commits that the policy's list has, or does not have. */
enum commit_kind { COMMIT_NONE, COMMIT_WITH, COMMIT_WITHOUT, COMMIT_UNLISTED };
struct build_said {
	enum build_kind kind;
	const char *version; /* %s: the first digits of its commit */
	enum commit_kind commit;
	bool apart; /* the commit stands beside the version, not in it */
	const char *fix, *reasons;
};
extern const struct build_said builds[];
extern const size_t n_builds;

enum form { FORM_NONE, FORM_SAID, FORM_LINE, FORM_INFO, FORM_UNDATED, FORM_PIP, FORM_POD, FORM_DOCKER };
enum when { WHEN_START, WHEN_MIDDLE, WHEN_ROUND_1, WHEN_ROUND_2 };
enum story_flag {
	STORY_NO_LOG = 1 << 0,     /* its log was not collected */
	STORY_ENDS = 1 << 1,       /* stops, and nothing comes after it */
	STORY_UNLISTED = 1 << 2,   /* not in the inventory */
	STORY_RETIRED = 1 << 3,    /* by the inventory, when it stopped */
	STORY_WORKS_ON = 1 << 4,   /* by the inventory retired; it was not */
	STORY_LATE = 1 << 5,       /* starts an evening later, as the inventory says */
	STORY_ORDERED = 1 << 6,    /* the inventory names its image */
	STORY_REFUSES = 1 << 7,    /* an over-long prompt */
	STORY_SERVES = 1 << 8,     /* one, with the fix */
	STORY_REPLACED = 1 << 9,   /* its container was started again, and nobody asked it since */
	STORY_CRASHES = 1 << 10,   /* waits between two starts */
	STORY_MAYBE_POD = 1 << 11, /* may stand in the lists of pods as well */
	STORY_UNDATED = 1 << 12,   /* the inventory calls it retired, and does not say since when */
	STORY_DELETED = 1 << 13    /* an inventory of pods says when it was deleted, not when it ended */
};
struct told {
	enum form form;
	enum when when;
	int life;             /* of which process, or beside which */
	enum build_kind says; /* BUILD_NONE: what it runs */
};
struct asked {
	const char *verdict, *rung, *reason; /* rung NULL: what is known of the fix, whoever runs it */
};
struct story {
	const char *name;
	int role; /* -1: prefill or decode */
	enum build_kind life[LIVES];
	unsigned flags;
	struct told told[TOLD];
	struct asked asked[ASKED]; /* the last one: at the end of the logs */
};
extern const struct story stories[];
extern const size_t n_stories;

struct life {
	const struct build_said *build; /* NULL: there was none */
	char version[64], commit[41];
	int64_t launch_us, ready_us, stop_us; /* stop 0: runs on */
	int64_t silent_us;                    /* its log ends then, without a word; 0: with it */
	int64_t pool_tokens, limit;
};
struct replica {
	const struct story *story;
	int w; /* worker */
	bool log, listed, folder, proxy, retired;
	struct life life[LIVES];
	int64_t started_us, retired_us; /* as the inventory says; 0: it does not. retired: so it calls it */
};
struct evidence {
	int replica, life;
	enum form form;
	int64_t at_us;
	const char *fix, *reasons;
	char version[64], commit[41], file[96];
	int64_t started_us; /* of a container */
	bool waits;         /* it does not run */
};
struct handed { /* a request that went to engines */
	int prefill, decode;
	int64_t end_us;
	uint32_t request;
	bool over, refused;
};

struct fleet {
	struct model *m;
	struct replica replica[REPLICAS_MAX];
	int n;
	struct evidence evidence[EVIDENCE_MAX];
	int n_evidence;
	char commit[COMMIT_UNLISTED + 1][41];
	char image[2][65],
	    config[65];      /* digests of the images with the defect and with the fix; of the latter's configuration */
	bool ordered;        /* by digest, in a list of replica sets */
	int64_t round_us[2]; /* when pods were listed */
	int64_t signs_us[REPLICAS_MAX][SIGNS_MAX]; /* that it was at work */
	int n_signs[REPLICAS_MAX];
	struct handed *handed;
	size_t n_handed, handed_cap;
	unsigned refused_by_gateway;
	int64_t shortest_refused;
};

static inline int64_t hours(const struct fleet *f, int h)
{
	return f->m->begin_us + h * 3600 * US_PER_S;
}
int64_t second_within(struct fleet *f, int64_t from_us, int64_t seconds);
/* deploy_serve.c */
void deploy_logs(struct fleet *f);
int deploy_life_at(const struct replica *r,
		   int64_t at_us); /* what runs and has a log then: index into life; -1: nothing */
/* deploy_write.c, deploy_truth.c */
void deploy_documents(struct fleet *f);
void deploy_inventory(struct fleet *f);
void deploy_policy(struct fleet *f);
void deploy_truth(struct fleet *f);
