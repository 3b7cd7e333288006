#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# map.py - formats of a site: the examples of docs/map.md as they stand there, what is said of wrong ones, and what becomes of a
# case when the map changes or is gone
import copy
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

with open("docs/map.md", encoding="utf-8") as f:
    examples = re.findall(r"^```json\n(.*?)^```$", f.read(), re.S | re.M)
expect(len(examples) == 2, f"two worked examples, got {len(examples)}")
JSON, TEXT = (json.loads(e) for e in examples)


def changed(m, at, value):
    """A copy of the map with something else at a.b.0.c; None takes it out."""
    m = copy.deepcopy(m)
    *way, last = at.split(".")
    to = m
    for key in way:
        to = to[int(key)] if isinstance(to, list) else to[key]
    if isinstance(to, list):
        to[int(last)] = value
    elif value is None:
        to.pop(last)
    else:
        to[last] = value
    return m


def test(box, m, code=0, *more):
    box.write("map.json", m if isinstance(m, str) else json.dumps(m))
    return box.run("formats", "test", "--map", "map.json", *more, code=code)


def examples_hold(box):
    for text in examples:
        out = test(box, text).stdout.decode()
        n = len(json.loads(text)["samples"])
        expect(out.count(": holds, gives ") == n and "all samples hold" in out, f"{n} samples hold, got {out}")


def samples_that_do_not(box):
    for at, value in (("time", "2026-09-14 11:12:59.2120+08:00"), ("started_ns", "2026-09-14T03:12:44.31Z")):
        test(box, changed(JSON, f"samples.0.gives.{at}", value))  # an instant is the same however it is written
    test(box, changed(TEXT, "samples.1.gives.time", "2026-09-14T03:13:00.5"))
    for at, value, said in (
            ("samples.0.gives.time", "2026-09-14T03:12:59.212", "sample 1: time: must be"),
            ("samples.0.gives.status", 500, "sample 1: status: must be 500, but is 200"),
            ("samples.0.gives.route", None, 'sample 1: route: must be nothing, but is "/v1/chat/completions"'),
            ("samples.0.gives.time", "2026-09-14T03:12:59Z", "sample 1: time: must be"),
            ("samples.0.gives.colour", "red", "sample 1: 'colour' is no column of gateway"),
            ("samples.0.gives", "context", "sample 1: must be context, but is an event"),
            ("samples.1.gives", "unparsed", "sample 2: must be unparsed, but is context"),
            ("samples.0.record.req", {"name": "x"}, "path 'req.id' is missing: no member 'id' in the object at byte "),
            ("samples.0.record.req", 7, "path 'req.id' is missing: the value at byte "),
            ("samples.0.record.req.id", {"n": 1}, "path 'req.id' is an object at byte "),
            ("samples.0.record.req.id", [], "path 'req.id' is a list without a value at byte "),
            ("samples.0.record.req.id", [{"n": 1}, None], "path 'req.id' is a list without a value at byte "),
            ("samples.0.record.kind", "open", "path 'kind' has another value at byte 8: \"open\"")):
        m = changed(JSON, at, value)
        out = test(box, m, 3).stdout.decode()
        expect(said in out, f"{said!r} in {out!r}")
        found = re.search(r"the (?:object|value) at byte (\d+)", out)
        if found:  # the place that is named is the place
            record = json.dumps(m["samples"][0]["record"], separators=(",", ":"))
            want = json.dumps(m["samples"][0]["record"]["req"], separators=(",", ":"))
            expect(record[int(found[1]):].startswith(want), f"byte {found[1]} of {record}")
    m = changed(JSON, "samples.0.record", '{"kind":"done",')
    expect("sample 1: must be an event, but is unparsed: torn" in test(box, m, 3).stdout.decode(), "torn JSON")
    line = TEXT["samples"][0]["record"]
    for broken, column in ((line.replace("code=200", "code=2x0"), line.index("200") + 2),
                           (line.replace("END", "EMD"), line.index("END") + 2),
                           (line[:line.index(" out")], line.index(" out") + 1)):
        out = test(box, changed(TEXT, "samples.0.record", broken), 3).stdout.decode()
        expect(f"records[0] 'end': stopped at column {column}" in out, f"column {column} of {broken!r}: {out}")
    p = box.run("ingest", "none.ptc", "map.json", "--map", "map.json", code=3)
    expect("formats test --map" in one_line_error(p), "ingest refuses a map that does not hold")
    expect(not os.path.exists(box.path("none.ptc")), "no case of it")


