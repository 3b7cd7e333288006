# SPDX-License-Identifier: Apache-2.0
# report.py - the machine, the table on the terminal, and the part of docs/performance.md between its markers
import os
import platform
import re
import subprocess

import baselines

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def read(path, pattern, otherwise="unknown"):
    try:
        with open(path, encoding="utf-8") as f:
            m = re.search(pattern, f.read(), re.M)
    except OSError:
        m = None
    return m[1].strip() if m else otherwise


def build_type(pagetrail):
    """As meson has it; a debug build must not pass for a fast one."""
    build = os.path.join(os.path.dirname(os.path.abspath(pagetrail)), "..", "..")
    try:
        out = subprocess.run(["meson", "introspect", "--buildoptions", build], capture_output=True, text=True, timeout=30).stdout
        found = dict(re.findall(r'"name": "(buildtype|b_sanitize|optimization)", "value": "(\w+)"', out))
    except (OSError, subprocess.SubprocessError):
        found = {}
    return ", ".join(f"{k} {v}" for k, v in sorted(found.items()) if v != "none") or "unknown build"


def machine(args, where, cpus, duckdb):
    total = int(read("/proc/meminfo", r"^MemTotal:\s+(\d+) kB", "0"))
    kind = read("/proc/self/mounts", rf"^\S+ {re.escape(os.path.dirname(where))} (\S+) ", "")
    cpu, flags = read("/proc/cpuinfo", r"^model name\s*: (.*)$"), read("/proc/cpuinfo", r"^flags\s*:(.*)$", "").split()
    debian = read("/etc/os-release", r"^PRETTY_NAME=.?([^\"\n]+)")
    rows = [("CPU", f"{cpu}, {os.cpu_count()} there, {len(cpus)} used by everything here"),
            ("flags", " ".join(f for f in ("sha_ni", "avx2", "avx512bw", "avx512vbmi") if f in flags)),
            ("memory", f"{total / 1048576:.1f} GiB"),
            ("system", f"{debian}, Linux {platform.release()} {platform.machine()}"),
            ("data", f"in {'memory (tmpfs)' if kind == 'tmpfs' else 'a folder on disk'}, read before: warm"),
            ("Pagetrail", f"{baselines.first_line([args.pagetrail, '--version'])}, {build_type(args.pagetrail)}")]
    rows += baselines.versions()
    duck = "not asked"
    if duckdb:
        duck = f"{duckdb.version} (Node package)" if duckdb.version else f"not to be had here: {duckdb.reason}"
    rows.append(("DuckDB", duck))
    return rows


def limit(row, value):
    if value is None:
        return ""
    sign = "≤ " if row.kind == "at most" else "≥ "
    return f"{sign}{value:g}{row.unit}" if row.unit == "x" or row.unit.startswith(" ") else f"{sign}{value:g}"


def cells(row):
    if row.ratio is None:
        ratio = ""
    elif row.unit == "x":
        ratio = f"{row.ratio:.2f}x" if row.ratio < 100 else f"{row.ratio:.0f}x"
    else:
        ratio = f"{row.ratio:.0f}{row.unit}"
    return [row.what, row.data, row.ours, row.base, ratio, limit(row, row.bar), limit(row, row.stretch), row.verdict, row.note]


HEAD = ["bar", "data", "ours", "baseline", "ratio", "bar at", "stretch", "verdict", "note"]


def terminal(rows):
    table = [HEAD] + [[c.replace("`", "") for c in cells(r)] for r in rows]
    wide = [max(len(r[i]) for r in table) for i in range(len(HEAD))]
    right = (2, 3, 4, 5, 6)
    return "\n".join("  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(r, wide))).rstrip() for r in table)


def counts(rows):
    n = {}
    for r in rows:
        if r.verdict:
            n[r.verdict] = n.get(r.verdict, 0) + 1
    return ", ".join(f"{n[v]} {v}" for v in ("stretch", "met", "missed", "below", "not measured") if v in n)


def markdown(rows, profiles, about, sets, how):
    def line(cs):
        return "| " + " | ".join(c.replace("|", "\\|") for c in cs) + " |"

    out = [how, "", f"**{counts(rows)}**", "", line(HEAD), "|---|---|--:|--:|--:|--:|--:|---|---|"]
    for r in rows:
        c = cells(r)
        c[0] = re.sub(r"(?<!`)([*_<])(?!`)", r"\\\1", c[0]) if "`" not in c[0] else c[0]
        c[7] = f"**{c[7]}**" if c[7] == "missed" else c[7]
        out.append(line(c))
    for title, lines in profiles:
        out += ["", f"{title}:", "", "```", *lines, "```"]
    out += ["", "| data | bytes | files |", "|---|--:|--:|"]
    out += [line([s["title"], f"{s['bytes']:,}", str(len(s["files"]))]) for s in sets.values()]
    out += ["", "| machine | |", "|---|---|"] + [line([k, v]) for k, v in about]
    return "\n".join(out)


def put(path, text):
    """Between the markers; what was written by hand around them stays."""
    with open(path, encoding="utf-8") as f:
        old = f.read()
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path}: no marker lines {BEGIN} and {END}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
