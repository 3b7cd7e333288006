#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quiet.py - no false alarms: logs of fleets to which nothing happened have no silence, no missing file and no clock in doubt

Nights, bursts, restarts, small and large populations; real engine logs where PAGETRAIL_SHARED (default ../shared/data) holds them.
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import check, finish, rounds, run  # noqa: E402

KINDS = ("quiet", "rotation", "clock", "clock_step", "sequence")


def alarms(case):
    return [g for g in json.loads(run("gaps", case, "--json", codes=(0, 1)))["rows"] if g["kind"] in KINDS]


with tempfile.TemporaryDirectory(prefix="quiet-") as top:
    for scenario, seed, requests in (("clean", 11, 300), ("clean", 12, 4000), ("clean", 13, 12000), ("incident", 14, 3000),
                                     ("late_write", 15, 3000), ("prefix_share", 17, 1500),
                                     ("late_write", 16, 8000))[:rounds(7, 6)]:
        name = f"{scenario}-{seed}"
        case = os.path.join(top, name + ".ptc")
        run("simulate", os.path.join(top, name), "--scenario", scenario, "--seed", str(seed), "--requests", str(requests))
        run("ingest", case, os.path.join(top, name, "logs"))
        some = alarms(case)
        check(not some, f"{name}: nothing is missing", some)
    real = os.path.join(os.environ.get("PAGETRAIL_SHARED", "../shared/data"), "engine-logs")
    if os.path.isdir(real):
        case = os.path.join(top, "real.ptc")
        run("ingest", case, real, codes=(0, 3))
        some = alarms(case)
        check(not some, "real logs: nothing is missing", some)
finish()
