#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# hostile_text.py - whatever stands in the text fields of logs and side files: every kind of paper in every form stays valid, and inert
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from inert import INVALID, NASTY, check
from run import Box, expect, rounds

RNG = os.path.abspath("reports/report.rng")
FORMS = "json,md,txt,csv,sheet,iodef"
BY = 'by="=1+1 &lt;b&gt; \u202e" on="2020-09-12"'


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
    # each text field alone: a megabyte, and bytes that are no UTF-8
    whole = {"request_id": "alone", "tenant": "t alone", "model": "m", "method": "POST", "path": "/v1/completions", "user_agent": "u", "upstream_host": "h", "route_name": "r",
             "response_flags": "-", "protocol": "HTTP/1.1", "start_time": "2026-09-01T12:30:00Z"}
    for i, field in enumerate(whole):
        for value in (chr(97 + i) * 1000000, "\uf8ff" if field != "tenant" else "u\uf8ffu"):  # a request may be called like a model, and stops no paper
            one = {**whole, "request_id": f"alone-{i}-{len(value)}", "status": 200, "bytes_sent": 9, "prompt_tokens": 700001, "completion_tokens": 2}
            lines.append(json.dumps({**one, field: value}, ensure_ascii=False).encode().replace("\uf8ff".encode(), INVALID))
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
    for r in box.json("query", "h.ptc", "sources", code=(0, 1))["rows"]:
        expect(r["records"] == r["parsed"] + r["context"] + r["unparsed"] + r["duplicate"], f"every record to be accounted for: {r}")
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
    # two issues of each kind that others give back, between which somebody entered a limit
    for paper in ("internal/scope", "internal/worksheet", "internal/deploy", "public/public"):
        box.run("report", "h.ptc", "delta", "--before", f"all/{paper}-1.xml", "--out", "all/delta", "--also", FORMS.replace(",iodef", ""), "--answers", "a.xml",
                "--as-of", "2026-09-12T08:00:00Z")
        box.run("report", "h.ptc", "delta", "--before", f"all/{paper}-1.xml", "--out", "all/delta", "--issue", "3", "--also", FORMS.replace(",iodef", ""),
                "--param", "pool=600000")
        same, other = ({n.get("id"): int(n.get("value")) for n in ET.parse(box.path(f"all/delta/delta-{paper.split('/')[1]}-{i}.xml")).iter("{urn:pagetrail:report:1}number")}
                       for i in (2, 3))
        expect(same["differences"] == 0 < same["facts"] and other["differences"] > 0, f"{paper}: {same} {other}")
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
