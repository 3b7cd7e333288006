/* SPDX-License-Identifier: Apache-2.0 */
/* deployed.h - private to report: the rows of a deployment, by build */
#pragma once

#include "jot.h"
#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/deployed.h"
#include "pagetrail/digest.h"
#include "pagetrail/inventory.h"
#include "pagetrail/limits.h"
#include "pagetrail/policy.h"
#include "pagetrail/stamp.h"

/* What VEX says of a build, from the best to the worst; of several replicas the worst counts. */
enum vex_status { VEX_NONE, VEX_FIXED, VEX_UNDER_INVESTIGATION, VEX_KNOWN_AFFECTED, VEX_STATUSES };
const char *vex_name(enum vex_status s);

struct deployed_replica { /* texts may be empty */
	struct text name, role, model, rung, reasons, evidence, refs;
	int64_t evidence_ns, judged_ns;
	enum deploy_verdict verdict;
	enum vex_status status; /* VEX_NONE: retired, or by the inventory it had not begun */
	bool outside;
	size_t build; /* in deployed.builds */
};

enum { BUILD_ID_BYTES = 24 };
struct deployed_build {
	struct text engine, version, commit, digest; /* as records have them; empty: not known */
	char id[BUILD_ID_BYTES];                     /* "BUILD-" and the beginning of a hash over the four */
	enum vex_status status;                      /* VEX_NONE: none of its replicas counts */
	int64_t by[VERDICTS];                        /* its replicas that count */
};

struct deployed_file { /* that a verdict rests on */
	int64_t source;
	struct text path, sha256; /* hex; empty: it was not read to its end */
};

struct deployed {
	struct arena arena;
	struct publication p;
	struct text case_id, tracking_id;
	char journal[SHA256_HEX];
	struct deployed_replica *replicas; /* by name */
	size_t n, cap;
	struct deployed_build *builds; /* by the four texts */
	size_t n_builds;
	struct deployed_file *files; /* by number */
	size_t n_files, cap_files;
	int64_t by[VERDICTS], outside; /* of all replicas */
	int64_t running;               /* replicas that have a status */
	int64_t builds_by[VEX_STATUSES];
};
