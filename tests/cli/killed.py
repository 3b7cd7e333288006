#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# killed.py [MEGABYTES [KILLS]] - kill -9 at random moments: the case opens, says what it holds, and goes on to the same
# content digest. PAGETRAIL_SEED repeats a run.
import os
import random
import signal
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, rounds, sums_hold

megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else rounds(24, 10)
kills = int(sys.argv[2]) if len(sys.argv) > 2 else rounds(20, 6)
seed = int(os.environ.get("PAGETRAIL_SEED", random.randrange(1 << 30)))
rng = random.Random(seed)
print(f"seed {seed}, {megabytes} MB, {kills} kills", flush=True)


def start(box, case, jobs):
    return subprocess.Popen([os.path.abspath(PAGETRAIL), "ingest", case, "in", "--jobs", str(jobs), "--json"], cwd=box.dir,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check_half(box, case):
    """What a killed run left: sound, and it says what it holds."""
    doc = box.json("info", case)
    for row in doc["sources"]:
        sums_hold(row)
    box.run("verify", case)
    return len(doc["sources"])


with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "7", "--requests", str(megabytes * 220))
    os.mkdir(box.path("in"))
    logs = sorted(os.listdir(box.path("r/logs")))
    # one long file of each kind, some files as they are, and an archive of the rest
    for kind in (".pages.jsonl", ".log"):
        with open(box.path(f"in/all{kind}"), "wb") as out:
            for name in logs:
                if name.endswith(kind) and name.startswith("decode") and "metrics" not in name:
                    out.write(open(box.path(f"r/logs/{name}"), "rb").read())
    with tarfile.open(box.path("in/rest.tar.gz"), "w:gz", compresslevel=1) as t:
        for name in logs:
            if not name.startswith("decode") or "metrics" in name:
                t.add(box.path(f"r/logs/{name}"), name)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(box.path("in")) for f in fs)

    began = time.monotonic()
    box.run("ingest", "whole.ptc", "in")
    whole_s = time.monotonic() - began
    want = box.json("verify", "whole.ptc")["content_digest"]

    done = resumed = 0
    round_ = 0
    while done < kills:
        case = f"killed-{round_}.ptc"
        round_ += 1
        in_a_row = 1 if megabytes > 100 else rng.choice((1, 2, 3, 4))
        for _ in range(in_a_row):
            p = start(box, case, rng.choice((1, 2, 4)))
            try:
                p.wait(rng.uniform(0, 0.9 * whole_s))
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.wait()
            else:
                expect(p.returncode == 0, f"a run to end well or to be killed: {p.returncode} {p.stderr.read()}")
                continue
            done += 1
            if os.path.exists(box.path(case)) and os.path.getsize(box.path(case)) and rng.random() < 0.2:
                check_half(box, case)
        doc = box.json("ingest", case, "in")
        resumed += any(r["status"] == "resumed" for r in doc["rows"])
        got = box.json("verify", case)["content_digest"]
        expect(got == want, f"the digest of an uninterrupted run (round {round_}, seed {seed})")
        os.unlink(box.path(case))
    print(f"{done} kills in {round_} rounds over {size} stored bytes, uninterrupted {whole_s:.1f} s, {resumed} rounds went on "
          "inside a source")
