#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""removal.py - taking logs away never clears anybody: no response gets into C4, no owner into E4, and totals stay whole;
no candidate set gets smaller, and no bound of what was read of it, but for requests that no log knows any more; each class is the
one that the rules make of its predicates, each predicate stays or becomes unknown with a reason that names what is missing, and
`scope` and `gaps` name the loss; nor does a log whose clock is wrong where no gateway's log measures it

What rests on a marker alone goes with it, and only that (docs/method.md, "Losing a log"): a response that was C1 against a no
of another predicate, the owner of the marker, when no sighting of it is left, and owners of pages that only such responses read.

Small fleets; each source alone, random pairs, and an hour cut out of a worker's logs; some of it with all logs inside of what container
runtimes write. A response is found again by its
rooms and rids. PAGETRAIL_SEED sets another start, PAGETRAIL_ROUNDS whole rounds of fleets (0: a short one).
"""
import datetime
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "lib"))
import wrap  # noqa: E402
from rehearsal import PAGETRAIL, check, finish, rounds, run  # noqa: E402

SEED = int(os.environ.get("PAGETRAIL_SEED", "1"))
ROUNDS = int(os.environ.get("PAGETRAIL_ROUNDS", "0"))
WAYS = (wrap.cri, wrap.docker, wrap.container_logs)
ALL_C, ALL_E = "C1,C2,C3,C4,C5", "E1,E2,E3,E4,E5"


def ask(case, *arguments):
    return json.loads(run(*arguments[:1], case, *arguments[1:], "--json", "--limit", "0", codes=(0, 1)))


class Case:
    """What the tool says of one set of logs: per request its aliases, class as a response, class as an owner."""

    def __init__(self, top, logs):
        case = os.path.join(top, "case.ptc")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(case + end):
                os.unlink(case + end)
        run("ingest", case, logs, codes=(0, 3))
        scope = ask(case, "scope", "--class", ALL_C)
        self.totals = scope["totals"]
        self.rows = scope["rows"]
        self.gaps = ask(case, "gaps")["rows"]
        self.said = run("scope", case, "--limit", "1", codes=(0, 1))
        self.response = {}
        for r in self.rows:
            self.response.setdefault(r["request"], []).append(r)
        self.owner = {r["request"]: r for r in ask(case, "scope", "--side", "exposed", "--class", ALL_E)["rows"]}
        self.sets = {r["request"]: r for r in ask(case, "sql", "SELECT request, candidate_owners, foreign_at_most, finished_at FROM findings() "
                                                  "WHERE grade = 'temporal' AND class <> 'C4'")["rows"]}
        self.first = {r["name"]: r["first_ns"] for r in ask(case, "sql", "SELECT name, first_ns FROM request")["rows"]}
        self.attempts = {r["name"]: r["n"] for r in ask(case, "sql", "SELECT q.name, sum(coalesce(r.attempts, 1)) AS n FROM response r "
                                                        "JOIN request q USING(request) GROUP BY q.request")["rows"]}
        self.lost = {r["name"] for r in ask(case, "sql", "SELECT DISTINCT q.name FROM sighting s JOIN request q ON q.request = s.planted_request "
                                            "WHERE s.verdict = 'foreign'")["rows"]}  # their markers are seen elsewhere
        self.readers = {}
        for r in ask(case, "exposures")["rows"]:
            self.readers.setdefault(r["owner_request"], set()).add(r["reader_request"])
        self.aliases = {}
        for r in ask(case, "sql", "SELECT q.name, a.value FROM alias a JOIN request q USING(request) "
                     "WHERE a.kind IN ('rid', 'room')")["rows"]:
            self.aliases.setdefault(r["name"], set()).add(r["value"])
        self.clocks = ask(case, "sql", "SELECT path, max(abs(skew_ns)) / 1e9 AS ahead_s, max(bound_ns) / 1e9 AS bound_s FROM clock "
                          "JOIN source USING(source) GROUP BY path")["rows"]
        self.by_alias = {}
        for name, values in self.aliases.items():
            for v in values:
                self.by_alias.setdefault(v, set()).add(name)

    def whole(self):
        t = self.totals
        return t["population"] == sum(t[c] for c in ALL_C.split(",")) == len(self.rows)


# Of which predicate does a reason speak that names a loss? (docs/method.md)
LOSSES = {"T": {"length_unknown", "limit_unknown", "length_not_exact", "prefill_leg_missing", "handoff_not_seen_whole", "attempt_not_seen",
                "restart_may_be_lost"},
          "A": {"version_unknown", "version_undecided", "transfer_backend_unknown", "mode_unknown", "attempt_not_seen", "handoff_not_seen_whole",
                "restart_may_be_lost"},
          "L": {"no_page_log", "page_log_incomplete", "no_prefill_page_log", "prefill_page_log_incomplete", "no_read_logged", "pages_read_in_part",
                "write_may_be_read", "foreign_read_across_gap", "attempt_not_seen"},
          "D": {"delivery_unknown"}}


def class_of(p, totals):
    """The rules of docs/method.md, in their order. Contradictions never fall below C2."""
    no = {k for k, v in p.items() if v == "no"} - ({"T"} if not totals["trigger_stands"] else set()) - ({"A"} if not totals["build_stands"] else set())
    if p["X"] == "yes" or (p["L"] == "yes" and p["D"] == "yes"):
        return "C1"
    if p["L"] == "yes" and (p["D"] == "unknown" or p["T"] == "no" or p["A"] == "no"):
        return "C2"
    if "D" in no or p["L"] == "no" or no & {"T", "A"}:
        return "C4"
    if p["T"] == p["A"] == p["D"] == "yes":
        return "C2"
    return "C5" if p["T"] == p["L"] == p["D"] == "unknown" else "C3"


def by_the_rules(what, case):
    wrong = [(r["class"], class_of(r["predicates"], case.totals), r["predicates"]) for r in case.rows if r["class"] != class_of(r["predicates"], case.totals)]
    check(not wrong, f"{what}: {len(wrong)} classes are not what the rules make of the predicates", wrong)
    for key in "TALD":
        n = sum(r["predicates"][key] == "unknown" for r in case.rows)
        check(case.totals["unknown"][key] == n, f"{what}: {n} responses of which {key} is unknown", case.totals)


def predicates_moved(what, full, less, restart_lost):
    """Each predicate stays what it was or becomes unknown, and then a reason says why.

    restart_lost: no log that is left shows that a worker was started again, so what it ran before counts (docs/method.md).
    """
    turned, silent = [], []
    for name, values in full.aliases.items():
        again = set().union(*(less.by_alias.get(v, set()) for v in values))
        before, after = full.response.get(name, []), [r for n in again for r in less.response.get(n, [])]
        if len(before) != 1 or len(after) != 1:
            continue
        for key, reasons in LOSSES.items():
            old, new = before[0]["predicates"][key], after[0]["predicates"][key]
            if old == new or (restart_lost and key in "TA"):
                continue
            if new == "yes" and "restart_may_be_lost" in after[0]["reasons"]:
                continue  # what it ran before counts, and that another start is lost is said
            if key == "T" and new == "yes" and "prefill_leg_missing" in after[0]["reasons"]:
                continue  # every prefill worker that is still known of would have refused it
            if new != "unknown":
                turned.append((key, before[0], after[0]))
            elif not reasons & set(after[0]["reasons"]):
                silent.append((key, before[0], after[0]))
    check(not turned, f"{what}: {len(turned)} predicates say something else with less evidence", turned)
    check(not silent, f"{what}: {len(silent)} predicates became unknown, and no reason says why", silent)


def loss_named(what, less, page_logs, holes):
    """page_logs: workers that have one still; holes: those with records missing in the middle of it."""
    t = less.totals
    check(t["workers_with_page_log"] == len(page_logs), f"{what}: {len(page_logs)} workers have a page log", t)
    kinds = {}
    for g in less.gaps:
        kinds[g["kind"]] = kinds.get(g["kind"], 0) + 1
    check(t["gaps"] == kinds, f"{what}: gaps by kind", (t["gaps"], kinds))
    listed = ", ".join(f"{k} {n}" for k, n in sorted(kinds.items()))
    check((f"in the logs ({listed})" in less.said) if kinds else "in the logs (" not in less.said, f"{what}: the text names the gaps", less.said)
    u = t["unknown"]
    if any(u.values()):
        check(f"not known for want of records: the trigger of {u['T']} response" in less.said and f"the pages read of {u['L']}, delivery of {u['D']}; "
              f"{len(page_logs)} of {t['workers']} workers left a page log" in less.said, f"{what}: the text says what is unknown", less.said)
    for w in holes:
        check(any(g["kind"] == "sequence" and g["worker"] == w for g in less.gaps), f"{what}: the hole in the page log of {w}", less.gaps)


def counted_once(what, full, less):
    """What fewer logs leave is counted by more than one of them at most as often as is said; an engine's answers count by attempt."""
    least = less.totals["population"] - less.totals["counted_twice_at_most"]
    check(least <= sum(full.attempts.values()), f"{what}: {least} responses at least, with what may be counted twice", (less.totals, len(full.rows)))
    check(("may be counted twice" in less.said) == (less.totals["counted_twice_at_most"] > 0), f"{what}: the text says that some may be counted twice",
          less.said)


