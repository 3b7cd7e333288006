#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""messy.py - the incident whose logs are in three zones, off by a clock, set in the middle, torn, copied, forged and full of
holes: the same 155 over the pool, the same classes wherever no hole was made, each hole is a gap, no loss clears anybody

truth.json names the holes. A response is inside one when an attempt of it may have left lines there.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, at, base, check, finish, same, seeds  # noqa: E402

NIGHT = 6 * 3600
SLACK = 180  # of the times of a gap: the largest skew and a boot's start lines


def inside(truth, hole):
    """Long prompts run for some minutes; what a worker did for it may lie in between."""
    workers = (truth["prefill_worker"], truth["decode_worker"])
    return hole["worker"] in workers and at(hole["from"]) - 900 <= at(truth["started_at"]) <= at(hole["to"]) + 1


def check_holes(r, gaps):
    for h in r.truth["holes"]:
        kinds = {"torn": ("torn", "unparsed")}.get(h["kind"], (h["kind"],))
        some = [g for g in gaps if g["kind"] in kinds and r.worker(g["worker"]) == h["worker"]]
        if h["kind"] == "torn":
            check(sum(g["missing"] for g in some) >= sum(x["lines"] for x in r.truth["holes"]
                                                         if x["kind"] == "torn" and x["worker"] == h["worker"]),
                  f"{r.name}: torn lines of {h['worker']} are counted", some)
            continue
        # a log is known to speak where it speaks of requests: one before a hole, or behind it, may be hours away at night
        found = [g for g in some if -NIGHT < at(g["from"]) - at(h["from"]) < SLACK and -SLACK < at(g["to"]) - at(h["to"]) < NIGHT]
        check(len(found) == 1, f"{r.name}: {h['kind']} of {h['worker']} from {h['from']} is a gap", (h, some))
        for g in found:
            check(h["kind"] != "sequence" or g["missing"] == h["lines"], f"{r.name}: records missing in {h['worker']}", (h, g))
            check(g["effect"] and g["refs"], f"{r.name}: effect and refs of {h['kind']} of {h['worker']}", g)
    # nothing that was not made: but a restart inside a hole, and what a clock says of itself
    made = {(h["kind"], h["worker"]) for h in r.truth["holes"]} | {("unparsed", h["worker"]) for h in r.truth["holes"] if h["kind"] == "torn"}
    for g in gaps:
        k = (g["kind"], r.worker(g["worker"]))
        within = any(h["worker"] == k[1] and at(h["from"]) - SLACK <= at(g["from"]) <= at(h["to"]) + SLACK for h in r.truth["holes"])
        check(k in made or k[0] == "clock_step" or (k[0] == "boot" and within), f"{r.name}: no gap that was not made", g)


def check_clocks(r, gaps):
    stated = {}
    for c in r.ask("info")["clocks"]:
        stated.setdefault(c["source"], []).append(c)
    sources = {s["source"]: s for s in r.sources}
    for c in r.truth["clocks"]:
        for source, rows in stated.items():
            s = sources[source]
            # what begins or ends at a step may lie on one side of it
            if r.worker(s["worker"]) != c["worker"] or not s["format"].endswith(("sglang-engine", "sglang-router")):
                continue
            whole = c["zone_s"] + c["skew_s"]
            expected = [whole, whole + c["step_s"]] if c["step_at"] else [whole]
            got = [x["offset_s"] for x in sorted(rows, key=lambda x: x["from_at"] or "")]
            check(len(got) == len(expected), f"{r.name}: offsets of {s['path']}", (expected, rows))
            for e, x in zip(expected, sorted(rows, key=lambda x: x["from_at"] or "")):
                check(abs(e - x["offset_s"]) <= x["bound_s"] + 0.001, f"{r.name}: offset of {s['path']} is within its bound", (e, x))
                check(x["bound_s"] <= 10, f"{r.name}: bound of {s['path']}", x)
        if c["step_at"]:
            some = [g for g in gaps if g["kind"] == "clock_step" and r.worker(g["worker"]) == c["worker"] and
                    at(g["from"]) - SLACK <= at(c["step_at"]) <= at(g["to"]) + SLACK]
            check(some, f"{r.name}: the step of {c['worker']} is told", gaps)


