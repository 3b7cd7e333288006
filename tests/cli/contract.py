#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# contract.py - what scripts rely on: exit codes, JSON members, help, limits that are said
import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, one_line_error, rounds

SCOPE = """request aliases tenant model status streamed delivered prompt_tokens prompt_tokens_flag pool_tokens input_limit band
prefill_worker decode_worker room started_at finished_at predicates class reasons grade owner_count owner_tenants
candidate_owners refs""".split()
EXPOSED = "request tenant class readers reader_tenants pages first_read_at last_read_at grade refs".split()
EXPOSURES = """worker pool reader_request reader_tenant owner_request owner_tenant cross_tenant kind pages tokens_at_most
first_read_at delivered grade refs""".split()
INGEST = """source path sha256 content_sha256 bytes stored_bytes container format worker records parsed context unparsed
duplicate first_at last_at status reason""".split()

with Box() as box:
    help_text = box.run("help").stdout.decode()
    verbs = re.findall(r"^  ([a-z]+) +[A-Z]", help_text, re.M)
    expect(len(verbs) >= 15, f"the verbs in help, got {verbs}")
    for verb in verbs:
        text = box.run("help", verb).stdout.decode()
        expect(text == box.run(verb, "--help").stdout.decode(), f"help {verb} and {verb} --help to be the same")
        expect(all(len(line) <= 80 for line in text.splitlines()), f"help {verb} to fit a terminal")
        for example in re.findall(r"^  (pagetrail .*(?:\\\n.*)*)", text, re.M):
            expect(not re.search(r"[>|]\s*$", example), f"help {verb}: an example that a shell can read: {example}")
        one_line_error(box.run(verb, "--no-such-option", code=2))
    one_line_error(box.run("no-such-verb", code=2))
    box.run(code=2)

    box.run("simulate", "r", "--scenario", "late_write", "--seed", "3", "--requests", str(rounds(8000, 2000)))
    doc = box.json("ingest", "case.ptc", "r/logs")
    for name in INGEST:
        expect(name in doc["rows"][0], f"ingest row to have {name}")

    def rows_of(args, names, code=(0, 1)):
        doc = box.json(*args, code=code)
        for key in ("tool", "version", "case", "query", "params", "as_of", "row_count", "truncated", "rows"):
            expect(key in doc, f"{args} to have {key}")
        expect(doc["tool"] == "pagetrail" and doc["row_count"] == len(doc["rows"]), f"{args}: row_count")
        expect(doc["rows"], f"{args} to have rows")
        for name in names:
            expect(name in doc["rows"][0], f"{args} row to have {name}")
        return doc

    scope = rows_of(("scope", "case.ptc", "--class", "C1,C2,C3,C4,C5"), SCOPE)
    totals = scope["totals"]
    expect(sum(totals[f"C{i}"] for i in range(1, 6)) == totals["population"], "classes to add up to the population")
    expect(totals["population"] == len(scope["rows"]), "every class asked for: the whole population")
    for row in scope["rows"]:
        expect(set(row["predicates"]) == set("TALDX"), "five predicates")
        expect(set(row["predicates"].values()) <= {"yes", "no", "unknown"}, "tri-states")
        expect(row["delivered"] in ("yes", "no", "unknown"), "delivered to be a tri-state")
        expect(row["status"] is None or isinstance(row["status"], int), "status to be an integer or null")
        expect(isinstance(row["aliases"], list) and isinstance(row["refs"], list), "lists to be lists")
        expect(row["class"] != "C4" or row["reasons"], "C4 to name what excludes it")
    rows_of(("scope", "case.ptc", "--side", "exposed"), EXPOSED)
    exposures = rows_of(("exposures", "case.ptc"), EXPOSURES)
    keys = [(r["worker"], r["pool"], r["reader_request"], r["owner_request"], r["kind"]) for r in exposures["rows"]]
    expect(len(keys) == len(set(keys)), "one exposures row a (worker, pool, reader, owner, kind)")

    # every reference that is shown can be shown
    refs = sorted({ref for r in scope["rows"][:20] + exposures["rows"][:20] for ref in r["refs"]})
    expect(refs, "references")
    for ref in refs[:rounds(40, 6)]:
        expect(len(box.run("show", "case.ptc", ref).stdout) == int(ref.split("+")[1]), f"the bytes of {ref}")
    one_line_error(box.run("show", "case.ptc", "S999@0+1", code=3))
    one_line_error(box.run("show", "case.ptc", "nonsense", code=2))

    # grep finds what is in the files, line for line, whatever chunk it lies in
    for regex in ("finished processing", "^.*input_len=1, .*type=prefill", "no such text anywhere"):
        hits = box.json("grep", "case.ptc", regex)["rows"]
        want = 0
        for folder, _, names in os.walk(box.path("r/logs")):
            for name in names:
                data = open(os.path.join(folder, name), "rb").read().decode()
                want += sum(1 for line in data.split("\n") if re.search(regex, line))
        expect(len(hits) == want, f"{regex}: {want} records, got {len(hits)}")
        for hit in hits[:3] + hits[-3:]:
            expect(box.run("show", "case.ptc", hit["ref"]).stdout.decode() == hit["text"], "the reference to show the record")
    for bad, said in (("(", "offset 1: "), ("a\\C", "offset 3: using backslash C")):
        expect(said in one_line_error(box.run("grep", "case.ptc", bad, code=2)), f"where {bad} is wrong")
    one_line_error(box.run("grep", "case.ptc", "x", "--source", "999", code=3))

    # any alias finds the request; a prefix of six too; less does not
    # the reasoning: the same class, predicates and records as the row, and no words that could not be wrapped
    for row in scope["rows"][:: max(1, len(scope["rows"]) // 5)]:
        steps = rows_of(("scope", "case.ptc", "--explain", row["request"]), ("step", "about", "value", "code", "says", "refs"))["rows"]
        expect(any(s["step"] == "class" and (s["value"] or "").startswith(row["class"]) for s in steps), f"{row['request']}: its class")
        told = {s["about"]: s["value"] for s in steps if s["step"] == "predicate"}
        expect(told == row["predicates"], f"{row['request']}: its predicates, not {told}")
        expect(set(row["reasons"]) == {s["code"] for s in steps if s["code"]}, f"{row['request']}: its reasons")
        text = box.run("scope", "case.ptc", "--explain", row["request"], code=(0, 1)).stdout.decode()
        expect(text.startswith(row["request"]) and "What would change the answer" in text, "prose for people")
        for ref in [r for s in steps if s["about"] == "A" for r in s["refs"] or []][:1]:
            original = next(w for w in box.run("show", "case.ptc", ref).stdout.decode().split() if len(w) > 5)
            expect(ref in text and original[:60] in text, f"{ref} to be quoted")
    expect("the first 6 characters" in one_line_error(box.run("scope", "case.ptc", "--explain", "nobody-at-all", code=3)), "what a prefix is")
    one_line_error(box.run("scope", "case.ptc", "--explain", row["request"], "--class", "C1", code=2))

    row = next(r for r in scope["rows"] if r["aliases"])
    for alias in row["aliases"]:
        box.run("lineage", "case.ptc", alias, code=(0, 3))
    box.run("lineage", "case.ptc", row["request"])
    one_line_error(box.run("lineage", "case.ptc", "zzzzzz-no-such", code=3))

    # limits are said
    cut = box.json("scope", "case.ptc", "--class", "C4", "--limit", "1", code=(0, 1))
    expect(cut["truncated"] and cut["row_count"] == 1, "a limit that was hit to be said")
    table = box.run("scope", "case.ptc", "--class", "C4", "--limit", "1", code=(0, 1)).stdout.decode()
    expect("--limit 0" in table, "a cut table to say so")

    # confirmed and probable are shared out among the bands, whatever the hypothesis
    for policy in ("builtin:over_limit_handoff", "builtin:interrupted_transfer"):
        counts = box.json("scope", "case.ptc", "--policy", policy, code=(0, 1))["totals"]
        last = box.run("scope", "case.ptc", "--policy", policy, code=(0, 1)).stdout.decode().partition("confirmed or probable: ")[2]
        expect(sum(map(int, re.findall(r"\d+", last.partition(";")[0]))) == counts["C1"] + counts["C2"] > 0, f"bands to add up: {last}, {counts}")

    # what stands below the rows of one tenant is of all
    whole = "of the whole case, not of these rows alone:\n"
    expect(whole not in table, "rows of the whole case")
    for part in (("--tenant", scope["rows"][0]["tenant"]), ("--since", "2026-01-01T00:00:00Z"), ("--until", "2026-01-01T00:00:00Z")):
        table = box.run("scope", "case.ptc", *part, code=(0, 1)).stdout.decode()
        expect(f"{totals['population']} responses: C1" in table.partition(whole)[2], f"{part}: totals to be called those of the whole case: {table}")
        expect(box.json("scope", "case.ptc", *part, code=(0, 1))["totals"] == totals, f"{part}: totals of the whole case")

    # one answer, four forms
    lines = box.run("exposures", "case.ptc", "--jsonl", code=(0, 1)).stdout.decode().splitlines()
    expect([json.loads(x) for x in lines] == exposures["rows"], "--jsonl to hold the same rows")
    table = list(csv.reader(io.StringIO(box.run("exposures", "case.ptc", "--csv", code=(0, 1)).stdout.decode())))
    expect(len(table) == len(lines) + 1 and table[0] == list(exposures["rows"][0]), "--csv to hold the same rows")
    odd = box.json("sql", "case.ptc", """SELECT 1 AS "a""b", 'x' AS c""")["rows"]
    expect(odd == [{'a"b': 1, "c": "x"}], f"a column's name to be escaped like a value, got {odd}")
    wide = box.run("scope", "case.ptc", "--class", "C4", code=(0, 1), env={"COLUMNS": "80"}).stdout.decode()
    expect(all(len(x) <= 80 for x in wide.splitlines() if not x.startswith("(")), "a table to fit 80 columns")
    expect(box.json("scope", "case.ptc", code=(0, 1)) == box.json("scope", "case.ptc", code=(0, 1)), "the same bytes twice")

    # a narrow terminal leaves nothing out: what does not fit beside the other columns stands below its row
    def narrow(*args, code=(0, 1, 3), columns="80"):
        out = box.run(*args, code=code, env={"COLUMNS": columns}).stdout.decode()
        long = [x for x in out.splitlines() if len(x) > int(columns) and len(x.split()) > 2]
        expect(not long, f"{args} to fit {columns} columns: {long[:3]}")
        return " ".join(out.split())

    deep = "a-cluster-with-a-long-name/2026-09-09/namespaces/inference/pods/decode-workers/logs"
    box.write(f"{deep}/decode-0.log", "nobody knows this line\n" * 9)
    box.write(f"{deep}/more/decode-1-with-a-very-long-name-of-its-own-and-then-some-more.log.gz", gzip.compress(os.urandom(9999))[:700])
    out = narrow("ingest", "narrow.ptc", "r/logs", deep, code=3)
    rows = box.json("query", "narrow.ptc", "sources")["rows"]
    expect([r for r in rows if r["status"] == "failed" and r["reason"]], f"a file that cannot be read: {rows[-3:]}")
    for r in rows:
        expect(not r["reason"] or f"reason: {r['reason']}" in out, f"ingest to show why: {r['reason']}")
    out = narrow("ingest", "paths.ptc", deep, code=3)
    expect("(path: … stands for a-cluster" in out and "/logs/)" in out, f"what paths have in common to be said once: {out}")
    expect(" …decode-0.log " in out and "ome-more.log.gz " in out, f"both ends of names: {out}")
    # names that differ only in their middle still differ
    for n in range(3):
        box.write(f"alike/a-long-name-of-a-folder/pod-decode-{n}/some/more/folders/below/it/engine.log", f"nobody knows line {n}\n")
    out = box.run("ingest", "alike.ptc", "alike", code=3, env={"COLUMNS": "80"}).stdout.decode()
    shown = re.findall(r"^(\S+engine\.log) ", out, re.M)
    expect(len(shown) == 3 and len(set(shown)) == 3, f"paths that can be told apart: {out}")
    for at in range(12, 16):  # wherever the one character is that they differ by
        for n in "ab":
            box.write(f"one{at}/x/{'m' * at}{n}{'m' * 30}.log", "nobody knows this line\n")
        out = box.run("ingest", f"one{at}.ptc", f"one{at}", code=3, env={"COLUMNS": "70"}).stdout.decode()
        shown = re.findall(r"^(\S+m\.log) ", out, re.M)
        expect(len(shown) == 2 and len(set(shown)) == 2, f"paths that differ by one character, the {at}th: {out}")
    for verb, names in ((("gaps",), ("effect",)), (("query", "clocks"), ("basis",)), (("query", "sources"), ("sha256", "reason"))):
        out = narrow(verb[0], "narrow.ptc", *verb[1:], "--limit", "0")
        for r in box.json(verb[0], "narrow.ptc", *verb[1:], code=(0, 1))["rows"]:
            for name in names:
                expect(r[name] is None or f"{name}: {' '.join(r[name].split())}" in out, f"{verb} to show {name}: {r[name]}")
    out = narrow("scope", "case.ptc", "--limit", "0")
    for r in box.json("scope", "case.ptc", code=(0, 1))["rows"]:
        expect(r["request"] in out and f"reasons: {', '.join(r['reasons'])}" in out, f"scope to show {r['request']}, {r['reasons']}")
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500) SELECT i, 'x' AS b, printf('%050d', i) AS c FROM n"
    out = narrow("sql", "case.ptc", many, "--limit", "0", columns="40")
    expect(all(f" {i} x c: {i:050d} " in out + " " for i in range(1, 1501)), "rows that were not measured to be as the others")
    for verb in ("info", "gaps", "exposures", "scope"):
        narrow(verb, "narrow.ptc", columns="50")

    # numbers come out as they are; what is no number is none in JSON
    reals = "SELECT 1788016030.1234567 AS a, 0.1 AS b, -0.30000000000000004 AS c, 1e999 AS d, -1e999 AS e"
    row = box.json("sql", "case.ptc", reals)["rows"][0]
    expect(row == {"a": 1788016030.1234567, "b": 0.1, "c": -0.30000000000000004, "d": None, "e": None}, f"reals: {row}")
    expect(json.loads(box.run("sql", "case.ptc", reals, "--jsonl").stdout) == row, "reals in JSON lines")
    want = ["1788016030.1234567", "0.1", "-0.30000000000000004", "inf", "-inf"]
    cells = list(csv.reader(io.StringIO(box.run("sql", "case.ptc", reals, "--csv").stdout.decode())))[1]
    expect(cells == want, f"reals in CSV: {cells}")
    cells = box.run("sql", "case.ptc", reals).stdout.decode().splitlines()[1].split()
    expect(cells == want, f"reals in a table: {cells}")
    one_line_error(box.run("sql", "case.ptc", "DELETE FROM source", code=2))
    one_line_error(box.run("sql", "case.ptc", "ATTACH 'x' AS y", code=2))
    one_line_error(box.run("sql", "case.ptc", "SELECT 1; SELECT 2", code=2))
    # a parameter without a value would be NULL, and "no rows" the answer
    for wanting in ("SELECT ?3", "SELECT :a", "SELECT ?", "SELECT 1 WHERE 1 = $a"):
        one_line_error(box.run("sql", "case.ptc", wanting, code=2))
    one_line_error(box.run("sql", "case.ptc", "SELECT 1", "--param", "a=1", code=2))
    got = box.json("sql", "case.ptc", "SELECT :a + 1 AS x, @b AS y, ?3 AS z", "--param", "a=-4", "--param", "b=w", "--param", "3=7")
    expect(got["rows"] == [{"x": -3, "y": "w", "z": 7}], f"parameters of a statement: {got}")
    one_line_error(box.run("scope", "case.ptc", "--class", "C9", code=2))
    # a mistyped name must not read as "nothing found"
    expect("nobody" in one_line_error(box.run("scope", "case.ptc", "--tenant", "nobody", code=3)), "an unknown tenant to be named")
    one_line_error(box.run("exposures", "case.ptc", "--worker", "nowhere", code=3))
    one_line_error(box.run("exposures", "case.ptc", "--kind", "nonsense", code=2))
    empty = box.run("scope", "case.ptc", "--since", "2099-01-01", code=(0, 1)).stdout.decode()
    expect("excluded" not in empty and "no rows match" in empty, "an empty window to exclude nobody")
    # a window that ends before it begins holds nothing whatever happened
    window = ("--since", "2026-09-09T14:00:00Z", "--until", "2026-09-09T13:59:59Z")
    for verb in (("scope", "case.ptc"), ("scope", "case.ptc", "--side", "exposed"), ("timeline", "case.ptc"),
                 ("timeline", "case.ptc", "--svg", "w.svg")):
        expect("later" in one_line_error(box.run(*verb, *window, code=2)), f"{verb}: a window that is turned round")
    for name in ("scope", "exposed", "timeline", "lanes"):
        one_line_error(box.run("query", "case.ptc", name, "--param", f"since={window[1]}", "--param", f"until={window[3]}", code=2))
    for args in (("scope", "case.ptc", "--since"), ("timeline", "case.ptc", "--svg", "w.svg", "--until"), ("deploy", "case.ptc", "--at")):
        for value, hint in (("9999-12-31T23:59:59Z", True), ("yesterday", False)):
            message = one_line_error(box.run(*args, value, code=2))
            expect(f"{args[-1].strip('-')}' takes a time" in message and ("and 2262-04-11" in message) == hint, f"{args} {value}: {message}")
    for args in (("scope",), ("scope", "a", "b"), ("scope", "case.ptc", "--limit"), ("scope", "case.ptc", "--limit", "1", "--limit", "2")):
        message = one_line_error(box.run(*args, code=2))
        expect("scope" in message or "--limit" in message, f"{args}: the verb or option to be named: {message}")
    one_line_error(box.run("query", "case.ptc", "no_such_query", code=2))
    one_line_error(box.run("query", "case.ptc", "scope", "--param", "nonsense=1", code=2))
    one_line_error(box.run("query", "case.ptc", "lineage", code=2))  # needs a request
    expect(box.json("sql", "case.ptc", "SELECT count(*) AS n FROM page_events")["rows"][0]["n"] > 0, "events through SQL")
    # the queries: all of them, in order, whole in 80 columns; what each takes and gives
    listed = json.loads(box.run("query", "--list", "--json").stdout)["rows"]
    there = sorted(n[:-4] for n in os.listdir("queries") if n.endswith(".sql"))
    expect([q["name"] for q in listed] == there, f"every query to be listed, in order: {there}")
    out = narrow("query", "--list", "--limit", "0")
    for q in listed:
        expect(f"{q['name']} " in out and q["question"] in out and q["params"] in out, f"{q['name']} to be listed whole")
        one = json.loads(box.run("query", "--list", q["name"], "--json").stdout)["rows"]
        expect(" ".join(":" + p["name"] for p in one if p["part"] == "param") == q["params"], f"parameters of {q['name']}")
        expect(" ".join(p["name"] for p in one if p["part"] == "column") == q["columns"], f"columns of {q['name']}")
        expect(all(p["type"] and p["help"] for p in one), f"{q['name']}: type and words for each: {one}")
        narrow("query", "--list", q["name"])
    one_line_error(box.run("query", "--list", "no_such_query", code=2))
    one_line_error(box.run("query", "--list", "scope", "more", code=2))
    for name in re.findall(r'"name":"([a-z_]+)"', box.run("query", "--list", "--json").stdout.decode()):
        needs = ("lineage", "lineage_pages", "explain", "cache_residency")  # a request
        box.run("query", "case.ptc", name, "--json", code=2 if name in needs else 0)

    # Ctrl-C ends a question that never ends
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
    p = subprocess.Popen([os.path.abspath(PAGETRAIL), "sql", box.path("case.ptc"), endless], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    expect(p.wait(timeout=20) == 5, "Ctrl-C to stop a statement with exit code 5")

    # the same logs in another order, with another number of jobs: the same content
    digest = box.json("verify", "case.ptc")["content_digest"]
    names = sorted(os.listdir(box.path("r/logs")), reverse=True)
    box.run("ingest", "other.ptc", *[f"r/logs/{n}" for n in names], "--jobs", "1")
    expect(box.json("verify", "other.ptc")["content_digest"] == digest, "order and jobs not to matter")

    # a report: twice the same bytes, and nothing executable in it
    box.run("report", "case.ptc", "scope", "--out", "one")
    box.run("report", "case.ptc", "scope", "--out", "two")
    for name in os.listdir(box.path("one")):
        a, b = open(box.path(f"one/{name}"), "rb").read(), open(box.path(f"two/{name}"), "rb").read()
        expect(a == b, f"{name} to be the same twice")
        expect(b"<script" not in a and (b"http-equiv" in a or not name.endswith(".html")), "no script in the page")
    one_line_error(box.run("report", "case.ptc", "nonsense", code=2))

    # damage is found, named, and the exit code says so
    data = bytearray(open(box.path("case.ptc"), "rb").read())
    at = data.find(b"\x28\xb5\x2f\xfd", len(data) // 2)  # a zstd frame
    data[at + 20] ^= 0xFF
    open(box.path("bad.ptc"), "wb").write(data)
    expect(box.run("verify", "bad.ptc", code=(1, 4)), "damage to be found")
