#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failure_classes.py - each failure class on a few lines written by hand: one case that is it, near misses, a log that is missing

A near miss is the same lines with the one fact changed that makes it no failure. Where the deciding log is missing the class has no
row and the response is not cleared. What is expected was worked out from the rules of docs/method.md and docs/page-log.md, not taken
from the program. The fleet: prefill-0 with a pool of 1280 tokens, which therefore refuses from 1274 on (pool - 1 - 5), decode-0 with
6400; context 4096; pages of 64 tokens. Its version, where one is given, is affected.
"""
import collections
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from tiny import Answers, EPOCH, Pages, answer, boot, differences, findings, finish, leg, rejection, run_all, second, stamp, versions  # noqa: E402

Case = collections.namedtuple("Case", "name why files rows classes also", defaults=((),))
CASES = []
PREFILL, DECODE, UNIFIED = boot("prefill", 4096, 1280), boot("decode", 4096, 6400), boot("null", 4096, 6400)
AFFECTED = versions(prefill_0="0.5.21", decode_0="0.5.21")


def case(query, what, why, files, rows, classes, *also):
    """also: (arguments of another verb, rows)"""
    CASES.append(Case(f"{query}: {what}", why, {k: v for k, v in files.items() if v is not None}, (query, rows), classes, also))


def without(files, *names):
    return {k: v for k, v in files.items() if k not in names}


def replaced(files, **new):
    return dict(files, **{k.replace("__", ".").replace("_", "-"): v for k, v in new.items()})


# ---- over_limit_served

def over(tokens, prefill, decode, status=200, out=50, **more):
    return {"prefill-0.log": PREFILL + prefill, "decode-0.log": DECODE + decode, "versions.jsonl": AFFECTED,
            "gateway.jsonl": [answer("g-1", "tenant-a", 100, tokens, status=status, out=out, bootstrap_room=11, **more)]}


long_prompt = over(2000, [rejection("p1", 2000, 1274, 101), leg("prefill", "p1", 1, 100, 11)], [leg("decode", "d1", 2000, 100, 11, 50)])
case("over_limit_served", "answered although longer than the pool", "2000 >= 1274; T, A and D are yes and no page log says anything: C2",
     long_prompt, [{"request": "g-1", "tenant": "tenant-a", "status": 200, "prompt_tokens": 2000, "prompt_tokens_flag": "exact", "input_limit": 1274,
                    "pool_tokens": 1280, "decode_limit": 4090, "band": "over_pool", "prefill_worker": "prefill-0", "decode_worker": "decode-0",
                    "delivered": "yes", "class": "C2"}], {"g-1": "C2 T=yes A=yes L=unknown D=yes"})
case("over_limit_served", "exactly the limit", "the engine refuses when the length is at the limit; 1274 is not over the pool of 1280: the boundary band",
     over(1274, [leg("prefill", "p1", 1274, 100, 11)], [leg("decode", "d1", 1274, 100, 11, 50)]),
     [{"request": "g-1", "prompt_tokens": 1274, "input_limit": 1274, "band": "boundary"}], {"g-1": "C2 T=yes"})
case("over_limit_served", "one token below the limit", "1273 < 1274", over(1273, [leg("prefill", "p1", 1273, 100, 11)],
                                                                          [leg("decode", "d1", 1273, 100, 11, 50)]), [], {"g-1": "C4 T=no D=yes"})
case("over_limit_served", "answered with an error", "status 500 and nothing sent: D=no",
     over(2000, [rejection("p1", 2000, 1274, 101), leg("prefill", "p1", 1, 100, 11)], [], status=500, out=0), [], {"g-1": "C4 T=yes D=no"})
case("over_limit_served", "a context that is shorter than the pool", "the limit is that of the shorter of both: 4096 - 1 - 5 = 4090, pool 6400",
     dict(over(4090, [leg("prefill", "p1", 4090, 100, 11)], [leg("decode", "d1", 4090, 100, 11, 50)]), **{"prefill-0.log": boot("prefill", 4096, 6400) + [
         leg("prefill", "p1", 4090, 100, 11)]}), [{"request": "g-1", "input_limit": 4090, "band": "boundary"}], {"g-1": "C2 T=yes"})
case("over_limit_served", "no line with the pool", "whole on both legs, so no mismatch; without a limit T is unknown: not cleared",
     dict(over(2000, [], [leg("decode", "d1", 2000, 100, 11, 50)]), **{"prefill-0.log": boot("prefill", 4096, 0, printed=False) + [
         leg("prefill", "p1", 2000, 100, 11)]}), [], {"g-1": "C3 T=unknown A=yes D=yes"})
case("over_limit_served", "no log of the prefill worker", "nobody knows the limit that held",
     without(long_prompt, "prefill-0.log"), [], {"g-1": "C3 T=unknown D=yes"})
case("over_limit_served", "nobody says how long the prompt was", "a boot with a limit, and no length",
     {"prefill-0.log": PREFILL, "decode-0.log": DECODE, "versions.jsonl": AFFECTED, "gateway.jsonl": [answer("g-1", "tenant-a", 100)]},
     [], {"g-1": "C3 T=unknown D=yes"})

# ---- handoff_mismatch

mismatch = over(700, [leg("prefill", "p1", 1, 100, 11)], [leg("decode", "d1", 700, 100, 11, 50)])
case("handoff_mismatch", "one token before, 700 after", "below every limit: the two legs of one room alone say so; seen and answered, so A is yes",
     without(mismatch, "versions.jsonl"),
     [{"request": "g-1", "room": "11", "prefill_tokens": 1, "decode_tokens": 700, "output_tokens": 50, "prefill_worker": "prefill-0",
       "decode_worker": "decode-0", "delivered": "yes", "class": "C2"}], {"g-1": "C2 T=yes A=yes L=unknown D=yes"})
case("handoff_mismatch", "refused, then worked on", "the prefill leg gave its transfer up, which is the engine's abort of it, instead of a length of one",
     over(700, [f"{stamp(101)} Prefill transfer failed for request rank=0 req.rid='p1' req.bootstrap_room=11 with exception "
                "KVTransferError(bootstrap_room=11): Aborted by AbortReq."], [leg("decode", "d1", 700, 100, 11, 50)]),
     [{"request": "g-1", "prefill_outcome": "failed", "decode_tokens": 700}], {"g-1": "C2 T=yes"})
case("handoff_mismatch", "as many before as after", "700 on both legs", over(700, [leg("prefill", "p1", 700, 100, 11)],
                                                                             [leg("decode", "d1", 700, 100, 11, 50)]), [], {"g-1": "C4 T=no"})
case("handoff_mismatch", "a prompt of one token", "one on both legs is a short prompt", over(1, [leg("prefill", "p1", 1, 100, 11)],
                                                                                           [leg("decode", "d1", 1, 100, 11, 50)]), [], {"g-1": "C4 T=no"})
case("handoff_mismatch", "of two rooms", "one token in room 12 says nothing of room 11, whose prefill leg is then missing",
     over(700, [leg("prefill", "p1", 1, 100, 12)], [leg("decode", "d1", 700, 100, 11, 50)]), [], {"g-1": "C3 T=unknown D=yes"})
case("handoff_mismatch", "the decode worker refused as well", "nothing was worked on, and the client got the error",
     over(700, [leg("prefill", "p1", 1, 100, 11)], [rejection("d1", 700, 512, 101)], status=400, out=0), [], {"g-1": "C4 D=no"})
case("handoff_mismatch", "no log of the prefill worker", "a missing leg may have been refused",
     without(mismatch, "prefill-0.log"), [], {"g-1": "C3 T=unknown D=yes"})
case("handoff_mismatch", "no log of the decode worker", "the prefill leg saw one token of 700: nobody knows what the other one worked on",
     without(mismatch, "decode-0.log"), [], {"g-1": "C3 T=unknown D=yes"})

# ---- abort_served_as_success

ABORT = "{'type': 'abort', 'message': 'Request running timeout reached.', 'status_code': 503, 'err_type': None}"


def unified(line, **more):
    return {"unified-0.log": UNIFIED + [line], "gateway.jsonl": [answer("g-1", "tenant-a", 100, 100, response={"id": "u1"}, **more)]}


aborted = unified(finish("u1", 103, reason=ABORT))
case("abort_served_as_success", "aborted, status 200", "the engine gave up, the gateway says 200",
     aborted, [{"request": "g-1", "status": 200, "worker": "unified-0", "role": "unified", "finish_reason": "abort", "delivered": "yes"}], {"g-1": "C4 T=no"})
case("abort_served_as_success", "aborted while it ran, status 200", "another wording: a line of the scheduler, and the rid at the gateway",
     unified(f"{stamp(102)} Abort running request. rid='u1'"), [{"request": "g-1", "status": 200, "worker": "unified-0"}], {"g-1": "D=yes"})
case("abort_served_as_success", "finished", "the same line with reason stop", unified(finish("u1", 103)), [], {"g-1": "C4 T=no D=yes"})
case("abort_served_as_success", "aborted, status 503", "the client was told", unified(finish("u1", 103, reason=ABORT), status=503, out=0), [],
     {"g-1": "C4 D=no"})
case("abort_served_as_success", "no log of the engine", "200 at the gateway; what the engine did is not known",
     without(aborted, "unified-0.log"), [], {"g-1": "C3 T=unknown"})
case("abort_served_as_success", "no log of the gateway", "aborted; what the client got is not known",
     without(aborted, "gateway.jsonl"), [], {"u1": "D=unknown"})


# ---- what page logs show. d1 (g-1, tenant-a) is served well in pages 1 to 10 and gives them back; d2 (g-2, tenant-b) gets them next.
# Both prompts have 640 tokens: ten pages, and an eleventh for the answer.

def first_life(p):
    return (p.add("alloc", "d1", [[1, 11]], room=11).add("recv", "d1", [[1, 10]], room=11, tokens=[0, 640]).add("read", "d1", [[1, 10]])
            .add("write", "d1", [11], tokens=[640, 641]).add("free", "d1", [[1, 11]]))


def second_life(p, arrived, cleared=False, lost=None):
    """arrived: pages that came over before they are read"""
    if cleared:
        p.add("zero", None, [[1, 11]])
    p.add("alloc", "d2", [[1, 11]], s=110, room=12)
    p.add("recv", "d2", [[1, arrived]], room=12, tokens=[0, 640 if arrived == 10 else 1])
    if lost:
        p.lost()
    return p.add("read", "d2", [[1, 10]]).add("write", "d2", [11], tokens=[640, 641]).add("read", "d2", [11]).add("free", "d2", [[1, 11]])


def fleet(pages, before=640, tenants=("tenant-a", "tenant-b")):
    """before: what the prefill leg of the second request worked on"""
    return {"prefill-0.log": PREFILL + [leg("prefill", "p1", 640, 52, 11), leg("prefill", "p2", before, 108, 12)],
            "decode-0.log": DECODE + [leg("decode", "d1", 640, 52, 11, 50), leg("decode", "d2", 640, 108, 12, 50)], "versions.jsonl": AFFECTED,
            "decode-0.pages.jsonl": pages and pages.lines,
            "gateway.jsonl": [answer("g-1", tenants[0], 52, 640, bootstrap_room=11), answer("g-2", tenants[1], 108, 640, took=12, bootstrap_room=12)]}


def log():
    return first_life(Pages("decode-0", start=50))


stale = fleet(second_life(log(), 1), before=1)
row = {"worker": "decode-0", "pool": "kv", "reader_request": "g-2", "reader_tenant": "tenant-b", "owner_request": "g-1", "owner_tenant": "tenant-a",
       "cross_tenant": "yes", "kind": "stale", "pages": 9, "tokens_at_most": 576, "delivered": "yes", "grade": "physical"}
case("stale_read", "one page of ten arrived", "pages 2 to 10 still hold what d1 left, from before d2 got them",
     stale, [row], {"g-2": "C1 T=yes A=yes L=yes D=yes", "g-1": "C4"})
case("stale_read", "all of one tenant", "other people may sit behind one tenant: a foreign read all the same",
     fleet(second_life(log(), 1), before=1, tenants=("tenant-a", "tenant-a")), [dict(row, reader_tenant="tenant-a", cross_tenant="no")], {"g-2": "C1 L=yes"})
case("stale_read", "all of it arrived", "ten pages of d2's own", fleet(second_life(log(), 10)), [], {"g-2": "C4 T=no L!=yes"}, ("exposures", []))
case("stale_read", "cleared before", "pages 2 to 10 hold nobody's data; the log is whole, and the prefill leg gave one token only: L=no",
     fleet(second_life(log(), 1, cleared=True), before=1), [], {"g-2": "C4 T=yes A=yes L=no D=yes"},
     ("exposures", [{"reader_request": "g-2", "owner_request": None, "kind": "uninitialised", "pages": 9}]))
case("stale_read", "read by the request whose pages they are", "d2 is the second attempt of g-1: its own content is not foreign",
     dict(fleet(second_life(log(), 1), before=1), **{"gateway.jsonl": [
         answer("g-1", "tenant-a", 52, status=500, out=0, took=50, event="retry", bootstrap_room=11),
         answer("g-1", "tenant-a", 52, 640, took=70, bootstrap_room=12)]}), [], {"g-1": "C2 T=yes L!=yes D=yes"}, ("exposures", []))
case("stale_read", "a record lost between", "the lost record may have filled the pages: temporal, and no L=yes; nor does it clear",
     fleet(second_life(log(), 1, lost=True), before=1), [dict(row, pages=10, tokens_at_most=640, grade="temporal")], {"g-2": "C2 T=yes L=unknown"})
case("stale_read", "no page log", "nobody knows", without(stale, "decode-0.pages.jsonl"), [], {"g-2": "C2 T=yes A=yes L=unknown D=yes"},
     ("exposures", []))
case("stale_read", "a page log without numbers", "nothing shows that such a log is whole: it can show a read, and clears nobody",
     fleet(second_life(first_life(Pages("decode-0", start=50, numbered=False)), 1, cleared=True), before=1), [], {"g-2": "C2 L=unknown"})


# ---- late_write

def late(order, lost=False):
    """d1's transfer into pages 3 and 4 goes on after they were given to d2."""
    p = log().add("alloc", "d2", [[1, 11]], s=110, room=12)
    for step in order:
        if step == "late":
            p.add("recv", "d1", [[3, 2]], room=11, tokens=[128, 256])
        elif step == "own":
            p.add("recv", "d2", [[1, 10]], room=12, tokens=[0, 640])
        elif step == "lost":
            p.add("write", "d2", [[1, 1]]).lost()
        else:
            p.add("read", "d2", [[1, 10]])
    return p.add("write", "d2", [11], tokens=[640, 641]).add("read", "d2", [11]).add("free", "d2", [[1, 11]])