def marker_gone(before, after):
    """Was it confirmed by a marker, against what other records say, and is there no marker now?"""
    return all(r["predicates"]["X"] == "yes" and "no" in r["predicates"].values() for r in before if r["class"] != "C4") and not any(
        r["predicates"]["X"] == "yes" for r in after)


def again_in(full, less, values):
    """Requests of the other case that carry these aliases, which no two requests share."""
    return set().union(*(less.by_alias.get(v, set()) for v in values if len(full.by_alias[v]) == 1))


def hypothesis_again(full, less):
    """The very records that disproved the hypothesis are gone: it stands again, for the whole case."""
    return any(less.totals[part] and not full.totals[part] for part in ("trigger_stands", "build_stands"))


def nobody_cleared(what, full, less):
    cleared, unexposed = [], []
    unmarked = set()  # went with their marker
    for name, values in full.aliases.items():
        again = again_in(full, less, values)
        before = {r["class"] for r in full.response.get(name, [])}
        after = [r for n in again for r in less.response.get(n, [])]
        if after and before and "C4" not in before and all(r["class"] == "C4" for r in after):
            if marker_gone(full.response[name], after):
                unmarked.add(name)
                continue
            cleared.append([(r["request"], r["class"], r["predicates"], r["reasons"]) for r in full.response[name] + after])
    for name, values in full.aliases.items():
        again = again_in(full, less, values)
        before = full.owner.get(name)
        after = [less.owner[n] for n in again if n in less.owner]
        if before and before["class"] != "E4" and after and all(r["class"] == "E4" for r in after) and not (
                before["grade"] == "content" and not any(n in less.lost for n in again)) and not full.readers.get(name, set()) & unmarked:
            unexposed.append((before, after))
    check(not cleared, f"{what}: {len(cleared)} got into C4", cleared)
    check(not unexposed, f"{what}: {len(unexposed)} got into E4", unexposed)


