#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clean.py - nothing went wrong: no finding, whatever the configuration could have done"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, check, finish, seeds  # noqa: E402

for seed in seeds((1, 2)):
    r = Rehearsal("clean", seed)
    r.check_sources()
    r.check_boots()
    truth, rows = r.check_scope()
    check(not rows, f"{r.name}: nothing is listed", len(rows))
    check(not r.check_exposures(), f"{r.name}: no exposure")
    exposed = {b["worker"] for b in r.truth["boots"] if b["context_exceeds_pool"] == "yes"}
    check(("prefill-0" in exposed) == bool(seed & 1), f"{r.name}: pools below the context window by an odd seed", exposed)
    check(any(t["prompt_tokens"] > 600000 for t in truth.values()), f"{r.name}: there are long prompts")
    check(any(681280 <= t["prompt_tokens"] and t["decode_worker"] == "unified-0" and t["delivered"] == "yes"
              for t in truth.values()), f"{r.name}: a truncated prompt was served")
    served = {k for k, t in truth.items() if t["decode_worker"] == "unified-0" and t["delivered"] == "yes" and t["prompt_tokens"] >= 681274}
    cut = {r.key(x): x for x in r.ask("scope", "--class", "C4", codes=(0,))["rows"] if r.key(x) in served}
    check(len(cut) == len(served), f"{r.name}: truncated prompts are counted", (len(served), len(cut)))
    check(all(x["band"] == "under" and "truncated_and_served" in x["reasons"] and x["predicates"]["T"] == "no" for x in cut.values()),
          f"{r.name}: a truncated prompt is under the limit", list(cut.values())[:1])
finish()