written = fleet(late(("own", "late", "read")))
row = dict(row, kind="late_write", pages=2, tokens_at_most=128)
case("late_write", "written after free and reuse, then read", "two pages; a confirmed response below the limit disproves the trigger",
     written, [row], {"g-2": "C1 T=no L=yes D=yes"})
case("late_write", "written after it was read", "what came after the last read was read by nobody", fleet(late(("own", "read", "late"))), [], {"g-2": "C4 L!=yes"},
     ("exposures", []))
case("late_write", "overwritten by its own", "the request's own content came over it before it read", fleet(late(("late", "own", "read"))), [],
     {"g-2": "C4 L!=yes"}, ("exposures", []))
case("late_write", "a record lost between", "it may have filled the page again", fleet(late(("own", "late", "lost", "read"))), [dict(row, grade="temporal")],
     {"g-2": "L=unknown"})
case("late_write", "no page log, prompt over the limit", "nobody knows: T=A=D=yes and L unknown", without(replaced(
    written, prefill_0__log=PREFILL + [leg("prefill", "p1", 640, 52, 11), leg("prefill", "p2", 1, 108, 12)]), "decode-0.pages.jsonl"), [],
    {"g-2": "C2 L=unknown"})


# ---- read_before_ready

def early(*steps):
    p = log().add("alloc", "d2", [[1, 11]], s=110, room=12)
    for step in steps:
        if step == "again":
            p.add("free", "d2", [[1, 11]]).add("alloc", "d2", [[1, 11]], room=12)
        elif step == "lost":
            p.add("write", "d2", [1]).lost()
        elif step == "own":
            p.add("recv", "d2", [[1, 10]], room=12, tokens=[0, 640])
        else:
            p.add("read", "d2", [[1, 10]])
    return p.add("write", "d2", [11], tokens=[640, 641]).add("read", "d2", [11]).add("free", "d2", [[1, 11]])


