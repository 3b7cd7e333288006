#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# load_pages.py - a page log as tables for foreign_reads.sql, pages already exploded: load_pages.py LOG DB; prints the number of touches
import json
import sqlite3
import sys


def main():
    log, db = sys.argv[1:]
    c = sqlite3.connect(db)
    c.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                    "CREATE TABLE op(no INTEGER PRIMARY KEY, pool TEXT, op TEXT, actor TEXT, content TEXT);"
                    "CREATE TABLE e(pool TEXT, page INT, no INT, op TEXT, actor TEXT, PRIMARY KEY(pool, page, no)) WITHOUT ROWID;")
    with open(log, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    # one worker after the other, in the order of its seq since each boot (they stand in that order)
    rows, no = [], 0
    for r in events:
        no += 1
        pool, rid = r["worker"], r.get("rid")
        c.execute("INSERT INTO op VALUES(?,?,?,?,?)", (no, pool, r["op"], rid, rid))
        for p in r.get("pages", []):
            first, count = p if isinstance(p, list) else (p, 1)
            rows += [(pool, page, no, r["op"], rid) for page in range(first, first + count)]
    rows.sort()
    c.executemany("INSERT OR IGNORE INTO e VALUES(?,?,?,?,?)", rows)
    c.commit()
    print(len(rows))


main()
