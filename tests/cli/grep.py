#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# grep.py - an expression sees one record at a time: line ends of both kinds, anchors, lookaround, very long records, and a
# matcher that gives up says so; a last line without its end is believed only as far as it must be whole
import csv
import io
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error, rounds

seed = int(os.environ.get("PAGETRAIL_SEED", random.randrange(1 << 30)))
print(f"# PAGETRAIL_SEED={seed}")
rng = random.Random(seed)


def texts(box, case, regex, code=0):
    return [row["text"] for row in box.json("grep", case, regex, code=code)["rows"]]


def is_number(text):
    """What a spreadsheet takes as one, so that it is no formula."""
    return re.fullmatch(r"-?[0-9]+", text) is not None


with Box() as box:
    def put(name, data):
        with open(box.path(name), "wb") as out:
            out.write(data)

    # records of words, some with CR LF, in more than one chunk; what Python finds line by line is what is found
    lines = []
    for i in range(60000):
        words = " ".join(rng.choice(("alpha", "beta", "gamma-7", "x\ry", "0815", "", "NEEDLE")) for _ in range(rng.randrange(6)))
        lines.append(f"{i} {words}" + rng.choice(("", "", " NEEDLE")))
    data = "".join(line + rng.choice(("\n", "\r\n")) for line in lines)
    put("a.log", data.encode())
    box.run("ingest", "a.ptc", "a.log", code=(0, 1, 3))
    for regex in (r"NEEDLE$", r"^1\d* NEEDLE", r"a.x", r"\A2222\b", r"7\Z", r"(?<=beta )alpha$", r"alpha(?!\s)", r"beta\s+0",
                  r"NEEDLE\s*\d", r"[^N]*+$", r"(?i)needle needle", r"^$"):
        want = [line for line in lines if re.search(regex.replace("[^N]*+", "[^N]*"), line)]
        if regex == r"[^N]*+$":
            want = [line for line in lines if re.search(r"[^N]*$", line)]
        got = texts(box, "a.ptc", regex)
        expect(got == want, f"{regex}: {len(want)} records, got {len(got)}, first difference "
                            f"{next((p for p in zip(want, got) if p[0] != p[1]), None)}")

    # any expression over any data gives what a plain scan of the records gives, in every form, wherever chunks end: short
    # lines (more rows than a thread keeps), long ones over several chunks, no line end at the end
    def lines_of(count, longest, huge):
        parts = [bytes(rng.choice(b"ab01 \"\\-:") for _ in range(rng.randrange(longest))) for _ in range(500)]
        out = [rng.choice(parts) for _ in range(count)]
        for at in (rng.randrange(count) for _ in range(huge)):
            out[at] = b"".join(rng.choice(parts) for _ in range((5 << 20) // longest))
        return out

    def expression(depth=0):
        kind = rng.randrange(9 if depth < 3 else 4)
        if kind < 3:
            return "".join(re.escape(rng.choice('ab01 "\\-:')) for _ in range(rng.randrange(1, 4)))
        if kind == 3:
            return rng.choice((".", r"\d", r"\w", r"\s", "[a0]", "[^b]", r"\b", "^", "$", r"[^-\s]"))
        if kind == 4:
            return f"(?:{expression(depth + 1)}|{expression(depth + 1)})"
        if kind == 5:
            return f"(?:{expression(depth + 1)})" + rng.choice(("?", "{2}", "{1,3}"))
        if kind == 6:
            return rng.choice(("(?=", "(?!", "(?<=a", "(?<!0")) + rng.choice((")", "1)"))
        return expression(depth + 1) + expression(depth + 1)

    files = {"p.log": lines_of(150000, 6, 0), "q.log": lines_of(20000, 150, 3), "r.log": lines_of(3000, 40, 0)}
    for name, records in files.items():
        put(name, b"\n".join(records) + (b"" if name == "q.log" else b"\n"))
    box.run("ingest", "p.ptc", *files, code=(0, 1, 3))
    order = [row["path"] for row in box.json("sql", "p.ptc", "SELECT path FROM source ORDER BY source")["rows"]]
    whole = []
    for source, path in enumerate(order, 1):
        at = 0
        for record in files[os.path.basename(path)]:
            whole.append((f"S{source}@{at}+{len(record)}", record))
            at += len(record) + 1
    for _ in range(int(os.environ.get("PAGETRAIL_PATTERNS", rounds(6, 2)))):
        regex = expression()
        matcher = re.compile(regex.encode())
        want = [(ref, record.decode()) for ref, record in whole if matcher.search(record)]
        form = rng.choice(("--json", "--jsonl", "--csv"))
        out = box.run("grep", "p.ptc", form, "--columns", "ref,text", "--", regex).stdout.decode()
        if form == "--csv":
            got = [tuple(row) for row in csv.reader(io.StringIO(out, newline=""))][1:]
            shown = [(ref, (text[:1] == "-" and not is_number(text)) * "'" + text.replace("\\", "\\\\")) for ref, text in want]
        else:
            rows = json.loads(out)["rows"] if form == "--json" else [json.loads(line) for line in out.splitlines()]
            got, shown = [(row["ref"], row["text"]) for row in rows], want
        if form == "--csv":  # long cells are cut, and say so
            got, shown = [r for r in got if len(r[1]) < 4000], [r for r in shown if len(r[1]) < 4000]
        expect(got == shown, f"{form} {regex}: {len(shown)} records, got {len(got)}, first difference "
                             f"{next((p for p in zip(shown, got) if p[0] != p[1]), None)}")
        some = json.loads(box.run("grep", "p.ptc", "--json", "--limit", "5", "--", regex).stdout)
        expect([row["ref"] for row in some["rows"]] == [ref for ref, _ in want[:5]] and
               some.get("rows_found", len(some["rows"])) == len(want), f"{regex}: the first 5 of {len(want)}, got {some}")
    table = box.run("grep", "p.ptc", "--limit", "0", "--columns", "ref", "--", "^").stdout.decode().split()[1:]
    expect(len(table) == len(whole) and table == [ref for ref, _ in whole],
           f"a table of every record: {len(whole)}, got {len(table)}")

    # one record above the limit: what lies across the border of two pieces is found
    long = bytearray(b"z" * (20 << 20))
    for at in ((16 << 20) - 3, (16 << 20) - 65536 - 2, 19 << 20):
        long[at:at + 6] = b"NEEDLE"
    put("b.log", bytes(long))
    box.run("ingest", "b.ptc", "b.log", code=(0, 1, 3))
    expect(len(texts(box, "b.ptc", "NEEDLE")) == 2, "a row for each piece with a match of its own")
    expect(len(texts(box, "b.ptc", "NEEDLEN")) == 0, "no match that is not there")

    # too many steps is no miss
    put("c.log", b"hit 1\n" + b"a" * 40 + b" " + b"ab" * 30 + b"!\nhit 2\n")
    box.run("ingest", "c.ptc", "c.log", code=(0, 1, 3))
    p = box.run("grep", "c.ptc", r"(?:(a|b|ab)+)+c|hit", "--columns", "text", code=5)
    expect(b"hit 1" in p.stdout and b"hit 2" in p.stdout, "what matches all the same")
    one_line_error(p)
    expect(b"too many steps" in p.stderr, f"it to be said, got {p.stderr}")

    # what is not as it was written is an error and no other answer, wherever it stands: a bit in each page, and each page lost
    # (all zeros, which no check sum tells from a page that was never used); chunks that are stored as they are, and packed ones
    put("noise.log", b"".join(bytes(rng.choice(range(11, 256)) for _ in range(70)) + b"\n" for _ in range(600)))
    put("lines.log", b"".join(b"%d %032x state=%d\n" % (i, rng.getrandbits(128), i % 7) for i in range(6000)))
    box.run("ingest", "f.ptc", "noise.log", "lines.log", code=(0, 1, 3))
    whole_file = open(box.path("f.ptc"), "rb").read()
    asked = [("grep", "f.ptc", "--jsonl", regex) for regex in ("nobody wrote this", r"^\d+ [0-9a-f]{32} state=3$", r"[\x80-\xff]{4}")]
    right = [box.run(*args).stdout for args in asked]
    seen = tried = 0
    pages = range(1, len(whole_file) // 8192)
    for change, chosen, questions in (("bit", rng.sample(pages, rounds(16, 4)), asked), ("zeros", pages[::rounds(1, 8)], asked[::2])):
        for page in chosen:
            tried += 1
            bad = bytearray(whole_file)
            if change == "bit":
                bad[page * 8192 + rng.randrange(8192)] ^= 1 << rng.randrange(8)
            else:
                bad[page * 8192:(page + 1) * 8192] = bytes(8192)
            put("f.ptc", bad)
            for args in questions:
                want = right[asked.index(args)]
                p = box.run(*args, code=(0, 1, 3, 4, 5))
                seen += p.returncode != 0
                expect(p.stdout == want if p.returncode == 0 else p.stderr.startswith(b"pagetrail: "),
                       f"{args[3]} to find what it found, or an error, with {change} in page {page + 1}, got {p.returncode}")
    expect(seen > rounds(tried / 2, 0), f"most of it to be noticed, got {seen} errors")  # a few pages may be those of other tables

    # the last line of a log whose writer was not done: no value is taken from what may go on
    box.run("simulate", "r", "--scenario", "incident", "--seed", "3", "--requests", "2000")
    log = open(box.path("r/logs/prefill-0.log"), "rb").read()
    cut = re.search(rb"exceeds the maximum allowed length \(\d\d", log).end()
    put("prefill-0.log", log[:cut])
    box.run("ingest", "d.ptc", "prefill-0.log", code=(0, 1, 3))
    rows = box.json("sql", "d.ptc", "SELECT limit_tokens FROM leg_events WHERE what = 'rejected' AND limit_tokens < 1000")["rows"]
    expect(not rows, f"no limit out of a part of one, got {rows}")
    room = re.search(rb"bootstrap_room=\d{4}", log).end()
    put("prefill-1.log", log[:room])
    box.run("ingest", "e.ptc", "prefill-1.log", code=(0, 1, 3))
    rows = box.json("sql", "e.ptc", "SELECT room FROM leg_events WHERE length(room) < 6")["rows"]
    expect(not rows, f"no room out of a part of one, got {rows}")
