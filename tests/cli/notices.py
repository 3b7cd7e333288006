#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# notices.py - papers that leave the house: nobody is told of another, whatever case and whoever wrote the words; small counts are hidden
import base64
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error, rounds

FORMS = "json,md,txt,csv,sheet,xlsx"
NS = "{urn:pagetrail:report:1}"
RNG = os.path.abspath("reports/report.rng")


def document(box, path):
    if shutil.which("xmllint"):
        p = subprocess.run(["xmllint", "--noout", "--nonet", "--relaxng", RNG, box.path(path)], capture_output=True)
        expect(p.returncode == 0, f"xmllint to accept {path}: {p.stderr.decode()[-300:]}")
    return ET.parse(box.path(path)).getroot()


def numbers(root):
    return {n.get("id"): n.get("value") or n.get("band") for n in root.find(NS + "numbers").findall(NS + "number")}


def rows(root, section=0):
    table = root.findall(NS + "section")[section].find(NS + "table")
    names = [c.get("name") for c in table.findall(NS + "column")]
    return [dict(zip(names, ("".join(c.itertext()) for c in r.findall(NS + "cell")))) for r in table.findall(NS + "row")]


def everything(box):
    """--all: who gets what, and each paper searched again, by other means."""
    out = box.run("report", "case.ptc", "--all", "--out", "all", "--audience", "tenants", "--new-case-key", "key").stdout.decode()
    expect(os.stat(box.path("key")).st_mode & 0o777 == 0o600, "a key that its owner alone reads")
    expect(re.search(r"searched \d+ files .* 0 found", out), f"the search to be said: {out[-200:]}")
    box.run("report", "case.ptc", "--all", "--out", "again", "--audience", "tenants", "--case-key", "key")
    expect(subprocess.run(["diff", "-r", box.path("all"), box.path("again")]).returncode == 0, "the same bytes twice")
    ids = {r["name"]: {r["name"]} for r in box.json("sql", "case.ptc", "SELECT name FROM tenant", "--limit", "0")["rows"]}
    asked = "SELECT t.name AS tenant, a.value FROM alias a JOIN request q ON q.request = a.request JOIN tenant t ON t.tenant = q.tenant"
    for r in box.json("sql", "case.ptc", asked, "--limit", "0")["rows"]:
        ids[r["tenant"]].add(r["value"])
    scope = box.json("scope", "case.ptc", "--class", "C1,C2,C3,C5", "--limit", "0", code=(0, 1))["rows"]
    exposed = box.json("query", "case.ptc", "exposed", "--limit", "0")["rows"]
    sent = list(csv.DictReader(open(box.path("all/internal/deliveries-1.csv"))))
    names = set(os.listdir(box.path("all/tenants")))
    expect({r["tenant"] for r in sent} == {r["tenant"] for r in scope + exposed if r["tenant"]}, "a delivery for each tenant concerned")
    for r in sent:
        for notice in r["notices"].split():
            stem = f"{notice}-{r['pseudonym']}-1"
            expect({stem + ".xml", stem + ".html"} <= names, f"{stem} to be there")
            root = document(box, f"all/tenants/{stem}.xml")
            expect(root.find(NS + "header").find(NS + "tenant").text == r["tenant"], f"{stem} to be for {r['tenant']}")
            text = "".join(open(box.path(f"all/tenants/{stem}.{s}")).read() for s in ("xml", "html"))
            words = set(re.findall(r"[\w.#-]+", text))
            for tenant, others in ids.items():
                expect(tenant == r["tenant"] or not words & (others - ids[r["tenant"]]), f"{stem} to hold nothing of {tenant}")
            expect(not words & ({s["pseudonym"] for s in sent} - {r["pseudonym"]}), f"{stem} to hold no other pseudonym")
            rows_of = [x for x in (exposed if notice == "notice-exposed" else scope) if x["tenant"] == r["tenant"]]
            told = rows(root)
            expect(sorted(x["request"] for x in told) == sorted(x["request"] for x in rows_of), f"{stem} to have its rows")
            check_notice(root, notice, told, text, stem)
            check_attached(box, root, stem)
    return sent


