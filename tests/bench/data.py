#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# data.py - makes the data sets of `make bench`: data.py PAGETRAIL FOLDER --mb N [--traces DIR]
#
# Everything but "traces" is written by `pagetrail simulate` (same seed and size, same bytes). FOLDER/sets.json says
# which files belong to which set. It is a process of its own so that the driver stays small.
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

import traces

REQUESTS_PER_MB = 800  # of page log
REQUESTS_MAX = 400000  # of one simulation: half a gigabyte of page log


def simulate(pagetrail, folder, scenario, requests, seed=1):
    requests = min(max(requests, 1), REQUESTS_MAX)
    subprocess.run([pagetrail, "simulate", folder, "--scenario", scenario, "--seed", str(seed), "--requests", str(requests)],
                   check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "logs")


def cut(path, size):
    """Shortens a file to whole lines."""
    if os.path.getsize(path) <= size:
        return
    with open(path, "r+b") as f:
        f.seek(max(size - (1 << 20), 0))
        tail = f.read(min(size, 1 << 20))
        end = size - len(tail) + tail.rfind(b"\n") + 1
        f.truncate(end)


def join(paths, out, size):
    """One file of whole lines, at most `size` bytes; the parts go."""
    with open(out, "wb") as o:
        for path in paths:
            with open(path, "rb") as f:
                shutil.copyfileobj(f, o, 1 << 20)
            os.remove(path)
            if o.tell() >= size:
                break
    cut(out, size)


def split(path, folder, n):
    """n files of whole lines that together have the same bytes."""
    os.makedirs(folder)
    ending = os.path.splitext(path)[1]
    step = -(-os.path.getsize(path) // n)
    with open(path, "rb") as f:
        for i in range(n):
            with open(os.path.join(folder, f"part-{i:02}{ending}"), "wb") as out:
                out.write(f.read(max(step * (i + 1) - f.tell(), 0)))
                out.write(f.readline())


def head(path, out, size):
    with open(path, "rb") as f, open(out, "wb") as o:
        o.write(f.read(size))
        o.write(f.readline())


class Sets:
    def __init__(self, folder):
        self.folder, self.sets = folder, {}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self):
        with open(self.path("sets.json"), "w", encoding="utf-8") as f:
            json.dump(self.sets, f, indent=1)

    def add(self, name, title, files, **more):
        self.sets[name] = dict(title=title, files=files, bytes=sum(map(os.path.getsize, files)), **more)

    def smaller(self, name, slow_bytes):
        """Smaller ones of the same shape: a tenth, `slow` for slow baselines, and cut into 64 files."""
        s = self.sets[name]
        first = s["files"][0]
        size = os.path.getsize(first)
        for what, want in (("tenth", size // 10), ("slow", min(slow_bytes, size))):
            os.makedirs(self.path(name, what))
            s[what] = self.path(name, what, os.path.basename(first))
            head(first, s[what], want)
        s["parts"] = self.path(name, "parts")
        split(first, s["parts"], 64)


def big(pagetrail, sets, megabytes):
    """Ten fleets, one after the other, each with workers and requests of its own."""
    os.makedirs(sets.path("big"))
    out = sets.path("big", "all.pages.jsonl")
    with open(out, "wb") as o:
        for seed in range(2, 12):
            logs = simulate(pagetrail, sets.path("fleet"), "clean", megabytes * REQUESTS_PER_MB * 103 // 100, seed)
            end = o.tell() + megabytes * 1000000
            for name in sorted(n for n in os.listdir(logs) if n.endswith(".pages.jsonl")):
                with open(os.path.join(logs, name), "rb") as f:
                    for line in f:
                        if o.tell() + len(line) > end:
                            break
                        o.write(re.sub(rb'"worker":"([^"]+)"', b'"worker":"\\1-%d"' % seed, line, count=1))
            shutil.rmtree(sets.path("fleet"))
    sets.add("big", "page log, ten times", [out])
    sets.write()
    return 0


def main():
    parser = argparse.ArgumentParser(description="makes the data sets of make bench")
    parser.add_argument("pagetrail")
    parser.add_argument("folder")
    parser.add_argument("--mb", type=int, default=500)
    parser.add_argument("--slow-mb", type=int, default=60)
    parser.add_argument("--touches", type=int, default=1000000, help="pages touched in the traces' log that SQL is asked about")
    parser.add_argument("--traces", help="folder with published request traces")
    parser.add_argument("--big", action="store_true", help="only a page log of ten times --mb")
    args = parser.parse_args()
    size, slow = args.mb * 1000000, args.slow_mb * 1000000
    sets = Sets(args.folder)
    if args.big:
        return big(args.pagetrail, sets, args.mb)
    logs = simulate(args.pagetrail, sets.path("fleet"), "clean", args.mb * REQUESTS_PER_MB * 103 // 100)
    names = sorted(os.listdir(logs))

    def of(pattern):
        return [os.path.join(logs, n) for n in names if re.search(pattern, n)]

    def one(name, title, pattern, most, **more):
        os.makedirs(sets.path(name))
        out = sets.path(name, more.pop("file"))
        join(of(pattern), out, most)
        sets.add(name, title, [out], **more)
        sets.smaller(name, slow)

    # a small fleet of its own, whole, before the big one's files are moved
    fleet = simulate(args.pagetrail, sets.path("small"), "clean", args.mb * REQUESTS_PER_MB // 10)
    one("pagelog", "page log", r"\.pages\.jsonl$", size, file="decode-0.pages.jsonl", parser="pagelog", json=True)
    one("engine", "engine text", r"^(decode|prefill|unified)-\d\.log$", size // 2, file="decode-0.log", parser="sglang-engine")
    one("gateway", "gateway JSON", r"^gateway\.jsonl$", size // 2, file="gateway.jsonl", parser="gateway-json", json=True)
    one("router", "router text", r"^router\.log$", size // 4, file="router.log", parser="sglang-router")
    one("metrics", "metrics JSON", r"metrics\.log$", size // 4, file="decode-2.metrics.log", parser="sglang-metrics", json=True)
    sets.add("fleet", "whole fleet", sorted(os.path.join(d, f) for d, _, files in os.walk(fleet) for f in files), folder=fleet)
    shutil.rmtree(sets.path("fleet"))

    # who read whose pages: small enough for SQL to end, with foreign reads in it
    incident = simulate(args.pagetrail, sets.path("incident"), "incident", 200 if args.mb >= 200 else 40)
    os.makedirs(sets.path("reads"))
    out = sets.path("reads", "decode.pages.jsonl")
    join([os.path.join(incident, n) for n in sorted(os.listdir(incident)) if re.match(r"decode-\d\.pages", n)], out, size)
    sets.add("reads", "page log of an incident", [out])

    if args.traces:
        os.makedirs(sets.path("traces"))
        out = sets.path("traces", "decode-0.pages.jsonl")
        n = traces.write(args.traces, out, size // 2)
        if n:
            sets.add("traces", "page log from published traces", [out], parser="pagelog", json=True, requests=n)
            sets.smaller("traces", slow)
            out = sets.path("traces", "reads.pages.jsonl")
            traces.cut_touches([sets.path("traces", "decode-0.pages.jsonl")], out, args.touches)
            sets.add("traces-reads", "page log from published traces", [out])
    sets.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
