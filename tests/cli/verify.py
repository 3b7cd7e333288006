#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# verify.py - what was changed in a case behind the program's back is found and named; what a stopped run left is no damage
import filecmp
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, PAGETRAIL, expect, one_line_error, restamp, rounds

DERIVED = ("worker", "boot", "tenant", "gap", "clock")
ROWS = ("request", "alias", "leg", "response")  # in row_chunk, by their number


def change(box, *statements, stamp=True):
    """A copy of the case, changed with another program."""
    shutil.copy(box.path("case.ptc"), box.path("changed.ptc"))
    db = sqlite3.connect(box.path("changed.ptc"))
    for s in statements:
        db.execute(s)
    db.commit()
    db.close()
    if stamp:
        restamp(box.path("changed.ptc"))
    return not filecmp.cmp(box.path("case.ptc"), box.path("changed.ptc"), shallow=False)


def faults(box, *args, name="changed.ptc", code=1):
    doc = box.json("verify", name, *args, code=code)
    return [f"{r['where']}: {r['fault']}" for r in doc["rows"]]


def found(box, what, *statements):
    expect(change(box, *statements), f"{statements} to change something")
    list_ = faults(box)
    expect(any(what in f for f in list_), f"{statements} to be found as '{what}', got {list_}")


def columns(box, table):
    db = sqlite3.connect(box.path("case.ptc"))
    rows = db.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
    db.close()
    return rows


