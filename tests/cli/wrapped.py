#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# wrapped.py - logs inside of what runtimes and collectors write: the same events as bare, whose they are, and when
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import wrap
from run import PAGETRAIL, Box, expect, restamp, rounds, sums_hold

KINDS = ("boot", "leg", "gateway", "page", "load")
PLACE = ("source", "byte_off", "byte_len", "ref", "worker")
OWN = (1, 2, 3)  # stamps that the record itself carries


def events(box, case):
    """All events but for where they stand, each with its time."""
    found = []
    for kind in KINDS:
        for row in box.json("sql", case, f"SELECT * FROM {kind}_events", "--limit", "0")["rows"]:
            what = {k: v for k, v in row.items() if k not in PLACE and k not in ("ts_ns", "ts_quality")}
            found.append((json.dumps([kind, what], sort_keys=True), row["ts_ns"], row["ts_quality"]))
    return sorted(found, key=lambda e: (e[0], e[1] or 0))


def same(want, got, what):
    expect([e[0] for e in want] == [e[0] for e in got], f"{what}: the same columns of {len(want)} events, got {len(got)}")
    have = {}
    for text, ns, quality in got:
        have.setdefault(text, set()).add(ns)
    lost = [e for e in want if e[2] in OWN and e[1] not in have[e[0]]]
    expect(not lost, f"{what}: the times that records say, lost {lost[:2]}")


def ingest(box, case, *paths, code=0):
    rows = box.json("ingest", case, *paths, code=code)["rows"]
    for row in rows:
        sums_hold(row)
    return rows


def one(box, case, *paths, code=0):
    rows = ingest(box, case, *paths, code=code)
    expect(len(rows) == 1, f"one source, got {rows}")
    return rows[0]


def lines_of(path):
    return open(path, "rb").read().split(b"\n")[:-1]


def every_way(box, logs):
    n = 0
    for inner, path in logs.items():
        lines = lines_of(box.path(path))
        times = list(wrap.seen_times(lines))
        bare = f"bare-{inner}.ptc"
        expect(one(box, bare, path)["format"] == inner, inner)
        want = events(box, bare)
        for name, ways in wrap.WAYS.items():
            for way in ways:
                n += 1
                if n % rounds(1, 3):  # 23 ways of 3 logs: each way of one log at least
                    continue
                what = f"{inner} by {way.__name__}"
                box.write("x/decode-0.log", way(lines, times, chunk=200))
                row = one(box, f"w{n}.ptc", "x/decode-0.log")
                expect(row["format"] == f"{name}+{inner}", f"{what}: {name}+{inner}, got {row['format']} ({row['reason']})")
                expect(row["unparsed"] == 0, f"{what}: all understood, got {row}")
                same(want, events(box, f"w{n}.ptc"), what)
                box.run("verify", f"w{n}.ptc")
    return n


def nested(box, lines, times, want):
    """CRI in Fluent Bit in gzip; CRI behind the names that tools put before it, whose times are not those of the tools."""
    inside = wrap.cri(lines, times, chunk=300).split(b"\n")[:-1]
    data = wrap.fluentbit(inside, [t + 10**6 for t in wrap.seen_times(inside)], chunk=1 << 20)
    box.write("x/all.log.gz", gzip.compress(data))
    row = one(box, "nested.ptc", "x/all.log.gz")
    expect(row["format"] == "fluent+cri+sglang-engine", f"both wrappers, got {row['format']}")
    same(want, events(box, "nested.ptc"), "nested")
    for way, prefix in ((wrap.compose, b"decode-0-1 | "), (wrap.kubectl, b"[pod/decode-0/engine] "), (wrap.stern, b"decode-0 engine ")):
        box.write("x/named.log", b"".join(prefix + line + b"\n" for line in inside))
        row = one(box, f"named-{way.__name__}.ptc", "x/named.log")
        expect(row["format"] == "container-logs+cri+sglang-engine" and not row["unparsed"], f"{prefix}: both wrappers, got {row}")
        same(want, events(box, f"named-{way.__name__}.ptc"), f"{prefix}")


