#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# iodef.py - the incident as IODEF 2.0: valid by the schema of RFC 7970, every number and limit in it, and nobody's name
import os
import re
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from run import Box, expect, one_line_error

NS, IO = "{urn:pagetrail:report:1}", "{urn:ietf:params:xml:ns:iodef-2.0}"
BY = 'by="Lead of the team" on="2020-09-12"'


def flat(text):
    return " ".join((text or "").split())


def check(box, stem, restriction):
    """Every fact of the whole case stands in it, with its value and share."""
    root, doc = ET.parse(box.path(stem + ".xml")).getroot(), ET.parse(box.path(stem + ".iodef.xml")).getroot()
    incident = doc.find(IO + "Incident")
    expect(doc.get("version") == "2.00" and incident.get("restriction") == restriction, f"{stem}: version, and {restriction}: {incident.attrib}")
    said = {e.get("meaning").split(",")[0]: e for e in incident.iter() if e.get("meaning")}
    for n in root.find(NS + "numbers").findall(NS + "number"):
        e = said[n.get("id")]
        if n.get("value"):
            expect(e.tag == IO + "Counter" and e.text == n.get("value") and e.get("ext-unit") == n.get("unit"), f"{stem}: {n.attrib}")
        else:
            expect(e.tag == IO + "AdditionalData" and e.text == f"{n.get('band')} {n.get('unit')}", f"{stem}: a band: {n.attrib}")
        expect(("at least" in e.get("meaning")) == (n.get("at-least") == "true") and n.get("flag") in e.get("meaning"), f"{stem}: flags of {n.get('id')}")
        expect(not n.get("percent") or f"{n.get('percent')} %" in e.get("meaning") and f"({n.get('of')})" in e.get("meaning"), f"{stem}: share of {n.get('id')}")
    text = flat(" ".join(incident.itertext()))
    for e in [*root.find(NS + "limits"), *root.find(NS + "header")]:
        expect(local(e) in ("audience", "issue", "supersedes", "state", "case-id", "case-title", "policy", "parameter", "as-of") or flat(e.text) in text,
               f"{stem}: {local(e)} {e.text!r}")
    for e in root.find(NS + "numbers"):
        expect(local(e) == "number" or e.text in text, f"{stem}: {local(e)} {e.text}")
    first, before = (root.find(f"{NS}numbers/{NS}affected-{x}") for x in ("first", "before"))
    if first is not None:
        expect((incident.find(IO + "StartTime").text, incident.find(IO + "EndTime").text) == (first.text, before.text), f"{stem}: the recipient window")
    c1 = next(n for n in root.iter(NS + "number") if n.get("id") == "C1")
    expect(incident.find(IO + "Assessment").get("occurrence") == ("actual" if c1.get("value", "1") not in ("0",) else "potential"), f"{stem}: occurrence")
    for table in root.iter(NS + "table"):
        if table.get("query") == "windows":
            names = [c.get("name") for c in table.findall(NS + "column")]
            want = [dict(zip(names, ("".join(c.itertext()) for c in r))) for r in table.findall(NS + "row")]
            got = [e for e in incident.findall(IO + "EventData") if "one worker" in e.find(IO + "Description").text]
            expect(len(got) == len(want), f"{stem}: an event a worker")
            for e, w in zip(got, want):
                system = e.find(f"{IO}Flow/{IO}System")
                expect((system.find(f"{IO}Node/{IO}Address").text, system.find(IO + "Counter").text) == (w["worker"], w["affected"]), f"{stem}: {w}")
                expect(e.find(IO + "StartTime").text == w["affected_from"] and e.find(IO + "EndTime").text == w["affected_to"], f"{stem}: {w}")
        if table.get("query") == "gaps":
            got = [e for e in incident.findall(IO + "EventData") if e.find(IO + "Description").text.startswith("Gap ")]
            expect(len(got) == len(table.findall(NS + "row")), f"{stem}: an event a gap")
    return incident, text


def local(e):
    return e.tag[len(NS):]


with Box() as box:
    box.run("simulate", "r", "--scenario", "messy", "--requests", "1500", "--seed", "3")
    box.run("ingest", "case.ptc", "r/logs", code=(0, 1, 3))
    box.run("report", "case.ptc", "--all", "--out", "all", "--also", "iodef", "--audience", "t", "--new-case-key", "key")
    made = sorted(os.path.relpath(os.path.join(d, f), box.path("all")) for d, _, names in os.walk(box.path("all")) for f in names if f.endswith(".iodef.xml"))
    expect(made == ["internal/scope-1.iodef.xml", "public/public-1.iodef.xml"], f"of the whole incident alone: {made}")
    _, scope = check(box, "all/internal/scope-1", "private")
    incident, public = check(box, "all/public/public-1", "public")
    expect("Gap in the evidence" in scope, "a case with gaps")
    names = [r["n"] for r in box.json("sql", "case.ptc", "SELECT name AS n FROM tenant UNION SELECT value FROM alias", "--limit", "0")["rows"]]
    words = set(re.findall(r"[\w.#-]+", scope + " " + public))
    expect(len(names) > 1000 and not words & {n for n in names if not n.isdigit()}, f"nobody's name: {words & set(names)}")
    validators.by_xsd("iodef/iodef-2.0.xsd", *(box.path("all/" + m) for m in made))
    found = box.json("report", "lint", *("all/" + m for m in made), code=1)["rows"]
    expect({r["rule"] for r in found} == {"blank"}, f"blanks, and no word that a disclosure may not use: {found}")

    # a person's marking, contact and cause; hostile ones stay text
    hostile = "&lt;/Description>&lt;script>alert(1)&lt;/script> ]]&gt; &amp;amp; &#x202e; =1+1"
    for marking, want in (("TLP:AMBER", "amber"), ("tlp: green", "green"), ("TLP:CLEAR", "white"), (hostile, "ext-value")):
        box.write("a.xml", f'<answers xmlns="urn:pagetrail:answers:1"><answer id="marking" {BY}>{marking}</answer><answer id="root-cause" {BY}>{hostile}</answer>'
                  f'<answer id="approver" {BY}>{hostile}</answer><answer id="actions-taken" {BY}>limit set at the gateway</answer></answers>')
        box.run("report", "case.ptc", "scope", "--out", "marked", "--also", "iodef", "--answers", "a.xml", "--issue", "2")
        incident, text = check(box, "marked/scope-2", want)
        raw = open(box.path("marked/scope-2.iodef.xml"), encoding="utf-8").read()
        expect("<script" not in raw and "\u202e" not in raw and incident.find(IO + "Cause") is None, "words that stay words")
        expect("alert(1)" in incident.find(f"{IO}Assessment/{IO}Cause").text, "the cause that was given")
        expect([h.get("action") for h in incident.find(IO + "History")] == ["status-new-info", "other"], "history: the issue, and what was done")
        expect("supersedes issue 1" in text, "which issue it supersedes")
        validators.by_xsd("iodef/iodef-2.0.xsd", box.path("marked/scope-2.iodef.xml"))

    one_line_error(box.run("report", "case.ptc", "worksheet", "--also", "iodef", "--out", "no", code=2))
    expect(not os.path.exists(box.path("no")), "nothing of a refused report")
    box.run("init", "empty.ptc")
    box.run("report", "empty.ptc", "scope", "--also", "iodef", "--out", "empty", "--as-of", "2026-09-12T00:00:00Z")
    check(box, "empty/scope-1", "private")
    validators.by_xsd("iodef/iodef-2.0.xsd", box.path("empty/scope-1.iodef.xml"))