row = dict(row, kind="not_ready", pages=10, tokens_at_most=640)
case("read_before_ready", "read, then it arrived", "the read found d1's content, because its own came later",
     fleet(early("read", "own")), [row], {"g-2": "C1 L=yes D=yes"})
case("read_before_ready", "read again when it had arrived", "the second read is of its own content; the first one stays",
     fleet(early("read", "own", "read")), [row], {"g-2": "C1 L=yes"})
case("read_before_ready", "arrived, then read", "the order in which it should be", fleet(early("own", "read")), [], {"g-2": "C4 L!=yes"}, ("exposures", []))
case("read_before_ready", "given back before it arrived", "what came later came into another life of the pages: a stale read",
     fleet(early("read", "again", "own")), [], {"g-2": "C1 L=yes"}, ("exposures", [dict(row, kind="stale")]))
case("read_before_ready", "a record lost between", "the lost record may have filled the page: temporal", fleet(early("lost", "read", "own")),
     [dict(row, grade="temporal")], {"g-2": "L=unknown"})
case("read_before_ready", "into pages that nobody had", "uninitialised before its own came: no owner, and no foreign read",
     fleet(Pages("decode-0", start=50).add("alloc", "d2", [[1, 11]], s=110, room=12).add("read", "d2", [[1, 10]]).add(
         "recv", "d2", [[1, 10]], room=12, tokens=[0, 640]).add("free", "d2", [[1, 11]])),
     [dict(row, owner_request=None, owner_tenant=None, cross_tenant=None)], {"g-2": "C4 L!=yes"})

