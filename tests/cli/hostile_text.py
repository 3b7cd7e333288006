#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# hostile_text.py - whatever stands in the text fields of logs and side files: every kind of paper in every form stays valid, and inert
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from run import Box, expect, rounds

RNG = os.path.abspath("reports/report.rng")
FORMS = "json,md,txt,csv,sheet,iodef"
NASTY = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "]]><!-- --><?x ?>", "=HYPERLINK(\"http://x.example\")", "@SUM(1+1)", "+1|cmd", "-2+3",
         "\u202etxt.exe\u2066", "a\x01\x1b[31mb\x7f\x85\u2028c", "&lt;&amp;&#0;&#x202e;", "[l](javascript:alert(1)) `c` **d** | e", "# h\n\n* i\r\n1. j", "\t=1+1",
         "\ufffe\uffff\ufeff", "x" * 1000000, "{{7*7}}${7*7}", "' OR 1=1 --", "%s%n%p"]
INVALID = b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf0\x9f"
BY = 'by="=1+1 &lt;b&gt; \u202e" on="2026-09-12"'


class Inert(HTMLParser):
    """No element, attribute or address that does something."""
    ALLOWED = {"html", "data", "head", "meta", "title", "style", "body", "a", "header", "main", "nav", "footer", "section", "h1", "h2", "h3", "p", "b", "span", "small", "strong",
               "code", "ul", "ol", "li", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "time", "details", "summary", "figure",
               "figcaption", "svg", "rect", "text", "title", "desc", "g", "line", "path", "br", "em", "i", "blockquote"}

    def __init__(self, name):
        super().__init__()
        self.name = name

    def handle_starttag(self, tag, attrs):
        expect(tag in self.ALLOWED, f"{self.name}: no <{tag}>")
        for k, v in attrs:
            expect(not k.startswith("on") and k not in ("src", "srcset", "action", "formaction", "xlink:href", "style"), f"{self.name}: no {k}")
            expect(k != "href" or v.startswith("#"), f"{self.name}: no address {v!r}")


def plain(name, data):
    text = data.decode("utf-8")  # strict
    odd = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufffe\uffff]", text.removeprefix("\ufeff"))
    expect(odd is None, f"{name}: no {odd and ascii(text[max(0, odd.start() - 40):odd.end() + 20])}")
    return text


def check(path, forms):
    name, data = os.path.basename(path), open(path, "rb").read()
    form = next(f for f in (".dsse.json", ".sheet.csv", ".iodef.xml", ".html", ".json", ".md", ".txt", ".csv", ".xml", ".sha256") if name.endswith(f))
    forms[form] = forms.get(form, 0) + 1
    text = plain(name, data)
    if form in (".xml", ".iodef.xml"):
        ET.fromstring(data)
    if form == ".html":
        Inert(name).feed(text)
        expect("Content-Security-Policy" in text and "default-src 'none'" in text, f"{name}: its policy")
        ET.fromstring(re.sub(r"(?s)<style>.*?</style>|<meta[^>]*>|<!DOCTYPE[^>]*>", "", text).replace("&nbsp;", " ").replace("<br>", "<br/>"))
    if form == ".json":
        json.loads(text)
    if form in (".csv", ".sheet.csv"):
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))
        expect(len({len(r) for r in rows}) == 1, f"{name}: columns")
        for cell in (c for r in rows for c in r if form == ".sheet.csv"):
            expect(not cell[:1] in tuple("=+-@\t\r") or re.fullmatch(r"-?[\d.]+", cell), f"{name}: no formula {cell[:40]!r}")
    if form == ".md":
        bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
        expect(not re.search(r"[<>`\[\]*_&]|https?:|www\.|javascript:", bare), f"{name}: no markup of the case")
        expect(not re.search(r"(?m)^(#+ (h|i|j)$|\* i|1\. j)", bare), f"{name}: no line of its own")
    expect(len(data) < 30000000, f"{name}: long names to be cut: {len(data)} bytes")


