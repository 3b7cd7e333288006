#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# fuzzed.py - whatever bytes are read, the same bytes come back, each is counted once, and the case is sound
#
# PAGETRAIL_FILES (default 120, or 40) files out of PAGETRAIL_SEED: noise, NULs, line ends of all kinds, bad UTF-8, very long
# lines, samples of every format with bytes changed, cut, torn and put together; plain, packed, in archives.
import glob
import gzip
import hashlib
import io
import os
import random
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from run import Box, expect, rounds, sums_hold

FILES = int(os.environ.get("PAGETRAIL_FILES", rounds(200, 60)))
SEED = int(os.environ.get("PAGETRAIL_SEED", random.SystemRandom().randrange(1 << 32)))
IN_A_CASE = 40
SAMPLES = [open(p, "rb").read() for p in sorted(glob.glob(os.path.join(HERE, "../parsers/*/*.log")))]
rnd = random.Random(SEED)


def noise(n):
    return rnd.randbytes(rnd.randrange(1, n))


def text(n):
    words = [b"alpha", b"0815", b"\xc3\xa9", b"{", b"}", b'"', b"\\", b"[", b"=", b" ", b"\t", b"\x1b[31m", b"2026-09-09T10:00:00Z "]
    return b"".join(rnd.choice(words) for _ in range(rnd.randrange(1, n)))


def sample():
    return rnd.choice(SAMPLES)


def changed():
    """A sample with some bytes changed, left out, put in, or told twice."""
    data = bytearray(sample())
    for _ in range(rnd.choice((1, 3, 30))):
        at, kind = rnd.randrange(len(data) + 1), rnd.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rnd.randrange(8)
        elif kind == 1:
            del data[at:at + rnd.randrange(1, 200)]
        elif kind == 2:
            data[at:at] = rnd.choice((noise(20), bytes(rnd.randrange(1, 99)), b"\n", b"\r", b"99999999999999999999", b'"', b"\xff"))
        elif kind == 3:
            data[at:at] = data[at:at + rnd.randrange(1, 2000)]
        else:
            data[at:at + 8] = rnd.choice((b"\0" * 8, b"\xed\xa0\x80", b"-1", b"\\u0000", b"1e400", b"[[[[[[[["))
    return bytes(data)


def unlike_lines():
    """Lines of two samples in turn, as if two programs wrote into one file."""
    a, b = sample().splitlines(True), sample().splitlines(True)
    return b"".join(x for pair in zip(a, b) for x in pair)


KINDS = {
    "noise": lambda: noise(1 << rnd.randrange(1, 20)),
    "nul": lambda: bytes(rnd.randrange(1, 70000)) + rnd.choice((b"", sample(), b"\n" + changed())),
    "crlf": lambda: sample().replace(b"\n", b"\r\n"),
    "cr": lambda: sample().replace(b"\n", rnd.choice((b"\r", b"\n\r", b"\r\r\n", b"\n\n"))),
    "utf8": lambda: b"\n".join(text(40) + rnd.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80")) for _ in range(50)),
    "utf16": lambda: rnd.choice((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"")) + sample().decode("latin-1").encode("utf-16-le") +
    rnd.choice((b"", b"", b"\0", b"\x00\xd8\n\0", b"\xd8\n")),
    "bom": lambda: b"\xef\xbb\xbf" + changed(),
    "torn": lambda: (lambda d: d[rnd.randrange(len(d)):][:rnd.randrange(1, len(d) + 1)])(sample()),
    "long": lambda: changed() + text(10) * rnd.choice((1000, 60000)) + rnd.choice((b"", b"\n")) + sample(),
    "too_long": lambda: sample() + b"x" * ((16 << 20) + rnd.randrange(-2, 3)) + rnd.choice((b"", b"\n", b"\n" + sample())),
    "ends": lambda: rnd.choice((b"\n", b"\r", b"\r\n", b"\0", b" ")) * rnd.randrange(1, 3000),
    "words": lambda: b"\n".join(text(60) for _ in range(rnd.randrange(1, 400))),
    "changed": changed,
    "twice": lambda: sample() * 2 + changed(),
    "many": lambda: b"".join(changed() for _ in range(rnd.randrange(2, 12))),
    "turns": unlike_lines,
    "start": lambda: rnd.choice((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh9", b"\xfd7zXZ\0", b"SQLite format 3\0",
                                 b"ustar\0", b"#!", b"LPKSHHRH", b"%PDF-")) + rnd.choice((noise(5000), sample())),
}
OFTEN = [k for k in KINDS if k != "too_long"] + ["changed"] * 6


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "-1"], input=data, capture_output=True, check=True).stdout


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def draw(i):
    """A file's name and bytes, and what must come back of it, by the path of a source."""
    kind = "too_long" if i % 97 == 5 else "empty" if i % 89 == 7 else rnd.choice(OFTEN)
    data = b"" if kind == "empty" else KINDS[kind]()
    name = rnd.choice((f"{i}-{kind}.log", f"node-{i % 3}/{i}-{kind}.jsonl", f"decode-{i % 2}.{i}-{kind}", f"\xe9 {i}-{kind}"))
    pack = rnd.randrange(10) if kind != "start" else 9
    if pack == 0:
        return name + ".gz", gzip.compress(data), {name + ".gz": data}
    if pack == 1:
        return name + ".zst", zstd(data), {name + ".zst": data}
    if pack == 2:
        members = [(f"m{k}.log", KINDS[rnd.choice(OFTEN)]()) for k in range(2)] + [("last.log", data or b"x")]
        members = [(n, d) for n, d in members if not d.startswith((b"\x1f\x8b", b"\x28\xb5", b"PK", b"BZh", b"\xfd7z"))]
        packed = tar(members)
        end = rnd.choice((".tar", ".tar.gz"))
        return name + end, gzip.compress(packed) if end == ".tar.gz" else packed, {f"{name}{end}!{n}": d for n, d in members}
    if pack == 3:  # damaged: what could be read must be the beginning of what was packed
        packed = bytearray(gzip.compress(data))
        if rnd.randrange(2) or len(packed) < 30:
            packed = packed[:rnd.randrange(len(packed))]
        else:
            packed[rnd.randrange(10, len(packed))] ^= 1 << rnd.randrange(8)
        return name + ".gz", bytes(packed), None
    return name, data, {name: data}


