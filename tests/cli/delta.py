#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# delta.py - two issues of one report: each difference and no other, worked out here by other means; an earlier issue that does not belong is refused
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from page import NS, check_complete, check_inert, check_schema, numbers_of
from replicas import FILES, INVENTORY, POLICY
from run import Box, expect, one_line_error, rounds
from signed import KEY

TENANT = ("--audience", "them", "--case-key", "key")
FORMS = "json,md,txt,csv,sheet,xlsx"


def local(e):
    return e.tag[len(NS):]


def facts(path):
    """Each fact of a document, with all that it says, as often as it stands there."""
    root, said = ET.parse(path).getroot(), collections.Counter()
    for e in root.iter():  # where it stands is nothing that it says
        e.tail = None
    for part in root:
        if local(part) in ("numbers", "limits", "blanks"):
            said.update((local(part), local(e), tuple(sorted(e.attrib.items())), e.text or "") for e in part)
        if local(part) == "regime":
            said[("regime", part.get("id"), tuple(sorted(part.attrib.items())))] += 1
            said.update(("regime", part.get("id"), local(e), ET.tostring(e)) for e in part)
        if local(part) == "sample":
            said[("sample", ET.tostring(part))] += 1
        if local(part) == "section":
            for at, table in enumerate(part.findall(NS + "table")):
                said.update((part.get("id"), at, ET.tostring(r)) for r in table.findall(NS + "row"))
    return said


def delta(box, case, before, out, *more, issue=2):
    """The delta, checked by itself and against the two issues; the report of now is made by the program as it is."""
    kind = ET.parse(box.path(before)).getroot().get("kind")
    notice = ("--tenant", *[e.text for e in ET.parse(box.path(before)).getroot().iter(NS + "tenant")], *TENANT) if "notice" in kind else ()
    box.run("report", case, "delta", "--before", before, "--out", out, *notice, *more)
    box.run("report", case, kind, "--out", out + "-now", "--issue", str(issue), *notice, *more)
    now = next(box.path(f"{out}-now/{f}") for f in os.listdir(box.path(out + "-now")) if f.endswith(f"-{issue}.xml"))
    path = next(box.path(f"{out}/{f}") for f in os.listdir(box.path(out)) if f.startswith("delta-") and f.endswith(f"-{issue}.xml"))
    expect(os.path.basename(path) == "delta-" + os.path.basename(now), f"a name that says of what it is: {path}")
    check_schema(path)
    xml, page = open(path, "rb").read(), open(path[:-3] + "html", "rb").read()
    parsed = check_inert(xml, page)
    root = check_complete(xml, parsed)
    n = numbers_of(root)
    was, is_ = facts(box.path(before)), facts(now)
    expect(n["facts"] == n["same"] + n["changed"] + n["came"] + n["went"], f"parts and whole: {n}")
    expect(n["same"] == sum((was & is_).values()), f"the same: {n}, not {sum((was & is_).values())}")
    expect(n["went"] + n["changed"] == sum((was - is_).values()), f"what stood there and does not: {n}, not {sum((was - is_).values())}")
    expect(n["came"] + n["changed"] == sum((is_ - was).values()), f"what stands there and did not: {n}, not {sum((is_ - was).values())}")
    listed = collections.Counter(c[2].text for s in ("counts", "answers", "rows") for c in root.find(f"{NS}section[@id='{s}']").iter(NS + "row"))
    expect(all(listed[k] == n[k] for k in ("changed", "came", "went")), f"each difference in its table: {listed} {n}")
    said = parsed.text("statement")
    expect(("No difference in " in said) == (n["differences"] == 0) and f"{n['facts']:,} facts" in said, f"the statement: {said[:200]}")
    found = box.json("lint", path[:-3] + "html", code=(0, 1))["rows"]
    expect(not [r for r in found if r["rule"] != "blank"], f"words that a disclosure may use: {found[:3]}")
    return root, n, said


def changes(root, section):
    return [[("".join(c.itertext()), {i.get("name"): i.text for i in c}) for c in r] for r in root.find(f"{NS}section[@id='{section}']").iter(NS + "row")]


