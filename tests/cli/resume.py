#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# resume.py - files that were seen before: grown, rotated, copied, cut, gone; in every order and however often asked
import gzip
import io
import itertools
import json
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, rounds, sums_hold

STATUS = ("ingested", "known", "resumed", "unrecognised", "failed")


def digest(box, case):
    doc = box.json("verify", case)
    return doc["content_digest"]


def rows(box, case, *paths, code=0, options=()):
    doc = box.json("ingest", case, *paths, *options, code=code)
    for row in doc["rows"]:
        expect(row["status"] in STATUS, f"a known status, got {row['status']}")
        sums_hold(row)
    return doc["rows"]


def at_once(box, *paths, code=0, options=()):
    case = f"once-{next(at_once.n)}.ptc"
    rows(box, case, *paths, code=code, options=options)
    return digest(box, case)


at_once.n = itertools.count()


def population(box, case):
    return box.json("scope", case, "--class", "C1,C2,C3,C4,C5", code=(0, 1))["totals"]["population"]


def sources(box, case):
    return {row["path"]: row for row in box.json("info", case)["sources"]}


with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "5", "--requests", "11000")
    page_log = open(box.path("r/logs/decode-1.pages.jsonl"), "rb").read()
    engine = open(box.path("r/logs/decode-1.log"), "rb").read()
    expect(len(page_log) > 5 << 19 and len(engine) > 2 << 20, f"logs of some blocks, got {len(page_log)}, {len(engine)}")

    for name, whole in (("pages.jsonl", page_log), ("engine.log", engine)):
        # grown in place: in the middle of a line, at a border of blocks, by a little, from nothing
        shutil.rmtree(box.path("once"), ignore_errors=True)
        box.write(f"once/{name}", whole)
        want = at_once(box, f"once/{name}")
        os.unlink(box.path(f"once/{name}"))
        for cuts in ((1000,), (1 << 20,), (2 << 20, (2 << 20) + 5), (len(whole) - 3,), (0, 300, 5000, (1 << 20) + 77))[::rounds(1, 2)]:
            case = f"grown-{cuts[0]}-{name}.ptc"
            for cut in cuts:
                cut = min(cut, len(whole) - 1)
                box.write(f"once/{name}", whole[:cut])
                rows(box, case, "once", code=(0, 3))
            box.write(f"once/{name}", whole)
            row = rows(box, case, "once")
            expect(len(row) == 1 and row[0]["status"] in ("resumed", "ingested"), f"one row, got {row}")
            expect(digest(box, case) == want, f"{name} grown from {cuts} to be what it is at once")
            expect(len(sources(box, case)) == 1, f"{name} grown from {cuts} to be one source")
            expect(rows(box, case, "once")[0]["status"] == "known", "nothing new the second time")
        journal = [json.loads(r["detail"]) if isinstance(r["detail"], str) else r["detail"]
                   for r in box.json("journal", case)["rows"]]
        expect(any("was_sha256" in d for d in journal), "both hashes in the journal")

        # rotated: the known file has a new name, as it was or grown, and a new one begins in its place
        half = len(whole) // 2
        for grown in (False, True):
            case = f"rotated-{grown}-{name}.ptc"
            shutil.rmtree(box.path("once"))
            box.write(f"once/{name}", whole[:half])
            first = rows(box, case, "once", code=(0, 3))
            os.rename(box.path(f"once/{name}"), box.path(f"once/{name}.1"))
            if grown:
                with open(box.path(f"once/{name}.1"), "ab") as f:
                    f.write(whole[half:-2000])
            box.write(f"once/{name}", whole[-2000:])
            second = {os.path.basename(r["path"]): r for r in rows(box, case, "once", code=(0, 3))}
            expect(second[f"{name}.1"]["status"] == ("resumed" if grown else "known"), f"rotated: {second}")
            expect(second[f"{name}.1"]["source"] == first[0]["source"], "a rotated file to keep its number")
            expect(digest(box, case) == at_once(box, "once", code=(0, 3)), f"{name} rotated, grown {grown}")
            # packed afterwards
            with open(box.path(f"once/{name}.1"), "rb") as f, gzip.open(box.path(f"once/{name}.1.gz"), "wb") as g:
                g.write(f.read())
            os.unlink(box.path(f"once/{name}.1"))
            third = {os.path.basename(r["path"]): r for r in rows(box, case, "once", code=(0, 3))}
            expect(third[f"{name}.1.gz"]["status"] == "known", f"packed: {third}")

        # copies beside: a beginning of another file is kept, and counts nothing twice
        shutil.rmtree(box.path("once"))
        parts = [len(whole) // 3 + 5, (1 << 20) + 4242, len(whole)]
        for i, n in enumerate(parts):
            box.write(f"once/{i}/{name}", whole[:n])
        paths = [f"once/{i}" for i in range(3)]
        seen = set()
        for order in list(itertools.permutations(paths))[::rounds(1, 5)]:
            case = f"copies-{'-'.join(p[-1] for p in order)}-{name}.ptc"
            rows(box, case, *order)
            by_run = case.replace("copies", "copies-by-run")
            for p in order:
                rows(box, by_run, p)
            seen |= {digest(box, case), digest(box, by_run)}
            for c in (case, by_run):
                got = sources(box, c)
                expect(len(got) == 3, f"three sources, got {list(got)}")
                for path, row in got.items():
                    sums_hold(row)
                    all_of_it = row["duplicate"] == row["records"] and "repeats source" in (row["reason"] or "")
                    expect(all_of_it == (not path.startswith("once/2")), f"what repeats to be duplicate: {row}")
                    data = box.run("show", c, "--source", str(row["source"]), "--all", "--raw").stdout
                    expect(data == whole[:parts[int(path[5])]], f"the evidence of {path} byte for byte")
        expect(len(seen) == 1, f"one digest for every order, got {len(seen)}")

    # events count once
    expect(population(box, case) == population(box, "grown-1000-engine.log.ptc"), "nothing to be counted twice")

    # the same first block, then something else: two files
    a, b = page_log[:2 << 20], page_log[:1 << 20] + page_log[2 << 20:3 << 20]
    box.write("two/1/w.jsonl", a)
    box.write("two/2/w.jsonl", b)
    seen = set()
    for order in (("two/1", "two/2"), ("two/2", "two/1")):
        case = f"two-{order[0][-1]}.ptc"
        for row in rows(box, case, *order):
            expect(row["duplicate"] == 0, f"nothing duplicate: {row}")
            data = box.run("show", case, "--source", str(row["source"]), "--all", "--raw").stdout
            expect(data == (a if "/1/" in row["path"] else b), f"the evidence of {row['path']}")
        seen.add(digest(box, case))
    expect(len(seen) == 1, "one digest for both orders")

    # a banner without a time is no story; a few lines of another worker's file neither
    banner = b"".join(b"INFO:     some engine, starting up, part %d of the banner\n" % i for i in range(20))
    box.write("banner/x-0.log", banner)
    box.write("banner/x-1.log", banner + engine[:40000])
    box.write("banner/y-0.log", engine[:2000])
    box.write("banner/z-0.log", engine[:40000])
    rows(box, "banner.ptc", "banner", code=(0, 3))
    expect(all(r["duplicate"] == 0 for r in sources(box, "banner.ptc").values()), "no banner to be a duplicate")

    # a file that is shorter than it was holds nothing new
    box.write("short/w.jsonl", page_log)
    rows(box, "short.ptc", "short")
    before = digest(box, "short.ptc")
    box.write("short/w.jsonl", page_log[:(1 << 20) + 99])
    expect([r["status"] for r in rows(box, "short.ptc", "short")] == ["known"], "an older copy in place to be known")
    expect(digest(box, "short.ptc") == before, "an older copy in place to change nothing")

    # members of archives grow, too
    def pack(name, members):
        with tarfile.open(box.path(name), "w:gz") as t:
            for path, data in members:
                info = tarfile.TarInfo(path)
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))

    pack("a.tar.gz", [("n/w.jsonl", page_log[:half]), ("n/e.log", engine[:70000])])
    rows(box, "archive.ptc", "a.tar.gz")
    pack("a.tar.gz", [("n/w.jsonl", page_log), ("n/e.log", engine)])
    got = rows(box, "archive.ptc", "a.tar.gz")
    expect([r["status"] for r in got] == ["resumed", "resumed"], f"members that grew: {got}")
    expect(digest(box, "archive.ptc") == at_once(box, "a.tar.gz"), "members that grew to be what they are at once")
    # the file again, unpacked, under the name that it has in the archive
    box.write("n/w.jsonl", page_log)
    expect(rows(box, "archive.ptc", "n")[0]["status"] == "known", "what came out of an archive to be known")

    # the source that others repeat is read anew: nothing is lost on the way
    case = "copies-0-1-2-engine.log.ptc"
    want = digest(box, case)
    rows(box, case, "once/2", options=("--worker", "another"))
    again = sources(box, case)
    rows(box, case, "once/2", options=("--worker", "engine"))
    expect(sum(r["parsed"] > 0 for r in again.values()) >= 1, "events to be somewhere")
    for row in again.values():
        sums_hold(row)
    box.run("verify", case)