def compare(what, full, less, restart_lost=False):
    check(less.whole(), f"{what}: totals add up", less.totals)
    counted_once(what, full, less)
    by_the_rules(what, less)
    predicates_moved(what, full, less, restart_lost)
    narrowed = []
    if hypothesis_again(full, less):
        return
    # requests and attempts that nothing left tells of: nobody can count them among the candidates
    forgotten, moved = 0, []
    for name, values in full.aliases.items():
        found = set().union(*(less.by_alias.get(v, set()) for v in values))
        # and those of which the earliest record is gone: the next one may be behind the read
        later = [less.first[n] for n in found]
        if later and None not in later and full.first[name] is not None and min(later) > full.first[name]:
            moved.append((full.first[name], min(later)))
        forgotten += not found or sum(less.attempts.get(n, 1) for n in found) < full.attempts.get(name, 1)
    for name, values in full.aliases.items():
        again = again_in(full, less, values)
        before, after = full.sets.get(name), [less.sets[n] for n in again if n in less.sets]
        if before and len(after) == 1 == len(again):
            bound, end = after[0]["foreign_at_most"], before["finished_at"]
            near = sum(end is None or a < end + 2 * 10**9 and b > end - 2 * 10**9 for a, b in moved)
            if after[0]["candidate_owners"] < before["candidate_owners"] - forgotten - near or (
                    bound is not None and not forgotten and (before["foreign_at_most"] is None or bound < before["foreign_at_most"])):
                narrowed.append((before, after, forgotten, near))
    check(not narrowed, f"{what}: {len(narrowed)} candidate sets got smaller", narrowed)
    nobody_cleared(what, full, less)


