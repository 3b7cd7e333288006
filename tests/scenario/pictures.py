#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py - what the pictures draw is the truth of the rehearsal: responses on their worker, owners of a page, reads in all"""
import collections
import os
import re
import sys
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, base, check, finish, run, same  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def titles(svg):
    return [e.text or "" for e in ET.fromstring(svg).iter(SVG + "title")]


def words(svg):
    return [e.text or "" for e in ET.fromstring(svg).iter(SVG + "text")]


r = Rehearsal("late_write", 77)

# the timeline: as many marks of a class, lane by lane, as the truth has responses of it at that worker
expected = collections.Counter((t["decode_worker"], t["class_expected"]) for t in r.truth["responses"] if t["class_expected"] != "C4")
got = collections.Counter()
for worker in {b["worker"] for b in r.truth["boots"]}:
    name = next((n for n in {w["worker"] for w in r.ask("info")["workers"]} if r.worker(n) == worker), None)
    for m in (re.match(r"(?:(\d+) responses )?(C\d) ", t) for t in titles(run("timeline", r.case, "--worker", name, "--svg"))):
        if m:
            got[(worker, m[2])] += int(m[1] or 1)
same(f"{r.name}: responses drawn at their workers", dict(expected), dict(got))
whole = words(run("timeline", r.case, "--svg"))
for b in r.truth["boots"]:
    check(any(f"pool {b['pool_tokens']:,}, limit {b['input_limit']:,}" in w for w in whole), f"{r.name}: limits of {b['worker']}", b)

# one request's pages: every owner of the truth by name, with its pages, and nobody else
for t in [t for t in r.truth["responses"] if t["class_expected"] == "C1"][:5]:
    owners = collections.Counter()
    for o in t["owners"]:
        if o["kind"] in ("stale", "late_write") and o["worker"] == t["decode_worker"]:
            owners[o["request"]] += o["pages"]
    svg = run("lineage", r.case, t["request"], "--svg")
    listed = {base(m[1]): int(m[2]) for m in (re.match(r"content of (\S+) \(.*\), (\d+) pages?,", w) for w in words(svg)) if m}
    same(f"{r.name}: owners of {t['request']}", dict(owners), listed)

# the graph: reads and pages in all
truth = [e for e in r.truth["exposures"]]
dot = run("exposures", r.case, "--dot", codes=(1,))
edges = re.findall(r'^\tn\d+ -> n\d+ \[.*label="([a-z_]+)(?:, (\d+) reads)?, (\d+) pages?\\n', dot, re.M)
check(sum(int(n or 1) for _, n, _ in edges) == len({(e["worker"], e["reader"], e["owner"], e["kind"]) for e in truth}), f"{r.name}: reads in the graph", edges)
check(sum(int(p) for *_, p in edges) == sum(e["pages"] for e in truth), f"{r.name}: pages in the graph", edges)
finish()
