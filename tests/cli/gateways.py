#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# gateways.py - what each gateway's access log says of delivery, from its line to the answer and its basis
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect

NGINX = '203.0.113.9 - {who} [14/Sep/2026:03:12:59 +0000] "POST /v1/completions HTTP/1.1" {code} {sent} "-" "-" rt=1.000 x_request_id="{id}"'
ENVOY = '[2026-09-14T03:12:44.310Z] "POST /v1/completions HTTP/1.1" {code} {flags} 100 {sent} 900 20 "-" "-" "{id}" "llm" "10.0.0.5:8000"'
HAPROXY = ('203.0.113.9:33317 [14/Sep/2026:03:12:44.655] llm a/b 2/0/1/20/{ta} {code} {sent} - - {state} 9/9/4/1/0 0/0 {{{id}}} '
           '"POST /v1/completions HTTP/1.1"')
ALB = ('https 2026-09-14T03:12:59.212000Z app/llm/50dc 203.0.113.9:2817 10.0.0.5:8000 0.001 1.000 0.000 {code} - 100 {sent} '
       '"POST https://llm:443/v1/completions HTTP/2.0" "-" - - arn:aws:x "Root={id}" "-" "-" 0 2026-09-14T03:12:58.000000Z "forward"')


def uuid(n):
    return f"cc21d9b0-cf5c-432b-8c7e-{n:012x}"


def kong(n, code, sent, gone=None):
    return json.dumps({"request": {"id": uuid(n), "uri": "/v1/completions", "method": "POST"}, "response": {"status": code, "size": sent},
                       "latencies": {"request": 12}, "started_at": 1789355564400, **({"client_gone": gone} if gone else {})})


CASES = [  # file, line, name, delivered, in the basis
    ("nginx", NGINX.format(who="-", code=200, sent=90, id=uuid(1)), uuid(1), "yes", "bytes sent"),
    ("nginx", NGINX.format(who="t", code=499, sent=0, id=uuid(2)), uuid(2), "no", "status 499"),
    ("nginx", NGINX.format(who="t", code=499, sent=7, id=uuid(3)), uuid(3), "yes", "in the middle"),
    ("nginx", NGINX.format(who="t", code=502, sent=160, id=uuid(4)), uuid(4), "no", "error status 502"),
    ("envoy", ENVOY.format(code=0, flags="DC", sent=0, id=uuid(11)), uuid(11), "no", "before the first byte"),
    ("envoy", ENVOY.format(code=200, flags="DC", sent=44, id=uuid(12)), uuid(12), "yes", "bytes sent"),
    ("envoy", ENVOY.format(code=200, flags="UC", sent=44, id=uuid(13)), uuid(13), "yes", "bytes sent"),
    ("envoy", ENVOY.format(code=503, flags="UF,URX", sent=91, id=uuid(14)), uuid(14), "no", "error status 503"),
    ("haproxy", HAPROXY.format(code=200, sent=900, state="----", ta=14902, id=uuid(21)), uuid(21), "yes", "bytes sent"),
    ("haproxy", HAPROXY.format(code=200, sent=900, state="CD--", ta=14902, id=uuid(22)), uuid(22), "unknown", "client left"),
    ("haproxy", HAPROXY.format(code=200, sent=900000, state="CD--", ta=14902, id=uuid(23)), uuid(23), "yes", "bytes sent"),
    ("haproxy", HAPROXY.format(code=-1, sent=0, state="CC--", ta=31, id=uuid(24)), uuid(24), "no", "before the first byte"),
    ("haproxy", HAPROXY.format(code=200, sent="+212", state="----", ta="+33", id=uuid(25)), uuid(25), "unknown", "neither bytes nor tokens"),
    ("alb", ALB.format(code=200, sent=900, id="1-68c63b8c-31"), "1-68c63b8c-31", "yes", "bytes sent"),
    ("alb", ALB.format(code=460, sent=0, id="1-68c63b8c-32"), "1-68c63b8c-32", "no", "status 460"),
    ("alb", ALB.format(code=460, sent=400, id="1-68c63b8c-33"), "1-68c63b8c-33", "unknown", "client left"),
    ("kong", kong(41, 200, 900), uuid(41), "yes", "bytes sent"),
    ("kong", kong(42, 200, 900, True), uuid(42), "unknown", "client left"),
    ("kong", kong(43, 499, 0), uuid(43), "no", "status 499"),
]
FORMATS = {"nginx": "nginx", "envoy": "envoy", "haproxy": "haproxy", "alb": "alb", "kong": "gateway-json"}

with Box() as box:
    for name in FORMATS:
        box.write(f"logs/{name}.log", "".join(line + "\n" for file, line, *_ in CASES if file == name))
    rows = box.json("ingest", "case.ptc", "logs")["rows"]
    for r in rows:
        name = os.path.basename(r["path"]).split(".")[0]
        expect(r["format"] == FORMATS[name] and r["unparsed"] == 0, f"{name} is read whole: {r}")
    got = {r["name"]: r for r in box.json("sql", "case.ptc", "SELECT name, delivered, delivered_basis, started_ns, finished_ns "
                                          "FROM response JOIN request USING(request)")["rows"]}
    expect(len(got) == len(CASES), f"{len(CASES)} responses, got {sorted(got)}")
    for file, line, name, delivered, basis in CASES:
        r = got[name]
        expect(r["delivered"] == delivered and basis in r["delivered_basis"],
               f"{file}, {line}: {delivered}, because of {basis}; got {r['delivered']}: {r['delivered_basis']}")
    times = {uuid(1): 1.0, uuid(12): 0.9, uuid(21): 14.902, "1-68c63b8c-31": 1.212, uuid(41): 0.012}
    for name, seconds in times.items():
        r = got[name]
        took = (r["finished_ns"] - r["started_ns"]) / 1e9
        expect(abs(took - seconds) < 1e-6, f"{name} took {seconds} s, got {took}")


