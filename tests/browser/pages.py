#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# pages.py [PICTURES] - every kind of page in a real browser: axe at 1280 and 320 px, html-validate, print and read back
#
# PAGETRAIL_NODE_MODULES names a folder in which npm has installed axe-core, puppeteer-core and html-validate; chromium and pdftotext
# (poppler-utils) are Debian's. What is missing is said, and skipped. With PICTURES, that folder gets a picture of each kind (docs/reports.md).
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli", "lib"))
from replicas import FILES, INVENTORY, POLICY
from run import Box, expect

MODULES, CHROMIUM = os.environ.get("PAGETRAIL_NODE_MODULES") or "", shutil.which("chromium")
RULES = {"long-title": "off", "prefer-native-element": "off"}


def missing(*packages, browser=False):
    if not shutil.which("node") or not os.path.isdir(MODULES):
        return "no node, or PAGETRAIL_NODE_MODULES names no folder"
    if browser and not CHROMIUM:
        return "no chromium"
    return next((f"no {p} in {MODULES}" for p in packages if not os.path.isdir(os.path.join(MODULES, p))), None)


def node(*args, env=None):
    return subprocess.run(["node", *args], capture_output=True, timeout=900, env={**os.environ, **(env or {})})


def browser(*args):
    return node(os.path.join(HERE, "page.mjs"), MODULES, CHROMIUM, *args)


def axe(box, pages):
    why = missing("axe-core", "puppeteer-core", browser=True)
    if why:
        print(f"# axe was not asked: {why}")
        return
    p = browser("axe", *pages)
    expect(p.returncode == 0, f"axe to be content, no script to run and nothing to be fetched: {p.stderr.decode()[-3000:]}")
    bad = box.write("bad.html", '<html><body><img src="http://127.0.0.1:9/x"><p style="width:2000px;color:#ccc">wide</p><script>alert(1)</script><div class="scroll"'
                    ' style="overflow:auto"><table><tr class="more"><td><div style="width:1500px">below</table></div><figure><svg><text y="9">one</text><text y="9">two'
                    '</text></svg></figure></body></html>')
    said = browser("axe", bad)
    for word in ("image-alt", "html-has-lang", "px wide", "asks for http", "runs a script", "hides below", "hides two"):
        expect(said.returncode == 1 and word in said.stderr.decode(), f"a bad page to be found out: {word}: {said.stderr.decode()[-1500:]}")


def html_validate(box, pages):
    why = missing("html-validate")
    if why:
        print(f"# html-validate was not asked: {why}")
        return
    box.write(".htmlvalidate.json", json.dumps({"root": True, "extends": ["html-validate:standard"], "rules": RULES}))
    tool = os.path.join(MODULES, "html-validate", "bin", "html-validate.mjs")
    tool = tool if os.path.exists(tool) else os.path.join(MODULES, ".bin", "html-validate")
    bad = box.write("worse.html", "<!DOCTYPE html><html><head><title>x</title></head><body><p><div></p></body></html>")
    expect(node(tool, bad).returncode == 1, "html-validate to find a bad page out")
    p = node(tool, *pages)
    expect(p.returncode == 0, "html-validate to be content: " + p.stdout.decode()[-3000:])


def printed(box, pages):
    """The command of docs/reports.md; what is on the page is on paper."""
    if not CHROMIUM or not shutil.which("pdftotext"):
        print("# nothing was printed: no chromium, or no pdftotext")
        return
    for page in pages:
        pdf = box.path("page.pdf")
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={pdf}", "file://" + page],
                       check=True, capture_output=True, timeout=300)
        text = subprocess.run(["pdftotext", pdf, "-"], check=True, capture_output=True, timeout=60).stdout.decode()
        flat = re.sub(r"\s", "", text)
        html = open(page, encoding="utf-8").read()
        for heading in re.findall(r"<h[12][^>]*>([^<]+)</h[12]>", html):
            expect(re.sub(r"\s", "", heading) in flat, f"{page}: '{heading}' on paper")
        for digest in re.findall(r">([0-9a-f]{64})<", html)[:3]:
            expect(digest in flat, f"{page}: {digest} on paper")
        expect(flat.count("[TOBECOMPLETED:") == html.count("[TO BE COMPLETED: "), f"{page}: every blank on paper")