def check_notice(root, notice, told, text, stem):
    n = numbers(root)
    side = "E" if notice == "notice-exposed" else "C"
    expect(len(told) == sum(int(n[f"{side}{i}"]) for i in (1, 2, 3, 5)), f"{stem}: classes to add up to its rows")
    expect(sum(int(n[f"{side}{i}"]) for i in range(1, 6)) == int(n["owners" if side == "E" else "population"]), f"{stem}: parts and whole")
    blanks = root.find(NS + "blanks")
    expect(text.count("[TO BE COMPLETED: ") == len(blanks) == int(blanks.get("count")), f"{stem}: blanks to be visible")
    share = root.find(f".//{NS}number[@id='l_known']")
    expect(share.get("of") == n["population"], f"{stem}: coverage with its denominator")
    for x in told if notice == "notice-exposed" else ():
        expect(x["reads"] in ("0", "1", "2-5", "more than 5", ""), f"{stem}: a band, not {x['reads']}")
        expect(all(not x[k] or x[k].endswith(":00:00Z") for k in ("first_read_at", "last_read_at")), f"{stem}: whole hours: {x}")


def check_attached(box, root, stem):
    """The same rows for programs: CSV and JSON."""
    doc = json.load(open(box.path(f"all/tenants/{stem}.json"), encoding="utf-8"))
    for at, section in enumerate(root.findall(NS + "section")):
        with open(box.path(f"all/tenants/{stem}.{section.get('id')}.csv"), encoding="utf-8", newline="") as f:
            attached = list(csv.DictReader(f))
        told = rows(root, at)
        expect([r["request"] for r in attached if "request" in r] == [r["request"] for r in told if "request" in r], f"{stem}: the rows as CSV")
        expect(len(doc["section"][at]["table"][0].get("row", [])) == len(told) == len(attached), f"{stem}: the rows as JSON")
    numbers_csv = {r["id"]: r["value"] or r["band"] for r in csv.DictReader(open(box.path(f"all/tenants/{stem}.numbers.csv"), encoding="utf-8", newline=""))}
    expect(not numbers(root).items() - numbers_csv.items(), f"{stem}: the numbers as CSV")


def planted(box, tenant, other):
    """What a person adds is searched in every form; one hit, and there is no file."""
    request = box.json("sql", "case.ptc", "SELECT q.name, q.first_ns FROM request q JOIN tenant t ON t.tenant = q.tenant WHERE t.name = "
                       f"'{other}' AND q.first_ns % 1000000000 <> 0 LIMIT 1")["rows"][0]
    stamp = box.json("sql", "case.ptc", "SELECT strftime('%Y-%m-%dT%H:%M:%S', {0} / 1000000000, 'unixepoch') || "
                     "printf('.%09d', {0} % 1000000000) || 'Z' AS t".format(request["first_ns"]))["rows"][0]["t"]
    forms = [other, request["name"], stamp, str(request["first_ns"]), "x" + base64.b64encode(f"ab{request['name']}c".encode()).decode(),
             "".join(f"\\u{ord(c):04x}" for c in other), "".join(f"&#{ord(c)};" for c in other), "".join(f"%{ord(c):02X}" for c in request["name"]),
             # as people write it
             f"{other[:3].upper()}\u200b{other[3:]}".replace("-", "\u2011"), other.replace("-", " ").title(), request["name"].upper(), "t\u2010abcd-efgh-2345-wxyz"]
    args = ("report", "case.ptc", "notice-exposed", "--tenant", tenant, "--audience", "a", "--case-key", "key", "--out", "planted")
    for form in forms:
        box.write("note", f"Seen in 1 of 2 places: {form}.\n")
        said = one_line_error(box.run(*args, "--note", "note", code=3))
        expect("nothing was kept" in said and "a person gave" in said, f"{form}: {said}")
        expect(not os.path.exists(box.path("planted")), f"{form}: no file to be left")
    box.write("p.xml", f'<answers xmlns="urn:pagetrail:answers:1"><answer kind="public" id="fix" by="{other.upper()}" on="2020-09-12">in T-ABCD-EFGH-2345-WXYZ</answer></answers>')
    for what in ("the pseudonym of another", "the name of another"):
        said = one_line_error(box.run("report", "case.ptc", "public", "--out", "planted", "--answers", "p.xml", code=3))
        expect(what in said and "a person gave" in said, f"{what} in an answer: {said}")
        box.write("p.xml", open(box.path("p.xml")).read().replace("T-ABCD-EFGH-2345-WXYZ", "3 of 3 replicas"))
    box.run(*args)
    reference = next(n for n in os.listdir(box.path("planted")) if n.endswith(".xml"))[len("notice-exposed-"):-len("-1.xml")]
    box.write("note", f"Your own {tenant.upper()}, {tenant.replace('-', ' ')} and {reference} may be named.\n\nSecond paragraph <b>&.\n")
    box.run(*args, "--note", "note")
    name = next(n for n in os.listdir(box.path("planted")) if n.endswith(".xml"))
    expect(len(document(box, f"planted/{name}").find(NS + "note")) == 2, "the note in its paragraphs")
    for words in ("There was no impact.", "You were not   Affected", "This is fully resolved", "That is 12 %"):
        box.write("note", words)
        one_line_error(box.run(*args, "--note", "note", code=3))
    # another audience, another pseudonym
    box.run("report", "case.ptc", "notice-exposed", "--tenant", tenant, "--audience", "b", "--case-key", "key", "--out", "other", "--round", "day")
    other_name = next(n for n in os.listdir(box.path("other")) if n.endswith(".xml"))
    expect(name != other_name, "pseudonyms of two audiences to differ")
    expect(all(not x["first_read_at"] or x["first_read_at"].endswith("T00:00:00Z") for x in rows(document(box, f"other/{other_name}"))), "whole days")


