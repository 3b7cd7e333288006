#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy.py - a fleet in the middle of being repaired: every row of `deploy`, now and at any time, with and without its files

What each story deserves is written down beside it (src/rehearsal/deploy_stories.c); lib/repaired.py derives it a second time, from the
records and docs/deploy.md; the tool says it a third time. PAGETRAIL_SEED is the first seed, PAGETRAIL_ROUNDS how many.
"""
import csv
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import check, failures, finish, run, same  # noqa: E402
from repaired import CLOCK_FLOOR, ZONE, Fleet, at, iso  # noqa: E402

SEED = int(os.environ.get("PAGETRAIL_SEED", "1"))
SMALL = bool(os.environ.get("PAGETRAIL_SMALL"))
ROUNDS = int(os.environ.get("PAGETRAIL_ROUNDS", "3" if SMALL else "10"))
VERDICTS = ["verified_fixed", "verified_affected", "conflicting", "stale", "undetermined", "not_observed", "retired"]
TIMES = ("boot_started_at", "boot_ended_at", "evidence_at")
EXACT = ("verdict", "rung", "version", "commit", "reasons", "pool_tokens", "context_len", "input_limit", "context_exceeds_pool", "outside")


class Rehearsal:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.name = f"deploy seed {seed}"
        self.folder = tempfile.TemporaryDirectory(prefix="deploy-")
        self.top = self.folder.name
        self.dir = os.path.join(self.top, "fleet")
        run("simulate", self.dir, "--scenario", "deploy", "--seed", str(seed))
        with open(os.path.join(self.dir, "truth.json"), encoding="utf-8") as f:
            self.truth = json.load(f)
        self.fleet = Fleet(self.truth)
        self.inventories = ["pods", "pods-undated", None]
        with open(os.path.join(self.dir, "inventory-pods.json"), encoding="utf-8") as f:
            pods = json.load(f)
        del pods["collected_at"]
        with open(os.path.join(self.dir, "inventory-pods-undated.json"), "w", encoding="utf-8") as f:
            json.dump(pods, f)
        self.stories = {r["replica"]: r for r in self.truth["replicas"]}
        self.logs = {f"logs/{r['replica']}{end}" for r in self.truth["replicas"] for end in (".log", "/engine.log") if r["log"]}

    def ingest(self, name, without=(), content=None, bad=()):
        """A case of all files but some. content: of others, instead of their own; bad: those that cannot be read."""
        logs, case = os.path.join(self.top, name), os.path.join(self.top, name + ".ptc")
        for top, _, names in os.walk(os.path.join(self.dir, "logs")):
            for f in names:
                path = os.path.relpath(os.path.join(top, f), self.dir)
                if path not in without:
                    to = os.path.join(logs, path)
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    if path in (content or {}):
                        with open(to, "wb") as out:
                            out.write(content[path])
                    else:
                        os.link(os.path.join(self.dir, path), to)
        out = json.loads(run("ingest", case, os.path.join(logs, "logs"), "--json", codes=(0, 3) if bad else (0,)))
        shutil.rmtree(logs)
        for s in out["rows"]:
            if s["path"].split(f"/{name}/", 1)[1] in bad:
                continue
            check(s["unparsed"] == 0 and s["format"] and s["status"] == "ingested", f"{self.name}: {s['path']} is read", s)
        return case

    def ask(self, case, inventory, *more, policy="policy.json"):
        given = {"csv": ["--inventory", os.path.join(self.dir, "inventory.csv")], None: [],
                 "pods": ["--inventory", os.path.join(self.dir, "inventory-pods.json")],
                 "pods-undated": ["--inventory", os.path.join(self.dir, "inventory-pods-undated.json")]}.get(inventory, ["--inventory", inventory])
        policy = os.path.join(self.dir, policy)
        return json.loads(run("deploy", case, "--policy", policy, *given, *more, "--json", "--limit", "0", codes=(0, 1)))

    def query(self, case, name):
        return json.loads(run("query", case, name, "--policy", os.path.join(self.dir, "policy.json"), "--json", "--limit", "0"))["rows"]

    # ---- rows

    def compare(self, what, fleet, doc, t=None):
        expected = fleet.rows(t)
        got = {(r["replica"], r["boot_started_at"]): r for r in doc["rows"]}
        keys = {(e["replica"], e["boot_started_at"]) for e in expected}
        same(f"{what}: rows", keys, {(n, at(s)) for n, s in got})
        got = {(n, at(s)): r for (n, s), r in got.items()}
        for e in expected:
            r = got.get((e["replica"], e["boot_started_at"]))
            if r is None:
                continue
            wrong = {k: (e[k], r[k]) for k in EXACT if e[k] != (bool(r[k]) if k == "outside" else r[k])}
            wrong.update({k: (e[k], r[k]) for k in TIMES if e[k] != at(r[k])})
            check(not wrong, f"{what}: {e['replica']} ({self.stories[e['replica']]['story']})", f"{wrong} {r['evidence']}")
            check(bool(r["current"]) == e["current"], f"{what}: {e['replica']} current", r["current"])
        self.compare_totals(what, fleet, [e for e in expected if e["current"]], doc["totals"])

    def compare_totals(self, what, fleet, now, totals):
        counted = [e for e in now if e["counted"] or fleet.inventory is None]
        want = {v: sum(e["verdict"] == v for e in counted) for v in VERDICTS}
        want["observed"] = sum(e["observed"] for e in counted)
        want["inventory"] = len(counted) if fleet.inventory else None
        want["outside_inventory"] = sum(e["outside"] for e in now)
        left = len(counted) - want["retired"]
        want["verified_fixed_percent"] = want["verified_fixed"] * 1000 // left / 10 if fleet.inventory and left else None
        same(f"{what}: totals", want, {k: totals[k] for k in want})

    def by_hand(self, case):
        """What the stories deserve, against the tool and against what follows from the records."""
        full = None
        for i, when in enumerate(self.truth["asked_at"]):
            t = None if i + 1 == len(self.truth["asked_at"]) else at(when)
            full = self.ask(case, "csv", *([] if t is None else ["--at", when]))
            self.compare(f"{self.name} at {when}", self.fleet, full, t)
            rows = {r["replica"]: r for r in full["rows"] if r["current"]}
            derived = {r["replica"]: r for r in self.fleet.rows(t) if r["current"]}
            same(f"{self.name} at {when}: replicas", set(self.stories), set(rows))
            for name, story in self.stories.items():
                want = story["asked"][i]
                for who, r in (("the tool", rows.get(name)), ("the records", derived[name])):
                    ok = r and r["verdict"] == want["verdict"] and want["rung"] in (None, r["rung"]) and (
                        want["reason"] is None or want["reason"] in r["reasons"])
                    check(ok, f"{self.name} at {when}: {name} ({story['story']}), {who}", f"{want} {r}")
        found = {a["verdict"] for s in self.stories.values() if s["listed"] for a in s["asked"][-1:]}
        check(found == set(VERDICTS) and sum(s["listed"] for s in self.stories.values()) >= 24, f"{self.name}: every verdict, 24 replicas", found)
        return full

    def times(self, n):
        """Moments shortly before and behind those at which something changes, and any others."""
        marks = {at(x) for x in self.truth["asked_at"]}
        for r in self.truth["replicas"]:
            marks |= {at(x[k]) for x in r["lives"] for k in ("launched_at", "ready_at", "stopped_at")}
            marks |= {at(e[k]) for e in r["evidence"] for k in ("at", "container_started_at")}
            marks |= {at(e["at"]) + self.truth["max_age_s"] for e in r["evidence"]}
            marks |= {at(r["started_at"])}
            if r["retired_at"]:
                marks |= {at(r["retired_at"]), at(r["retired_at"]) + 600, at(self.truth["pods_listed_at"]), at(self.truth["pods_listed_at"]) + 600}
                marks |= {min([s for s in r["signs"] if s > at(r["retired_at"]) + 600], default=at(r["retired_at"]))}
        marks |= {at(q["ended_at"]) for q in self.truth["requests"] if q["over"]}
        marks = sorted(int(m) for m in marks if m is not None)
        picked = [m + d for m in self.random.sample(marks, min(n, len(marks))) for d in (self.random.choice((-20, 20)),)]
        picked += [self.random.randrange(marks[0], int(at(self.truth["asked_at"][-1]))) for _ in range(n // 2)]
        clear = [p for p in picked if all(abs(p - m) > 12 for m in marks)]
        return [t for t in clear if t <= at(self.truth["asked_at"][-1])]

    # ---- further lists

    def lists(self, case, doc):
        rows = self.fleet.rows()
        fix = {(r["replica"], r["boot_started_at"]): r for r in rows}

        def row_of(name, t):
            boot = self.fleet.replicas[name].running(t) if name else None
            return fix.get((name, boot.start)) if boot else None

        end, after = None, []
        first = min((r["fixed_since"] for r in rows if r["fixed_since"] and r["fix"] == "fixed" and r["verdict"] != "conflicting"), default=None)
        for q in self.truth["requests"]:
            if q["refused"]:
                continue
            legs = [r for r in (row_of(q["prefill"], at(q["started_at"])), row_of(q["decode"], at(q["started_at"]))) if r]
            t = at(q["ended_at"])
            if any(r["fix"] == "affected" for r in legs):
                end = max(end or t, t)
            if first is not None and t > first and any(r["fix"] in ("affected", "unknown") or r["verdict"] == "conflicting" for r in legs):
                after.append(q["request"])
        said = at(doc["affected_window_end"])
        check(abs((said or 0) - (end or 0)) < 0.002, f"{self.name}: end of the affected window", (end, said))
        check(at(doc["served_after_fix"]["first_fixed_at"]) == first, f"{self.name}: first fixed", (first, doc["served_after_fix"]))
        same(f"{self.name}: served after the fix", sorted(after), sorted(r["request"] for r in self.query(case, "deploy_served_after_fix")))
        check(doc["served_after_fix"]["responses"] == len(after), f"{self.name}: how many of them", doc["served_after_fix"])
        self.pairs(case, doc)
        gates = doc["gateway_limits"]
        want = self.truth["gateway"]
        check(sum(g["refused"] for g in gates) == want["refused"], f"{self.name}: refused by the gateway", (want, gates))
        check(not want["refused"] or gates[0]["shortest_refused"] == want["shortest"], f"{self.name}: its limit", (want, gates))

    def pairs(self, case, doc):
        boots = [(r["replica"], r["role"], self.fleet.replicas[r["replica"]]) for r in self.truth["replicas"]]
        want = {}
        for p, role, x in boots:
            for d, other, y in boots:
                if role != "prefill" or other != "decode":
                    continue
                for b in x.boots:
                    for c in y.boots:
                        if (c.end is None or b.start < c.end) and (b.end is None or c.start < b.end):
                            want[p, b.start, d, c.start] = c.limit - b.limit
        rows = self.query(case, "deploy_pairs")
        got = {(r["prefill_replica"], at(r["prefill_started_at"]), r["decode_replica"], at(r["decode_started_at"])): r["mismatch_tokens"]
               for r in rows}
        check(len(got) == len(rows) and (doc["pairs"] == rows[:1000]), f"{self.name}: pairs are said once", (len(got), len(rows), len(doc["pairs"])))
        same(f"{self.name}: pairs", want, got)

    def pairs_then(self, t, doc):
        """Those that ran at that time; a gateway has refused by then what it has, and nothing later."""
        ran = [(r["replica"], r["role"], self.fleet.replicas[r["replica"]].running(t)) for r in self.truth["replicas"]]
        want = {(p, b.start, d, c.start): c.limit - b.limit for p, role, b in ran for d, other, c in ran if b and c and (role, other) == ("prefill", "decode")}
        got = {(r["prefill_replica"], at(r["prefill_started_at"]), r["decode_replica"], at(r["decode_started_at"])): r["mismatch_tokens"] for r in doc["pairs"]}
        same(f"{self.name}: pairs at {iso(t)}", want, got)
        gates = doc["gateway_limits"]
        check(sum(g["refused"] for g in gates) <= self.truth["gateway"]["refused"] and all(at(g["last_at"]) <= t for g in gates), f"{self.name}: gateway at {iso(t)}", gates)

    # ---- files taken away

    def without_documents(self, n):
        """Rows are those of the records that are left."""
        files = sorted({e["file"] for r in self.truth["replicas"] for e in r["evidence"]} - self.logs) + [
            "logs/images/sbom-2.json", "logs/images/image-inspect.json", "logs/kube/replicasets.json"]
        files = [f for f in files if os.path.exists(os.path.join(self.dir, f))]
        for i in range(n):
            gone = self.random.sample(files, self.random.choice((1, 1, 2, len(files) // 2)))
            case = self.ingest(f"less-{i}", gone)
            self.compare(f"{self.name} without {gone[:3]}", Fleet(self.truth, gone), self.ask(case, "csv"))

    def without_logs(self, full, n):
        """What docs/deploy.md promises of a loss of records."""
        logs = sorted(f for f in self.logs if os.path.exists(os.path.join(self.dir, f))) + ["logs/gateway.jsonl", "logs/router.log"]
        before = {r["replica"]: r for r in full["rows"] if r["current"]}
        for i in range(n):
            gone = set(self.random.sample(logs, self.random.choice((1, 2, 6))))
            what = f"{self.name} without {sorted(gone)[:3]}"
            doc = self.ask(self.ingest(f"lost-{i}", gone), "csv")
            for r in doc["rows"]:
                if r["current"]:
                    self.promised(what, gone, before[r["replica"]], r)

    def damaged_documents(self, n):
        """What was cut, contradicts itself or names several images says nothing, and is named."""
        files = sorted({e["file"] for r in self.truth["replicas"] for e in r["evidence"]} - self.logs) + ["logs/images/sbom-2.json"]
        files = [f for f in files if f.endswith(".json") and os.path.exists(os.path.join(self.dir, f))]
        for i in range(n):
            bad = {}
            for f in self.random.sample(files, self.random.choice((1, 2, 5))):
                with open(os.path.join(self.dir, f), "rb") as file:
                    text = file.read()
                at_brace = text.index(b"{") + 1
                ways = [text[:self.random.randrange(len(text) // 2, len(text.rstrip()) - 1)], text[:at_brace] + b'"twice":1,"twice":2,' + text[at_brace:]]
                if f.endswith("sbom-2.json"):
                    doc = json.loads(text[text.index(b"{"):])
                    more = {"type": "container", "name": "other", "purl": "pkg:oci/other@sha256:" + "ab" * 32}
                    if "components" in doc:
                        doc["components"].append(more)
                        ways.append(json.dumps(doc).encode())
                bad[f] = self.random.choice(ways)
            doc = self.ask(self.ingest(f"bad-{i}", content=bad, bad=bad), "csv")
            what = f"{self.name} with {sorted(bad)[:3]} damaged"
            self.compare(what, Fleet(self.truth, bad), doc)
            unread = sorted(u["path"].split(f"/bad-{i}/", 1)[1] for u in doc["unread"])
            same(f"{what}: named", sorted(bad), unread)

    def moved_snapshots(self):
        """One that is dated later than it was read by less than a zone, and one by more."""
        if time.time() < CLOCK_FLOOR:
            return
        said = {}
        for f in sorted({e["file"] for r in self.truth["replicas"] for e in r["evidence"] if e["form"] == "info" and r["log"] and r["lives"]
                         and e["life"] == r["lives"][-1]["life"] and not r["lives"][-1]["stopped_at"]
                         # one that says another version than the one before, after the log has ended, is of another boot
                         and all(o["version"] == e["version"] for o in r["evidence"] if o["life"] == e["life"])} - self.logs):
            with open(os.path.join(self.dir, f), "rb") as file:
                text = file.read()
            if re.match(rb"# collected \S+", text):
                said[f] = text
        for ahead in (ZONE // 2, ZONE + 7200) if said else ():
            f = self.random.choice(sorted(said))
            t = int(time.time()) + ahead
            case = self.ingest(f"moved-{ahead}", content={f: re.sub(rb"# collected \S+", b"# collected " + iso(t).encode(), said[f], count=1)})
            for as_of in (None, t + 60):
                fleet = Fleet(self.truth, moved={f: t}, read_at=time.time(), as_of=as_of)
                self.compare(f"{self.name}, {f} of {iso(t)}, as of {as_of}", fleet, self.ask(case, "csv", *(["--as-of", iso(as_of)] if as_of else [])))

    def other_inventories(self, case, n):
        """Somebody else's list, of other times: who is retired in it, or to be, and since when a replica counts."""
        with open(os.path.join(self.dir, "inventory.csv"), encoding="utf-8", newline="") as f:
            listed = list(csv.DictReader(f))
        last = int(at(self.truth["asked_at"][-1]))
        signs = {r["replica"]: [at(e["at"]) for e in r["evidence"] if e["at"]] for r in self.truth["replicas"]}
        for i in range(n):
            changed, rows = {}, [dict(row) for row in listed]
            for row in self.random.sample(rows, len(rows) // 3):
                near = self.random.choice(signs[row["replica"]] or [last]) if signs.get(row["replica"]) else last
                when = int(self.random.choice((near, last))) + self.random.choice((-90000, -1300, -700, -300, 300, 700, 1300, 90000))
                row.update(self.random.choice(({"state": "retired", "retired_at": iso(when), "started_at": ""}, {"state": "retired", "retired_at": "", "started_at": ""},
                                               {"state": "", "retired_at": "", "started_at": iso(when)}, {"state": "active", "retired_at": "", "started_at": ""},
                                               {"state": "draining", "retired_at": iso(when), "started_at": ""})))
                changed[row["replica"]] = {k: row[k] or None for k in ("state", "retired_at", "started_at")}
            path = os.path.join(self.top, f"inventory-{i}.csv")
            with open(path, "w", encoding="utf-8", newline="") as f:
                out = csv.DictWriter(f, list(rows[0]))
                out.writeheader()
                out.writerows(rows)
            for more, fleet in (([], {}), (["--as-of", iso(last - 40000)], {"as_of": last - 40000}), (["--as-of", iso(last + 5000)], {"as_of": last + 5000})):
                self.compare(f"{self.name}, {path} {more}", Fleet(self.truth, changed=changed, **fleet), self.ask(case, path, *more))
            t = self.random.choice(self.times(9) or [last])
            self.compare(f"{self.name}, {path} at {iso(t)}", Fleet(self.truth, changed=changed), self.ask(case, path, "--at", iso(t)), t)

    def other_policies(self, case):
        """Without a limit of age; and such as name what no version is, or a member twice: they are refused."""
        with open(os.path.join(self.dir, "policy.json"), encoding="utf-8") as f:
            text = f.read()
        policy = json.loads(text)
        ours = policy["affected"][0]["database_specific"]["pagetrail"]
        del ours["max_evidence_age"]
        backports = ours["backports"]

        def write(name, content):
            with open(os.path.join(self.dir, name), "w", encoding="utf-8") as f:
                f.write(content)

        write("ageless.json", json.dumps(policy))
        self.compare(f"{self.name}, no limit of age", Fleet(self.truth, ages=False), self.ask(case, "csv", policy="ageless.json"))
        for bad in ("latest", "main", "sha256:" + "0" * 64, "v-fixed", "", {"declared_by": "platform"}, {"version": "nightly"}, 17):
            ours["backports"] = backports + [bad]
            write("bad.json", json.dumps(policy))
            run("deploy", case, "--policy", os.path.join(self.dir, "bad.json"), codes=(3,))
        write("bad.json", text.replace('"backports":', '"backports":[],"backports":', 1))
        run("deploy", case, "--policy", os.path.join(self.dir, "bad.json"), codes=(3,))

    def promised(self, what, gone, was, r):
        story, own = self.stories[r["replica"]], [g for g in gone if r["replica"] in g]
        told = [e for e in story["evidence"] if e["form"] in ("line", "info", "undated") and e["fix"] == "fixed" and e["file"] not in gone]
        name = f"{what}: {r['replica']} ({story['story']})"
        check(r["verdict"] != "verified_fixed" or told, f"{name} is fixed without a record of its process", r["reasons"])
        check((r["verdict"] == "retired") <= (story["retired_at"] is not None), f"{name} is retired", r["reasons"])
        if was["verdict"] in ("verified_affected", "undetermined", "not_observed"):
            check(r["verdict"] in ("verified_affected", "undetermined", "not_observed", "stale"), f"{name} was {was['verdict']}", r["verdict"])
        if r["verdict"] != was["verdict"]:
            check(own or gone & {"logs/gateway.jsonl", "logs/router.log"}, f"{name}: no record of it is missing", (was["verdict"], r["verdict"]))
        if r["verdict"] == "verified_fixed":
            check(was["verdict"] in ("verified_fixed", "conflicting", "stale"), f"{name} became fixed", was["verdict"])

    def test(self):
        case = self.ingest("all")
        full = self.by_hand(case)
        for inventory in self.inventories:
            doc = self.ask(case, inventory)
            self.compare(f"{self.name}, inventory {inventory}", Fleet(self.truth, inventory=inventory), doc)
        self.lists(case, doc)
        for t in self.times(2 if SMALL else 30):
            inventory = self.random.choice(("csv", "csv", "pods", "pods-undated"))
            doc = self.ask(case, inventory, "--at", iso(t))
            self.compare(f"{self.name}, {inventory}, at {iso(t)}", Fleet(self.truth, inventory=inventory), doc, t)
            self.pairs_then(t, doc)
        t = int(at(self.truth["asked_at"][-1])) + self.random.randrange(1, 12 * 3600)
        if all(abs(t - at(e["at"]) - self.truth["max_age_s"]) > 12 for r in self.truth["replicas"] for e in r["evidence"]):
            self.compare(f"{self.name} as of {iso(t)}", Fleet(self.truth, as_of=t), self.ask(case, "csv", "--as-of", iso(t)))
        self.other_inventories(case, 1 if SMALL else 4)
        self.other_policies(case)
        if not SMALL or self.truth["seed"] % 3 == 0:
            self.moved_snapshots()
        if not SMALL or self.truth["seed"] % 3 == 1:
            self.damaged_documents(1 if SMALL else 6)
        if not SMALL or self.truth["seed"] % 2:
            self.without_documents(1 if SMALL else 6)
        if not SMALL or not self.truth["seed"] % 2:
            self.without_logs(full, 1 if SMALL else 6)
        self.folder.cleanup()


for n in range(ROUNDS):
    before = len(failures)
    r = Rehearsal(SEED + n)
    r.test()
    if len(failures) > before:
        print(f"   PAGETRAIL_SEED={SEED + n} PAGETRAIL_ROUNDS=1 repeats it", flush=True)
finish()