def logs(box, names):
    """Each text field of each kind of input has each of these."""
    lines = []
    for i, n in enumerate(names):
        short = n[:4000]
        lines.append(json.dumps({"start_time": f"2026-09-01T10:{i // 60:02d}:{i % 60:02d}.500Z", "request_id": f"id-{i:06d}-{short}", "tenant": f"{n} t-{i:03d}", "model": n, "method": short,
                                 "path": "/v1/" + short, "user_agent": n, "upstream_host": short, "route_name": short, "response_flags": short, "status": 200,
                                 "duration": 1200, "bytes_sent": 900, "prompt_tokens": 700000 + i, "completion_tokens": 12}).encode())
        lines.append(json.dumps({"start_time": f"2026-09-01T11:{i // 60:02d}:{i % 60:02d}Z", "request_id": f"open-{i:06d}", "tenant": f"{n} t-{i:03d}", "model": n,
                                 "path": "/v1/chat/completions"}).encode())
    lines.append(b'{"start_time":"2026-09-01T12:00:00Z","request_id":"raw-' + INVALID + b'","tenant":"t' + INVALID + b'","model":"' + INVALID +
                 b'","status":200,"bytes_sent":9,"prompt_tokens":700001,"completion_tokens":2}')
    lines.append(b"no JSON <script>x</script> \xe2\x80\xae ]]> " + INVALID + b"\x00")
    box.write("logs <b>&\u202e/gate]]>way.jsonl", b"\n".join(lines) + b"\n")
    rids = [f"id-{i:06d}-{n[:4000]}" for i, n in enumerate(names)]
    for k, n in enumerate(names):
        w = n[:300]
        pages = [{"v": 1, "ts": 1788256800 + i, "seq": i, "worker": w + str(k), "pool": w, "op": ("read", "boot", "alloc", "write")[(i + 1) % 4] if i < 4 else "read", "page_size": 64,
                  "pool_pages": 1024, **({} if not i else {"rid": rids[(i + k) % len(rids)], "pages": [[0, 8]]})} for i in range(8)]
        box.write(f"logs <b>&\u202e/=w{k}'<x>.pages.jsonl", "\n".join(map(json.dumps, pages)) + "\n")
        info = {"version": w, "model_path": w, "host": w, "port": 30000, "served_model_name": n, "context_length": 1048576, "max_total_num_tokens": 681280}
        box.write(f"logs <b>&\u202e/server_info/+{k}.json", json.dumps(info))


with Box() as box:
    names = rounds(NASTY, NASTY)
    logs(box, names)
    box.run("init", "h.ptc", "--id", "=<CASE>&\"]]>\u202e", "--title", "<script>alert('title')</script>\u202e\x1b[31m")
    box.run("ingest", "h.ptc", "logs <b>&\u202e", code=(0, 1, 3))
    nasty = "".join(n[:2000] for n in names)
    quoted = "".join(c for c in nasty if c in "\t\n\r" or 0x20 <= ord(c) < 0xd800 or 0xe000 <= ord(c) < 0xfffe).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    blanks = ("phase", "marking", "approver", "root-cause", "severity", "actions-taken", "open-replicas", "controls", "exceptions", "summary", "contact", "next-update", "fix")
    said = [f'<answer id="{i}" {BY}>{quoted}</answer>' for i in blanks]
    said += [f'<answer regime="gdpr33" id="contact" {BY}>{quoted}</answer>', f'<not-applicable regime="csf" {BY}>{quoted}</not-applicable>',
             f'<clock regime="gdpr33" id="aware" at="2026-09-11T11:00:00Z" {BY}>{quoted}</clock>']
    box.write("a.xml", '<answers xmlns="urn:pagetrail:answers:1">' + "".join(said) + "</answers>")
    box.write("note", "=1+1 <script>alert(1)</script> \u202e ]]> [l](javascript:x)\n\n@SUM(1) `c`\n")
    common = ("--also", FORMS, "--answers", "a.xml", "--as-of", "2026-09-12T08:00:00Z")
    box.run("report", "h.ptc", "--all", "--out", "all", "--audience", "=them <b>&\u202e", "--new-case-key", "key", "--note", "note", *common)
    forms, kinds, files = {}, set(), []
    for d, _, found in os.walk(box.path("all")):
        files += [os.path.join(d, f) for f in found]
    for f in sorted(files):
        check(f, forms)
        kinds.add(re.sub(r"-(T-.*|\d+\..*)$", "", os.path.basename(f)))
    expect({"scope", "worksheet", "deploy", "public", "notice-exposed", "notice-recipient", "deliveries"} <= kinds, f"every kind: {kinds}")
    expect({".html", ".json", ".md", ".txt", ".csv", ".sheet.csv", ".xml", ".iodef.xml", ".sha256"} <= set(forms), f"every form: {forms}")
    documents = [f for f in files if f.endswith(".xml") and not f.endswith(".iodef.xml")]
    if shutil.which("xmllint"):
        p = subprocess.run(["xmllint", "--noout", "--nonet", "--relaxng", RNG, *documents], capture_output=True, timeout=300)
        expect(p.returncode == 0, f"xmllint to be content: {p.stderr.decode(errors='replace')[-600:]}")
    validators.by_xsd("iodef/iodef-2.0.xsd", *(f for f in files if f.endswith(".iodef.xml")))
    scope = open(box.path("all/internal/scope-1.html"), encoding="utf-8").read()
    expect("&lt;script&gt;alert(1)" in scope and "\\u{202E}" in scope, "they are shown, as text")
