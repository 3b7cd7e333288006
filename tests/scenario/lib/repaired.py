# SPDX-License-Identifier: Apache-2.0
"""repaired.py - verdicts of a fleet that is being repaired, derived from the list of its records by the text of docs/deploy.md

Knows nothing of how the tool does it: reads truth.json of the scenario "deploy" (what ran, what was written down of it) and says for each
boot, at any time, which row `deploy` owes. Files may be taken away: only what the others say counts then.
"""
import datetime
import re

REASONS = """versions_conflict served_over_limit seen_after_retired seen_before_start retired_by_inventory retired_undated retired_in_future process_ended restarted_since older_than_allowed evidence_undated
order_unknown evidence_in_future not_seen not_started_yet process_not_seen outside_inventory no_package no_version package_not_in_policy version_listed version_in_range
version_out_of_range fix_not_named local_label version_unreadable version_needs_commit local_build_below_fix commit_contains_fix commit_lacks_fix
commit_not_listed commit_contradicts_version backport_declared backport_undocumented requirements_not_met requirements_unknown""".split()
PROCESS = ("line", "info", "undated")
WEIGHT = {"affected": 3, "fixed": 2, "unmet": 1, "unknown": 0}
BILL = "logs/images/sbom-2.json"
SIDE_BY_SIDE = "logs/images/image-inspect.json"
SETS = "logs/kube/replicasets.json"
SKEW = 5
INVENTORY_SKEW = FUTURE_SKEW = 600
ZONE = 14 * 3600
CLOCK_FLOOR = 1793491200  # a clock that shows less was not set, and bounds nothing


def iso(t):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def at(text):
    return None if text is None else datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Claim:
    def __init__(self, e, rung, unified):
        self.form, self.rung, self.at, self.dated = e["form"], rung, at(e["at"]), e["form"] != "undated"
        self.version, self.life = e["version"], e["life"]
        named = re.search(r"\+g([0-9a-f]{7,40})$", self.version or "")
        self.commit = e["commit"] or (named.group(1) if named else None)
        self.fix, self.reasons = e["fix"], e["reasons"].split(",")
        self.waits = e.get("waits", False)
        if unified and self.fix != "fixed":
            self.fix, self.reasons = "unmet", self.reasons + ["requirements_not_met"]

    def order(self):
        process = self.rung >= 4
        return process, 0 if process else self.rung, WEIGHT[self.fix], self.at if self.at is not None else -1


class Boot:
    def __init__(self, replica, life):
        self.life, self.start, self.end = life["life"], at(life["launched_at"]), at(life["stopped_at"])
        self.pool, self.context, self.limit = life["pool_tokens"], life["context_len"], life["input_limit"]
        self.refused, self.served = [], []


class Fleet:
    """inventory: "csv", "pods", "pods-undated" (nobody says when they were listed) or None;
    without: files that were taken away or cannot be read (no engine logs among them); changed: lines of the inventory by replica, with
    state, retired_at, started_at; moved: snapshots of which the time is another one, by file; read_at: when the case was ingested; ages: the policy bounds the age of evidence"""

    def __init__(self, truth, without=(), inventory="csv", as_of=None, changed=None, moved=None, read_at=None, ages=True):
        self.truth, self.without, self.inventory, self.as_of = truth, set(without), inventory, as_of
        self.changed, self.moved = changed or {}, moved or {}
        self.max_age = truth["max_age_s"] if ages else None
        self.bound = read_at + ZONE if read_at is not None and read_at >= CLOCK_FLOOR else None
        self.bill = BILL not in self.without
        self.fleet_rung = (2 if truth["ordered"] and SETS not in self.without else 1) if self.bill else 0
        # the last event that is not of the future
        self.last = max([at(truth["asked_at"][-1])] + [t for t in self.moved.values() if self.bound is None or t <= self.bound])
        self.replicas = {r["replica"]: Replica(self, r) for r in truth["replicas"]}
        for q in truth["requests"]:
            for name in (q["prefill"], q["decode"]):
                if name:
                    self.replicas[name].signs += [at(q["started_at"]), at(q["ended_at"])]
            boot = self.replicas[q["prefill"]].running(at(q["started_at"])) if q["prefill"] and q["over"] else None
            if boot:
                (boot.refused if q["refused"] else boot.served).append(at(q["ended_at"]))

    def rows(self, t=None):
        out = []
        for r in self.replicas.values():
            out += r.rows(t)
        return sorted(out, key=lambda x: (x["replica"], x["boot_started_at"] or 0))