HALF = "half"
GATEWAYS = ("gateway.jsonl", "router.log")
ID_KEYS = (("x-request-id",), ("bootstrap_room", "gen_ai.response.id"))
STAMP = re.compile(r'^(?:\{"(?:v":1,")?ts":(\d+)|\[(\d{4}-\d\d-\d\d \d\d))')


def hour_of(line):
    """Hours since 1970 of a page record or a line of an engine's log, which is in UTC here."""
    m = STAMP.match(line)
    if not m:
        return None
    if m.group(1):
        return int(m.group(1)) // 3600
    return int(datetime.datetime.strptime(m.group(2) + "+0000", "%Y-%m-%d %H%z").timestamp()) // 3600


def busy_hours(path):
    hours = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            h = hour_of(line)
            hours[h] = hours.get(h, 0) + 1
    hours.pop(None, None)
    return hours


def cut(path, to, hour):
    """Without an hour of it; HALF: without what comes behind the middle; a tuple: without these keys of its JSON lines."""
    keep = True
    if hour == HALF:
        with open(path, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as o:
            lines = f.readlines()
            o.writelines(lines[:len(lines) // 2])
        return
    if isinstance(hour, tuple):
        with open(path, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as o:
            o.writelines(json.dumps({k: v for k, v in json.loads(line).items() if k not in hour}) + "\n" for line in f)
        return
    with open(path, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as o:
        for line in f:
            h = hour_of(line)
            keep = keep if h is None else h != hour
            if keep:
                o.write(line)


TIME = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
EPOCH = re.compile(r"\b17[89]\d{7}(?=\.)")


def clock_off(path, to, seconds):
    """The same log by a clock that is ahead: all times in it, of whatever form."""
    def moved(m):
        t = datetime.datetime.fromisoformat(m.group(0)) + datetime.timedelta(seconds=seconds)
        return t.strftime("%Y-%m-%d" + m.group(0)[10] + "%H:%M:%S")
    with open(path, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as o:
        o.write(EPOCH.sub(lambda m: str(int(m.group(0)) + seconds), TIME.sub(moved, f.read())))


class Fleet:
    def __init__(self, scenario, seed, requests, pairs, cuts, bare=0, singles=None, wrong=0, clocks=0):
        self.wrong, self.clocks = wrong, clocks
        self.name, self.pairs, self.cuts, self.bare, self.singles = f"{scenario} seed {seed}", pairs, cuts, bare, singles
        self.random = random.Random(seed)
        self.folder = tempfile.TemporaryDirectory(prefix="removal-")
        self.top = self.folder.name
        run("simulate", os.path.join(self.top, "fleet"), "--scenario", scenario, "--seed", str(seed), "--requests", str(requests))
        self.logs = os.path.join(self.top, "fleet", "logs")
        markers = os.path.join(self.top, "fleet", "markers.json")
        if os.path.exists(markers):
            shutil.copy(markers, self.logs)
        self.files = sorted(os.path.relpath(os.path.join(p, f), self.logs) for p, _, names in os.walk(self.logs) for f in names)

    def without(self, gone, replace=None, way=None, form=cut):
        """A case of the same logs without some, and with others in a shorter or another form; way: inside of what a runtime writes."""
        with tempfile.TemporaryDirectory(prefix="removal-") as top:
            logs = os.path.join(top, "logs")
            for f in self.files:
                if f in gone:
                    continue
                to = os.path.join(logs, f)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                if replace and f in replace:
                    form(os.path.join(self.logs, f), to, replace[f])
                else:
                    os.link(os.path.join(self.logs, f), to)
                if way and f.endswith((".log", ".jsonl")):
                    with open(to, "rb") as bare:
                        lines = bare.read().split(b"\n")[:-1]
                    os.unlink(to)
                    with open(to, "wb") as o:
                        o.write(way(lines, list(wrap.seen_times(lines))))
            return Case(top, logs)

    def misplaced(self, n):
        """The same logs, some under a name that is another worker's, nobody's, or in another's file."""
        logs = [f for f in self.files if f.endswith(".log") and f.split("-")[0] in ("prefill", "decode", "unified")]
        paged = [f for f in logs if f.replace(".log", ".pages.jsonl") in self.files]
        for i in range(n):
            a, b = self.random.sample(logs, 2)
            how = ("swapped", "appended", "rotated", "renamed", "merged", "renamed, page log cut")[i % 6]
            if how == "renamed, page log cut" and paged:
                a = self.random.choice(paged)
            with tempfile.TemporaryDirectory(prefix="removal-") as top:
                to = os.path.join(top, "logs")
                shutil.copytree(self.logs, to)
                x, y = os.path.join(to, a), os.path.join(to, b)
                if how == "swapped":
                    os.rename(x, x + "-")
                    os.rename(y, x)
                    os.rename(x + "-", y)
                elif how == "rotated":
                    os.rename(x, y + ".1")
                elif how.startswith("renamed"):
                    os.rename(x, os.path.join(to, "node7" + a[a.index("."):]))
                    if "cut" in how and paged:
                        pages = x.replace(".log", ".pages.jsonl")
                        with open(pages, encoding="utf-8") as f:
                            lines = f.readlines()
                        at = self.random.randrange(len(lines) // 2)
                        with open(pages, "w", encoding="utf-8") as o:
                            o.writelines(lines[:at + 1] + lines[at + 1 + len(lines) // 8:])
                else:
                    with open(x, encoding="utf-8") as f, open(y, encoding="utf-8") as g:
                        lines = [*g, *f]
                    if how == "merged":  # by time; what has none stays behind the line before it
                        times, last = [], ""
                        for line in lines:
                            last = line[1:20] if line.startswith("[2") else last
                            times.append(last)
                        lines = [line for _, line in sorted(zip(times, lines), key=lambda p: p[0])]
                    with open(y, "w", encoding="utf-8") as o:
                        o.writelines(lines)
                    os.unlink(x)
                yield f"{a} {how} with {b}", Case(top, to)

    def off(self, n):
        """Engines' logs alone, and the clocks of some of them are wrong: others measure them, or nobody knows who is right."""
        gone = [f for f in self.files if f.startswith(("gateway", "router")) or f.endswith(".pages.jsonl")]
        decode = [f for f in self.files if re.fullmatch(r"decode-[0-3]\.log", f)]
        prefill = [f for f in self.files if re.fullmatch(r"prefill-[0-3]\.log", f)]
        full = self.without(gone)
        check(not any(g["kind"] == "clock" for g in full.gaps), f"{self.name} engines' logs alone: no clock is doubtful", full.gaps)
        for i in range(n):
            which = (decode[2:3], prefill, prefill[1:2], decode[:2], prefill[:2], decode)[i % 6]
            seconds = (3600, 3600, -37, -108000, 21600, -3600)[i % 6]
            what = f"{self.name} engines' logs alone, {' and '.join(which)} by {seconds} s"
            less = self.without(gone, {f: seconds for f in which}, form=clock_off)
            nobody_cleared(what, full, less)
            told = {os.path.basename(c["path"]): c for c in less.clocks}
            doubtful = {g["worker"] for g in less.gaps if g["kind"] == "clock"}
            for f in which:
                measured = abs(told[f]["ahead_s"] - abs(seconds)) <= told[f]["bound_s"]
                check(measured or (len(which) > 2 and f.split(".")[0] in doubtful), f"{what}: {f} is measured by those who agree, or doubtful",
                      (told[f], doubtful))

    def starts(self, log, hour):
        """Is the start of a worker in what is cut out of its log?"""
        with open(os.path.join(self.logs, log), encoding="utf-8") as f:
            return any("server_args=" in line and hour_of(line) == hour for line in f)

    def goes_on(self, log, hour):
        """Is it a page log with records of the same boot after the hour that is cut out?"""
        if not log.endswith(".pages.jsonl"):
            return False
        cut_now = False
        with open(os.path.join(self.logs, log), encoding="utf-8") as f:
            for line in f:
                if hour_of(line) == hour:
                    cut_now = True
                elif cut_now and '"op":"boot"' in line:
                    cut_now = False
                elif cut_now:
                    return True
        return False

    def plans(self):
        singles = [f for f in self.files if not f.startswith("server_info")]
        for f in singles if self.singles is None else self.random.sample(singles, min(self.singles, len(singles))):
            yield f"without {f}", (f,), None
        both = list(itertools.combinations(singles, 2))
        for p in self.random.sample(both, min(self.pairs, len(both))):
            yield "without " + " and ".join(p), p, None
        for f in GATEWAYS:  # what joins the other one with the engines
            if f in singles:
                yield f"with the first half of {f}", (), {f: HALF}
        for keys in ID_KEYS:
            yield f"without the gateway's {' and '.join(keys)}", (), {GATEWAYS[0]: keys}
        workers = sorted({f.split(".")[0] for f in singles if f.endswith(".pages.jsonl")})
        for w in self.random.sample(workers, min(self.cuts, len(workers))):
            log, pages = f"{w}.log", f"{w}.pages.jsonl"
            hours = busy_hours(os.path.join(self.logs, pages))
            hour = self.random.choices(list(hours), list(hours.values()))[0]
            for files in ((log,), (pages,), (log, pages)):
                yield f"without hour {hour} of {' and '.join(files)}", (), {f: hour for f in files}

    def test(self):
        full = self.without(())
        check(full.whole(), f"{self.name}: totals add up", full.totals)
        check(not full.totals["counted_twice_at_most"], f"{self.name}: with all logs nothing is counted twice", full.totals)
        plans = [(full, *p) for p in self.plans()]
        # candidate sets are what is left without page logs
        pages = tuple(f for f in self.files if f.endswith(".pages.jsonl"))
        workers = sorted({f.split(".")[0] for f in pages if f.startswith("decode")})[:self.bare]
        bare = self.without(pages) if workers else None
        for w in workers:
            mine = tuple(f for f in self.files if f.split(".")[0] == w and f not in pages)
            plans.append((bare, f"without page logs and {' and '.join(mine)}", pages + mine, None))
            hours = busy_hours(os.path.join(self.logs, mine[0]))
            hour = self.random.choices(list(hours), list(hours.values()))[0]
            plans.append((bare, f"without page logs and hour {hour} of {mine[0]}", pages, {mine[0]: hour}))

        # the same inside of what container runtimes write
        plans += [(*p, self.random.choice(WAYS)) for p in self.random.sample(plans, min(max(self.pairs // 3, 1), len(plans)))]

        def one(plan):
            whole, what, gone, replace = plan[:4]
            way = plan[4] if len(plan) > 4 else None
            what += f", by {way.__name__}" if way else ""
            left, cuts = [f for f in self.files if f not in gone], replace or {}
            less = self.without(gone, replace, way)
            logs = {f.split(".")[0] for f in left if f.endswith(".pages.jsonl")}
            compare(f"{self.name} {what}", whole, less, any(
                self.starts(f, h) for f, h in cuts.items() if f.split(".")[0] not in logs or cuts.get(f.split(".")[0] + ".pages.jsonl") == h))
            loss_named(f"{self.name} {what}", less, logs, {f.split(".")[0] for f, h in cuts.items() if f in left and self.goes_on(f, h)})

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, plans))
        if self.clocks:
            self.off(self.clocks)
        for what, other in self.misplaced(self.wrong):
            check(other.whole(), f"{self.name} {what}: totals add up", other.totals)
            if not hypothesis_again(full, other):
                nobody_cleared(f"{self.name} {what}", full, other)
        classes = {c: full.totals[c] for c in ALL_C.split(",")}
        print(f"-- {self.name}: {len(self.files)} sources, {len(plans)} ways to lose some, {classes}", flush=True)


for i in range(ROUNDS):
    Fleet("incident", SEED + i, 300, 26, 6, 3, wrong=24, clocks=6).test()
    Fleet("late_write", SEED + 1 + i, 2000, 4, 3, wrong=6).test()
    Fleet("prefix_share", SEED + i, 100, 6, 2, wrong=6).test()
    Fleet("clean", SEED + i, 100, 6, 2, 1).test()
    Fleet("canary", SEED + i, 300, 12, 3).test()
if not ROUNDS:  # some sources of each
    few = rounds(6, 2)
    Fleet("incident", SEED, 300, few, few // 3, 1, singles=4 * few, wrong=6, clocks=few).test()
    Fleet("late_write", SEED + 1, 1000, 1, 1, singles=few).test()
    Fleet("prefix_share", SEED, 100, 1, 1, singles=max(few - 2, 1)).test()
    Fleet("clean", SEED, 100, 1, 1, 1, singles=max(few - 2, 1)).test()
    Fleet("canary", SEED, 300, 1, 1, singles=2 * few).test()
finish()