def caddy(ts, asked, code, error=None, answered=None, sent=0):
    """One line of Caddy: of its access log, or of its error log, which says a request that failed once more."""
    line = {"level": "error" if error else "info", "ts": ts, "logger": "http.log.error.log0" if error else "http.log.access.log0",
            "msg": error or "handled request",
            "request": {"remote_ip": "203.0.113.9", "client_ip": "203.0.113.9", "method": "POST", "uri": "/v1/completions",
                        "headers": {"X-Request-Id": [asked]} if asked else {}}, "duration": 0.25, "status": code}
    if error:
        line.update(err_id="none1", err_trace="reverseproxy.statusError (reverseproxy.go:1390)")
    else:
        line.update(bytes_read=9, user_id="", size=sent, resp_headers={"X-Request-Id": [answered]} if answered else {})
    return json.dumps(line) + "\n"


REFUSED = "dial tcp 10.0.0.7:30000: connect: connection refused"
# Caddy says a request that failed twice: one response, in whatever order and however many files
PAIR = [caddy(1789355590.2120, "req-1", 502, REFUSED), caddy(1789355590.2121, "req-1", 502)]
MORE = [caddy(1789355591.2120, "req-2", 502, REFUSED), caddy(1789355591.2121, "req-2", 502, answered="chatcmpl-Ed4l"),
        caddy(1789355592.5, "req-3", 502, REFUSED),                                 # its access log is off
        caddy(1789355593.5, "req-4", 200, sent=90),
        caddy(1789355694.5, "req-1", 502, REFUSED), caddy(1789355694.5, "req-1", 502)]  # the client asks again
for files in (PAIR + MORE,), (PAIR[::-1] + MORE,), (PAIR[:1] + MORE[:1] + MORE[2:3] + MORE[4:5], PAIR[1:] + MORE[1:2] + MORE[3:4] + MORE[5:]):
    with Box() as box:
        for i, lines in enumerate(files):
            box.write(f"logs/caddy-{'ab'[i]}.log", "".join(lines))
        for row in box.json("ingest", "case.ptc", "logs")["rows"]:
            expect(row["format"] == "gateway-json" and row["unparsed"] == 0, f"Caddy is read whole: {row}")
        got = sorted((r["name"], r["status"], r["delivered"]) for r in box.json(
            "sql", "case.ptc", "SELECT name, status, delivered FROM response JOIN request USING(request)")["rows"])
        want = [("req-1", 502, "no"), ("req-1#2", 502, "no"), ("req-2", 502, "no"), ("req-3", 502, "no"), ("req-4", 200, "yes")]
        expect([("req-2" if n == "chatcmpl-Ed4l" else n, s, d) for n, s, d in got] in (want, want[2:3] + want[:2] + want[3:]),
               f"one response each: {got}")

# A hand-off calls a prefill engine by a name that it gave itself at its start: what the sidecar says of its pages is said of that worker
ENGINE = "81eb3201-0000-4000-8000-000000000001"
RID = "chatcmpl-3536cede-1ea7-4868-936b-8e6bc58748b1"
with Box() as box:
    for name, engine in (("p-0", ENGINE), ("d-0", ENGINE[:-1] + "2")):
        box.write(f"logs/{name}.log", f"(EngineCore_DP0 pid=212) INFO 09-14 03:00:12 [nixl_connector.py:538] Initializing NIXL Scheduler {engine}\n"
                  f"(APIServer pid=1) INFO 09-14 03:12:44 [async_llm.py:439] Added request {RID}-{'1a2b3c4d' if name == 'p-0' else '9f9f9f9f'}.\n")
    box.write("logs/sidecar.log", 'I0914 03:12:45.099979       1 connector_nixlv2.go:140] "received prefiller response" logger="proxy server" '
              f'kv_transfer_params={{"remote_block_ids":[[5012,5013]],"remote_engine_id":"{ENGINE}","remote_request_id":"{RID}-1a2b3c4d"}}\n')
    rows = {os.path.basename(r["path"]): r for r in box.json("ingest", "case.ptc", "logs")["rows"]}
    expect(rows["sidecar.log"]["format"] == "llm-d" and not any(r["unparsed"] for r in rows.values()), f"all are read: {rows}")
    workers = box.json("sql", "case.ptc", "SELECT w.name, has_page_log, (SELECT group_concat(rid) FROM leg WHERE leg.worker = w.worker) rids FROM worker w "
                       "ORDER BY has_page_log DESC, w.name")["rows"]
    expect([w["has_page_log"] for w in workers].count(1) == 1 and workers[0]["rids"] and len(workers) == 2, f"pages at the worker that they are of: {workers}")
    shown = [box.run("lineage", "case.ptc", f"{RID}#{n}", code=(0, 1)).stdout.decode() for n in (1, 2)]
    expect([("  send  " + ENGINE) in text for text in shown].count(True) == 1, f"its pages in the lineage of the prefill side: {shown}")