# ---- cross_tenant_prefix_share


def share(shared=True, tenants=("tenant-a", "tenant-b")):
    p = (Pages("unified-0", start=50).add("alloc", "u1", [[1, 11]]).add("write", "u1", [[1, 10]], tokens=[0, 640]).add("read", "u1", [[1, 10]]))
    if shared:
        p.add("share", "u2", [[1, 4]], s=110)
    else:
        p.add("alloc", "u2", [[1, 4]], s=110)
    p.add("alloc", "u2", [[20, 7]]).add("write", "u2", [[20, 6]], tokens=[256, 640]).add("read", "u2", [[1, 4], [20, 6]])
    p.add("free", "u2", [[1, 4], [20, 7]]).add("free", "u1", [[1, 11]])
    return {"unified-0.log": UNIFIED + [leg("unified", "u1", 640, 52, out=50), leg("unified", "u2", 640, 108, out=50)], "unified-0.pages.jsonl": p.lines,
            "gateway.jsonl": [answer("g-1", tenants[0], 52, 640, response={"id": "u1"}, took=80),
                              answer("g-2", tenants[1], 108, 640, response={"id": "u2"}, took=12)]}


row = {"worker": "unified-0", "reader_request": "g-2", "owner_request": "g-1", "kind": "shared", "pages": 4, "tokens_at_most": 256, "cross_tenant": "yes"}
case("cross_tenant_prefix_share", "a cached prefix of another tenant", "attached by share: legitimate, and told; the log is whole: L=no",
     share(), [row], {"g-2": "C4 L=no D=yes", "g-1": "C4 L=no"})
