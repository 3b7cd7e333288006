#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# probe.py - plans, and probes against endpoints: the defect is found, who refuses is not accused, and bad answers tell nothing
import datetime
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error
from stub import Endpoint, Stub, answer, pieces_without_end, slow

KEY = "tk-9876543210-never-to-be-seen"
MAY = "--i-may-test-this-endpoint"
LIMIT = 300


def plan(box, name, markers, over, seed, more=("--limit", str(LIMIT), "--context", "900")):
    doc = box.run("canary", "--plan", str(markers), "--seed", str(seed), *(("--over-limit", str(over), *more) if over else ())).stdout
    box.write(name, doc)
    return json.loads(doc)


def probe(box, case, stub, plan_name, *more, code=0):
    return json.loads(box.run("probe", case, "--endpoint", stub.url, "--plan", plan_name, "--model", "m", MAY, "--rate", "200", *more, "--json",
                              code=code).stdout)


def plans(box):
    doc = plan(box, "plan.json", 9, 12, 7)
    text = box.run(*doc["note"].split()[1:]).stdout
    expect(json.loads(text) == doc, "the note gives the plan again")
    only = plan(box, "markers.json", 9, 0, 7)
    expect("probes" not in only and only["markers"] == doc["markers"], "the same markers without probes")
    box.run("init", "m.ptc")
    expect(not box.run("canary", "m.ptc", "--markers", "plan.json").stderr, "a plan is a file of markers too")
    over = [p for p in doc["probes"] if p["kind"] == "over_limit"]
    marked = [p for p in doc["probes"] if p["kind"] == "marker"]
    expect([p["marker"] for p in marked] == [m["marker"] for m in doc["markers"]] and len(over) == 12, "all of them")
    expect(sorted(p["tokens"] for p in over)[:6] == [LIMIT - 1] * 2 + [LIMIT] * 2 + [LIMIT + 1] * 2, f"around the limit: {over}")
    expect(all(LIMIT - 1 <= p["tokens"] < 900 for p in over) and 899 in {p["tokens"] for p in over}, f"up to the context: {over}")
    for kind in (over, marked[:8]):
        expect(sum(p["stream"] for p in kind) * 2 == len(kind), "half of them as streams")
    expect({(p["tokens"], p["stream"]) for p in over} >= {(LIMIT, True), (LIMIT, False)}, "each length both ways")
    kinds = "".join(p["kind"][0] for p in doc["probes"])
    expect(kinds[0] == "m" and "mom" in kinds and "ooooo" not in kinds, f"among each other: {kinds}")
    expect(len({p["probe"] for p in doc["probes"]}) == 21, "ids")
    for args, word in ((("--plan", "3", "--limit", "5"), "--over-limit"), (("--plan", "3", "--over-limit", "2"), "--limit"),
                       (("--plan", "3", "--over-limit", "2", "--limit", "5", "--context", "5"), "--context"),
                       (("--over-limit", "2", "--limit", "5"), "--plan"), (("--plan", "3", "--over-limit", "0", "--limit", "5"), "--over-limit")):
        expect(word in one_line_error(box.run("canary", *args, code=2)), f"{args} is refused")


def healthy(box):
    for name, endpoint, more in (("ok", Endpoint(LIMIT), ()), ("late", Endpoint(LIMIT, early_error=False), ("--no-rid",)),
                                 ("chat", Endpoint(LIMIT), ("--api", "chat"))):
        with Stub(endpoint) as s:
            doc = probe(box, f"{name}.ptc", s, "plan.json", *more, "--header-file", "headers")
            asked = s.asked
        rows = doc["rows"]
        expect(len(rows) == len(asked) == 21, f"{name}: each once")
        for r in rows:
            want = ("refused", "no") if r["must_refuse"] else ("served", "yes")
            expect((r["verdict"], r["answered"]) == want and r["foreign_markers"] == [] and r["handed_over"] == "unknown", f"{name}: {r}")
            expect(r["must_refuse"] == (r["kind"] == "over_limit" and r["tokens"] >= LIMIT), f"{name}: {r}")
        totals = doc["totals"]
        expect(totals["refused"] == 10 and totals["served"] == 11 and totals["probes"] == 21, f"{name}: {totals}")
        bodies = [json.loads(b) for _, _, b in asked]
        expect({h["x-request-id"] for _, h, _ in asked} == {r["request"] for r in rows}, f"{name}: ids")
        expect(all(h["authorization"] == f"Bearer {KEY}" for _, h, _ in asked), f"{name}: the header")
        expect(all(("rid" in b) == (name != "late") for b in bodies), f"{name}: rid")
        expect(sum(b["stream"] for b in bodies) == 10, f"{name}: streams")
        if name != "chat":
            lengths = sorted(len(b["prompt"]) for b in bodies if isinstance(b["prompt"], list))
            expect(lengths == sorted(r["tokens"] for r in rows if r["tokens"]), f"{name}: exact lengths")
        # nothing of a prompt but a marker's sentence, and no key
        for r in rows[::9]:
            line = box.run("show", f"{name}.ptc", r["refs"][0]).stdout
            expect(len(line) < 3000 and line.count(b"2000,2000") == 0 and line.count(b"pad pad") == 0, f"{name}: no prompt: {line}")
    journal = box.run("journal", "ok.ptc", "--json").stdout.decode()
    expect(not box.json("grep", "ok.ptc", KEY)["rows"] and KEY not in journal and MAY in journal, "no key, but who allowed it, stands in the journal")
    box.run("verify", "ok.ptc")
    box.run("canary", "ok.ptc")
    # the same markers again would be nobody's
    with Stub(Endpoint(LIMIT)) as s:
        one_line_error(box.run("probe", "ok.ptc", "--endpoint", s.url, "--plan", "plan.json", "--model", "m", MAY, code=3))
        expect(not s.asked, "nothing was sent")


