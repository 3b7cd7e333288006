#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# salvage_stop.py - a salvage that is killed or finds no room leaves no case; what it must not touch stays as it is
import os
import resource
import signal
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, PAGETRAIL, expect, one_line_error

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
    for delay in [0.01 * i for i in range(1, 21)]:
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
    # the next run replaces it; two at a time do not meet
    p = start(box)
    while not os.path.exists(box.path("new.ptc-salvaging")) and p.poll() is None:
        time.sleep(0.001)
    other = box.run("salvage", "case.ptc", "new.ptc", code=(3, 4))
    one_line_error(other)
    expect(p.wait() == 0, "the first one to go on")
    p.communicate()
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
        c.execute("PRAGMA user_version=2")
    c.close()
    text = one_line_error(box.run("salvage", "later.ptc", "new.ptc", code=4))
    expect("format version 2" in text, text)
    expect(not beside(box), "no new case")
