#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# outputs.py - no output is written over evidence, a case, or a file of somebody else: each option that writes a file, each way to name one
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

def snapshot(box):
    """All files below the box, by their bytes."""
    out = {}
    for folder, _, names in os.walk(box.dir):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as f:
                    out[os.path.relpath(path, box.dir)] = f.read()
    return out


with Box() as box:
    box.run("simulate", "r", "--scenario", "incident", "--seed", "99", "--requests", "60")
    shutil.copytree(box.path("r/logs"), box.path("ev"))
    with tarfile.open(box.path("ev/more.tar"), "w") as t:
        t.add(box.path("r/logs/gateway.jsonl"), "other/gateway.jsonl")
    box.write("ev/scope-1.xml", "no report\n" * 3)
    box.write("ev/gone.jsonl", '{"gone": 1}\n')
    box.run("ingest", "c.ptc", "ev", code=(0, 3))
    os.unlink(box.path("ev/gone.jsonl"))
    request = next(r for r in box.json("scope", "c.ptc", "--class", "C1,C2,C3,C4", code=(0, 1))["rows"] if r["decode_worker"])["request"]
    verbs = {"--sums": ("manifest", "c.ptc"), "--dfxml": ("manifest", "c.ptc"), "--statement": ("manifest", "c.ptc"),
             "--svg": ("timeline", "c.ptc"), "--dot": ("exposures", "c.ptc"), "--csaf": ("deploy", "c.ptc")}
    more = [("lineage", "c.ptc", request, "--svg"), ("lineage", "c.ptc", request, "--dot"), ("deploy", "c.ptc", "--statement")]
    commands = [(*verb, option) for option, verb in verbs.items()] + more

    os.link(box.path("ev/decode-0.log"), box.path("hard"))
    os.symlink("ev/decode-0.log", box.path("soft"))
    shutil.copy(box.path("ev/decode-1.log"), box.path("copy.svg"))
    box.write("notes.txt", '{"somebody": "else"}\n')
    before = snapshot(box)
    for command in commands:
        for place in ("ev/gateway.jsonl", "./ev/../ev/gateway.jsonl", box.path("ev/gateway.jsonl"), "hard", "soft", "copy.svg", "ev/more.tar",
                      "ev/gone.jsonl", "c.ptc", "notes.txt"):
            said = one_line_error(box.run(*command, place, code=2))
            expect("not written over" in said or "named twice" in said, f"{command} {place} to be refused, got {said}")
        one_line_error(box.run(*command, "ev", code=3))
    said = one_line_error(box.run("report", "c.ptc", "scope", "--out", "ev", code=2))
    expect("is evidence" in said, f"a report among the evidence to be refused, got {said}")
    expect(snapshot(box) == before, "not a byte written")

    # what such a verb wrote before is replaced, also a statement that was not signed; nothing else of it
    for i, command in enumerate(commands):
        for _ in range(2):
            box.run(*command, f"out-{i}", code=(0, 1))
    for i, command in enumerate(commands):
        other = next(k for k, c in enumerate(commands) if c[-1] != command[-1])
        one_line_error(box.run(*command, f"out-{other}", code=2))
    box.write("blank", "")
    box.run("timeline", "c.ptc", "--svg", "blank")
    for _ in range(2):
        box.run("report", "c.ptc", "scope", "--out", "reports")
print("ok")
