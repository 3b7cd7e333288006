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

    # pages that are checked: the VFS is there after .load, also when the connection that loaded it is gone
    def checked(case, *statements):
        return subprocess.run(["sqlite3"], cwd=box.dir, capture_output=True, text=True, input="\n".join([
            f".load {os.path.abspath(extension)[:-3]}", f'.open "file:{case}?vfs=pagetrail&mode=ro"',
            f".load {os.path.abspath(extension)[:-3]}", *(s + ";" for s in statements), ""]))

    for query in QUERIES:
        plain, p = shell(box.path("case.ptc"), query), checked("case.ptc", query)
        expect(p.returncode == 0 and not p.stderr and p.stdout == plain.stdout and p.stdout, f"{query}: {p.stdout!r} {p.stderr!r}")
    p = checked("case.ptc", "SELECT 1", "DELETE FROM source")
    expect("readonly" in p.stderr, f"nothing to be written: {p.stderr!r}")
    whole = open(box.path("case.ptc"), "rb").read()
    with sqlite3.connect(box.path("case.ptc")) as c:
        path = c.execute("SELECT path FROM source WHERE source = 1").fetchone()[0]
        root = c.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'row_chunk'").fetchone()[0]
    at = whole.index(path.encode())
    box.write("changed.ptc", whole[:at] + b"X" + whole[at + 1:])
    ask = "SELECT path FROM source WHERE source = 1"
    if "X" + path[1:] in shell(box.path("changed.ptc"), ask).stdout:  # not checked, as the documentation says
        p = checked("changed.ptc", ask)
        expect("X" + path[1:] not in p.stdout and "malformed" in p.stderr, f"the page to be refused: {p.stdout!r} {p.stderr!r}")
    # one page in the place of another
    box.write("moved.ptc", whole[:(root - 1) * 8192] + whole[8192:16384] + whole[root * 8192:])
    p = checked("moved.ptc", "SELECT count(*) FROM request")
    expect("malformed" in p.stderr, f"the page to be refused: {p.stdout!r} {p.stderr!r}")
