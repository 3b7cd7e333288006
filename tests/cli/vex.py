#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# vex.py - what `deploy` hands on: the CSAF document, the statement and its signature; by our own rules, by openssl, by others' validators
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import validators
from replicas import DIGEST, FILES, INVENTORY, POLICY, freeze, info, log
from run import Box, expect, one_line_error
from signed import KEY, KEYID, PUBLIC, openssl_says, payload_of

STATUS = {"verified_fixed": "fixed", "verified_affected": "known_affected", "conflicting": "known_affected", "retired": None}
RANK = ["fixed", "under_investigation", "known_affected"]
WHO = ("--publisher", "Example Inference Ops", "--namespace", "https://example.net/security", "--contact", "psirt@example.net")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(box, name):
    with open(box.path(name), "rb") as f:
        return f.read()


def ingest(box, case, files):
    shutil.rmtree(box.path("logs"), ignore_errors=True)
    for name, text in files.items():
        box.write("logs/" + name, text)
    box.json("ingest", case, "logs", code=(0, 3))


def check_csaf(doc, rows):
    """The mapping, worked out from the rows; and what a reader of CSAF relies on."""
    d, v = doc["document"], doc["vulnerabilities"][0]
    expect(d["category"] == "csaf_vex" and d["csaf_version"] == "2.0" and len(doc["vulnerabilities"]) == 1, "one defect, as VEX")
    want = {}
    for r in rows:
        status = STATUS.get(r["verdict"], "under_investigation")
        if not status or "not_started_yet" in r["reasons"]:
            continue
        name = f"{r['engine'] or 'engine not known,'} {r['version'] or 'version not known'}"
        name += f", commit {r['commit']}" if r["commit"] else ""
        name += f", image {r['image_digest']}" if r["image_digest"] else ""
        want[name] = max(want.get(name, "fixed"), status, key=RANK.index)
    products = {p["product_id"]: p["name"] for p in doc["product_tree"]["full_product_names"]}
    expect(len(products) == len(doc["product_tree"]["full_product_names"]), "ids of products that are no one else's")
    got = {}
    for status, ids in v["product_status"].items():
        expect(status in RANK and ids, f"a status that has products: {status} {ids}")
        for i in ids:
            expect(products[i] not in got, f"one status for {products[i]}")
            got[products[i]] = status
    expect(got == want, f"{want}, got {got}")
    unwell = [i for i in products if got[products[i]] != "fixed"]
    expect(not unwell or not re.search("fixed", d["title"], re.I), f"title claims too much: {d['title']}")
    affected = v["product_status"].get("known_affected", [])
    expect([r["product_ids"] for r in v.get("remediations", [])] == ([affected] if affected else []), "an action for what is affected")
    expect(v["ids"] and v["notes"], "an id and a note")
    t = d["tracking"]
    dates = {t["current_release_date"], t["initial_release_date"], t["generator"]["date"], t["revision_history"][0]["date"]}
    expect(len(dates) == 1 and t["version"] == t["revision_history"][-1]["number"] == "1", f"one date: {dates}")
    return dates.pop()


def check_statement(box, payload, rows):
    s = json.loads(payload)
    expect(s["_type"] == "https://in-toto.io/Statement/v1" and s["predicateType"] == "urn:pagetrail:deployment:1", "an in-toto statement")
    names = [x["name"] for x in s["subject"]]
    expect(len(set(names)) == len(names), "names of subjects to differ")
    for x in s["subject"]:
        expect(set(x["digest"]) == {"sha256"} and re.fullmatch("[0-9a-f]{64}", x["digest"]["sha256"]), f"a digest: {x}")
        kind, rest = x["name"].split(" ", 1)
        if kind == "image":
            expect(rest == "sha256:" + x["digest"]["sha256"], f"an image: {x}")
        else:
            expect(x["digest"]["sha256"] == sha256(read(box, rest)), f"the digest of {rest}")
    refs = {ref.split("@")[0] for r in rows for ref in r["refs"] + [e["ref"] for e in r["evidence"] if e["ref"]]}
    expect({n.split()[0] for n in names if n[0] == "S"} == refs, "every file that a verdict rests on, and no other")
    p = s["predicate"]
    expect(p["policy"]["sha256"] == sha256(read(box, "policy.json")) and p["policy"]["id"] == POLICY["id"], f"the policy: {p['policy']}")
    by = {r["replica"]: r for r in p["replicas"]}
    expect(list(by) == sorted(by) and len(by) == len(rows), "each replica once")
    for r in rows:
        one = by[r["replica"]]
        for k in "verdict rung reasons version commit image_digest evidence_at judged_at evidence refs role model engine".split():
            expect(one[k] == r[k], f"{r['replica']}: {k} is {r[k]}, got {one[k]}")
        expect(one["outside_inventory"] == r["outside"], f"{r['replica']}: outside")
    for verdict, n in p["verdicts"].items():
        expect(n == sum(r["verdict"] == verdict for r in rows), f"{verdict}: {n}")
    return s