case("cross_tenant_prefix_share", "of the same tenant", "nothing crosses tenants", share(tenants=("tenant-a", "tenant-a")), [], {"g-2": "C4 L=no"},
     ("exposures", [dict(row, cross_tenant="no")]))
case("cross_tenant_prefix_share", "taken, not shared", "the same pages by alloc: a stale read", share(shared=False), [], {"g-2": "C1 L=yes"},
     ("exposures", [dict(row, kind="stale")]))
case("cross_tenant_prefix_share", "no log of the gateway", "nobody knows the tenants", without(share(), "gateway.jsonl"), [], {},
     ("exposures", [{"reader_request": "u2", "owner_request": "u1", "kind": "shared", "cross_tenant": "unknown", "reader_tenant": None}]))

# ---- released_then_fetched (vLLM)

VLLM = "(EngineCore_DP0 pid=212) {} 09-05 10:0{}:{:02d} [{}] {}"
RID = "8f07dfc0a1b2c3d4e5f6a7b8c9d0e1f2"
START = ["(APIServer pid=1) INFO 09-05 10:00:01 [api_server.py:1289] vLLM API server version 0.11.0",
         VLLM.format("INFO", 0, 2, "scheduler.py:100", "Initializing NIXL Scheduler 2ef84114-0000-4000-8000-000000000002"),
         "(EngineCore_DP0 pid=212) INFO 09-05 10:00:05 [kv_cache_utils.py:864] GPU KV cache size: 6,400 tokens"]