def refusals(box, tenant):
    notice = ("report", "case.ptc", "notice-exposed", "--out", "no")
    for args in (notice, notice + ("--tenant", tenant), notice + ("--tenant", tenant, "--audience", "a"), notice + ("--audience", "a", "--case-key", "key"),
                 notice + ("--tenant", tenant, "--audience", "internal", "--case-key", "key"), ("report", "case.ptc", "--all", "--out", "no"),
                 ("report", "case.ptc", "scope", "--all"), ("report", "case.ptc"), ("report", "case.ptc", "public", "--tenant", tenant, "--out", "no"),
                 notice + ("--tenant", tenant, "--audience", "a", "--case-key", "key", "--round", "week")):
        one_line_error(box.run(*args, code=2))
    full = ("--audience", "a", "--case-key", "key")
    one_line_error(box.run(*notice, "--tenant", "nobody", *full, code=3))
    one_line_error(box.run("report", "case.ptc", "notice-none", "--tenant", tenant, *full, "--out", "no", code=3))
    there = one_line_error(box.run(*notice, "--tenant", tenant, "--audience", "a", "--new-case-key", "key", code=3))
    expect("'key' already" in there and "--case-key takes the one" in there, there)
    new = ("--audience", "a", "--new-case-key", "late", "--out", "no")
    one_line_error(box.run("report", "nowhere.ptc", "notice-exposed", "--tenant", tenant, *new, code=3))
    expect(not os.path.exists(box.path("late")), "no key for a case that is not there")
    said = one_line_error(box.run("report", "case.ptc", "notice-exposed", "--tenant", "nobody", *new, code=3))
    expect("the key 'late' is made and stays" in said and "--case-key" in said, said)
    os.chmod(box.path("key"), 0o644)
    one_line_error(box.run(*notice, "--tenant", tenant, *full, code=3))
    os.chmod(box.path("key"), 0o600)
    expect(not os.path.exists(box.path("no")), "a refused paper to leave nothing")


def gate(name, tenant, second, **more):
    return json.dumps({"start_time": f"2026-09-01T10:00:{second:02d}.250Z", "request_id": name, **({"tenant": tenant} if tenant else {}),
                       "model": "m", "path": "/v1/chat/completions", "duration": 1200, **more}) + "\n"


def page_text(box, folder):
    name = next(n for n in os.listdir(box.path(folder)) if n.endswith(".html"))
    return " ".join(re.sub(r"<[^>]+>", " ", open(box.path(f"{folder}/{name}")).read().split("<body")[1]).split())


