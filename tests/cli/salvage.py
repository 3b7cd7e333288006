#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# salvage.py - what is good of a damaged case goes over, what is lost is a gap, and the new case is sound
import json
import os
import random
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error, rounds

PAGE = 8192
LINE = '{"ts":%d.%03d,"seq":%d,"worker":"decode-0","op":"alloc","rid":"r%d-%s","pages":[[%d,4]]}\n'


def logs(box):
    """Three sources: a page log of several chunks, an engine log of a rehearsal, lines that nobody knows."""
    rnd = random.Random(7)
    with open(box.path("pages.jsonl"), "w") as f:
        for i in range(40000):
            f.write(LINE % (1788000000 + i // 100, i % 1000, i, i, rnd.randbytes(4).hex(), i * 4 % 4096))
    box.run("simulate", "sim", "--requests", "60")
    os.mkdir(box.path("in"))
    os.rename(box.path("pages.jsonl"), box.path("in/pages.jsonl"))
    shutil.copy(box.path("sim/logs/prefill-0.log"), box.path("in/prefill-0.log"))
    shutil.copy(box.path("sim/logs/gateway.jsonl"), box.path("in/gateway.jsonl"))
    box.write("in/odd.log", "nobody knows this line\n" * 50)
    box.run("ingest", "case.ptc", "in", "--title", "a rehearsal", "--id", "INC-1", code=3)


def db(box, name="case.ptc"):
    return sqlite3.connect(box.path(name))


def one(box, query, *args, name="case.ptc"):
    c = db(box, name)
    row = c.execute(query, args).fetchone()
    c.close()
    return row


def change(box, *statements):
    shutil.copy(box.path("case.ptc"), box.path("bad.ptc"))
    c = db(box, "bad.ptc")
    for s in statements:
        c.execute(*s) if isinstance(s, tuple) else c.execute(s)
    c.commit()
    c.close()


def salvage(box, code=1):
    if os.path.exists(box.path("new.ptc")):
        os.unlink(box.path("new.ptc"))
    doc = box.json("salvage", "bad.ptc", "new.ptc", code=code)
    expect(sorted(f for f in os.listdir(box.dir) if f.startswith("new")) == ["new.ptc"], "the new case and nothing beside it")
    doc["verify"] = box.json("verify", "new.ptc")
    expect(doc["verify"]["rows"] == [], f"the new case to be sound: {doc['verify']['rows']}")
    return doc


def rows_of(box, verb, name):
    return box.json(verb, name, code=(0, 1))["rows"]


def same_answers(box):
    for verb in ("scope", "exposures", "gaps"):
        expect(rows_of(box, verb, "new.ptc") == rows_of(box, verb, "case.ptc"), f"{verb} to answer as before")
    expect(box.json("verify", "new.ptc")["content_digest"] == digest, "the same content")


def row(doc, source):
    return [r for r in doc["rows"] if r["source"] == source][0]


with Box() as box:
    logs(box)
    before = box.json("verify", "case.ptc")
    digest, head = before["content_digest"], before["journal_head"]
    source = {os.path.basename(p): s for s, p in db(box).execute("SELECT source, path FROM source")}
    pages = source["pages.jsonl"]
    size = os.path.getsize(box.path("in/pages.jsonl"))
    raw = open(box.path("in/pages.jsonl"), "rb").read()

    # nothing is damaged: all goes over, exit code 0; and an existing file is never overwritten
    shutil.copy(box.path("case.ptc"), box.path("bad.ptc"))
    untouched = open(box.path("bad.ptc"), "rb").read()
    doc = salvage(box, code=0)
    expect(all(r["events"] == "kept" and r["lost"] == 0 for r in doc["rows"]), f"all to be kept: {doc['rows']}")
    expect(open(box.path("bad.ptc"), "rb").read() == untouched, "the old case to be only read")
    same_answers(box)
    box.run("verify", "new.ptc", "--head", head)
    actions = [r["action"] for r in box.json("journal", "new.ptc")["rows"]]
    expect("salvage" in actions and actions[0] == "init", f"the journal to go on: {actions}")
    detail = json.loads(one(box, "SELECT detail FROM journal WHERE action = 'salvage'", name="new.ptc")[0])
    expect(detail["head"] == head and detail["bytes_lost"] == 0, f"the old head to be named: {detail}")
    one_line_error(box.run("salvage", "bad.ptc", "new.ptc", code=3))
    one_line_error(box.run("salvage", "nowhere.ptc", "n2.ptc", code=3))
    one_line_error(box.run("salvage", "in/odd.log", "n2.ptc", code=4))
    one_line_error(box.run("salvage", "bad.ptc", code=2))
    box.write("long.bin", b"\0" * 100000)
    one_line_error(box.run("salvage", "long.bin", "n2.ptc", code=4))
    expect(not os.path.exists(box.path("n2.ptc")), "no case out of nothing")

    # events, rejects and rows that are damaged or gone are made again: nothing is lost
    harmless = [
        ("DELETE FROM event_chunk WHERE chunk % 2 = 0",),
        ("UPDATE event_chunk SET data = zeroblob(length(data)) WHERE chunk = (SELECT min(chunk) FROM event_chunk)",),
        ("UPDATE event_chunk SET source = 1",),
        ("UPDATE event_chunk SET ts_min = 5, n = 9",),
        ("DELETE FROM reject",),
        ("UPDATE reject SET byte_len = 3",),
        ("UPDATE source SET worker = 'nobody', tz = '+08:00', bytes = 17, records = 3, content_sha256 = 'x', path = 'y'",),
        ("DELETE FROM row_chunk WHERE tab > 1", "UPDATE row_chunk SET data = zeroblob(length(data))"),
        ("DELETE FROM case_info",),
    ]
    for statements in harmless[::rounds(1, 4)]:
        change(box, *statements)
        doc = salvage(box, code=(0, 1))
        expect(doc["bytes_lost"] == 0, f"nothing to be lost after {statements}")
        same_answers(box)
        info = dict(db(box, "new.ptc").execute("SELECT key, value FROM case_info"))
        expect(info.get("id") == "INC-1" and info.get("title") == "a rehearsal", f"id and title after {statements}")
    # a row that is gone is known from the journal; only what the journal does not tell is unknown
    change(box, f"DELETE FROM source WHERE source = {pages}")
    doc = salvage(box)
    expect(doc["bytes_lost"] == 0 and row(doc, pages)["why"] == "its row is lost", f"the row to be made again: {row(doc, pages)}")
    expect(rows_of(box, "exposures", "new.ptc") == rows_of(box, "exposures", "case.ptc"), "exposures to answer as before")

    # evidence that is lost is lost, and everybody says so
    off, length = one(box, "SELECT byte_off, byte_len FROM evidence_chunk WHERE source = ? ORDER BY byte_off LIMIT 1 OFFSET 1", pages)
    expect(0 < off < off + length < size, "a chunk in the middle")
    for what in (f"UPDATE evidence_chunk SET data = zeroblob(length(data)) WHERE source = {pages} AND byte_off = {off}",
                 f"DELETE FROM evidence_chunk WHERE source = {pages} AND byte_off = {off}",
                 f"UPDATE evidence_chunk SET sha256 = zeroblob(32) WHERE source = {pages} AND byte_off = {off}")[:rounds(3, 1)]:
        change(box, what)
        box.run("verify", "bad.ptc", code=1)
        doc = salvage(box)
        r = row(doc, pages)
        expect(doc["bytes_lost"] == length and r["lost_ranges"] == [[off, off + length]], f"the range to be named: {r}")
        expect(r["status"] == "failed" and r["records"] < r["records_before"], f"the source to be incomplete: {r}")
        expect(doc["verify"]["lost"] == [{"source": pages, "from": off, "to": off + length}], "verify to say it")
        expect("lost with a damaged case" in box.run("verify", "new.ptc").stdout.decode(), "verify to say it to a person, too")
        info = [s for s in box.json("info", "new.ptc")["sources"] if s["source"] == pages][0]
        expect(info["status"] == "failed" and "are lost" in info["reason"], f"info to say it: {info['reason']}")
        for total, parts in (("records", ("parsed", "context", "unparsed", "duplicate")),):
            expect(info[total] == sum(info[p] for p in parts), f"{total} to add up: {info}")
        gaps = [g for g in rows_of(box, "gaps", "new.ptc") if g["source"] in (pages, "in/pages.jsonl") or "pages.jsonl" in str(g["source"])]
        expect(not [g for g in gaps if "rest of the source holds" in g["effect"] or "lost with a damaged" in g["effect"]],
               f"no gap to say less than what is lost: {[g['effect'] for g in gaps]}")
        expect({"failed_source", "torn", "sequence"} <= {g["kind"] for g in gaps}, f"gaps to say it: {[g['kind'] for g in gaps]}")
        # the bytes around it are there, byte for byte; nothing is put together across the hole
        expect(box.run("show", "new.ptc", "--raw", f"S{pages}@0+{off}").stdout == raw[:off], "the bytes before it")
        rest = size - off - length
        expect(box.run("show", "new.ptc", "--raw", f"S{pages}@{off + length}+{rest}").stdout == raw[off + length:], "the bytes behind it")
        one_line_error(box.run("show", "new.ptc", f"S{pages}@{off - 10}+20", code=3))
        got = box.json("sql", "new.ptc", f"SELECT byte_off, text FROM records WHERE source = {pages}")["rows"]
        for g in got:
            text = g["text"].encode()
            expect(raw[g["byte_off"]:g["byte_off"] + len(text)] == text, f"a record that is in the log: {g}")
        seqs = box.json("sql", "new.ptc", "SELECT seq, rid FROM page_events WHERE seq IS NOT NULL")["rows"]
        known = dict(box_row for box_row in db_rows) if (db_rows := [(r["seq"], r["rid"]) for r in box.json(
            "sql", "case.ptc", "SELECT seq, rid FROM page_events WHERE seq IS NOT NULL")["rows"]]) else {}
        expect(len(seqs) < len(known) and all(known[s["seq"]] == s["rid"] for s in seqs), "events that are those of the log")
        box.run("report", "new.ptc", "scope", "--out", f"report-{len(os.listdir(box.dir))}")
        # a salvaged case can be salvaged, with the same result
        os.replace(box.path("new.ptc"), box.path("bad.ptc"))
        again = salvage(box, code=(0, 1))
        expect(row(again, pages)["lost_ranges"] == [[off, off + length]], "what was lost to stay lost")

    # the end, the beginning, and all of a source
    for where in ("min", "max"):
        change(box, f"DELETE FROM evidence_chunk WHERE source = {pages} AND byte_off = (SELECT {where}(byte_off) FROM "
                    f"evidence_chunk WHERE source = {pages})")
        doc = salvage(box)
        r = row(doc, pages)
        edge = r["lost_ranges"][0][0] == 0 if where == "min" else r["lost_ranges"][0][1] == size
        expect(r["lost"] > 0 and edge, f"the {where} of a source: {r}")
    change(box, f"DELETE FROM evidence_chunk WHERE source = {pages}", f"DELETE FROM event_chunk WHERE source = {pages}",
           f"DELETE FROM source WHERE source = {pages}")
    doc = salvage(box)
    expect(row(doc, pages)["lost_ranges"] == [[0, size]], "a source that is gone to be known from the journal")
    change(box, f"UPDATE evidence_chunk SET byte_off = byte_off + 7 WHERE source = {pages} AND byte_off = {off}")
    salvage(box)

    # the journal
    change(box, "UPDATE journal SET detail = replace(detail, 'ingested', 'known') WHERE seq = 2")
    doc = salvage(box)
    actions = [r["action"] for r in box.json("journal", "new.ptc")["rows"]]
    expect(doc["bytes_lost"] == 0 and actions.count("unproved") > 1, f"what follows a break to be kept as texts: {actions}")
    same_answers(box)
    for statement in ("DELETE FROM journal", "DELETE FROM journal WHERE seq = 1"):
        change(box, statement)
        doc = salvage(box)
        expect(doc["bytes_lost"] == 0, "nothing to be lost with the journal")
        same_answers(box)

    # pages of the tables that are made again: nothing is lost, but something was not as it was
    whole = open(box.path("case.ptc"), "rb").read()
    for root, in db(box).execute("SELECT rootpage FROM sqlite_schema WHERE name LIKE '%row_chunk%' OR name = 'gap'").fetchall()[::rounds(1, 4)]:
        box.write("bad.ptc", whole[:(root - 1) * PAGE] + b"\0" * PAGE + whole[root * PAGE:])
        doc = salvage(box, code=1)
        expect(doc["bytes_lost"] == 0, f"nothing to be lost with page {root}")
        same_answers(box)
        for f in box.json("verify", "bad.ptc", code=1)["rows"]:
            expect("***" not in f["fault"] and "\\u" not in f["fault"] and "\n" not in f["fault"], f"a clean line for each fault: {f}")
            expect("page " not in f["fault"].lower() or not f["where"] == "database", f"the page of a fault as its place: {f}")
        expect(any(f["where"] == f"page {root}" for f in box.json("verify", "bad.ptc", code=1)["rows"]), f"page {root} to be named")

    # pages of the file: each in turn is gone
    n = os.path.getsize(box.path("case.ptc")) // PAGE
    whole = open(box.path("case.ptc"), "rb").read()
    rnd = random.Random(3)
    turns = list(range(1, 12, rounds(1, 6))) + sorted(rnd.sample(range(12, n), min(rounds(12, 1), n - 12)))
    for page in turns:
        for fill in (b"\0" * PAGE, rnd.randbytes(PAGE)):
            box.write("bad.ptc", whole[:(page - 1) * PAGE] + fill + whole[page * PAGE:])
            doc = salvage(box, code=(0, 1) if fill == b"\0" * PAGE else 1)  # a free page of zeros is as good as any
            expect(len(doc["rows"]) >= 4, f"all sources without page {page}: {len(doc['rows'])}")
            expect(doc["bytes_lost"] <= 2 * 1024 * 1024 or page < 12, f"no more to be lost than with page {page}: {doc['bytes_lost']}")
            for r in doc["rows"]:
                expect(r["lost"] == 0 or r["status"] == "failed", f"a loss to be seen: {r}")
