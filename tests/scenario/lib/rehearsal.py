# SPDX-License-Identifier: Apache-2.0
"""rehearsal.py - runs a scenario through the built program and compares what it says with truth.json

Shared by the scenario tests; python3 and its standard library only. Everything is compared both ways: what is missing and
what is too much. Workers may be named by their log file or by the address in their server_args; requests that share a
client-chosen id carry a "#2" and so on, and are told apart by their rooms.
"""
import collections
import datetime
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from rounds import rounds, seeds  # noqa: E402, F401

PAGETRAIL = os.environ.get("PAGETRAIL")
if not PAGETRAIL:
    print("PAGETRAIL does not name the program: skipped")
    sys.exit(77)

failures = []


def check(ok, what, detail=""):
    if not ok:
        failures.append(what)
        print(f"FAIL {what} {str(detail)[:1500]}", flush=True)


def finish():
    print("%d failures" % len(failures))
    sys.exit(1 if failures else 0)


def same(what, expected, got):
    """Sets or dicts; names a few of the differences."""
    if expected == got:
        return
    missing = [k for k in expected if k not in got]
    extra = [k for k in got if k not in expected]
    differ = []
    if isinstance(expected, dict):
        differ = [(k, expected[k], got[k]) for k in expected if k in got and expected[k] != got[k]]
    check(False, what, f"missing {len(missing)} {missing[:5]}, too many {len(extra)} {extra[:5]}, other {len(differ)} {differ[:5]}")


def run(*arguments, codes=(0,)):
    p = subprocess.run([PAGETRAIL, *arguments], capture_output=True, text=True)
    check(p.returncode in codes, "exit code of " + " ".join(arguments), f"{p.returncode}: {p.stderr}")
    return p.stdout