def check_times(r, gaps):
    """Times are corrected by the clock of their source wherever they are shown: none lies outside of what was rehearsed."""
    first, last = (at(x) for x in r.truth["window"])
    info = r.ask("info")
    shown = [(g["kind"], g["source"], g[k]) for g in gaps for k in ("from", "to")]
    shown += [(x["detail"], None, x["at"]) for x in r.ask("query", "timeline")["rows"]]
    for rows in (info["sources"], info["workers"], r.ask("query", "sources")["rows"]):
        shown += [(x.get("path"), x.get("worker"), x[k]) for x in rows for k in ("first_at", "last_at")]
    for x in shown:
        check(x[2] is None or first - 2 * 3600 <= at(x[2]) <= last + 2 * 3600, f"{r.name}: a time in the time of the rehearsal", x)


def behind(r, hole):
    """Where a hole of an engine's log ends to matter."""
    if hole["kind"] not in ("quiet", "rotation"):
        return hole["to"]
    starts = [b["started_at"] for b in r.truth["boots"] if b["worker"] == hole["worker"] and at(b["started_at"]) > at(hole["to"])]
    return min(starts, key=at) if starts else r.truth["window"][1]


def one(seed):
    r = Rehearsal("messy", seed)
    for s in r.sources:
        check(s["status"] == "ingested", f"{r.name}: status of {s['path']}", s)
        check(s["records"] == s["parsed"] + s["context"] + s["unparsed"] + s["duplicate"], f"{r.name}: sums of {s['path']}", s)
    rows = r.ask("scope", "--class", "C1,C2,C3,C4,C5", codes=(1,))
    totals = rows["totals"]
    formats = {s["format"] for s in r.sources}
    check({"cri+sglang-engine", "docker+sglang-engine"} <= formats, f"{r.name}: logs as container runtimes keep them", formats)
    joined = {s["format"] for s in r.sources if "joined with" in s["path"]}
    check(len(joined) == 2, f"{r.name}: what their rotation cut is joined", joined)
    truth = {r.key(t): t for t in r.truth["responses"]}
    got = {r.key(x): x for x in rows["rows"]}
    check(totals["population"] == r.truth["population"] == len(rows["rows"]), f"{r.name}: population", totals)
    holes = [h for h in r.truth["holes"] if h["kind"] != "torn"]
    lost = {k for k, t in truth.items() if any(inside(t, h) for h in holes)}
    # behind one that may hide a restart, up to the next start, nobody is cleared by the limit or the build before it
    far = [dict(h, to=behind(r, h)) for h in holes]
    unsure = {k for k, t in truth.items() if t["class_expected"] == "C4" and any(inside(t, h) for h in far)} - lost
    same(f"{r.name}: classes outside of the holes", {k: t["class_expected"] for k, t in truth.items() if k not in lost | unsure},
         {k: got[k]["class"] for k in truth if k in got and k not in lost | unsure})
    for k in unsure:
        check(got[k]["class"] == "C4" or "restart_may_be_lost" in got[k]["reasons"], f"{r.name}: why {k} is not cleared", got[k])
    for k, t in truth.items():
        if k in lost and t["class_expected"] != "C4":
            check(k in got and got[k]["class"] != "C4", f"{r.name}: a hole clears nobody: {k}", got.get(k))
    listed = {k for k, x in got.items() if x["band"] == "over_pool" and x["class"] in ("C1", "C2")}
    expected = {k for k, t in truth.items() if t["band"] == "over_pool" and t["class_expected"] in ("C1", "C2")}
    check(len(expected) == 155, f"{r.name}: 155 are over the pool", len(expected))
    # in a hole the limit, and with it the band, may be what is lost; that it is listed is checked above
    same(f"{r.name}: over the pool", expected - lost, listed - lost)
    check(listed <= expected, f"{r.name}: none too many over the pool", listed - expected)
    # what is listed beside them has its worker in a hole, or behind it
    for k, x in got.items():
        if x["class"] not in ("C4",) and k not in truth:
            t = dict(x, prefill_worker=r.worker(x["prefill_worker"]), decode_worker=r.worker(x["decode_worker"]))
            near = any(at(h["from"]) - 900 <= at(t["started_at"]) <= at(h["to"]) + 1 and
                       (h["worker"] in (t["prefill_worker"], t["decode_worker"]) or not t["prefill_worker"] or not t["decode_worker"])
                       for h in far)
            check(near, f"{r.name}: {base(x['request'])} is listed beside any hole", x)
    gaps = r.ask("gaps", codes=(1,))["rows"]
    check_holes(r, gaps)
    check_clocks(r, gaps)
    check_times(r, gaps)


for seed in seeds((1, 20260909, 7), 1):
    one(seed)
finish()
