#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# bench.py - the bench itself is never run here: its scripts parse, it knows its options, and the page it writes has its place
import ast
import glob
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/bench")
bad = []
for path in sorted(glob.glob("tests/bench/*.py")):
    with open(path, encoding="utf-8") as f:
        ast.parse(f.read(), path)

p = subprocess.run([sys.executable, "-B", "tests/bench/bench.py", "--help"], capture_output=True, text=True)
if p.returncode or "--quick" not in p.stdout:
    bad.append("bench.py --help: " + p.stderr[-300:])

import bars  # noqa: E402
import baselines  # noqa: E402
import report  # noqa: E402

with open("docs/performance.md", encoding="utf-8") as f:
    page = f.read()
if page.count(report.BEGIN) != 1 or page.count(report.END) != 1 or page.index(report.BEGIN) > page.index(report.END):
    bad.append(f"docs/performance.md: not one pair of {report.BEGIN} and {report.END}")

row = bars.Row("what", "data", bars.MOST, 3.5, 2)
for value, verdict in ((1.9, "stretch"), (2.5, "met"), (3.6, "missed")):
    if row.value(value).verdict != verdict:
        bad.append(f"at most 3.5, stretch 2: {value} is {row.verdict}")
row = bars.Row("what", "data", bars.FASTER, 10, 18)
for value, verdict in ((20, "stretch"), (10, "met"), (9.9, "missed")):
    if row.value(value).verdict != verdict:
        bad.append(f"at least 10, stretch 18: {value} is {row.verdict}")
row.wrong = "other answers"
if row.value(20).verdict != "missed":
    bad.append("a wrong answer counts as fast")

# without its programs the bench says what to install, and goes on
os.environ["PATH"] = "/nonexistent"
try:
    baselines.need("rg")
    bad.append("rg is found where nothing is")
except baselines.Missing as e:
    if "apt install ripgrep" not in str(e):
        bad.append(f"rg: {e}")

print("\n".join(bad))
sys.exit(1 if bad else 0)
