#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# manifest.py - the files of a case for others: sums by sha256sum, DFXML by its schema, a statement by openssl; hostile names
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from run import Box, expect, one_line_error
from signed import KEY, PUBLIC, openssl_says, payload_of
from stub import Stub, answer

DFXML = "{http://www.forensicswiki.org/wiki/Category:Digital_Forensics_XML}"
OWN = "{urn:pagetrail:manifest:1}"
HOSTILE = ["line\nend", "back\\slash", "car\rriage", "ends with\r", "\x1b[2Jscreen", "\u202egpj.txt", "a!b.jsonl", "<&\"'>", "#hash", "-rf",
           " space", "=1+1", "\ufeffmark", b"not\xffutf8"]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def line(name, minute=10):
    return json.dumps({"request_id": f"z-{name}", "status": 200, "start_time": f"2026-09-14T09:{minute}:00Z", "duration": 3000, "method": "POST",
                       "path": "/v1/completions", "bytes_sent": 900, "tenant": "a"}).encode() + b"\n"


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def read(box, name):
    with open(os.path.join(os.fsencode(box.dir), os.fsencode(name)), "rb") as f:
        return f.read()


def write(box, name, data):
    with open(os.path.join(os.fsencode(box.dir), os.fsencode(name)), "wb") as f:
        f.write(data)


def check(box, sums="SHA256SUMS"):
    """What sha256sum says: exit code, and the lines that are not OK."""
    p = subprocess.run(["sha256sum", "-c", "--strict", sums], cwd=box.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return p.returncode, [s for s in p.stdout.split(b"\n") if s and not s.endswith(b": OK")], p.stdout.count(b": OK\n")


def visible(name):
    """Is nothing in it that a terminal or an eye would fall for?"""
    return not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffe\uffff]", name)


