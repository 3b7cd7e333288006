# SPDX-License-Identifier: Apache-2.0
# bars.py - each bar as rows: our command, the baseline's, the ratio of their medians
#
# A group is a function of the bench that gives rows; it measures what belongs together in turn.
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import baselines
import marker_logs
from measure import Command

FASTER, MOST, LEAST = "faster", "at most", "at least"
MAIN = ("pagelog", "engine", "gateway")


class Row:
    """kind FASTER: ratio is baseline/ours; MOST: ours/baseline or a plain value; LEAST: a plain value. bar None: for information.
    later: shown, but no reason to fail."""

    def __init__(self, what, data, kind, bar=None, stretch=None, unit="x", later=False):
        self.what, self.data, self.kind, self.bar, self.stretch, self.unit, self.later = what, data, kind, bar, stretch, unit, later
        self.ours = self.base = self.note = ""
        self.ratio, self.wrong, self.command = None, None, None

    def times(self, ours, base):
        """From two Series."""
        self.command = ours.command
        for s in (ours, base):
            if s.failed or not s.n:
                self.note = s.failed or "not run"
                return self
        self.ours, self.base = seconds(ours.median), seconds(base.median)
        if base.n < ours.n:
            self.base += f" (n={base.n})"
        self.ratio = base.median / ours.median if self.kind == FASTER else ours.median / base.median
        return self

    def value(self, value, ours="", base=""):
        self.ratio, self.ours, self.base = value, ours, base
        return self

    def say(self, note):
        self.note = note
        return self

    @property
    def verdict(self):
        if self.wrong:
            return "missed"
        if self.ratio is None:
            return "not measured"
        if self.bar is None:
            return ""

        def within(limit):
            return limit is not None and (self.ratio <= limit if self.kind == MOST else self.ratio >= limit)
        return "stretch" if within(self.stretch) else "met" if within(self.bar) else "below" if self.later else "missed"


def seconds(s):
    return f"{s:.3f} s" if s < 10 else f"{s:.1f} s"


def mb(n):
    return f"{n / 1e6:.2f} MB" if n < 1e8 else f"{n / 1e6:.0f} MB"


