#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# deploy_real.py - context against pool, of each role, on start-up logs as engines write them; skipped where those logs are not
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect

# file: role, engine, pool, context, does the context exceed the pool? What a log does not print is unknown, never a guess.
LOGS = {
    "sglang-rocm-r9700-pool-below-context.log": ("unified", "sglang", 169092, 262144, "yes"),
    "sglang-0.4.3-l4-tp4.log": ("unified", "sglang", 46611, 131072, "yes"),
    "sglang-npu-pd-prefill.log": ("prefill", "sglang", 137344, 8192, "no"),
    "sglang-npu-pd-decode.log": ("decode", "sglang", 132608, 8192, "no"),
    "sglang-0.5.9-server_info-prefill.json": ("prefill", "sglang", 326223, 163840, "no"),
    "vllm-0.22.1-context-400.log": ("unified", "vllm", 464656, 8192, "no"),
    "sglang-0.5.8-h100-pd-prefill-0.log": ("prefill", "sglang", None, None, "unknown"),
    "sglang-0.5.8-h100-pd-decode-0.log": ("decode", None, None, None, "unknown"),
    "llmd-vllm-nixl-prefill.log": ("prefill", None, None, None, "unknown"),
    "dynamo-0.4.1-vllm-nixl-decode.log": ("decode", None, None, None, "unknown"),
}

folder = os.path.join(os.path.abspath(os.environ.get("PAGETRAIL_SHARED", "../shared/data")), "engine-logs")
if not all(os.path.exists(os.path.join(folder, name)) for name in LOGS):
    print(f"skipped: not all logs are in {folder}")
    sys.exit(77)
with Box() as box:
    for i, (name, (role, engine, pool, context, exceeds)) in enumerate(LOGS.items()):
        box.run("ingest", f"{i}.ptc", os.path.join(folder, name))
        rows = box.json("deploy", f"{i}.ptc", code=1)["rows"]
        expect(len(rows) == 1, f"{name}: one replica, got {[r['replica'] for r in rows]}")
        r = rows[0]
        got = tuple(r[k] for k in ("role", "engine", "pool_tokens", "context_len", "context_exceeds_pool"))
        expect(got == (role, engine, pool, context, exceeds), f"{name}: {(role, engine, pool, context, exceeds)}, got {got}")
        # a snapshot that says nothing of its time has the time of its file, which is none
        if name.endswith("server_info-prefill.json"):
            expect(r["version"] == "0.5.9" and r["evidence_at"] is None and "evidence_undated" in r["reasons"], f"{name}: {r}")