def base(name):
    """A client-chosen id used again is numbered."""
    return name if name is None else name.split("#")[0]


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Rehearsal:
    def __init__(self, scenario, seed, *more):
        self.folder = tempfile.TemporaryDirectory(prefix="rehearsal-")
        d = os.path.join(self.folder.name, "fleet")
        self.case = os.path.join(self.folder.name, "case.ptc")
        self.name = f"{scenario} seed {seed}"
        print(f"-- {self.name}", flush=True)
        run("simulate", d, "--scenario", scenario, "--seed", str(seed), *more)
        with open(os.path.join(d, "truth.json"), encoding="utf-8") as f:
            self.truth = json.load(f)
        self.logs = os.path.join(d, "logs")
        out = json.loads(run("ingest", self.case, self.logs, "--json"))
        self.sources = out["rows"]
        self.workers = {}
        for b in self.truth["boots"]:
            self.workers[b["worker"]] = self.workers["%s:%d" % (b["host"], b["port"])] = b["worker"]
        self.page_logs = {b["worker"] for b in self.truth["boots"] if b["page_log"]}

    def ask(self, verb, *arguments, codes=(0,)):
        doc = json.loads(run(verb, self.case, *arguments, "--json", codes=codes))
        if "row_count" in doc:
            check(doc["row_count"] == len(doc["rows"]), f"{self.name}: row_count of {verb}")
            check(doc["truncated"] is False, f"{self.name}: {verb} is not truncated")
        return doc

    def worker(self, name):
        return self.workers.get(name, name)

    # ---- what was read

    def check_sources(self):
        files = {os.path.join(p, f) for p, _, names in os.walk(self.logs) for f in names}
        same(f"{self.name}: every file is a source", {os.path.relpath(f, self.logs) for f in files},
             {os.path.relpath(s["path"], self.logs) for s in self.sources})
        for s in self.sources:
            check(s["status"] == "ingested", f"{self.name}: status of {s['path']}", s)
            check(s["records"] == s["parsed"] + s["context"] + s["unparsed"] + s["duplicate"], f"{self.name}: sums of {s['path']}", s)
            check(s["unparsed"] == 0, f"{self.name}: nothing unparsed in {s['path']}", s)
            check(s["bytes"] == os.path.getsize(s["path"]), f"{self.name}: size of {s['path']}", s)

    def check_boots(self):
        got = collections.defaultdict(list)
        for w in self.ask("info")["workers"]:
            got[self.worker(w["worker"])] += w["boots"]
        expected = collections.Counter(b["worker"] for b in self.truth["boots"])
        same(f"{self.name}: boots of each worker", dict(expected), {w: len(got[w]) for w in got if w in expected})
        for b in self.truth["boots"]:
            near = [x for x in got[b["worker"]] if x["started_at"] and abs(at(x["started_at"]) - at(b["started_at"])) < 300]
            check(len(near) == 1, f"{self.name}: one boot of {b['worker']} at {b['started_at']}", got[b["worker"]])
            for x in near:
                for key in ("version", "context_len", "pool_tokens", "page_size", "input_limit"):
                    check(x[key] == b[key], f"{self.name}: {key} of {b['worker']} at {b['started_at']}", (b[key], x[key]))

    # ---- the findings

    def key(self, r):
        """Rooms are unique; requests without one never share an id in these scenarios."""
        return r["room"] or base(r["request"])

    def check_scope(self):
        truth = {self.key(r): r for r in self.truth["responses"]}
        affected = {k: r for k, r in truth.items() if r["class_expected"] != "C4"}
        doc = self.ask("scope", codes=(1,) if affected else (0,))
        rows = {self.key(r): r for r in doc["rows"]}
        check(len(rows) == len(doc["rows"]), f"{self.name}: no response twice")
        same(f"{self.name}: affected responses", set(affected), set(rows))
        for k in set(affected) & set(rows):
            self.check_row(affected[k], rows[k])
        stands = {k: "yes" if doc["totals"][k] else "no" for k in ("trigger_stands", "build_stands")}
        same(f"{self.name}: hypothesis", self.truth["hypothesis"], stands)
        totals = {k: doc["totals"][k] for k in ("population", "C1", "C2", "C3", "C4", "C5")}
        expected = dict(self.truth["counts"], population=self.truth["population"])
        same(f"{self.name}: totals", {k: expected[k] for k in totals}, totals)
        everything = self.ask("scope", "--class", "C1,C2,C3,C4,C5", codes=(1,) if affected else (0,))["rows"]
        check(len(everything) == self.truth["population"], f"{self.name}: --class widens to the population", len(everything))
        classes = {self.key(r): r["class"] for r in everything}
        same(f"{self.name}: classes of all that is of interest", {k: r["class_expected"] for k, r in truth.items()},
             {k: classes.get(k) for k in truth})
        return truth, rows

    def check_row(self, t, r):
        name = f"{self.name}: {t['request']}"
        pairs = {"class": t["class_expected"], "band": t["band"], "delivered": t["delivered"], "tenant": t["tenant"],
                 "model": t["model"], "prompt_tokens": t["prompt_tokens"], "status": t["status"]}
        for key, value in pairs.items():
            check(r[key] == value, f"{name}: {key}", (value, r[key]))
        check(r["streamed"] in (t["streamed"], t["streamed"] == "yes"), f"{name}: streamed", (t["streamed"], r["streamed"]))
        check(base(r["request"]) == t["request"], f"{name}: its name", r["request"])
        check(self.worker(r["prefill_worker"]) == t["prefill_worker"], f"{name}: prefill worker", r["prefill_worker"])
        check(self.worker(r["decode_worker"]) == t["decode_worker"], f"{name}: decode worker", r["decode_worker"])
        check(abs(at(r["started_at"]) - at(t["started_at"])) < 1.5, f"{name}: start", (t["started_at"], r["started_at"]))
        predicates = r["predicates"]
        check(predicates["T"] == t["trigger"], f"{name}: T", predicates)
        check(predicates["D"] == t["delivered"], f"{name}: D", predicates)
        check(predicates["A"] == t["affected"], f"{name}: A", predicates)
        check(predicates["L"] == t["lineage"], f"{name}: L", predicates)
        # one entry an owner; two owners may share a client-chosen id
        owners = [o for o in t["owners"] if o["kind"] in ("stale", "late_write") and o["worker"] == t["decode_worker"]]
        if t["lineage"] != "unknown":
            check(r["grade"] == "physical", f"{name}: grade", r["grade"])
            check(r["owner_count"] == len(owners), f"{name}: owners", (len(owners), r["owner_count"]))
        else:
            check(r["grade"] == "temporal", f"{name}: grade", r["grade"])
            check(r["owner_count"] == 0, f"{name}: no owner is known physically", r["owner_count"])
        check(r["refs"], f"{name}: refs")

    def check_exposures(self):
        expected, got, delivered = collections.Counter(), collections.Counter(), {}
        for e in self.truth["exposures"]:
            k = (e["worker"], e["reader"], e["owner"], e["kind"])
            expected[k] += e["pages"]
            delivered[k] = e["delivered"]
        rows = self.ask("exposures", codes=(0, 1))["rows"]
        tenants = {r["request"]: r["tenant"] for r in self.truth["responses"]}
        for e in rows:
            k = (self.worker(e["worker"]), base(e["reader_request"]), base(e["owner_request"]), e["kind"])
            got[k] += e["pages"]
            check(e["tokens_at_most"] == e["pages"] * 64, f"{self.name}: tokens of {k}", e)
            check(e["grade"] == "physical", f"{self.name}: grade of {k}", e)
            if k in delivered and "again" not in str(k):
                check(e["delivered"] == delivered[k], f"{self.name}: delivered of {k}", e)
            if e["reader_request"] in tenants:
                check(e["reader_tenant"] == tenants[e["reader_request"]], f"{self.name}: tenant of {k}", e)
            if e["owner_tenant"] is not None:
                check(e["cross_tenant"] in ("yes", True) if e["owner_tenant"] != e["reader_tenant"] else
                      e["cross_tenant"] in ("no", False), f"{self.name}: cross_tenant of {k}", e)
        same(f"{self.name}: exposures, pages of each owner", dict(expected), dict(got))
        return rows