def asked(box, lines, times, want):
    """--format takes a stack, or what is in it, or its wrappers."""
    box.write("x/asked.log", wrap.cri(lines, times, chunk=300))
    for name, format_ in (("a", "cri+sglang-engine"), ("b", "sglang-engine"), ("c", "cri")):
        row = one(box, f"asked-{name}.ptc", "x/asked.log", "--format", format_)
        expect(row["format"] == "cri+sglang-engine", f"--format {format_}: got {row['format']}")
        same(want, events(box, f"asked-{name}.ptc"), f"--format {format_}")
        row = one(box, f"asked-{name}.ptc", "x/asked.log", "--format", format_)
        expect(row["status"] == "known", f"--format {format_} again: known, got {row['status']}")
    for wrong in ("cri+", "sglang-engine+cri", "cri+nothing", "cri+sglang-server-info"):
        box.run("ingest", "asked-d.ptc", "x/asked.log", "--format", wrong, code=2)
    out = box.run("formats", "test", "x/asked.log").stdout.decode()
    expect("cri+sglang-engine" in out, f"formats test says the stack, got {out}")
    out = box.run("formats", "explain", "x/asked.log").stdout.decode()
    expect("wrapper: cri" in out and "format: cri+sglang-engine" in out, f"formats explain says the wrapper, got {out[:800]}")
    expect("  none: formats bid for what stands in the wrapper" in out, f"nobody bids for the lines themselves, got {out[:800]}")
    out = box.run("formats", "list").stdout.decode()
    for name in wrap.WAYS:
        expect(name in out, f"formats list names {name}")


def whose(box, lines, times):
    """Several pods in one file: each event is its pod's; roles and names that were given count."""
    half = len(lines) // 2
    for way in (wrap.kubectl, wrap.otlp, wrap.logcli_jsonl, wrap.fluentbit):
        data = way(lines[:half], times[:half], pod="prefill-7") + way(lines[half:], times[half:], pod="decode-9")
        data += way([b"nothing that anybody knows"] * 5, times[:5], pod="other-1")
        box.write("x/pods.log", data)
        case = f"whose-{way.__name__}.ptc"
        row = one(box, case, "x/pods.log")
        expect(row["unparsed"] == (0 if way is wrap.kubectl else 5) or row["unparsed"] == 5, f"{case}: {row['unparsed']} unparsed")
        names = {r["worker"] for k in KINDS for r in box.json("sql", case, f"SELECT DISTINCT worker FROM {k}_events")["rows"]}
        expect(names == {"prefill-7", "decode-9"}, f"{way.__name__}: the pods, got {names}")
        known = {w["worker"] for w in box.json("info", case)["workers"]}
        expect({"prefill-7", "decode-9"} <= known, f"{way.__name__}: workers, got {known}")
    box.write("x/one.log", wrap.kubectl(lines, times, pod="decode-9"))
    row = one(box, "one.ptc", "x/one.log")
    expect(row["worker"] == "decode-9" and row["worker_basis"] == "wrapper", f"the pod, by the wrapper: {row}")
    box.write("s.csv", "glob,worker,role,tz,format\none.log,,decode,,\n")
    one(box, "role.ptc", "x/one.log", "--sources", "s.csv")
    roles = {w["worker"]: w["role"] for w in box.json("info", "role.ptc")["workers"]}
    expect(roles.get("decode-9") == "decode", f"the role that was given, got {roles}")
    row = one(box, "said.ptc", "x/one.log", "--worker", "mine")
    expect(row["worker"] == "mine" and row["worker_basis"] == "option", f"the name that was given: {row}")
    names = {r["worker"] for k in KINDS for r in box.json("sql", "said.ptc", f"SELECT DISTINCT worker FROM {k}_events")["rows"]}
    expect("decode-9" not in names, f"the wrapper is not asked then, got {names}")

    # compose puts a number behind the name that a page log has: told, and joined only where somebody says so
    shutil.copy(box.path("r/logs/decode-0.pages.jsonl"), box.path("x/decode-0.pages.jsonl"))
    box.write("x/two.log", wrap.compose(lines, times, name="decode-0-1"))
    for case, args, told in (("two.ptc", (), 1), ("joined.ptc", ("--worker", "decode-0"), 0)):
        ingest(box, case, "x/two.log", *args)
        ingest(box, case, "x/decode-0.pages.jsonl")
        gaps = [g for g in box.json("gaps", case, code=(0, 1))["rows"] if "may be of one worker" in g["effect"]]
        expect(len(gaps) == told and all("decode-0-1" in g["effect"] and g["worker"] == "decode-0" and g["refs"] for g in gaps),
               f"{case}: two names that may be one worker's, got {gaps}")