with Box() as box:
    box.run("simulate", "sim", "--requests", "60")
    box.write("sim/logs/odd.log", "nobody knows this line\n" * 5 + "nor this\n")
    box.run("ingest", "case.ptc", "sim/logs", "--title", "a rehearsal", code=3)
    before = open(box.path("case.ptc"), "rb").read()
    doc = box.json("verify", "case.ptc")
    expect(doc["rows"] == [] and len(doc["journal_head"]) == 64, "a case that nobody touched to be sound")
    expect(open(box.path("case.ptc"), "rb").read() == before, "verify to write nothing")
    expect(os.listdir(box.dir).count("case.ptc") == 1 and not os.path.exists(box.path("case.ptc-wal")), "nothing beside the case")
    text = box.run("verify", "case.ptc").stdout.decode()
    expect("not covered" in text and "--head" in text, "verify to say what it cannot see")

    # pages that another program wrote have no sums: no question reads them
    change(box, "UPDATE row_chunk SET n = n + 1", stamp=False)
    expect(any(f.startswith("page ") and "is not as it was written" in f for f in faults(box)), "the pages to be named")
    for verb in ("info", "scope", "exposures"):
        expect("verify" in one_line_error(box.run(verb, "changed.ptc", code=4)), f"{verb} to refuse them")

    # every column of every table that answers come from, then rows that are gone and rows that are new
    for table in DERIVED:
        for name, type_ in columns(box, table)[::rounds(1, 6)]:
            other = f"{name} + 1000" if type_ == "INTEGER" else f"{name} || 'x'"
            unknown = "1000" if type_ == "INTEGER" else "'x'"
            found(box, f"table {table}, row ",
                  f"UPDATE {table} SET {name} = coalesce({other}, {unknown}) WHERE rowid = (SELECT max(rowid) FROM {table})")
        found(box, f"table {table}, row ", f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})")
    # tables of requests: rows of another case, whole and with the right hashes; then each column of their chunks
    box.run("simulate", "sim2", "--requests", "60", "--seed", "2")
    box.run("ingest", "other.ptc", "sim2/logs")
    for number, table in enumerate(ROWS):
        found(box, f"table {table}, row 1: ", f"ATTACH '{box.path('other.ptc')}' AS other", f"DELETE FROM row_chunk WHERE tab = {number}",
              f"INSERT INTO row_chunk SELECT * FROM other.row_chunk WHERE tab = {number}")
        for change_ in ("first = first + 1", "n = n - 1", "request_min = request_min + 1", "request_max = request_max - 1",
                        "sha256 = zeroblob(32)", "data = zeroblob(length(data))", "data = substr(data, 1, length(data) - 1)",
                        "tab = 9")[::rounds(1, 3)]:
            found(box, f"table {table}", f"UPDATE row_chunk SET {change_} WHERE tab = {number}")
        found(box, f"table {table}, row 1: is missing", f"DELETE FROM row_chunk WHERE tab = {number}")
    # the index of their names
    for statement in ("UPDATE name_block SET data = zeroblob(length(data))", "UPDATE name_block SET data = substr(data, 1, length(data) - 1)",
                      "UPDATE name_block SET block = 1 WHERE block = 0", "DELETE FROM name_block",
                      "INSERT INTO name_block SELECT 1 << 61, data FROM name_block WHERE block = 0"):
        found(box, "table name_block, row ", statement)
    found(box, "follows from no event", "INSERT INTO tenant VALUES(9999, 'tenant-z')")
    found(box, "table case_info", "UPDATE case_info SET value = value || ',1' WHERE key = 'page_logs_in_order'")
    found(box, "case_info: title is 'another', the journal says 'a rehearsal'",
          "UPDATE case_info SET value = 'another' WHERE key = 'title'")
    # a case cannot get around it by saying how its tables are made
    found(box, "table tenant", "CREATE TABLE t2 AS SELECT * FROM tenant", "DROP TABLE tenant",
          "CREATE VIEW tenant AS SELECT 1 AS tenant, 'tenant-z' AS name")

    found(box, "view tenant: is not made as in a new case", "DROP TABLE tenant", "CREATE VIEW tenant AS SELECT 1 AS tenant, 'z' AS name")
    found(box, "view findings: is no part of a case", "CREATE VIEW findings AS SELECT 'C4' AS class")

    # every column of a source, and what hangs on it
    for name, type_ in columns(box, "source")[::rounds(1, 4)]:
        if name == "source":
            continue
        other = f"coalesce({name}, 0) + 1" if type_ == "INTEGER" else f"coalesce({name}, '') || 'x'"
        found(box, "source S2: ", f"UPDATE source SET {name} = {other} WHERE source = 2")
    found(box, "source S2: tz is '+08:00', the journal says 'UTC'", "UPDATE source SET tz = '+08:00' WHERE source = 2")
    found(box, "source S2: worker is 'nobody', the journal says '", "UPDATE source SET worker = 'nobody' WHERE source = 2")
    found(box, "source S2: ", "UPDATE source SET status = 'reading' WHERE source = 2")
    found(box, "source S", "UPDATE reject SET reason = 'harmless'")
    found(box, "source S", "DELETE FROM reject WHERE rowid = 1")
    found(box, "source S", "DELETE FROM event_chunk WHERE chunk = 3")
    found(box, "source S2: is gone; journal row 3", "DELETE FROM source WHERE source = 2",
          "DELETE FROM evidence_chunk WHERE source = 2", "DELETE FROM event_chunk WHERE source = 2",
          "DELETE FROM reject WHERE source = 2", "DELETE FROM gap WHERE source = 2", "DELETE FROM clock WHERE source = 2")

    # the journal
    last = "(SELECT max(seq) FROM journal)"
    found(box, "journal row 3: the chain", "UPDATE journal SET detail = replace(detail, 'ingested', 'known') WHERE seq = 3")
    found(box, "journal row 4: the chain", "DELETE FROM journal WHERE seq = 3")
    found(box, "the journal does not know it", f"DELETE FROM journal WHERE seq >= {last} - 1")
    head, rows = doc["journal_head"], sqlite3.connect(box.path("case.ptc")).execute(f"SELECT {last}").fetchone()[0]
    expect(f"is journal row {rows} of {rows}" in box.run("verify", "case.ptc", "--head", head).stdout.decode(), "the head to be found")
    first = box.json("journal", "case.ptc")["rows"][1]["sha256"]
    box.run("verify", "case.ptc", "--head", first.upper())
    change(box, f"DELETE FROM journal WHERE seq = {last}")
    expect(any(head in f for f in faults(box, "--head", head)), "a head that was cut off to be missed")
    expect(any("0" * 64 in f for f in faults(box, "--head", "0" * 64, name="case.ptc")), "a head that never was")
    for bad in ("", "abc", head[:-1], head[:-1] + "g", head + "0"):
        one_line_error(box.run("verify", "case.ptc", "--head", bad, code=2))

    # a report is not made from tables that were changed
    box.run("report", "case.ptc", "scope", "--out", "report")
    for statement in ("UPDATE row_chunk SET data = zeroblob(length(data)) WHERE tab = 3", "UPDATE name_block SET data = zeroblob(4)",
                      "DELETE FROM name_block", "DELETE FROM row_chunk WHERE tab = 1",
                      "UPDATE source SET path = 'elsewhere' WHERE source = 2", "UPDATE journal SET at_ns = at_ns + 1",
                      "CREATE VIEW exposed AS SELECT 1 AS request"):
        change(box, statement)
        p = box.run("report", "changed.ptc", "scope", "--out", "refused", code=4)
        expect("verify" in one_line_error(p) and not os.path.exists(box.path("refused")), "a report to be refused")

    # tables that are older than the evidence are made again, not judged; who asks leaves a row in the journal
    change(box, "DELETE FROM case_info WHERE key = 'derived_from'")
    expect(faults(box, code=0) == [], "old tables to be no fault")
    expect("older than the evidence" in box.run("verify", "changed.ptc").stdout.decode(), "old tables to be noted")
    box.run("scope", "changed.ptc", code=(0, 1))
    expect("older" not in box.run("verify", "changed.ptc").stdout.decode(), "tables to be made again by a question")
    box.run("report", "changed.ptc", "scope", "--out", "again")
    for name in os.listdir(box.path("again")):
        a, b = (open(box.path(f"{d}/{name}")).read() for d in ("report", "again"))
        expect([l for l in a.splitlines() if head not in l] and a.count("\n") == b.count("\n"), "the same report but for the head")

