#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# report.py - the scope report end to end: valid, complete, the same twice, equal to what `scope` says, inert, and whole
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from page import NS, check_complete, check_inert, check_schema, numbers_of
from run import PAGETRAIL, Box, expect, one_line_error


def read(box, out, issue=1):
    xml = open(box.path(f"{out}/scope-{issue}.xml"), "rb").read()
    page = open(box.path(f"{out}/scope-{issue}.html"), "rb").read()
    return xml, page


def check_valid(box, out, issue=1):
    check_schema(box.path(f"{out}/scope-{issue}.xml"))


def check_numbers(box, root, parsed, case):
    doc = box.json("scope", case, code=(0, 1))
    n = numbers_of(root)
    for key in ("population", "C1", "C2", "C3", "C4", "C5", "conflicts", "affected_over_pool", "affected_boundary", "affected_cross_tenant",
                "affected_same_tenant"):
        expect(n[key] == doc["totals"][key], f"{key}: report {n[key]}, scope {doc['totals'][key]}")
    expect(sum(n[f"C{i}"] for i in range(1, 6)) == n["population"], "the classes to add up")
    expect(sum(n[f"E{i}"] for i in range(1, 6)) == n["owners"], "the classes of the exposed side to add up")
    values = [v for s, v in parsed.data if s == "statement"]
    for key in ("population", "C1", "C2", "C3", "C4", "C5"):
        expect(str(n[key]) in values, f"{key} in the statement")
    tables = {t.get("query"): t for t in root.iter(NS + "table") if t.get("classes") != "C3,C5"}

    def total(query, column):
        t = tables[query]
        at = [c.get("name") for c in t.findall(NS + "column")].index(column)
        return sum(int(r[at].text) for r in t.findall(NS + "row"))

    for i in range(1, 6):
        expect(total("report_days", f"c{i}") == n[f"C{i}"], f"C{i} by day to add up")
    for i in (1, 2, 3, 5):
        expect(total("report_tenants", f"c{i}") == n[f"C{i}"], f"C{i} by tenant to add up")
        expect(total("report_tenants", f"e{i}") == n[f"E{i}"], f"E{i} by tenant to add up")
    expect(total("report_excluded", "responses") == n["C4"], "C4 by rule to add up")
    expect(total("report_exposed", "requests") == n["owners"], "the exposed side to add up")
    expect(total("report_reads", "pairs") == int(tables["exposures"].get("rows")), "page reads to add up")
    expect(int(tables["scope"].get("rows")) == n["C1"] + n["C2"], "a row for each affected response")
    for row in tables["report_open"].findall(NS + "row"):
        cells = [c.text for c in row]
        expect(sum(int(v) for v in cells[2:5]) == n["population"], f"predicate {cells[0]} to be answered for the population")
    for name, table in tables.items():
        if table.get("classes"):
            continue
        rows = box.json("query", case, name)["rows"]
        expect(len(rows) == int(table.get("rows")), f"query {name} to give the same rows")
    # bars of the figure add up to what has a known day
    days = next((f for f in root.iter(NS + "figure") if f.get("id") == "figure-days"), None)
    if days is not None:
        tips = {b.text for b in days.findall(NS + "box") if b.text}
        sums = [sum(int(re.search(rf"C{i} (\d+)", t).group(1)) for t in tips) for i in (1, 2)]
        expect(sums[0] <= n["C1"] and sums[1] <= n["C2"] and sum(sums) > 0, f"bars to be the table's: {sums}")


def check_wording(parsed):
    """Words that conclude absence, or more than the evidence holds."""
    text = " ".join(parsed.text(s) for s in ("statement", "signals", "limits", "people", "method", "verify")).lower()
    for phrase in ("no exploitation", "was not exploited", "no data was accessed", "no impact", "fully resolved", "limited to", "extremely",
                   "abundance of caution", "sophisticated", "no evidence that", "none were"):
        expect(phrase not in text, f"no '{phrase}' in the report")