ADDED = [f"(APIServer pid=1) INFO 09-05 10:01:40 [async_llm.py:439] Added request chatcmpl-{RID}-a2f0e657."]


def vllm(*lines):
    return {"prefill-0.log": START + ADDED + list(lines), "gateway.jsonl": [answer("g-1", "tenant-a", 100, 640, took=30, response={"id": f"chatcmpl-{RID}"})]}


EXPIRED = VLLM.format("WARNING", 1, 50, "base_worker.py:2168", f"Releasing expired KV blocks for request chatcmpl-{RID}-a2f0e657 which were "
                      "retrieved by 0 remote worker(s) before lease expired.")
FETCHED = VLLM.format("ERROR", 1, 58, "pull_worker.py:373", f"Potentially invalid KV blocks for unrecognized request chatcmpl-{RID}-a2f0e657 were "
                      "retrieved by a decode worker. They may have expired.")
DECLINED = VLLM.format("WARNING", 1, 58, "pull_worker.py:134", f"Declining expired remote read for chatcmpl-{RID}-a2f0e657 from engine "
                       "2ef84114-0000-4000-8000-000000000002.")
case("released_then_fetched", "released, then read", "the prefill worker reports the read: a sign that clears nobody by length or build",
     vllm(EXPIRED, FETCHED), [{"request": "g-1", "status": 200, "prefill_worker": "prefill-0", "delivered": "yes"}], {"g-1": "C3 T!=no A!=no D=yes"})
case("released_then_fetched", "released", "nobody read them afterwards", vllm(EXPIRED), [], {})
case("released_then_fetched", "released, and the read declined", "a read that was refused reads nothing", vllm(EXPIRED, DECLINED), [], {})
case("released_then_fetched", "no log of the prefill worker", "only that worker would have told", without(vllm(EXPIRED, FETCHED), "prefill-0.log"),
     [], {"g-1": "C3 T=unknown A=unknown D=yes"})

# ---- marker_seen_elsewhere

MARK = "PTM-7F3K9Q2XW4"


def marked(asked, answered, planted='"planted_request":"g-1","planted_tenant":"tenant-a"'):
    return {"unified-0.log": UNIFIED + [finish("u1", 63, f"remember {MARK}", "yes"), finish("u2", 113, asked, answered)],
            "markers.json": f'{{"markers":[{{"marker":"{MARK}",{planted}}}]}}',
            "gateway.jsonl": [answer("g-1", "tenant-a", 60, 100, response={"id": "u1"}), answer("g-2", "tenant-b", 110, 100, response={"id": "u2"})]}


leaked = marked("hello", f"as you said, {MARK}")
case("marker_seen_elsewhere", "in the answer to another", "planted in g-1, answered to g-2: X=yes, whatever the length says",
     leaked, [{"request": "g-2", "tenant": "tenant-b", "marker": MARK, "planted_request": "g-1", "planted_tenant": "tenant-a", "cross_tenant": "yes",
               "prompt": "not_in_prompt", "class": "C1"}], {"g-2": "C1 X=yes T=no D=yes", "g-1": "X=unknown"})
case("marker_seen_elsewhere", "in its own answer", "the request that it was planted in",
     marked("hello", f"as you said, {MARK}", '"planted_request":"g-2","planted_tenant":"tenant-b"'), [], {"g-2": "C4 X=unknown"})
case("marker_seen_elsewhere", "one character differs", "a near miss is no match", marked("hello", f"as you said, {MARK[:-1]}5"), [], {"g-2": "C4 X=unknown"})
case("marker_seen_elsewhere", "in its own prompt as well", "an answer that repeats what was asked", marked(f"what is {MARK}", f"it is {MARK}"), [],
     {"g-2": "C4 X=unknown"})
case("marker_seen_elsewhere", "no file of markers", "nobody looked", without(leaked, "markers.json"), [], {"g-2": "X=unknown"})
case("marker_seen_elsewhere", "no log with text", "what was answered is not known, and that is no X=no", without(leaked, "unified-0.log"), [],
     {"g-2": "C3 X=unknown T=unknown"})
case("marker_seen_elsewhere", "nobody says where it was planted", "a sighting of unknown meaning", marked("hello", f"as you said, {MARK}", '"note":"x"'), [],
     {"g-2": "X=unknown"})

# ---- context_exceeds_pool