def deploy(box, case, *args, code=(0, 1)):
    doc = box.json("deploy", case, "--policy", "policy.json", "--limit", "0", *args, code=code)
    return doc, [r for r in doc["rows"] if r["current"]]


with Box() as box:
    box.write("policy.json", json.dumps(POLICY))
    box.write("hosts.csv", INVENTORY)
    box.write("key.pem", KEY, 0o600)
    box.run("init", "case.ptc", "--id", "INC 2041/β")
    ingest(box, "case.ptc", FILES)
    BOTH = ("--inventory", "hosts.csv", "--csaf", "vex.json", "--statement", "statement.json", "--key", "key.pem")

    # the whole fleet, with a key
    doc, rows = deploy(box, "case.ptc", *BOTH, code=1)
    expect(doc["params"]["inventory"] == "hosts.csv" and doc["params"]["inventory_sha256"] == sha256(INVENTORY.encode()), f"{doc['params']}")
    expect([(p["kind"], p["file"], p["sha256"], p["keyid"]) for p in doc["published"]] ==
           [("statement", "statement.json", sha256(read(box, "statement.json")), KEYID), ("csaf", "vex.json", sha256(read(box, "vex.json")), None)],
           f"what was written: {doc['published']}")
    vex, envelope = read(box, "vex.json"), read(box, "statement.json")
    payload, signature = payload_of(envelope)
    csaf = json.loads(vex)
    dated = check_csaf(csaf, rows)
    expect(dated == doc["as_of"], f"dated {doc['as_of']}, got {dated}")
    expect(csaf["document"]["tracking"]["id"] == "INC_2041___-x_test-1-1", csaf["document"]["tracking"]["id"])
    expect(csaf["document"]["tracking"]["status"] == "draft" and "not named" in csaf["document"]["publisher"]["name"] and
           csaf["document"]["publisher"]["namespace"].endswith(".invalid/"), "who publishes it was not said")
    expect(not any(r["replica"] in vex.decode() for r in rows), "replicas by reference only")
    expect(sha256(payload) in vex.decode(), "the statement to be referred to")
    statement = check_statement(box, payload, rows)
    expect(statement["predicate"]["inventory"] == {"sha256": sha256(INVENTORY.encode()), "replicas": 15}, f"{statement['predicate']['inventory']}")
    expect({"name": "image " + DIGEST, "digest": {"sha256": DIGEST[7:]}} in statement["subject"], "the image")
    builds = {r["build"]: r["status"] for r in statement["predicate"]["replicas"] if r["status"]}
    expect(set(builds) == {p["product_id"] for p in csaf["product_tree"]["full_product_names"]}, "builds of replicas are the products")

    # the same arguments, the same bytes, whatever form the rows have; the statement alone is the payload
    os.remove(box.path("vex.json"))
    table = box.run("deploy", "case.ptc", "--policy", "policy.json", *BOTH, code=1).stdout.decode()
    expect("wrote vex.json" in table and "wrote statement.json" in table, table)
    expect(read(box, "vex.json") == vex and read(box, "statement.json") == envelope, "the same bytes again")
    deploy(box, "case.ptc", "--inventory", "hosts.csv", "--statement", "bare.json")
    expect(read(box, "bare.json") == payload, "without a key: what is signed with one")

    # the signature, by openssl
    if shutil.which("openssl"):
        expect(openssl_says(box, payload, signature), "openssl to take the signature")
        for at in (0, len(payload) // 2, len(payload) - 1):
            expect(not openssl_says(box, payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1:], signature), "a byte that was changed")
        expect(not openssl_says(box, payload, signature[:10] + bytes([signature[10] ^ 1]) + signature[11:]), "another signature")
        other = base64.b64encode(bytes.fromhex("302a300506032b65700321003d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")).decode()
        expect(not openssl_says(box, payload, signature, f"-----BEGIN PUBLIC KEY-----\n{other}\n-----END PUBLIC KEY-----\n"), "another's key")
    else:
        print("# signatures were not checked: no openssl")

    # who publishes it, which issue, where the list is
    _, rows = deploy(box, "case.ptc", "--csaf", "named.json", *WHO, "--issue", "3", "--replicas", "https://example.net/r?a=%2F&b=1#x", "--as-of", "2026-09-14T10:00:00Z")
    csaf = json.loads(read(box, "named.json"))
    expect(check_csaf(csaf, rows) == "2026-09-14T10:00:00Z", "the date that was given")
    d = csaf["document"]
    expect(d["publisher"] == {"category": "user", "contact_details": WHO[5], "name": WHO[1], "namespace": WHO[3]}, f"{d['publisher']}")
    expect(d["tracking"]["status"] == "interim" and d["tracking"]["id"].endswith("-3") and d["references"][0]["url"].endswith("#x"), f"{d['tracking']}")
    expect(any("lower numbers" in n["text"] for n in d["notes"]) and not any(n["title"] == "Draft" for n in d["notes"]), f"{d['notes']}")
    expect("--statement" in json.dumps(d["notes"]), "how to get the list")

    # at a time, when one of the inventory had not begun
    box.write("later.csv", "replica,started_at\nfixed-0,2026-09-14T07:59:00Z\nnew-0,2026-09-14T12:00:00Z\n")
    _, rows = deploy(box, "case.ptc", "--csaf", "at.json", "--statement", "at-s.json", "--inventory", "later.csv", "--at", "2026-09-14T08:50:00Z")
    check_csaf(json.loads(read(box, "at.json")), rows)
    at = check_statement(box, read(box, "at-s.json"), rows)
    expect([r["status"] for r in at["predicate"]["replicas"] if r["replica"] == "new-0"] == [None], "what had not begun has no status")

    # all is well: only then "fixed" and final
    good = {n: t for n, t in FILES.items() if n.startswith(("fixed-0", "extra-0"))}
    ingest(box, "good.ptc", good)
    box.write("good.csv", "replica,state\nfixed-0,active\nextra-0,\n")
    _, rows = deploy(box, "good.ptc", "--csaf", "good.json", *WHO, "--inventory", "good.csv", code=0)
    csaf = json.loads(read(box, "good.json"))
    check_csaf(csaf, rows)
    expect("fixed in all of 1 build in use" in csaf["document"]["title"] and csaf["document"]["tracking"]["status"] == "final", csaf["document"]["title"])
    expect(re.fullmatch("case-[0-9a-f]{16}-x_test-1-1", csaf["document"]["tracking"]["id"]), csaf["document"]["tracking"]["id"])
    box.write("gone.csv", "replica,state,retired_at\nfixed-0,retired,2026-09-15\nextra-0,retired,2026-09-15\n")
    one_line_error(box.run("deploy", "good.ptc", "--inventory", "gone.csv", "--as-of", "2026-09-16T00:00:00Z", "--csaf", "gone.json", code=3))
    expect(not os.path.exists(box.path("gone.json")), "nothing is written where nothing can be said")

    # a defect of a number that is known, without a fix
    known = {**POLICY, "id": "x_fixed-by-name", "aliases": ["GHSA-xxxx", "CVE-2026-12345"], "summary": "Pages of others",
             "affected": [{"package": {"ecosystem": "PyPI", "name": "sglang"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]}
    box.write("known.json", json.dumps(known))
    box.run("deploy", "good.ptc", "--policy", "known.json", "--csaf", "known-vex.json", code=1)
    v = json.loads(read(box, "known-vex.json"))["vulnerabilities"][0]
    expect(v["cve"] == "CVE-2026-12345" and v["title"] == "Pages of others" and [r["category"] for r in v["remediations"]] == ["none_available"], f"{v}")

    # texts of the case are hostile: they stay in their strings, and out of a terminal
    evil = "9\"}],\n\x1b[31m</script>\u202e\u2028\ud800\\"
    names = {"evil-0/engine.log": log("prefill", "08:00:00"), "evil-0/server_info.json": info("prefill", evil, "08:30:00"),
             "evil-1/engine.log": log("decode", "08:00:00", 1200000),
             "evil-1/server_info.json": info("decode", "S7@1+1\",\"ref\":\"S1@0+1", "08:30:00").replace("/models/m-1t", "m\\\" \\u001b]0;x\\u0007"),
             "pip \u202e-freeze.txt": freeze("a", "0.5.21", "08:30:00")}
    ingest(box, "evil.ptc", names)
    _, rows = deploy(box, "evil.ptc", "--csaf", "evil.json", "--statement", "evil-s.json")
    expect(any(r["version"] and "script" in r["version"] for r in rows), f"the version to be read: {[r['version'] for r in rows]}")
    for name in ("evil.json", "evil-s.json"):
        raw = read(box, name)
        expect(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80[\xa8-\xae]", raw[:-1]) and raw.count(b"\n") == 1, f"{name}: one line of harmless bytes")
        json.loads(raw)
    check_csaf(json.loads(read(box, "evil.json")), rows)
    check_statement(box, read(box, "evil-s.json"), rows)
    for p in json.loads(read(box, "evil.json"))["product_tree"]["full_product_names"]:
        expect("product_identification_helper" not in p or "script" not in p["name"], f"no package address of what is none: {p}")

    # what is not done, and leaves nothing behind
    ec = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], capture_output=True) if shutil.which("openssl") else None
    box.write("ec.pem", ec.stdout if ec else b"none")
    box.write("public.pem", PUBLIC)
    box.write("open.pem", KEY, 0o644)
    for args, code in [(("--key", "key.pem"), 2), (("--issue", "2"), 2), (("--publisher", "a"), 2), (("--csaf", "-"), 2), (("--csaf", ""), 2),
                       (("--csaf", "out.json", "--statement", "out.json"), 2), (("--statement", "key.pem", "--key", "key.pem"), 2),
                       (("--csaf", "out.json", "--namespace", "example.net"), 2), (("--csaf", "out.json", "--namespace", "https://a b/"), 2),
                       (("--csaf", "out.json", "--namespace", "https://example.net/%zz"), 2), (("--csaf", "out.json", "--replicas", "file:///etc"), 2),
                       (("--csaf", "out.json", "--namespace", "https://-/" + "a" * 1000), 2), (("--csaf", "out.json", "--publisher", ""), 2),
                       (("--csaf", "out.json", "--issue", "-1"), 2), (("--csaf", "out.json", "--issue", "100001"), 2),
                       (("--csaf", "none/out.json"), 3), (("--csaf", "case.ptc"), 2),
                       (("--statement", "out.json", "--key", "none.pem"), 3), (("--statement", "out.json", "--key", "policy.json"), 3),
                       (("--statement", "out.json", "--key", "ec.pem"), 3), (("--statement", "out.json", "--key", "public.pem"), 3),
                       (("--statement", "out.json", "--key", "open.pem"), 3)]:
        one_line_error(box.run("deploy", "case.ptc", "--policy", "policy.json", *args, code=code))
        expect(not os.path.exists(box.path("out.json")), f"{args} to write nothing")
    expect(read(box, "key.pem") == KEY.encode(), "the key as it was")
    box.run("init", "empty.ptc")
    one_line_error(box.run("deploy", "empty.ptc", "--statement", "out.json", code=3))
    # nothing that is read is written over, whatever it is called; two documents are two files
    os.symlink("hosts.csv", box.path("link.csv"))
    os.mkdir(box.path("sub"))
    for args in (("--inventory", "hosts.csv", "--csaf", "./hosts.csv"), ("--inventory", "hosts.csv", "--csaf", "link.csv"),
                 ("--csaf", "case.ptc"), ("--csaf", "sub/../policy.json"), ("--csaf", "new.json", "--statement", "sub/../new.json")):
        before = {n: os.path.getmtime(box.path(n)) for n in os.listdir(box.dir)}
        expect("named twice" in one_line_error(box.run("deploy", "case.ptc", "--policy", "policy.json", *args, code=2)), f"{args} to be refused")
        expect({n: os.path.getmtime(box.path(n)) for n in os.listdir(box.dir)} == before, "no file to change")

    made = [box.path(n) for n in ("vex.json", "named.json", "at.json", "good.json", "known-vex.json", "evil.json")]
    validators.csaf(*made)
    validators.by_schema("csaf/2.0/csaf_json_schema.json", *made)
