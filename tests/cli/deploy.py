#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# deploy.py - every verdict of a small fleet, at every time, with and without inventory, and with files taken away
import csv
import io
import json
import os
import shutil
import sys
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from replicas import DIGEST, FILES, INVENTORY, POLICY, freeze, info, log, pod
from run import Box, expect, one_line_error, rounds

COLUMNS = """replica boot_started_at engine version commit image_digest rung pool_tokens context_len context_exceeds_pool verdict reasons
evidence_at refs""".split()
VERDICTS = "verified_fixed verified_affected conflicting stale undetermined not_observed retired".split()
WANT = {  # replica: verdict, rung, a reason
    "fixed-0": ("verified_fixed", "L5", None),
    "affected-0": ("verified_affected", "L4", "version_in_range"),
    "conflict-0": ("conflicting", "L4", "versions_conflict"),
    "served-0": ("conflicting", "L4", "served_over_limit"),
    "restart-0": ("verified_fixed", "L4", None),
    "stale-0": ("stale", "L4", "older_than_allowed"),
    "kube-0": ("stale", "L4", "restarted_since"),
    "image-0": ("undetermined", "L3", "process_not_seen"),
    "dev-0": ("undetermined", "L4", "version_needs_commit"),
    "disk-0": ("undetermined", "L3", "process_not_seen"),
    "uni-0": ("undetermined", "L4", "requirements_not_met"),
    "silent-0": ("undetermined", None, "no_version"),
    "lost-0": ("not_observed", None, "not_seen"),
    "ended-0": ("stale", "L4", "process_ended"),
    "gone-0": ("retired", "L4", None),
    "extra-0": ("verified_fixed", "L4", "outside_inventory"),
}


def ingest(box, case, files):
    shutil.rmtree(box.path("logs"), ignore_errors=True)
    for name, text in files.items():
        box.write("logs/" + name, text)
    return box.json("ingest", case, "logs", code=(0, 3))


