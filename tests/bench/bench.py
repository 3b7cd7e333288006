#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# bench.py - every bar measured side by side with its baseline: bench.py PAGETRAIL [--quick] [--big] [--only GROUP,…]
#
# Makes its data (data.py), runs the groups of bars.py, prints one table with medians and ratios, and writes it with the
# machine into docs/performance.md. Exit code 1 when a bar is missed. Nothing here is a test.
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source folders stay as they are

import bars
import baselines
import measure
import profile_missed
import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROOM_PER_MB = 8  # bytes of room that a byte of page log takes in all


def options():
    p = argparse.ArgumentParser(description="measures Pagetrail against what one would use without it", epilog="Groups: " + ", ".join(bars.GROUPS))
    p.add_argument("pagetrail", help="the program to measure")
    p.add_argument("--mb", type=int, help="page log in MB, at most 500; other logs follow (500, with --quick 50)")
    p.add_argument("--slow-mb", type=int, help="file for slow baselines in MB (60, with --quick 10)")
    p.add_argument("--touches", type=int, help="pages touched in the traces' log that SQL is asked about (1000000, with --quick 200000)")
    p.add_argument("--runs", type=int, help="runs of each command; medians are compared (5, with --quick 2)")
    p.add_argument("--quick", action="store_true", help="small and few: for a look while working; writes no file")
    p.add_argument("--big", action="store_true", help="ten times the page log too, in a folder on disk")
    p.add_argument("--only", help="groups, with commas (all but " + ", ".join(bars.OWN_DATA) + ")")
    p.add_argument("--data", help="data sets, with commas: pagelog, engine, gateway, router, metrics, traces, fleet, reads, traces-reads, big")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: user and system seconds, for a machine that is busy")
    p.add_argument("--traces", help="folder with request traces (else $PAGETRAIL_SHARED/traces or ../shared/data/traces)")
    p.add_argument("--parse", help="the program bench-parse (else beside the build's tests)")
    p.add_argument("--no-profile", action="store_true", help="do not let perf say where the time goes in what is missed")
    p.add_argument("--no-duckdb", action="store_true", help="do not let npm fetch DuckDB")
    p.add_argument("--keep", metavar="DIR", help="data is made there, or taken from there when it is there, and stays")
    p.add_argument("--out", help="file to write to, between its markers (docs/performance.md)")
    p.add_argument("--json", metavar="FILE", help="every row as JSON too")
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    for name, full, quick in (("mb", 500, 50), ("slow_mb", 60, 10), ("touches", 1000000, 200000), ("runs", 5, 2)):
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else full)
    args.only = args.only.split(",") if args.only else [g for g in bars.GROUPS if g not in bars.OWN_DATA]
    for g in args.only:
        if g not in bars.GROUPS:
            p.error(f"no group '{g}'; there are: {', '.join(bars.GROUPS)}")
    args.data = args.data.split(",") if args.data else None
    args.pagetrail = os.path.abspath(args.pagetrail)
    if not os.access(args.pagetrail, os.X_OK):
        p.error(f"{args.pagetrail} is no program")
    return args


def room(bytes_needed):
    """In memory when there is room, so that no disk is measured."""
    try:
        s = os.statvfs("/dev/shm")
        with open("/proc/meminfo", encoding="ascii") as f:
            free = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
        if min(s.f_bavail * s.f_frsize, free - (2 << 30)) > bytes_needed:
            return "/dev/shm"
    except OSError:
        pass
    return tempfile.gettempdir()


def find_traces(args):
    shared = os.environ.get("PAGETRAIL_SHARED") or os.path.join(ROOT, "..", "shared", "data")
    folder = args.traces or os.path.join(shared, "traces")
    if os.path.isdir(folder):
        return folder
    print("no published traces here (PAGETRAIL_SHARED): a page log from them is left out", file=sys.stderr)
    return None


def make_data(args, folder):
    index = os.path.join(folder, "sets.json")
    if not os.path.exists(index):
        command = [sys.executable, "-B", os.path.join(HERE, "data.py"), args.pagetrail, folder, "--mb", str(args.mb), "--slow-mb", str(args.slow_mb),
                   "--touches", str(args.touches)]
        traces = find_traces(args)
        subprocess.run(command + (["--traces", traces] if traces else []), check=True)
    with open(index, encoding="utf-8") as f:
        sets = json.load(f)
    if args.big:
        place = args.place
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "data.py"), args.pagetrail, place, "--mb", str(args.mb), "--big"], check=True)
        with open(os.path.join(place, "sets.json"), encoding="utf-8") as f:
            sets.update(json.load(f))
    return sets


def run(args, folder):
    cpus = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cpus)
    os.environ.update(LC_ALL="C.UTF-8", TMPDIR=folder)
    start = time.monotonic()
    sets = make_data(args, args.keep or folder) if set(args.only) - set(bars.OWN_DATA) else {}
    print(f"data made in {time.monotonic() - start:.0f} s; measuring", file=sys.stderr)
    b = bars.Bench(args, folder, measure.Meter(folder, args.clock), sets)
    b.duckdb = baselines.DuckDB(folder, not args.no_duckdb) if "duckdb" in args.only else None
    rows = []
    for group in args.only:
        began = time.monotonic()
        rows += bars.GROUPS[group](b)
        print(f"  {group} took {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(report.terminal(rows))
    profiles = [] if args.no_profile else profile_missed.profiles(b, rows)
    for title, lines in profiles:
        print("\n" + title + "\n  " + "\n  ".join(lines))
    about = report.machine(args, folder, cpus, b.duckdb)
    print("\n" + "\n".join(f"{k:10} {v}" for k, v in about))
    took = time.monotonic() - start
    how = (f"Measured {time.strftime('%Y-%m-%d', time.gmtime())} with `make bench`: {args.clock} time, median of {args.runs} runs in turn with the "
           f"baseline, {took / 60:.0f} minutes in all.")
    print(f"\n{report.counts(rows)}; {took / 60:.1f} minutes")
    whole = set(args.only) >= set(bars.GROUPS) - set(bars.OWN_DATA) and not args.data and not args.quick and args.clock == "wall"
    if args.out or whole:
        report.put(args.out or os.path.join(ROOT, "docs", "performance.md"), report.markdown(rows, profiles, about, sets, how))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump([dict(zip(report.HEAD, report.cells(r)), value=r.ratio) for r in rows], f, indent=1)
    return 1 if any(r.verdict == "missed" for r in rows) else 0


def main():
    args = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    folder = tempfile.mkdtemp(prefix="pagetrail-bench-", dir=room(args.mb * 1000000 * ROOM_PER_MB))
    args.place = tempfile.mkdtemp(prefix="pagetrail-bench-big-") if args.big else None
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    try:
        return run(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if args.place:
            shutil.rmtree(args.place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
