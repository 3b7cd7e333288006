#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# hostile_sides.py - whatever stands in files that people give beside the logs: it is refused in one clean line, or shown as text and nothing else
import copy
import csv
import io
import json
import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from inert import INVALID, NASTY, check, plain
from run import PAGETRAIL, Box, expect, rounds  # noqa: F401

MARK = "\uf8ff"  # bytes that are no UTF-8 come in its place
TOGETHER = "".join(n[:60] for n in NASTY)
TEXTS = rounds(NASTY + [TOGETHER, MARK], [TOGETHER, NASTY[-4], MARK])
MESSAGE_MAX = 4000  # of what a name of a megabyte may make of a message


def leaves(node, way=()):
    """Ways to every text, and to every name of a member."""
    if isinstance(node, dict):
        for k, v in node.items():
            yield way + (("key", k),)
            yield from leaves(v, way + (k,))
    elif isinstance(node, list):
        for i, v in enumerate(node):
            yield from leaves(v, way + (i,))
    elif isinstance(node, str):
        yield way


def put(doc, way, text):
    doc = copy.deepcopy(doc)
    at = doc
    for step in way[:-1]:
        at = at[step]
    last = way[-1]
    if isinstance(last, tuple):
        at[text] = at.pop(last[1])
    else:
        at[last] = text
    return doc


def put_all(doc, text):
    if isinstance(doc, dict):
        return {k: put_all(v, text) for k, v in doc.items()}
    if isinstance(doc, list):
        return [put_all(v, text) for v in doc]
    return text if isinstance(doc, str) else doc


def written(doc, ascii_only=False):
    return json.dumps(doc, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass").replace(MARK.encode(), INVALID)


def said(p, what):
    """What a person is told holds nothing that a terminal obeys, and is short."""
    for name, data in (("stdout", p.stdout), ("stderr", p.stderr)):
        plain(f"{what}: {name}", data)
    expect(len(p.stderr) < MESSAGE_MAX, f"{what}: a message of {len(p.stderr)} bytes: {p.stderr[:300]}")
    if p.returncode in (2, 3):
        expect(p.stderr or p.stdout, f"{what}: not refused without a word")
    if p.returncode in (2, 3) and p.stderr:
        expect(len(p.stderr.decode().splitlines()) <= 12 and p.stderr.startswith(b"pagetrail: "), f"{what}: a message: {p.stderr[:600]}")


def tried(box, what, *args):
    p = box.run(*args, code=(0, 1, 2, 3))
    said(p, what)
    return p.returncode in (0, 1)


def variants(doc):
    """All texts at once, then one after the other; as UTF-8, and as escapes."""
    for i, text in enumerate(TEXTS):
        yield f"all, text {i}", written(put_all(doc, text), i % 2 and MARK not in text)
    for i, way in enumerate(list(leaves(doc))[::rounds(1, 7)]):
        text = TEXTS[i % len(TEXTS)]
        yield f"{way}, text {TEXTS.index(text)}", written(put(doc, way, text), i % 2 and MARK not in text)


def policies(box):
    doc = {"schema_version": "1.7.3", "id": "x_acme-1", "modified": "2026-09-09T14:00:00Z", "summary": "s", "details": "d", "aliases": ["CVE-2026-1"],
           "references": [{"type": "WEB", "url": "https://x.example/a"}],
           "affected": [{"package": {"ecosystem": "PyPI", "name": "sglang", "purl": "pkg:pypi/sglang"}, "versions": ["0.5.20"],
                         "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "0.5.22"}]}],
                         "database_specific": {"pagetrail": {"requires": {"disaggregated": True, "transfer_backend": ["mooncake"]}, "trigger": "input_limit"}}}],
           "database_specific": {"pagetrail": {"backports": [{"version": "0.5.21+acme.1", "declared_by": "A. Lead", "on": "2026-09-10", "evidence": "RECORD of our wheel"}],
                                               "max_age": "24h"}}}
    taken = 0
    for what, data in variants(doc):
        box.write("policy.json", data)
        taken += tried(box, f"policy, {what}", "deploy", "case.ptc", "--policy", "policy.json")
        shown = ("scope", "case.ptc", "--policy", "policy.json") + (("--json",) if taken % 2 else ())
        tried(box, f"scope by policy, {what}", *shown)
    expect(taken, "some of these policies to be taken")


def inventories(box):
    head = ["replica", "role", "model", "node", "image", "image_digest", "state", "started_at", "retired_at", "rack"]
    row = ["decode-0", "decode", "m", "n", "reg/x:1", "sha256:" + "a" * 64, "active", "2026-09-01T00:00:00Z", "", "r 1"]
    taken = 0
    for i, text in enumerate(TEXTS):
        for at in [None, *range(0, len(head), rounds(1, 4))]:
            out = io.StringIO()
            w = csv.writer(out)
            w.writerow([h if at is None or k != at or i % 2 else text for k, h in enumerate(head)])
            w.writerow([text if at in (None, k) else c for k, c in enumerate(row)])
            box.write("hosts.csv", out.getvalue().encode().replace(MARK.encode(), INVALID))
            taken += tried(box, f"inventory, column {at}, text {i}", "deploy", "case.ptc", "--inventory", "hosts.csv")
    pod = {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "decode-0", "namespace": "n", "labels": {"role": "decode"}},
                                      "spec": {"nodeName": "n", "containers": [{"name": "engine", "image": "reg/x:1"}]},
                                      "status": {"phase": "Running", "podIP": "127.0.0.1",
                                                 "containerStatuses": [{"name": "engine", "image": "reg/x:1", "imageID": "reg/x@sha256:" + "a" * 64}]}}]}
    for what, data in variants(pod):
        box.write("pods.json", data)
        taken += tried(box, f"pods, {what}", "deploy", "case.ptc", "--inventory", "pods.json")
    expect(taken, "some of these inventories to be taken")
    return taken