# the same file again, as another worker's, moved: the journal follows
PAGES = ('{"v":1,"ts":1788000000.000,"seq":0,"worker":"decode-0","op":"boot","page_size":64,"pool_pages":64}\n'
         '{"ts":1788000001.250,"seq":1,"worker":"decode-0","op":"alloc","rid":"a1","room":77,"pages":[[0,4]]}\n'
         '{"ts":1788000009.000,"seq":4,"worker":"decode-0","op":"free","rid":"a1","pages":[[0,4]]}\n')
SNAPSHOT = json.dumps({"model_path": "m", "max_total_num_tokens": 4096, "context_length": 8192, "disaggregation_mode": "prefill",
                       "version": "0.5.21", "host": "0.0.0.0", "port": 30000, "server_args": {}, "internal_states": [{}]}, indent=1)
with Box() as box:
    box.write("logs/pages.jsonl", PAGES)
    box.write("logs/prefill-0.json", SNAPSHOT)
    box.write("logs/one.log", "one line\n")
    box.write("logs/none.log", "")
    for args in ((), (), ("--worker", "decode-9"), ("--tz", "+08:00"), ("--worker", "decode-9")):
        box.run("ingest", "case.ptc", "logs", *args, code=(0, 3))
        expect(faults(box, name="case.ptc", code=0) == [], f"a case to be sound after {args}")
    actions = [r["action"] for r in box.json("journal", "case.ptc")["rows"]]
    expect("drop" in actions, "what is read again to leave a row in the journal")

    # a document is one record, however many lines it has
    got = box.json("sql", "case.ptc", "SELECT s.source, s.path, s.records, count(r.source) AS n, min(r.byte_off) AS off, "
                   "sum(r.byte_len) AS len, min(r.text) AS text FROM source AS s LEFT JOIN records AS r USING(source) GROUP BY 1")["rows"]
    for row in got:
        expect(row["n"] == row["records"], f"records to equal the accounting: {row}")
        if row["path"].endswith(".json"):
            expect((row["off"], row["len"], row["text"]) == (0, len(SNAPSHOT), SNAPSHOT), f"the document whole: {row}")
    total = box.json("sql", "case.ptc", "SELECT (SELECT count(*) FROM records) AS n, (SELECT sum(records) FROM source) AS want")["rows"][0]
    expect(total["n"] == total["want"], f"all records to equal the accounting: {total}")

    for source, code in (("999", 3), ("0", 2)):
        p = box.run("show", "case.ptc", "--source", source, "--all", code=code)
        expect(source in one_line_error(p) and not p.stdout, "a source that is not there, or cannot be, to be said")
    box.run("show", "case.ptc", "--source", str(got[0]["source"]), "--all")
    box.run("show", "case.ptc", "S1@0+1", "--source", "1", code=2)


def stopped_run(box, sig):
    """Stops an ingest while it reads; true when the case holds part of a source."""
    for delay in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6):
        for name in os.listdir(box.dir):
            if name.startswith("case.ptc"):
                os.unlink(box.path(name))
        p = subprocess.Popen([os.path.abspath(PAGETRAIL), "ingest", "case.ptc", "big"], cwd=box.dir, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(delay)
        p.send_signal(sig)
        p.wait()
        if not os.path.exists(box.path("case.ptc")) or not os.path.getsize(box.path("case.ptc")):
            continue
        try:
            db = sqlite3.connect(f"file:{box.path('case.ptc')}?mode=ro", uri=True)
            n = db.execute("SELECT count(*) FROM event_chunk JOIN source USING(source) WHERE status = 'reading'").fetchone()[0]
            db.close()
        except sqlite3.Error:
            continue
        if n:
            return True
    return False


with Box() as box:
    line = '{"ts":%d.%03d,"seq":%d,"worker":"decode-0","op":"alloc","rid":"r%d","pages":[[%d,4]]}\n'
    with open(box.path("part"), "w") as f:
        for i in range(rounds(1000000, 400000)):
            f.write(line % (1788000000 + i // 1000, i % 1000, i, i, i * 4 % 4096))
    os.mkdir(box.path("big"))
    os.rename(box.path("part"), box.path("big/pages.jsonl"))
    tried = 0
    for sig in (signal.SIGINT, signal.SIGKILL):
        if not stopped_run(box, sig):
            continue
        tried += 1
        doc = box.json("verify", "case.ptc")
        expect(doc["rows"] == [] and doc["unfinished_sources"] == [1], f"a stopped run to be no damage: {doc['rows']}")
        text = box.run("verify", "case.ptc").stdout.decode()
        expect("big/pages.jsonl was being read when a run was stopped" in " ".join(text.split()), "the stopped source to be named")
        box.run("ingest", "case.ptc", "big")
        doc = box.json("verify", "case.ptc")
        expect(doc["rows"] == [] and doc["unfinished_sources"] == [], "the same ingest to go on")
    expect(tried, "a run to be stopped while it reads")
