#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# bitflips.py - one bit of a case is not as it was written: no crash, no hang, no wrong answer without a word
#
# PAGETRAIL_FLIPS (default 24, or 6) bits are flipped, one at a time, in places that PAGETRAIL_SEED chooses. Every answer must be
# that of the whole case, or come with an error and its exit code; what verify says must cover every answer that changed
# and every flip in evidence and events; and salvage must make a sound case of it.
import os
import random
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, PAGETRAIL, rounds

FLIPS = int(os.environ.get("PAGETRAIL_FLIPS", rounds(24, 6)))
SEED = int(os.environ.get("PAGETRAIL_SEED", str(random.SystemRandom().randrange(1 << 32))))
HANG_S = 60
TABLES = ("evidence_chunk", "event_chunk")


def ask(box, args):
    """Exit code, output and errors of one verb; no exit code when it did not come to its end."""
    try:
        p = subprocess.run([os.path.abspath(PAGETRAIL), *args], cwd=box.dir, capture_output=True, timeout=HANG_S,
                           env={**os.environ, "LC_ALL": "C.UTF-8", "MALLOC_PERTURB_": "104"})
    except subprocess.TimeoutExpired:
        return None, b"", b"hangs"
    return p.returncode, p.stdout, p.stderr


def stored(path):
    """What evidence and events there are, as SQLite itself reads them; None: it cannot."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        db.text_factory = bytes
        rows = [db.execute(f"SELECT * FROM {t} NOT INDEXED ORDER BY rowid").fetchall() for t in TABLES]
        db.close()
        return rows
    except (sqlite3.Error, UnicodeDecodeError):  # the latter: of a message about names that are none
        return None


def questions(box):
    refs = [r["refs"][0] for r in box.json("scope", "case.ptc", "--class", "C1,C2,C3,C4,C5", code=(0, 1))["rows"][:3] if r["refs"]]
    alias = box.json("sql", "case.ptc", "SELECT value FROM alias ORDER BY rowid LIMIT 1 OFFSET 5")["rows"][0]["value"]
    worker = box.json("sql", "case.ptc", "SELECT name FROM worker ORDER BY rowid LIMIT 1")["rows"][0]["name"]
    return [
        ("info", "case.ptc", "--json"), ("scope", "case.ptc", "--json"), ("exposures", "case.ptc", "--json"),
        ("show", "case.ptc", *refs), ("show", "case.ptc", "--source", "2", "--all", "--raw"), ("grep", "case.ptc", "[0-9a-f]{6}"),
        ("grep", "case.ptc", "zzz-nobody-wrote-this"),
        ("sql", "case.ptc", "SELECT op, count(*), sum(seq), min(ts_ns) FROM page_events GROUP BY op ORDER BY op", "--json"),
        ("sql", "case.ptc", "SELECT r.name, t.name AS tenant, p.prompt_tokens, p.refs FROM request AS r LEFT JOIN tenant AS t "
         "USING(tenant) JOIN response AS p USING(request) ORDER BY r.request", "--json"),
        ("sql", "case.ptc", f"SELECT request, kind FROM alias WHERE value = '{alias}'", "--json"),
        ("sql", "case.ptc", f"SELECT worker FROM worker WHERE name = '{worker}'", "--json"),
        ("sql", "case.ptc", "SELECT l.leg, l.refs FROM request AS r JOIN leg AS l USING(request) ORDER BY 1", "--json"),
        ("gaps", "case.ptc", "--json"),
    ]


def check(box, want, whole, stored_whole, bit):
    """What is wrong after this flip, as a list of lines."""
    path = box.path("case.ptc")
    bad = bytearray(whole)
    bad[bit // 8] ^= 1 << bit % 8
    wrong, changed = [], False

    def put():
        for name in os.listdir(box.dir):
            if name.startswith("case.ptc"):
                os.unlink(box.path(name))
        with open(path, "wb") as f:
            f.write(bad)
    put()
    data_differs = stored(path) != stored_whole
    for args, (code, out, _) in want.items():
        put()
        got, now, err = ask(box, args)
        what = " ".join(args)
        if got is None or got < 0 or b"Sanitizer" in err or b"runtime error" in err:
            wrong.append(f"{what}: exit {got}: {err[-600:].decode(errors='replace')}")
            continue
        if args[0] == "verify":
            found = got
            continue
        same = got == code and now == out
        changed |= not same
        if not same and (got < 3 or not err.startswith(b"pagetrail: ")):
            wrong.append(f"{what}: another answer without a word: exit {got}, {err.decode(errors='replace')}")
    put()
    got, _, err = ask(box, ("salvage", "case.ptc", "new.ptc"))
    if got not in (0, 1) or b"Sanitizer" in err or b"runtime error" in err:
        wrong.append(f"salvage: exit {got}: {err[-600:].decode(errors='replace')}")
    else:
        got, out, err = ask(box, ("verify", "new.ptc"))
        if got != 0:
            wrong.append(f"verify of what was salvaged: exit {got}: {out[-600:].decode(errors='replace')}")
        os.unlink(box.path("new.ptc"))
    if "found" not in locals() or (found not in (1, 4) and (changed or data_differs)):
        wrong.append(f"verify does not find it (answers {'differ' if changed else 'are the same'}, evidence and events "
                     f"{'differ' if data_differs else 'are the same'})")
    return wrong


print(f"seed {SEED}, {FLIPS} flips")
with Box() as box:
    box.run("simulate", "sim", "--requests", "30")
    box.write("sim/logs/odd.log", "nobody knows this line\n" * 5)
    box.run("ingest", "case.ptc", "sim/logs", code=3)
    want = {q: ask(box, q) for q in [("verify", "case.ptc")] + questions(box)}
    for q, (code, _, err) in want.items():
        if code not in (0, 1):
            sys.exit(f"{' '.join(q)}: exit {code} of a whole case: {err.decode(errors='replace')}")
    whole = open(box.path("case.ptc"), "rb").read()
    stored_whole = stored(box.path("case.ptc"))
    rnd = random.Random(SEED)
    failed = 0
    for _ in range(FLIPS):
        bit = rnd.randrange(len(whole) * 8)
        wrong = check(box, want, whole, stored_whole, bit)
        failed += bool(wrong)
        for line in wrong:
            print(f"bit {bit} (page {bit // 65536 + 1}, byte {bit // 8 % 8192}): {line}")
    # heads and tails of pages, where SQLite keeps what leads to the rest: whatever that makes of the case, it is damage
    for _ in range(FLIPS):
        byte = rnd.randrange(len(whole) // 8192) * 8192 + rnd.choice((rnd.randrange(200), 8191 - rnd.randrange(1000)))
        bad = bytearray(whole)
        bad[byte] ^= 1 << rnd.randrange(8)
        box.write("case.ptc", bytes(bad))
        code, out, err = ask(box, ("verify", "case.ptc"))
        if code not in (1, 4):
            failed += 1
            print(f"page {byte // 8192 + 1}, byte {byte % 8192}: verify ends with {code}: {(out + err)[-300:].decode(errors='replace')}")
        code, _, err = ask(box, ("salvage", "case.ptc", "new.ptc"))  # the list of tables lies on several pages
        if code not in (0, 1) or ask(box, ("verify", "new.ptc"))[0] != 0:
            failed += 1
            print(f"page {byte // 8192 + 1}, byte {byte % 8192}: salvage ends with {code}: {err[-300:].decode(errors='replace')}")
        if os.path.exists(box.path("new.ptc")):
            os.unlink(box.path("new.ptc"))
    if failed:
        sys.exit(f"{failed} of {2 * FLIPS} flips went unnoticed or did harm; PAGETRAIL_SEED={SEED} repeats them")
