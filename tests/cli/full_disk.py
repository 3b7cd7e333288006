#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# full_disk.py - a file system of 64 MB that fills up, a limit of file size, a read error in the middle, a broken archive: the case
# opens, says what it holds, and goes on to the same content digest
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, one_line_error, rounds, sums_hold


def inputs(box):
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "11", "--requests", "5000")
    os.mkdir(box.path("in"))
    logs = sorted(os.listdir(box.path("r/logs")))
    for kind in (".pages.jsonl", ".log"):
        with open(box.path(f"in/all{kind}"), "wb") as out:
            for name in logs:
                if name.endswith(kind) and "metrics" not in name:
                    out.write(open(box.path(f"r/logs/{name}"), "rb").read())
    box.run("ingest", "whole.ptc", "in")
    return box.json("verify", "whole.ptc")["content_digest"]


def opens(box, case):
    if os.path.exists(box.path(case)) and os.path.getsize(box.path(case)):
        for row in box.json("info", case)["sources"]:
            sums_hold(row)
        box.run("verify", case)


def full(box, want):
    """Room for less and less of it; then there is room."""
    need = os.path.getsize(box.path("whole.ptc"))
    for left in (0, 30000, need // 3, need, need * 3 // 2)[::rounds(1, 2)]:
        case = "disk/case.ptc"
        with open(box.path("disk/ballast"), "wb") as f:
            room = os.statvfs(box.path("disk"))
            os.posix_fallocate(f.fileno(), 0, max(room.f_bavail * room.f_frsize - left, 4096))
        p = box.run("ingest", case, "in", code=(0, 5))
        if p.returncode:
            error = one_line_error(p)
            expect("room" in error, f"what to do, got {error}")
            opens(box, case)
            # still full: no better, no worse
            one_line_error(box.run("ingest", case, "in", code=5))
        os.unlink(box.path("disk/ballast"))
        opens(box, case)
        box.run("ingest", case, "in")
        expect(box.json("verify", case)["content_digest"] == want, f"the digest with room for {left} bytes at first")
        expect(sorted(os.listdir(box.path("disk"))) == ["case.ptc"], "one file at rest")
        os.unlink(box.path(case))


def limited(box, want):
    for limit in (1 << 14, 1 << 17, 1 << 20):
        case = f"limit-{limit}.ptc"
        p = subprocess.run([os.path.abspath(PAGETRAIL), "ingest", case, "in"], cwd=box.dir, capture_output=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        expect(p.returncode == 5, f"a limit of file size to end it with 5: {p.returncode} {p.stderr}")
        one_line_error(p)
        opens(box, case)
        box.run("ingest", case, "in")
        expect(box.json("verify", case)["content_digest"] == want, f"the digest after a limit of {limit} bytes")


def broken(box):
    """Packed files that end too early, and are whole the next time."""
    log = open(box.path("in/all.pages.jsonl"), "rb").read()
    box.write("b/w.jsonl.gz", gzip.compress(log, 1))
    whole = open(box.path("b/w.jsonl.gz"), "rb").read()
    box.run("ingest", "packed.ptc", "b")
    want = box.json("verify", "packed.ptc")["content_digest"]
    for cut in (len(whole) // 3, len(whole) - 4):
        case = f"packed-{cut}.ptc"
        box.write("b/w.jsonl.gz", whole[:cut])
        rows = box.json("ingest", case, "b", code=3)["rows"]
        expect(any(r["status"] == "failed" and r["reason"] for r in rows), f"why it failed: {rows}")
        opens(box, case)
        box.write("b/w.jsonl.gz", whole)
        rows = box.json("ingest", case, "b", code=(0, 3))["rows"]
        expect([r["status"] for r in rows] == ["resumed"], f"the whole file to go on: {rows}")
        left = {r["path"]: r for r in box.json("info", case)["sources"]}
        expect(box.json("verify", case)["content_digest"] == want, f"the digest after a cut at {cut}: {left}")

    # one member of an archive is broken: its neighbours are read
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in (("a.jsonl", log[:500000]), ("b.jsonl.gz", whole[:200000]), ("c.jsonl", log[500000:900000])):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    box.write("t.tar", out.getvalue())
    rows = {r["path"]: r for r in box.json("ingest", "tar.ptc", "t.tar", code=3)["rows"]}
    expect(rows["t.tar!a.jsonl"]["status"] == rows["t.tar!c.jsonl"]["status"] == "ingested", f"neighbours: {rows}")
    expect(rows["t.tar!b.jsonl.gz"]["status"] == "failed", f"the broken member: {rows}")
    opens(box, "tar.ptc")


def read_error(box, want):
    """A read error in the middle: what was read before is kept, and the next run goes on."""
    if not shutil.which("strace"):
        print("no strace: a read error was not tried")
        return
    case, path = "eio.ptc", "in/all.pages.jsonl"
    p = subprocess.run(["strace", "-f", "-o", os.devnull, "-P", box.path(path), "-e", "inject=read:error=EIO:when=20+",
                        os.path.abspath(PAGETRAIL), "ingest", case, "in", "--json"], cwd=box.dir, capture_output=True,
                       env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    if b"ptrace" in p.stderr:
        print("no ptrace here: a read error was not tried")
        return
    expect(p.returncode == 3, f"a read error to end it with 3: {p.returncode} {p.stderr}")
    rows = {r["path"]: r for r in json.loads(p.stdout)["rows"]}
    for row in rows.values():
        sums_hold(row)
    expect(rows[path]["status"] == "failed" and "read error" in rows[path]["reason"], f"a read error: {rows[path]}")
    expect(0 < rows[path]["bytes"] < os.path.getsize(box.path(path)), f"its beginning to be kept: {rows[path]}")
    opens(box, case)
    rows = {r["path"]: r for r in box.json("ingest", case, "in")["rows"]}
    expect(rows[path]["status"] == "resumed", f"to go on behind a read error: {rows[path]}")
    expect(box.json("verify", case)["content_digest"] == want, "the digest after a read error")


def mounted():
    """In a name space of its own, with the file system at the folder that is given."""
    box = Box()
    box.dir = sys.argv[2]
    full(box, sys.argv[3])


if len(sys.argv) > 1 and sys.argv[1] == "mounted":
    mounted()
    sys.exit(0)

with Box() as box:
    want = inputs(box)
    limited(box, want)
    broken(box)
    read_error(box, want)
    os.mkdir(box.path("disk"))
    script = 'mount -t tmpfs -o size=64m tmpfs "$1/disk" || exit 77; exec "$4" "$2" mounted "$1" "$3"'
    inner = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", box.dir, os.path.abspath(__file__), want, sys.executable])
    if inner.returncode == 77 or inner.returncode == 127:
        print("no file system of its own can be mounted here: the full disk was not tried")
        sys.exit(77)
    sys.exit(inner.returncode)
