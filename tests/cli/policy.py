#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# policy.py - scope by a policy: the example of docs/policy.md, triggers, entries, what is printed of it, and what is refused
import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from run import Box, expect, one_line_error

DOC = open("docs/policy.md", encoding="utf-8").read()
EXAMPLE = re.search(r"```json\n(.*?)```", DOC, re.S).group(1)
COMMITS = re.search(r"```\n(# git rev-list.*?)```", DOC, re.S).group(1)
BUILT_IN = {n: open(f"src/policies/{n}.json", "rb").read() for n in ("over_limit_handoff", "interrupted_transfer")}


def entry(inside=None, **more):
    e = {"package": {"ecosystem": "PyPI", "name": "sglang"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "0.5.22"}]}]}
    e.update(more)
    if inside is not None:
        e["database_specific"] = {"pagetrail": inside}
    return e


def osv(*affected, **more):
    return json.dumps({"id": "x_t-1", "modified": "2026-09-09T14:00:00Z", "affected": affected, **more})


with Box() as box:
    box.run("simulate", "fleet", "--scenario", "incident", "--seed", "3", "--requests", "400")
    box.run("ingest", "case.ptc", "fleet/logs")
    ALL = ("--class", "C1,C2,C3,C4,C5")

    def scope(*args, code=1):
        doc = box.json("scope", "case.ptc", *args, code=code)
        return doc, {(r["request"], r["started_at"]): r for r in doc["rows"]}

    # without the option: the built-in one, which says so, and is the file of that name
    plain, rows = scope(*ALL)
    expect(rows and plain["totals"]["C1"] + plain["totals"]["C2"] > 0, f"a case with findings: {plain['totals']}")
    sha = hashlib.sha256(BUILT_IN["over_limit_handoff"]).hexdigest()
    expect({k: plain["params"][k] for k in ("policy", "policy_id", "policy_sha256")} ==
           {"policy": "builtin:over_limit_handoff", "policy_id": "x_pagetrail-over-limit-handoff", "policy_sha256": sha}, f"{plain['params']}")
    box.write("own.json", BUILT_IN["over_limit_handoff"])
    own, own_rows = scope("--policy", "own.json", *ALL)
    expect(own_rows == rows and own["totals"] == plain["totals"], "the file gives what the built-in one gives")
    expect(own["params"]["policy"] == "own.json" and own["params"]["policy_sha256"] == sha, f"{own['params']}")
    text = box.run("scope", "case.ptc", "--policy", "own.json", code=1).stdout.decode()
    expect(f"policy: own.json (x_pagetrail-over-limit-handoff, sha256 {sha})" in " ".join(text.split()), f"below the table: {text[-900:]}")
    expect("policy" not in box.json("query", "case.ptc", "workers")["params"], "where nothing rests on it, nothing is said of it")
    expect(box.json("query", "case.ptc", "scope", "--policy", "own.json")["params"]["policy"] == "own.json", "a query by a policy")

    # the example of the documentation
    box.write("doc/policy.json", EXAMPLE)
    p = box.run("scope", "case.ptc", "--policy", "doc/policy.json", code=3)
    expect("commits.txt" in p.stderr.decode(), "the list of commits is looked for beside the policy")
    one_line_error(p)
    box.write("doc/commits.txt", COMMITS)
    doc, _ = scope("--policy", "doc/policy.json", *ALL)
    expect(doc["params"]["policy_commits_sha256"] == hashlib.sha256(COMMITS.encode()).hexdigest(), f"{doc['params']}")
    p = box.run("scope", "case.ptc", "--policy", "doc/policy.json", code=1)
    expect(b"note" not in p.stderr, f"the example has no key that is not known: {p.stderr}")

    # triggers
    served = [r for r in rows.values() if r["prompt_tokens_flag"] == "exact" and r["predicates"]["A"] == "yes"]
    lengths = sorted(r["prompt_tokens"] for r in served)
    middle = lengths[len(lengths) // 2]
    box.write("tokens.json", osv(entry({"requires": {"disaggregated": True}, "trigger": {"prompt_tokens_at_least": middle}})))
    doc, got = scope("--policy", "tokens.json", *ALL)
    over = [r for r in got.values() if "prompt_at_or_over_policy_length" in r["reasons"]]
    under = [r for r in got.values() if "prompt_below_policy_length" in r["reasons"]]
    expect(over and all(r["prompt_tokens"] >= middle and r["predicates"]["T"] == "yes" for r in over), "at or over")
    expect(under and all(r["prompt_tokens"] < middle for r in under), "below")
    expect(set(doc["totals"]) == set(plain["totals"]) and doc["totals"]["population"] == plain["totals"]["population"], "one population")
    box.write("any.json", osv(entry({"trigger": "any"})))
    _, got = scope("--policy", "any.json", *ALL)
    expect(all(r["predicates"]["T"] == "yes" and "policy_takes_any_request" in r["reasons"] for r in got.values()), "any")
    expect(not any("mode_unified" in r["reasons"] for r in got.values()), "no mode is asked for")

    # builds: another package, another back-end, a version that is fixed: A excludes, and what a page log shows stands
    for name, e in (("package", entry(package={"ecosystem": "PyPI", "name": "vllm"})),
                    ("backend", entry({"requires": {"transfer_backend": ["another"]}})),
                    ("version", entry(ranges=[{"type": "ECOSYSTEM", "events": [{"introduced": "0.9"}]}]))):
        box.write("none.json", osv(e))
        doc, got = scope("--policy", "none.json", *ALL, code=(0, 1))
        why = {"package": "engine_other", "backend": "transfer_backend_other", "version": "version_fixed"}[name]
        no = [r for r in got.values() if why in r["reasons"]]
        expect(no, f"{name}: {why}")
        for key, r in got.items():
            if rows[key]["predicates"]["L"] == "yes":
                expect(r["class"] <= "C2", f"{name}: {key} was shown by a page log: {r['class']}")
    # one defect that the prompts meet and the builds do not, and one the other way round: no one meets both
    short, _ = scope("--policy", "none.json", *ALL, code=(0, 1))
    box.write("both.json", osv(entry({"trigger": "any"}, ranges=[{"type": "ECOSYSTEM", "events": [{"introduced": "0.9"}]}]),
                               entry({"trigger": {"prompt_tokens_at_least": 1 << 39}})))
    _, got = scope("--policy", "both.json", *ALL, code=(0, 1))
    cleared = [r for r in got.values() if r["predicates"]["L"] == "unknown" and r["prompt_tokens_flag"] == "exact" and
               "prompt_below_policy_length" in r["reasons"] and r["predicates"]["T"] == "no"]
    expect(cleared and all(r["predicates"]["A"] != "no" for r in cleared), "T and A are of one entry")

    # why: which entry, and what it says of the boots
    worst = next(r for r in rows.values() if r["class"] in ("C1", "C2"))
    text = " ".join(box.run("scope", "case.ptc", "--explain", worst["request"], "--policy", "own.json", code=1).stdout.decode().split())
    expect("By affected[0] (sglang) of the policy x_pagetrail-over-limit-handoff, own.json." in text, f"the entry: {text}")
    expect("The version lies in an affected range." in text, f"the rule: {text}")

    # a report names it in its header
    box.run("report", "case.ptc", "scope", "--policy", "own.json", "--out", "out")
    xml = open(box.path("out/scope-1.xml"), encoding="utf-8").read()
    expect(re.search(rf'<policy id="x_pagetrail-over-limit-handoff" sha256="{sha}" flag="entered-by-person">own.json</policy>', xml), "the header")
    expect(sha in open(box.path("out/scope-1.html"), encoding="utf-8").read(), "and in the HTML")
    box.run("report", "case.ptc", "scope", "--out", "out")
    expect(f'sha256="{sha}" flag="built-in">builtin:over_limit_handoff<' in open(box.path("out/scope-1.xml"), encoding="utf-8").read(), "built in")

    # refused, or warned of
    box.write("bad.json", osv(entry({"trigger": "sometimes"})))
    p = box.run("scope", "case.ptc", "--policy", "bad.json", code=3)
    one_line_error(p)
    expect(b"affected[0].database_specific.pagetrail.trigger" in p.stderr and b"bad.json" in p.stderr, f"{p.stderr}")
    box.write("odd.json", osv(entry({"trigers": "\x1b[31m"}), **{"x\x1b[0m": 1}))
    p = box.run("scope", "case.ptc", "--policy", "odd.json", code=(0, 1))
    expect(b"'trigers' of affected[0].database_specific.pagetrail" in p.stderr and b"\x1b" not in p.stderr, f"{p.stderr}")
    box.write("deep.json", b'{"id":"x","affected":' + b"[" * 200000)
    for name in ("deep.json", "nowhere.json", "fleet", "builtin:none", "builtin:"):
        one_line_error(box.run("scope", "case.ptc", "--policy", name, code=3))
    box.write("big.json", b" " * (5 << 20))
    one_line_error(box.run("scope", "case.ptc", "--policy", "big.json", code=3))

    # by the schema of OSV
    names = [box.write("osv/example.json", EXAMPLE), *(box.write(f"osv/{n}.json", doc) for n, doc in BUILT_IN.items())]
    validators.by_schema("osv/osv-schema.json", *names)
