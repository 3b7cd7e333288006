#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# report_deploy.py - the deployment as a paper: what `deploy` says, with shares of an inventory alone, and no word of a fix that is not verified
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from page import NS, check_complete, check_inert, check_schema, numbers_of
from replicas import FILES, INVENTORY, POLICY, info, log
from run import Box, expect, one_line_error, rounds

VERDICTS = "verified_fixed verified_affected conflicting stale undetermined not_observed retired".split()
HOSTILE = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "]]><!--", "\u202etxt.exe\u2066", "a\x01\x1b[31mb", "=1+1", "javascript:alert(1)", "x" * 100000]


def ingest(box, case, files):
    shutil.rmtree(box.path("logs"), ignore_errors=True)
    for name, text in files.items():
        box.write("logs/" + name, text)
    box.json("ingest", case, "logs", code=(0, 3))


def report(box, case, out, *more):
    """The document and its page, checked by themselves and against `deploy` with the same arguments."""
    asked = [a for a in more if a not in ("--issue", "2")]
    box.run("report", case, "deploy", "--policy", "policy.json", "--out", out, "--as-of", "2026-09-14T10:00:00Z", *more)
    issue = 2 if "--issue" in more else 1
    names = {s: box.path(f"{out}/deploy-{issue}.{s}") for s in ("xml", "html")}
    check_schema(names["xml"])
    xml, page = (open(names[s], "rb").read() for s in ("xml", "html"))
    parsed = check_inert(xml, page)
    root = check_complete(xml, parsed)
    doc = box.json("deploy", case, "--policy", "policy.json", "--as-of", "2026-09-14T10:00:00Z", *asked, code=(0, 1))
    check_numbers(root, doc, "--inventory" in more)
    title = re.search(r"<h1>(.*?)</h1>", page.decode(), re.S).group(1)
    expect(not re.search(r"\bfixed\b", title, re.I), f"no 'fixed' in the title: {title}")
    found = box.json("lint", names["html"], code=(0, 1))["rows"]
    expect(not [r for r in found if r["rule"] != "blank"], f"words that a disclosure may use: {found[:3]}")
    return root, parsed, doc, title


