#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# load_python.py - what one would write in Python: load_python.py pagelog|gateway|engine LOG DB; JSON or a regular expression, into SQLite
import json
import re
import sqlite3
import sys

LINE = re.compile(r"\[(\S+ \S+?)((?: \w+)*)\] (.*)")
PAIR = re.compile(r"([#\w][\w -]*?)(?:: |=)([\w.'-]+)")


def pagelog(f):
    for line in f:
        r = json.loads(line)
        yield (r.get("ts"), r.get("seq"), r.get("worker"), r.get("op"), r.get("rid"), r.get("room"), json.dumps(r.get("pages")))


def gateway(f):
    for line in f:
        r = json.loads(line)
        yield (r.get("start_time"), r.get("x-request-id"), r.get("tenant_id"), r.get("response_code"), r.get("duration"),
               r.get("bytes_sent"), r.get("gen_ai.usage.input_tokens"))


def engine(f):
    for line in f:
        m = LINE.match(line)
        if m:
            pairs = dict(PAIR.findall(m[3]))
            yield (m[1], m[2], m[3][:40], pairs.get("rid"), pairs.get("bootstrap_room"), json.dumps(pairs), None)
        else:
            yield (None, None, line[:40], None, None, None, None)


def main():
    kind, log, db = sys.argv[1:]
    c = sqlite3.connect(db)
    c.execute("PRAGMA journal_mode=OFF")
    c.execute("PRAGMA synchronous=OFF")
    c.execute("CREATE TABLE record(a, b, c, d, e, f, g)")
    with open(log, encoding="utf-8") as f:
        c.executemany("INSERT INTO record VALUES(?,?,?,?,?,?,?)", globals()[kind](f))
    c.commit()


main()
