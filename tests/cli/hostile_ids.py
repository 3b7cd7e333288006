#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# hostile_ids.py - clients choose ids: whatever bytes they hold, JSON is valid UTF-8, a terminal is not touched, and an id is
# taken as it was printed
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error, rounds

BAD = (b"\xff\xfe-one", b"\xc3(\xed\xa0\x80-two", b"\\back\\-three", "\u202e\u200b-four".encode(), b"\xf0\x9f\x98-five")


def replace_ids(box):
    """The ids of a few requests, in every log, become hostile."""
    ids, files = [], []
    for folder, _, names in os.walk(box.path("r/logs")):
        files += [os.path.join(folder, name) for name in sorted(names)]
    text = {f: open(f, "rb").read() for f in files}
    for f in files:
        for one in re.findall(rb"\brid='?([0-9a-f]{32})\b", text[f]):
            if one not in ids and len(ids) < len(BAD):
                ids.append(one)
    expect(len(ids) == len(BAD), "engine ids in the logs")
    for f in files:
        data = text[f]
        for one, bad in zip(ids, BAD):
            lines = [line.replace(one, (bad.replace(b"\\", b"\\\\") if line.startswith(b"{") else bad) + one[:8]) for line in data.split(b"\n")]
            data = b"\n".join(lines)
        open(f, "wb").write(data)


def harmless(data, what):
    text = data.decode("utf-8").replace("\r\n", "\n")  # strict
    odd = re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200b-\u200f\u2028-\u202e\ufeff\ufffe\uffff]", text)
    expect(odd is None, f"{what}: no {odd and ascii(odd.group())}")
    return text


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--requests", "300", "--seed", "5")
    replace_ids(box)
    box.run("ingest", "case.ptc", "r/logs", code=(0, 3))
    box.write("m.csv", "marker\nnowhere-to-be-seen\n")
    queries = [q["name"] for q in box.json("query", "--list")["rows"]]
    verbs = [("info",), ("scope",), ("scope", "--class", "C1,C2,C3,C4,C5"), ("scope", "--side", "exposed"), ("exposures",), ("gaps",),
             ("timeline",), ("journal",), ("verify",), ("grep", "-one|-two|-three|-four|-five"),
             ("sql", "SELECT json_group_array(name) AS names FROM request"), ("sql", "SELECT name, CAST(name AS BLOB) AS raw FROM request"),
             ("sql", "SELECT json_object('a', value) AS o FROM alias")]
    verbs += [("query", q) for q in queries]
    seen = ""
    forms = ("--json", "--jsonl", "--csv")
    for i, verb in enumerate(verbs):
        for form in rounds(forms, (forms[i % 3],)):
            p = box.run(verb[0], "case.ptc", *verb[1:], form, code=(0, 1, 2))
            text = harmless(p.stdout, f"{verb} {form}")
            if p.returncode != 2:
                [json.loads(t) for t in ([text] if form == "--json" else text.splitlines() if form == "--jsonl" else [])]
            seen += text
            harmless(p.stderr, f"{verb}: messages")
        harmless(box.run(verb[0], "case.ptc", *verb[1:], code=(0, 1, 2)).stdout, f"{verb} as a table")
    for tail in ("-one", "-two", "-three", "-four", "-five"):
        expect(tail in seen, f"the id with {tail}")

    # an id is taken as JSON shows it, and as a table prints it
    for row in box.json("scope", "case.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))["rows"]:
        expect(all(isinstance(a, str) for a in row["aliases"]), "aliases")
        for alias in row["aliases"]:
            if not re.search("-(one|two|three|four|five)", alias):
                continue
            got = box.json("scope", "case.ptc", "--explain", alias, code=(0, 1))
            want = box.json("scope", "case.ptc", "--explain", row["request"], code=(0, 1))
            expect(got["rows"] == want["rows"], f"{ascii(alias)} to be the request {ascii(row['request'])}")
    table = box.run("sql", "case.ptc", "SELECT value FROM alias WHERE value GLOB '*-one*' OR value GLOB '*-t*' OR value GLOB '*-f*'",
                    "--csv").stdout.decode().splitlines()
    table = [row[0] for row in csv.reader(table)][1:]
    expect(any("\\x" in t for t in table) and any("\\\\" in t for t in table), f"escapes, not {table}")
    for printed in table[::rounds(1, 2)]:
        got = box.json("scope", "case.ptc", "--explain", printed, code=(0, 1))
        expect(got["rows"], f"{printed} to be found as it was printed")
        box.run("lineage", "case.ptc", printed, code=(0, 3))

    # a message says it once
    line = one_line_error(box.run("scope", "case.ptc", "--explain", "\x1b[31mno\\such", code=3))
    expect("'\\u{1B}[31mno\\\\such'" in line, f"escapes, not doubled ones: {line}")

    # a worker or class that does not exist is not "no rows"
    for verb, param, code in (("exposures", "worker=nobody", 3), ("exposed", "tenant=nobody", 3), ("timeline", "worker=nobody", 3),
                              ("scope", "class=C9", 2), ("exposed", "class=C1", 2), ("scope", "class=C1,x", 2)):
        line = one_line_error(box.run("query", "case.ptc", verb, "--param", param, code=code))
        expect(param.split("=")[1].split(",")[-1] in line, f"the value to be named: {line}")
    box.run("query", "case.ptc", "scope", "--param", "class=C1,C2", code=(0, 1))

    # one is not several
    box.write("one.log", "nothing that anybody knows\n")
    said = box.run("ingest", "one.ptc", "one.log", code=3).stdout.decode()
    expect("1 source, 1 record, 27 bytes; 1 record unparsed" in said and "no format recognised 1 file: " in said, f"one source, one record: {said}")

    # a request that no page log names has a picture without an axis of times
    gateway = [os.path.join(f, n) for f, _, names in os.walk(box.path("r/logs")) for n in names if "gateway" in n]
    box.run("ingest", "two.ptc", *gateway)
    name = box.json("scope", "two.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))["rows"][0]["request"]
    svg = box.run("lineage", "two.ptc", name, "--svg", "-").stdout.decode()
    expect("no page log names this request" in svg and "1970" not in svg and ">UTC<" not in svg, "no axis")
