#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# inputs.py - wrong input of every kind: one clear line or a counted reject, the right exit code, nothing lost
import gzip
import json
import os
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, one_line_error, sums_hold

PAGES = ('{"v":1,"ts":1788000000.000,"seq":0,"worker":"decode-0","op":"boot","page_size":64,"pool_pages":64}\n'
         '{"ts":1788000001.250,"seq":1,"worker":"decode-0","op":"alloc","rid":"a1","room":77,"pages":[[0,4]]}\n'
         '{"ts":1788000001.900,"seq":2,"worker":"decode-0","op":"recv","rid":"a1","room":77,"pages":[[0,4]]}\n'
         '{"ts":1788000002.000,"seq":3,"worker":"decode-0","op":"read","rid":"a1","pages":[[0,4]]}\n'
         '{"ts":1788000009.000,"seq":4,"worker":"decode-0","op":"free","rid":"a1","pages":[[0,4]]}\n')


def ingest(name, data, code, status):
    """One source into a fresh case; its row, and the bytes that come back."""
    with Box() as box:
        box.write(name, data)
        doc = box.json("ingest", "case.ptc", name, code=code)
        expect(len(doc["rows"]) == 1, f"one row for {name}, got {doc['rows']}")
        row = doc["rows"][0]
        expect(row["status"] == status, f"{name} to be {status}, got {row['status']} ({row['reason']})")
        sums_hold(row)
        if row["source"]:
            back = box.run("show", "case.ptc", "--source", str(row["source"]), "--all").stdout
        else:
            back = b""
        box.run("verify", "case.ptc")
        return row, back


row, back = ingest("pages.jsonl", PAGES, 0, "ingested")
expect(back == PAGES.encode() and row["parsed"] == 5, "a page log to come back byte for byte")

row, back = ingest("empty.log", b"", 3, "unrecognised")
expect(row["reason"] and row["records"] == 0, "an empty file to say so")

png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
row, back = ingest("picture.png", png, 3, "unrecognised")
expect(back == png and row["unparsed"] == row["records"], "a picture to be kept whole and counted unparsed")

array = json.dumps([{"a": 1}, {"b": 2}]).encode()
row, back = ingest("array.json", array, 3, "unrecognised")
expect(back == array, "a JSON array to be kept whole")

long_line = b'{"ts":1788000001.25,"seq":1,"worker":"d","op":"alloc","rid":"' + b"x" * (100 << 20) + b'"}\n'
row, back = ingest("long.jsonl", PAGES.encode() + long_line, 0, "ingested")
expect(back == PAGES.encode() + long_line, "a 100 MB line to come back byte for byte")
expect(row["unparsed"] == 1 and row["records"] == 6, "a 100 MB line to be one unparsed record")

cut = gzip.compress(PAGES.encode() * 2000)[:-3000]
row, back = ingest("cut.jsonl.gz", cut, 3, "failed")
expect(row["reason"], "a truncated gzip to say why")
expect((PAGES.encode() * 2000).startswith(back) and len(back) > 0, "what could be read of it to be kept")

for eol in (b"\r\n", b"\n"):
    data = PAGES.encode().replace(b"\n", eol)[:-len(eol)]  # and no line end at the end
    row, back = ingest("eol.jsonl", data, 0, "ingested")
    expect(back == data and row["parsed"] == 5, f"line ends {eol!r} and a missing last one")

data = PAGES.encode() + b"\x00\x00\x00\xff\xfe torn\n" + PAGES.encode()[:40]
row, back = ingest("torn.jsonl", data, 0, "ingested")
expect(back == data and row["unparsed"] == 3, "NULs, invalid UTF-8 and a torn end to be counted")

# a log that was cut under its writer, and what holds nothing: nothing vanishes
row, back = ingest("rotated.jsonl", bytes(3 << 20) + PAGES.encode(), 0, "ingested")
expect(row["parsed"] == 5 and back == bytes(3 << 20) + PAGES.encode(), "a page log behind NULs to be read")
for name, data in (("nul.log", bytes(4096)), ("nul.gz", gzip.compress(bytes(4096))), ("none.tar", bytes(10240)),
                   ("none.zip", b"PK\x05\x06" + bytes(18))):
    row, back = ingest(name, data, 3, "unrecognised")
    expect(row["reason"] and len(back) == row["bytes"] > 0, f"{name} to have a row and its bytes")

