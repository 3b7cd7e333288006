#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# bench.py - ingest measured as ratios, side by side on the same data: bench.py PAGETRAIL [--mb 200] [--runs 5] [--quick]
#
# Every ratio has a bar; a bar that is missed is marked, and the exit code is 1. Nothing is measured twice on different data.
import argparse
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time


def page_log(path, size, seed=1):
    """A page log of one decode worker; allocations, writes, reads and frees that belong together."""
    rng = random.Random(seed)
    at, seq, live, n = 1788000000.0, 1, [], 0
    with open(path, "w") as out:
        n += out.write('{"v":1,"ts":%.3f,"seq":0,"worker":"decode-0","op":"boot","page_size":64,"pool_pages":65536}\n' % at)
        while n < size:
            at += rng.random() * 0.01
            if len(live) < 64 or rng.random() < 0.1:
                live.append(("%032x" % rng.getrandbits(128), rng.getrandbits(62),
                             [[rng.randrange(65000), rng.randrange(1, 200)] for _ in range(rng.randrange(1, 5))]))
                op, leg = "alloc", live[-1]
            else:
                leg = live[rng.randrange(len(live))]
                op = rng.choice(("write", "read", "read", "read"))
                if rng.random() < 0.1:
                    op = "free"
                    live.remove(leg)
            n += out.write('{"ts":%.6f,"seq":%d,"worker":"decode-0","op":"%s","rid":"%s","room":%d,"pages":%s}\n'
                           % (at, seq, op, leg[0], leg[1], json.dumps(leg[2], separators=(",", ":"))))
            seq += 1
    return n


def run(command, **more):
    """Wall seconds and peak memory in MiB."""
    start = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    message = p.stderr.read()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode not in (0, 1):
        sys.exit(f"{command}: exit code {p.returncode}: {message.decode(errors='replace')[:500]}")
    return time.monotonic() - start, use.ru_maxrss / 1024


def median(runs, measure):
    return statistics.median(measure() for _ in range(runs))


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.missed, self.peak = args, folder, 0, 0
        self.case = os.path.join(folder, "bench.ptc")

    def ingest(self, paths, jobs=None):
        for end in ("", "-wal", "-shm"):
            if os.path.exists(self.case + end):
                os.remove(self.case + end)
        command = [self.args.pagetrail, "ingest", self.case, *paths]
        seconds, peak = run(command + (["--jobs", str(jobs)] if jobs else []))
        self.peak = max(self.peak, peak)
        return seconds

    def row(self, what, value, bar, at_most=True, unit="x"):
        good = value <= bar if at_most else value >= bar
        self.missed += not good
        print(f"{'ok  ' if good else 'MISS'} {what:58} {value:8.2f}{unit}  {'at most' if at_most else 'at least'} {bar:g}{unit}")


def python_load(path, db):
    start = time.monotonic()
    c = sqlite3.connect(db)
    c.execute("CREATE TABLE page(ts REAL, seq INT, worker TEXT, op TEXT, rid TEXT, room INT, pages TEXT)")
    with open(path, "rb") as f:
        rows = (json.loads(line) for line in f)
        c.executemany("INSERT INTO page VALUES(?,?,?,?,?,?,?)",
                      ((r.get("ts"), r.get("seq"), r.get("worker"), r.get("op"), r.get("rid"), r.get("room"),
                        json.dumps(r.get("pages"))) for r in rows))
    c.commit()
    c.close()
    os.remove(db)
    return time.monotonic() - start


def split_files(log, folder, n):
    os.mkdir(folder)
    with open(log, "rb") as f:
        lines = f.readlines()
    step = (len(lines) + n - 1) // n
    for i in range(n):
        with open(os.path.join(folder, f"part-{i:02}.jsonl"), "wb") as out:
            out.writelines(lines[i * step:(i + 1) * step])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pagetrail")
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="only ingest, against SHA-256")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pagetrail-bench-")
    try:
        b = Bench(args, folder)
        log = os.path.join(folder, "decode-0.jsonl")
        size = page_log(log, args.mb * 1000000)
        ours = median(args.runs, lambda: b.ingest([log]))
        print(f"ingest of {size / 1e6:.0f} MB: {ours:.3f} s, {size / ours / 1e6:.0f} MB/s, {os.cpu_count()} CPUs")
        sha = median(args.runs, lambda: run(["openssl", "dgst", "-sha256", log])[0])
        b.row("ingest against openssl dgst -sha256", ours / sha, 3.5)
        b.row("peak memory", b.peak, 256, unit=" MiB")
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-3", "-q", "-f", log, "-o", log + ".zst"], check=True)
            b.row("case file against zstd -3 of the log", os.path.getsize(b.case) / os.path.getsize(log + ".zst"), 0.4)
            os.remove(log + ".zst")
        if not args.quick:
            verify = median(args.runs, lambda: run([args.pagetrail, "verify", b.case])[0])
            b.row("verify against sha256sum", verify / median(args.runs, lambda: run(["sha256sum", log])[0]), 1)
            again = median(args.runs, lambda: run([args.pagetrail, "ingest", b.case, log])[0])
            b.row("the same file once more, against the first time", again / ours, 0.5)
            one = median(args.runs, lambda: b.ingest([log], jobs=1))
            b.row("2 jobs against 1, times as fast", one / median(args.runs, lambda: b.ingest([log], jobs=2)), 1.6, at_most=False)
            python = python_load(log, os.path.join(folder, "python.db"))
            b.row("against Python json and sqlite3, times as fast", python / ours, 10, at_most=False)
            parts = os.path.join(folder, "parts")
            split_files(log, parts, 64)
            b.row("64 files against one", median(args.runs, lambda: b.ingest([parts])) / ours, 1.1)
            tenth = os.path.join(folder, "tenth.jsonl")
            page_log(tenth, size // 10)
            b.row("10 times the input", ours / median(args.runs, lambda: b.ingest([tenth])), 10.5)
        return 1 if b.missed else 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