def every_kind(box):
    """The same facts: no difference, whatever the kind; and a later issue is told apart by its own numbers."""
    box.run("report", "case.ptc", "--all", "--out", "all", "--audience", "them", "--new-case-key", "key")
    one = {}
    for d, _, names in sorted(os.walk(box.path("all"))):
        for f in sorted(names):
            if f.endswith(".xml"):
                one.setdefault(ET.parse(os.path.join(d, f)).getroot().get("kind"), os.path.relpath(os.path.join(d, f), box.dir))
    expect(set(one) >= {"scope", "worksheet", "deploy", "public", "notice-exposed", "notice-recipient"}, f"every kind: {set(one)}")
    keys = dict(re.findall(r'\{"(\w+)", "([\w ]+)"\}', open("src/report/delta_facts.c", encoding="utf-8").read()))
    for kind, path in one.items():
        for t in ET.parse(box.path(path)).getroot().iter(NS + "table"):
            columns = {c.get("name") for c in t.findall(NS + "column")}
            expect(set(keys.get(t.get("query"), "none").split()) <= columns, f"{kind}: what a row of {t.get('query')} is about: {keys.get(t.get('query'))}")
        root, n, said = delta(box, "case.ptc", path, "same-" + kind)
        expect(n["differences"] == 0 and n["basis_changed"] == 0 and n["facts"] > 5, f"{kind}: equal issues: {n}")
        header = root.find(NS + "header")
        expect(root.get("of") == kind and header.find(NS + "before").get("in-journal") == "yes", f"{kind}: of what, and of this case")
        inside = kind in ("scope", "worksheet", "deploy")
        expect((root.find(f"{NS}section[@id='between']") is not None) == inside, f"{kind}: the journal is the operator's")
    return one


def late_log(box, one):
    """A log that came late: what it changes, and that it is why."""
    box.run("ingest", "case.ptc", "late")
    none = one.pop("notice-none", None)
    if none:  # a tenant may get another letter now
        who = ET.parse(box.path(none)).getroot().find(f"{NS}header/{NS}tenant").text
        p = box.run("report", "case.ptc", "notice-none", "--tenant", who, *TENANT, "--out", "none-now", code=(0, 3))
        box.run("report", "case.ptc", "delta", "--before", none, "--tenant", who, *TENANT, "--out", "none", code=p.returncode)
    for kind in rounds(list(one), ["scope", "public", "notice-exposed"]):
        root, n, said = delta(box, "case.ptc", one[kind], "late-" + kind)
        bases = {r[0].text: r[3].text for r in root.find(f"{NS}section[@id='basis']").iter(NS + "row")}
        expect(bases["Evidence set, SHA-256"] == bases["Case content, SHA-256"] == "yes" and bases["Made with"] == "no", f"{kind}: why: {bases}")
        if kind == "scope":
            rows = changes(root, "rows")
            came = [r for r in rows if r[0][0] == "evidence" and r[2][0] == "came"]
            expect([r[1][0] for r in came] == ["late/gateway.jsonl"], f"the source that came: {came}")
            sources = next(r for r in changes(root, "counts") if r[1][0] == "sources")
            expect(int(sources[4][1]["value"]) == int(sources[3][1]["value"]) + 1, f"one source more: {sources}")
            actions = [r[1][0] for r in changes(root, "between")]
            expect("ingest" in actions, f"what was done: {actions}")
            # a request that is called otherwise since the log came is the same request
            named = next(r for r in rows if r[0][0] == "affected" and r[2][0] == "changed" and "request" in r[3][1])
            expect(named[1][0] == named[4][1]["request"] != named[3][1]["request"] and (named[3][1]["class"], named[4][1]["class"]) == ("C2", "C1"), f"{named}")
    # a number that is another in the file alone: no reason in the case
    box.run("report", "case.ptc", "scope", "--out", "told")
    text = open(box.path("told/scope-1.xml"), encoding="utf-8").read()
    box.write("other.xml", re.sub(r'(<number id="C1" value=")(\d+)', lambda m: m[1] + str(int(m[2]) + 1), text))
    root, n, said = delta(box, "case.ptc", "other.xml", "other")
    expect(n["differences"] == n["changed"] == 1 and n["basis_changed"] == 0 and "the case does not say" in said, f"one number, without a reason: {n} {said}")
    row = changes(root, "counts")[0]
    expect(row[:1] + row[1:3] == [("numbers", {}), ("C1", {}), ("changed", {})] and int(row[3][1]["value"]) == int(row[4][1]["value"]) + 1, f"as it stood and stands: {row}")
    # another parameter is a reason; a row that went is said with all that it said
    box.write("less.xml", re.sub(r"<row>(?:(?!</row>).)*</row>", "", text, count=1, flags=re.S).replace('rows="', 'rows="', 1))
    root, n, said = delta(box, "case.ptc", "less.xml", "less", "--param", "pool=700000")
    expect("pool = 700000" in "".join(root.find(f"{NS}section[@id='basis']").itertext()) and n["basis_changed"] >= 1, "the parameter that a person entered")