def zones(box, lines):
    """Local times inside of a wrapper that says UTC tell the zone; a zone that was given is kept."""
    lines = [line for line in lines if b"batch" in line]  # others hold epoch times, which tell it themselves
    for hours in (8, -5, 0):
        times = list(wrap.seen_times(lines, offset_s=hours * 3600))
        box.write("x/zone.log", wrap.docker(lines, times))
        case = f"zone{hours}.ptc"
        row = one(box, case, "x/zone.log")
        sign = "+" if hours >= 0 else "-"
        expect(row["tz_basis"] == f"wrapper {sign}{abs(hours):02d}:00", f"zone {hours}: got {row['tz_basis']}")
        clocks = box.json("info", case)["clocks"]
        expect([c["offset_s"] for c in clocks] == [hours * 3600], f"zone {hours}: clocks {clocks}")
    row = one(box, "given.ptc", "x/zone.log", "--tz", "+01:00")
    expect(row["tz_basis"] == "option", f"the zone that was given, got {row['tz_basis']}")
    times = [t + i % 7 * 1800 * 10**9 for i, t in enumerate(wrap.seen_times(lines))]
    box.write("x/late.log", wrap.docker(lines, times))
    row = one(box, "late.ptc", "x/late.log")
    expect(row["tz_basis"] == "assumed", f"what was seen at any time tells no zone, got {row['tz_basis']}")


def references(box, lines, times):
    """A reference names the original bytes of all lines that made the record; grep finds these lines."""
    data = wrap.cri(lines, times, chunk=100)
    box.write("x/refs.log", data)
    one(box, "refs.ptc", "x/refs.log")
    rows = box.json("sql", "refs.ptc", "SELECT ref, byte_off, byte_len, rid FROM leg_events WHERE rid IS NOT NULL")["rows"]
    expect(len(rows) > 20, "requests with ids")
    for row in rows[:20]:
        out = box.run("show", "refs.ptc", row["ref"]).stdout
        raw = data[row["byte_off"]:row["byte_off"] + row["byte_len"]]
        text = b"".join(line.split(b" ", 3)[3] for line in raw.split(b"\n") if line)
        expect(row["rid"].encode() in text, f"{row['ref']} holds its id")
        expect(raw.split(b"\n")[0] in out, f"show prints the original line of {row['ref']}")
    found = box.json("grep", "refs.ptc", "stderr P ")["rows"]
    expect(found, "grep finds the wrapper's own words")


def salvaged(box, lines, times):
    """Events that a damaged case lost are made again from the wrapped bytes: the same ones, of the same pods."""
    box.write("v/pods.log", b"".join(wrap.otlp(lines, times, pod=pod) for pod in ("decode-1", "decode-2"))
              + wrap.otlp([b"nothing that anybody knows"] * 5, times[:5], pod="other-1"))
    box.write("v/cri.log", wrap.cri(lines, times, chunk=150))
    ingest(box, "good.ptc", "v")
    everything = lambda case: [sorted(json.dumps(r, sort_keys=True) for r in box.json(
        "sql", case, f"SELECT * FROM {kind}_events", "--limit", "0")["rows"]) for kind in KINDS]
    want = everything("good.ptc")
    shutil.copy(box.path("good.ptc"), box.path("bad.ptc"))
    db = sqlite3.connect(box.path("bad.ptc"))
    n = db.execute("UPDATE event_chunk SET data = zeroblob(length(data)) WHERE kind BETWEEN 0 AND 63").rowcount
    db.commit()
    db.close()
    restamp(box.path("bad.ptc"))
    expect(n > 4, f"chunks of events, got {n}")
    box.run("salvage", "bad.ptc", "new.ptc", code=1)
    expect(everything("new.ptc") == want, "salvage makes the same events of wrapped sources")


def wait_for(done, p):
    until = time.time() + 60
    while not done() and p.poll() is None and time.time() < until:
        time.sleep(0.002)