def wrong_maps(box):
    """An error says where, and what was expected."""
    field = "records.0.fields."
    for m, at, value, where, expected in (
            (JSON, "pagetrail_map", 2, "at its top", '"pagetrail_map": 1, not 2'),
            (JSON, "format", "Acme", "at format", "small letters"),
            (JSON, "format", "nginx", "", "called like the format 'nginx'"),
            (JSON, "reads", "yaml", "at reads", "json or regex"),
            (JSON, "records", [], "at records", "at least one kind"),
            (JSON, "samples", [], "at samples", "at least one sample"),
            (JSON, "records.0.event", "page", "at records[0].event", "gateway, leg, boot, load or none"),
            (JSON, field + "statsu", "x", "at records[0].fields.statsu", "worker or one of what gateway_id"),
            (JSON, field + "duration", "took", "at records[0].fields.duration", "a duration needs its unit"),
            (JSON, field + "duration.unit", "sec", "at records[0].fields.duration.unit", 'ns, us, ms or s, not "sec"'),
            (JSON, field + "bytes_sent.unit", "ms", "at records[0].fields.bytes_sent.unit", "KiB or MiB"),
            (JSON, field + "model", {"from": "m", "unit": "ms"}, "fields.model.unit", "no unit"),
            (JSON, field + "status.values.done", "fine", "fields.status.values.done", "a whole number or null"),
            (JSON, field + "what", {"value": "over"}, "fields.what.value", "started|finished"),
            (JSON, field + "model", 7, "fields.model", "a path"),
            (JSON, "records.0.time.format", "%H:%M", "records[0].time.format", "a pattern with %Y"),
            (JSON, "records.0.time.zone", "Mars/Base", "records[0].time.zone", "a zone such as"),
            (JSON, "records.0.time.is", "middle", "records[0].time.is", "log, start or end"),
            (JSON, "records.1.when", None, "records[1]", "to tell these records from others"),
            (JSON, "samples.0.gives", 7, "samples[0]", "what it must give"),
            (TEXT, "records.0.regex", "(?<id>", "records[0].regex", "bad regular expression at offset"),
            (TEXT, "records.0.regex", "(?<at>.)", "records[0].fields.worker", "name of a group"),
            (TEXT, "records.1.regex", "(?J)(?:A (?<rid>.)|B (?<rid>.)) (?<at>.)(?<why>.)", "records[1].regex", "two groups are called 'rid'"),
            (TEXT, "records.1.fields.what", None, "records[1].fields", 'a field "what"')):
        if at == "records.1.when":
            value, m = [], changed(m, "records.1.event", "gateway")
            m = changed(m, "records.1.fields", {"model": "m"})
        p = test(box, changed(m, at, value), 3)
        line = one_line_error(p)
        expect(where in line and expected in line and "map.json" in line, f"{where!r} and {expected!r} in {line!r}")
    p = test(box, '{\n "pagetrail_map": 1,\n oops }', 3)
    expect("line 3" in one_line_error(p), "where it is no JSON")
    p = test(box, changed(JSON, field + "model", {"from": "model", "colour": "red"}))
    expect("not known, at records[0].fields.model: 'colour'" in p.stderr.decode(), "an unknown key is a warning that names it")
    p = test(box, json.dumps(JSON).replace('"pagetrail_map": 1', '"pagetrail_map": 1, "pagetrail_map": 1', 1))
    expect("a key twice" in p.stderr.decode() and "'pagetrail_map'" in p.stderr.decode(), "a key that stands twice is a warning")
    p = box.run("formats", "test", "--map", "no.json", code=3)
    expect("no.json" in one_line_error(p), "a map that is not there")