def hostile(box):
    names = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "]]><!--", "\u202etxt.exe\u2066", "a\x01\x1b[31mb\x7f\x85",
             "&lt;&amp;&#0;", "javascript:alert(1)", "' OR 1=1 --", "x" * 1000000, "\ufffe\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16", "replace")]
    lines = []
    for i, name in enumerate(names):
        lines.append(json.dumps({"start_time": f"2026-09-01T10:00:{i:02d}.500Z", "request_id": f"id-{i}-" + name[:4000], "tenant": name, "model": name,
                                 "path": "/v1/chat/completions", "status": 200, "duration": 1200, "prompt_tokens": 700000 + i,
                                 "completion_tokens": 12, "bytes_sent": 900}).encode())
    lines.append(b'{"start_time":"2026-09-01T10:01:00Z","request_id":"raw-\xff\xfe\xc0","tenant":"t\xff","status":200,"prompt_tokens":5}')
    lines.append("not JSON: <script>x</script> \u202e ]]>".encode() + b"\x00\xff")
    folder = "logs <b>&\u202e"
    box.write(f"{folder}/gate]]>way.jsonl", b"\n".join(lines) + b"\n")
    page = [{"v": 1, "ts": 1788256800 + i, "seq": i, "worker": "<w>&\"'", "op": "boot" if not i else "alloc" if i % 2 else "read", "page_size": 64,
             "pool_pages": 1024, **({} if not i else {"rid": "<r>" + names[i], "pages": [[0, 8]]})} for i in range(8)]
    box.write(f"{folder}/<script>.pages.jsonl", "\n".join(map(json.dumps, page)) + "\n")
    box.write(f"{folder}/noise\x01\n.bin", os.urandom(3000))
    box.run("init", "h.ptc", "--id", "<CASE>&\"]]>", "--title", "<script>alert('title')</script>\u202e")
    box.run("ingest", "h.ptc", folder, code=(0, 1, 3))
    out = box.run("report", "h.ptc", "scope", "--out", "h//").stdout.decode()
    expect("wrote h/scope-1.html\n" in out and "//" not in out, f"one slash: {out}")
    check_valid(box, "h")
    xml, page = read(box, "h")
    parsed = check_inert(xml, page)
    root = check_complete(xml, parsed)
    check_numbers(box, root, parsed, "h.ptc")
    expect(numbers_of(root)["population"] >= 10, "the hostile responses to be counted")
    expect("<script>alert(1)</script>" in parsed.text("tenants"), "hostile names to be shown as text")
    expect(len(page) < 1000000, "long names to be cut")


def refusals(box):
    one_line_error(box.run("report", "case.ptc", "notice", "--out", "x", code=2))
    one_line_error(box.run("report", "case.ptc", "scope", "--audience", "public", "--out", "x", code=2))
    one_line_error(box.run("report", "case.ptc", "scope", "--issue", "0", "--out", "x", code=2))
    one_line_error(box.run("report", "none.ptc", "scope", "--out", "x", code=(2, 3, 4)))
    expect(not os.path.exists(box.path("x")), "a refused report to make no folder")
    box.write("file", "x")
    one_line_error(box.run("report", "case.ptc", "scope", "--out", "file", code=3))
    one_line_error(box.run("report", "case.ptc", "scope", "--out", "file/sub", code=3))
    one_line_error(box.run("report", "case.ptc", "scope", "--out", "no/such/parent", code=3))
    os.makedirs(box.path("held/scope-1.html"))
    one_line_error(box.run("report", "case.ptc", "scope", "--out", "held", code=3))
    expect(os.listdir(box.path("held")) == ["scope-1.html"], "no partial file beside a place that is taken")

    # no room: a file size limit stops the first file
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    p = subprocess.run([os.path.abspath(PAGETRAIL), "report", "case.ptc", "scope", "--out", "full"], cwd=box.dir, capture_output=True,
                       preexec_fn=small, restore_signals=False)
    expect(p.returncode == 3, f"a full disk to be an input/output error, exit {p.returncode} {p.stderr.decode()}")
    one_line_error(p)
    expect(not os.path.exists(box.path("full")), "no partial file on a full disk")