with Box() as box:
    packed = gzip.compress(line("gz"), mtime=0)
    FILES = {"logs/plain.jsonl": line("plain"), "logs/packed.jsonl.gz": packed, "logs/odd.bin": b"nothing that anybody knows\n",
             "logs/all.tar": tar({"a/one.jsonl": line("one"), "b!c/two.jsonl.gz": gzip.compress(line("two"), mtime=0), "x\x1b[0m": line("esc")}),
             "logs/copy.jsonl": line("plain"), "logs/torn.jsonl": line("torn") + b'{"request_id":'}
    os.mkdir(box.path("logs"))
    for name, data in FILES.items():
        write(box, name, data)
    for i, name in enumerate(HOSTILE):
        write(box, b"logs/" + os.fsencode(name), line(f"h{i}"))
    names = [os.fsencode(n) for n in FILES] + [b"logs/" + os.fsencode(n) for n in HOSTILE]
    box.write("key.pem", KEY, 0o600)
    box.write("pub.pem", PUBLIC)
    box.run("init", "case.ptc", "--id", "INC \x1b[31m 7")
    box.run("ingest", "case.ptc", "logs", "logs/none.log", code=3)
    box.run("ingest", "case.ptc", "-", stdin=line("stdin"), code=(0, 3))
    ALL = ("--sums", "SHA256SUMS", "--dfxml", "m.xml", "--statement", "m.json")

    # the rows: each source, each copy, what failed; digests of the file and of what was read
    doc = box.json("manifest", "case.ptc", *ALL, "--key", "key.pem")
    rows = doc["rows"]
    info = {s["source"]: s for s in box.json("info", "case.ptc")["sources"]}
    own = [r for r in rows if r["status"] != "known"]
    expect([r["source"] for r in own] == sorted(info), "every source")
    for r in own:
        for k in "path sha256 content_sha256 bytes stored_bytes container format worker records parsed context unparsed duplicate first_at " \
                 "last_at status reason".split():
            expect(r[k] == info[r["source"]][k], f"{k} of {r['path']}: {r[k]}, not {info[r['source']][k]}")
        expect(r["records"] == r["parsed"] + r["context"] + r["unparsed"] + r["duplicate"], f"the account of {r['path']}")
    by = {r["path"]: r for r in rows}
    expect(by["logs/odd.bin"]["status"] == "unrecognised" and by["logs/odd.bin"]["sha256"] == sha256(FILES["logs/odd.bin"]), "what nobody knows")
    expect(by["logs/none.log"]["status"] == "failed" and by["logs/none.log"]["sha256"] is None and by["logs/none.log"]["reason"], "what failed")
    expect(by["logs/torn.jsonl"]["unparsed"] == 1, "a bad line")
    copies = {r["path"]: r for r in rows if r["status"] == "known"}
    expect(set(copies) == {"logs/plain.jsonl"} and copies["logs/plain.jsonl"]["sha256"] == sha256(line("plain")) and
           by["logs/copy.jsonl"]["source"] == copies["logs/plain.jsonl"]["source"] and copies["logs/plain.jsonl"]["records"] is None,
           f"the copy: {copies}")
    gz = by["logs/packed.jsonl.gz"]
    expect((gz["sha256"], gz["content_sha256"], gz["stored_bytes"], gz["bytes"], gz["member"]) ==
           (sha256(packed), sha256(line("gz")), len(packed), len(line("gz")), None), f"a packed file: {gz}")
    members = {r["member"]: r for r in rows if r["file"] == "logs/all.tar"}
    expect({r["sha256"] for r in members.values()} == {sha256(FILES["logs/all.tar"])} and len(members) == 3, f"members: {members.keys()}")
    expect(members["b!c/two.jsonl.gz"]["content_sha256"] == sha256(line("two")), "what was read of a member")
    expect(by["logs/a!b.jsonl"]["member"] is None, "a name with an exclamation mark is no archive")
    one = by["logs/plain.jsonl"] if by["logs/plain.jsonl"]["status"] == "ingested" else by["logs/copy.jsonl"]
    expect(one["clock_bound_s"] == 0 and one["read_by"] == doc["version"] and one["evidence_bytes"] > 0, f"{one}")
    journal = {r["seq"]: r for r in box.json("journal", "case.ptc")["rows"]}
    for r in rows:
        expect(journal[r["journal_seq"]]["at"] == r["ingested_at"] and journal[r["journal_seq"]]["detail"]["source"] == r["source"], "the journal")
        expect(r["status"] == "known" or journal[r["journal_seq"]]["detail"]["seal"] == r["seal"], "the seal")

    # totals
    t = doc["totals"]
    for k in ("bytes", "records", "parsed", "context", "unparsed", "duplicate", "evidence_bytes"):
        expect(t[k] == sum(r[k] for r in own), f"total of {k}")
    for k in ("ingested", "unrecognised", "failed", "reading", "known"):
        expect(t[k] == sum(r["status"] == k for r in rows), f"total of {k}")
    expect(t["files"] == len(names) + 2 and t["files_without_digest"] == 1, f"files: {t}")
    expect(t["stored_bytes"] == sum(os.path.getsize(os.path.join(os.fsencode(box.dir), n)) for n in names) - len(line("plain")) + len(line("stdin")),
           "size of the files; of a copy it is not known")
    expect(t["journal_head"] == max(journal.items())[1]["sha256"], "the head of the journal")

    # sums: as sha256sum itself writes them
    lines = read(box, "SHA256SUMS").split(b"\n")
    expect(lines.pop() == b"", "a line end")
    theirs = subprocess.run([b"sha256sum", b"--", *names], cwd=box.dir, capture_output=True, timeout=60).stdout.split(b"\n")
    mine = [s for s in lines if not s.startswith(b"# ")]
    expect(sorted(mine) == sorted(s for s in theirs if s), f"the lines of sha256sum: {set(mine) ^ set(theirs)}")
    notes = [s.decode() for s in lines if s.startswith(b"# ")]
    expect(len(notes) == 2 and "logs/none.log" in notes[1] and notes[0].endswith("-: standard input"), f"{notes}")
    expect(check(box) == (0, [], len(names)), f"every file to be as it was: {check(box)}")
    before = read(box, "logs/odd.bin")
    write(box, "logs/odd.bin", before[:-2] + b"!\n")
    expect(check(box)[:2] == (1, [b"logs/odd.bin: FAILED"]), "one byte to be seen")
    write(box, "logs/odd.bin", before)

    # DFXML
    text = read(box, "m.xml")
    expect(visible(text.decode().replace("\n", "")), "no control characters")
    root = ElementTree.fromstring(text)
    objects = root.findall(DFXML + "fileobject")
    expect(len(objects) == t["files"] and root.get("version") == "2.0.0-beta.0", "a fileobject a file")
    expect(sum(len(o.findall(OWN + "read")) for o in objects) == len(rows), "every row in it")
    digests = {o.findtext(DFXML + "hashdigest"): o for o in objects}
    for name in names:
        o = digests[sha256(read(box, name))]
        size = o.findtext(DFXML + "filesize")
        expect(size is None or int(size) == len(read(box, name)), f"size of {name}")
    expect(digests[None].findtext(DFXML + "error") == by["logs/none.log"]["reason"], "what failed, and why")
    validators.by_xsd("dfxml/dfxml.xsd", box.path("m.xml"))

    # the statement
    envelope = read(box, "m.json")
    payload, signature = payload_of(envelope)
    expect(openssl_says(box, payload, signature), "openssl to hold it good")
    expect(not openssl_says(box, payload.replace(b'"F1 ', b'"F2 ', 1), signature), "another payload to be seen")
    s = json.loads(payload)
    expect(s["predicateType"] == "urn:pagetrail:manifest:1", "its type")
    subjects = {x["name"]: x["digest"]["sha256"] for x in s["subject"]}
    expect(len(subjects) == len(s["subject"]) == t["files"] - 1 and set(subjects.values()) == set(digests) - {None}, "each file that has a digest")
    p = s["predicate"]
    expect(sorted(map(json.dumps, p["rows"])) == sorted(map(json.dumps, rows)), "the same rows")
    expect({**p["totals"], "journal_head": p["case"]["journal_sha256"], "content_digest": p["case"]["content_sha256"]} == t, "the same totals")
    expect(p["as_of"] == doc["as_of"], "its date")
    expect([(w["kind"], w["file"], w["sha256"]) for w in doc["published"]] ==
           [(k, f, sha256(read(box, f))) for k, f in (("sums", "SHA256SUMS"), ("dfxml", "m.xml"), ("statement", "m.json"))], "what was written")

    # the same bytes again; tables and other forms
    for name in ("SHA256SUMS", "m.xml", "m.json"):
        os.rename(box.path(name), box.path(name + ".1"))
    shown = box.run("manifest", "case.ptc", *ALL, "--key", "key.pem").stdout.decode()
    for name in ("SHA256SUMS", "m.xml", "m.json"):
        expect(read(box, name) == read(box, name + ".1"), f"{name} to be the same again")
    expect(visible(shown.replace("\n", "")) and t["content_digest"] in shown, "a table that does nothing to a terminal")
    box.run("manifest", "case.ptc", "--statement", "plain.json")
    expect(read(box, "plain.json") == payload, "without a key the statement itself")
    expect(len(box.run("manifest", "case.ptc", "--jsonl").stdout.splitlines()) == len(rows), "a line a row")
    expect(box.json("query", "case.ptc", "manifest")["rows"] == rows, "the query has the same rows")

    # another file of the same name; what nodes were asked
    write(box, "logs/odd.bin", b"something else that nobody knows\n")
    box.run("ingest", "case.ptc", "logs/odd.bin", code=3)
    with Stub(lambda path, headers, body: answer("{}", "404 Not Found")) as stub:
        box.run("snapshot", "case.ptc", "node-a=" + stub.url, code=(0, 1))
    box.run("manifest", "case.ptc", "--sums", "SHA256SUMS")
    expect(check(box) == (0, [], len(names)), f"what is there now: {check(box)}")
    notes = [s for s in read(box, "SHA256SUMS").decode(errors="replace").split("\n") if s.startswith("# ")]
    expect(any(sha256(before) in s and "came in later" in s for s in notes), f"what was there before: {notes}")
    expect(any("snapshot/" in s and "stands in the case alone" in s for s in notes), f"what has no file: {notes}")

    # slips
    for args in (("--key", "key.pem"), ("--sums", "x", "--dfxml", "x"), ("--sums", "-"), ("--statement", "key.pem", "--key", "key.pem"),
                 ("--sums", "case.ptc"), ("--dfxml", "")):
        one_line_error(box.run("manifest", "case.ptc", *args, code=2))
    expect("public key" in one_line_error(box.run("manifest", "case.ptc", "--statement", "x", "--key", "pub.pem", code=3)), "a key that signs")
    for mode in (0o640, 0o604):
        box.write("open.pem", KEY, mode)
        expect("read by others" in one_line_error(box.run("manifest", "case.ptc", "--statement", "x", "--key", "open.pem", code=3)), "a key for its owner alone")
    expect(not os.path.exists(box.path("x")), "nothing written")
    box.run("init", "empty.ptc")
    expect(box.json("manifest", "empty.ptc", "--sums", "e", "--dfxml", "e.xml")["totals"]["files"] == 0 and read(box, "e") == b"", "an empty case")
    validators.by_xsd("dfxml/dfxml.xsd", box.path("e.xml"))
    expect("no digest" in one_line_error(box.run("manifest", "empty.ptc", "--statement", "x", code=3)), "nothing to state")
print("ok")
