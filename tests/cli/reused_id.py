#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# reused_id.py - a client that sends every request under one id: gateway and router still speak of the same requests
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect

USES = 200
SPAN = 'http_request{method=POST uri=/v1/chat/completions version=HTTP/1.1 module="smg" request_id="again"'
gateway, router = [], []
for i in range(USES):
    start = "2026-09-01T%02d:%02d:00" % divmod(i * 5, 60)
    end = "2026-09-01 %02d:%02d:02" % divmod(i * 5, 60)
    gateway.append(json.dumps({"request_id": "again", "tenant": "tenant-a", "model": "m", "status": 200, "prompt_tokens": 10 + i,
                               "completion_tokens": 5, "bytes_sent": 100, "start_time": start + "Z", "duration": 2000}))
    router.append(f"{start.replace('T', ' ')}  INFO {SPAN}}}: smg::request: src/middleware/logging.rs:67: started processing request")
    router.append(f"{end}  INFO {SPAN} status_code=200 latency=2000000}}: smg::response: src/middleware/logging.rs:95: "
                  "finished processing request")
with Box() as box:
    box.write("gateway.jsonl", "\n".join(gateway) + "\n")
    box.write("router.log", "\n".join(router) + "\n")
    box.run("ingest", "case.ptc", "gateway.jsonl", "router.log")
    scope = box.json("scope", "case.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))
    expect(scope["totals"]["population"] == USES, f"{USES} responses, got {scope['totals']}")
    expect(sorted(r["prompt_tokens"] for r in scope["rows"]) == list(range(10, 10 + USES)), "each with its own length")
