#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# many_tenants.py - papers of hundreds of tenants, searched by another reader: nobody's hold what is another's, and a leak is caught
import base64
import csv
import html
import json
import os
import random
import re
import shutil
import sys
import zipfile
from datetime import datetime, timedelta, timezone

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error, rounds

TENANTS, EACH = rounds(500, 40), 8
FORMS = "json,md,txt,csv,sheet,xlsx,iodef"
WORD = re.compile(r"customer-[0-9a-f]{12}|req-[0-9a-f]{16}|T-[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def logs(box, rng):
    """Each tenant's name, ids and times, none of them part of another's."""
    truth, lines = {}, []
    begin = datetime(2026, 9, 1, 8, tzinfo=timezone.utc)
    names = [f"customer-{rng.getrandbits(48):012x}" for _ in range(TENANTS)]
    for i in range(TENANTS * EACH):
        tenant = names[i % TENANTS]
        at = begin + timedelta(seconds=7 * i, milliseconds=rng.randrange(1, 999))
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
        request = f"req-{rng.getrandbits(64):016x}"
        truth.setdefault(tenant, set()).update((tenant, request, stamp))
        served = rng.random() < 0.7
        lines.append(json.dumps({"start_time": stamp, "request_id": request, "tenant": tenant, "model": "m", "path": "/v1/chat/completions", "duration": 1000,
                                 "status": 200 if served else 500, "bytes_sent": 900 * served, "prompt_tokens": 700000, "completion_tokens": 12 * served}))
    box.write("logs/gateway.jsonl", "\n".join(lines) + "\n")
    return truth


def readings(path):
    """A file as a person, a program or a spreadsheet would read it."""
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".xlsx"):
        with zipfile.ZipFile(path) as z:
            return [html.unescape(z.read(n).decode()) for n in z.namelist()]
    text = data.decode()
    all_of = [text, html.unescape(text), re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)]
    if path.endswith(".json"):
        all_of.append(json.dumps(json.loads(text), ensure_ascii=False))
    if path.endswith(".dsse.json"):
        all_of.append(base64.b64decode(json.loads(text)["payload"]).decode())
    return all_of


def owners_in(path, owner_of):
    """Whose names, ids and times stand there."""
    return {owner_of[t]: t for text in readings(path) + [os.path.basename(path)] for t in WORD.findall(text) if t in owner_of}


with Box() as box:
    truth = logs(box, random.Random(int(os.environ.get("PAGETRAIL_SEED", "5"))))
    owner_of = {word: tenant for tenant, words in truth.items() for word in words}
    box.run("ingest", "case.ptc", "logs", code=(0, 1, 3))
    args = ("report", "case.ptc", "--all", "--out", "out", "--audience", "all", "--also", FORMS)
    said = box.run(*args, "--new-case-key", "key").stdout.decode()
    expect(" 0 found" in said, f"what was searched to be said: {said[-300:]}")
    with open(box.path("out/internal/deliveries-1.csv"), encoding="utf-8") as f:
        sent = list(csv.DictReader(f))
    expect({r["tenant"] for r in sent} == set(truth), f"a paper for each of {TENANTS} tenants, not {len(sent)}")
    owner_of.update({r["pseudonym"]: r["tenant"] for r in sent})
    tenant_of = {r["pseudonym"]: r["tenant"] for r in sent}
    papers = 0
    for folder in ("tenants", "public"):
        for name in sorted(os.listdir(box.path(f"out/{folder}"))):
            there = owners_in(box.path(f"out/{folder}/{name}"), owner_of)
            own = tenant_of[re.search(r"-(T-.*?)-1\.", name)[1]] if folder == "tenants" else None
            others = {k: v for k, v in there.items() if k != own}
            expect(not others, f"{name} to say nothing of {others}")
            expect(own is None or own in there, f"{name}: this search to find what is there")
            papers += name.endswith(".xml")
    expect(papers >= TENANTS, f"{papers} papers")
    # one word of one other in what a person adds: none of all papers is left
    victim = sorted(truth)[len(truth) // 2]
    shutil.rmtree(box.path("out"))
    for word in sorted(truth[victim], key=len)[:: max(1, len(truth[victim]) // rounds(8, 3))]:
        box.write("note", f"Seen beside {word} at that time.\n")
        said = one_line_error(box.run(*args, "--case-key", "key", "--note", "note", code=3))
        expect("nothing was kept" in said and not os.path.exists(box.path("out")), f"{word} to be caught: {said}")