def nothing_known(box):
    """The letter changes where something could not be determined, on either side; it never says 'not affected'."""
    none = {"status": 500, "bytes_sent": 0, "completion_tokens": 0}
    box.write("none/gateway.jsonl", gate("req-00000001", "clean", 1, **none))
    box.run("ingest", "none.ptc", "none", code=(0, 1, 3))
    box.write("open/gateway.jsonl", gate("req-00000001", "clean", 1, **none) + gate("req-00000002", "acme", 2) + gate("req-00000003", None, 3))
    box.run("ingest", "open.ptc", "open", code=(0, 1, 3))
    classes = {r["request"]: r["class"] for r in box.json("scope", "open.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))["rows"]}
    expect(classes == {"req-00000001": "C4", "req-00000002": "C5", "req-00000003": "C5"}, f"classes as meant: {classes}")
    full = ("--audience", "t", "--case-key", "key")
    for case, tenant, n in (("none", "clean", 0), ("open", "clean", 1), ("open", "acme", 2)):
        box.run("report", f"{case}.ptc", "notice-none", "--tenant", tenant, *full, "--out", f"{case}-{tenant}")
        text = page_text(box, f"{case}-{tenant}")
        expect(not re.search(r"not affected|unaffected", text.split("How it was found out")[-2]), f"{case} {tenant}: never 'not affected'")
        expect(("could not be determined for " in text) == (n > 0), f"{case} {tenant}: the letter that changes")
        expect(n == 0 or f"could not be determined for {n} of your" in text, f"{case} {tenant}: {n} in its title")
        expect(("name no customer. Whether one of them is yours" in text) == (case == "open"), f"{case} {tenant}: what names nobody")


def small_case(box):
    """Names that are hard to search for, and counts that are small."""
    served = {"status": 200, "bytes_sent": 900, "prompt_tokens": 700000, "completion_tokens": 12}
    who = ("acme", "acme-1", "ab", "request", 'a"<&\\b-corp')
    box.write("small/gateway.jsonl", "".join(gate(f"req-0000001{i}", t, i, **served) for i, t in enumerate(who)))
    box.run("ingest", "small.ptc", "small", code=(0, 1, 3))
    out = box.run("report", "small.ptc", "--all", "--out", "small-out", "--audience", "t", "--case-key", "key").stdout.decode()
    expect("0 found; 0 left out" in out, f"what was searched for to be said: {out[-300:]}")
    sent = {r["tenant"]: r for r in csv.DictReader(open(box.path("small-out/internal/deliveries-1.csv")))}
    expect("acme-1" in sent and 'a"<&\\\\b-corp' in sent, f"deliveries: {sent.keys()}")
    for r in sent.values():
        for kind in r["notices"].split():
            document(box, f"small-out/tenants/{kind}-{r['pseudonym']}-1.xml")
    # a name inside of one's own is no leak; one of another is, also when it is short, and with all that must be escaped
    for tenant, text, code in (("acme-1", "To acme-1", 0), ("acme-1", "As acme was told", 3), ("acme-1", "and ab too", 3), ("acme-1", "about", 0),
                               ("acme", 'by a"<&\\b-corp', 3), ("acme-1", "req-00000011", 0), ("acme-1", "req-00000012", 3)):
        box.write("note", text)
        p = box.run("report", "small.ptc", "notice-recipient", "--tenant", tenant, "--audience", "t", "--case-key", "key", "--out", "names", "--note",
                    "note", code=code)
        expect(code or not p.stderr, f"{tenant}: {text}")
    # a name that is a common word: a person waives it, with a reason that is printed; only a tenant's name can be
    notice = ("report", "small.ptc", "notice-recipient", "--tenant", "acme-1", "--audience", "t", "--case-key", "key", "--out", "names", "--note", "note")
    box.write("note", "As acme was told")
    said = box.run(*notice, "--waive", "acme=a word of our product's name").stdout.decode()
    expect("waived by a person: acme: a word of our product's name" in said, f"the waiver to be printed: {said}")
    box.write("note", "As acme and ab were told")
    one_line_error(box.run(*notice, "--waive", "acme=a word of our product's name", code=3))
    box.write("note", "To acme-1, as req-00000012 was")
    one_line_error(box.run(*notice, "--waive", "req-00000012=is no tenant at all", code=3))
    one_line_error(box.run(*notice, "--waive", "nobody=is no tenant at all", code=3))
    one_line_error(box.run(*notice, "--waive", "acme=short", code=2))
    one_line_error(box.run("report", "small.ptc", "scope", "--out", "no", "--waive", "acme=a word of our product's name", code=2))
    # the public is shown no count below 5, and none that gives one away
    box.write("few/gateway.jsonl", "".join(gate(f"req-0000002{i}", f"tenant-{i}", i, **{**served, **({"status": 500, "bytes_sent": 0,
              "completion_tokens": 0} if i > 2 else {})}) for i in range(10)))
    box.run("ingest", "few.ptc", "few", code=(0, 1, 3))
    box.run("report", "few.ptc", "public", "--out", "few-out")
    root = document(box, "few-out/public-1.xml")
    n = numbers(root)
    expect(sum(v == "fewer than 5" for v in n.values()) and "withheld" in n.values(), f"small ones hidden, and one more each: {n}")
    fine = {"records", "sources", "gaps", "limit_least", "unparsed", "sources_unread", "window_s", "seen_s"}
    expect(not {k for k, v in n.items() if v.isdigit() and 0 < int(v) < 5} - fine, f"no small count in the public report: {n}")
    text = open(box.path("few-out/public-1.html")).read()
    expect(not re.search(r"req-0000|tenant-\d|10:00:0[1-9]", text), "no id and no exact time in the public report")


# a name inside of another's, of one to three bytes, of digits; words of the form in each of its kinds; a model, a worker, parts of a time
NAMES = ["acme", "acme-1", "acme.1", "acme_1", "é", "ü1", "x", "Z", "ab", "7", "12.5", "2026-09-01", "the", "of", "public", "notice", "notice-exposed",
         "decode", "decode-0", "worker", "request", "class", "C1", "E2", "yes", "unknown", "temporal", "counted", "true", "div", "DOCTYPE",
         "Worksheets", "sha256", "purpose", "m", "m-large", "pagetrail", "over-limit", "not signed", "first", "GDPR"]


def common_names(box):
    """No paper is stopped by a name that is nothing but a word; and where it is said of another, it is found."""
    served = {"status": 200, "bytes_sent": 900, "prompt_tokens": 700000, "completion_tokens": 12}
    box.write("common/gateway.jsonl", "".join(gate(f"id-{i:08d}", t, i, **{**served, "model": ("m-large", "m")[i % 2]}) for i, t in enumerate(NAMES)))
    box.write("common/decode-0.log", "no format knows this\n")
    box.run("ingest", "common.ptc", "common", code=(0, 1, 3))
    args = ("report", "common.ptc", "--all", "--out", "common-out", "--audience", "r", "--case-key", "key", "--also", "json,md,txt,csv,sheet,xlsx,iodef,tsq")
    out = box.run(*args).stdout.decode()
    expect("0 found; 2 left out" in out, f"the numbers to be said: {out[-300:]}")
    sent = list(csv.DictReader(open(box.path("common-out/internal/deliveries-1.csv"))))
    expect(sorted(r["tenant"] for r in sent) == sorted(NAMES), f"a paper for each: {[r['tenant'] for r in sent]}")
    one = ("report", "common.ptc", "notice-recipient", "--tenant", "acme.1", "--audience", "r", "--case-key", "key", "--out", "no", "--also", FORMS, "--note", "note")
    for name in rounds(NAMES, NAMES[::3] + ["m", "m-large"]):
        own = name in ("acme.1", "m-large", "7", "12.5")  # it asked for m-large
        box.write("note", f"Seen beside <{name}> then.\n")
        p = box.run(*one, code=0 if own else 3)
        expect(own or "nothing was kept" in one_line_error(p), f"{name} to be caught")
        expect(own or not os.path.exists(box.path("no")), f"{name}: no file to be left")
        shutil.rmtree(box.path("no"), ignore_errors=True)
    box.write("note", "Seen in public then.\n")
    box.run(*one, "--waive", "public=a word that everybody uses")


def wording(box):
    """What `lint` finds in a page is the blanks that a person has to fill in."""
    pages = sorted(os.path.join(d, f) for d, _, names in os.walk(box.dir) for f in names if f.endswith(".html"))
    once = {re.sub(r"T(-[A-Z2-7]{4}){4}", "", p): p for p in pages}
    expect(len(once) > 8, f"pages of each kind: {once}")
    for page in once.values():
        found = box.json("lint", page, code=(0, 1))["rows"]
        expect(not [r for r in found if r["rule"] != "blank"], f"{page}: {[r for r in found if r['rule'] != 'blank']}")


def optional_validator(box):
    """html-validate, when somebody has it; never fetched."""
    if not shutil.which("html-validate"):
        return
    rules = {"long-title": "off", "prefer-native-element": "off"}
    box.write(".htmlvalidate.json", json.dumps({"root": True, "extends": ["html-validate:standard"], "rules": rules}))
    p = subprocess.run(["html-validate", "all/tenants", "all/public", "small-out"], cwd=box.dir, capture_output=True)
    expect(p.returncode == 0, "html-validate to be content: " + p.stdout.decode()[-1500:])


with Box() as box:
    box.run("simulate", "r", "--seed", "1", "--requests", "2000")
    box.run("ingest", "case.ptc", "r/logs")
    sent = everything(box)
    tenants = [r["tenant"] for r in sent if "notice-exposed" in r["notices"]]
    planted(box, tenants[0], tenants[1])
    refusals(box, tenants[0])
    nothing_known(box)
    small_case(box)
    common_names(box)
    wording(box)
    optional_validator(box)
