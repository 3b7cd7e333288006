#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""canary.py - markers planted in prompts: every foreign sighting and no other, and what they make of the classes"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import PAGETRAIL, Rehearsal, base, check, finish, same, seeds  # noqa: E402

for seed in seeds((5, 41), 1):
    r = Rehearsal("canary", seed)
    markers = os.path.join(os.path.dirname(r.logs), "markers.json")
    before = {(x["request"], x["room"]): x["class"] for x in r.ask("scope", "--class", "C1,C2,C3,C4,C5", codes=(1,))["rows"]}
    doc = r.ask("canary", "--markers", markers, codes=(1,))
    check(doc["totals"]["foreign"] >= 5, f"{r.name}: there are foreign sightings", doc["totals"])
    got = {v: {(x["planted_request"], base(x["seen_request"])) for x in doc["rows"] if x["verdict"] == v and x["part"] == "answered"}
           for v in ("own", "foreign")}
    for v in ("own", "foreign"):
        same(f"{r.name}: {v}", {(s["planted_request"], s["seen_request"]) for s in r.truth["sightings"] if s["verdict"] == v}, got[v])
    check(all(x["verdict"] != "foreign" or x["part"] == "answered" for x in doc["rows"]), f"{r.name}: nobody's prompt accuses him")
    planted = {m["marker"]: m for m in json.load(open(markers, encoding="utf-8"))["markers"]}
    for x in doc["rows"]:
        check(planted[x["marker"]]["planted_request"] == x["planted_request"], f"{r.name}: where it was planted", x)
        check((x["cross_tenant"] == "yes") == (x["seen_tenant"] != x["planted_tenant"]), f"{r.name}: tenants", x)
        if x is not doc["rows"][0]:
            continue
        record = subprocess.run([PAGETRAIL, "show", r.case, x["refs"][0]], capture_output=True, check=True).stdout.decode()
        check(x["marker"] in record, f"{r.name}: the record holds it", x)
    # a marker makes a response confirmed, also where no page log tells
    truth, rows = r.check_scope()
    marked = {k for k, t in truth.items() if t["marked"] == "yes"}
    lifted = [k for k in marked if truth[k]["lineage"] == "unknown"]
    check(lifted, f"{r.name}: some have no page log")
    for k in marked:
        check(rows[k]["class"] == "C1" and rows[k]["predicates"]["X"] == "yes", f"{r.name}: confirmed by its marker", rows[k])
        check("foreign_marker" in rows[k]["reasons"], f"{r.name}: and says why", rows[k]["reasons"])
    for x in rows.values():
        was = before[(x["request"], x["room"])]
        check(x["class"] == was or x["predicates"]["X"] == "yes", f"{r.name}: no other class moves", (was, x["class"]))
    exposed = {base(x["request"]): x for x in r.ask("scope", "--side", "exposed", codes=(1,))["rows"]}
    for planted_in, _ in got["foreign"]:
        x = exposed[planted_in]
        check(x["class"] == "E1" and x["grade"] in ("content", "physical"), f"{r.name}: its owner is exposed", x)
    elsewhere = r.ask("query", "marker_seen_elsewhere")["rows"]
    same(f"{r.name}: by query", got["foreign"], {(x["planted_request"], base(x["request"])) for x in elsewhere})
    check({x["class"] for x in elsewhere} == {"C1"}, f"{r.name}: all are confirmed", {x["class"] for x in elsewhere})
    same(f"{r.name}: once more is the same", doc["rows"], r.ask("canary", "--markers", markers, codes=(1,))["rows"])
    check(subprocess.run([PAGETRAIL, "verify", r.case], capture_output=True).returncode == 0, f"{r.name}: verify")
finish()
