#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# grown.py - what was said of a file holds when the file has grown and nobody says it again
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect

LINE = "[2026-08-25 10:%02d:%02d] server_args=ServerArgs(model_path='m', disaggregation_mode='decode', context_length=4096)\n"


def source(box, case="case.ptc"):
    rows = box.json("sql", case, "SELECT path, worker, worker_basis, role, tz, tz_basis, format, status, records, unparsed, reason "
                    "FROM source")["rows"]
    expect(len(rows) == 1, f"one source: {rows}")
    return rows[0]


def grow(box, name, text):
    with open(box.path(name), "a") as f:
        f.write(text)


def same(a, b, *keys):
    for k in keys:
        expect(a[k] == b[k], f"{k} to stay {a[k]!r}, not {b[k]!r}")


with Box() as box:
    lines = "".join(LINE % (i // 60, i % 60) for i in range(200))

    # options
    box.write("eng.log", lines)
    box.run("ingest", "case.ptc", "eng.log", "--tz", "+05:00", "--worker", "w-five", "--format", "sglang-engine")
    before = source(box)
    first = box.json("sql", "case.ptc", "SELECT started_ns FROM boot ORDER BY boot LIMIT 1")["rows"]
    grow(box, "eng.log", LINE % (50, 1) + LINE % (50, 2))
    box.run("ingest", "case.ptc", "eng.log")
    after = source(box)
    same(before, after, "worker", "worker_basis", "tz", "tz_basis", "format", "status")
    expect(after["records"] == before["records"] + 2, f"what came to be read: {after}")
    expect(box.json("sql", "case.ptc", "SELECT started_ns FROM boot ORDER BY boot LIMIT 1")["rows"] == first, "boots to stay where they were")
    # who says something else is heard
    grow(box, "eng.log", LINE % (51, 1))
    box.run("ingest", "case.ptc", "eng.log", "--tz", "+08:00")
    last = source(box)
    expect((last["tz"], last["worker"]) == ("+08:00", "w-five"), f"the new zone, the old worker: {last}")
    # another file at that path is not what the first one was
    box.write("eng.log", "".join(LINE % (i // 60, i % 60) for i in range(7, 100)))
    box.run("ingest", "case.ptc", "eng.log")
    rows = box.json("sql", "case.ptc", "SELECT worker, tz_basis FROM source ORDER BY source")["rows"]
    expect(len(rows) == 2 and rows[1]["worker"] == "eng" and rows[1]["tz_basis"] == "assumed", f"a new file to be new: {rows}")

with Box() as box:
    # the sources file
    box.write("eng.log", lines)
    box.write("s.csv", "glob,worker,role,tz,format\n*eng.log,w-six,decode,+05:30,\n")
    box.run("ingest", "case.ptc", "eng.log", "--sources", "s.csv")
    before = source(box)
    grow(box, "eng.log", LINE % (50, 1))
    box.run("ingest", "case.ptc", "eng.log")
    same(before, source(box), "worker", "worker_basis", "role", "tz", "tz_basis")

with Box() as box:
    # a map: its text is in the case
    text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "map.md")).read()
    begin = text.index("```json") + 7
    map_ = json.loads(text[begin:text.index("```", begin)])
    box.write("site.map", json.dumps(map_))
    sample = json.dumps(map_["samples"][0]["record"])
    box.write("grow.log", (sample + "\n") * 100)
    box.run("ingest", "case.ptc", "grow.log", "--map", "site.map")
    before = source(box)
    events = box.json("sql", "case.ptc", "SELECT count(*) AS n FROM gateway_events")["rows"][0]["n"]
    expect("@" in before["format"] and events == 100, f"the map to be used: {before}")
    os.unlink(box.path("site.map"))
    grow(box, "grow.log", (sample + "\n") * 20)
    box.run("ingest", "case.ptc", "grow.log")
    after = source(box)
    same(before, after, "format", "status", "unparsed")
    events = box.json("sql", "case.ptc", "SELECT count(*) AS n FROM gateway_events")["rows"][0]["n"]
    expect(after["records"] == 120 and events == 120, f"all records to be read: {after} {events}")
    # another file is not read with the case's map unless somebody gives it
    box.write("new.log", (sample.replace("a-1", "b-1") + "\n") * 3)
    box.run("ingest", "case.ptc", "new.log", code=(0, 3))
    formats = [r["format"] for r in box.json("sql", "case.ptc", "SELECT format FROM source ORDER BY source")["rows"]]
    expect(formats[0] == after["format"] and "@" not in (formats[1] or ""), f"formats of both: {formats}")
    expect(box.run("verify", "case.ptc").returncode == 0, "a sound case")
