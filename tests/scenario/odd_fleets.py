#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""odd_fleets.py - incidents that the simulator does not make, on a few lines written by hand

Several models behind one gateway, a worker with another pool after its restart, a prefill limit that is not the smaller one,
data-parallel ranks with pools of their own, attempts on several workers, other wordings. What is expected follows from docs/method.md.
"""
import collections
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from tiny import Answers, Pages, answer, boot, differences, findings, leg, rejection, run_all, stamp, versions  # noqa: E402

Case = collections.namedtuple("Case", "name why files classes rows also")
CASES = []
AFFECTED = versions(prefill_0="0.5.21", decode_0="0.5.21", prefill_1="0.5.21", decode_1="0.5.21")


def case(name, why, files, classes, rows=None, *also):
    """rows: members of rows of scope, by request; also: (arguments of a verb, its rows)"""
    files.setdefault("versions.jsonl", AFFECTED)
    CASES.append(Case(name, why, files, classes, rows or {}, also))


# ---- two models behind one gateway: the limit is that of the model that was asked

SMALL, LARGE = boot("prefill", 4096, 1280, model="m-small"), boot("prefill", 8192, 8192, model="m-large")


def models(prefill_1=True, asked="m-large"):
    return {"prefill-0.log": SMALL + [leg("prefill", "p0", 700, 52, 10)],
            "decode-0.log": boot("decode", 4096, 6400, model="m-small") + [leg("decode", "d0", 700, 52, 10, 50)],
            "prefill-1.log": LARGE + ([leg("prefill", "p1", 2000, 100, 11)] if prefill_1 else []),
            "decode-1.log": boot("decode", 8192, 8192, model="m-large") + [leg("decode", "d1", 2000, 100, 11, 50)],
            "gateway.jsonl": [answer("g-0", "tenant-a", 52, 700, bootstrap_room=10, model="m-small"),
                              answer("g-1", "tenant-b", 100, 2000, bootstrap_room=11, model=asked)]}


case("two models, each by its own limit", "2000 is over the limit of m-small (1274), and under that of m-large (8186), which served it", models(),
     {"g-0": "C4 T=no", "g-1": "C4 T=no"}, {"g-1": {"input_limit": 8186, "pool_tokens": 8192, "prefill_worker": "prefill-1"}})
case("two models, the prefill leg is missing", "only boots of m-large count, and none of them would have refused: not yes, and not no", models(False),
     {"g-1": "C3 T=unknown"}, {"g-1": {"prefill_worker": None}})
case("two models, the other one was asked", "every prefill boot of m-small would have refused 2000: yes", models(False, "m-small"), {"g-1": "C2 T=yes"})
case("two models, nobody says which was asked", "boots of both count, and they do not agree", models(False, None), {"g-1": "C3 T=unknown"})

# ---- a restart in the middle with another pool

AGAIN = boot("prefill", 4096, 1280) + [leg("prefill", "p0", 1500, 100, 10)] + boot("prefill", 4096, 3200, 300) + [leg("prefill", "p1", 1500, 400, 11),
                                                                                                            leg("prefill", "p2", 3194, 500, 12)]
case("a restart with a larger pool", "1500 is over 1274 before it, and under 3194 after it; 3194 is at the limit then", {
    "prefill-0.log": AGAIN,
    "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", f"d{i}", n, s, 10 + i, 50) for i, (n, s) in enumerate([(1500, 100), (1500, 400), (3194, 500)])],
    "versions.jsonl": versions(decode_0="0.5.21"),
    "gateway.jsonl": [answer(f"g-{i}", "tenant-a", s, n, bootstrap_room=10 + i) for i, (n, s) in enumerate([(1500, 100), (1500, 400), (3194, 500)])]},
     {"g-0": "C2 T=yes", "g-1": "C4 T=no", "g-2": "C2 T=yes"},
     {"g-0": {"input_limit": 1274, "band": "over_pool"}, "g-1": {"input_limit": 3194, "band": "under"}, "g-2": {"input_limit": 3194, "band": "boundary"}})

case("a restart of the decode worker with page logs", "what pages held before a boot is nobody's after it: the same page numbers are no stale read", {
    "prefill-0.log": boot("prefill", 4096, 1280) + [leg("prefill", "p1", 640, 52, 11), leg("prefill", "p2", 1, 508, 12)],
    "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", "d1", 640, 52, 11, 50)] + boot("decode", 4096, 3200, 300) + [leg("decode", "d2", 640, 508, 12, 50)],
    "decode-0.pages.jsonl": Pages("decode-0", start=20).add("alloc", "d1", [[1, 11]], s=52, room=11).add("recv", "d1", [[1, 10]], room=11, tokens=[0, 640]).add(
        "read", "d1", [[1, 10]]).add("free", "d1", [[1, 11]]).lines + Pages("decode-0", 50, start=310).add("alloc", "d2", [[1, 11]], s=510, room=12).add(
            "recv", "d2", [[1, 1]], room=12, tokens=[0, 1]).add("read", "d2", [[1, 11]]).add("free", "d2", [[1, 11]]).lines,
    "gateway.jsonl": [answer("g-1", "tenant-a", 52, 640, bootstrap_room=11), answer("g-2", "tenant-b", 508, 640, took=8, bootstrap_room=12)]},
     {"g-2": "C4 T=yes L=no D=yes", "g-1": "C4"}, {},
     (("exposures",), [{"reader_request": "g-2", "owner_request": None, "kind": "uninitialised", "pages": 10}]))

# ---- prefill limit not below the decode limit


def limits(prefill, decode, p, d, status=200, out=50):
    return {"prefill-0.log": boot("prefill", 4096, prefill) + p, "decode-0.log": boot("decode", 4096, decode) + d,
            "gateway.jsonl": [answer("g-1", "tenant-a", 100, 2000, status=status, out=out, bootstrap_room=11)]}


case("the decode worker has the smaller pool, and refuses", "T is of the prefill boot: 2000 is under 4090; nothing was delivered",
     limits(6400, 1280, [leg("prefill", "p1", 2000, 100, 11)], [rejection("d1", 2000, 1274, 101)], status=400, out=0), {"g-1": "C4 T=no D=no"},
     {"g-1": {"input_limit": 4090}})
case("the decode worker has the smaller pool, and answers", "under the limit of the prefill boot: T=no, although the decode limit was passed",
     limits(6400, 1280, [leg("prefill", "p1", 2000, 100, 11)], [leg("decode", "d1", 2000, 100, 11, 50)]), {"g-1": "C4 T=no"})
case("both limits are the same, and both were passed", "the decode worker should have refused as well, and did not: yes, and said",
     limits(1280, 1280, [rejection("p1", 2000, 1274, 101), leg("prefill", "p1", 1, 100, 11)], [leg("decode", "d1", 2000, 100, 11, 50)]), {"g-1": "C2 T=yes"},
     {"g-1": {"reasons": lambda r: "over_decode_limit_too" in r}})

# ---- data-parallel ranks that share one log and have pools of their own


def ranks(rank, tokens):
    start = boot("prefill", 4096, 1280)
    start = [start[0].replace("dp_size=1", "dp_size=2"), start[1].replace("]", " DP0 TP0]", 1),
             f"{stamp(9)[:-1]} DP0 TP0] KV Cache is allocated. #tokens: 1280, K size: 1.00 GB, V size: 1.00 GB",
             f"{stamp(9)[:-1]} DP1 TP0] KV Cache is allocated. #tokens: 3200, K size: 2.50 GB, V size: 2.50 GB", start[2]]
    return {"prefill-0.log": start + [leg("prefill", "p1", tokens, 100, 11, tag=f" DP{rank} TP0")],
            "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", "d1", tokens, 100, 11, 50)],
            "gateway.jsonl": [answer("g-1", "tenant-a", 100, tokens, bootstrap_room=11)]}


case("ranks with their own pools: the small one", "rank 0 has 1280: 2000 is over it", ranks(0, 2000), {"g-1": "T=yes"},
     {"g-1": {"prefill_worker": "prefill-0/dp0", "pool_tokens": 1280, "input_limit": 1274}})
case("ranks with their own pools: the large one", "rank 1 has 3200: 2000 is under 3194", ranks(1, 2000), {"g-1": "C4 T=no"},
     {"g-1": {"prefill_worker": "prefill-0/dp1", "pool_tokens": 3200, "input_limit": 3194}})
case("ranks with their own pools: at the limit of the large one", "3194 is at it", ranks(1, 3194), {"g-1": "T=yes"}, {"g-1": {"band": "boundary"}})

# ---- a gateway's second attempt, served by another worker


def attempts(second, **more):
    """The first attempt is refused by prefill-0 (1274); the second one goes to prefill-1 and decode-1."""
    return dict({"prefill-0.log": boot("prefill", 4096, 1280) + [rejection("p0", 2000, 1274, 101), leg("prefill", "p0", 1, 100, 10)],
                 "decode-0.log": boot("decode", 4096, 6400) + [
                     f"{stamp(103)} Decode transfer failed for request rank=0 decode_req.req.rid='d0' decode_req.req.bootstrap_room=10 with exception "
                     "KVTransferError(bootstrap_room=10): Failed to get kvcache from prefill instance, it might be dead"],
                 "prefill-1.log": boot("prefill", 4096, 6400) + second[0], "decode-1.log": boot("decode", 4096, 6400) + second[1],
                 "gateway.jsonl": [answer("g-1", "tenant-a", 100, status=500, out=0, event="retry", bootstrap_room=10),
                                   answer("g-1", "tenant-a", 100, 2000, took=20, bootstrap_room=11)]}, **more)


good = attempts(([leg("prefill", "p1", 2000, 108, 11)], [leg("decode", "d1", 2000, 108, 11, 50)]))
case("an attempt that failed, another one that answered", "the answer is the second one's, whose limit is 4090", good, {"g-1": "C4 T=no D=yes"},
     {"g-1": {"prefill_worker": "prefill-1", "decode_worker": "decode-1", "input_limit": 4090}},
     (("query", "handoff_mismatch"), []), (("query", "over_limit_served"), []))
case("an attempt that failed, the other one is not logged", "nobody knows who answered: nothing clears it", {k: v for k, v in good.items() if k not in ("prefill-1.log", "decode-1.log")},
     {"g-1": "class!=C4 T!=no A!=no L!=no D=yes"})
case("two attempts, the second one with the mismatch", "prefill-1 saw one token", attempts(([leg("prefill", "p1", 1, 108, 11)], [leg("decode", "d1", 2000, 108, 11, 50)])),
     {"g-1": "C2 T=yes"}, {"g-1": {"prefill_worker": "prefill-1"}}, (("query", "handoff_mismatch"), [{"request": "g-1", "room": "11", "decode_tokens": 2000}]))

# ---- other wordings: a site's own envelope, an old version, a fork


def worded(pool, refused, envelope=stamp):
    return {"prefill-0.log": [f"{envelope(0)} server_args=ServerArgs(model_path='/models/m-1t', context_length=4096, page_size=64, disaggregation_mode='prefill', "
                              "disaggregation_transfer_backend='mooncake', tp_size=1, dp_size=1)", f"{envelope(10)} {pool}", f"{envelope(101)} {refused}",
                              f"{envelope(103)} " + leg("prefill", "p1", 1, 100, 11).split("] ", 1)[1]],
            "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", "d1", 2000, 100, 11, 50)],
            "gateway.jsonl": [answer("g-1", "tenant-a", 100, 2000, bootstrap_room=11)]}


NEW = "max_total_num_tokens=1280, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len=4096, available_gpu_mem=8.16 GB"
OLD = "[gpu_id=0] max_total_num_tokens=1280, max_prefill_tokens=16384, context_len=4096"
REFUSED = ("Input length (2000 tokens) exceeds the maximum allowed length (1274 tokens). Use a shorter input or enable --allow-auto-truncate., self.rid='p1'")
expected = {"g-1": {"input_limit": 1274, "pool_tokens": 1280, "band": "over_pool", "prefill_worker": "prefill-0"}}
case("a very old pool line", "max_total_num_tokens behind a gpu_id", worded(OLD, REFUSED), {"g-1": "T=yes"}, expected)
case("a fork's rejection", "it names what was too long, and which limit", worded(NEW, "Input length (2000 tokens) of the multimodal prompt exceeds the maximum "
                                                                             "allowed length (1274 tokens). Use a shorter input., self.rid='p1'"), {"g-1": "T=yes"}, expected)
case("a rejection of the request's own words", "Request <rid> exceeds the maximum number of tokens", worded(NEW, "Request p1 exceeds the maximum number of tokens: 2000 > 1274"),
     {"g-1": "T=yes"}, expected)
case("a time without brackets", "some wrappers drop them", worded(NEW, REFUSED, lambda s: stamp(s)[1:-1]), {"g-1": "T=yes"}, expected)


def unified(lines, **more):
    return dict({"unified-0.log": boot("null", 4096, 1280) + lines, "versions.jsonl": versions(unified_0="0.5.21"),
                 "gateway.jsonl": [answer("g-1", "tenant-a", 100, 2000, response={"id": "u1"})]}, **more)


case("old time stats of a single node", "no hand-off there: A=no clears it, although 2000 is over the limit and it was answered",
     unified([f"{stamp(103)} Req Time Stats(rid=u1, input len=2000, output len=50, type=unified): queue_duration=8.30ms, forward_duration=2000.00ms, "
              "start_time=12345.600"]), {"g-1": "C4 T=yes A=no D=yes"}, {"g-1": {"input_limit": 1274, "decode_worker": "unified-0"}})
case("one id for both attempts", "a client chose it: what the refused attempt says is not said of the one that answered", {
    "prefill-0.log": boot("prefill", 4096, 1280) + [rejection("mine", 2000, 1274, 101), leg("prefill", "mine", 1, 100, 10)],
    "decode-0.log": boot("decode", 4096, 6400), "prefill-1.log": boot("prefill", 4096, 6400) + [leg("prefill", "mine", 2000, 108, 11)],
    "decode-1.log": boot("decode", 4096, 6400) + [leg("decode", "mine", 2000, 108, 11, 50)],
    "gateway.jsonl": [answer("g-1", "tenant-a", 100, status=500, out=0, event="retry", bootstrap_room=10),
                      answer("g-1", "tenant-a", 100, 2000, took=20, bootstrap_room=11)]}, {"g-1": "C4 T=no D=yes"}, {"g-1": {"prefill_worker": "prefill-1"}})
case("one id for two requests", "two clients chose it: each response has its own legs, by their rooms", {
    "prefill-0.log": boot("prefill", 4096, 1280) + [rejection("mine", 2000, 1274, 101), leg("prefill", "mine", 1, 100, 10), leg("prefill", "mine", 700, 300, 11)],
    "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", "mine", 2000, 100, 10, 50), leg("decode", "mine", 700, 300, 11, 50)],
    "gateway.jsonl": [answer("g-1", "tenant-a", 100, 2000, bootstrap_room=10), answer("g-2", "tenant-b", 300, 700, bootstrap_room=11)]},
     {"g-1": "C2 T=yes", "g-2": "C4 T=no"})
case("a gateway whose clock is an hour ahead", "the rooms join all the same; limits are those of the boot that served it, by the engine's own clock", {
    "prefill-0.log": AGAIN, "versions.jsonl": versions(decode_0="0.5.21"),
    "decode-0.log": boot("decode", 4096, 6400) + [leg("decode", f"d{i}", n, s, 10 + i, 50) for i, (n, s) in enumerate([(1500, 100), (1500, 400), (3194, 500)])],
    "gateway.jsonl": [answer(f"g-{i}", "tenant-a", s + 3600, n, bootstrap_room=10 + i) for i, (n, s) in enumerate([(1500, 100), (1500, 400), (3194, 500)])]},
     {"g-0": "T=yes", "g-1": "T=no", "g-2": "T=yes"}, {"g-0": {"input_limit": 1274}, "g-1": {"input_limit": 3194}})
case("a policy-less engine beside it", "vLLM served it alone: another engine than the affected one", {
    "vllm-0.log": ["(APIServer pid=1) INFO 09-05 10:00:01 [api_server.py:1289] vLLM API server version 0.11.0",
                   "(EngineCore_DP0 pid=212) INFO 09-05 10:00:05 [kv_cache_utils.py:864] GPU KV cache size: 6,400 tokens",
                   "(APIServer pid=1) INFO 09-05 10:01:40 [async_llm.py:439] Added request chatcmpl-8f07dfc0a1b2c3d4e5f6a7b8c9d0e1f2-a2f0e657."],
    "gateway.jsonl": [answer("g-1", "tenant-a", 100, 2000, response={"id": "chatcmpl-8f07dfc0a1b2c3d4e5f6a7b8c9d0e1f2"})]}, {"g-1": "A!=yes D=yes T!=yes"})


def one(c):
    a = Answers(c.files, *[q for q, _ in c.also])
    wrong = findings(c.classes, a)
    for request, members in c.rows.items():
        row = a.rows.get(request, {})
        wrong += differences([{k: v for k, v in members.items() if not callable(v)}], [row])
        wrong += [f"{request}: {k} is {row.get(k)}" for k, v in members.items() if callable(v) and not v(row.get(k))]
    for (_, rows), got in zip(c.also, a.asked):
        wrong += differences(rows, got)
    return wrong


if __name__ == "__main__":
    run_all(CASES, one)
