#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kinds.py - tracers that never write one kind of record: their page logs have no hole, and yet confirm and clear nobody

A gap names each worker and the kind; where nothing needs the kind, all is as it was.
"""
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import check, finish, run  # noqa: E402


def without(logs, kind):
    """Takes the records of a kind out of all page logs, and numbers the others anew. Whose they were."""
    had = set()
    for name in os.listdir(logs):
        if not name.endswith(".pages.jsonl"):
            continue
        with open(os.path.join(logs, name), encoding="utf-8") as f:
            lines = f.readlines()
        left = [x for x in lines if f'"op":"{kind}"' not in x]
        if len(left) < len(lines):
            had.add(name.split(".")[0])
        with open(os.path.join(logs, name), "w", encoding="utf-8") as f:
            f.writelines(re.sub(r'"seq":\d+', f'"seq":{i}', x) for i, x in enumerate(left))
    return had


def rows(*args):
    return json.loads(run(*args, "--json", "--limit", "0", codes=(0, 1)))["rows"]


def fleet(scenario, seed, requests, kind, engine_logs=True):
    name = f"{scenario} {seed} without {kind}" + ("" if engine_logs else ", nor logs of decode workers")
    print(f"-- {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kinds-") as folder:
        made, case = os.path.join(folder, "made"), os.path.join(folder, "case.ptc")
        logs = os.path.join(made, "logs")
        run("simulate", made, "--scenario", scenario, "--seed", str(seed), "--requests", str(requests))
        with open(os.path.join(made, "truth.json"), encoding="utf-8") as f:
            truth = json.load(f)
        had = without(logs, kind)
        if not engine_logs:
            for x in os.listdir(logs):
                if re.fullmatch(r"decode-\d(\.metrics)?\.log", x):
                    os.remove(os.path.join(logs, x))
        run("ingest", case, logs)
        said = {g["worker"] for g in rows("gaps", case) if f"no '{kind}' record at all" in g["effect"]}
        check(said == had, f"{name}: a gap names each worker", said ^ had)
        policy = ("--policy", "builtin:interrupted_transfer") if scenario == "late_write" else ()
        scope = rows("scope", case, "--class", "C1,C2,C3,C4,C5", *policy)
        exposed = rows("scope", case, "--side", "exposed", "--class", "E4", *policy)
        read = {r["request"] for r in truth["responses"] if r["foreign_read"] == "yes" and r["delivered"] == "yes"}
        owners = {e["owner"] for e in truth["exposures"] if e.get("owner") and e["kind"] != "shared" and e["delivered"] == "yes"}
        check(bool(read) == (scenario != "prefix_share"), f"{name}: somebody read")
        wrong = {r["request"] for r in scope if r["class"] == "C1"} - read
        check(not wrong, f"{name}: nobody is confirmed who was not affected", len(wrong))
        wrong = {r["request"] for r in scope if r["class"] == "C4"} & read
        check(not wrong, f"{name}: no affected response is cleared", wrong)
        wrong = owners & {r["request"] for r in exposed}
        check(not wrong, f"{name}: no owner is cleared", wrong)


fleet("incident", 1, 400, "write")
fleet("incident", 3, 400, "recv")
fleet("incident", 3, 400, "recv", engine_logs=False)
fleet("prefix_share", 1, 400, "share")
fleet("late_write", 2, 1200, "recv")
finish()