def answers(box):
    """What people said is compared too; the delta has blanks of its own."""
    box.run("report", "case.ptc", "worksheet", "--out", "sheet")
    box.write("a.xml", '<answers xmlns="urn:pagetrail:answers:1"><answer kind="worksheet" id="phase" by="A. Lead" on="2020-09-12">first &amp; "only"</answer>'
              '<clock regime="gdpr33" id="aware" at="2026-09-11T09:00:00Z" by="A. Lead" on="2020-09-12">seen by hand</clock></answers>')
    root, n, _ = delta(box, "case.ptc", "sheet/worksheet-1.xml", "said", "--answers", "a.xml")
    keys = {(r[0][0], r[1][0]) for r in changes(root, "answers")}
    expect({("blanks", "phase"), ("gdpr33", "clock, aware")} <= keys and any(k[1].startswith("due, ") for k in keys), f"answers, clocks, and what falls due: {keys}")
    said = one_line_error(box.run("report", "case.ptc", "delta", "--before", "sheet/worksheet-1.xml", "--answers", "a.xml", "--approved", "--out", "no", code=3))
    expect("the delta has 4 open blanks" in said, said)
    box.run("report", "case.ptc", "worksheet", "--answers", "a.xml", "--out", "sheet2", "--issue", "4")
    _, n, _ = delta(box, "case.ptc", "sheet2/worksheet-4.xml", "said2", "--answers", "a.xml", issue=5)
    expect(n["differences"] == 0, f"the same answers: {n}")


