/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.h - which version each replica runs, and how well that is known; private to deploy*.c
 *
 * A replica is a worker; the data-parallel ranks of one server are one replica. What is known of a boot is a list of claims, each a
 * record that says a version; the verdict is a pure function of them and of a few times (docs/deploy.md has the rules).
 */
#pragma once

#include "pagetrail/event.h"
#include "pagetrail/inventory.h"
#include "pagetrail/limits.h"
#include "pagetrail/policy.h"
#include "register.h"

/* X(ID, "code", sentence), in the order in which they are listed; those of the policy (policy.h) follow. */
#define DEPLOY_REASONS(X)                                                                                             \
	X(VERSIONS_CONFLICT, "versions_conflict", "Records of the same boot say versions with and without the fix.")  \
	X(SERVED_OVER_LIMIT, "served_over_limit",                                                                     \
	  "It says that it has the fix, and a prompt at or over its limit was served through it.")                    \
	X(SEEN_AFTER_RETIRED, "seen_after_retired", "The inventory retires it, and logs show it at work after that.") \
	X(SEEN_BEFORE_START, "seen_before_start",                                                                     \
	  "The inventory says that it began after this time, and logs show it at work before.")                       \
	X(RETIRED, "retired_by_inventory", "By the inventory it is gone: it is in no percentage.")                    \
	X(RETIRED_UNDATED, "retired_undated", "The inventory calls it retired, and does not say since when.")         \
	X(RETIRED_LATER, "retired_in_future", "The inventory calls it retired, as of a time that is still to come.")  \
	X(PROCESS_ENDED, "process_ended",                                                                             \
	  "Its last known process ended. That nothing runs in its place, nobody says.")                               \
	X(RESTARTED_SINCE, "restarted_since", "It was started again after the newest record of its version.")         \
	X(OLDER, "older_than_allowed", "The newest record of its version is older than the policy allows.")           \
	X(UNDATED, "evidence_undated", "The record of its version has no time: how old it is, nobody knows.")         \
	X(ORDER_UNKNOWN, "order_unknown",                                                                             \
	  "The record that says fixed has no time, and one with a time says affected: which came first, nobody "      \
	  "knows.")                                                                                                   \
	X(IN_FUTURE, "evidence_in_future",                                                                            \
	  "The newest record of its version is dated later than the time that counts.")                               \
	X(NOT_SEEN, "not_seen", "No record of what it runs at or before this time.")                                  \
	X(NOT_STARTED, "not_started_yet", "By the inventory it began after this time.")                               \
	X(PROCESS_NOT_SEEN, "process_not_seen", "The version is known of images or disks only: no process said it.")  \
	X(OUTSIDE, "outside_inventory", "The inventory does not have it: it is in no percentage.")

#define DEPLOY_REASON_ENUM(id, code, says) DEPLOY_##id,
enum deploy_reason { DEPLOY_REASONS(DEPLOY_REASON_ENUM) DEPLOY_REASON_COUNT };
#undef DEPLOY_REASON_ENUM
const char *deploy_reason_code(enum deploy_reason r);
const char *deploy_reason_says(enum deploy_reason r);

/* Who says what is in an image: the list of its packages; and what shows the digests of both to be of one image. */
#define CLAIM_IMAGE_REFS 3

struct claim { /* one record that says what is run, or what lies there */
	enum rung rung;
	int64_t at_ns; /* TIME_UNKNOWN: nobody knows */
	bool vague;    /* the time of a file: it is not younger than that, and may be much older */
	struct text package, version, commit, digest;
	struct policy_answer says;
	struct ref ref;
	struct ref image[CLAIM_IMAGE_REFS]; /* len 0: none */
};

/* What a verdict follows from. Only what was known at or before the time that is judged. */
struct boot_evidence {
	const struct claim *claims; /* of this boot, from rung 3 on; without a boot all that there is */
	size_t n;
	bool observed;        /* anything of rung 3 or above, or a boot, whatever it said of its version */
	bool current;         /* the replica's state at that time, not one of its past */
	bool listed, retired; /* the inventory has it; says that it is gone by that time */
	bool seen_after;      /* at work after the inventory retired it */
	bool not_started;     /* by the inventory it began after that time, and nothing shows it at work by then */
	bool seen_before;     /* by the inventory it began after that time, and it was at work well before */
	bool retired_later;   /* it is called retired, as of a time to come */
	bool retired_undated; /* it is called retired, and nobody says since when */
	bool outside;         /* there is an inventory, and it does not have it */
	bool ended;           /* the process, before that time, and nothing else of it is known */
	bool future;          /* a record of its container, or the start that it tells, is dated later than now */
	bool said_affected;   /* by any dated record of the replica, of whatever boot */
	int64_t restarted_ns; /* newest known start of its container; TIME_UNKNOWN: none known */
	int64_t age_at_ns;    /* time against which age counts */
	int64_t now_ns;       /* what is dated later is of the future; TIME_UNKNOWN: nothing is */
	int64_t max_age_ns;   /* TIME_UNKNOWN: any */
	int64_t refused_ns;   /* last over-long prompt that it refused; TIME_UNKNOWN: none */
	bool may_have_served; /* an over-long prompt was, or may have been, served through it */
	bool served_over;     /* one was for sure */
};