def optional_validator(box):
    """html-validate, when somebody has it; never fetched."""
    if not shutil.which("html-validate"):
        return
    box.write(".htmlvalidate.json", json.dumps({"root": True, "extends": ["html-validate:standard"], "rules": {"long-title": "off", "prefer-native-element": "off"}}))
    p = subprocess.run(["html-validate", "one/scope-1.html"], cwd=box.dir, capture_output=True)
    expect(p.returncode == 0, "html-validate to be content: " + p.stdout.decode()[-1500:])


with Box() as box:
    box.run("simulate", "r", "--seed", "1", "--requests", "2000")
    box.run("ingest", "case.ptc", "r/logs")
    begun = time.monotonic()
    box.run("report", "case.ptc", "scope", "--out", "one")
    took = time.monotonic() - begun
    expect(took < float(os.environ.get("PAGETRAIL_REPORT_SECONDS", "15")), f"a report in good time, took {took:.1f} s")
    box.run("report", "case.ptc", "scope", "--out", "two")
    expect(read(box, "one") == read(box, "two"), "the same bytes twice")
    check_valid(box, "one")
    xml, page = read(box, "one")
    expect(len(page) < 700000, f"a page that one can send, {len(page)} bytes")
    parsed = check_inert(xml, page)
    root = check_complete(xml, parsed)
    check_numbers(box, root, parsed, "case.ptc")
    check_wording(parsed)
    expect(len(list(root.iter(NS + "figure"))) == 2, "two figures")
    expect(sorted(os.listdir(box.path("one"))) == ["scope-1.html", "scope-1.sha256", "scope-1.xml"], "three files and nothing else")

    # header: issue, parameters of a person, as-of
    box.run("report", "case.ptc", "scope", "--out", "two", "--issue", "3", "--as-of", "2026-09-10T00:00:00Z", "--param", "pool=681280")
    root = ET.fromstring(read(box, "two", 3)[0])
    check_valid(box, "two", 3)
    header = {e.tag[len(NS):]: e.text for e in root.find(NS + "header")}
    expect((header["issue"], header["supersedes"], header["as-of"]) == ("3", "2", "2026-09-10T00:00:00Z"), f"the header, got {header}")
    expect(header["parameter"] == "681280", "what a person entered to be printed")

    # the evidence digest can be made again
    rows = box.json("query", "case.ptc", "sources")["rows"]
    import hashlib
    digest = hashlib.sha256("".join(sorted(r["sha256"] + "\n" for r in rows)).encode()).hexdigest()
    expect(header["evidence-digest"] == digest, "the evidence digest by hand")

    refusals(box)
    hostile(box)
    optional_validator(box)

    # of one everything is one
    with open(box.path("r/logs/gateway.jsonl"), encoding="utf-8") as f:
        box.write("gateway.jsonl", f.readline())
    box.run("ingest", "single.ptc", "gateway.jsonl", code=(0, 1))
    for kind in ("scope", "public", "deploy", "worksheet"):
        box.run("report", "single.ptc", kind, "--out", "single", code=(0, 1))
        xml, page = (open(box.path(f"single/{kind}-1.{form}"), "rb").read() for form in ("xml", "html"))
        text = check_inert(xml, page).text("limits" if kind != "scope" else "statement")
        expect(("1 response in the evidence" if kind == "scope" else "of 1 source could not") in text, f"{kind} of one: {text}")

    # an empty case is a report too: every number is 0 and no percentage is printed of nothing
    box.run("init", "empty.ptc")
    box.run("report", "empty.ptc", "scope", "--out", "empty")
    check_valid(box, "empty")
    xml, page = read(box, "empty")
    check_complete(xml, check_inert(xml, page))
    expect(numbers_of(ET.fromstring(xml))["population"] == 0, "an empty population")