def log(role, lines, begin, end):
    return (f"[{begin}] server_args=ServerArgs(model_path='/m', context_length=900, page_size=1, host='0.0.0.0', port=30000, tp_size=1, dp_size=1, "
            f"disaggregation_mode='{role}', disaggregation_transfer_backend='mooncake')\n[{begin}] max_total_num_tokens={LIMIT + 6}, "
            f"chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=24, context_len=900, available_gpu_mem=2.74 GB\n"
            f"[{begin}] The server is fired up and ready to roll!\n" + "".join(lines) +
            f"[{end}] Finish: obj=GenerateReqInput(rid='the-last-of-{role}', stream=False), out={{'meta_info': {{'id': 'the-last-of-{role}', "
            f"'prompt_tokens': 3, 'completion_tokens': 1}}}}\n")


def defective(box):
    with Stub(Endpoint(LIMIT, leaks=True)) as s:
        doc = probe(box, "leak.ptc", s, "plan.json", "--parallel", "1", code=1)
    rows = doc["rows"]
    markers = {m["marker"] for m in json.load(open(box.path("plan.json")))["markers"]}
    for r in rows:
        want = "leaked" if r["must_refuse"] else "served"
        expect(r["verdict"] == want and (len(r["foreign_markers"]) == 1) == r["must_refuse"] and set(r["foreign_markers"]) <= markers, f"{r}")
    expect(any(r["streamed"] for r in rows if r["verdict"] == "leaked"), "also where it came in pieces")
    expect(doc["totals"]["leaked"] == doc["totals"]["answered_over_limit"] == 10, f"{doc['totals']}")
    foreign = [r for r in box.json("canary", "leak.ptc", code=1)["rows"] if r["verdict"] == "foreign"]
    expect({(r["seen_request"], r["marker"]) for r in foreign} == {(r["request"], r["foreign_markers"][0]) for r in rows if r["must_refuse"]}
           and {r["reason"] for r in foreign} == {"not_in_prompt"}, f"canary says the same: {foreign}")
    scope = {r["request"]: r for r in box.json("scope", "leak.ptc", "--class", "C1,C2,C3,C4,C5", code=1)["rows"]}
    for r in rows:
        expect((scope[r["request"]]["class"] == "C1") == r["must_refuse"], f"a confirmed response, and no other: {scope[r['request']]}")
        expect(not r["must_refuse"] or scope[r["request"]]["prompt_tokens"] == r["tokens"], "its true length, not the placeholder's")
    text = box.run("probe", "leak.ptc", code=1).stdout.decode()
    expect("10 of 21 probes got a marker" in text and "\x1b" not in text, f"for people: {text}")

    # logs that come later say who refused, and what was handed over
    at = lambda r: r["started_at"][:19].replace("T", " ")
    begin, end = ((datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=d)).strftime("%Y-%m-%d %H:%M:%S") for d in (-90, 90))
    over = [r for r in rows if r["must_refuse"]]
    rejects = [f"[{at(r)}] Input length ({r['tokens']} tokens) exceeds the maximum allowed length ({LIMIT} tokens). Use a shorter input or enable "
               f"--allow-auto-truncate., self.rid='{r['request']}'\n" for r in over]
    served = [f"[{at(r)}] Finish: obj=GenerateReqInput(rid='{r['request']}', stream=False), out={{'meta_info': {{'id': '{r['request']}', "
              f"'prompt_tokens': {r['tokens']}, 'completion_tokens': 12}}}}\n" for r in over[:-3]]
    box.write("logs/prefill-0/engine.log", log("prefill", rejects[:-1], begin, end))
    box.run("ingest", "leak.ptc", "logs")
    got = {r["request"]: r for r in box.json("probe", "leak.ptc", code=1)["rows"]}
    expect({got[r["request"]]["handed_over"] for r in over} == {"unknown"}, "without a decode worker's log nobody knows")
    box.write("logs/decode-0/engine.log", log("decode", served, begin, end))
    box.run("ingest", "leak.ptc", "logs")
    got = {r["request"]: r for r in box.json("probe", "leak.ptc", code=1)["rows"]}
    for i, r in enumerate(over):
        g = got[r["request"]]
        want = ("yes", "prefill-0", "decode-0") if i < len(over) - 3 else ("no", "prefill-0", None) if i < len(over) - 1 else ("unknown", None, None)
        expect((g["handed_over"], g["prefill_worker"], g["decode_worker"]) == want, f"{i}: {want}, got {g}")
        expect(g["verdict"] == "leaked", "what came back stays")
    # a decode log that ends before shows nothing
    box.write("short/prefill-0/engine.log", log("prefill", rejects, begin, end))
    box.write("short/decode-0/engine.log", log("decode", [], begin, begin))
    with Stub(Endpoint(LIMIT)) as s:
        plan(box, "other.json", 2, 4, 99)
        doc = probe(box, "short.ptc", s, "other.json")
    over = [r for r in doc["rows"] if r["must_refuse"]]
    box.write("short/prefill-0/engine.log", log("prefill", [
        f"[{at(r)}] Input length ({r['tokens']} tokens) exceeds the maximum allowed length ({LIMIT} tokens). Use a shorter input or enable "
        f"--allow-auto-truncate., self.rid='{r['request']}'\n" for r in over], begin, end))
    box.run("ingest", "short.ptc", "short")
    got = {r["request"]: r for r in box.json("probe", "short.ptc")["rows"]}
    expect(over and all((got[r["request"]]["handed_over"], got[r["request"]]["prefill_worker"]) == ("unknown", "prefill-0") for r in over),
           f"the decode log does not reach over it: {got}")