# packed data that is damaged, but can be unpacked: the check sum tells
stored = bytearray(gzip.compress(PAGES.encode() * 200, 0))
stored[len(stored) // 2] ^= 1
row, back = ingest("flipped.jsonl.gz", bytes(stored), 3, "failed")
expect("checksum" in row["reason"] and len(back) == len(PAGES) * 200, "a flipped byte to be noticed, what was read to be kept")

# an archive with a damaged header: its neighbours are read, and the archive is kept as it is
with Box() as box:
    for name in ("a", "b", "c"):
        box.write(name + ".jsonl", PAGES.replace("decode-0", "decode-" + name))
    with tarfile.open(box.path("logs.tar"), "w") as tar:
        for name in ("a", "b", "c"):
            tar.add(box.path(name + ".jsonl"), name + ".jsonl")
    with open(box.path("logs.tar"), "rb") as f:
        data = bytearray(f.read())
    data[data.index(b"b.jsonl")] ^= 1
    box.write("logs.tar", bytes(data))
    rows = box.json("ingest", "case.ptc", "logs.tar", code=3)["rows"]
    expect([(r["path"], r["status"]) for r in rows] ==
           [("logs.tar!a.jsonl", "ingested"), ("logs.tar!c.jsonl", "ingested"), ("logs.tar", "failed")], f"neighbours: {rows}")
    expect("damaged" in rows[2]["reason"] and "archive_read" not in rows[2]["reason"], "plain words")
    expect(box.run("show", "case.ptc", "--source", str(rows[2]["source"]), "--all").stdout == bytes(data), "the archive kept")
    gaps = box.json("gaps", "case.ptc", code=1)["rows"]
    expect(("failed_source", rows[2]["source"]) in {(g["kind"], g["source"]) for g in gaps}, f"a gap for it: {gaps}")

# what is missing says of what: files that a rotation leaves out, records that were torn
with Box() as box:
    leg = '{"id": "r%d", "finish_reason": {"type": "stop"}, "prompt_tokens": 7, "completion_tokens": 1, "request_received_ts": %d.5}\n'
    for name, at in (("4", 0), ("3", 1000), ("1", 2000)):
        box.write(f"logs/m.log.{name}", leg % (at, 1789355564 + at) + leg % (at + 1, 1789356464 + at) + ("" if at else leg[:30] + "\n"))
    box.json("ingest", "case.ptc", "logs")
    for verb in ("gaps",), ("query", "log_gap"):
        rows = box.json(verb[0], *(("case.ptc",) + verb[1:]), code=(0, 1))["rows"]
        got = sorted((g["kind"], g["missing"], g["unit"]) for g in rows)
        expect(got == [("rotation", 1, "files"), ("torn", 1, "records")], f"units of what is missing: {rows}")

# what cannot be opened is a source that failed, until it can
with Box() as box:
    box.write("in/good.jsonl", PAGES)
    os.symlink("nowhere", box.path("in/late.jsonl"))
    for _ in range(2):
        rows = box.json("ingest", "case.ptc", "in", code=3)["rows"]
        expect(rows[1]["status"] == "failed" and rows[1]["source"] and rows[1]["bytes"] == 0, f"a row for a dead link: {rows}")
        listed = box.json("info", "case.ptc")["sources"]
        expect([r["status"] for r in listed].count("failed") == 1 and len(listed) == 2, f"one row each: {listed}")
        expect("failed_source" in {g["kind"] for g in box.json("gaps", "case.ptc", code=1)["rows"]}, "a gap for it")
    os.unlink(box.path("in/late.jsonl"))
    box.write("in/late.jsonl", PAGES.replace("decode-0", "decode-1"))
    expect([r["status"] for r in box.json("ingest", "case.ptc", "in")["rows"]] == ["known", "ingested"], "read at last")
    expect({r["status"] for r in box.json("info", "case.ptc")["sources"]} == {"ingested"}, "the failed row to be replaced")

# a folder too
with Box() as box:
    box.write("in/good.jsonl", PAGES)
    os.symlink("nowhere", box.path("in/sub"))
    box.json("ingest", "case.ptc", "in", code=3)
    os.unlink(box.path("in/sub"))
    os.mkdir(box.path("in/sub"))
    box.json("ingest", "case.ptc", "in")
    expect([r["path"] for r in box.json("info", "case.ptc")["sources"]] == ["in/good.jsonl"], "the failed folder to be gone")
    expect("failed_source" not in {g["kind"] for g in box.json("gaps", "case.ptc", code=(0, 1))["rows"]}, "no gap for it")

# the case comes first; values that mean nothing are refused
with Box() as box:
    box.write("pages.jsonl", PAGES)
    expect("first argument is the case" in one_line_error(box.run("ingest", "pages.jsonl", "pages.jsonl", code=3)), "a forgotten case")
    one_line_error(box.run("ingest", "case.ptc", "pages.jsonl", "--progress", "xml", code=2))
    one_line_error(box.run("ingest", "case.ptc", "pages.jsonl", "--jobs", "0", code=2))
    box.run("ingest", "case.ptc", "pages.jsonl")
    again = box.run("ingest", "case.ptc", "pages.jsonl").stdout.decode()
    expect("0 sources, 0 records, 0 bytes; 1 known already" in again, f"only what was added to be counted: {again}")
    expect("first argument is the case" in one_line_error(box.run("ingest", "case.ptc", "case.ptc", code=3)), "the case to be named")
    lost = one_line_error(box.run("ingest", "none/case.ptc", "pages.jsonl", code=3))
    expect("check the path" in lost, f"what to do: {lost}")

# the case is no log of its own
with Box() as box:
    box.write("pages.jsonl", PAGES)
    for _ in range(2):
        p = box.run("ingest", "case.ptc", ".", "--json")
        expect([r["path"] for r in json.loads(p.stdout)["rows"]] == ["./pages.jsonl"], "only the log to be read")
        expect("case.ptc: left out" in p.stderr.decode(), "a note that the case was left out")
    times = [r["at"] for r in box.json("journal", "case.ptc")["rows"]]
    expect(times == sorted(times), f"the journal to go forward: {times}")

# two first commands at the same time: one makes the case, the other finds it locked (or done)
with Box() as box:
    box.write("many.jsonl", PAGES * 20000)
    both = [subprocess.Popen([os.path.abspath(PAGETRAIL), "ingest", "case.ptc", "many.jsonl"], cwd=box.dir,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    ends = [(p.communicate()[1].decode(), p.returncode) for p in both]
    expect(sorted(code for _, code in ends) in ([0, 0], [0, 4]), f"one to win, the other to be told: {ends}")
    expect(all("locked" in text for text, code in ends if code), f"the loser to hear of the lock: {ends}")

# two nodes of one kind give the same snapshot: a fact about each; a copy of one of them is known
snapshot = json.dumps({"model_path": "m", "max_total_num_tokens": 4096, "context_length": 8192, "disaggregation_mode": "prefill",
                       "version": "0.5.21", "host": "0.0.0.0", "port": 30000, "server_args": {}, "internal_states": [{}]})
with Box() as box:
    for name in ("prefill-0.json", "prefill-1.json", "copy/prefill-1.json"):
        box.write("snap/" + name, snapshot)
    rows = box.json("ingest", "case.ptc", "snap")["rows"]
    expect(sorted((r["worker"], r["status"]) for r in rows) ==
           [("prefill-0", "ingested"), ("prefill-1", "ingested"), ("prefill-1", "known")], f"twins to be told apart: {rows}")
    expect({r["status"] for r in box.json("ingest", "case.ptc", "snap")["rows"]} == {"known"}, "all known the second time")
    expect(len(box.json("info", "case.ptc")["workers"]) == 2, "two workers")

# one that says the same a day later, and its time in the file's name alone: it was asked twice; a copy of one answer is known
with Box() as box:
    for end in ("-20260914T031244Z", "-20260915T031244Z", "", "-20260915T031244Z.copy"):
        box.write(f"snap/{'copy/' if end[-1:] != 'Z' else ''}prefill-0-server_info{end.replace('.copy', '')}.json", snapshot)
    rows = box.json("ingest", "case.ptc", "snap")["rows"]
    expect(sorted((r["first_at"], r["status"]) for r in rows if r["status"] == "ingested") ==
           [("2026-09-14T03:12:44Z", "ingested"), ("2026-09-15T03:12:44Z", "ingested")] and len(rows) == 4, f"two answers: {rows}")
    expect({r["status"] for r in box.json("ingest", "case.ptc", "snap")["rows"]} == {"known"}, "all known the second time")
    expect(len(box.json("sql", "case.ptc", "SELECT * FROM boot_events")["rows"]) == 2, "two snapshots")

with Box() as box:
    expect("no such" in one_line_error(box.run("ingest", "case.ptc", "missing.log", code=3)), "a missing file to be named")
    expect(not os.path.exists(box.path("case.ptc")), "no case to be made for a missing file")
    one_line_error(box.run("scope", "missing.ptc", code=(3, 4)))

    os.mkdir(box.path("folder"))
    empty = box.run("ingest", "case.ptc", "folder", "--json", code=3)
    expect("no file" in one_line_error(empty) and json.loads(empty.stdout)["rows"] == [], "an empty folder to be named")
    expect(not os.path.exists(box.path("case.ptc")), "no case to be made for an empty folder")
    box.write("folder/a/pages.jsonl", PAGES)
    expect(len(box.json("ingest", "case.ptc", "folder")["rows"]) == 1, "a folder to be read recursively")
    again = box.json("ingest", "case.ptc", "folder")["rows"]
    expect(again[0]["status"] == "known", "known bytes to be skipped")

    # one missing among good ones: the good ones are read, and the missing one is reported
    box.write("more.jsonl", PAGES.replace("decode-0", "decode-1"))
    doc = box.json("ingest", "case.ptc", "missing.log", "more.jsonl", code=3)
    expect({r["status"] for r in doc["rows"]} == {"failed", "ingested"}, "the others to be read all the same")

    for verb in ("scope", "exposures", "verify", "info"):
        one_line_error(box.run(verb, "more.jsonl", code=4))
    box.write("zero.ptc", b"")
    one_line_error(box.run("scope", "zero.ptc", code=4))
    expect("folder" in one_line_error(box.run("scope", "folder", code=4)), "a folder as case to be named")

    # a read-only case can be asked, and refuses to be written with one line
    os.chmod(box.path("case.ptc"), 0o400)
    os.chmod(box.dir, 0o500)
    try:
        box.run("exposures", "case.ptc", code=(0, 1))
        if os.geteuid() != 0:
            one_line_error(box.run("ingest", "case.ptc", "more.jsonl", code=4))
    finally:
        os.chmod(box.dir, 0o700)
        os.chmod(box.path("case.ptc"), 0o600)

    # a newer version is refused with its number
    with open(box.path("case.ptc"), "r+b") as f:
        f.seek(60)
        f.write((77).to_bytes(4, "big"))
    expect("77" in one_line_error(box.run("scope", "case.ptc", code=4)), "the newer version to be named")

# what is refused before anything is read leaves no case behind
with Box() as box:
    box.write("a.log", "x\n")
    for args, code in ((("--tz", "Foo"), 2), (("--sources", "nofile"), 3), (("--format", "none-such"), 2), (("--map", "nofile"), 3), (("--jobs", "0"), 2)):
        one_line_error(box.run("ingest", "new.ptc", "a.log", *args, code=code))
        expect(not os.path.exists(box.path("new.ptc")), f"{args}: no case")

# a number out of range is refused by its option's name; 0 never stands for "not given"
NUMBERS = {  # verb and what else it needs, the least, the most
    ("ingest", "--jobs"): (("case.ptc", "a.jsonl"), 1, 256), ("verify", "--jobs"): (("case.ptc",), 1, 256),
    ("grep", "--source"): (("case.ptc", "x"), 1, None), ("show", "--source"): (("case.ptc", "--all"), 1, None),
    ("canary", "--plan"): ((), 1, 100000), ("canary", "--seed"): (("--plan", "1"), 0, None),
    ("canary", "--over-limit"): (("--plan", "1", "--limit", "100"), 1, 100000), ("canary", "--context"): (("--plan", "1", "--over-limit", "1", "--limit", "100"), 101, None),
    ("probe", "--max-requests"): (("case.ptc", "--endpoint", "http://127.0.0.1:1", "--plan", "a.jsonl", "--i-may-test-this-endpoint"), 1, None), ("probe", "--max-seconds"): (("case.ptc", "--endpoint", "http://127.0.0.1:1", "--plan", "a.jsonl", "--i-may-test-this-endpoint"), 1, 604800),
    ("probe", "--max-tokens"): (("case.ptc", "--endpoint", "http://127.0.0.1:1", "--plan", "a.jsonl", "--i-may-test-this-endpoint"), 1, 4096), ("report", "--issue"): (("case.ptc", "scope"), 1, 100000),
    ("simulate", "--seed"): (("out",), 0, None), ("simulate", "--requests"): (("out",), 1, 400000), ("snapshot", "--port"): (("case.ptc", "http://127.0.0.1:1"), 1, 65535),
    ("timeline", "--margin"): (("case.ptc", "--around", "x"), 0, 366 * 24 * 3600), ("info", "--limit"): (("case.ptc",), 0, None),
    ("deploy", "--issue"): (("case.ptc", "--csaf", "x.json"), 1, 100000), ("snapshot", "--max-bytes"): (("case.ptc", "http://127.0.0.1:1"), 1, None),
    ("snapshot", "--parallel"): (("case.ptc", "http://127.0.0.1:1"), 1, None)}
with Box() as box:
    box.write("a.jsonl", PAGES)
    box.run("ingest", "case.ptc", "a.jsonl")
    before = sorted(os.listdir(box.dir))
    for (verb, option), (args, least, most) in NUMBERS.items():
        for wrong in (str(least - 1), "-5", "1.5", "0x10", "7 ", "", str(2**64 + 1), *([str(most + 1)] if most else [])):
            line = one_line_error(box.run(verb, *args, option, wrong, code=2))
            expect(option in line, f"{verb} {option} {wrong!r}: {line}")
    expect(sorted(os.listdir(box.dir)) == before, "nothing is made")
    for args in (("case.ptc", "--seed", "5"), ("case.ptc", "--context", "5")):
        expect("--plan" in one_line_error(box.run("canary", *args, code=2)), f"{args} without a plan")
listed = subprocess.run(["grep", "-rhoE", '"--[a-z-]+", OPTION_(INT|COUNT)', os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/cli")],
                        capture_output=True, text=True).stdout.splitlines()
expect(listed and {one.split('"')[1] for one in listed} <= {option for _, option in NUMBERS}, f"each option with a number has a row above: {listed}")

# what is no file is refused wherever a file is asked for, and nobody waits for a pipe that nobody writes to
with Box() as box:
    os.mkfifo(box.path("pipe"))
    os.mkdir(box.path("folder"))
    box.write("a.log", PAGES)
    box.write("key.pem", "x", 0o600)
    box.run("ingest", "c.ptc", "a.log")
    options = [("report", "c.ptc", "public", "--out", "o", "--answers"), ("report", "c.ptc", "scope", "--out", "o", "--note"),
               ("report", "c.ptc", "worksheet", "--out", "o", "--regimes"), ("report", "c.ptc", "worksheet", "--out", "o", "--holidays"),
               ("report", "c.ptc", "--all", "--out", "o", "--audience", "tenants", "--case-key"), ("report", "c.ptc", "delta", "--out", "o", "--before"),
               ("deploy", "c.ptc", "--inventory"), ("deploy", "c.ptc", "--policy"), ("scope", "c.ptc", "--policy"),
               ("canary", "c.ptc", "--markers"), ("ingest", "c.ptc", "a.log", "--map"), ("ingest", "c.ptc", "a.log", "--sources"),
               ("formats", "test", "--map"), ("snapshot", "c.ptc", "--nodes"), ("manifest", "c.ptc", "--statement", "s", "--key"),
               ("probe", "c.ptc", "--i-may-test-this-endpoint", "--endpoint", "http://127.0.0.1:9", "--plan"), ("report", "lint")]
    for option in options:
        for place in ("pipe", "folder", "/dev/null"):
            said = one_line_error(box.run(*option, place, code=3, timeout=20))
            expect("no regular file" in said or "no file" in said, f"{option} {place} to be refused, got {said}")
    expect(not os.path.exists(box.path("o")) and not os.path.exists(box.path("s")), "nothing written")

    # a parameter, or the option that stands for it, given twice
    for twice in (("query", "c.ptc", "lanes", "--param", "since=5", "--param", "since=6"),
                  ("scope", "c.ptc", "--since", "2026-01-01", "--param", "since=6"), ("scope", "c.ptc", "--param", "pool=5", "--param", "pool=6")):
        expect("given twice" in one_line_error(box.run(*twice, code=2)), f"{twice} to be refused")