def as_read(row, back, data):
    """What came back, as UTF-16 again where that was undone: the file must follow from what the case keeps of it."""
    if "utf-16" not in (row["container"] or "") or data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return back
    code = "utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be"
    half = data[-1:] if len(data) % 2 and "cut off" in (row["reason"] or "") else b""  # of a character, and it is said
    return data[:2] + back.decode("utf-8", "surrogatepass").encode(code, "surrogatepass") + half


def one_case(numbers):
    with Box() as box:
        want = {}
        for i in numbers:
            name, data, back = draw(i)
            box.write("in/" + name, data)
            want.update({"in/" + p: d for p, d in (back or {}).items()})
        doc = box.json("ingest", "case.ptc", "in", "--jobs", rnd.choice(("1", "2", "4")), code=(0, 3))
        seen = {}
        for row in doc["rows"]:
            sums_hold(row)
            expect(row["source"], f"a source for {row['path']}")
            p = box.run("show", "case.ptc", "--source", str(row["source"]), "--all", "--raw")
            expect(row["status"] in ("known", "resumed") or len(p.stdout) == row["bytes"],
                   f"the {row['bytes']} bytes that were counted of {row['path']}, got {len(p.stdout)}")
            expect(row["status"] == "known" or hashlib.sha256(p.stdout).hexdigest() == row["content_sha256"] or not p.stdout,
                   f"the check sum of {row['path']}: {row}")
            seen[row["path"]] = (row, p.stdout)
        for path, data in want.items():
            expect(path in seen, f"a row for {path}, got {sorted(seen)}")
            row, back = seen[path]
            back = as_read(row, back, data)
            # a file that another one goes on from is the beginning of that
            expect(back == data or back.startswith(data) and back in want.values(),
                   f"the bytes of {path} ({row['status']}, {row['reason']}): {len(data)}, got {len(back)}, first difference at "
                   f"{next((k for k, (a, b) in enumerate(zip(data, back)) if a != b), min(len(data), len(back)))}")
        expect(box.json("verify", "case.ptc")["rows"] == [], "the case to be sound")
        again = box.json("ingest", "case.ptc", "in", code=(0, 3))
        for row in again["rows"]:
            expect(row["status"] in ("known", "failed") or not row["bytes"], f"a second look to find nothing new: {row}")
        for args in (("info",), ("scope",), ("exposures",), ("gaps",), ("grep", "zzz-nobody-wrote-this")):
            verb, rest = args[0], args[1:]
            box.run(verb, "case.ptc", *rest, "--json", code=(0, 1))
        return len(doc["rows"])


print(f"# PAGETRAIL_SEED={SEED}, {FILES} files", flush=True)
expect(len(SAMPLES) > 50, "samples")
sources = sum(one_case(range(i, min(i + IN_A_CASE, FILES))) for i in range(0, FILES, IN_A_CASE))
print(f"# {sources} sources")
