#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# rotated.py - a record that a container runtime wrote in pieces, and a rotation cut between two of them: it is read as if nobody had
# cut it, whatever the files are packed in and whichever comes first; what is not surely one record stays torn, and is told
import gzip
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import PAGETRAIL, Box, expect, restamp, rounds, sums_hold
from wrap import rfc3339

START = 1789355564 * 10**9  # 2026-09-14T03:12:44Z
S = 10**9
CHUNK = 256
FOLDER = "pods/ns_decode-0_0f3a5c1e-5c1e-4c1e-8c1e-0f3a5c1e0f3a/engine/"
OLD, OLDER, NEW = (FOLDER + n for n in ("0.log.20260914-031300", "0.log.20260914-031200", "0.log"))
PLACE = ("source", "byte_off", "byte_len", "ref", "worker")
KINDS = ("boot", "leg", "load")


def at(ns):
    return rfc3339(ns, 0, "").replace("T", " ")


def receive(k, ns, text="x"):
    return (f"[{at(ns)}] Receive: obj=GenerateReqInput(rid='r{k}', text='{text}', input_ids=None, "
            f"sampling_params={{'max_new_tokens': 16}}, stream=True, bootstrap_room={1000 + k})")


def finish(k, ns):
    return (f"[{at(ns)}] Finish: obj=GenerateReqInput(rid='r{k}', text='x', stream=True, bootstrap_room={1000 + k}), "
            f"out={{'text': 'y', 'meta_info': {{'id': 'r{k}', 'finish_reason': {{'type': 'stop'}}, 'prompt_tokens': 7, 'completion_tokens': {k}}}}}")


def cri(ns, line, stream="stderr", chunk=CHUNK):
    parts = [line[i:i + chunk] for i in range(0, len(line), chunk)] or [""]
    return [f"{rfc3339(ns + i)} {stream} {'F' if i + 1 == len(parts) else 'P'} {p}\n".encode() for i, p in enumerate(parts)]


def docker(ns, line, stream="stderr", chunk=CHUNK):
    parts = [line[i:i + chunk] for i in range(0, len(line), chunk)] or [""]
    parts[-1] += "\n"
    return [json.dumps({"log": p, "stream": stream, "time": rfc3339(ns)}).encode() + b"\n" for p in parts]


def imitating(k, ns, pieces=6, chunk=CHUNK):
    """A prompt that has, where a piece begins, what looks like somebody else's records."""
    head = len(receive(k, ns, ""))  # not all of it stands before the text
    before = receive(k, ns, "\0").index("\0")
    text = "p" * (2 * chunk - before)
    for other in (receive(99, ns), finish(99, ns)):
        evil = other.replace("'", "_").replace("rid=_r99_", 'rid="r99"')
        evil = other if "'" not in other else other.replace("'", '"')
        text += evil[:chunk].ljust(chunk)
    text += "q" * (pieces * chunk - before - len(text))
    expect(head > 0 and "'" not in text, "the prompt ends where it ends")
    return receive(k, ns, text)


