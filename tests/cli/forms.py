#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# forms.py - a report as JSON, Markdown and text: each fact of the document is in each of them, and no text of it is markup
import csv
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

NS = "{urn:pagetrail:report:1}"
TENANT = "=a|b `c` <script>alert(1)</script> [l](http://x.example) **d** # e &lt; www.x.example \x1b[31m"


def local(e):
    return e.tag[len(NS):]


def facts(e):
    """Every word of the document, but of figures and of what says how a table is drawn."""
    if local(e) == "figure":
        return
    skip = {"query", "query-sha256", "classes", "rows", "page-rows", "truncated", "style", "type", "shown", "below", "empty-means"}
    hidden = local(e) in ("table", "column")
    for k, v in e.attrib.items():
        if k not in skip and not (hidden and k in ("name", "unit")) and k not in ("unknown", "absent", "code") and not (local(e) == "section" and k == "id"):
            yield v
    if local(e) != "column" and e.text and e.text.strip():
        yield " ".join(e.text.split())
    for c in e:
        yield from facts(c)


def leaves(v):
    if isinstance(v, dict):
        for x in v.values():
            yield from leaves(x)
    elif isinstance(v, list):
        for x in v:
            yield from leaves(x)
    elif v is not None and not isinstance(v, bool):
        yield " ".join(str(v).split())


def check(base):
    root = ElementTree.parse(base + ".xml").getroot()
    doc = json.load(open(base + ".json", encoding="utf-8"))
    words, units = list(facts(root)), {e.get("unit") for e in root.iter() if "unit" in e.attrib}
    expect(len(words) > 100, f"facts in {base}")
    has = set(leaves(doc))
    for w in words:
        expect(w in has, f"{base}.json to say {w!r}")
    # numbers by their id, with the value and the flag of the document
    for name in ("number", "limit", "blank"):
        want = [dict(e.attrib) for e in root.iter(NS + name)]
        got = doc[name + "s"].get(name, [])
        expect([{k: str(v) for k, v in g.items() if k != "text"} for g in got] == want, f"{name}s of {base}")
    tables = list(root.iter(NS + "table"))
    got = [t for s in doc["section"] for t in s["table"]]
    expect(len(got) == len(tables), "every table")
    for t, g in zip(tables, got):
        rows = t.findall(NS + "row")
        expect(g["rows"] >= len(rows) == len(g.get("row", [])), f"rows of {g['title']}")
        for r, cells in zip(rows, g.get("row", [])):
            expect(len(cells) == len(g["column"]), "a cell a column")
            for e, c in zip(r, cells):
                expect((c is None) == (e.get("unknown") == "true"), f"unknown is null: {c}")
    texts = {form: open(f"{base}.{form}", encoding="utf-8").read() for form in ("md", "txt")}
    expect("\x1b" not in texts["md"] + texts["txt"], "nothing for a terminal")
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", texts["md"])
    for form, text in (("md", shown), ("txt", texts["txt"])):
        flat = " ".join(text.split())
        for w in words:  # one is "1 response", of the unit "responses"
            expect(w in flat or w in units and re.search(rf"\b1 {w[:-1]}\b", flat), f"{base}.{form} to say {w!r}")
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", texts["md"])
    expect(not re.search(r"[<>`\[\]*_&]|https?:|www\.", bare), f"markup in {base}.md: {re.search('.{40}[<>`*_&].{40}', bare)}")
    tables = re.findall(r"(?:^\|.*\|\n)+", bare, re.M)
    expect(tables, "tables")
    for t in tables:
        expect(len({line.count("|") for line in t.splitlines()}) == 1, f"columns of a table: {t[:200]}")


