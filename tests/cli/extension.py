#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# extension.py - a case in the sqlite3 shell: the same answers as from the program, and no answer for what is no case
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect

extension = os.environ.get("PAGETRAIL_EXTENSION", "")
if not shutil.which("sqlite3") or not os.path.exists(extension):
    print("no sqlite3 shell or no extension: skipped")
    sys.exit(77)


def shell(case, *statements):
    return subprocess.run(["sqlite3", "-readonly", case, f".load {extension[:-3]}", *statements], capture_output=True, text=True)


QUERIES = ["SELECT class, count(*) FROM findings() GROUP BY class", "SELECT kind, sum(pages) FROM exposures() GROUP BY kind",
           "SELECT op, count(*) FROM page_events GROUP BY op ORDER BY op",
           "SELECT text FROM records WHERE source = 1 ORDER BY byte_off LIMIT 3",
           "SELECT r.name, count(*) FROM leg JOIN request r USING(request) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5"]
if "__asan" in shell(":memory:").stderr or "__ubsan" in shell(":memory:").stderr:
    print("a sanitized extension cannot be loaded into a plain shell: skipped")
    sys.exit(77)
with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "5", "--requests", "300")
    box.run("ingest", "case.ptc", "r/logs")
    for query in QUERIES:
        ours = "".join("|".join(str(v) for v in row.values()) + "\n" for row in box.json("sql", "case.ptc", query)["rows"])
        p = shell(box.path("case.ptc"), query)
        expect(p.returncode == 0 and p.stdout == ours, f"the shell's answer to {query}: {p.stdout!r} {p.stderr!r} {ours!r}")
        expect(ours, f"rows for {query}")
    with sqlite3.connect(box.path("other.db")) as other:
        other.execute("CREATE TABLE t(x)")
    p = shell(box.path("other.db"), "SELECT 1")
    expect("pagetrail: " in p.stderr and "Segmentation" not in p.stderr, f"what is no case to be refused: {p.stdout!r} {p.stderr!r}")
