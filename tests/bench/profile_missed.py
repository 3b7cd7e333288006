# SPDX-License-Identifier: Apache-2.0
# profile_missed.py - where the time goes in what missed its bar: one more run of each such command under perf
import os
import re
import shutil
import subprocess

SHOWN, LEAST_PERCENT = 12, 1.5


def profile(meter, folder, command):
    """Lines `percent  object  symbol`, or one that says why there are none."""
    data = os.path.join(folder, "perf.data")
    if command.before:
        command.before()
    with open(meter.out, "wb") as out:
        p = subprocess.run(["perf", "record", "-q", "-F", "997", "-o", data, "--", *command.argv], stdin=subprocess.DEVNULL, stdout=out,
                           stderr=subprocess.PIPE, text=True)
    if not os.path.exists(data):
        return ["perf cannot record here: " + (p.stderr.strip().split("\n") or [""])[0][:100]]
    said = subprocess.run(["perf", "report", "-i", data, "--stdio", "-q", "--no-children", "-F", "overhead,dso,symbol", "--max-stack", "0"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    os.remove(data)
    share, whole = {}, {}
    for line in said.stdout.split("\n"):
        m = re.match(r"\s*([\d.]+)%\s+(\S+)\s+\[(.)\]\s+(.*\S)", line)
        if not m:
            continue
        where, symbol = re.sub(r"[.]so[.0-9]*$", "", m[2]), m[4]
        if m[3] == "k":  # page faults and copying: one line is enough
            where, symbol = "kernel", "(all)"
        elif symbol.startswith("0x"):  # no symbols there
            symbol = "(all)"
        whole[where] = whole.get(where, 0) + float(m[1])
        share[where, symbol] = share.get((where, symbol), 0) + float(m[1])
    order = sorted(((v, k) for k, v in share.items() if v >= LEAST_PERCENT), reverse=True)
    largest = sorted(((v, k) for k, v in whole.items() if v >= 1), reverse=True)[:6]
    objects = ", ".join(f"{where} {v:.0f} %" for v, where in largest)
    return ["in all: " + objects] * bool(objects) + [f"{v:5.1f} %  {where:18} {symbol[:70]}" for v, (where, symbol) in order[:SHOWN]] or ["perf saw nothing"]


def profiles(b, rows):
    """(title, lines) for each verb and data set that missed a bar: of the command that missed by most."""
    if not shutil.which("perf"):
        return [("No profiles", ["perf is missing: apt install linux-perf"])] if any(r.verdict == "missed" for r in rows) else []
    found = {}
    for r in rows:
        if r.verdict == "missed" and r.command and not r.wrong:
            found.setdefault((r.command.argv[1], r.data), []).append(r)
    out = []
    for (verb, data), missed in found.items():
        command = max(missed, key=lambda r: r.ratio / r.bar if r.kind == "at most" else r.bar / r.ratio).command
        what = "; ".join(dict.fromkeys(r.what.replace("`", "") for r in missed))
        out.append((f"`{verb}`, {data} (missed: {what})", profile(b.meter, b.folder, command)))
    return out