def what_must_stands_for(box):
    """`must` is met by a value; an object is none, and the next path is tried. Alternatives share a group in (?|...)."""
    field = {"from": ["req", "rid"], "must": True}
    test(box, {"pagetrail_map": 1, "format": "objects", "reads": "json",
               "records": [{"when": [{"from": "req"}], "fields": {"gateway_id": field, "model": "m", "room": "rooms"}}],
               "samples": [{"record": {"req": {"id": "a"}, "m": "x"}, "gives": "unparsed"},
                           {"record": {"rid": "b", "m": "x"}, "gives": "unparsed"},
                           {"record": {"req": {"id": "a"}, "rid": "b", "m": {"n": "x"}, "rooms": [7, 8]},
                            "gives": {"what": "access", "gateway_id": "b", "room": "7,8"}}]})
    test(box, {"pagetrail_map": 1, "format": "shared", "reads": "regex",
               "records": [{"regex": "(?|A (?<id>.)|B:(?<id>.))", "fields": {"gateway_id": "id"}}],
               "samples": [{"record": f"{head}{i}", "gives": {"what": "access", "gateway_id": i}} for head, i in (("A ", "x"), ("B:", "y"))]})


def slow_expression(box):
    """An expression that explodes is a miss, and then is not tried any more."""
    m = {"pagetrail_map": 1, "format": "slow", "reads": "regex",
         "records": [{"regex": "(?<id>(?:a+)+)[bc]", "fields": {"gateway_id": "id"}}],
         "samples": [{"record": "aab", "gives": {"what": "access", "gateway_id": "aa"}}]}
    box.write("slow.json", json.dumps(m))
    box.write("slow.log", "aaab\n" * 10 + ("a" * 3000 + "\n") * 5000)
    start = time.monotonic()
    row = box.json("ingest", "slow.ptc", "slow.log", "--map", "slow.json", "--format", "slow")["rows"][0]
    expect(row["parsed"] == 10 and row["unparsed"] == 5000, f"10 parsed, 5000 unparsed, got {row}")
    expect(time.monotonic() - start < 120, "it ends")
    reasons = box.run("sql", "slow.ptc", "SELECT DISTINCT reason FROM reject ORDER BY 1", "--csv").stdout.decode()
    expect("expression_too_slow" in reasons and "expression_limit" in reasons, f"reasons, got {reasons}")
    m["samples"].append({"record": "a" * 3000, "gives": "unparsed"})
    p = test(box, changed(m, "samples.1.gives", "context"), 3)
    expect("expression_limit" in p.stdout.decode(), "formats test says so")


def basis_of(box, case):
    row = json.loads(box.run("sql", case, "SELECT format, format_basis, source, parsed FROM source", "--json").stdout)["rows"]
    expect(len(row) == 1, f"one source, got {row}")
    basis = row[0]["format_basis"]
    return row[0], basis if isinstance(basis, dict) else json.loads(basis)


def in_a_case(box):
    """The map stands in the case; a changed one reads the file again; salvage needs no file."""
    records = [json.dumps(JSON["samples"][0]["record"]).replace("a-1", f"a-{i}") for i in range(300)]
    box.write("access.log", "\n".join(records) + "\n")
    box.write("map.json", examples[0])
    row = box.json("ingest", "case.ptc", "access.log", "--map", "map.json")["rows"][0]
    expect(row["parsed"] == 300 and re.fullmatch(r"acme-gateway@[0-9a-f]{8}", row["format"]), f"read by the map: {row}")
    first, basis = basis_of(box, "case.ptc")
    expect(basis["map"] == examples[0] and basis["map_sha256"].startswith(first["format"][-8:]), "its text and hash")
    again = box.json("ingest", "case.ptc", "access.log", "--map", "map.json")["rows"][0]
    expect(again["status"] == "known", f"known: {again}")
    again = box.json("ingest", "case.ptc", "access.log")["rows"][0]
    expect(again["status"] == "known" and again["format"] == first["format"], f"without the map, too: {again}")
    box.run("salvage", "case.ptc", "new.ptc", code=(0, 1))
    kept = box.run("sql", "new.ptc", "SELECT count(*) n, min(prompt_tokens) p FROM gateway_events", "--csv").stdout.decode()
    expect(kept.split()[-1] == '"300","700123"', f"salvaged: {kept}")
    other = changed(JSON, "records.0.fields.model", None)
    other["samples"][0]["gives"].pop("model")
    box.write("map.json", json.dumps(other))
    row = box.json("ingest", "case.ptc", "access.log", "--map", "map.json")["rows"][0]
    second, _ = basis_of(box, "case.ptc")
    expect(row["status"] == "ingested" and second["format"] != first["format"] and second["parsed"] == 300,
           f"read again with the changed map: {row}")
    models = box.run("sql", "case.ptc", "SELECT count(*), count(model) FROM gateway_events", "--csv").stdout.decode()
    expect(models.split()[-1] == '"300","0"', f"events of the new map only: {models}")
    box.run("verify", "case.ptc")


