#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""truth.py - truth.json against the rehearsal's own logs, without the tool: page logs replayed page by page, ids by hand"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from oracle import exposures  # noqa: E402

PAGETRAIL = os.environ.get("PAGETRAIL")
if not PAGETRAIL:
    print("PAGETRAIL does not name the program: skipped")
    sys.exit(77)


def one(scenario, seed, requests):
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as top:
        d = os.path.join(top, "fleet")
        subprocess.run([PAGETRAIL, "simulate", d, "--scenario", scenario, "--seed", str(seed), "--requests", str(requests)],
                       check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(d, "truth.json"), encoding="utf-8") as f:
            truth = json.load(f)
        logs = os.path.join(d, "logs")
        with open(os.path.join(logs, "gateway.jsonl"), encoding="utf-8") as f:
            gateway = [json.loads(line) for line in f]
        answers = sum("event" not in g for g in gateway)
        assert answers == truth["population"], (answers, truth["population"])
        by_room = {str(g["bootstrap_room"]): g["x-request-id"] for g in gateway if "bootstrap_room" in g}
        by_rid = {g["gen_ai.response.id"]: g["x-request-id"] for g in gateway if "gen_ai.response.id" in g}
        rooms = {}
        for name in os.listdir(logs):
            if name.endswith(".pages.jsonl"):
                with open(os.path.join(logs, name), encoding="utf-8") as f:
                    for line in f:
                        m = re.search(r'"rid":"([\w-]+)"(?:,"room":(\d+))?', line)
                        if m:
                            rooms[m.group(1)] = m.group(2)

        def request_of(rid):
            return by_room.get(rooms.get(rid)) or by_rid.get(rid) or rid

        expected, got = collections.Counter(), collections.Counter()
        for e in truth["exposures"]:
            expected[(e["worker"], e["reader"], e["owner"], e["kind"])] += e["pages"]
        for name in sorted(os.listdir(logs)):
            if name.endswith(".pages.jsonl"):
                worker = name[:-len(".pages.jsonl")]
                for (reader, owner, kind), pages in exposures(os.path.join(logs, name), request_of).items():
                    got[(worker, reader, owner, kind)] += pages
        missing = {k: v for k, v in expected.items() if got.get(k) != v}
        extra = {k: v for k, v in got.items() if expected.get(k) != v}
        print(scenario, seed, len(expected), "exposures", len(missing), "missing", len(extra), "too many")
        if scenario == "incident":
            assert truth["counts"]["over_pool"] == max(155 * requests // 8000, 1), truth["counts"]
        return not missing and not extra


results = [one("incident", 3, 1500), one("late_write", 3, 1500), one("prefix_share", 3, 800), one("clean", 3, 600)]
sys.exit(0 if all(results) else 1)