struct boot_verdict {
	enum deploy_verdict verdict;
	enum rung rung;
	enum fix fix;           /* of its version */
	uint32_t reasons;       /* bit per enum deploy_reason */
	uint32_t policy;        /* bit per enum policy_reason */
	int64_t evidence_ns;    /* newest record of the version */
	int64_t fixed_ns;       /* first one by the process that says fixed; TIME_UNKNOWN: none */
	const struct claim *by; /* the record that decides; NULL: none */
};
struct boot_verdict deploy_judge(const struct boot_evidence *e);

/* ---- the evidence of a case (deploy_evidence.c) ---- */

struct deploy_boot {
	int64_t started_ns, ended_ns, seen_ns; /* seen: first sign of it */
	struct text role, engine, version, commit, model, backend, refs;
	int64_t context_len, pool_tokens, input_limit; /* UNSAID; of several ranks the least */
	enum tri exceeds;
	struct claim *claims;
	size_t n_claims, cap_claims;
	int64_t
	    refused_ns; /* over-long prompts: the first refused, the first that may have been served, that was for sure */
	int64_t may_have_served_ns,
	    served_over_ns;                 /* TIME_UNKNOWN: none; the lowest that is known: at an unknown time */
	struct ref refused_ref, served_ref; /* len 0: none */
	int64_t *ids;                       /* rows of boot: one for each rank */
	size_t n_ids, cap_ids;
};

struct container_seen {
	int64_t at_ns, started_ns, ended_ns, restarts;
	struct text digest, image, container, node, state, role;
	bool there; /* it runs, by this record */
	bool vague; /* as of a claim */
	bool holds; /* its image is known to hold a package of the policy */
	struct ref ref;
};

struct replica {
	struct text name;
	int64_t last_ns;  /* last record of it */
	int64_t work_ns;  /* last sign in its logs */
	int64_t began_ns; /* first sign that it was at work; TIME_UNKNOWN: none */
	int64_t gone_ns;  /* by the inventory it is gone by then; TIME_UNKNOWN: it does not say so, or not since when */
	int64_t
	    after_retired_ns; /* first sign that it was at work after the inventory retired it; TIME_UNKNOWN: none */
	struct deploy_boot *boots;
	size_t n_boots, cap_boots;
	struct claim *loose; /* that belong to no boot */
	size_t n_loose, cap_loose;
	struct container_seen *containers;
	size_t n_containers, cap_containers;
	const struct inventory_row *listed; /* NULL: not in the inventory, or there is none */
};

struct replica_name { /* a name or another one of a replica */
	struct text name;
	struct replica *is; /* NULL: several have it */
};

struct deploy {
	struct case_file *c;
	const struct policy *policy;
	struct policy *own_policy; /* where none was given */
	const struct inventory *inventory;
	struct arena arena;
	struct replica **replicas; /* by name, once all are there */
	size_t n, cap;
	struct replica_name *names; /* hash table */
	size_t n_names, cap_names;
	enum rung fleet_rung; /* of the fix, whoever runs it: built, or ordered */
	int64_t last_ns;      /* last event of the case that is not of the future */
	int64_t ingested_ns;  /* last time that something was read into it; TIME_UNKNOWN: not known */
	int64_t read_ns;      /* nothing in it can be younger, whatever its zone; TIME_UNKNOWN: likewise */
	bool any_future;      /* something says that it is */
};

int deploy_collect(struct deploy **ret, struct analysis *a, struct err *err) MUST_CHECK;
void deploy_free(struct deploy *d); /* accepts NULL */
enum tri context_exceeds_pool(struct text engine, int64_t context, int64_t pool, int64_t limit);
/* The replica that a worker is, under whatever name and rank; NULL: none, or several. */
struct replica *deploy_find(struct deploy *d, struct text worker);
int deploy_replica(struct deploy *d, struct text worker, struct replica **ret,
		   struct err *err) MUST_CHECK; /* made if need be */
/* Gives a record to the boot that it speaks of. Its texts are copied, its answer of the policy is filled in. */
int deploy_claim(struct deploy *d, struct replica *r, struct claim c, struct err *err) MUST_CHECK;
/* A growing array in the arena. */
int deploy_grow(struct deploy *d, void **list, size_t *cap, size_t n, size_t size, struct err *err) MUST_CHECK;
int deploy_keep(struct deploy *d, struct text *t, struct err *err) MUST_CHECK; /* copies it into the arena */
/* deploy_install.c: what is installed, and which containers there are */
int deploy_installs(struct deploy *d, struct err *err) MUST_CHECK;
/* What is dated later than now by more is dated wrongly. */
#define FUTURE_SKEW_NS (600 * NS_PER_S)
static inline bool deploy_is_future(int64_t at_ns, int64_t now_ns)
{
	return at_ns != TIME_UNKNOWN && now_ns != TIME_UNKNOWN && at_ns > now_ns && at_ns - FUTURE_SKEW_NS > now_ns;
}
/* deploy_time.c: when the case was read; the replica's last record, if it is; what is last of all */
int deploy_read_time(struct deploy *d, struct err *err) MUST_CHECK;
void deploy_last(struct deploy *d, struct replica *r, int64_t at_ns);
int deploy_end(struct deploy *d, struct err *err) MUST_CHECK;
/* Logs go on for some time after an inventory has taken a replica out, and begin before it has taken one in. */
#define INVENTORY_SKEW_NS (600 * NS_PER_S)
/* deploy_tails.c: until when logs of those who are said to be retired say anything, be it no event */
int deploy_tails(struct deploy *d, struct err *err) MUST_CHECK;
/* deploy_signs.c: who was at work after it was retired, and since when; once all the rest is there */
int deploy_signs(struct deploy *d, struct err *err) MUST_CHECK;