def papers(box):
    """What was taken, in every form that says it."""
    nasty = TOGETHER.replace("\ufffe", "").replace("\uffff", "")
    rows = io.StringIO()
    csv.writer(rows).writerows([["replica", "role", "rack " + nasty], *([f"n {n[:60]} {i}", "decode", n[:3000]] for i, n in enumerate(NASTY))])
    box.write("hosts.csv", rows.getvalue())
    os.makedirs(box.path("forms"), exist_ok=True)
    box.run("report", "case.ptc", "deploy", "--inventory", "hosts.csv", "--out", "forms", "--also", "json,md,txt,csv,sheet", code=(0, 1))
    box.run("deploy", "case.ptc", "--inventory", "hosts.csv", "--csaf", "forms/csaf.json", "--statement", "forms/statement.json", code=(0, 1, 2, 3))
    forms = {}
    for name in sorted(os.listdir(box.path("forms"))):
        check(box.path("forms/" + name), forms)
    expect({".html", ".xml", ".md", ".csv", ".sheet.csv", ".json"} <= set(forms), f"forms: {forms}")


def maps(box):
    with open("tests/fuzz/map/json.json", "rb") as f:
        doc = json.load(f)
    for what, data in variants(doc):
        box.write("map.json", data)
        tried(box, f"map, {what}", "formats", "test", "--map", "map.json")
    doc["samples"] = [{"record": {"a": {"b": "x"}, "d": "y", "e": 0, "t": 1789355564310, "r": TOGETHER, "w": "go", "i": "1"}, "gives": {"event": "leg"}}]
    box.write("map.json", written(doc))
    box.write("mapped.log", written({"a": {"b": "x"}, "d": "y", "e": 0, "t": 1789355564310, "r": TOGETHER, "w": "go", "i": "1"}) + b"\n")
    p = box.run("ingest", "mapped.ptc", "--map", "map.json", "mapped.log", code=(0, 1, 3))
    said(p, "what is read with a map")


def nodes(box):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    lines = [f"{n[:2000]}=http://127.0.0.1:{port}".encode() for n in NASTY] + [f"ok http://127.0.0.1:{port}/{n[:200]}".encode() for n in NASTY]
    lines += [INVALID + f"=http://127.0.0.1:{port}".encode(), b"x=http://" + INVALID + b"/", ("y" * 1000000 + f" http://127.0.0.1:{port}").encode(), b"http://127.0.0.1:1\x00/"]
    for i, line in enumerate(lines[::rounds(1, 8)]):
        box.write("nodes", line + b"\n")
        tried(box, f"nodes, line {i}", "snapshot", "case.ptc", "--nodes", "nodes", "--connect-timeout", "0.2", "--timeout", "0.5")
    said(box.run("query", "case.ptc", "snapshots", code=(0, 1)), "snapshots")
    said(box.run("gaps", "case.ptc", code=(0, 1)), "gaps")


def others(box):
    """Lists of sources, markers, duties, holidays."""
    for i, text in enumerate(TEXTS):
        out = io.StringIO()
        csv.writer(out).writerows([["glob", "worker", "role", "tz", "format"], ["*.jsonl", text, "", "", ""], [text, "w", "decode", "UTC", ""], ["*", "w", text, text, text]])
        box.write("sources.csv", out.getvalue().encode().replace(MARK.encode(), INVALID))
        tried(box, f"sources, text {i}", "ingest", f"s{i}.ptc", "logs", "--sources", "sources.csv")
    marker = [{"marker": "zq-7-marker", "planted_request": "id-1", "planted_tenant": "t", "planted_at": "2026-09-01T00:00:00Z", "note": "n"}]
    for what, data in variants(marker):
        box.write("markers.json", data)
        tried(box, f"markers, {what}", "canary", "case.ptc", "--markers", "markers.json")
    regimes = open("reports/regimes.xml", encoding="utf-8").read()
    xml = "".join(c for c in TOGETHER if c in "\t\n" or 0x20 <= ord(c) < 0xd800 or 0xe000 <= ord(c) < 0xfffe)
    xml = xml.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace(">", "&gt;")
    names = sorted(set(re.findall(r"\b(title|law|source|citation)=", regimes)))
    for name in names[::rounds(1, 3)]:
        box.write("regimes.xml", re.sub(rf'\b{name}="[^"]*"', lambda m: f'{name}="{xml}"', regimes))
        if tried(box, f"regimes, {name}", "report", "case.ptc", "worksheet", "--regimes", "regimes.xml", "--out", "duties"):
            for f in ("worksheet-1.html", "worksheet-1.xml"):
                check(box.path("duties/" + f), {})
    for text in TEXTS:
        box.write("days", text.replace("\n", " ").encode().replace(MARK.encode(), INVALID) + b"\n2026-11-26 a day off\n")
        tried(box, "holidays", "report", "case.ptc", "worksheet", "--holidays", "days", "--out", "days-out")
        box.write("note", text.encode().replace(MARK.encode(), INVALID))
        tried(box, "note", "report", "case.ptc", "public", "--note", "note", "--out", "note-out")


with Box() as box:
    box.run("simulate", "r", "--seed", "3", "--requests", "60")
    os.rename(box.path("r/logs"), box.path("logs"))
    box.run("ingest", "case.ptc", "logs", code=(0, 1, 3))
    policies(box)
    inventories(box)
    papers(box)
    maps(box)
    others(box)
    nodes(box)
