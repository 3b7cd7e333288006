#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# seam.py - a log that its rotation cut in the middle of a record: what both halves still say is what was said, and a record that is
# lost is a gap; nothing reads otherwise than it was written
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, rounds

KINDS = ("boot", "leg", "gateway", "load")
PLACE = ("source", "byte_off", "byte_len", "ref", "worker")
LOOSE = ("message", "ts_ns", "ts_quality")  # cut, and without the line before it a line without a time has none


def events(box, **files):
    for name, data in files.items():
        box.write("logs/decode-0.log" + name.replace("newest", "").replace("older", ".1"), data)
    rows = box.json("ingest", "c.ptc", "logs")["rows"]
    found = []
    for kind in KINDS:
        for row in box.json("sql", "c.ptc", f"SELECT * FROM {kind}_events", "--limit", "0")["rows"]:
            found.append((kind, {k: v for k, v in row.items() if k not in PLACE}))
    gaps = box.json("gaps", "c.ptc", code=(0, 1))["rows"]
    os.unlink(box.path("c.ptc"))
    for name in os.listdir(box.path("logs")):
        os.unlink(box.path("logs/" + name))
    return rows, found, gaps


def said(event, whole):
    """Some event of the whole log says all that this one says."""
    return any(kind == event[0] and all(v is None or k in LOOSE or row.get(k) == v for k, v in event[1].items()) for kind, row in whole)


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--seed", "3", "--requests", "200")
    lines = [x for x in open(box.path("r/logs/decode-0.log"), "rb").read().split(b"\n") if b" batch, " not in x][:90]
    data = b"\n".join(lines) + b"\n"
    _, whole, _ = events(box, newest=data)
    expect(len(whole) > 30, f"events of a whole log, got {len(whole)}")
    rng = random.Random(5)
    cut = 0
    for at in [rng.randrange(len(data) // 6, len(data) * 5 // 6) for _ in range(rounds(40, 5))]:
        rows, halves, gaps = events(box, older=data[:at], newest=data[at:])
        expect(len(rows) == 2, f"two files, got {rows}")
        for event in halves:
            expect(said(event, whole), f"cut at {at}: nothing that was not said: {json.dumps(event)}")
        full = lambda events: sum(1 for k, row in events if k == "leg" and row["rid"] and row["what"] == "finished" and row["finished_ns"])
        lost = full(whole) - full(halves)
        expect(lost in (0, 1), f"cut at {at}: one record at most is not whole, got {lost}")
        cut += lost
        told = [g for g in gaps if g["kind"] in ("torn", "unparsed")]
        expect(not lost or told, f"cut at {at}: a record that is not whole is told, got {gaps}")
    expect(cut, f"some cuts went through a request's record, got {cut}")

    # lines that run into the next: two writers of one pipe, a line end that was lost; none is read as one record, and each is told
    data, joined = b"", 0
    for at, line in enumerate(lines):
        fuse = at % 7 == 3 and at + 1 < len(lines) and line[:1] == lines[at + 1][:1] == b"["
        joined += fuse
        data += (line[: rng.randrange(min(60, len(line)), len(line) + 1)] if fuse else line + b"\n")
    rows, fused, gaps = events(box, newest=data)
    for event in fused:
        expect(said(event, whole), f"run together: nothing that was not said: {json.dumps(event)}")
    told = sum(g["missing"] or 0 for g in gaps if "run together" in (g["effect"] or ""))
    expect(joined > 5 and told * 2 > joined, f"most of {joined} lines that were run together are told as such, got {gaps}")
    expect(sum(r["unparsed"] for r in rows) >= joined, f"{joined} lines are not read, got {rows}")
