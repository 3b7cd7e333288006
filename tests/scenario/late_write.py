#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""late_write.py - transfers that outlive their request: every reader and every owner, although no prompt was too long"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, check, finish  # noqa: E402

for seed in (1, 77):
    r = Rehearsal("late_write", seed)
    r.check_sources()
    r.check_boots()
    truth, rows = r.check_scope()
    check(len(rows) >= 5, f"{r.name}: there are victims", len(rows))
    check(all(x["class"] == "C1" for x in rows.values()), f"{r.name}: all of them confirmed")
    check(all(x["predicates"]["T"] == "no" for x in rows.values()), f"{r.name}: the length is not the trigger")
    exposures = r.check_exposures()
    check({e["kind"] for e in exposures} == {"late_write"}, f"{r.name}: one kind only", {e["kind"] for e in exposures})
finish()