def stopped(box, lines, times):
    """Killed in the middle, gone on; grown; by any number of jobs: the same case."""
    for way in (wrap.cri, wrap.journal_export, wrap.otlp)[:rounds(3, 1)]:
        data = way(lines, times, chunk=150) * 4
        file = box.write("k/big.log", data)
        want = None
        for jobs in ("1", "2", "3"):
            one(box, f"jobs{jobs}-{way.__name__}.ptc", "k/big.log", "--jobs", jobs)
            digest = box.json("verify", f"jobs{jobs}-{way.__name__}.ptc")["content_digest"]
            expect(want in (None, digest), f"{way.__name__}: {jobs} jobs make the same case")
            want = digest
        killed = 0
        for k in range(rounds(4, 2)):
            case = f"kill{k}-{way.__name__}.ptc"
            p = subprocess.Popen([os.path.abspath(PAGETRAIL), "ingest", case, file], cwd=box.dir, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            path = box.path(case)
            wait_for(lambda: os.path.exists(path), p)
            time.sleep(0.01 * k)
            p.send_signal(signal.SIGKILL)
            killed += p.wait() == -signal.SIGKILL
            one(box, case, file)
            digest = box.json("verify", case)["content_digest"]
            box.run("verify", case)
            whole = f"whole{k}-{way.__name__}.ptc"
            one(box, whole, file)
            expect(digest == box.json("verify", whole)["content_digest"], f"{way.__name__}: killed and gone on is the same case")
        expect(killed, f"{way.__name__}: at least one run was killed")
        # grown in the middle of a record in pieces
        for at in (len(data) // 3, len(data) - 40):
            case = f"grown{at}-{way.__name__}.ptc"
            box.write("g/big.log", data[:at])
            ingest(box, case, "g/big.log")
            box.write("g/big.log", data)
            ingest(box, case, "g/big.log")
            box.write("h/big.log", data)
            shutil.rmtree(box.path("g"))
            os.rename(box.path("h"), box.path("g"))
            one(box, f"of-{case}", "g/big.log")
            expect(box.json("verify", case)["content_digest"] == box.json("verify", f"of-{case}")["content_digest"],
                   f"{way.__name__}: grown from {at} is the same case")


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--seed", "3", "--requests", "400")
    logs = {"sglang-engine": "r/logs/decode-0.log", "sglang-router": "r/logs/router.log", "gateway-json": "r/logs/gateway.jsonl"}
    n = every_way(box, logs)
    expect(n == 69, f"23 ways of 3 logs, got {n}")
    engine = lines_of(box.path(logs["sglang-engine"]))
    times = list(wrap.seen_times(engine))
    want = events(box, "bare-sglang-engine.ptc")
    nested(box, engine, times, want)
    asked(box, engine, times, want)
    whose(box, engine, times)
    zones(box, engine)
    references(box, engine, times)
    salvaged(box, engine, times)
    stopped(box, engine, times)

# one line in pieces that holds two records, neither of them understood: both are counted, in the same bytes
with Box() as box:
    head = "2026-09-14T03:12:4%d.003456789Z stdout %s %s\n"
    whole = "[2026-09-14 03:12:4%d TP0] The server is fired up and ready to roll!"
    with open(box.path("torn.log"), "w", encoding="utf-8") as f:
        for i in range(8):
            f.write(head % (i, "F", whole % i))
        for i in range(3):
            f.write(head % (8, "P", "words of nobody [2026-09-14 03:12:48 TP0] Input length (700123 tokens) exceeds "))
            f.write("2026-09-14T03:12:48.003456789Z stderr F a line between\n")
            f.write(head % (8, "F", "nothing that anybody knows"))
    row = one(box, "torn.ptc", "torn.log")
    expect(row["format"] == "cri+sglang-engine" and row["unparsed"] == 9, f"two records in each line, got {row}")
    shapes = box.json("query", "torn.ptc", "unparsed_shapes")["rows"]
    expect(sum(s["records"] for s in shapes) == row["unparsed"], f"each of them counted, got {shapes}")
    expect(sum(s["bytes"] for s in shapes) == row["bytes_unparsed"], f"and each byte, got {shapes}")