def check_tables(base):
    """Each table cell by cell; nothing in a sheet that a spreadsheet would run."""
    root = ElementTree.parse(base + ".xml").getroot()
    numbers = list(csv.DictReader(open(base + ".numbers.csv", encoding="utf-8", newline="")))
    by = {n["id"]: n for n in numbers}
    for e in [*root.iter(NS + "number"), *root.iter(NS + "limit")]:
        expect(any(n["id"] == e.get("id") and all(n[k] == v for k, v in e.attrib.items()) for n in numbers), f"number {e.attrib}")
    for e in root.find(NS + "numbers"):
        expect(e.get("id") or by[local(e)]["text"] == e.text, f"what else stands beside the numbers: {local(e)}")
    formulas = 0
    for section in root.iter(NS + "section"):
        for at, table in enumerate(section.findall(NS + "table")):
            name = f"{base}.{section.get('id')}{'-list' if at else ''}"
            raw = list(csv.reader(open(name + ".csv", encoding="utf-8", newline="")))
            sheet = list(csv.reader(open(name + ".sheet.csv", encoding="utf-8-sig", newline="")))
            columns, rows = table.findall(NS + "column"), table.findall(NS + "row")
            expect(raw[0] == [c.get("name") for c in columns] and sheet[0] == [c.get("label") for c in columns], f"head of {name}")
            expect(len(raw) == len(sheet) == len(rows) + 1, f"rows of {name}")
            for r, cells, shown in zip(rows, raw[1:], sheet[1:]):
                for c, e, v, w in zip(columns, r, cells, shown, strict=True):
                    items = e.findall(NS + "item")
                    want = "; ".join(" ".join(filter(None, (i.get("name"), i.text))) for i in items) if items else (e.text or "")
                    expect(v == want, f"{name}: {v!r}, not {want!r}")
                    if c.get("type") not in ("integer", "real"):
                        expect(w == ("'" + v if v[:1] in tuple("=+-@\t\r") and v else "unknown" if e.get("unknown") else v), f"{name}: {w!r}")
                        formulas += w[:2] == "'="
    return formulas


SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheets(path):
    """Each sheet as lists of cells: numbers as float, texts as str; nothing else is in one."""
    with zipfile.ZipFile(path) as z:
        names = [e.get("name") for e in ElementTree.fromstring(z.read("xl/workbook.xml")).iter(SHEET + "sheet")]
        expect(not [n for n in z.namelist() if re.search("vba|external|hyperlink|calcChain", n, re.I)], "no macro and no link")
        for at, name in enumerate(names):
            root = ElementTree.fromstring(z.read(f"xl/worksheets/sheet{at + 1}.xml"))
            expect({e.tag[len(SHEET):] for e in root.iter(SHEET + "c") for e in e} <= {"v", "is"}, f"no formula on {name}")
            rows = []
            for r in root.iter(SHEET + "row"):
                cells = {}
                for c in r:
                    column = 0
                    for letter in re.match("[A-Z]+", c.get("r")).group():
                        column = column * 26 + ord(letter) - 64
                    inline = c.find(SHEET + "is")
                    cells[column - 1] = float(c.find(SHEET + "v").text) if inline is None else "".join(inline.itertext())
                while len(rows) < int(r.get("r")) - 1:
                    rows.append({})
                rows.append(cells)
            yield name, rows


def as_sheet(column, e):
    items = e.findall(NS + "item")
    text = "; ".join(" ".join(filter(None, (i.get("name"), i.text))) for i in items) if items else "unknown" if e.get("unknown") else e.text
    return float(text) if text and column.get("type") in ("integer", "real") and not e.get("unknown") else text