def cells(line):
    """Columns of a terminal that a line takes."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me") else 1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def deploy(box, case, *more, code=(0, 1)):
    doc = box.json("deploy", case, "--policy", "policy.json", *more, code=code)
    now = {r["replica"]: r for r in doc["rows"] if r["current"]}
    return doc, now


with Box() as box:
    box.write("policy.json", json.dumps(POLICY))
    box.write("hosts.csv", INVENTORY)
    for row in ingest(box, "case.ptc", FILES)["rows"]:
        expect(row["unparsed"] == 0 and row["format"], f"{row['path']} to be read: {row}")

    # every verdict, its rung, its reason, its records
    doc, now = deploy(box, "case.ptc", "--inventory", "hosts.csv", code=1)
    for name, (verdict, rung, reason) in WANT.items():
        r = now[name]
        expect(r["verdict"] == verdict, f"{name}: {verdict}, got {r['verdict']} {r['reasons']} {r['evidence']}")
        expect(rung is None or r["rung"] == rung, f"{name}: rung {rung}, got {r['rung']} {r['evidence']}")
        expect(reason is None or reason in r["reasons"], f"{name}: because of {reason}, got {r['reasons']}")
        for ref in r["refs"]:
            box.run("show", "case.ptc", ref)
        expect(all(k in r for k in COLUMNS), f"{name}: the columns of the contract")
        expect(bool(r["refs"]) == (name != "lost-0"), f"{name}: records, got {r['refs']}")
    expect(set(now) == set(WANT), f"these replicas, got {sorted(now)}")
    expect(now["fixed-0"]["context_exceeds_pool"] == "yes" and now["affected-0"]["context_exceeds_pool"] == "no"
           and now["disk-0"]["context_exceeds_pool"] == "unknown", "context against the pool, of each role")
    expect(now["image-0"]["image_digest"] == DIGEST and now["image-0"]["version"] == "0.5.22" and now["kube-0"]["node"] == "gpu-1",
           f"an image's packages by its digest, got {now['image-0']}")
    said = [box.run("show", "case.ptc", ref).stdout.decode() for ref in now["image-0"]["refs"]]
    expect(len(said) == 2 and '"image-0"' in said[0] and '"bomFormat"' in said[1], f"the pod, and what says what is in its image: {said}")
    expect(now["fixed-0"]["inventory"] == {"rack": "a,\n1"}, f"other columns to be kept, got {now['fixed-0']['inventory']}")
    expect([r["verdict"] for r in doc["rows"] if r["replica"] == "restart-0"] == ["verified_affected", "verified_fixed"],
           "a row for each boot, judged at its own end")
    totals = doc["totals"]
    expect(totals["inventory"] == 15 and totals["outside_inventory"] == 1 and totals["observed"] == 14, f"totals: {totals}")
    expect(sum(totals[v] for v in VERDICTS) == totals["inventory"], f"verdicts to add up: {totals}")
    expect(totals["verified_fixed"] == 2 and totals["verified_fixed_percent"] == 14.2 and totals["retired"] == 1, f"2 of 14: {totals}")
    expect(totals["text"].startswith("2 of 15 replicas in inventory hosts.csv verified fixed as of 2026-09-14T09:50:00"), totals["text"])
    expect(doc["params"]["policy_id"] == "x_test-1", "the policy to be named")

    # no inventory: no percentage, and nobody is retired
    doc, now = deploy(box, "case.ptc", code=1)
    expect(doc["totals"]["inventory"] is None and doc["totals"]["verified_fixed_percent"] is None and "%" not in doc["totals"]["text"]
           and doc["totals"]["outside_inventory"] == 0, f"no percentage: {doc['totals']}")
    expect("lost-0" not in now and now["gone-0"]["verdict"] == "stale" and "process_ended" in now["gone-0"]["reasons"], "ended is not retired")
    expect(all("outside_inventory" not in r["reasons"] for r in doc["rows"]), "nobody is outside of no inventory")
    expect("disk-0" not in now or now["disk-0"]["verdict"] == "undetermined", "a list of packages decides nothing")

    # at a time: what was known then, of what ran then
    for at, name, verdict, reason in [
            ("06:45:00", "restart-0", "verified_affected", None), ("08:59:59", "restart-0", "verified_affected", None),
            ("09:02:00", "restart-0", "stale", "process_ended"), ("09:20:00", "restart-0", "undetermined", "no_version"),
            ("09:30:00", "restart-0", "verified_fixed", None), ("05:00:00", "restart-0", "not_observed", "not_seen"),
            ("08:59:00", "conflict-0", "verified_fixed", None), ("09:00:00", "conflict-0", "conflicting", "versions_conflict"),
            ("09:00:00", "served-0", "verified_fixed", None), ("09:11:00", "served-0", "conflicting", "served_over_limit"),
            ("09:00:00", "kube-0", "verified_fixed", None), ("06:45:00", "gone-0", "verified_affected", None),
            ("08:35:00", "fixed-0", "verified_fixed", None), ("08:10:00", "fixed-0", "undetermined", "no_version")]:
        doc, now = deploy(box, "case.ptc", "--inventory", "hosts.csv", "--at", f"2026-09-14T{at}Z")
        r = now[name]
        expect(r["verdict"] == verdict and (not reason or reason in r["reasons"]), f"{name} at {at}: {verdict}, got {r['verdict']} {r['reasons']}")
        expect(len(doc["rows"]) == len(now) == len(WANT), "one row a replica")
        expect(not r["evidence_at"] or r["evidence_at"] <= f"2026-09-14T{at}Z", "nothing that became known later")
    expect(deploy(box, "case.ptc", "--at", "2026-09-14T08:35:00Z")[1]["fixed-0"]["rung"] == "L4", "no behaviour yet")
    _, late = deploy(box, "case.ptc", "--as-of", "2026-09-30T00:00:00Z")
    expect(late["fixed-0"]["verdict"] == "stale" and late["affected-0"]["verdict"] == "stale", "age counts against --as-of")

    # window, pairs, what served without the fix, what a gateway refused
    doc, _ = deploy(box, "case.ptc")
    expect(doc["served_after_fix"]["first_fixed_at"] == "2026-09-01T08:30:00Z" and doc["served_after_fix"]["responses"] == 1,
           f"served after the fix: {doc['served_after_fix']}")
    after = box.json("query", "case.ptc", "deploy_served_after_fix", "--policy", "policy.json")["rows"]
    expect([r["prefill_replica"] for r in after] == ["served-0"], f"by whom: {after}")
    for t, first, n in (("2026-09-01T08:29:59Z", None, 0), ("2026-09-01T08:30:00Z", "2026-09-01T08:30:00Z", 0), (after[0]["served_at"], "2026-09-01T08:30:00Z", 1)):
        then = deploy(box, "case.ptc", "--at", t)[0]["served_after_fix"]
        expect(then["first_fixed_at"] == first and then["responses"] == n, f"at {t} nothing is known of later: {then}")
        told = box.run("deploy", "case.ptc", "--policy", "policy.json", "--at", t, code=1).stdout.decode()
        expect(("after a replica first had it" in " ".join(told.split())) == bool(n), f"nor in the notes: {told}")
        expect(len(box.json("query", "case.ptc", "deploy_served_after_fix", "--policy", "policy.json", "--param", f"at={t}")["rows"]) == n, "nor the query")
    expect(doc["affected_window_end"] is None, f"no response of an affected boot, got {doc['affected_window_end']}")
    pairs = {(p["prefill_replica"], p["decode_replica"]): p for p in doc["pairs"]}
    expect(pairs["fixed-0", "affected-0"]["mismatch_tokens"] == 1048570 - 681274, f"limits of a pair: {pairs['fixed-0', 'affected-0']}")
    expect(("fixed-0", "gone-0") not in pairs and ("stale-0", "gone-0") in pairs, "only what ran together")
    gates = doc["gateway_limits"]
    expect(len(gates) == 1 and gates[0]["refused"] == 1 and gates[0]["shortest_refused"] == 800000 and gates[0]["basis"] == "upstream_named"
           and gates[0]["refs"], f"what the gateway refused: {gates}")
    # of a moment: who ran then, and what was refused by then
    for t, together, apart, refused in (("06:45:00", [("stale-0", "gone-0")], ["fixed-0"], 0), ("09:49:59", [("fixed-0", "affected-0")], ["gone-0"], 0),
                                        ("09:50:01", [("fixed-0", "affected-0")], ["gone-0"], 1)):
        then = deploy(box, "case.ptc", "--at", f"2026-09-14T{t}Z")[0]
        names = {(p["prefill_replica"], p["decode_replica"]) for p in then["pairs"]}
        expect(set(together) <= names and not any(a in p for a in apart for p in names) and len(names) == len(then["pairs"]), f"pairs at {t}: {names}")
        expect(all(p["to_at"] is None and (p["from_at"] or "") <= f"2026-09-14T{t}Z" for p in then["pairs"]), f"both ran at {t}: {then['pairs']}")
        expect([g["refused"] for g in then["gateway_limits"]] == [1] * refused, f"refused by {t}: {then['gateway_limits']}")
        for name, member in (("deploy_pairs", "pairs"), ("deploy_gateway_limits", "gateway_limits")):
            rows = box.json("query", "case.ptc", name, "--policy", "policy.json", "--param", f"at=2026-09-14T{t}Z")["rows"]
            expect(rows == then[member], f"{name} at {t}: {rows}")

    # the forms of output
    rows = list(csv.DictReader(io.StringIO(box.run("deploy", "case.ptc", "--csv", code=1).stdout.decode())))
    expect({r["replica"] for r in rows} == set(WANT) - {"lost-0", "disk-0"}, f"CSV: {sorted({r['replica'] for r in rows})}")
    table = box.run("deploy", "case.ptc", "--inventory", "hosts.csv", "--policy", "policy.json", code=1, env={"COLUMNS": "80"}).stdout.decode()
    expect(all(cells(line) <= 80 for line in table.splitlines()), "a table of 80 columns:\n" + table)
    expect("2 of 15 replicas in inventory" in " ".join(table.split()), table)
    expect(box.json("query", "case.ptc", "deploy")["rows"], "the built-in policy without another one")

    # wide and combining characters are as wide as they are shown; no line is too long but for a name that is longer than a line
    for name in ("\u670d\u52a1\u5668" * 6, "e\u0301\u0323" * 30, "n" * 71, "n" * 73, "n" * 80, "\u670d" * 38 + "-0", "\u0e1b\u0e39" * 33):
        wide = "wide-" + str(len(name)) + str(ord(name[0])) + ".ptc"
        ingest(box, wide, {f"{name}/engine.log": log("prefill", "08:00:00"), f"{name}/server_info.json": info("prefill", "0.5.22", "08:30:00")})
        for args in (("deploy", wide, "--policy", "policy.json"), ("info", wide), ("journal", wide), ("manifest", wide)):
            for width in (80, 120):
                table = box.run(*args, code=(0, 1), env={"COLUMNS": str(width)}).stdout.decode()
                long = [line for line in table.splitlines() if cells(line) > width]
                expect(all(len(line.split()) == 1 and not line.startswith(" ") for line in long), f"{args} in {width} columns: {long}")
    # all is well: exit code 0
    good = {n: t for n, t in FILES.items() if n.startswith(("fixed-0", "extra-0", "gone-0"))}
    ingest(box, "good.ptc", good)
    box.write("good.csv", "replica,state,retired_at\nfixed-0,active,\nextra-0,,\ngone-0,retired,2026-09-14T07:00:00Z\n")
    doc, _ = deploy(box, "good.ptc", "--inventory", "good.csv", code=0)
    expect(doc["totals"]["verified_fixed_percent"] == 100.0, f"all of those that are left: {doc['totals']}")
    box.write("more.csv", "replica,state,retired_at\nfixed-0,active,\nextra-0,,\ngone-0,retired,2026-09-14T07:00:00Z\nlost-0,active,\n")
    deploy(box, "good.ptc", "--inventory", "more.csv", code=1)
    box.write("back.csv", "replica,state,retired_at\nfixed-0,retired,2026-09-14T08:10:00Z\n")
    _, now = deploy(box, "good.ptc", "--inventory", "back.csv", code=1)
    expect(now["fixed-0"]["verdict"] == "conflicting" and "seen_after_retired" in now["fixed-0"]["reasons"], "retired, and at work")
    _, now = deploy(box, "good.ptc", "--inventory", "back.csv", "--at", "2026-09-14T08:25:00Z", code=1)
    expect(now["fixed-0"]["verdict"] == "retired", f"what became known later does not count: {now['fixed-0']['reasons']}")
    # retired, and nobody says since when: who is at work is what the records say, and counts; who was taken out when is another matter
    undated = "replica,state\nfixed-0,retired\ngone-0,retired\nlost-0,retired\nextra-0,\n"
    taken = {"hosts.csv": None, "hosts-20260914T080500.csv": None, "hosts-20260914.csv": None, "hosts-20260914T080500Z.csv": "08:05:00", "hosts_2026-09-14T23-00-00Z.csv": "23:00:00"}
    for file, when in taken.items():
        box.write("taken/" + file, undated)
        for at in (None, "08:50:00", "07:30:00") if file in ("hosts.csv", "hosts-20260914T080500Z.csv") else (None,):
            doc, now = deploy(box, "good.ptc", "--inventory", "taken/" + file, *(["--at", f"2026-09-14T{at}Z"] if at else []))
            gone = when is not None and when < (at or "09:50:00")
            want = {"fixed-0": ("conflicting", "seen_after_retired") if gone and at != "07:30:00" else ("verified_fixed", "retired_undated") if at != "07:30:00" else ("not_observed", "not_seen"),
                    "gone-0": ("retired", "retired_by_inventory") if gone else ("stale", "process_ended"),
                    "lost-0": ("retired", "retired_by_inventory") if gone else ("not_observed", "not_seen")}
            for name, (verdict, reason) in want.items():
                r = now[name]
                expect((r["verdict"], reason in r["reasons"], "retired_undated" in r["reasons"]) == (verdict, True, True), f"{name} by {file} at {at}: {verdict}, got {r['verdict']} {r['reasons']}")
            expect(doc["totals"]["retired"] == 2 * gone and doc["totals"]["inventory"] == 4, f"{file} at {at}: {doc['totals']}")
            if at:
                continue
            told = " ".join(box.run("deploy", "good.ptc", "--policy", "policy.json", "--inventory", "taken/" + file, code=1).stdout.decode().split())
            out, stay = "2 replicas are in no percentage, as retired by the inventory: gone-0, lost-0.", "3 replicas count, though the inventory calls them retired"
            expect((out in told) == gone and (stay in told) != gone, f"who is left out is named: {told}")
    # by the inventory it had not begun, and its logs show it at work: it counts, and somebody is wrong
    for start, at, verdict, reason in [("2027-01-01", "2026-09-14T08:50:00Z", "conflicting", "seen_before_start"),
                                       ("2026-09-14T08:55:00Z", "2026-09-14T08:50:00Z", "conflicting", "seen_before_start"),
                                       ("2026-09-14T08:55:00Z", "2026-09-14T08:56:00Z", "verified_fixed", None),
                                       ("2027-01-01", None, "conflicting", "seen_before_start")]:
        box.write("ahead.csv", f"replica,started_at\nfixed-0,{start}\n")
        doc, now = deploy(box, "good.ptc", "--inventory", "ahead.csv", *(["--at", at] if at else []))
        r = now["fixed-0"]
        expect(r["verdict"] == verdict and (not reason or reason in r["reasons"]) and "not_started_yet" not in r["reasons"]
               and doc["totals"]["inventory"] == 1, f"began {start}, at {at}: {r['verdict']} {r['reasons']} {doc['totals']}")
    # retired, as of a time to come: not before it has come
    box.write("soon.csv", "replica,state,retired_at\nfixed-0,retired,2027-01-01\n")
    for more, verdict in [((), "conflicting"), (("--as-of", "2026-12-02T00:00:00Z"), "conflicting"), (("--as-of", "2027-01-02T00:00:00Z"), "retired")]:
        _, now = deploy(box, "good.ptc", "--inventory", "soon.csv", *more)
        r = now["fixed-0"]
        expect(r["verdict"] == verdict and ("retired_in_future" in r["reasons"]) == (verdict == "conflicting"), f"{more}: {r['verdict']} {r['reasons']}")
    # dated later than now: no proof of a fix, and no relief for who is affected
    both = {n: t for n, t in FILES.items() if n.startswith(("fixed-0", "affected-0"))}
    ingest(box, "both.ptc", both)
    _, now = deploy(box, "both.ptc", "--as-of", "2026-09-01T00:00:00Z", code=1)
    for name, verdict in (("fixed-0", "stale"), ("affected-0", "verified_affected")):
        r = now[name]
        expect(r["verdict"] == verdict and "evidence_in_future" in r["reasons"], f"{name} of the future: {r['verdict']} {r['reasons']}")
    # nobody says what time it is: a record that is younger than its own reading is of the future, and makes no other one old
    ahead = {"later-0/engine.log": log("prefill", "08:00:00", day="2026-09-13"), "later-0/server_info.json": info("prefill", "0.5.22", "08:30:00", day="2090-09-14"),
             "worse-0/engine.log": log("decode", "08:00:00", 1200000, day="2026-09-13"), "worse-0/server_info.json": info("decode", "0.5.21", "08:30:00", 1200000, day="2090-09-14")}
    ingest(box, "ahead.ptc", {**both, **ahead})
    doc, now = deploy(box, "ahead.ptc", code=1)
    for name, verdict in (("later-0", "stale"), ("worse-0", "verified_affected"), ("fixed-0", "verified_fixed")):
        r = now[name]
        expect(r["verdict"] == verdict and ("evidence_in_future" in r["reasons"]) == (name != "fixed-0"), f"{name}, of 2090: {r['verdict']} {r['reasons']}")
    expect(doc["totals"]["at"] < "2026-09-15", f"the last event that can be: {doc['totals']['at']}")
    ingest(box, "alone.ptc", {"later-0/server_info.json": ahead["later-0/server_info.json"]})
    doc, now = deploy(box, "alone.ptc", code=1)
    r, ingested = now["later-0"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
    expect("2026-12" <= doc["totals"]["at"] <= ingested and ingested[:13] in box.run("deploy", "alone.ptc", code=1).stdout.decode()
           or ingested < "2026-11" or ingested[14:16] == "00", f"as of when it was read, not later: {doc['totals']['at']}")
    expect(r["verdict"] == "stale" and "evidence_in_future" in r["reasons"], f"nothing but a record of 2090: {r['verdict']} {r['reasons']}")
    r = deploy(box, "alone.ptc", "--at", "2091-01-01T00:00:00Z", code=1)[1]["later-0"]
    expect(r["verdict"] == "stale" and "evidence_in_future" in r["reasons"], f"asked for a time to come: {r['verdict']} {r['reasons']}")
    r = deploy(box, "alone.ptc", "--as-of", "2090-09-15T00:00:00Z", code=0)[1]["later-0"]
    expect(r["verdict"] == "verified_fixed", f"somebody says that it is 2090: {r['verdict']} {r['reasons']}")
    listed = {n: t for n, t in FILES.items() if n.startswith("kube-0")}
    for started, at in (("2090-01-01T00:00:00Z", "2026-09-14T09:45:00Z"), ("2026-09-14T07:00:00Z", "2090-01-01T00:00:00Z")):
        ingest(box, f"pod-{started[:4]}.ptc", {**listed, "pods.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod("kube-0", started)], "collected_at": at})})
        r = deploy(box, f"pod-{started[:4]}.ptc", code=1)[1]["kube-0"]
        expect(r["verdict"] == "stale" and "evidence_in_future" in r["reasons"], f"started {started}, listed {at}: {r['verdict']} {r['reasons']}")
    # a record without a time does not outdo one that has one
    said = {"model_path": "m-1", "disaggregation_mode": "decode", "context_length": 1048576, "max_total_num_tokens": 1500000,
            "internal_states": [{}]}
    text = json.loads(json.dumps(POLICY))
    for o in [text, *text["affected"]]:
        o.get("database_specific", {}).get("pagetrail", {}).pop("max_evidence_age", None)
    box.write("ageless.json", json.dumps(text))
    for new, verdict in (("0.5.22", "conflicting"), ("0.5.21", "verified_affected")):
        ingest(box, f"undated-{new}.ptc", {"a/decode-0.json": json.dumps({**said, "version": "0.5.21", "collected_at": "2026-09-09T14:16:47Z"}),
                                           "b/decode-0.json": json.dumps({**said, "version": new})})
        doc = box.json("deploy", f"undated-{new}.ptc", "--policy", "ageless.json", code=1)
        r = [r for r in doc["rows"] if r["current"]]
        expect(len(r) == 1 and r[0]["verdict"] == verdict and ("order_unknown" in r[0]["reasons"]) == (verdict == "conflicting"), f"undated {new}: {r}")
    # no replica: nothing is verified, and what was read is named
    for name, files, note in [("nobody", {"pip-freeze.txt": "sglang==0.5.21\ntorch==2.9.0\n"}, "no known replica's"),
                              ("list", {"decode-0/pip-freeze.txt": "sglang==0.5.21\ntorch==2.9.0\n"}, "no known replica's"),
                              ("cut", {"pods.json": FILES["pods.json"][:-40]}, "not understood"),
                              ("none", {"note.txt": "nothing of it\n"}, "nothing is verified")]:
        ingest(box, f"no-{name}.ptc", files)
        doc, now = deploy(box, f"no-{name}.ptc", code=1)
        notes = " ".join(box.run("deploy", f"no-{name}.ptc", "--policy", "policy.json", code=1).stdout.decode().split())
        expect(not now and note in notes and "nothing is verified" in notes, f"{name}: '{note}', got {notes}")
    # what was cut, or contradicts itself, is missing beside replicas that are known, and is named
    said = {"model_path": "m-1", "disaggregation_mode": "decode", "context_length": 1048576, "max_total_num_tokens": 1500000, "internal_states": [{}], "version": "0.5.22"}
    twice = json.dumps(said).replace('"version"', '"version": "0.5.20", "version"')
    ingest(box, "unread.ptc", {**both, "pods.json": FILES["pods.json"][:-40], "decode-7/server_info.json": twice})
    doc, now = deploy(box, "unread.ptc", code=1)
    expect([(u["path"].split("/")[-1], u["worker"], u["reasons"]) for u in doc["unread"]]
           == [("server_info.json", "decode-7", ["member_twice"]), ("pods.json", None, ["json_syntax"])] and "decode-7" not in now, f"unread: {doc['unread']} {list(now)}")
    notes = " ".join(box.run("deploy", "unread.ptc", "--policy", "policy.json", code=1).stdout.decode().split())
    expect("2 files were not understood" in notes and "pods.json (json_syntax)" in notes and "server_info.json (member_twice)" in notes, notes)
    expect(deploy(box, "both.ptc", code=1)[0]["unread"] == [], "all of it was read")
    box.write("empty.csv", "replica\n")
    deploy(box, "no-nobody.ptc", "--inventory", "empty.csv", code=1)
    # a policy that names no fix: what it does not list may be anything
    for name, affected in [("limit", {"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"limit": "0.5.10"}]}]}),
                           ("list", {"versions": ["0.5.20"]})]:
        box.write(name + ".json", json.dumps({"id": "x_test-2", "modified": "2026-09-01T00:00:00Z", "affected": [{"package": {"ecosystem": "PyPI", "name": "sglang"}, **affected}]}))
        doc = box.json("deploy", "good.ptc", "--policy", name + ".json", code=1)
        rows = [r for r in doc["rows"] if r["current"] and r["version"]]
        expect(rows and all(r["verdict"] not in ("verified_fixed", "verified_affected") for r in rows), f"no fix is named: {rows}")
        r = next(r for r in rows if r["replica"] == "fixed-0")
        expect(r["verdict"] == "undetermined" and "fix_not_named" in r["reasons"], f"no fix is named: {r['verdict']} {r['reasons']}")
    # that its disk is there, or that its container is listed as ended, is no work
    over = pod("left-0", "2026-09-14T06:00:00Z")
    over["status"]["phase"] = "Succeeded"
    over["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 0, "startedAt": "2026-09-14T06:00:00Z", "finishedAt": "2026-09-14T07:00:00Z"}}
    left = {"left-0/engine.log": log("decode", "06:00:00", more=[("07:00:00", "Finished server process [4711]")]),
            "left-0/pip-freeze.txt": freeze("left-0", "0.5.21", "09:00:00"),
            "pods.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [over], "collected_at": "2026-09-14T09:00:00Z"})}
    ingest(box, "left.ptc", left)
    box.write("left.csv", "replica,state,retired_at\nleft-0,retired,2026-09-14T07:00:00Z\n")
    _, now = deploy(box, "left.ptc", "--inventory", "left.csv", code=0)
    expect(now["left-0"]["verdict"] == "retired", f"a disk and an ended container are no work: {now['left-0']['reasons']}")
    # health checks are no events, and work all the same: the last line of a log tells, if it has a date
    health = "".join(f"[2026-09-14 {h:02}:00:00] INFO:     10.0.9.2:48000 - \"GET /health HTTP/1.1\" 200 OK\n" for h in (9, 10, 11))
    box.write("idle.csv", "replica,state,retired_at\nidle-0,retired,2026-09-14T08:30:00Z\n")
    for case, lines, more, verdict in (("idle.ptc", health, (), "conflicting"), ("mute.ptc", health.replace("[2026-09-14 ", "[at "), (), "retired"),
                                       ("then.ptc", health, ("--at", "2026-09-14T10:30:00Z"), "retired")):
        ingest(box, case, {"idle-0/engine.log": log("unified", "08:00:00") + lines, "b-0/server_info.json": info("prefill", "0.5.22", "12:00:00")})
        r = deploy(box, case, "--inventory", "idle.csv", *more)[1]["idle-0"]
        expect(r["verdict"] == verdict and ("seen_after_retired" in r["reasons"]) == (verdict == "conflicting"), f"{case}: {verdict}, got {r}")
    # a container of Docker names its image by the configuration, a bill of materials by the manifest: the image's own record has both
    config = "sha256:" + "89abcdef01234567" * 4
    joined = {"docker-0/inspect.json": json.dumps([{"Id": "c0ffee" * 10 + "c0ff", "State": {"Status": "running", "StartedAt": "2026-09-14T06:00:00Z"},
                                                    "Image": config, "Name": "/engine", "Config": {"Image": "registry.example/engine:v1"}}]),
              "bom.json": FILES["bom.json"],
              "images/image-inspect.json": json.dumps([{"Id": config, "RepoTags": [], "RepoDigests": ["registry.example/engine@" + DIGEST]}])}
    ingest(box, "joined.ptc", joined)
    r = deploy(box, "joined.ptc", "--statement", "joined.json")[1]["docker-0"]
    expect((r["version"], r["rung"], r["image_digest"]) == ("0.5.22", "L3", config), f"packages by the other digest of the image: {r}")
    said = [box.run("show", "joined.ptc", ref).stdout.decode() for ref in r["refs"]]
    expect(len(said) == 3 and all(word in t for word, t in zip(('"State"', '"bomFormat"', '"RepoDigests"'), said)), f"all three are its records: {said}")
    with open(box.path("joined.json"), encoding="utf-8") as f:
        subjects = {x["name"].rsplit("/", 1)[-1] for x in json.load(f)["subject"]}
    expect({"inspect.json", "image-inspect.json", "bom.json"} <= subjects, f"and files of the statement: {subjects}")
    # an index of images for two machines has two configurations: it does not say what is in which
    joined["images/other-image-inspect.json"] = joined["images/image-inspect.json"].replace(config, "sha256:" + "fedcba9876543210" * 4)
    ingest(box, "index.ptc", joined)
    r = deploy(box, "index.ptc")[1]["docker-0"]
    expect(r["version"] is None, f"no packages by the digest of an index: {r['evidence']}")
    box.write("later.csv", "replica,started_at\nfixed-0,2026-09-14T07:59:00Z\nnew-0,2026-09-14T12:00:00Z\n")
    doc, now = deploy(box, "good.ptc", "--inventory", "later.csv", "--at", "2026-09-14T08:50:00Z")
    expect(doc["totals"]["inventory"] == 1 and now["new-0"]["reasons"][:1] == ["not_seen"] and "not_started_yet" in now["new-0"]["reasons"],
           f"what had not begun does not count: {doc['totals']} {now['new-0']}")
    pods = {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", **pod("fixed-0", "2026-09-14T07:59:00Z")}, {"kind": "Service", "metadata": {"name": "s"}},
            {"kind": "Pod", "metadata": {"name": "gone-0"}, "spec": {"containers": [{"name": "engine"}]}, "status": {"phase": "Succeeded"}}, {"kind": "Pod", **pod("extra-0", "2026-09-14T07:59:00Z")}]}
    gone = pods["items"][2]
    ended = lambda name, at: {"name": name, "state": {"terminated": {"finishedAt": f"2026-09-14T{at}Z"}}}
    for more, status, outer, comment, verdict in (
            ({}, {}, {}, "", "stale"), ({}, {"containerStatuses": []}, {}, "", "stale"), ({"deletionTimestamp": "2026-09-14T07:00:01Z"}, {}, {}, "", "retired"),
            ({}, {"containerStatuses": [ended("proxy", "07:20:00"), ended("engine", "07:00:00")]}, {}, "", "retired"),
            ({"deletionTimestamp": "2026-09-14T09:00:00Z"}, {"containerStatuses": [ended("proxy", "07:20:00"), ended("other", "07:30:00"), {"name": "engine"}]}, {}, "", "retired"),
            ({}, {}, {"collected_at": "2026-09-14T08:00:00Z"}, "", "retired"), ({}, {}, {"collected_at": "2026-09-14T08:00:00"}, "", "stale"),
            ({}, {}, {}, "# collected 2026-09-14T08:00:00Z by hand\n", "retired"), ({}, {}, {"collected_at": "2026-09-15T08:00:00Z"}, "", "stale")):
        gone["metadata"] = {"name": "gone-0", **more}
        gone["status"] = {"phase": "Failed" if more else "Succeeded", **status}
        box.write("pods.json", comment + json.dumps({**pods, **outer}))
        doc, now = deploy(box, "good.ptc", "--inventory", "pods.json", code=0 if verdict == "retired" else 1)
        expect(doc["totals"]["inventory"] == 3 and now["gone-0"]["verdict"] == verdict, f"pods as the inventory, {gone} {outer} {comment}: {doc['totals']}")
    for at, verdict in (("07:10:00", "stale"), ("07:25:00", "stale"), ("07:31:00", "retired")):
        gone["status"]["containerStatuses"] = [ended("proxy", "07:20:00"), ended("other", "07:30:00")]
        box.write("pods.json", json.dumps(pods))
        expect(deploy(box, "good.ptc", "--inventory", "pods.json", "--at", f"2026-09-14T{at}Z")[1]["gone-0"]["verdict"] == verdict, f"over with its last container, at {at}")
    box.write("nodes.json", json.dumps({"kind": "NodeList", "items": [{"metadata": {"name": "fixed-0"}, "spec": {"unschedulable": True}}]}))
    doc, now = deploy(box, "good.ptc", "--inventory", "nodes.json")
    expect(doc["totals"]["inventory"] == 1 and now["fixed-0"]["verdict"] == "verified_fixed", f"nodes as the inventory: {doc['totals']}")

    # wrong inventories: one line with row and column
    for text, said in [("", "empty"), ("name,role\na,b\n", "line 1, column 1"), ("replica,role\na,both\n", "line 2, column 2"),
                       ("replica,state\na,\nb,gone\n", "line 3, column 2"), ("replica,started_at\na,yesterday\n", "line 2, column 2"),
                       ("replica,image_digest\na,v0.5.22\n", "line 2, column 2"), ("replica\n\"a\n", "line 2, column 1"),
                       ("replica,role\n\"a\"x,prefill\n", "line 2, column 1"), ("replica\na\nb\na\n", "lines 2 and 4"),
                       ("replica,role\n,prefill\n", "line 2, column 1"), ("replica\na\n#fixed-0\n", "line 3, column 1"),
                       ("replica\n\"\"\n", "line 2, column 1"), ("replica,role\na,\n,\n", "line 3, column 1"), ("replica\n\"#a\"\n", "line 2, column 1"),
                       ("replica,started_at,retired_at\na,2026-09-02,2026-09-01\n", "line 2, column 3"), ("replica\na,b\n", "line 2, column 2"),
                       ("replica,replica\na,b\n", "line 1, column 2"), ("replica," * 70 + "\n", "line 1, column"),
                       ("replica\n" + "x" * 300 + "\n", "line 2, column 1"), ("replica,node\n\"a\nb\",\"c\nd\"\nq,w,e\n", "line 5, column 3"),
                       ("{\"kind\":\"List\"}", "no list of pods"), ("{\"items\":[", "no JSON"), ("[1]", "no list of pods"),
                       ("{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}]}", "items[0].metadata.name"),
                       ("{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"startTime\":\"soon\"}}]}", "items[0].status.startTime"),
                       ("{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"a\"}}]}", "items 0 and 1"),
                       ("replica\n\x1b[31m\u202e\"\n", None)]:
        box.write("wrong.csv", text)
        p = box.run("deploy", "good.ptc", "--inventory", "wrong.csv", code=3 if said else (0, 1))
        line = one_line_error(p) if said else ""
        expect(not said or (said in line and "wrong.csv" in line), f"{text[:60]!r}: '{said}', got {line!r}")
        expect(b"\x1b" not in p.stdout + p.stderr, "no control bytes on a terminal")
    one_line_error(box.run("deploy", "good.ptc", "--inventory", "no-such-file", code=3))
    one_line_error(box.run("deploy", "good.ptc", "--at", "noon", code=2))
    one_line_error(box.run("deploy", "good.ptc", "--policy", "no-such-file", code=3))

    # files taken away, one at a time: nobody becomes fixed or retired for want of a record. Only where two records contradict each other,
    # or a younger one supersedes an older one, does the other one remain: then the file was that replica's own (or the gateway's).
    _, full = deploy(box, "case.ptc", "--inventory", "hosts.csv")
    names = sorted(FILES)
    for name in names[::rounds(1, 4)]:
        if os.path.exists(box.path("less.ptc")):
            os.remove(box.path("less.ptc"))
        ingest(box, "less.ptc", {n: t for n, t in FILES.items() if n != name})
        _, less = deploy(box, "less.ptc", "--inventory", "hosts.csv")
        for replica, r in less.items():
            was = full[replica]["verdict"]
            if r["verdict"] in ("verified_fixed", "retired") and r["verdict"] != was:
                own = name.startswith(replica) or name == "pods.json" or (replica == "served-0" and name.startswith("gateway"))
                expect(was in ("conflicting", "stale") and own, f"without {name}, {replica} is {r['verdict']}, and was {was}")
        expect(less.get("gone-0", {"verdict": "retired"})["verdict"] == "retired", "the inventory alone retires")
