#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# binary.py - a recorded stream of KV cache events: kept byte for byte, grown, packed, damaged; and no answer rests on it
import gzip
import importlib.util
import os
import random
import shutil
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from run import Box, expect, sums_hold

spec = importlib.util.spec_from_file_location("make", os.path.join(HERE, "../parsers/kv_events/make.py"))
make = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(make)


def stream(messages):
    """Bytes that hold line ends, NULs and frames of all sizes."""
    rnd = random.Random(11)
    parts = []
    for i in range(messages):
        n = rnd.choice((1, 1, 2, 40))
        events = [["BlockStored", [rnd.getrandbits(64) for _ in range(n)], None, [rnd.randrange(150000) for _ in range(16 * n)], 16, None, "GPU"],
                  {"type": "BlockRemoved", "block_hashes": [rnd.randbytes(32)], "medium": "CPU"}]
        parts.append(make.frame(i, [make.T + i / 16, events[: rnd.choice((1, 2))], 0], b"kv\n"[: rnd.choice((0, 2))]))
    return parts


def rows(box, case, *paths, code=0):
    got = box.json("ingest", case, *paths, code=code)["rows"]
    for row in got:
        sums_hold(row)
    return got


def digest(box, case):
    return box.json("verify", case)["content_digest"]


def count(box, case, what="count(*)"):
    return box.json("sql", case, f"SELECT {what} AS n FROM cache_events")["rows"][0]["n"]


with Box() as box:
    parts = stream(6000)
    data = b"".join(parts)
    expect(len(data) > 3 << 20 and data.count(b"\n") > 1000, "a stream of some blocks, with line ends in it")
    os.mkdir(box.path("in"))

    # as it is, and byte for byte
    box.write("in/kv.bin", data)
    row = rows(box, "once.ptc", "in")[0]
    expect((row["format"], row["records"], row["unparsed"]) == ("kv-events", len(parts), 0), f"all records, got {row}")
    expect(box.run("show", "once.ptc", "--source", "1", "--all", "--raw").stdout == data, "the same bytes back")
    ref = box.json("sql", "once.ptc", "SELECT ref FROM cache_events WHERE seq = 4321 LIMIT 1")["rows"][0]["ref"]
    expect(box.run("show", "once.ptc", ref, "--raw").stdout == parts[4321], "a ref is the record with its frame")
    want, events = digest(box, "once.ptc"), count(box, "once.ptc")
    expect(count(box, "once.ptc", "count(DISTINCT seq)") == len(parts), "each message once")

    # packed; grown in the middle of a record, at a border of blocks, by a little
    os.unlink(box.path("in/kv.bin"))
    box.write("in/kv.bin.gz", gzip.compress(data))
    row = rows(box, "gz.ptc", "in")[0]
    expect(row["records"] == len(parts) and count(box, "gz.ptc") == events, f"packed, the same, got {row}")
    os.unlink(box.path("in/kv.bin.gz"))
    for i, cuts in enumerate(((1000,), (1 << 20,), (2 << 20, (2 << 20) + 5), (len(data) - 3,))):
        for cut in cuts:
            box.write("in/kv.bin", data[:cut])
            rows(box, f"grown-{i}.ptc", "in", code=(0, 3))  # of a part without a whole record nothing is understood
        box.write("in/kv.bin", data)
        rows(box, f"grown-{i}.ptc", "in")
        expect(digest(box, f"grown-{i}.ptc") == want, f"grown from {cuts} to be what it is at once")
        rows(box, f"grown-{i}.ptc", "in")
        expect(digest(box, f"grown-{i}.ptc") == want, "a second look changes nothing")

    # a part of the evidence is damaged: what stands before and behind it is read again
    shutil.copy(box.path("once.ptc"), box.path("bad.ptc"))
    db = sqlite3.connect(box.path("bad.ptc"))
    db.execute("UPDATE evidence_chunk SET sha256 = zeroblob(32) WHERE byte_off = 1048576")
    db.commit()
    db.close()
    box.run("salvage", "bad.ptc", "new.ptc", code=1)
    expect(box.json("verify", "new.ptc")["rows"] == [], "the new case to be sound")
    left = count(box, "new.ptc")
    bytes_lost = 1 << 20
    expect(0 < left < events and left > events * (len(data) - 2 * bytes_lost) // len(data), f"most events, got {left} of {events}")
    why = {r["reason"] for r in box.json("sql", "new.ptc", "SELECT reason FROM reject")["rows"]}
    expect("cut_head" in why and all(w == "cut_head" or w.startswith("torn") for w in why), f"said what was cut, got {why}")

    # no answer rests on them
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "5", "--requests", "300")
    box.run("ingest", "plain.ptc", "r/logs")
    shutil.copy(box.path("in/kv.bin"), box.path("r/logs/decode-0.kv.bin"))
    box.run("ingest", "with.ptc", "r/logs")
    names = box.json("sql", "with.ptc", "SELECT DISTINCT worker FROM cache_events")["rows"]
    expect(names == [{"worker": "decode-0"}], f"the stream to be that of decode-0, got {names}")
    for verb in (("scope", "--class", "C1,C2,C3,C4,C5"), ("gaps",), ("exposures",)):
        a, b = (box.json(verb[0], case, *verb[1:], code=(0, 1)) for case in ("plain.ptc", "with.ptc"))
        strip = [[{k: v for k, v in row.items() if k not in ("refs", "source", "ref")} for row in doc["rows"]] for doc in (a, b)]
        expect(strip[0] == strip[1], f"{verb[0]} to say the same with and without KV cache events")
