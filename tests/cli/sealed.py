#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# sealed.py - each document of a report has its check sums and, with a key, a signed statement of them; other programs check both
import base64
import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

NS = "{urn:pagetrail:report:1}"


def ran(box, *args, cwd="."):
    return subprocess.run(args, cwd=box.path(cwd), capture_output=True).returncode


def verified(box, envelope, public):
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    box.write("pae", b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    box.write("sig", base64.b64decode(envelope["signatures"][0]["sig"]))
    return ran(box, "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", "pae", "-sigfile", "sig") == 0


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--requests", "300", "--seed", "3")
    box.run("ingest", "case.ptc", "r/logs")
    for name in ("a", "b"):
        expect(ran(box, "openssl", "genpkey", "-algorithm", "ed25519", "-out", name + ".pem") == 0, "a key")
        expect(ran(box, "openssl", "pkey", "-in", name + ".pem", "-pubout", "-out", name + ".pub") == 0, "its public half")
    box.run("report", "case.ptc", "--all", "--audience", "tenants", "--new-case-key", "case.key", "--out", "out", "--key", "a.pem")
    seen = 0
    for folder in ("internal", "tenants", "public"):
        files = sorted(os.listdir(box.path("out/" + folder)))
        for stem in sorted({f.split(".")[0] for f in files if not f.startswith("deliveries")}):
            expect({stem + e for e in (".xml", ".html", ".sha256", ".dsse.json")} <= set(files), f"the files of {stem}: {files}")
            expect(ran(box, "sha256sum", "-c", stem + ".sha256", cwd="out/" + folder) == 0, f"check sums of {stem}")
            envelope = json.load(open(box.path(f"out/{folder}/{stem}.dsse.json")))
            expect(verified(box, envelope, "a.pub") and not verified(box, envelope, "b.pub"), "a signature by this key alone")
            said = json.loads(base64.b64decode(envelope["payload"]))
            sums = dict(reversed(line.split("  ")) for line in open(box.path(f"out/{folder}/{stem}.sha256")).read().splitlines())
            expect({s["name"]: s["digest"]["sha256"] for s in said["subject"]} == sums, "what is signed to be the sums")
            expect(stem.startswith(said["predicate"]["kind"]) and said["predicate"]["state"] == "draft", f"kind and state: {said['predicate']}")
            for changed in (base64.b64encode(base64.b64decode(envelope["payload"]).replace(b"draft", b"draff")).decode(),):
                expect(not verified(box, dict(envelope, payload=changed), "a.pub"), "another payload not to be signed")
            expect(envelope["signatures"][0]["keyid"] in open(box.path(f"out/{folder}/{stem}.html")).read(), "the page to name the key")
            seen += 1
    expect(seen >= 4, f"several documents: {seen}")
    # a later issue lies beside the earlier one, and says which number it supersedes, in each form
    earlier = {f: open(os.path.join(d, f), "rb").read() for d, _, found in os.walk(box.path("out")) for f in found}
    box.run("report", "case.ptc", "--all", "--audience", "tenants", "--case-key", "case.key", "--out", "out", "--key", "a.pem", "--issue", "2", "--also", "json,md,txt,tsq")
    later = {f: open(os.path.join(d, f), "rb").read() for d, _, found in os.walk(box.path("out")) for f in found}
    expect({f: later[f] for f in earlier} == earlier, "the earlier issue to stay as it is")
    expect({re.sub(r"-2\.", "-1.", f) for f in later if f not in earlier} >= set(earlier), "the same papers again")
    for name, data in ((f, later[f]) for f in later if f not in earlier):
        expect(re.search(r"-2\.", name), f"{name}: its number")
        if name.endswith("-2.xml"):
            header = ElementTree.fromstring(data).find(NS + "header")
            expect((header.findtext(NS + "issue"), header.findtext(NS + "supersedes")) == ("2", "1"), f"{name}: header")
        if name.endswith("-2.json"):
            header = json.loads(data)["header"]
            expect((str(header["issue"]), str(header["supersedes"])) == ("2", "1"), f"{name}: header {header}")
        if name.endswith("-2.html"):
            expect(b"2, supersedes issue 1" in data, f"{name}: said to its readers")
        if name.endswith(("-2.md", "-2.txt")):
            expect(re.search(rb"(?i)supersedes\W+1", data), f"{name}: said in words")
        if name.endswith(".dsse.json"):
            expect(json.loads(base64.b64decode(json.loads(data)["payload"]))["predicate"]["issue"] == 2, f"{name}: signed as the second")
    expect(not any(b"supersedes" in d for f, d in earlier.items() if f.endswith((".xml", ".html")) and b"<supersedes>" in d), "the first supersedes nothing")
    # a request for a time stamp is what openssl makes of the sums, and reads
    requests = [os.path.join(d, f) for d, _, found in os.walk(box.path("out")) for f in found if f.endswith(".tsq")]
    expect(len(requests) == seen, f"one for each document: {len(requests)}")
    for path in sorted(requests)[::len(requests) // 5 + 1]:
        sums = path[:-4] + ".sha256"
        expect(ran(box, "openssl", "ts", "-query", "-data", sums, "-sha256", "-cert", "-no_nonce", "-out", "want.tsq") == 0, "openssl to make one")
        expect(open(path, "rb").read() == open(box.path("want.tsq"), "rb").read(), f"{path}: the same as openssl's")
        said = subprocess.run(["openssl", "ts", "-query", "-in", path, "-text"], capture_output=True, text=True)
        expect(said.returncode == 0 and "Hash Algorithm: sha256" in said.stdout and "Certificate required: yes" in said.stdout, f"{path}: {said.stdout}")
    page = open(box.path("out/internal/scope-1.html"), "r+b")
    page.seek(2000)
    byte = page.read(1)
    page.seek(2000)
    page.write(bytes([byte[0] ^ 1]))
    page.close()
    expect(ran(box, "sha256sum", "-c", "scope-1.sha256", cwd="out/internal") == 1, "a changed byte to fail")
    # without a key there are sums; keys that cannot sign are refused, and leave no file
    box.run("report", "case.ptc", "scope", "--out", "plain")
    expect(sorted(os.listdir(box.path("plain"))) == ["scope-1.html", "scope-1.sha256", "scope-1.xml"], "sums without a key")
    expect("not signed" in open(box.path("plain/scope-1.html")).read(), "the page to say that nobody signed")
    box.write("open.pem", open(box.path("a.pem")).read(), 0o640)
    for key in ("a.pub", "case.ptc", "nowhere.pem", "open.pem"):
        one_line_error(box.run("report", "case.ptc", "scope", "--out", "none", "--key", key, code=3))
        expect(not os.path.exists(box.path("none")), "no file")