def misbehaving(box):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    event = 'data: {"id":"x","choices":[{"index":0,"text":"a word"}]}\n\n'
    behaviours = {  # want: verdicts of (over the limit, marker), outcome
        "slow": (slow(1.3), "undetermined", "undetermined", "timed_out"),
        "silent": (lambda *_: None, "undetermined", "undetermined", "cut"),
        "too-long-said": (lambda *_: answer('{"choices":[', length=900), "undetermined", "undetermined", "cut"),
        "endless": (pieces_without_end(head, b"4000\r\n" + b"b" * 0x4000 + b"\r\n"), "undetermined", "undetermined", "too_long"),
        "elsewhere": (lambda *_: answer("", "307 Temporary Redirect", ["Location: http://127.0.0.1:9/v1/completions"]), "undetermined",
                      "undetermined", "redirected"),
        "nonsense": (lambda *_: answer(b"\x1b[2J\x00\xff fluent"), "undetermined", "undetermined", "answered"),
        "other-json": (lambda *_: answer('{"hello":["choices"]}'), "undetermined", "undetermined", "answered"),
        "says-no": (lambda *_: answer('{"error":{"message":"no"}}'), "refused", "undetermined", "answered"),
        "broken": (lambda *_: answer("oops", "500 Internal Server Error"), "refused", "undetermined", "http_error"),
        "empty": (lambda *_: answer('{"choices":[{"text":""}]}'), "not_refused", "undetermined", "answered"),
        "cut-after-words": (lambda *_: head + f"{len(event):x}\r\n{event}\r\n".encode(), "served_over_limit", "served", "cut"),
    }
    # two over-limit probes as streams would tell the same: one of each kind is enough, and the streamed one where pieces matter
    doc = plan(box, "two.json", 1, 1, 5)
    for name, (behave, over, marker, outcome) in behaviours.items():
        stream = name == "cut-after-words"
        box.write("one.json", json.dumps({**doc, "probes": [{**p, "stream": stream} for p in doc["probes"]]}))
        with Stub(behave) as s:
            got = probe(box, f"{name}.ptc", s, "one.json", "--timeout", "1", "--max-bytes", "30000", code=1)
        by_kind = {r["kind"]: r for r in got["rows"]}
        expect((by_kind["over_limit"]["verdict"], by_kind["marker"]["verdict"]) == (over, marker), f"{name}: {got['rows']}")
        expect({r["outcome"] for r in got["rows"]} == {outcome}, f"{name}: {outcome}, got {got['rows']}")
        if name not in ("slow", "nonsense", "cut-after-words"):
            continue
        scope = box.json("scope", f"{name}.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))["rows"]
        expect(not [r for r in scope if r["class"] == "C1"], f"{name}: nobody is accused: {scope}")
        line = json.loads(box.run("show", f"{name}.ptc", by_kind["marker"]["refs"][0]).stdout)
        expect("raw" in line["response"] or "raw_base64" in line["response"], f"{name}: the bytes are kept")


def limits(box):
    with Stub(Endpoint(LIMIT)) as s:
        doc = probe(box, "few.ptc", s, "plan.json", "--max-requests", "4", code=1)
        expect(len(s.asked) == 4 and doc["totals"]["not_sent"] == 17 and doc["totals"]["probes"] == 21, f"no more than allowed: {doc['totals']}")
        expect([r["verdict"] for r in doc["rows"] if r["request"] is None] == ["not_sent"] * 17, "and the rest is said")
        gaps = [r for r in box.json("gaps", "few.ptc", code=1)["rows"] if r["kind"] == "unanswered"]
        expect(len(gaps) == 1 and gaps[0]["missing"] == 17 and "of 21 probes" in gaps[0]["effect"] and "not_sent 17" in gaps[0]["effect"], f"a gap: {gaps}")
        plan(box, "again.json", 4, 4, 78)
        probe(box, "few.ptc", s, "again.json", code=1)
        expect(not [r for r in box.json("gaps", "few.ptc", code=(0, 1))["rows"] if r["kind"] == "unanswered"], "a run that got all makes it good")
    with Stub(Endpoint(LIMIT)) as s:
        plan(box, "five.json", 5, 0, 11)
        five = json.load(open(box.path("five.json")))
        five["probes"] = [{"probe": f"ptp-number-{i}", "kind": "marker", "marker": m["marker"], "stream": False} for i, m in enumerate(five["markers"])]
        box.write("five.json", json.dumps(five))
        doc = json.loads(box.run("probe", "rate.ptc", "--endpoint", s.url + "/v1/", "--plan", "five.json", "--model", "m", MAY, "--rate", "8", "--json").stdout)
        at = sorted(datetime.datetime.fromisoformat(r["started_at"][:26].rstrip("Z").ljust(26, "0")) for r in doc["rows"])
        expect((at[-1] - at[0]).total_seconds() >= 0.48, f"not faster than asked: {at}")
        expect({p for p, _, _ in s.asked} == {"/v1/completions"}, "one /v1")
        expect({json.loads(b)["model"] for _, _, b in s.asked} == {"m"}, "the model that was said")
        for args, code, word in (((), 2, "i-may-test"), ((MAY, "--api", "x"), 2, "--api"), ((MAY, "--rate", "0"), 2, "--rate"),
                                 ((MAY, "--max-requests", "0"), 2, "--max-requests")):
            line = one_line_error(box.run("probe", "no.ptc", "--endpoint", s.url, "--plan", "plan.json", "--model", "m", *args, code=code))
            expect(word in line, f"{word}: {line}")
        n = len(s.asked)
        for text in ('{"probes":[]}', '{"probes":[', json.dumps({"probes": [five["probes"][0]] * 2})):
            box.write("wrong.json", text)
            one_line_error(box.run("probe", "no.ptc", "--endpoint", s.url, "--plan", "wrong.json", "--model", "m", MAY, code=3))
        one_line_error(box.run("probe", "no.ptc", "--endpoint", "http://u:p@127.0.0.1:1", "--plan", "plan.json", "--model", "m", MAY, code=2))
        one_line_error(box.run("probe", "few.ptc", "--plan", "plan.json", code=2))
        expect(len(s.asked) == n and not os.path.exists(box.path("no.ptc")), "nothing was sent, and no case made")


def which_model(box):
    plan(box, "one.json", 1, 1, 77)
    endpoint = Endpoint(LIMIT)
    with Stub(endpoint) as s:
        args = ("probe", "named.ptc", "--endpoint", s.url, "--plan", "one.json", MAY)
        for models in ([], ["a", "b"]):
            endpoint.models = models
            expect("--model" in one_line_error(box.run(*args, code=3)), "none, or several")
        endpoint.models = ["m-1t"]
        box.run(*args)
        expect([json.loads(b)["model"] for _, _, b in s.asked if b] == ["m-1t"] * 2, f"the one that it names: {s.asked}")
    one_line_error(box.run(*args[:1], "other.ptc", *args[2:], code=3))
    expect(not os.path.exists(box.path("other.ptc")), "and no case where nobody answers")


with Box() as box:
    os.chmod(box.write("headers", f"Authorization: Bearer {KEY}\n"), 0o600)
    plans(box)
    healthy(box)
    defective(box)
    misbehaving(box)
    limits(box)
    which_model(box)