def refused(box, one):
    notice, scope = one["notice-recipient"], one["scope"]
    who = ET.parse(box.path(notice)).getroot().find(f"{NS}header/{NS}tenant").text
    others = [t["name"] for t in box.json("sql", "case.ptc", "SELECT name FROM tenant", "--limit", "0")["rows"] if t["name"] != who]
    text = open(box.path(scope), encoding="utf-8").read()
    body = text.split("?>", 1)[1]
    bomb = "".join(f'<!ENTITY e{i} "{"&e%d;" % (i - 1) * 10 if i else "x" * 100}">' for i in range(12))
    for name, content, words in (
            ("entity", f'<!DOCTYPE r [<!ENTITY x "y">]>{body}', "document type"),
            ("file", f'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>{body}'.replace("<case-id>", "<case-id>&x;"), "document type"),
            ("bomb", f"<!DOCTYPE r [{bomb}]>{body}".replace("<tool>", "<tool>&e11;", 1), ""),
            ("external", f'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd">{body}', "document type"),
            ("deep", "<a>" * 100000 + "</a>" * 100000, ""), ("none", "", ""), ("binary", os.urandom(2000), ""), ("json", "{}", ""),
            ("cut", text[:len(text) // 2], ""), ("other", '<answers xmlns="urn:pagetrail:answers:1"/>', ""),
            ("kind", text.replace('kind="scope"', 'kind="all"', 1), ""), ("value", re.sub(r'value="\d+"', 'value="-1"', text, count=1), ""),
            ("issue", re.sub(r"<issue>1<", "<issue>99999999999999999999<", text), ""),
            ("delta", open(box.path("same-scope/delta-scope-2.xml"), encoding="utf-8").read(), "a delta itself"),
            ("case", re.sub(r"<journal-head>[0-9a-f]+<", f"<journal-head>{'0' * 64}<", text).replace("<case-id>", "<case-id>x", 1), "another case"),
            ("audience", text.replace("<audience>internal<", "<audience>public<"), "another audience"),
            ("told", text.replace("<audience>internal</audience>", f"<audience>internal</audience>{''.join(re.findall('<tenant>.*</key-id>', open(box.path(notice)).read(), re.S))}"),
             "another tenant")):
        box.write(f"bad-{name}.xml", content)
        said = one_line_error(box.run("report", "case.ptc", "delta", "--before", f"bad-{name}.xml", "--out", "no", code=3))
        expect(words in said, f"{name}: {words!r} in {said}")
    with open(box.write("huge.xml", text), "r+b") as f:
        f.truncate(200 << 20)
    one_line_error(box.run("report", "case.ptc", "delta", "--before", "huge.xml", "--out", "no", code=(3, 5)))
    tell = ("report", "case.ptc", "delta", "--before", notice, "--out", "no")
    box.run("report", "case.ptc", "scope", "--out", "no-key")  # the key below is another one
    for more, code in ((("--tenant", others[0], *TENANT), 3), (("--tenant", who, "--audience", "others", "--case-key", "key"), 3),
                       (("--tenant", who, "--audience", "them", "--new-case-key", "key2"), 3), ((), 2), (("--tenant", who), 2)):
        said = one_line_error(box.run(*tell, *more, code=code))
        expect(code == 2 or "the earlier issue is " in said, f"{more}: {said}")
    for args in (("delta",), ("scope", "--before", scope), ("--all", "--before", scope, *TENANT), ("delta", "--before", scope, "--issue", "1"),
                 ("delta", "--before", scope, "--also", "iodef"), ("delta", "--before", scope, "--issue", "0"), ("delta", "--before", scope, "--tenant", who),
                 ("delta", "--before", scope, "--audience", "public"), ("delta", "--before", scope, "--inventory", "x.csv")):
        one_line_error(box.run("report", "case.ptc", *args, "--out", "no", code=2))
    one_line_error(box.run("report", "case.ptc", "delta", "--before", "none.xml", "--out", "no", code=3))
    # what a person put into the earlier letter is no way around the search
    request = box.json("sql", "case.ptc", f"SELECT q.name FROM request q JOIN tenant t ON t.tenant = q.tenant WHERE t.name = '{others[0]}' LIMIT 1")["rows"][0]["name"]
    letter = open(box.path(notice), encoding="utf-8").read()
    for form in (others[0], request):
        box.write("planted.xml", re.sub(r"(<row>\s*<cell>)[^<]*", lambda m: m[1] + form, letter, count=1))
        said = one_line_error(box.run("report", "case.ptc", "delta", "--before", "planted.xml", "--tenant", who, *TENANT, "--out", "no", code=3))
        expect("nothing was kept" in said and "a person gave" in said, f"{form}: {said}")
    expect(not os.path.exists(box.path("no")), "a refused delta to leave nothing")


def built_anew(box):
    """A case of the same id that was built anew is the same case; one without an id is nobody's."""
    for case in ("a.ptc", "b.ptc"):
        box.run("init", case, "--id", "CASE <1> & \"2\" \\ \u202e")
        box.run("ingest", case, "fleet", code=(0, 1, 3))
    more = ("--policy", "policy.json", "--inventory", "hosts.csv")
    box.run("report", "a.ptc", "deploy", "--out", "a", *more)
    root, n, said = delta(box, "b.ptc", "a/deploy-1.xml", "b", *more)
    expect(n["differences"] == 0 and root.find(f"{NS}header/{NS}before").get("in-journal") == "no" and "built anew" in said, f"the same facts: {n} {said}")
    box.write("fewer.csv", INVENTORY.replace('lost-0,,,,"a,\n1",\r\n', ""))
    root, n, said = delta(box, "b.ptc", "a/deploy-1.xml", "c", *more[:2], "--inventory", "fewer.csv")
    rows = changes(root, "rows")
    expect([(r[1][0], r[2][0]) for r in rows if r[0][0] == "replicas"] == [("lost-0", "went")], f"the replica that went: {rows}")
    basis = {r[0].text: r[3].text for r in root.find(f"{NS}section[@id='basis']").iter(NS + "row")}
    expect(basis["Inventory, SHA-256"] == "yes" and basis["Policy, SHA-256"] == "no", f"because of the inventory: {basis}")
    for case in ("c.ptc", "d.ptc"):
        box.run("init", case)
        box.run("ingest", case, "fleet", code=(0, 1, 3))
    box.run("report", "c.ptc", "scope", "--out", "c1")
    one_line_error(box.run("report", "d.ptc", "delta", "--before", "c1/scope-1.xml", "--out", "no", code=3))
    # in each form, signed, the same bytes twice
    box.write("key.pem", KEY, mode=0o600)
    for out in ("f1", "f2"):
        box.run("report", "b.ptc", "delta", "--before", "a/deploy-1.xml", "--out", out, "--also", FORMS, "--key", "key.pem", *more[:2], "--inventory", "fewer.csv")
    expect(subprocess.run(["diff", "-r", box.path("f1"), box.path("f2")]).returncode == 0, "the same bytes twice")
    names = os.listdir(box.path("f1"))
    expect(all(f"delta-deploy-2.{s}" in names for s in ("json", "md", "txt", "xlsx", "rows.csv", "rows.sheet.csv", "sha256", "dsse.json")), f"each form: {names}")
    expect(json.load(open(box.path("f1/delta-deploy-2.json"), encoding="utf-8"))["of"] == "deploy", "JSON says of what it is")
    if shutil.which("sha256sum"):
        expect(subprocess.run(["sha256sum", "-c", "delta-deploy-2.sha256"], cwd=box.path("f1"), capture_output=True).returncode == 0, "sums that hold")


with Box() as box:
    box.run("simulate", "r", "--seed", "3", "--requests", "400")
    os.makedirs(box.path("late"))
    lines = open(box.path("r/logs/gateway.jsonl"), "rb").read().splitlines(True)
    box.write("late/gateway.jsonl", b"".join(lines[len(lines) * 3 // 4:]))
    box.write("r/logs/gateway.jsonl", b"".join(lines[:len(lines) * 3 // 4]))
    box.run("init", "case.ptc", "--id", "INC-1")
    box.run("ingest", "case.ptc", "r/logs")
    box.write("policy.json", json.dumps(POLICY))
    box.write("hosts.csv", INVENTORY)
    for name, text in FILES.items():
        box.write("fleet/" + name, text)
    one = every_kind(box)
    refused(box, one)
    late_log(box, one)
    answers(box)
    built_anew(box)
print("ok")