def taken_over(box):
    """A file that was read by guess is read again when a map knows it; a folder's other files stay what they are."""
    record = {"request_id": "r", "status": 200, "start_time": "2026-09-14T03:12:44Z", "prompt_tokens": 5}
    box.write("logs/site.log", "".join(json.dumps({**record, "request_id": f"r{i}"}) + "\n" for i in range(50)))
    box.write("logs/nginx.log", '203.0.113.9 - - [14/Sep/2026:03:12:59 +0000] "POST /v1/x HTTP/1.1" 200 5 "-" "-" rt=1.000\n' * 3)
    rows = {r["path"]: r for r in box.json("ingest", "two.ptc", "logs")["rows"]}
    expect(rows["logs/site.log"]["format"] == "gateway-json", f"guessed: {rows}")
    m = {"pagetrail_map": 1, "format": "site", "reads": "json",
         "records": [{"when": [{"from": "status"}], "time": "start_time", "fields": {"gateway_id": "request_id"}}],
         "samples": [{"record": record, "gives": {"time": "2026-09-14T03:12:44Z", "what": "access", "gateway_id": "r"}}]}
    box.write("site.json", json.dumps(m))
    rows = {r["path"]: r for r in box.json("ingest", "two.ptc", "logs", "--map", "site.json")["rows"]}
    expect(rows["logs/site.log"]["format"].startswith("site@") and rows["logs/nginx.log"]["status"] == "known", f"{rows}")
    plan = box.run("formats", "test", "--map", "site.json", "logs/site.log", "logs/nginx.log").stdout.decode()
    expect("logs/site.log: site@" in plan and "logs/nginx.log: nginx" in plan, plan)
    expect("format: site@" in box.run("formats", "explain", "--map", "site.json", "logs/site.log").stdout.decode(), "explain")


def behind_a_guess(box):
    """Records that begin like a wrapper's lines are read as they are where the format that was asked for knows them; what has nothing
    behind such words is not understood. A wrapper in which the format knows more is still taken off."""
    m = {"pagetrail_map": 1, "format": "acme-cat", "reads": "regex",
         "records": [{"name": "a", "regex": r"(?<at>\d+) (?<id>\S+) (?:a|aa)+", "event": "gateway", "time": {"from": "at", "format": "s"},
                      "fields": {"gateway_id": "id", "status": {"value": 200}}}],
         "samples": [{"record": "5 a-1 a", "gives": {"time": "1970-01-01T00:00:05Z", "what": "access", "gateway_id": "a-1", "status": 200}}]}
    box.write("cat.json", json.dumps(m))
    known = "".join(f"1787616060 a-{i} aaa\n" for i in range(50))
    odd = "".join(f"1787616060 b-{i} ERROR\n" for i in range(30))
    blank = "".join(f"1787616060 a-{i} zzz\n" for i in range(50))
    cases = {"known": (known, 50, 0, 0), "mixed": (known + odd, 50, 0, 30), "late": (odd + known, 50, 0, 30), "blank": (blank, 0, 0, 50),
             "cri": ("".join(f"2026-08-25T01:01:00.{i:09}Z stdout F {line}\n" for i, line in enumerate((known + odd).split("\n"))), 50, 1, 30)}
    for how in ((), ("--format", "acme-cat")):
        for name, (text, *want) in cases.items():
            box.write(f"{name}.log", text)
            row = box.json("ingest", f"{name}{len(how)}.ptc", f"{name}.log", "--map", "cat.json", *how, code=(0, 3))["rows"][0]
            got = [row["parsed"], row["context"], row["unparsed"]]
            expect(got == want, f"{name} {how}: {want} parsed, context, unparsed, got {row}")
            expect(row["format"].startswith("cri+") == (name == "cri"), f"{name} {how}: the wrapper, got {row}")
            box.run("verify", f"{name}{len(how)}.ptc")
            box.run("ingest", f"{name}{len(how)}.ptc", f"{name}.log", "--map", "cat.json", *how, code=(0, 3))


with Box() as box:
    behind_a_guess(box)
    examples_hold(box)
    samples_that_do_not(box)
    wrong_maps(box)
    what_must_stands_for(box)
    slow_expression(box)
    in_a_case(box)
    taken_over(box)
