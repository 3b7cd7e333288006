#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""late_write.py - transfers that outlive their request: every reader and every owner, although no prompt was too long

A confirmed response below the limit disproves the trigger; so what a decode worker without a page log answered is possible.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, check, finish, seeds  # noqa: E402

for seed in seeds((1, 77), 1):
    r = Rehearsal("late_write", seed)
    r.check_sources()
    r.check_boots()
    truth, rows = r.check_scope()
    classes = {c: [x for x in rows.values() if x["class"] == c] for c in ("C1", "C2", "C3")}
    check(len(classes["C1"]) >= 5, f"{r.name}: there are victims", len(classes["C1"]))
    check(not classes["C2"], f"{r.name}: nothing is probable by its length", len(classes["C2"]))
    check(len(classes["C3"]) >= 100, f"{r.name}: what nobody logged is possible", len(classes["C3"]))
    check({r.worker(x["decode_worker"]) for x in classes["C3"]} == {"decode-3"}, f"{r.name}: only there")
    check(all("no_page_log" in x["reasons"] for x in classes["C3"]), f"{r.name}: and its reason is said")
    check(all(x["predicates"]["T"] == "no" for x in rows.values()), f"{r.name}: the length is not the trigger")
    exposures = r.check_exposures()
    check({e["kind"] for e in exposures} == {"late_write"}, f"{r.name}: one kind only", {e["kind"] for e in exposures})
finish()