def shown(text):
    """As documents have it: what would do something is made visible."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\\\\]", lambda m: "\\\\" if m[0] == "\\" else f"\\u{{{ord(m[0]):X}}}", text)


def table(root, section, at=0):
    t = root.find(f"{NS}section[@id='{section}']").findall(NS + "table")[at]
    names = [c.get("name") for c in t.findall(NS + "column")]
    return [dict(zip(names, r.findall(NS + "cell"))) for r in t.findall(NS + "row")]


def check_numbers(root, doc, inventory):
    n, totals = numbers_of(root), doc["totals"]
    for v in VERDICTS:
        expect(n[v] == totals[v], f"{v}: report {n[v]}, deploy {totals}")
    rows = [r for r in doc["rows"] if r["current"]]
    expect(n["replicas"] == len(rows) and n["observed"] == totals["observed"], f"replicas: {n}")
    expect(("inventory" in n) == inventory == ("outside_inventory" in n), f"a whole from an inventory alone: {n}")
    numbers = {e.get("id"): e for e in root.iter(NS + "number")}
    if inventory:
        expect(n["inventory"] == totals["inventory"] == sum(n[v] for v in VERDICTS), "verdicts to add up to the inventory")
        expect(n["in_service"] == n["inventory"] - n["retired"] and n["outside_inventory"] == totals["outside_inventory"], f"in service: {n}")
        share = numbers["verified_fixed"]
        expect(share.get("of") == str(n["in_service"]) and share.get("population") == "in_service", f"a share of those in service: {share.attrib}")
        if totals["verified_fixed_percent"] is not None:
            expect(abs(float(share.get("percent").strip("<>")) - totals["verified_fixed_percent"]) < 0.1, f"the same share: {share.attrib} {totals}")
    else:
        expect(not [e.attrib for i, e in numbers.items() if e.get("unit") == "replicas" and (e.get("percent") or e.get("of"))], "no share without an inventory")
    told = table(root, "replicas")
    expect([t["replica"].text for t in told] == [shown(r["replica"]) for r in rows], "a row a replica")
    for t, r in zip(told, rows):
        for k in ("verdict", "rung", "version", "role", "evidence_at"):
            expect((t[k].text or None) == (r[k] and shown(r[k])), f"{r['replica']}: {k} {t[k].text!r}, deploy {r[k]!r}")
        expect([i.text for i in t["refs"]] == r["refs"] and len(t["reasons"]) == len(r["reasons"]), f"{r['replica']}: records and reasons")
    expect(len(table(root, "replicas", 1)) == len(doc["rows"]), "a row for each start")
    builds = table(root, "builds")
    expect(sum(int(b["replicas"].text) for b in builds) == len(rows), "builds to add up")
    expect(sum(int(b[k].text) for b in builds for k in ("verified_fixed", "verified_affected", "conflicting", "others", "retired")) == len(rows), "and their verdicts")
    first = root.find(f"{NS}numbers/{NS}first-fixed")
    expect((first.text if first is not None else None) == doc["served_after_fix"]["first_fixed_at"], "since when there was a fix")
    expect(len(table(root, "after")) == doc["served_after_fix"]["responses"], "what was served after it")
    last = root.find(f"{NS}numbers/{NS}served-last")
    expect((last.text if last is not None else None) == doc["affected_window_end"], "the end of the window")
    expect(len(table(root, "gateways")) == len(doc["gateway_limits"]) and len(table(root, "pairs")) == len(doc["pairs"]), "gateways and pairs")
    expect(len(table(root, "unread")) == len(doc["unread"]), "what was not understood")


def refusals(box):
    for args in (("scope", "--inventory", "hosts.csv"), ("public", "--at", "2026-09-14T09:00:00Z"), ("deploy", "--at", "yesterday"),
                 ("deploy", "--audience", "public"), ("deploy", "--tenant", "a"), ("deploy", "--also", "iodef")):
        one_line_error(box.run("report", "case.ptc", *args, "--out", "no", code=2))
    one_line_error(box.run("report", "case.ptc", "deploy", "--inventory", "none.csv", "--out", "no", code=3))
    box.write("bad.csv", "replica,state\na,nonsense\n")
    one_line_error(box.run("report", "case.ptc", "deploy", "--inventory", "bad.csv", "--out", "no", code=3))
    said = one_line_error(box.run("report", "case.ptc", "deploy", "--approved", "--out", "no", code=3))
    expect("open blanks" in said and not os.path.exists(box.path("no")), f"a paper with blanks is not approved: {said}")


def hostile(box):
    """Names of replicas, versions, paths and inventories are anybody's."""
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["replica", "role", "model", "node", "image_digest", "note"])
    w.writerows([n[:200], "", n[:300], n[:300], "", n[:1000]] for n in HOSTILE)
    box.write("inv <b>&\u202e.csv", buf.getvalue())
    box.run("init", "h.ptc", "--id", "<CASE>&\"]]>", "--title", "<script>alert('title')</script>\u202e")
    ingest(box, "h.ptc", {f"w{i}/server_info.json": info("prefill", n, "08:30:00") for i, n in enumerate(HOSTILE)} |
           {f"w{i}/engine.log": log("prefill", "08:00:00") + f"# {i}\n" for i in range(len(HOSTILE))} | {"<script>&/server_info.json": '{"version": '})
    root, parsed, _, _ = report(box, "h.ptc", "hostile", "--inventory", "inv <b>&\u202e.csv")
    expect("<script>alert(1)</script>" in parsed.text("replicas"), "hostile names to be shown as text")
    forms = "json,md,txt,csv,sheet,xlsx"
    for out in ("h1", "h2"):
        box.run("report", "h.ptc", "deploy", "--policy", "policy.json", "--out", out, "--inventory", "inv <b>&\u202e.csv", "--also", forms)
    expect(subprocess.run(["diff", "-r", box.path("h1"), box.path("h2")]).returncode == 0, "the same bytes twice, in each form")
    sheet = open(box.path("h1/deploy-1.replicas.sheet.csv"), encoding="utf-8-sig", newline="").read()
    expect("'=1+1" in sheet, "no formula in a sheet")
    for name in os.listdir(box.path("h1")):
        if not name.endswith(".xlsx"):
            expect(b"\x1b" not in open(box.path("h1/" + name), "rb").read(), f"{name}: nothing for a terminal")


