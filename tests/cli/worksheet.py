#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# worksheet.py - duties to notify: facts where the case has them, blanks that are counted, times from clocks that a person started,
# answers that stay, approval only of what is complete
import json
import os
import random
import re
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from math import comb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

NS = "{urn:pagetrail:report:1}"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BY = 'by="Lead of the team" on="2020-09-12"'
HOSTILE = "\u202e=1+1 <script>alert(1)</script> & ]]> \x7f"


def answers(*elements):
    return '<answers xmlns="urn:pagetrail:answers:1">' + "".join(elements) + "</answers>"


# How many hits a population may hold: those with which neither so few nor so many hits are as improbable as a tail.
def not_ruled_out(population, drawn, hits, tail):
    def share(all_of_them, counts):
        return Fraction(sum(comb(all_of_them, k) * comb(population - all_of_them, drawn - k) for k in counts), comb(population, drawn))
    fit = range(hits, population - (drawn - hits) + 1)
    return (next(m for m in fit if share(m, range(hits, drawn + 1)) > tail), next(m for m in reversed(fit) if share(m, range(hits + 1)) > tail))


def regimes():
    root = ET.parse(os.path.join(ROOT, "reports", "regimes.xml")).getroot()
    return {r.get("id"): r for r in root}


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--requests", "300", "--seed", "3")
    box.run("ingest", "case.ptc", "r/logs")

    def sheet(*args):
        box.run("report", "case.ptc", "worksheet", "--out", "out", *args)
        return ET.parse(box.path("out/worksheet-1.xml")).getroot(), open(box.path("out/worksheet-1.html"), encoding="utf-8").read()

    def refused(text, *args, code=3):
        box.write("bad.xml", text)
        before = sorted(os.listdir(box.dir))
        line = one_line_error(box.run("report", "case.ptc", "worksheet", "--out", "none", *args, "bad.xml", code=code))
        expect(sorted(os.listdir(box.dir)) == before, "no file of a refused report")
        return line

    # each duty of the table, each field of it; nothing is said to apply, no clock has started
    doc, page = sheet()
    table = regimes()
    expect([r.get("id") for r in doc.findall(NS + "regime")] == list(table), "each regime, in the order of the table")
    numbers = {n.get("id"): n for n in doc.find(NS + "numbers")}
    blanks = 0
    for r in doc.findall(NS + "regime"):
        want = table[r.get("id")]
        fields = r.findall(NS + "field")
        expect(len(fields) == len([c for c in want if c.tag.endswith("field")]) == int(r.get("fields")), "each field")
        expect(not [d for d in r.findall(NS + "due") if d.get("at")], "no time without a clock")
        people = r.findall(f"{NS}field/{NS}person") + r.findall(NS + "clock")
        expect(int(r.get("open")) == len(people), f"{r.get('id')}: open ones to be counted")
        blanks += len(people)
        for v in r.findall(f"{NS}field/{NS}value"):
            if v.get("number"):
                n = numbers[v.get("number")]
                expect(f'value="{n.get("value")}"' in page, f"the number {v.get('number')} on the page")
    blanks += len(doc.findall(f"{NS}blanks/{NS}blank"))
    expect(int(doc.find(NS + "blanks").get("count")) == blanks, "blanks in all")
    expect(page.count("[TO BE COMPLETED") == blanks, f"each blank on the page: {page.count('[TO BE COMPLETED')} of {blanks}")
    p = box.run("lint", "out/worksheet-1.html", "--jsonl", code=1)
    expect(set(re.findall(rb'"rule":"([^"]+)"', p.stdout)) == {b"blank"}, f"no word that a disclosure may not use: {p.stdout[:600]}")

    # clocks of a person, in hours, days, business days and months, where the duty is owed
    box.write("a.xml", answers(
        f'<clock regime="gdpr33" id="aware" at="2026-09-11T11:00:00+02:00" {BY}>first lineage {HOSTILE.translate({127: None}).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")}</clock>',
        f'<clock regime="nis2-final" id="notified" at="2026-08-31T10:00:00Z" {BY}>sent</clock>',
        f'<clock regime="sec-8k-1.05-facts" id="material" at="2026-11-24T15:00:00Z" {BY}>board</clock>',
        f'<clock regime="hipaa-404" id="discovered" at="2026-09-08T23:30:00Z" {BY}>seen</clock>',
        f'<answer regime="gdpr33" id="contact" {BY}>somebody</answer>', f'<not-applicable regime="gdpr33" id="delay" {BY}>in time</not-applicable>',
        f'<not-applicable regime="csf" {BY}>not used here</not-applicable>', f'<answer id="phase" {BY}>first</answer>',
        f'<answer kind="worksheet" id="approver" {BY}>the board</answer>', f'<answer kind="scope" id="severity" {BY}>high</answer>'))
    box.write("days", "2026-11-26 a day off\n")
    doc, page = sheet("--answers", "a.xml", "--holidays", "days", "--zone", "America/New_York")
    due = {(r.get("id"), d.get("id")): d.get("at") for r in doc.findall(NS + "regime") for d in r.findall(NS + "due")}
    expect(due["gdpr33", "authority"] == "2026-09-14T09:00:00Z", f"72 hours, over a weekend: {due['gdpr33', 'authority']}")
    expect(due["nis2-final", "final"] == "2026-10-01T04:00:00Z", f"a month from the 31st: {due['nis2-final', 'final']}")
    expect(due["sec-8k-1.05-facts", "form-8k"] == "2026-12-02T05:00:00Z", f"business days over a day off: {due['sec-8k-1.05-facts', 'form-8k']}")
    expect(due["hipaa-404", "individuals"] == "2026-11-08T05:00:00Z", f"60 days from the day where it is owed, over a turn of the clock: {due['hipaa-404', 'individuals']}")
    expect(due["ukgdpr", "authority"] is None, "a clock starts for its own regime alone")
    by_id = {r.get("id"): r for r in doc.findall(NS + "regime")}
    expect(by_id["csf"].get("open") == "0" and by_id["csf"].get("not-applicable") == by_id["csf"].get("fields"), "a regime that does not apply")
    expect((by_id["gdpr33"].get("answered"), by_id["gdpr33"].get("not-applicable")) == ("1", "1"), "answers to be counted")
    expect(int(doc.find(NS + "blanks").get("count")) == page.count("[TO BE COMPLETED"), "what is left to be counted")
    expect("<script>" not in page and "\u202e" not in page, "words of a person to be inert")
    again = page
    expect(sheet("--answers", "a.xml", "--holidays", "days", "--zone", "America/New_York")[1] == again, "the same bytes again")
    box.run("report", "case.ptc", "scope", "--out", "out", "--answers", "a.xml", "--issue", "2")
    scope = ET.parse(box.path("out/scope-2.xml")).getroot()
    said = {b.get("id"): b for b in scope.findall(f"{NS}blanks/{NS}blank") if b.get("state")}
    expect(set(said) == {"phase", "severity"}, f"answers to reach the next issue of another kind: {set(said)}")

    # one duty; another table
    doc, _ = sheet("--regime", "gdpr33")
    expect([r.get("id") for r in doc.findall(NS + "regime")] == ["gdpr33"], "one regime")
    own = ('<regimes xmlns="urn:pagetrail:regimes:1" as-of="2026-09-01"><regime id="ours" title="Contract" law="Contract" status="in force" basis="text" '
           'source="our contracts" as-of="2026-09-01"><clock id="seen" citation="9">we knew</clock><due id="told" citation="9" from="%s" within="2bd">a '
           'letter</due><field id="f" citation="9" title="What" numbers="%s"/></regime></regimes>')
    box.write("own.xml", own % ("seen", "C1 C2"))
    doc, _ = sheet("--regimes", "own.xml")
    expect([r.get("id") for r in doc.findall(NS + "regime")] == ["ours"], "a table of one's own")
    for text, what in ((own % ("nobody", "C1"), "told"), (own % ("seen", "C9"), "C9"), (own.replace("2bd", "2w") % ("seen", "C1"), "line 1"), ("<a/>", "line"), ("", "line"),
                       ('<!DOCTYPE r [<!ENTITY e "x">]>' + own % ("seen", "C1"), "document type")):
        expect(what in refused(text, "--regimes"), f"{what} to be said")

    # samples that people drew: exact intervals, held against every way of drawing, counted; rounded outwards; refused where they can be none
    sample = '<sample id="%s" drawn-at="%s" unit="responses" population="%s" drawn="%s" hits="%s" ' + BY + '>by dice &lt;b></sample>'
    box.write("s.xml", answers(sample % ("phase", "random", 160000, 155, 0), sample % ("some", "random", 1000, 100, 7), sample % ("whole", "random", 40, 40, 3)))
    doc, page = sheet("--answers", "s.xml", "--also", "json,md")
    got = {s.get("id"): tuple(s.get(k) for k in ("least", "most", "low", "high", "at-most", "flag")) for s in doc.findall(NS + "sample")}
    expect(got == {"phase": ("0", "3761", "0.00", "2.36", "3061", "entered-by-person"), "some": ("31", "135", "3.10", "13.50", "124", "entered-by-person"),
                   "whole": ("3", "3", "7.50", "7.50", "3", "entered-by-person")}, f"what follows from samples: {got}")
    expect("0.00 % to 2.36 % of 160,000 responses (0 to 3,761), at most 3,061" in re.sub("</?data[^>]*>", "", page) and "<b>" not in page.split("Samples that people drew")[2][:900], "the page to say so")
    expect([s["id"] for s in json.load(open(box.path("out/worksheet-1.json")))["sample"]] == ["phase", "some", "whole"], "in JSON, too")
    p = box.run("lint", "out/worksheet-1.html", "--jsonl", code=1)
    expect(set(re.findall(rb'"rule":"([^"]+)"', p.stdout)) == {b"blank"}, f"no word that a disclosure may not use: {p.stdout[:600]}")
    dice = random.Random(5)
    drawn = [(745, 745, 1), (10, 10, 0), (10, 9, 1), (745, 100, 3), (40, 1, 0), (20, 1, 0)]
    for _ in range(60):
        n = dice.randint(1, 60)
        drawn.append((n, dice.randint(1, n), 0))
        drawn.append((n, drawn[-1][1], dice.randint(0, drawn[-1][1])))
    box.write("s.xml", answers(*(sample % (f"s{i}", "random", *d) for i, d in enumerate(drawn))))
    doc, _ = sheet("--answers", "s.xml")
    for d, s in zip(drawn, doc.findall(NS + "sample")):
        low, high = not_ruled_out(*d, Fraction(25, 1000))
        want = (low, high, low * 10000 // d[0], -(-high * 10000 // d[0]), not_ruled_out(*d, Fraction(5, 100))[1])
        got = tuple(int(s.get(k).replace(".", "")) for k in ("least", "most", "low", "high", "at-most"))
        expect(got == want, f"{d[2]} of {d[1]} drawn from {d[0]}: {got}, not {want}")
        expect(d[2] <= got[0] <= got[4] <= got[1] <= d[0] - (d[1] - d[2]), f"{d}: no fewer than were drawn, no more than can be")
    for numbers in (("x", "lost", 10, 5, 1), ("x", "random", 10, 11, 1), ("x", "random", 10, 5, 6), ("x", "random", 0, 0, 0), ("x", "random", 10, 0, 0),
                    ("x", "random", 1000000001, 5, 1), ("x", "random", 10, 5, -1), ("x", "random", "1e3", 5, 1)):
        expect("line 1" in refused(answers(sample % numbers), "--answers"), f"{numbers} to be refused")
    expect("twice" in refused(answers(sample % ("x", "random", 10, 5, 1), sample % ("x", "random", 10, 5, 1)), "--answers"), "one id twice")

    # answers to nothing, by nobody, or in another shape
    for text, what in ((answers(f'<answer id="nothing" {BY}>x</answer>'), "nothing"), (answers(f'<answer regime="gdpr33" id="phase" {BY}>x</answer>'), "phase"),
                       (answers(f'<clock regime="gdpr33" id="begin" at="2026-09-11T11:00:00Z" {BY}>x</clock>'), "begin"),
                       (answers('<answer id="phase" on="2020-09-12">x</answer>'), "line 1"), (answers(f'<answer id="phase" {BY}><!-- by nobody --></answer>'), "line 1"),
                       (answers(f'<clock regime="gdpr33" id="aware" at="2026-09-11T11:00:00" {BY}>x</clock>'), "line 1"), ("<answers", "line 1"), ("", "line")):
        expect(what in refused(text, "--answers"), f"{what} to be said")
    one_line_error(box.run("report", "case.ptc", "scope", "--regime", "gdpr33", "--out", "none", code=2))
    expect("gdpr33" in one_line_error(box.run("report", "case.ptc", "worksheet", "--regime", "nothing", "--out", "none", code=2)), "regimes to be named")

    # signed by somebody, on a day that has come, once; with the path of what is wrong
    for text, what in ((answers('<answer id="phase" by="\u00a0 \u200b" on="2020-09-12">x</answer>'), "line 1: answer[@id='phase']/@by: it names nobody"),
                       (answers('<answer kind="public" id="fix" by="A" on="2199-01-12">x</answer>'), "answer[@kind='public'][@id='fix']/@on: this day is still to come"),
                       (answers(f'<answer id="phase" {BY}>x</answer>', f'<answer id="phase" {BY}>y</answer>'), "answer[@id='phase']: it stands twice"),
                       (answers(f'<answer id="phase" {BY}>x</answer>', f'<not-applicable id="phase" {BY}>y</not-applicable>'), "not-applicable[@id='phase']: it stands twice"),
                       (answers(*(f'<clock regime="gdpr33" id="aware" at="2020-09-11T1{i}:00:00Z" {BY}>x</clock>' for i in range(2))), "[@regime='gdpr33'][@id='aware']: it stands twice"),
                       (answers(f'<clock regime="gdpr33" id="aware" at="2020-09-11T11:00:00Z" {BY}>x</clock>', f'<not-applicable regime="gdpr33" id="aware" {BY}>y</not-applicable>'),
                        "its clock was started as well"),
                       (answers(f'<clock regime="gdpr33" id="aware" at="2020-09-11T11:00:00Z" {BY}> \u2060</clock>'), "it gives no reason"),
                       (answers(f'<answer id="phase" by="A" on="2021-02-29">x</answer>'), "line 1"), (answers(f'<answer id="phase" by="A" on="2020-09-12+14:00">x</answer>'), "line 1")):
        for mode in (), ("--approved",):
            expect(what in refused(text, *mode, "--answers"), f"{what} to be said")
    box.write("day.xml", answers('<answer id="phase" by="A" on="2199-01-12">first</answer>'))
    sheet("--answers", "day.xml", "--as-of", "2199-01-12T00:00:00Z")

    # what says nothing yet leaves its blank open, and words that no disclosure may use are told: in a draft; an approved paper is refused for each
    box.run("report", "case.ptc", "public", "--out", "p")
    blanks = [b.get("id") for b in ET.parse(box.path("p/public-1.xml")).getroot().findall(f"{NS}blanks/{NS}blank")]

    def public(texts, *args, code=0):
        box.write("p.xml", answers(*(f'<answer kind="public" id="{i}" {BY}>{texts.get(i, "said")}</answer>' for i in blanks)))
        return box.run("report", "case.ptc", "public", "--out", "p", "--answers", "p.xml", *args, code=code)
    nothing = [" ", "\u00a0", "\u200b\u00ad", "\u3164 \u2800", "\u0301", "\u2014", "...", "\U000e0041", "TODO", "TBD", "todo: who?", "t.b.d.", "[TO BE COMPLETED: x]",
               "a<!-- -->TO<![CDATA[DO]]> TODO"]
    for at in range(0, len(nothing), len(blanks)):
        texts = dict(zip(blanks, nothing[at:]))
        draft = public(texts).stderr.decode()
        doc = ET.parse(box.path("p/public-1.xml")).getroot()
        expect(doc.find(NS + "blanks").get("count") == str(len(texts)), f"{texts}: open blanks")
        expect(re.findall(r"answer\[@kind='public'\]\[@id='(.*?)'\]: it says", draft) == list(texts), f"{texts}: to be told in a draft: {draft}")
    for text in ("\u00a0", "TBD"):
        line = one_line_error(public({"fix": text}, "--approved", code=3))
        expect("line 1: answer[@kind='public'][@id='fix']: it says" in line, f"{text!r} not to be approved: {line}")
    for text, rules in (("we believe no data was exposed; the bug was fixed; only a few customers", {"opinion", "no-absence", "fixed", "scope-word"}),
                        ("`we believe` it", {"opinion"}), ("w<![CDATA[e be]]>lieve<!-- --> it", {"opinion"}), ("12 %", {"share"})):
        draft = public({"fix": text})
        expect(set(re.findall(r"\(rule ([a-z-]+)\)", draft.stderr.decode())) >= rules, f"{text}: {draft.stderr}")
        told = len(box.json("lint", "p/public-1.html", code=1)["rows"])
        expect(draft.stderr.count(b"\n") == told, f"as many as in the page, each once: {told}, {draft.stderr}")
        line = one_line_error(public({"fix": text}, "--approved", code=3))
        expect(re.search(r"line 1: answer\[@kind='public'\]\[@id='fix'\]: it says '.*' \(rule", line), f"{text} not to be approved: {line}")
    expect(not public({"fix": "rolled out on 3 of 3 replicas"}, "--approved").stderr, "a whole paper")
    box.json("lint", "p/public-1.html")
    box.write("note", "TODO")
    expect("TODO" in one_line_error(public({}, "--approved", "--note", "note", code=3)), "a note as well")
    for element in ("clock", "sample"):
        box.write("w.xml", answers(f'<clock regime="gdpr33" id="aware" at="2020-09-11T11:00:00Z" {BY}>we believe so</clock>' if element == "clock" else
                                   (sample % ("x", "random", 10, 5, 1)).replace("by dice", "we believe so")))
        p = box.run("report", "case.ptc", "worksheet", "--out", "w", "--answers", "w.xml")
        expect(b"(rule opinion)" in p.stderr and p.stderr.count(b"\n") == 1, f"words of a {element}: {p.stderr}")

    # approved: complete, or refused
    line = one_line_error(box.run("report", "case.ptc", "worksheet", "--approved", "--answers", "a.xml", "--out", "none", code=3))
    expect("open blanks" in line and not os.path.exists(box.path("none")), f"a paper with blanks not to be approved: {line}")
    box.write("all.xml", answers(*(f'<not-applicable regime="{r}" {BY}>not ours</not-applicable>' for r in table),
                                 *(f'<answer id="{i}" {BY}>said</answer>' for i in ("phase", "approver", "applies"))))
    doc, page = sheet("--answers", "all.xml", "--approved")
    expect(doc.find(f"{NS}header/{NS}state").text == "approved" and doc.find(NS + "blanks").get("count") == "0", "an approved paper")
    expect("[TO BE COMPLETED" not in page, "no blank")
