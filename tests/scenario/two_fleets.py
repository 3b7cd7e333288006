#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""two_fleets.py - two fleets whose workers have the same names, in one case, each in its own folder or archive

One name is taken for one worker, so that nothing may follow from it any more: a gap says so of each worker, no owner is cleared, nobody
is confirmed by pages that may be the other's. In a case for each fleet all is as it is.
"""
import json
import os
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import check, finish, run  # noqa: E402


def truth_of(folder):
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
        return json.load(f)


def two(first, second, archive):
    name = f"{first} and {second}"
    print(f"-- {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="two-fleets-") as folder:
        logs, case, truths = os.path.join(folder, "logs"), os.path.join(folder, "case.ptc"), []
        os.mkdir(logs)
        for part, (scenario, seed) in zip("ab", (first, second)):
            made = os.path.join(folder, part)
            run("simulate", made, "--scenario", scenario, "--seed", str(seed), "--requests", "400")
            truths.append(truth_of(made))
            if archive:
                with tarfile.open(os.path.join(logs, part + ".tar.gz"), "w:gz") as t:
                    t.add(os.path.join(made, "logs"), arcname="logs")
            else:
                os.rename(os.path.join(made, "logs"), os.path.join(logs, part))
        run("ingest", case, logs)
        gaps = json.loads(run("gaps", case, "--json", "--limit", "0", codes=(1,)))["rows"]
        said = {g["worker"] for g in gaps if g["kind"] == "boot" and "logs of two servers" in g["effect"]}
        both = set.intersection(*({b["worker"] for b in t["boots"]} for t in truths))
        check(said == both, f"{name}: a gap says so of each worker", both ^ said)
        responses = json.loads(run("scope", case, "--class", "C1,C2,C3,C4,C5", "--json", "--limit", "0", codes=(1,)))["rows"]
        exposed = json.loads(run("scope", case, "--side", "exposed", "--class", "E4", "--json", "--limit", "0", codes=(1,)))["rows"]
        read = {r["request"] for t in truths for r in t["responses"] if r["foreign_read"] == "yes" and r["delivered"] == "yes"}
        owners = {e["owner"] for t in truths for e in t["exposures"] if e.get("owner") and e["kind"] != "shared" and e["delivered"] == "yes"}
        check(owners, f"{name}: somebody was read")
        wrong = {r["request"] for r in responses if r["class"] == "C4"} & read
        check(not wrong, f"{name}: no affected response is cleared", wrong)
        wrong = owners & {r["request"] for r in exposed}
        check(not wrong, f"{name}: no owner is cleared", wrong)
        wrong = {r["request"] for r in responses if r["class"] == "C1"} - read
        check(not wrong, f"{name}: nobody is confirmed by another's pages", wrong)


two(("incident", 3), ("prefix_share", 1), False)
two(("messy", 1), ("messy", 2), True)
finish()
