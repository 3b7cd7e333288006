#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# house.py - rules that a reader relies on: licence lines, who may use which library, headers alone, man page and verbs
import os
import re
import subprocess
import sys

bad = []
files = subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout.split()
if not files:
    print("not a git checkout: skipped")
    sys.exit(77)
source = [f for f in files if f.endswith((".c", ".h", ".cc", ".py", ".sh", ".sql", ".xsl", ".rng")) or f.endswith("meson.build")]
for f in source:
    if not os.path.exists(f):
        continue
    head = open(f, encoding="utf-8", errors="replace").read(400)
    if "SPDX-License-Identifier: Apache-2.0" not in head:
        bad.append(f"{f}: no SPDX line")
    name = os.path.basename(f)
    if f.endswith((".c", ".h", ".cc")) and f"{name} - " not in head:
        bad.append(f"{f}: the second line does not say what it is for")

ONLY = {"sqlite3.h": ("src/store/", "src/extension/"), "zstd.h": "src/store/", "pcre2.h": "src/base/", "hs.h": "src/base/", "simdjson": "src/base/", "openssl/": "src/base/",
        "archive.h": "src/ingest/", "libxml/": "src/report/", "libxslt/": "src/report/", "xlsxwriter": "src/report/",
        "zlib.h": "src/report/", "utf8proc.h": "src/base/text_fold.c", "curl/": "src/live/"}
for f in files:
    if not f.endswith((".c", ".h", ".cc")) or f.startswith("tests/") or not os.path.exists(f):
        continue
    for include in re.findall(r'^#include\s*[<"]([^>"]+)[>"]', open(f, encoding="utf-8").read(), re.M):
        for library, room in ONLY.items():
            if include.startswith(library) and not f.startswith(room):
                bad.append(f"{f}: includes {include}, which only {room} may")

# only these verbs may open a connection
LIVE = ("src/live/", "src/cli/live.", "src/cli/cmd_snapshot.c", "src/cli/cmd_probe.c", "include/pagetrail/live.h", "tests/")
for f in files:
    if f.endswith((".c", ".h", ".cc")) and not f.startswith(LIVE) and os.path.exists(f) and \
            re.search(r'^#include\s*[<"](pagetrail/)?live\.h[>"]', open(f, encoding="utf-8").read(), re.M):
        bad.append(f"{f}: opens connections")

man = open("docs/pagetrail.1", encoding="utf-8").read()
for f in files:
    m = re.match(r"src/cli/cmd_(\w+)\.c$", f)
    if m and not re.search(rf"^\.B pagetrail {m.group(1)} ", man, re.M):
        bad.append(f"docs/pagetrail.1: no verb {m.group(1)}")

method = open("docs/method.md", encoding="utf-8").read()
for code in re.findall(r'"([a-z_]+(?::[A-Z,]+)?)",\s*\'[TALDCJX]\'', open("src/analysis/reasons.h", encoding="utf-8").read()):
    if f"`{code}`" not in method:
        bad.append(f"docs/method.md: says nothing of the reason {code}")

for f in files:
    if f.startswith("include/pagetrail/") and f.endswith(".h"):
        p = subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-Iinclude", "-fsyntax-only", "-x", "c", "-"], input=f'#include "{f[8:]}"\n',
                           text=True, capture_output=True)
        if p.returncode:
            bad.append(f"{f}: does not compile alone")

print("\n".join(bad))
sys.exit(1 if bad else 0)
