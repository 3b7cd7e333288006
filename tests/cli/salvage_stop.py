#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# salvage_stop.py - a salvage that is killed or finds no room leaves no case; what it must not touch stays as it is
import fcntl
import os
import resource
import signal
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, PAGETRAIL, expect, one_line_error, rounds

PROGRAM = os.path.abspath(PAGETRAIL)


def beside(box):
    return sorted(f for f in os.listdir(box.dir) if f.startswith("new"))


def start(box, **kw):
    return subprocess.Popen([PROGRAM, "salvage", "case.ptc", "new.ptc"], cwd=box.dir, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, **kw)


def no_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


with Box() as box:
    box.run("simulate", "sim", "--requests", "6000")
    box.run("ingest", "case.ptc", "sim/logs", code=(0, 3))
    digest = box.json("verify", "case.ptc")["content_digest"]

    # killed at any moment: no case under the new name, and what lies beside is none
    unfinished = 0
    for delay in [0.01 * i for i in range(1, 21, rounds(1, 3))]:
        p = start(box)
        time.sleep(delay)
        p.kill()
        p.communicate()
        if os.path.exists(box.path("new.ptc")):
            expect(box.json("verify", "new.ptc")["content_digest"] == digest, "a case that is there to be whole")
            os.unlink(box.path("new.ptc"))
        elif os.path.exists(box.path("new.ptc-salvaging")):
            for verb in ("info", "scope", "verify", "gaps"):
                p = box.run(verb, "new.ptc-salvaging", code=(0, 3, 4))
                unfinished += b"an unfinished salvage" in p.stderr
                if p.returncode == 0:  # before anything was written to it
                    expect(not box.json("info", "new.ptc-salvaging")["sources"], f"{verb} not to answer after {delay} s")
    expect(unfinished, "an unfinished salvage to be seen")
    # two at a time do not meet
    with open(box.path("new.ptc-salvaging"), "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        one_line_error(box.run("salvage", "case.ptc", "new.ptc", code=4))
        expect(os.path.exists(box.path("new.ptc-salvaging")), "what another one writes to be left alone")
    # the next run replaces it
    box.run("salvage", "case.ptc", "new.ptc")
    expect(beside(box) == ["new.ptc"], f"one file: {beside(box)}")
    expect(box.json("verify", "new.ptc")["content_digest"] == digest, "the whole case")
    os.unlink(box.path("new.ptc"))

    # no room: nothing is left, and nothing else is said
    p = start(box, preexec_fn=no_room)
    text = p.communicate()[1].decode()
    expect(p.returncode in (3, 4, 5), f"an error: {p.returncode}")
    expect(not beside(box), f"nothing to be left: {beside(box)}")
    expect("is kept" not in text.replace("nothing of the new case is kept", "") and "-salvaging" not in text, text)

    # a folder that is not there: the name that was given is the one that is said
    text = one_line_error(box.run("salvage", "case.ptc", "nowhere/new.ptc", code=3))
    expect("(nowhere/new.ptc)" in text and "-first-page" not in text, text)
    # a log without its case would be played into the new one
    box.write("new.ptc-wal", "x")
    one_line_error(box.run("salvage", "case.ptc", "new.ptc", code=3))
    expect(beside(box) == ["new.ptc-wal"], "it to be left alone")
    os.unlink(box.path("new.ptc-wal"))

    # of a newer version: refused as everybody does
    shutil.copy(box.path("case.ptc"), box.path("later.ptc"))
    with sqlite3.connect(box.path("later.ptc")) as c:
        c.execute("PRAGMA user_version=99")
    c.close()
    text = one_line_error(box.run("salvage", "later.ptc", "new.ptc", code=4))
    expect("format version 99" in text, text)
    expect(not beside(box), "no new case")

    # an ingest that was killed is no damage: what it read goes over, and can be gone on with
    with open(box.path("big.jsonl"), "w") as f:
        for i in range(rounds(600000, 300000)):
            f.write('{"ts":%d.%03d,"seq":%d,"worker":"decode-0","op":"alloc","rid":"r%d","pages":[[%d,4]]}\n' % (
                1788000000 + i // 100, i % 1000, i, i, i * 4 % 4096))
    box.run("ingest", "whole.ptc", "big.jsonl")
    for delay in [0.05 * i for i in range(1, 40)]:
        p = subprocess.Popen([PROGRAM, "ingest", "half.ptc", "big.jsonl"], cwd=box.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        p.kill()
        p.wait()
        if os.path.exists(box.path("half.ptc")) and box.run("info", "half.ptc", code=(0, 3, 4)).returncode == 0:
            row = [r for r in box.json("info", "half.ptc")["sources"] if r["status"] == "reading"]
            if row and box.json("sql", "half.ptc", "SELECT count(*) AS n FROM evidence_chunk")["rows"][0]["n"] > 2:
                break
        for f in [f for f in os.listdir(box.dir) if f.startswith("half.ptc")]:
            os.unlink(box.path(f))
    else:
        print("no ingest could be killed in the middle: the rest is skipped")
        sys.exit(0)
    box.run("verify", "half.ptc")
    doc = box.json("salvage", "half.ptc", "new.ptc")
    row = doc["rows"][0]
    expect(row["status"] == "reading" and row["events"] == "kept" and row["lost"] == 0, f"it to be kept: {row}")
    expect("not read to its end" in row["why"], f"it to be said: {row}")
    box.run("verify", "new.ptc")
    expect(any(g["kind"] == "failed_source" for g in box.json("gaps", "new.ptc", code=1)["rows"]), "a gap")
    box.run("ingest", "new.ptc", "big.jsonl")
    expect(box.json("verify", "new.ptc")["content_digest"] == box.json("verify", "whole.ptc")["content_digest"], "the whole, later")
    # but damage in it is damage
    for what in ("UPDATE evidence_chunk SET data = zeroblob(length(data)) WHERE byte_off = (SELECT max(byte_off) FROM evidence_chunk)",
                 "UPDATE event_chunk SET data = zeroblob(length(data)) WHERE chunk = (SELECT min(chunk) FROM event_chunk)"):
        os.unlink(box.path("new.ptc"))
        shutil.copy(box.path("half.ptc"), box.path("bad.ptc"))
        with sqlite3.connect(box.path("bad.ptc")) as c:
            c.execute(what)
        c.close()
        doc = box.json("salvage", "bad.ptc", "new.ptc", code=1)
        row = doc["rows"][0]
        expect(row["status"] == "failed" and (row["lost"] > 0) == what.startswith("UPDATE evidence"), f"{what}: {row}")
        box.run("verify", "new.ptc")