EXCEEDS = ("sql", "SELECT w.name AS worker, b.context_len, b.pool_tokens, b.context_len > b.pool_tokens AS more FROM boot b JOIN worker w USING(worker)")
row = {"worker": "prefill-0", "role": "prefill", "context_len": 4096, "pool_tokens": 1280, "input_limit": 1274, "context_exceeds_pool": True}
case("context_exceeds_pool", "a pool of 1280", "4096 > 1280: a prompt is accepted that the pool cannot hold", {"prefill-0.log": PREFILL}, [row], {})
case("context_exceeds_pool", "of two boots the first", "limits belong to a boot: the second one has a pool that is large enough",
     {"prefill-0.log": PREFILL + boot("prefill", 4096, 8192, 500)}, [row], {})
case("context_exceeds_pool", "both the same", "4096 is not larger than 4096", {"prefill-0.log": boot("prefill", 4096, 4096)}, [], {})
case("context_exceeds_pool", "no line with the pool", "not known, and neither yes nor no",
     {"prefill-0.log": boot("prefill", 4096, 0, printed=False) + [leg("prefill", "p1", 640, 52, 11)]}, [], {},
     (EXCEEDS, [{"worker": "prefill-0", "context_len": 4096, "pool_tokens": None, "more": None}]))

# ---- log_gap

hole = fleet(log().add("alloc", "d2", [[1, 11]], s=110, room=12).add("recv", "d2", [[1, 10]], room=12, tokens=[0, 640]).lost().add(
    "read", "d2", [[1, 10]]).add("free", "d2", [[1, 11]]))
case("log_gap", "a number is missing", "one record of decode-0 between 110 s and 112 s", hole,
     [{"kind": "sequence", "worker": "decode-0", "missing": 1, "unit": "records", "from": second(110), "to": second(112)}], {"g-2": "L=unknown"})
case("log_gap", "no number is missing", "the same records, all of them", fleet(second_life(log(), 10)), [], {})
case("log_gap", "two boots, each from 0", "a boot begins the numbers anew: no hole",
     dict(fleet(None), **{"decode-0.pages.jsonl": log().lines + Pages("decode-0", start=205).lines,
                          "decode-0.log": fleet(None)["decode-0.log"] + boot("decode", 4096, 6400, 200)}), [], {})
case("log_gap", "a line that nobody understands", "kept, counted, and told",
     dict(fleet(second_life(log(), 10)), **{"decode-0.pages.jsonl": second_life(log(), 10).lines + ['{"v":1,"ts":%d,"seq":12,"worker":"decode-0","op":"x"}' %
                                                                                                 (EPOCH + 140)]}),
     [{"kind": "unparsed", "worker": "decode-0", "missing": 1}], {"g-2": "L!=no"})
case("log_gap", "no numbers", "what was lost cannot be seen, so nothing counts as whole",
     fleet(second_life(first_life(Pages("decode-0", start=50, numbered=False)), 1, cleared=True), before=1), [], {"g-2": "L=unknown"})


# ---- a hole that may hide a restart: limits of the boot before do not clear what came after. 2000 tokens are under the limit of a pool of
# 6400 (4090) and over that of the 1280 that it has after the restart.


def restarted(*logs, page=None, info=(), s=500):
    """A whole request in a log that goes on with the lines of a second boot, some of them lost."""
    return {**{name: lines for name, lines in logs}, "decode-0.log": DECODE + [leg("decode", "d0", 2000, 52, 10, 50), leg("decode", "d1", 2000, s, 11, 50)],
            "prefill-0.pages.jsonl": page and page.lines, "versions.jsonl": AFFECTED + list(info), "gateway.jsonl": [
                answer("g-0", "tenant-a", 52, 2000, bootstrap_room=10), answer("g-1", "tenant-a", s, 2000, bootstrap_room=11)]}


LARGE = boot("prefill", 4096, 6400)
BEFORE, AFTER = leg("prefill", "p0", 2000, 52, 10), leg("prefill", "p1", 2000, 500, 11)
whole = restarted(("prefill-0.log", LARGE + [BEFORE] + boot("prefill", 4096, 1280, 300) + [AFTER]))
lost = ("prefill-0.log", LARGE + [BEFORE, AFTER])
two = Pages("prefill-0", start=1)
two.lines += Pages("prefill-0", start=300, pool_pages=20).lines
case("over_limit_served", "a restart with a smaller pool", "the limit of the boot that served it: 4090 before, 1274 after", whole,
     [{"request": "g-1", "input_limit": 1274}], {"g-0": "C4 T=no", "g-1": "C2 T=yes"})