class Bench:
    def __init__(self, args, folder, meter, sets):
        self.args, self.folder, self.meter, self.sets = args, folder, meter, sets
        self.peaks, self.cases = {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def note(self, text):
        if self.args.verbose:
            print(text, file=sys.stderr, flush=True)

    def have(self, names):
        return [n for n in names if n in self.sets and (not self.args.data or n in self.args.data)]

    def remove(self, path):
        for end in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(path + end):
                os.remove(path + end)

    def ingest(self, case, paths, jobs=2):
        return Command([self.args.pagetrail, "ingest", case, *paths, "--jobs", str(jobs)], before=lambda: self.remove(case), codes=(0,))

    def case(self, name):
        """The case of a set, made when nothing has made it yet."""
        if name not in self.cases:
            self.cases[name] = self.path(name + ".ptc")
            s = self.sets[name]
            self.meter.once(self.ingest(self.cases[name], [s["folder"]] if "folder" in s else s["files"]))
        return self.cases[name]

    def ask(self, *argv, codes=(0, 1)):
        return Command([self.args.pagetrail, *argv], codes=codes)

    def turns(self, what, commands):
        self.note(f"  {what}: {', '.join(commands)}")
        return self.meter.turns(commands, self.args.runs)


def missing(row, e):
    return row.say(str(e))


def digest(b, case):
    b.meter.once(b.ask("verify", case, "--json", codes=(0,)))
    return json.loads(b.meter.text())["content_digest"]


def ingest(b):
    """Our own times: against SHA-256 of the same bytes, in peak memory, with size, with number of files, with jobs."""
    rows = []
    for name in b.have(MAIN + ("traces", "router", "metrics", "fleet")):
        s, title, case = b.sets[name], b.sets[name]["title"], b.path(name + ".ptc")
        paths = [s["folder"]] if "folder" in s else s["files"]
        runs = {"two": b.ingest(case, paths)}
        against = Row("ingest against `openssl dgst -sha256`", title, MOST, 3.5, 2)
        try:
            runs["sha"] = Command([baselines.need("openssl"), "dgst", "-sha256", *s["files"]])
        except baselines.Missing as e:
            missing(against, e)
        if name in MAIN:
            runs["one"] = b.ingest(b.path("one-job.ptc"), paths, jobs=1)
            runs["parts"] = b.ingest(b.path("parts.ptc"), [s["parts"]])
            runs["tenth"] = b.ingest(b.path("tenth.ptc"), [s["tenth"]])
        t = b.turns(f"ingest {title}", runs)
        b.cases[name] = case
        if "sha" in t:
            against.times(t["two"], t["sha"])
            if against.ratio:
                against.note = f"{s['bytes'] / t['two'].median / 1e6:.0f} MB/s"
        rows.append(against)
        peak = max(t[k].peak_mib for k in ("two", "parts") if k in t and t[k].n)
        rows.append(Row("peak memory of ingest", f"{title}, {mb(s['bytes'])}", MOST, 256, 128, " MiB").value(peak, f"{peak:.0f} MiB"))
        if name not in MAIN:
            continue
        size = sum(map(os.path.getsize, s["files"])) / os.path.getsize(s["tenth"])
        rows.append(Row("10 times the input", title, MOST, 10.5).times(t["two"], t["tenth"]))
        rows[-1].say(f"{size:.2f} times the bytes")
        rows.append(Row("64 files against one of the same bytes", title, MOST, 1.1).times(t["parts"], t["two"]))
        row = Row("2 jobs against 1", title, FASTER, 1.6, 1.8).times(t["two"], t["one"])
        if b.args.clock == "cpu":
            row.ratio = None
            row.say("CPU seconds cannot show it")
        one, two = digest(b, b.path("one-job.ptc")), digest(b, case)
        if one != two:
            row.wrong = "content digests differ"
        row.note = row.wrong or (row.note + "; " if row.note else "") + "same content digest"
        rows.append(row)
        for other in ("one-job", "parts", "tenth"):
            b.remove(b.path(other + ".ptc"))
    return rows


def load(b):
    """Ingest against what one would do without us; slow ones on a smaller file of the same shape, ours on the same."""
    rows = []
    for name in b.have(MAIN):
        s, title, log = b.sets[name], b.sets[name]["title"], b.sets[name]["slow"]
        db, config = b.path("load.db"), baselines.lnav_config(b.folder)
        python = "Python json + sqlite3" if s.get("json") else "Python re + sqlite3"
        shell = "`sqlite3 .import` + " + ("json_extract" if s.get("json") else "substr")
        wanted = {
            "python": (Row(f"ingest against {python}", title, FASTER, 10, 18),
                       lambda: Command(baselines.python_load(name, log, db), before=lambda: b.remove(db), codes=(0,))),
            "sqlite": (Row(f"ingest against {shell}", title, FASTER, 5, 9),
                       lambda: Command([baselines.need("sqlite3"), db], script=baselines.sqlite_load(name, log),
                                       before=lambda: b.remove(db), codes=(0,))),
            "lnav": (Row("ingest against `lnav -n`, index and count", title, FASTER, 4, 6),
                     lambda: Command(baselines.lnav_count(config, name, [log]), env={"HOME": config}, codes=(0,))),
        }
        runs = {"ours": b.ingest(b.path("load.ptc"), [log])}
        for key, (row, make) in wanted.items():
            try:
                runs[key] = make()
            except baselines.Missing as e:
                missing(row, e)
        t = b.turns(f"load {title}", runs)
        for key, (row, _) in wanted.items():
            if key in t:
                row.times(t["ours"], t[key])
                row.note = row.note or f"both on {mb(os.path.getsize(log))}"
            rows.append(row)
        b.remove(db)
        b.remove(b.path("load.ptc"))
    return rows


def zstd_of(b, name):
    """Sizes of `zstd -3` of a set's files, summed; the files stay for `rg -z`."""
    total, files = 0, []
    for i, log in enumerate(b.sets[name]["files"]):
        out = b.path(f"{name}-{i}.zst")
        if not os.path.exists(out):
            subprocess.run([baselines.need("zstd"), "-3", "-q", "-f", log, "-o", out], check=True)
        total += os.path.getsize(out)
        files.append(out)
    return total, files


def beside(case):
    """What is in the file beside chunks, when the sqlite3 shell can say it."""
    try:
        out = subprocess.run([baselines.need("sqlite3"), "-readonly", case, "SELECT coalesce(tbl_name, d.name), sum(pgsize) FROM dbstat d "
                              "LEFT JOIN sqlite_schema s USING(name) WHERE d.name NOT LIKE '%\\_chunk' ESCAPE '\\' GROUP BY 1 ORDER BY 2 DESC LIMIT 4"],
                             capture_output=True, text=True)
    except baselines.Missing:
        return ""
    return ", ".join(f"{name} {mb(int(n))}" for name, n in (line.split("|") for line in out.stdout.split()) if int(n) > 100000)


def size(b):
    rows = []
    for name in b.have(MAIN + ("traces", "router", "metrics", "fleet")):
        title = b.sets[name]["title"]
        limits = (0.40, 0.30) if name in ("pagelog", "traces") else (0.60, 0.45)
        row = Row("events and evidence against `zstd -3`", title, MOST, *limits)
        rows.append(row)
        try:
            packed, _ = zstd_of(b, name)
        except baselines.Missing as e:
            missing(row, e)
            continue
        case = b.case(name)
        c = sqlite3.connect(f"file:{case}?mode=ro", uri=True)
        held = [c.execute(f"SELECT coalesce(sum(length(data)), 0) FROM {t}").fetchone()[0] for t in ("event_chunk", "evidence_chunk")]
        c.close()
        whole = os.path.getsize(case)
        row.value(sum(held) / packed, mb(sum(held)), mb(packed))
        row.say(f"events {mb(held[0])}, evidence {mb(held[1])}; raw {mb(b.sets[name]['bytes'])}")
        rows.append(Row("whole case file against `zstd -3`", title, MOST).value(whole / packed, mb(whole), mb(packed)).say(beside(case)))
    return rows


def verify(b):
    rows = []
    for name in b.have(MAIN + ("fleet",)):
        row = Row("`verify` against `sha256sum` of the raw logs", b.sets[name]["title"], MOST, 1, 0.6)
        rows.append(row)
        try:
            runs = {"ours": b.ask("verify", b.case(name), codes=(0,)),
                    "sha": Command([baselines.need("sha256sum"), *b.sets[name]["files"]])}
        except baselines.Missing as e:
            missing(row, e)
            continue
        t = b.turns(f"verify {name}", runs)
        row.times(t["ours"], t["sha"])
    return rows


def an_id(path, key):
    """An identifier from the middle of a log."""
    with open(path, "rb") as f:
        f.seek(os.path.getsize(path) // 2)
        f.readline()
        for line in f:
            at = line.find(key.encode())
            if at >= 0:
                rest = line[at + len(key):]
                return rest[:min(i for i in (rest.find(c) for c in (b'"', b",", b")", b" ", b"\n")) if i >= 0)].decode()
    return ""


ID_KEY = {"pagelog": '"rid":"', "engine": "rid=", "gateway": '"x-request-id":"'}
PATTERNS = {
    "pagelog": [("a rare word", '"op":"boot"'), ("alternation", '"op":"(?:zero|reset|boot)"|"peer":"prefill-9"'),
                ("no literal", r"\[\d+,17\d\]"), ("matches a fifth", '"op":"read"')],
    "engine": [("a rare word", "max_total_num_tokens"), ("alternation", "Traceback|[Ee]xceeds|Rejected|Aborted"),
               ("no literal", r"\b1[5-7]\d{4}, "), ("matches most", "Decode batch|Prefill batch|ReqTimeStats")],
    "gateway": [("a rare word", '"tenant_id":"tenant-39"'), ("alternation", '"response_code":(?:4\\d\\d|5\\d\\d)|"response_flags":"UC"'),
                ("no literal", r":\d{6},.*:\d\d,"), ("matches half", '"stream":true')],
}


def grep(b):
    rows = []
    for name in b.have(MAIN):
        title, key = b.sets[name]["title"], ID_KEY[name]
        patterns = [("an id", an_id(b.sets[name]["files"][0], key))] + PATTERNS[name]
        for label, pattern in patterns:
            row = Row(f"regex, {label}, against `rg -z`", title, MOST, 1.5, 1)
            rows.append(row)
            try:
                runs = {"ours": b.ask("grep", b.case(name), pattern, "--jsonl", "--columns", "ref,text", codes=(0,)),
                        "rg": Command([baselines.need("rg"), "-z", "--no-config", "-e", pattern, *zstd_of(b, name)[1]])}
            except baselines.Missing as e:
                missing(row, e)
                continue
            t = b.turns(f"grep {name} {label}", runs)
            counts = [sum(1 for _ in s.lines()) for s in t.values()]
            row.times(t["ours"], t["rg"]).say(row.note or f"{counts[0]} records")
            if counts[0] != counts[1]:
                row.wrong = row.note = f"{counts[0]} records, rg finds {counts[1]}"
    return rows


def lineage(b):
    rows = []
    for name in b.have(("pagelog", "traces")):
        log = b.sets[name]["files"][0]
        rid = an_id(log, '"op":"read","rid":"')
        row = Row("lineage of one request against `rg` of its id", b.sets[name]["title"], MOST, 0.25)
        rows.append(row)
        try:
            runs = {"ours": b.ask("lineage", b.case(name), rid), "rg": Command([baselines.need("rg"), "--no-config", "-F", rid, log])}
        except baselines.Missing as e:
            missing(row, e)
            continue
        t = b.turns(f"lineage {name}", runs)
        row.times(t["ours"], t["rg"]).say(row.note or f"raw log {mb(os.path.getsize(log))}")
    return rows


def exposures(b):
    rows = []
    for name in b.have(("reads", "traces-reads")):
        log, db = b.sets[name]["files"][0], b.path("pages.db")
        row = Row("all foreign reads against SQL window functions", b.sets[name]["title"], FASTER, 50, 100)
        rows.append(row)
        try:
            b.remove(db)
            b.meter.once(Command([sys.executable, os.path.join(baselines.HERE, "load_pages.py"), log, db], codes=(0,)))
            touches = int(b.meter.text())
            with open(os.path.join(baselines.HERE, "foreign_reads.sql"), encoding="utf-8") as f:
                runs = {"ours": b.ask("exposures", b.case(name), "--jsonl", "--limit", "0"),
                        "sql": Command([baselines.need("sqlite3"), db], script=f.read(), codes=(0,))}
        except baselines.Missing as e:
            missing(row, e)
            continue
        t = b.turns(f"exposures {name}", runs)
        ours = {(r["worker"], r["reader_request"] or "", r["owner_request"] or "", r["kind"], str(r["pages"]))
                for r in map(json.loads, t["ours"].lines())}
        theirs = {tuple(line.split("|")) for line in t["sql"].lines()}
        row.times(t["ours"], t["sql"]).say(row.note or f"{touches} page touches, {len(ours)} answers, the same")
        if ours != theirs:
            row.wrong = row.note = f"answers differ: {len(ours)} ours, {len(theirs)} of SQL, {len(ours & theirs)} in both"
        b.remove(db)
    return rows


def duckdb(b):
    rows = []
    for name in b.have(("pagelog", "gateway")):
        s, log = b.sets[name], b.sets[name]["files"][0]
        column = {"pagelog": "op", "gateway": "response_code"}[name]
        ours = {"pagelog": "SELECT op, count(*) FROM page_events GROUP BY 1",
                "gateway": "SELECT status, count(*) FROM gateway_events GROUP BY 1"}[name]
        one = Row("ingest against DuckDB read_json into a table", s["title"], FASTER)
        two = Row("one aggregate: `sql` on the case against DuckDB read_json", s["title"], FASTER)
        rows += [one, two]
        if not b.duckdb.version:
            one.note = two.note = f"not to be had here: {b.duckdb.reason}"
            continue
        source = f"read_json('{log}', format='newline_delimited')"
        runs = {"ingest": b.ingest(b.path("duck.ptc"), [log]),
                "load": Command(b.duckdb.command(), script=f"CREATE TABLE t AS SELECT * FROM {source}; SELECT count(*) FROM t", codes=(0,)),
                "sql": b.ask("sql", b.case(name), ours, codes=(0,)),
                "query": Command(b.duckdb.command(), script=f"SELECT {column}, count(*) FROM {source} GROUP BY 1", codes=(0,))}
        t = b.turns(f"duckdb {name}", runs)
        one.times(t["ingest"], t["load"]).say(one.note or "DuckDB keeps no evidence and hashes nothing")
        two.times(t["sql"], t["query"])
        b.remove(b.path("duck.ptc"))
    return rows


def parse(b):
    """Parsing alone, one thread, records in memory."""
    rows = []
    program = b.args.parse or os.path.join(os.path.dirname(os.path.abspath(b.args.pagetrail)), "..", "..", "tests", "bench-parse")
    for name in b.have(MAIN + ("router", "metrics")):
        s = b.sets[name]
        row = Row(f"parsing alone, {s['parser']}", s["title"], LEAST, 200 if s.get("json") else 300, unit=" MB/s", later=True)
        rows.append(row)
        if not os.path.exists(program):
            row.note = "bench-parse is not built"
            continue
        b.meter.once(Command([program, s["parser"], s["slow"], str(b.args.runs)], codes=(0,)))
        r = json.loads(b.meter.text())
        row.value(r["mb_per_s"], f"{r['mb_per_s']:.0f} MB/s").say(f"{r['records']} records, {r['events']} events, median of CPU time")
    return rows


def sweep(b):
    """The lineage sweep alone, one thread, page events made in memory."""
    beside = os.path.dirname(b.args.parse) if b.args.parse else os.path.join(os.path.dirname(os.path.abspath(b.args.pagetrail)), "..", "..", "tests")
    program = os.path.join(beside, "bench-sweep")
    events = 1000000 if b.args.quick else 10000000
    data = f"{events / 1e6:.0f} M page events"
    took, peak = Row("lineage sweep alone", data, MOST, 10 * events / 1e7, unit=" s"), Row("peak memory of the sweep", data, MOST, 256, unit=" MiB")
    tenth = Row("10 times the page events", data, MOST, 10.5)
    if not os.path.exists(program):
        took.note = peak.note = tenth.note = "bench-sweep is not built"
        return [took, peak, tenth]
    runs = []
    for n in (events // 10, events):
        tries = []
        for _ in range(b.args.runs):
            b.meter.once(Command([program, str(n)], codes=(0,)))
            tries.append(json.loads(b.meter.text()))
        runs.append(sorted(tries, key=lambda r: r["seconds"])[len(tries) // 2])
    small, large = runs
    took.value(large["seconds"], f"{large['seconds']:.2f} s").say(f"{large['touches'] / 1e6:.0f} M page touches, {large['readers']} readers found, as made")
    peak.value(large["peak_mib"], f"{large['peak_mib']:.0f} MiB")
    tenth.value(large["seconds"] / small["seconds"], f"{large['seconds']:.2f} s", f"{small['seconds']:.2f} s")
    return [took, peak, tenth]


def big(b):
    """Ten times as much again, on request: memory and time."""
    rows = []
    for name in b.have(("big",)):
        s = b.sets[name]
        t = b.turns("ten times the page log", {"ours": b.ingest(os.path.join(b.args.place, "big.ptc"), s["files"]),
                                                  "small": b.ingest(b.path("small.ptc"), b.sets["pagelog"]["files"])})
        peak = t["ours"].peak_mib
        rows.append(Row("peak memory of ingest", f"page log, {mb(s['bytes'])}", MOST, 256, 128, " MiB").value(peak, f"{peak:.0f} MiB"))
        rows.append(Row("10 times the input", f"page log, {mb(s['bytes'])}", MOST, 10.5).times(t["ours"], t["small"]))
        rows[-1].say(f"{s['bytes'] / b.sets['pagelog']['bytes']:.2f} times the bytes")
        b.remove(os.path.join(b.args.place, "big.ptc"))
        b.remove(b.path("small.ptc"))
    return rows


def many_requests(path, n, begin=1788000000, served=True):
    """Access lines of a gateway in JSON, twenty requests a second; or those of requests that failed."""
    status, sent, tokens = (200, 1, 1) if served else (503, 0, 0)
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begin + i // 20)) if i % 20 == 0 else at
            f.write(f'{{"start_time":"{at}.{i % 20 * 50:03d}Z","method":"POST","request.path":"/v1/chat/completions","protocol":"HTTP/1.1",'
                    f'"response_code":{status},"response_flags":"-","bytes_received":{4000 + i % 977},"bytes_sent":{(800 + i % 313) * sent},'
                    f'"duration":{300 + i % 7000},"x-request-id":"bench-{i:08x}{i * 2654435761 % 2**32:08x}","tenant_id":"tenant-{i % 40:02d}",'
                    f'"gen_ai.request.model":"model-a","gen_ai.usage.input_tokens":{1000 + i * 7919 % 600000},"gen_ai.usage.output_tokens":{(10 + i % 500) * tokens}}}\n')


def uncached(path):
    """Lets the system forget a file, so that the next one reads it from its disk."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def requests(b):
    """A case of very many requests: the classes of all, and one of them, the file not in memory."""
    n = 200000 if b.args.quick else 5000000
    log, case, title = b.path("requests.jsonl"), b.path("requests.ptc"), f"{n / 1e6:.1f} M requests"
    many_requests(log, n)
    read = b.meter.once(b.ingest(case, [log]))
    os.remove(log)
    i = n // 2
    forget = lambda: uncached(case)
    scope, one = b.ask("scope", case), b.ask("lineage", case, f"bench-{i:08x}{i * 2654435761 % 2**32:08x}")
    scope.before = one.before = forget
    t = b.turns("scope and lineage of very many requests", {"scope": scope, "lineage": one})
    rows = []
    for what, key, bar in (("scope, file not in memory", "scope", 5000), ("lineage of one request, file not in memory", "lineage", 100)):
        row = Row(what, title, MOST, bar, unit=" ms")
        rows.append(row)
        if t[key].failed or not t[key].n:
            row.note = t[key].failed or "not run"
            continue
        row.command = t[key].command
        row.value(1000 * t[key].median, seconds(t[key].median))
        rows.append(Row(f"peak memory of {key}", title, MOST, 256, unit=" MiB").value(t[key].peak_mib, f"{t[key].peak_mib:.0f} MiB"))
    rows.append(Row("peak memory of ingest", title, MOST, unit=" MiB").value(read.peak_mib, f"{read.peak_mib:.0f} MiB"))
    b.remove(case)
    return rows


def reports(b):
    """All papers of the rehearsal incident, whose 155 over-limit responses are among a million: the others failed after it."""
    n = 20000 if b.args.quick else 992000
    logs, case, title = b.path("papers"), b.path("papers.ptc"), f"155 affected of {(n + 8406) / 1e6:.2f} M"
    subprocess.run([b.args.pagetrail, "simulate", logs, "--seed", "7"], check=True, capture_output=True)
    many_requests(os.path.join(logs, "logs", "gateway-2.jsonl"), n, begin=1789100000, served=False)
    b.meter.once(b.ingest(case, [os.path.join(logs, "logs")]))
    shutil.rmtree(logs)
    out, key = b.path("papers.out"), b.path("papers.key")
    subprocess.run([b.args.pagetrail, "report", case, "--all", "--out", out, "--audience", "bench", "--new-case-key", key], check=True, capture_output=True)
    every = Command([b.args.pagetrail, "report", case, "--all", "--out", out, "--audience", "bench", "--case-key", key])
    t = b.turns("every paper of an incident", {"report": every})
    row = Row("`report --all`", title, MOST, 10000, unit=" ms")
    if t["report"].failed or not t["report"].n:
        row.note = t["report"].failed or "not run"
    else:
        row.command = t["report"].command
        row.value(1000 * t["report"].median, seconds(t["report"].median))
    shutil.rmtree(out)
    os.remove(key)
    b.remove(case)
    return [row]


def markers(b):
    """10,000 markers looked for in response logs of its own: what the search costs beside making the tables, which any other file costs too."""
    folder = b.path("marker-logs")
    os.makedirs(folder, exist_ok=True)
    size = (100 if b.args.quick else 1000) * 1000000
    path, logs, planted = marker_logs.make(folder, size)
    other, bare, case = os.path.join(folder, "other.txt"), b.path("bare.ptc"), b.path("marked.ptc")
    with open(other, "w", encoding="ascii") as f:
        f.write("nothing of note\n")
    title = f"response logs, {size // 1000000} MB"
    b.meter.once(b.ingest(bare, logs))
    for log in logs:
        os.remove(log)

    def fresh():
        b.remove(case)
        shutil.copyfile(bare, case)

    t = b.turns(f"markers in {title}", {
        "search": Command([b.args.pagetrail, "canary", case, "--markers", path, "--limit", "1", "--json"], before=fresh, codes=(0, 1)),
        "tables": Command([b.args.pagetrail, "ingest", case, other], before=fresh, codes=(0, 1, 3))})
    row = Row("search for 10,000 markers", title, LEAST, 200, 400, unit=" MB/s")
    whole = Row("the same, with the tables made anew", title, LEAST, unit=" MB/s")
    row.command = t["search"].command
    for s in t.values():
        if s.failed or not s.n:
            return [row.say(s.failed or "not run")]
    fresh()
    b.meter.once(t["search"].command)
    found = json.loads(b.meter.text())["totals"]
    took = t["search"].median - t["tables"].median
    row.value(size / 1e6 / max(took, 1e-3), seconds(took)).say(f"{planted:,} sightings")
    whole.value(size / 1e6 / t["search"].median, seconds(t["search"].median))
    if found["foreign"] + found["own"] + found["unknown"] != planted:
        row.wrong = f"{planted} were planted, {found}"
        row.say(row.wrong)
    b.remove(case)
    b.remove(bare)
    return [row, whole]


GROUPS = {"ingest": ingest, "load": load, "size": size, "exposures": exposures, "lineage": lineage, "grep": grep, "verify": verify,
          "duckdb": duckdb, "parse": parse, "sweep": sweep, "requests": requests, "reports": reports, "big": big,
          "markers": markers}
OWN_DATA = ("markers",)  # takes over a minute: only when it is asked for