class Replica:
    def __init__(self, fleet, r):
        self.fleet, self.r, self.name, self.unified = fleet, r, r["replica"], r["role"] == "unified"
        self.boots = [Boot(r, x) for x in r["lives"]] if r["log"] else []
        self.listed = r["listed"] and fleet.inventory is not None
        csv = fleet.inventory == "csv"
        line = {"state": "retired" if r["retired"] else "", "retired_at": r["retired_at"], "started_at": r["started_at"]}
        line.update(fleet.changed.get(self.name, {}))
        self.state_retired = self.listed and line["state"] == "retired"
        self.retired_at = at(line["retired_at"]) if self.listed else None
        # what has no time of its own is of the moment at which the inventory was taken, where that is known
        self.undated = self.state_retired and self.retired_at is None
        self.gone_at = at(fleet.truth["pods_listed_at"]) if self.undated and fleet.inventory == "pods" else self.retired_at
        self.started_at = at(line["started_at"]) if self.listed else None
        self.claims, self.containers = [], []
        self.signs = list(r["signs"])
        # a health check alone is no event: of such lines the first and the last of a log are known (a prefill worker tells of a batch beside it)
        beats = [at(x["ready_at"]) + 1200 for x in r["lives"]] if r["role"] == "unified" else []
        self.idle = {s for s in r["signs"] if s != max(r["signs"]) and any((s - b) % 10800 == 0 for b in beats)}
        for e in r["evidence"]:
            if e["file"] in fleet.without:
                continue
            self.take({**e, "at": iso(fleet.moved[e["file"]])} if e["file"] in fleet.moved else e)
        if csv and self.listed and r["image_digest"] and fleet.bill:  # ordered by the inventory
            self.claims.append(Claim({"form": "order", "at": None, "version": "0.5.22", "commit": None, "life": None, "fix": "fixed",
                                      "reasons": "version_out_of_range"}, 2, self.unified))

    def take(self, e):
        container = e["form"] in ("pod", "container")
        if e["form"] not in ("undated", "packages") and not e["waits"]:
            self.signs.append(at(e["at"]))
        if container:
            joined = self.fleet.bill and (e["form"] == "pod" or SIDE_BY_SIDE not in self.fleet.without)
            self.containers.append({"at": at(e["at"]), "started": at(e["container_started_at"]), "waits": e["waits"], "holds": joined,
                                    "engine": True})
            if e["proxy"]:
                self.containers.append({"at": at(e["at"]), "started": at(e["at"]) - 600, "waits": False, "holds": False, "engine": False})
            if not joined:
                return
        rung = 4 if e["form"] in PROCESS else 2 if e["waits"] else 3
        self.claims.append(Claim(e, rung, self.unified))

    def running(self, t):
        for b in reversed(self.boots):
            if b.start <= t:
                return b if b.end is None or t <= b.end else None
        return None

    def of(self, boot):
        """Records of the process are its own; all others are of the boot in whose life they were made."""
        def belongs(c):
            if c.rung < 3:
                return None
            if c.rung >= 4 and c.form != "undated":
                return next((b for b in self.boots if b.life == c.life), None)
            return self.running(c.at)
        return [c for c in self.claims if belongs(c) is boot]

    def rows(self, t):
        if t is not None:
            seen = [b for b in self.boots if b.start <= t]
            return [] if self.unknown() else [self.judge(seen[-1] if seen else None, t, t, True)]
        if not self.boots:
            return [] if self.unknown() else [self.judge(None, self.fleet.last, None, True)]
        return [self.judge(b, b.end if b is not self.boots[-1] and b.end else self.fleet.last, None, b is self.boots[-1]) for b in self.boots]

    def unknown(self):
        """Nobody ever heard of it: a list of packages alone is nobody's, but for those who say that there is such a replica."""
        return not self.listed and not self.boots and not self.containers and all(c.form == "packages" for c in self.claims)

    def judge(self, boot, t, asked, current):
        known = [c for c in self.of(boot) if asked is None or c.at is None or c.at <= asked]
        containers = [k for k in self.containers if k["at"] <= t] if current else []
        if any(k["holds"] for k in self.containers):
            containers = [k for k in containers if k["holds"]]
        by = max(known, key=Claim.order, default=None)
        row = {"replica": self.name, "boot_started_at": boot.start if boot else None, "current": current,
               "boot_ended_at": boot.end if boot and boot.end is not None and boot.end <= (asked or self.fleet.last) else None,
               "pool_tokens": boot.pool if boot else None, "context_len": boot.context if boot else None,
               "input_limit": boot.limit if boot else None, "outside": self.fleet.inventory is not None and not self.listed,
               "context_exceeds_pool": ("yes" if boot.pool < boot.context else "no") if boot else "unknown",
               "version": by.version if by else None, "commit": by.commit if by else None, "fix": by.fix if by else "unknown",
               "rung": f"L{by.rung if by else self.fleet.fleet_rung}", "evidence_at": None}
        if by:
            same = [c.at for c in known if (c.rung >= 4) == (by.rung >= 4) and c.fix == by.fix and c.dated and c.at is not None]
            row["evidence_at"] = max(same, default=None)
        refused = [x for x in boot.refused if asked is None or x <= asked] if boot else []
        served = [x for x in boot.served if asked is None or x <= asked] if boot else []
        if by and by.rung >= 4 and by.fix == "fixed" and refused and not served:
            row["rung"] = "L5"
        row["fixed_since"] = min((c.at for c in known if c.rung >= 4 and c.fix == "fixed" and c.dated), default=None)
        row["observed"] = boot is not None or any(c.rung >= 3 for c in known) or any(not k["waits"] for k in containers)
        later = self.started_at is not None and self.started_at > t
        work = [s for s in self.signs if s <= t] + [b.start for b in self.boots if b.start <= t]
        self.early = later and any(s < self.started_at - 600 for s in work)
        self.unborn = asked is not None and later and not work
        row["counted"] = self.listed and not self.unborn
        reasons = set()
        row["verdict"] = self.rule(boot, t, asked, current, known, containers, by, row, served, reasons)
        if current and self.undated:
            reasons.add("retired_undated")
        if current and row["verdict"] != "retired" and any(self.future(k["started"], t) for k in containers):
            reasons.add("evidence_in_future")
        if row["outside"]:
            reasons.add("outside_inventory")
        if by:
            reasons.update(by.reasons)
        row["reasons"] = [x for x in REASONS if x in reasons]
        return row

    def future(self, when, t):
        """Nothing is known before it happens: nothing is later than --as-of; without it, than t and than the case was read."""
        now = self.fleet.as_of if self.fleet.as_of is not None else min(t, self.fleet.bound if self.fleet.bound is not None else t)
        return when is not None and when > now + FUTURE_SKEW

    def rule(self, boot, t, asked, current, known, containers, by, row, served, reasons):
        now = self.fleet.as_of or t
        gone = self.gone_at is not None and self.gone_at <= t
        later = self.state_retired and self.gone_at is not None and not gone and asked is None
        too_late = later and self.gone_at > now + INVENTORY_SKEW
        gone |= later and not too_late  # an inventory may be younger than the logs
        if current and gone:
            if any(self.gone_at + INVENTORY_SKEW < s and (asked is None or s <= t) and s not in self.idle for s in self.signs):
                reasons.add("seen_after_retired")
                return "conflicting"
            reasons.add("retired_by_inventory")
            return "retired"
        if current and self.early:
            reasons.add("seen_before_start")
        if current and too_late and not self.undated:
            reasons.add("retired_in_future")
        if reasons:
            return "conflicting"
        if self.unborn:
            reasons.add("not_started_yet")
        if not row["observed"] and (self.listed or not by):
            reasons.add("not_seen")
            return "not_observed"
        fixes = {c.fix for c in known if c.rung >= 3}
        if {"affected", "fixed"} <= fixes:
            reasons.add("versions_conflict")
        if served and row["fix"] == "fixed":
            reasons.add("served_over_limit")
        if reasons & {"versions_conflict", "served_over_limit"}:
            return "conflicting"
        last = max(containers, key=lambda k: k["at"], default=None)
        ended = (boot is not None and boot.end is not None and boot.end <= t) or (last is not None and last["waits"])
        stale = False
        started = [k["started"] for k in containers if k["started"] is not None and k["started"] <= t]
        if by and by.rung >= 3:
            if row["evidence_at"] is None:
                reasons.add("evidence_undated")
                stale = self.fleet.max_age is not None or bool(started)  # where its age matters
            if current and (self.future(row["evidence_at"], t) or any(self.future(k["started"], t) for k in containers)):
                reasons.add("evidence_in_future")
                stale |= by.fix != "affected"
            if current:
                if row["evidence_at"] is not None and any(s > row["evidence_at"] + SKEW for s in started):
                    reasons.add("restarted_since")
                    stale = True
                if row["evidence_at"] is not None and self.fleet.max_age is not None and now - row["evidence_at"] > self.fleet.max_age:
                    reasons.add("older_than_allowed")
                    stale = True
                stale |= ended
        if current and ended:
            reasons.add("process_ended")
        if current and stale:
            return "stale"
        told = [c for c in self.claims if c.fix == "affected" and c.dated and c.at is not None and (asked is None or c.at <= asked)]
        if current and by and by.rung >= 4 and by.fix == "fixed" and row["evidence_at"] is None and told:
            reasons.add("order_unknown")
            return "conflicting"
        if not by:
            reasons.add("no_version")
            return "undetermined"
        if by.rung < 4:
            reasons.add("process_not_seen")
            return "undetermined"
        return {"affected": "verified_affected", "fixed": "verified_fixed"}.get(by.fix, "undetermined")
