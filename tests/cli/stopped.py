#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# stopped.py - signals during ingest, and progress: a line on a terminal, JSON lines when asked for, else nothing
import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, one_line_error, restamp

PROGRAM = os.path.abspath(PAGETRAIL)
FIELDS = {"phase", "bytes", "records", "bytes_per_s", "elapsed_s", "stored_bytes", "total_bytes", "left_s", "path"}


def stop_when(box, case, paths, phase, sig, min_bytes=0):
    """Sends the signal with the first line of progress of that phase behind min_bytes; exit code and last words."""
    p = subprocess.Popen([PROGRAM, "ingest", case, *paths, "--progress", "json"], cwd=box.dir, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    last, sent = b"", False
    for line in p.stderr:
        if not line.startswith(b"{"):
            last += line
            continue
        doc = json.loads(line)
        expect(set(doc) == FIELDS, f"the fields of progress, got {set(doc)}")
        if not sent and doc["phase"] == phase and doc["bytes"] >= min_bytes:
            p.send_signal(sig)
            sent = True
    return p.wait(), last.decode()


with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "3", "--requests", "6000")
    os.mkdir(box.path("in dir"))
    logs = sorted(os.listdir(box.path("r/logs")))
    with open(box.path("in dir/all's.jsonl"), "wb") as out:
        for name in logs:
            if name.endswith(".pages.jsonl"):
                out.write(open(box.path(f"r/logs/{name}"), "rb").read())
    for name in ("gateway.jsonl", "router.log"):
        os.rename(box.path(f"r/logs/{name}"), box.path(f"in dir/{name}"))
    box.run("ingest", "whole.ptc", "in dir")
    want = box.json("verify", "whole.ptc")["content_digest"]

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        case = f"case-{sig.name}.ptc"
        code, said = stop_when(box, case, ["in dir"], "reading", sig)
        if code == 0:
            continue  # it was faster
        expect(code == 5, f"{sig.name}: exit code 5, got {code}: {said}")
        expect(said.startswith("pagetrail: stopped by a signal") and said.count("\n") == 1, f"what was done, got {said}")
        command = said.split("go on with: ")[1].strip()
        expect(command == f"pagetrail ingest {case} 'in dir' --progress json", f"how to go on, got {command}")
        box.run("info", case)
        box.run("verify", case)
        expect(sorted(f for f in os.listdir(box.dir) if f.startswith(case)) == [case], "one file at rest")
        box.run(*shlex.split(command)[1:])
        expect(box.json("verify", case)["content_digest"] == want, f"the same digest after {sig.name}")
    code, said = stop_when(box, "late.ptc", ["in dir"], "resolving", signal.SIGINT)
    expect(code in (0, 5), f"a stop in the last step: {code} {said}")
    if code:
        expect("last step" in said and "go on with" in said, f"where it was stopped, got {said}")
    box.run("scope", "late.ptc", code=(0, 1))
    box.run("ingest", "late.ptc", "in dir")
    expect(box.json("verify", "late.ptc")["content_digest"] == want, "the same digest after a stop in the last step")

    # stopped before a file was begun: the case knows what it lacks, until each path was read to the end
    def interrupted(case):
        rows = [g for g in box.json("gaps", case, code=(0, 1))["rows"] if g["kind"] == "interrupted"]
        info = box.json("info", case)["interrupted"]
        totals = box.json("scope", case, code=1 if rows else (0, 1))["totals"]
        expect(totals["gaps"].get("interrupted", 0) == len(info) == len(rows), f"all to say the same: {totals} {info} {rows}")
        for r, i in zip(rows, info):
            missing = None if i["files"] is None else i["files"] - i["files_begun"]
            expect(r["missing"] == missing and r["unit"] in (None, "files") and i["path"] in r["effect"], f"how many: {r} {i}")
        return {os.path.basename(i["path"]): (i["files"], i["files_begun"]) for i in info}

    os.mkdir(box.path("none"))
    box.write("none/empty.txt", "x\n")
    p = subprocess.Popen([PROGRAM, "ingest", "k.ptc", "none", "-", "in dir", "--progress", "json"], cwd=box.dir,
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with open(box.path("in dir/gateway.jsonl"), "rb") as f:
        p.stdin.write(f.read())  # and no end of it
    p.stdin.flush()
    p.stderr.readline()
    p.kill()
    p.wait()
    p.stderr.close()
    n = len(os.listdir(box.path("in dir")))
    got = interrupted("k.ptc")
    expect(got["in dir"] == (n, 0) and "-" in got, f"what was not begun, got {got}")
    box.run("verify", "k.ptc")
    said = " ".join(box.run("scope", "k.ptc", code=1).stdout.decode().split())
    expect("NOTE: 'pagetrail ingest' was stopped" in said, f"scope to say it, got {said}")
    for verb in ("exposures", "info", "gaps"):
        said = " ".join(box.run(verb, "k.ptc", code=(0, 1)).stdout.decode().split())
        expect("NOTE: 'pagetrail ingest' was stopped" in said, f"{verb} to say it, got {said}")
    box.run("report", "k.ptc", "scope", "--out", "out")
    limit = re.search(r'<limit [^>]*id="interrupted"[^>]*>', open(box.path("out/scope-1.xml")).read())[0]
    expect(f'count="{len(got)}"' in limit, f"a limit of the report, got {limit}")
    box.run("salvage", "k.ptc", "s.ptc", code=(0, 1))
    expect(interrupted("s.ptc") == got, "a salvage to keep it")
    os.mkdir(box.path("elsewhere"))
    os.mkdir(box.path("elsewhere/in dir"))
    box.write("elsewhere/in dir/a.txt", "y\n")
    box.run("ingest", "k.ptc", "elsewhere/in dir", "none", code=(0, 3))
    expect(interrupted("k.ptc").keys() == {"-", "in dir"}, f"another folder of that name is another: {interrupted('k.ptc')}")
    os.rename(box.path("in dir"), box.path("moved"))
    os.symlink("moved", box.path("in dir"))
    box.run("ingest", "k.ptc", "./in dir/")
    expect(interrupted("k.ptc").keys() == {"-"}, "files that were moved, under a link in their place")
    box.run("ingest", "k.ptc", "-", stdin=b"", code=(0, 3))
    expect(interrupted("k.ptc") == {}, "each path read to the end")
    os.unlink(box.path("in dir"))
    os.rename(box.path("moved"), box.path("in dir"))

    # killed while the case was made: nobody reads "no response" out of it, and the next run makes it
    box.write("made-0.ptc", b"")
    with contextlib.closing(sqlite3.connect(box.path("made-1.ptc"))) as db:
        db.execute("PRAGMA page_size=8192")
        db.execute("PRAGMA journal_mode=WAL")
    with open(box.path("made-1.ptc"), "r+b") as f:  # eight bytes at the end of each page are for its sum
        page = bytearray(f.read())
        page[20], page[105:107] = 8, (8184).to_bytes(2, "big")
        f.seek(0)
        f.write(page)
    restamp(box.path("made-1.ptc"))
    box.run("init", "made-2.ptc")
    with contextlib.closing(sqlite3.connect(box.path("made-2.ptc"))) as db:
        db.execute("DELETE FROM journal")
        db.commit()
    restamp(box.path("made-2.ptc"))
    for i in range(3):
        said = one_line_error(box.run("scope", f"made-{i}.ptc", code=4))
        expect("another program" not in said and "'pagetrail ingest'" in said, f"the way out, got {said}")
        box.run("ingest", f"made-{i}.ptc", "in dir/router.log")
        box.run("scope", f"made-{i}.ptc", code=(0, 1))

    # JSON lines: phases in their order, numbers that grow
    p = box.run("ingest", "json.ptc", "in dir", "--progress", "json")
    docs = [json.loads(line) for line in p.stderr.splitlines()]
    phases = [d["phase"] for d in docs]
    expect(sorted(set(phases), key=phases.index) == ["reading", "resolving", "done"], f"the phases, got {phases}")
    total = sum(os.path.getsize(os.path.join(box.path("in dir"), f)) for f in os.listdir(box.path("in dir")))
    expect(docs[-1]["bytes"] == docs[-1]["stored_bytes"] == docs[-1]["total_bytes"] == total, f"all of it: {docs[-1]}")
    for key in ("bytes", "records", "elapsed_s", "stored_bytes"):
        expect([d[key] for d in docs] == sorted(d[key] for d in docs), f"{key} to grow")
    with open(box.path("in dir/router.log"), "rb") as f:
        p = box.run("ingest", "stdin.ptc", "-", "--progress", "json", stdin=f.read(), code=(0, 3))
    expect(json.loads(p.stderr.splitlines()[0])["total_bytes"] is None, "no total of standard input")
    expect(box.run("ingest", "none.ptc", "in dir").stderr == b"", "nothing without a terminal")
    box.run("ingest", "none.ptc", "in dir", "--progress", "fancy", code=2)

    # on a terminal: one line, never wider than it, nothing left of it, no foreign control characters
    box.write("odd/\x1b]0;x\x07" + "n" * 200 + ".log", b"x" * 100000)

    def terminal(args, columns, term="xterm"):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(box.dir)
            os.environ["TERM"] = term
            with open(os.devnull, "w") as null:
                os.dup2(null.fileno(), 1)
            os.execv(PROGRAM, ["pagetrail", *args])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        out = b""
        try:
            while data := os.read(fd, 65536):
                out += data
        except OSError:
            pass
        os.waitpid(pid, 0)
        os.close(fd)
        return out

    for columns in (40, 80, 300):
        out = terminal(["ingest", f"term-{columns}.ptc", "odd", "in dir"], columns)
        expect(b"records" in out and b"resolving" in out and b"\n" not in out, f"one line, rewritten: {out}")
        for line in re.split(rb"\r|\x1b\[K", out):
            expect(b"\x1b" not in line and b"\x07" not in line, f"no foreign control characters: {line}")
            expect(len(line.decode()) < columns, f"a line within {columns} columns: {line}")
        expect(out.endswith(b"\r\x1b[K"), "the line to be taken away")
    expect(terminal(["ingest", "dumb.ptc", "in dir"], 80, "dumb") == b"", "nothing on a terminal that cannot")
    expect(terminal(["ingest", "quiet.ptc", "in dir", "--progress", "none"], 80) == b"", "nothing when it is not wanted")