case("log_gap", "the start is lost, a page log shows it", "version and limit of the boot before do not clear what came after it", restarted(lost, page=two),
     [{"kind": "boot", "worker": "prefill-0"}], {"g-0": "C4 T=no", "g-1": "C3 T=unknown A=yes D=yes"})
case("log_gap", "a start that both logs show", "nothing is lost", restarted(("prefill-0.log", whole["prefill-0.log"]), page=two), [], {"g-0": "C4 T=no", "g-1": "C2 T=yes"})
rotated = {"prefill-0.log.3": LARGE + [BEFORE], "prefill-0.log.1": [AFTER]}
case("log_gap", "the start is in a file that is not there", "log.3 and log.1, and no log.2: what ran in log.1 is not known", restarted(*rotated.items()),
     [{"kind": "rotation", "worker": "prefill-0", "missing": 1}], {"g-0": "C4 T=no", "g-1": "C3 T=unknown"})
FITS = ('{"collected_at":"%s","worker":"prefill-0","server_info":{"model_path":"/models/m-1t","version":"0.5.21","context_length":4096,"page_size":64,'
        '"disaggregation_mode":"prefill","max_total_num_tokens":%d,"internal_states":[]}}')
case("log_gap", "a snapshot shows that it is the same boot", "behind the hole the log is whole up to the snapshot: no restart was lost",
     restarted(*rotated.items(), info=[FITS % (second(600), 6400)]), [{"kind": "rotation"}], {"g-0": "C4 T=no", "g-1": "C4 T=no"})
case("log_gap", "a snapshot contradicts the log", "a pool of 1280 where the log shows 6400 and no restart: one of them is wrong, and nobody is cleared by either",
     restarted(("prefill-0.log", LARGE + [BEFORE, AFTER, leg("prefill", "p9", 9, 900, 99)]), info=[FITS % (second(450), 1280)]),
     [{"kind": "boot", "worker": "prefill-0"}], {"g-0": "C4 T=no", "g-1": "C3 T=unknown"})

# ---- clock_conflict

def clocks(ahead):
    """Ten requests, 100 s apart, each answered within 4 s; the engine says that it was ready 3 s after it began, by its own clock."""
    return {"unified-0.log": UNIFIED + [finish(f"u{i}", 100 * i + 3 + ahead(i)) for i in range(1, 11)],
            "gateway.jsonl": [answer(f"g-{i}", "tenant-a", 100 * i, 100, response={"id": f"u{i}"}) for i in range(1, 11)]}


CLOCK = ("sql", "SELECT c.skew_ns / 1000000000 AS ahead, abs(c.skew_ns / 1e9 - 50) <= c.bound_ns / 1e9 AS fifty, c.bound_ns IS NULL AS unbound FROM clock c JOIN source s USING(source) "
                "WHERE s.path LIKE '%unified%'")
case("clock_conflict", "now right, now 50 s ahead", "every other request was ready 46 s after it had been answered: no correction fits both",
     clocks(lambda i: 50 * (i % 2)), [{"kind": "clock"}], {})
case("clock_conflict", "right", "no clock contradicts the other", clocks(lambda i: 0), [], {}, (CLOCK, [{"ahead": 0}]))
case("clock_conflict", "always 50 s ahead", "one correction explains all", clocks(lambda i: 50), [], {}, (CLOCK, [{"fifty": 1}]))
case("clock_conflict", "no log of the gateway", "nothing to compare with: no conflict, and no bound either",
     without(clocks(lambda i: 50 * (i % 2)), "gateway.jsonl"), [], {}, (CLOCK, [{"unbound": 1}]))


def one(c):
    query, rows = c.rows
    asked = [("query", query)] + [(a,) if isinstance(a, str) else a for a, _ in c.also]
    a = Answers(c.files, *asked, scope=bool(c.classes))
    wrong = findings(c.classes, a) + differences(rows, a.asked[0])
    for (_, expected), got in zip(c.also, a.asked[1:]):
        wrong += differences(expected, got)
    return wrong


if __name__ == "__main__":
    run_all(CASES, one)
