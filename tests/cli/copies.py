#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# copies.py [ROUNDS] - random sets of files that are beginnings and copies of each other: one content digest for every order, cut
# into every number of runs, with and without kills. PAGETRAIL_SEED repeats a run.
import os
import random
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import restamp, PAGETRAIL, Box, expect, sums_hold

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
seed = int(os.environ.get("PAGETRAIL_SEED", random.randrange(1 << 30)))
rng = random.Random(seed)
print(f"seed {seed}, {rounds} rounds", flush=True)
SIZES = (0, 100, 1000, 5000, 20000, 1 << 20, (1 << 20) + 1, (1 << 20) + 30000, 2 << 20, 5 << 19)
NAMES = ("a/app.%s", "a/app.%s.1", "a/app.%s.2", "b/app.%s", "c/other.%s")


def make_files(whole, ext):
    """Beginnings of one log, some of which go on in another way."""
    files = {}
    for _ in range(rng.randint(2, 6)):
        size = min(max(rng.choice(SIZES) + rng.choice((0, 0, 1, -1, 77)), 0), len(whole))
        data = whole[:size]
        if rng.random() < 0.3 and size > 3000:
            data = data[:rng.randrange(size)] + whole[-rng.randint(1, 200000):]
        files[rng.choice(NAMES) % ext] = data
    return files


def in_runs(box, case, order):
    """All files, some at a time, some runs killed; then all again."""
    at = 0
    while at < len(order):
        n = rng.randint(1, len(order) - at)
        args = ["ingest", case, *order[at:at + n], "--jobs", str(rng.choice((1, 2, 4)))]
        at += n
        if rng.random() < 0.6:
            box.run(*args, code=(0, 3))
            continue
        p = subprocess.Popen([os.path.abspath(PAGETRAIL), *args], cwd=box.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(rng.uniform(0, 0.15))
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    box.run("ingest", case, *rng.sample(order, len(order)), code=(0, 3))


with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "5", "--requests", "8000")
    logs = [(open(box.path(f"r/logs/decode-1.{ext}"), "rb").read(), ext.split(".")[-1]) for ext in ("log", "pages.jsonl")]
    for n in range(rounds):
        files = make_files(*rng.choice(logs))
        for name in NAMES:
            shutil.rmtree(box.path(os.path.dirname(name)), ignore_errors=True)
        for path, data in files.items():
            box.write(path, data)
        box.run("ingest", f"{n}.ptc", *sorted(files), code=(0, 3))
        want = box.json("verify", f"{n}.ptc")["content_digest"]
        for t in range(2):
            case, order = f"{n}-{t}.ptc", rng.sample(sorted(files), len(files))
            in_runs(box, case, order)
            what = f"round {n}, seed {seed}, {order}, { {k: len(v) for k, v in files.items()} }"
            expect(box.json("verify", case)["content_digest"] == want, f"the digest of a run over all: {what}")
            for row in box.json("ingest", case, *order, code=(0, 3))["rows"]:
                sums_hold(row)
                expect(row["status"] == "known", f"nothing new: {row}, {what}")

    # a copy whose row was damaged: what salvage reads of it again is still the other source's
    data = logs[1][0]
    box.write("x/decode-1/p.jsonl", data)
    box.write("y/decode-1/p.jsonl", data[:len(data) // 2])
    box.run("ingest", "s.ptc", "x", "y")
    events = box.json("sql", "s.ptc", "SELECT count(*) n FROM page_events")["rows"]
    with sqlite3.connect(box.path("s.ptc")) as db:
        db.execute("UPDATE source SET worker_basis = 'changed' WHERE duplicate > 0")
    db.close()
    restamp(box.path("s.ptc"))
    box.run("salvage", "s.ptc", "n.ptc", code=1)
    expect(box.json("sql", "n.ptc", "SELECT count(*) n FROM page_events")["rows"] == events, "no event twice")
    for row in box.json("info", "n.ptc")["sources"]:
        sums_hold(row)