def verified(box):
    """The one fleet of which the paper may say it, and each loss that takes it away."""
    files = {n: t for n, t in FILES.items() if n.startswith(("fixed-0/", "restart-0/"))}
    box.write("two.csv", "replica\nfixed-0\nrestart-0\n")
    ingest(box, "two.ptc", files)
    root, parsed, _, title = report(box, "two.ptc", "two", "--inventory", "two.csv")
    expect("verified for the replicas of the inventory" in title, f"a fleet that is verified: {title}")
    expect("2 of 2 (100.00 %)" in parsed.text("statement").replace("\xa0", " "), parsed.text("statement"))
    _, _, _, title = report(box, "two.ptc", "two-none")
    expect("no inventory to hold it against" in title, f"without an inventory: {title}")
    box.write("three.csv", "replica\nfixed-0\nrestart-0\nlost-0\n")
    _, parsed, _, title = report(box, "two.ptc", "two-three", "--inventory", "three.csv")
    expect("under investigation" in title and "1 is open" in parsed.text("statement"), f"one that nobody saw: {title}: {parsed.text('statement')}")
    for gone in rounds(sorted(files), ["fixed-0/server_info.json", "restart-0/server_info_2.json"]):
        case = "less-" + gone.replace("/", "-") + ".ptc"
        ingest(box, case, {n: t for n, t in files.items() if n != gone})
        root, _, _, title = report(box, case, "less", "--inventory", "two.csv")
        if "info" in gone and gone != "restart-0/server_info.json":
            expect("under investigation" in title, f"without {gone}: {title}")
    # an order, an image, a disk: nothing is verified by them
    ingest(box, "disk.ptc", {"disk-0/pip-freeze.txt": FILES["disk-0/pip-freeze.txt"]})
    box.write("disk.csv", "replica\ndisk-0\n")
    _, parsed, _, title = report(box, "disk.ptc", "disk", "--inventory", "disk.csv")
    expect("under investigation" in title and "0 of 1" in parsed.text("statement"), f"a disk verifies nothing: {title}")


def together(box):
    """Among all papers of a case that knows a replica; not where nothing is known of any."""
    box.run("report", "case.ptc", "--all", "--out", "all", "--audience", "t", "--new-case-key", "key", "--policy", "policy.json", "--inventory", "hosts.csv")
    root = ET.parse(box.path("all/internal/deploy-1.xml")).getroot()
    expect(numbers_of(root)["inventory"] == 15, "the inventory in the paper among all")
    inside = open(box.path("all/internal/scope-1.xml"), encoding="utf-8").read()
    expect("<inventory" not in inside, "the inventory to be of the deployment alone")
    ingest(box, "gate.ptc", {"gateway/access.jsonl": FILES["gateway/access.jsonl"]})
    box.run("report", "gate.ptc", "--all", "--out", "gate", "--audience", "t", "--case-key", "key")
    expect("deploy-1.xml" not in os.listdir(box.path("gate/internal")), "no paper of a deployment that nothing speaks of")
    root, parsed, _, title = report(box, "gate.ptc", "gate-one")
    expect(numbers_of(root)["replicas"] == 0 and "not verified" in title, f"asked for all the same: {title}")


with Box() as box:
    box.write("policy.json", json.dumps(POLICY))
    box.write("hosts.csv", INVENTORY)
    ingest(box, "case.ptc", FILES)
    root, parsed, doc, title = report(box, "case.ptc", "one", "--inventory", "hosts.csv")
    expect("under investigation" in title, f"the title while replicas are open: {title}")
    expect("2 of 14" in parsed.text("statement"), "what is verified, of how many in service")
    header = {e.tag[len(NS):]: e for e in root.find(NS + "header")}
    expect(header["inventory"].text == "hosts.csv" and header["inventory"].get("replicas") == "15", "the inventory to be named")
    box.run("report", "case.ptc", "deploy", "--policy", "policy.json", "--out", "again", "--as-of", "2026-09-14T10:00:00Z", "--inventory", "hosts.csv")
    expect(subprocess.run(["diff", "-r", box.path("one"), box.path("again")]).returncode == 0, "the same bytes twice")
    report(box, "case.ptc", "bare", "--issue", "2")
    for at in ("2026-09-14T06:45:00Z", "2026-09-14T09:02:00Z"):
        root, parsed, _, _ = report(box, "case.ptc", "at" + at[11:13], "--inventory", "hosts.csv", "--at", at)
        expect(root.find(f"{NS}numbers/{NS}judged-at").text == at, "the time that is judged")
    refusals(box)
    hostile(box)
    verified(box)
    together(box)