def check_workbook(base):
    """Each table cell by cell, numbers as numbers; a text that looks like a formula, or like an escape, stays one."""
    root = ElementTree.parse(base + ".xml").getroot()
    book = dict(sheets(base + ".xlsx"))
    numbers = {r[0]: r for r in book["numbers"]}
    for e in [*root.iter(NS + "number"), *root.iter(NS + "limit")]:
        value = e.get("value") or e.get("count")
        want = float(value) if value else e.get("band")
        expect(want in numbers[e.get("id")].values() or e.get("id") in ("unparsed", "gaps"), f"number {e.attrib}: {numbers[e.get('id')]}")
    formulas = 0
    for section in root.iter(NS + "section"):
        for at, table in enumerate(section.findall(NS + "table")):
            name = section.get("id") + ("-list" if at else "")
            columns, rows = table.findall(NS + "column"), table.findall(NS + "row")
            got = book[name]
            expect([got[0].get(i) for i in range(len(columns))] == [c.get("label") for c in columns], f"head of {name}")
            expect(len(got) == len(rows) + 1, f"rows of {name}: {len(got)}, not {len(rows) + 1}")
            for r, cells in zip(rows, got[1:]):
                for i, (c, e) in enumerate(zip(columns, r)):
                    want = as_sheet(c, e)
                    there = cells.get(i)
                    if isinstance(there, str):
                        there = there.replace("_x005F_", "_")
                    if want and isinstance(want, str) and len(want.encode("utf-16-le")) // 2 > 32767:
                        cut, note = there.split(" [cut here: ")
                        expect(want.startswith(cut) and len(cut) > 32000 and note.startswith(str(len(want.encode("utf-16-le")) // 2)), f"{name}: what is cut")
                        expect(len(there.encode("utf-16-le")) // 2 <= 32767, f"{name}: a cell that Excel can hold")
                    else:
                        expect(there == (None if want == "" else want), f"{name}: {there!r}, not {want!r}")
                    formulas += isinstance(there, str) and there[:1] in "=+-@"
    try:
        import openpyxl
    except ImportError:
        return formulas
    opened = openpyxl.load_workbook(base + ".xlsx", read_only=True)
    expect(opened.sheetnames == list(book), "another reader to open it")
    return formulas


with Box() as box:
    lines = [{"request_id": f"z-{i}", "status": 200, "start_time": f"2026-09-14T09:{i:02}:00Z", "duration": 3000, "method": "POST",
              "path": "/v1/completions", "bytes_sent": 900, "prompt_tokens": 700123, "completion_tokens": 20, "tenant": TENANT if i % 2 else "tenant-b"}
             for i in range(20)]
    box.write("logs/gateway.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
    box.run("init", "case.ptc", "--id", "case|`1`", "--title", TENANT[:40])
    box.run("ingest", "case.ptc", "logs")
    box.run("report", "case.ptc", "scope", "--out", "one", "--also", "json,md,txt")
    check(box.path("one/scope-1"))
    before = {f: open(f, "rb").read() for f in glob.glob(box.path("one/*"))}
    box.run("report", "case.ptc", "scope", "--out", "one", "--also", "txt,json,md")
    expect(len(before) == 6 and all(open(f, "rb").read() == b for f, b in before.items()), "the same bytes again")
    box.run("report", "case.ptc", "worksheet", "--out", "sheet", "--also", "json,md,txt")
    check(box.path("sheet/worksheet-1"))
    box.run("report", "case.ptc", "notice-none", "--tenant", "tenant-b", "--audience", "them", "--new-case-key", "k", "--out", "b", "--also", "json,md,txt",
            code=(0, 3))
    for f in glob.glob(box.path("b/*.xml")):
        check(f[:-4])
    box.run("report", "case.ptc", "public", "--out", "p", "--also", "json,md,txt")
    check(box.path("p/public-1"))
    box.run("report", "case.ptc", "scope", "--out", "t", "--also", "csv,sheet")
    expect(check_tables(box.path("t/scope-1")) > 0, "a name that looks like a formula")
    # every kind that a case has something to say in, in every form
    box.run("simulate", "r", "--requests", "300", "--seed", "5")
    box.run("ingest", "sim.ptc", "r/logs")
    box.run("report", "sim.ptc", "--all", "--out", "all", "--audience", "them", "--case-key", "k", "--also", "json,md,txt,csv,sheet,xlsx")
    kinds = {}
    for f in sorted(glob.glob(box.path("all/*/*.xml"))):
        kinds[ElementTree.parse(f).getroot().get("kind")] = f[:-4]
    # and two issues of one, between which somebody entered a limit
    box.run("report", "sim.ptc", "delta", "--before", kinds["scope"] + ".xml", "--out", "delta", "--param", "pool=600000", "--also", "json,md,txt,csv,sheet,xlsx")
    kinds["delta"] = box.path("delta/delta-scope-2")
    for kind, base in kinds.items():
        check(base)
        check_tables(base)
        check_workbook(base)
    expect({"scope", "worksheet", "deploy", "public", "notice-exposed", "notice-recipient"} <= set(kinds), f"every kind: {set(kinds)}")
    for out in ("x", "y"):
        box.run("report", "case.ptc", "scope", "--out", out, "--also", "xlsx", "--as-of", "2026-09-20T10:00:00Z")
    expect(check_workbook(box.path("x/scope-1")) > 0, "a name that looks like a formula")
    expect(open(box.path("x/scope-1.xlsx"), "rb").read() == open(box.path("y/scope-1.xlsx"), "rb").read(), "the same workbook again")
    with zipfile.ZipFile(box.path("x/scope-1.xlsx")) as z:
        expect(b"2026-09-20T10:00:00Z" in z.read("docProps/core.xml"), "made when the document is of")
    # papers that leave the house are searched in it, though it is compressed
    full = ("--audience", "them", "--case-key", "k", "--out", "leak", "--also", "xlsx")
    box.run("report", "case.ptc", "notice-none" if glob.glob(box.path("b/*none*")) else "notice-recipient", "--tenant", "tenant-b", *full)
    for f in glob.glob(box.path("leak/*.xlsx")):
        check_workbook(f[:-5])
    one_line_error(box.run("report", "case.ptc", "scope", "--also", "pdf", code=2))
print("ok")
