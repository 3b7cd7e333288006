#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fleets.py - many small fleets of any seed and size: boots, classes, grades, owners and pages are those of the truth

PAGETRAIL_SEED is the first seed, PAGETRAIL_ROUNDS how many.
"""
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, failures, finish, rounds  # noqa: E402

SEED = int(os.environ.get("PAGETRAIL_SEED", random.SystemRandom().randrange(1 << 31)))
ROUNDS = int(os.environ.get("PAGETRAIL_ROUNDS", rounds(40, 4)))
SCENARIOS = ("incident", "late_write", "prefix_share", "clean")

for n in range(ROUNDS):
    rng = random.Random(SEED + n)
    scenario, requests = SCENARIOS[(SEED + n) % len(SCENARIOS)], int(10 ** rng.uniform(1.5, 2.9))
    before = len(failures)
    r = Rehearsal(scenario, SEED + n, "--requests", str(requests))
    r.check_boots()
    r.check_scope()
    r.check_exposures()
    if len(failures) > before:
        print(f"   of {requests} requests; PAGETRAIL_SEED={SEED + n} PAGETRAIL_ROUNDS=1 repeats it", flush=True)
finish()
