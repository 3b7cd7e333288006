#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# wrapped.py - logs inside of what runtimes and collectors write: they give the events that they give bare
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import wrap
from run import Box, expect, sums_hold

KINDS = ("boot", "leg", "gateway", "page", "load")
PLACE = ("source", "byte_off", "byte_len", "ref", "worker")
INTERPOLATED = 4


def events(box, case):
    """All events but for where they stand; times that were only worked out from others are left out."""
    found = []
    for kind in KINDS:
        for row in box.json("sql", case, f"SELECT * FROM {kind}_events", "--limit", "0")["rows"]:
            row = {k: v for k, v in row.items() if k not in PLACE}
            found.append((kind, row))
    return found


def comparable(found, loose):
    out = []
    for kind, row in found:
        row = dict(row)
        if (kind, *sorted(row.items(), key=str)) and row["ts_quality"] in loose:
            row["ts_ns"] = row["ts_quality"] = None
        out.append(json.dumps([kind, row], sort_keys=True))
    return sorted(out)


def only(box, case):
    rows = box.json("info", case)["sources"]
    expect(len(rows) == 1, f"one source, got {len(rows)}")
    return rows[0]


def ingest(box, case, path, *options, code=0):
    row = box.json("ingest", case, path, *options, code=code)["rows"][0]
    sums_hold(row)
    return row


WANTED = set(sys.argv[1:])
with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--seed", "3", "--requests", "400")
    logs = {"sglang-engine": "r/logs/decode-0.log", "sglang-router": "r/logs/router.log", "gateway-json": "r/logs/gateway.jsonl"}
    n = 0
    for inner, path in logs.items():
        whole = open(box.path(path), "rb").read()
        lines = whole.split(b"\n")[:-1]
        times = list(wrap.seen_times(lines))
        row = ingest(box, f"bare-{inner}.ptc", path)
        expect(row["format"] == inner, f"{inner}, got {row['format']}")
        want = events(box, f"bare-{inner}.ptc")
        for name, ways in wrap.WAYS.items():
            for way in ways:
                if WANTED and way.__name__ not in WANTED:
                    continue
                n += 1
                case, file = f"w{n}.ptc", f"w{n}/decode-0.log"
                box.write(file, way(lines, times, chunk=200))
                row = ingest(box, case, file)
                what = f"{inner} by {way.__name__}"
                expect(row["format"] == f"{name}+{inner}", f"{what}: {name}+{inner}, got {row['format']} ({row['reason']})")
                got = events(box, case)
                expect(len(got) == len(want), f"{what}: {len(want)} events, got {len(got)}")
                # without a time of its own a record has that of the wrapper
                loose = {0, INTERPOLATED}
                outer = {json.dumps(e) for e in got}
                a, b = comparable(want, loose), comparable(got, loose)
                if a != b:
                    own = [i for i, (x, y) in enumerate(zip(want, got)) if x[1]["ts_quality"] not in loose]
                    strip = lambda list_, other: sorted(
                        json.dumps([k, {c: v for c, v in r.items() if c not in ("ts_ns", "ts_quality")}], sort_keys=True)
                        for k, r in list_)
                    x, y = strip(want, got), strip(got, want)
                    differ = [(p, q) for p, q in zip(x, y) if p != q][:2]
                    expect(not differ, f"{what}: the same columns, got {differ}")
                    timed = [r["ts_ns"] for k, r in want if r["ts_quality"] not in loose]
                    have = {r["ts_ns"] for k, r in got}
                    lost = [t for t in timed if t not in have][:3]
                    expect(not lost, f"{what}: times that records say, lost {lost}")
                box.run("verify", case)
    print(f"{n} ways, the same events")