def pictures(box, pages, folder):
    os.makedirs(folder, exist_ok=True)
    for page in pages:
        kind = re.sub(r"(-T(-[A-Z2-7]{4}){4})?-\d+\.html$", "", os.path.basename(page)).replace("delta-deploy", "delta")
        p = browser("shot", page, os.path.join(folder, f"report-{kind}.png"), "1100", "860")
        expect(p.returncode == 0, p.stderr.decode())


with Box() as box:
    box.run("simulate", "r", "--seed", "7", "--requests", "2000")
    box.run("init", "case.ptc", "--id", "rehearsal-2026-09", "--title", "Rehearsal: prompts over the pool limit")
    box.run("ingest", "case.ptc", "r/logs")
    box.run("report", "case.ptc", "--all", "--out", "all", "--audience", "tenants", "--new-case-key", "key", "--as-of", "2026-09-12T08:00:00Z")
    one = {}
    for d, _, names in sorted(os.walk(box.path("all"))):
        for name in sorted(names):
            if name.endswith(".html"):
                one.setdefault(re.sub(r"(-T(-[A-Z2-7]{4}){4})?-\d+\.html$", "", name), os.path.join(d, name))
    # a letter to who asks: of a case in which something is open
    line = {"start_time": "2026-09-01T10:00:01.250Z", "request_id": "req-00000001", "tenant": "tenant-a", "model": "m",
            "path": "/v1/chat/completions", "duration": 1200}
    failed = {"status": 500, "bytes_sent": 0, "completion_tokens": 0}
    box.write("open/gateway.jsonl", "".join(json.dumps({**line, "request_id": f"req-0000000{i}", **(failed if i < 4 else {})}) + "\n" for i in range(6)))
    box.run("init", "open.ptc", "--id", "rehearsal-2026-10", "--title", "Rehearsal: an answer to a question")
    box.run("ingest", "open.ptc", "open", code=(0, 1, 3))
    box.run("report", "open.ptc", "notice-none", "--tenant", "tenant-a", "--audience", "tenants", "--case-key", "key", "--out", "none", "--as-of",
            "2026-09-12T08:00:00Z")
    one["notice-none"] = next(box.path("none/" + f) for f in os.listdir(box.path("none")) if f.endswith(".html"))
    # a deployment with a replica for every verdict
    box.write("policy.json", json.dumps(POLICY))
    box.write("hosts.csv", INVENTORY)
    for name, text in FILES.items():
        box.write("fleet/" + name, text)
    box.run("init", "fleet.ptc", "--id", "rehearsal-2026-11", "--title", "Rehearsal: who runs the fix")
    box.run("ingest", "fleet.ptc", "fleet", code=(0, 1, 3))
    box.run("report", "fleet.ptc", "deploy", "--policy", "policy.json", "--inventory", "hosts.csv", "--out", "deploy", "--as-of", "2026-09-14T10:00:00Z")
    one["deploy"] = box.path("deploy/deploy-1.html")
    # and what differs from it once a replica is in no inventory any more
    box.write("fewer.csv", INVENTORY.replace('lost-0,,,,"a,\n1",\r\n', ""))
    box.run("report", "fleet.ptc", "delta", "--before", "deploy/deploy-1.xml", "--policy", "policy.json", "--inventory", "fewer.csv", "--out", "delta", "--as-of",
            "2026-09-14T10:00:00Z")
    one["delta"] = box.path("delta/delta-deploy-2.html")
    expect(len(one) >= 8, f"a page of each kind: {sorted(one)}")
    if len(sys.argv) > 1:
        pictures(box, one.values(), sys.argv[1])
    else:
        axe(box, one.values())
        html_validate(box, one.values())
        printed(box, one.values())
