#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - writes the samples beside it: recorded KV cache events, in MessagePack, with invented hashes and ids

  tests/parsers/kv_events/make.py           compare with what is there
  tests/parsers/kv_events/make.py --write   write them anew
"""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
T = 1788000000.125
END = 2**64 - 1


class Raw(bytes):
    """Goes out as it is."""


def head(n, small, limit, sizes):
    if n < limit:
        return bytes([small | n])
    for code, form, bits in sizes:
        if n < 1 << bits:
            return bytes([code]) + struct.pack(form, n)
    raise ValueError(n)


def number(v):
    if -32 <= v < 128:
        return struct.pack("b", v)
    rows = ((0xcc, ">B"), (0xcd, ">H"), (0xce, ">I"), (0xcf, ">Q")) if v >= 0 else (
        (0xd0, ">b"), (0xd1, ">h"), (0xd2, ">i"), (0xd3, ">q"))
    for code, form in rows:
        try:
            return bytes([code]) + struct.pack(form, v)
        except struct.error:
            continue
    raise ValueError(v)


def pack(v):
    if isinstance(v, Raw):
        return bytes(v)
    if v is None:
        return b"\xc0"
    if isinstance(v, bool):
        return b"\xc3" if v else b"\xc2"
    if isinstance(v, int):
        return number(v)
    if isinstance(v, float):
        return b"\xcb" + struct.pack(">d", v)
    if isinstance(v, str):
        raw = v.encode()
        return head(len(raw), 0xa0, 32, ((0xd9, ">B", 8), (0xda, ">H", 16), (0xdb, ">I", 32))) + raw
    if isinstance(v, bytes):
        return head(len(v), 0, 0, ((0xc4, ">B", 8), (0xc5, ">H", 16), (0xc6, ">I", 32))) + v
    if isinstance(v, list):
        return head(len(v), 0x90, 16, ((0xdc, ">H", 16), (0xdd, ">I", 32))) + b"".join(map(pack, v))
    return head(len(v), 0x80, 16, ((0xde, ">H", 16), (0xdf, ">I", 32))) + b"".join(pack(k) + pack(e) for k, e in v.items())


def frame(seq, payload, topic=b""):
    raw = payload if isinstance(payload, bytes) else pack(payload)
    return struct.pack(">I", len(topic)) + topic + struct.pack(">QI", seq, len(raw)) + raw


def h(i):
    return 0x9e3779b97f4a7c15 * i % 2**64


def signed(v):
    return v - 2**64 if v >= 2**63 else v


def vllm():
    kv = b"kv@w-7@model-a"
    return [
        # all arrays, no medium
        frame(0, [T, [["BlockStored", [h(1), h(2)], None, [1, 15043, 3186, 29991, 7, 8, 9, 10], 4, None],
                      ["BlockRemoved", [h(1)]], ["AllBlocksCleared"]], 0]),
        # medium, adapter, extra keys, group
        frame(1, [T + 1, [["BlockStored", [h(3)], h(2), [11, 12, 13, 14], 4, None, "GPU", None, [None], 0],
                          ["BlockStored", [h(8)], h(3), [11, 12, 13, 14], 4, 5, "GPU", "adapter-b", [["salt-7", "adapter-b"]], 1,
                           "full_attention", None],
                          ["BlockRemoved", [h(3)], "GPU", 0]], 1]),
        # hashes as bytes
        frame(2, [T + 2, [["BlockStored", [bytes(range(32))], bytes(range(1, 33)), [11, 12, 13, 14], 4, None, "GPU", None]], 0]),
        # events as maps; 3 and 4 were lost
        frame(5, [T + 3, [{"type": "BlockStored", "block_hashes": [h(4), h(5)], "parent_block_hash": h(3),
                           "token_ids": list(range(1, 9)), "block_size": 4, "lora_id": None, "medium": "GPU", "lora_name": "adapter-b",
                           "extra_keys": [["salt-7"], None], "group_idx": 0, "locality": "LOCAL"},
                          {"type": "BlockRemoved", "block_hashes": [h(4)], "medium": "STORAGE", "group_idx": 0},
                          {"type": "AllBlocksCleared"}], 0], kv),
        # all maps
        frame(6, {"ts": T + 4, "events": [{"block_hashes": [h(6)], "medium": "CPU", "type": "BlockRemoved"}], "data_parallel_rank": 3}, kv),
        # more hashes than fit the short forms; a group of which only some blocks are kept
        frame(7, [T + 5, [["BlockStored", [h(i) for i in range(100, 117)], h(9), [70000 + i for i in range(300)], 16, None, "GPU", None]], 0]),
        frame(8, [T + 6, [], 0]),
        frame(END, b""),
        # the engine was started again
        frame(0, [T + 60, [["AllBlocksCleared"]], 0]),
    ]


def sglang():
    epoch = b"kv\0sgl-kv-epoch=9d3c0ab1"
    return [
        frame(0, [T, [["BlockStored", [signed(h(1))], None, [[1, 15043], [15043, 3186]], 2, None, "CPU_PINNED"],
                      ["BlockRemoved", [signed(h(1))], "CPU_PINNED"]], None]),
        frame(1, [T + 1, [["BlockStored", [signed(h(2))], signed(h(1)), [5, 6], 2, None, "GPU", {"cache_salt": "secret-of-a-tenant"}]], 1],
              epoch),
        # a text where another engine has an adapter: it may be a salt
        frame(2, [T + 2, [["BlockStored", [signed(h(3))], None, [5, 6], 2, None, "GPU", "secret-of-a-tenant", "session-4"]], 1], epoch),
        frame(3, b"\x92\x01\x02", epoch + b"\0sgl-kv-snapshot=41"),
        frame(3, ["LoadStat", 3, 0, 1024, 681280, 0]),
    ]


def mooncake():
    def event(kind, legacy, i):
        return {"event_id": 17 + i, "timestamp": 1788000000125, "event_type": kind, "type": legacy, "model_name": None, "block_size": None,
                "additional_salt": "salt-9" if i else None, "lora_name": None, "tenant_id": "tenant-a", "backend_id": "mc-0", "group_id": None,
                "medium": "cpu", "dp_rank": None, "object_key": "k/7", "seq_hashes": [h(5)], "block_hashes": [signed(h(5))],
                "base_block_idx": 0, "parent_hash": None, "token_ids": None, "parent_block_hash": signed(h(4))}

    new = event("removed", None, 1)
    del new["type"], new["block_hashes"]
    return [frame(1, [1788000000125, [event("stored", "BlockStored", 0)], 0]), frame(2, [1788000000126, [new], 0])]


def one(event, seq=1):
    return frame(seq, [T, [event], 0])


def refused():
    stored = ["BlockStored", [h(1)], None, [1, 2], 2, None]
    whole = pack([T, [stored], 0])
    return [
        one(stored),
        one(["BlockMoved", [h(1)]]),
        one([]),
        one(7),
        one(["BlockStored", ["x"], None, [1], 1, None]),
        one(["BlockStored", [1.5], None, [1], 1, None]),
        one(["BlockStored", [b"y" * 65], None, [1], 1, None]),
        one(["BlockStored", [b""], None, [1], 1, None]),
        one(["BlockStored", [h(1)], "parent", [1], 1, None]),
        one(["BlockStored", None, None, [1], 1, None]),
        one(["BlockRemoved"]),
        one({"type": "BlockStored"}),
        one({"block_hashes": [1]}),
        frame(2, [17.5, [stored], 0]),
        frame(2, [float("nan"), [stored], 0]),
        frame(2, ["yesterday", [stored], 0]),
        frame(2, [17, [stored], 0]),
        frame(2, {"ts": T, "rank": 1}),
        frame(2, {"events": [stored], "rank": 1}),
        frame(2, [T, {"a": 1}, 0]),
        frame(3, whole[:-4]),                                   # ends early
        frame(3, whole + b"\0"),                                # something behind it
        frame(3, pack([T, Raw(b"\xdd\xff\xff\xff\xff"), 0])),   # four thousand million events
        frame(3, pack([T, [Raw(b"\xdb\xff\xff\xff\xff")], 0])),
        frame(3, pack([T, [["BlockStored", Raw(b"\xdd\xff\xff\xff\xff"), None, [], 1, None]], 0])),
        frame(3, pack([T, [["BlockStored", [h(1)], None, Raw(b"\x91" * 5000 + b"\xc0"), 1, None]], 0])),  # deep, and nobody cares
        frame(3, pack([T, [Raw(b"\xc1")], 0])),
        frame(3, pack([T, [["BlockRemoved", [h(2)], "m" * 300]], 2**40])),
        frame(2**63, [T, [["BlockStored", [h(1)], None, None, -5, 2**63, 7]], -1]),
    ]


def lost():
    events = [one(["BlockRemoved", [h(i)]], i) for i in range(8)]
    return [
        events[0], events[1][:25],              # a writer that died, and went on in the same file
        events[2], events[3], b"\0" * 40,       # a hole
        events[4], b"some text of another program\n",
        events[5], events[6], events[7][:-3],   # the end is torn
    ]


SAMPLES = {"vllm": vllm, "sglang": sglang, "mooncake": mooncake, "refused": refused, "lost": lost}


def main():
    bad = 0
    for name, make in SAMPLES.items():
        path, data = HERE / (name + ".log"), b"".join(make())
        if "--write" in sys.argv[1:]:
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            print(f"{path} is not what make.py makes")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
