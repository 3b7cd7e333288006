#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""incident.py - all 155 responses over the pool limit, none too many, with the right class and the right owners"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, check, finish, seeds  # noqa: E402


def one(seed):
    r = Rehearsal("incident", seed)
    r.check_sources()
    r.check_boots()
    truth, rows = r.check_scope()
    over = [x for x in rows.values() if x["band"] == "over_pool"]
    boundary = [x for x in rows.values() if x["band"] == "boundary"]
    check(len(over) == 155, f"{r.name}: 155 responses over the pool", len(over))
    check(all(x["prompt_tokens"] > 681280 for x in over), f"{r.name}: all of them longer than the pool")
    # the shorter of two lengths lies, in the mean, a third of the way to the longest
    mean = sum(x["prompt_tokens"] - 681280 for x in over) / len(over) / (1040000 - 681280)
    check(0.25 < mean < 0.42, f"{r.name}: lengths thin out towards the longest", mean)
    check(len(boundary) == r.truth["counts"]["boundary"] > 0, f"{r.name}: boundary band apart", len(boundary))
    check(all(681274 <= x["prompt_tokens"] <= 681280 for x in boundary), f"{r.name}: prompts of the boundary band")
    check(all(x["model"] == "GLM-5.3" for x in rows.values()), f"{r.name}: no other model")
    # the scenario holds what must not be listed
    absent = [t for k, t in truth.items() if k not in rows]
    for what, some in {
            "rejections of the unified worker": [t for t in absent if t["status"] == 400 and not t["prefill_worker"]],
            "answers that the router suppressed": [t for t in absent if t["status"] == 400 and t["foreign_read"] == "yes"],
            "failed ones": [t for t in absent if t["status"] >= 500],
            "clients that were gone": [t for t in absent if t["status"] == 499],
            "long prompts of another model": [t for t in absent if t["model"] != "GLM-5.3" and t["prompt_tokens"] > 681280],
            "long prompts behind a larger pool": [t for t in absent if t["model"] == "GLM-5.3" and t["prompt_tokens"] > 681280
                                                  and t["delivered"] == "yes"]}.items():
        check(some, f"{r.name}: the rehearsal has {what}")
        check(all(t["class_expected"] == "C4" for t in some), f"{r.name}: {what} are C4")
    without = [x for x in rows.values() if x["class"] == "C2"]
    check(without and all(x["candidate_owners"] > 0 for x in without), f"{r.name}: candidates where no page log is")
    r.check_exposures()


for seed in seeds((20260909, 1), 1):
    one(seed)
finish()