def log(way, long_at=20, n=40, step=S, pieces=6):
    """Lines as the runtime writes them, and where the pieces of the long record are."""
    out, cut = [], None
    for k in range(n):
        ns = START + k * step
        line = imitating(k, ns, pieces) if k == long_at else receive(k, ns)
        if k == long_at:
            cut = len(out)
        out += way(ns, line)
        out += way(ns + step // 4, f"[{at(ns)}] INFO: 10.0.0.1:5 - \"GET /health HTTP/1.1\" 200 OK", "stdout")
        out += way(ns + step // 2, finish(k, ns))
    return out, cut


def events(box, case):
    found = []
    for kind in KINDS:
        for row in box.json("sql", case, f"SELECT * FROM {kind}_events", "--limit", "0")["rows"]:
            found.append(json.dumps([kind, {k: v for k, v in row.items() if k not in PLACE}], sort_keys=True))
    return sorted(found)


def ask(box, case, statement):
    return [list(r.values()) for r in box.json("sql", case, statement, "--limit", "0")["rows"]]


def check(box, case, want=None, joined=1):
    """The case is sound, and says what is in it. *want: the events of the whole log."""
    doc = box.json("verify", case)
    for row in box.json("info", case)["sources"]:
        sums_hold(row)
    have = ask(box, case, "SELECT path FROM source WHERE container = 'seam'")
    expect(len(have) == joined, f"{case}: {joined} joined records, got {have}")
    if want is not None:
        got = events(box, case)
        expect(got == want, f"{case}: the events of the whole log; lost {[e for e in want if e not in got][:2]}, "
                            f"new {[e for e in got if e not in want][:2]}")
    return doc["content_digest"]


def gaps(box, case):
    return [g for g in box.json("gaps", case, code=(0, 1))["rows"] if g["kind"] in ("torn", "unparsed")]


def put(box, files, folder="in"):
    shutil.rmtree(box.path(folder), ignore_errors=True)
    for name, data in files.items():
        box.write(f"{folder}/{name}", data)


def tar(box, name, files):
    os.makedirs(os.path.dirname(box.path(name)), exist_ok=True)
    with tarfile.open(box.path(name), "w:gz") as t:
        for path, data in files:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))


def halves(lines, cut, old=OLD, new=NEW):
    return {old: b"".join(lines[:cut]), new: b"".join(lines[cut:])}


def every_packing(box):
    lines, cut = log(cri)
    put(box, {NEW: b"".join(lines)})
    box.run("ingest", "one.ptc", "in")
    want = events(box, "one.ptc")
    expect(not any("r99" in e for e in want) and not gaps(box, "one.ptc"), "one file: nothing is imitated, and nothing torn")
    for piece in range(1, 7):
        put(box, halves(lines, cut + piece))
        box.run("ingest", f"p{piece}.ptc", "in")
        check(box, f"p{piece}.ptc", want)
        expect(not gaps(box, f"p{piece}.ptc"), f"cut behind piece {piece}: no gap, got {gaps(box, f'p{piece}.ptc')}")
    digest = check(box, "p3.ptc", want)
    parts = halves(lines, cut + 3)

    put(box, parts)
    before = open(box.path("p3.ptc"), "rb").read()
    rows = box.json("ingest", "p3.ptc", "in")["rows"]
    expect({r["status"] for r in rows} == {"known"} and len(rows) == 2, f"a second run adds nothing, got {rows}")
    check(box, "p3.ptc", want)
    expect(abs(len(before) - os.path.getsize(box.path("p3.ptc"))) < 65536, "nor does the case grow")
    # what is joined is made of lines that are there, and each is duplicate where it was
    row = ask(box, "p3.ptc", "SELECT path, format, worker, parsed, records, bytes FROM source WHERE container = 'seam'")[0]
    expect(row[0] == f"in/{OLD}: a record at its end, joined with the rest in 0.log", f"its name says what it is, got {row}")
    expect(row[1:5] == ["cri+sglang-engine", "decode-0", 1, 1], f"one record, got {row}")
    pieces = b"".join(lines[cut:cut + 7])
    expect(row[5] == len(pieces), f"its bytes are those of its lines: {len(pieces)}, got {row}")
    other = ask(box, "p3.ptc", "SELECT sum(duplicate), sum(bytes_duplicate), sum(unparsed) FROM source")[0]
    expect(other == [2, len(pieces), 0], f"in both files they are duplicate, got {other}")
    ref = ask(box, "p3.ptc", "SELECT 'S' || source || '@0+' || bytes FROM source WHERE container = 'seam'")[0][0]
    expect(pieces.split(b"\n")[0].decode() in box.run("show", "p3.ptc", ref).stdout.decode(), "show prints the lines")

    for jobs in ("1", "3"):
        for order in ([OLD, NEW], [NEW, OLD]):
            case = f"o{jobs}{order[0] == OLD}.ptc"
            for name in order:
                box.run("ingest", case, "in/" + name, "--jobs", jobs)
            expect(check(box, case, want) == digest, f"{case}: one after the other, the same case")
    gz = {OLD + ".gz": gzip.compress(parts[OLD], 1), NEW: parts[NEW]}
    put(box, gz)
    box.run("ingest", "gz.ptc", "in")
    check(box, "gz.ptc", want)
    for order in (1, -1):
        tar(box, "tar/all.tar.gz", list(gz.items())[::order])
        box.run("ingest", f"tar{order}.ptc", "tar")
        check(box, f"tar{order}.ptc", want)

    # the newer file grows on, and is rotated itself
    put(box, {OLD: parts[OLD], NEW: parts[NEW][:parts[NEW].index(b"r30")].rsplit(b"\n", 1)[0] + b"\n"})
    box.run("ingest", "grown.ptc", "in")
    check(box, "grown.ptc")
    put(box, parts)
    box.run("ingest", "grown.ptc", "in")
    expect(check(box, "grown.ptc", want) == digest, "a file that has grown gives the case that it gives at once")
    later = {OLDER: parts[OLD], OLD: parts[NEW], NEW: b"".join(cri(START + 60 * S, receive(60, START + 60 * S)))}
    put(box, later)
    box.run("ingest", "grown.ptc", "in")
    check(box, "grown.ptc")
    expect(not any("r99" in e for e in events(box, "grown.ptc")), "the files have other names, nothing is imitated")
    return want


def what_is_not_joined(box):
    lines, cut = log(cri)
    whole = halves(lines, cut + 5)

    def never(name, files, why):
        put(box, files)
        box.run("ingest", name, "in", code=(0, 3))
        check(box, name, joined=0)
        expect(gaps(box, name), f"{why}: told as a gap")

    never("alone.ptc", {OLD: whole[OLD]}, "the newer file is missing")
    never("rest.ptc", {NEW: b"".join(lines[cut + 5:])}, "the older file is missing")
    # two long records, each cut by a rotation: without the file between them their halves do not make one
    more, second = log(cri, long_at=30)
    a, c = lines[:cut + 3], more[second + 5:]
    never("missing.ptc", {OLDER: b"".join(a), NEW: b"".join(c)}, "a file is missing in between")
    expect(not any("1030" in e and "r20" in e for e in events(box, "missing.ptc")), "nobody gets another one's room")
    # the clock was put back, the pieces are too far apart, too far for files as short as these; and at the limit
    def shifted(ns, n=40, step=S):
        lines, cut = log(cri, n=n, step=step)
        stamp = lambda line: (lambda t, rest: rfc3339(ns + nanos(t)).encode() + b" " + rest)(*line.split(b" ", 1))
        return {OLD: b"".join(lines[:cut + 5]), NEW: b"".join(map(stamp, lines[cut + 5:]))}

    never("back.ptc", shifted(-3), "the clock was put back")
    never("apart.ptc", shifted(S // 10), "more than a tenth of a second")  # one ns more, since pieces are one apart
    put(box, shifted(S // 10 - 1))
    box.run("ingest", "near.ptc", "in")
    check(box, "near.ptc", joined=1)
    step = S // 100
    share = (39 * step + step // 2 - 20 * step - 5) // 4  # of what the newer file covers
    never("share.ptc", shifted(share, step=step), "more than a quarter of the file")
    put(box, shifted(share - 1, step=step))
    box.run("ingest", "shared.ptc", "in")
    check(box, "shared.ptc", joined=1)
    # names that leave a file out, though the times are near: what is missing was a short one
    for a, b in (("c.log.3", "c.log.1"), ("c.log.2", "c.log"), ("c.log-20260914", "c.log-20260916")):
        never(f"hole-{b}.ptc", {a: whole[OLD], b: whole[NEW]}, f"a file between {a} and {b}")
    # a file in between of which it is not sure that it goes on there: what comes behind it is not the rest either
    never("tiny.ptc", {OLDER: b"".join(lines[:cut + 2]), OLD: b"".join(lines[cut + 2:cut + 4]), NEW: b"".join(lines[cut + 4:])},
          "a file that is too short to be sure")
    never("doubt.ptc", {OLDER: b"".join(lines[:cut + 2]), OLD: lines[cut + 2] + b"2026-09-14T03:1 not a line of it\n" + lines[cut + 3],
                        NEW: b"".join(lines[cut + 4:])}, "a file that is not understood in between")
    # of another worker, another container, another stream; and a line that nobody understands where a piece may be
    never("folder.ptc", halves(lines, cut + 5, new=FOLDER.replace("decode-0", "decode-1") + "0.log"), "another pod")
    never("restart.ptc", halves(lines, cut + 5, new=FOLDER + "1.log"), "another start of the container")
    never("broken.ptc", {OLD: whole[OLD], NEW: b"2026-09-14T03:1 not a line of it\n" + whole[NEW]}, "a line that is no piece")
    never("unended.ptc", {OLD: whole[OLD][:-20], NEW: whole[NEW]}, "the last piece is not whole")


def nanos(stamp):
    """Of a time that rfc3339() wrote."""
    day, clock = stamp.decode().rstrip("Z").split("T")
    h, m, s = clock.split(":")
    whole, _, rest = s.partition(".")
    base = START - (3 * 3600 + 12 * 60 + 44) * S
    expect(day == "2026-09-14", day)
    return base + (int(h) * 3600 + int(m) * 60 + int(whole)) * S + int((rest or "0").ljust(9, "0"))


def other_ways(box, want):
    # Docker numbers its files, and all pieces of a record have one time
    lines, cut = log(docker)
    place = "containers/0f3a/0f3a-json.log"
    for packed in (False, True):
        old = b"".join(lines[:cut + 4])
        put(box, {place + (".1.gz" if packed else ".1"): gzip.compress(old) if packed else old, place: b"".join(lines[cut + 4:])})
        case = f"docker{packed}.ptc"
        box.run("ingest", case, "in")
        check(box, case, want)
    # stdout and stderr are cut by the same rotation, each in a record of its own
    ns = START + 20 * S
    lines = [x for k in range(20) for x in cri(START + k * S, receive(k, START + k * S))]
    a, b = cri(ns, imitating(20, ns)), cri(ns + 10**6, imitating(21, ns), "stdout")
    after = [x for k in range(22, 40) for x in cri(START + k * S, receive(k, START + k * S))]
    put(box, {OLD: b"".join(lines + [a[0], b[0], a[1], b[1], a[2], b[2]]), NEW: b"".join([b[3], a[3]] + a[4:] + b[4:] + after)})
    box.run("ingest", "two.ptc", "in")
    check(box, "two.ptc", joined=2)
    got = events(box, "two.ptc")
    expect(not gaps(box, "two.ptc") and len(got) == 40, f"40 requests and no gap, got {len(got)}, {gaps(box, 'two.ptc')}")
    expect(all(any(f'"r{k}"' in e and str(1000 + k) in e for e in got) for k in range(40)), "each with its own room")
    # a record as long as a file and more: the one in the middle is all of it, and by itself nobody knows what it is
    for way, names in ((cri, [OLDER, OLD, NEW]), (docker, [place + ".2", place + ".1", place])):
        lines, cut = log(way, pieces=40)
        parts = [lines[:cut + 3], lines[cut + 3:cut + 33], lines[cut + 33:]]
        put(box, {names[2]: b"".join(lines)})
        box.run("ingest", f"of-{way.__name__}.ptc", "in")
        want = events(box, f"of-{way.__name__}.ptc")
        put(box, {n: b"".join(p) for n, p in zip(names, parts)})
        box.run("ingest", f"chain-{way.__name__}.ptc", "in")
        digest = check(box, f"chain-{way.__name__}.ptc", want)
        expect(not gaps(box, f"chain-{way.__name__}.ptc"), "no gap in a chain")
        expect(box.json("gaps", f"chain-{way.__name__}.ptc", code=(0, 1))["rows"] == [], "nor a source that nobody knows")
        for order in ([1, 2, 0], [2, 0, 1]):
            case = "chain-%s%d%d%d.ptc" % (way.__name__, *order)
            for i in order:
                box.run("ingest", case, "in/" + names[i], code=(0, 3))
            expect(check(box, case, want) == digest, f"{case}: whichever comes first")


def collected_twice(box):
    """Two days, two folders: what the first one has, the second has under other names, and goes on."""
    lines, cut = log(cri, n=60)
    more = [k for k, x in enumerate(lines) if b"r40" in x][0]
    second = cri(START + 60 * S, imitating(60, START + 60 * S))
    lines += second + cri(START + 61 * S, receive(61, START + 61 * S)) + cri(START + 90 * S, receive(62, START + 90 * S))
    end = len(lines) - len(second)
    put(box, {NEW: b"".join(lines)})
    box.run("ingest", "of-twice.ptc", "in")
    want = events(box, "of-twice.ptc")
    a, b, c = b"".join(lines[:cut + 3]), b"".join(lines[cut + 3:end]), b"".join(lines[end:])
    part = b"".join(lines[cut + 3:more])
    days = {"day1": {OLD: a, NEW: part}, "day2": {OLDER + ".gz": gzip.compress(a), OLD: b, NEW: c}}
    late = {"day1": {OLD: a}, "day2": {OLD: a, NEW: b + c}}
    for name, folders, joined in (("twice", days, 2), ("late", late, 1)):
        shutil.rmtree(box.path("in"))
        for day, files in folders.items():
            for path, data in files.items():
                box.write(f"in/{day}/{path}", data)
        box.run("ingest", f"{name}.ptc", "in")
        digest = check(box, f"{name}.ptc", want, joined)
        for order in (["day1", "day2"], ["day2", "day1"]):
            case = f"{name}-{order[0]}.ptc"
            for day in order:
                box.run("ingest", case, "in/" + day)
            expect(check(box, case, want, joined) == digest, f"{case}: whichever day comes first")


def taken_apart(box, want):
    """What is joined goes when one of its files is another's, and comes back; what it was made of is kept with it."""
    lines, cut = log(cri)
    put(box, halves(lines, cut + 5))
    box.run("ingest", "taken.ptc", "in")
    digest = check(box, "taken.ptc", want)
    box.run("ingest", "taken.ptc", "in/" + OLD, "--worker", "another")
    check(box, "taken.ptc", joined=0)
    expect(gaps(box, "taken.ptc"), "the rest alone is a gap again")
    shutil.copy(box.path("taken.ptc"), box.path("named.ptc"))
    box.run("ingest", "taken.ptc", "in/" + NEW, "--worker", "another")
    check(box, "taken.ptc", joined=1)
    box.run("ingest", "named.ptc", "in/" + OLD, "--worker", "decode-0")
    check(box, "named.ptc", joined=1)

    # a damaged case, and one of an older version
    shutil.copy(box.path("taken.ptc"), box.path("torn.ptc"))
    with sqlite3.connect(box.path("torn.ptc")) as c:
        c.execute("DELETE FROM event_chunk WHERE source = 1")
    c.close()
    restamp(box.path("torn.ptc"))
    before = events(box, "taken.ptc")
    box.run("salvage", "torn.ptc", "mended.ptc", code=(0, 1))
    check(box, "mended.ptc", before, joined=1)
    with sqlite3.connect(box.path("torn.ptc")) as c:  # who says of a line that it stands elsewhere has to be right
        c.execute("UPDATE seam SET byte_off = 0, byte_len = 999 WHERE source = 1")
    c.close()
    restamp(box.path("torn.ptc"))
    box.run("salvage", "torn.ptc", "lied.ptc", code=(0, 1))
    got = events(box, "lied.ptc")
    expect(all(e in got for e in before), "nothing is left out that stands in no other source")
    box.run("ingest", "six.ptc", "in/" + OLD)
    with sqlite3.connect(box.path("six.ptc")) as c:
        c.execute("DROP TABLE seam")
        c.execute("PRAGMA user_version = 6")
    c.close()
    restamp(box.path("six.ptc"))
    expect("format version 6" in box.run("info", "six.ptc", code=4).stderr.decode(), "of version 6")
    box.run("salvage", "six.ptc", "seven.ptc", code=(0, 1))
    box.run("verify", "seven.ptc")
    expect(len(events(box, "seven.ptc")) > 30, "a case of version 6 is taken over")
    del digest


def at_the_limit(box):
    """A record whose lines are just as long as a record may be, and one byte longer."""
    most, chunk = 16 << 20, 65536
    for extra in (0, 1):
        before = cri(START, receive(1, START), "stdout") + cri(START + 50 * S, receive(2, START), "stdout")
        head, end = receive(3, START, "\0").split("\0")
        room = most + extra - sum(map(len, cri(START + 50 * S, head + end, chunk=chunk)))
        frame = len(cri(START, "")[0])
        n = room // (chunk + frame)
        text = "x" * (room - n * frame)
        pieces = cri(START + 50 * S, head + text + end, chunk=chunk)
        expect(abs(sum(map(len, pieces)) - most - extra) <= 2 * frame, "about as long")
        text = text[:len(text) + most + extra - sum(map(len, pieces))] if sum(map(len, pieces)) > most + extra else \
            text + "x" * (most + extra - sum(map(len, pieces)))
        pieces = cri(START + 50 * S, head + text + end, chunk=chunk)
        expect(sum(map(len, pieces)) == most + extra, f"as long as the limit: {sum(map(len, pieces)) - most - extra}")
        after = cri(START + 90 * S, receive(4, START), "stdout") + cri(START + 120 * S, receive(5, START), "stdout")
        put(box, {OLD: b"".join(before + pieces[:100]), NEW: b"".join(pieces[100:] + after)})
        box.run("ingest", f"limit{extra}.ptc", "in")
        check(box, f"limit{extra}.ptc", joined=1 - extra)


def joined_by_now(path):
    try:
        c = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.1)
        n = c.execute("SELECT count(*) FROM source WHERE container = 'seam'").fetchone()[0]
        c.close()
        return n
    except sqlite3.Error:
        return 0


def killed(box):
    """A run that dies, or is stopped, while it joins: the next one ends as if nothing had been."""
    files = {}
    for pod in range(6):
        lines, cut = log(lambda ns, line, stream="stderr": cri(ns + pod * 10**7, line, stream), n=60)
        folder = FOLDER.replace("decode-0", f"decode-{pod}")
        files.update(halves(lines, cut + 3, folder + "0.log.20260914-031300", folder + "0.log"))
    put(box, files)
    box.run("ingest", "whole.ptc", "in")
    want = check(box, "whole.ptc", joined=6)
    for k in range(rounds(16, 4)):
        case = f"k{k}.ptc"
        p = subprocess.Popen([os.path.abspath(PAGETRAIL), "ingest", case, "in", "--jobs", "2"], cwd=box.dir, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        while p.poll() is None and joined_by_now(box.path(case)) <= k // 2 % 5:
            time.sleep(0.0005)
        p.send_signal((signal.SIGKILL, signal.SIGTERM)[k % 2])
        p.wait()
        box.run("ingest", case, "in")
        expect(check(box, case, joined=6) == want, f"killed or stopped, {k}: the same case")


with Box() as box:
    want = every_packing(box)
    what_is_not_joined(box)
    other_ways(box, want)
    collected_twice(box)
    taken_apart(box, want)
    at_the_limit(box)
    killed(box)
