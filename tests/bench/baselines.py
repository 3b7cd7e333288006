# SPDX-License-Identifier: Apache-2.0
# baselines.py - the programs that bars are measured against: where they are, which version, and how each is asked
#
# A baseline gets the best case: no journal, no sync, no index unless it helps it, tables loaded beforehand, untimed.
# One that is missing says what to install, and its row stays empty; nothing fails because of it.
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
APT = {"sqlite3": "sqlite3", "lnav": "lnav", "zstd": "zstd", "rg": "ripgrep", "openssl": "openssl", "sha256sum": "coreutils", "node": "nodejs",
       "npm": "npm"}
VERSION = {"openssl": "version", "lnav": "-V"}


class Missing(Exception):
    pass


def need(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is missing: apt install {APT[name]}")
    return path


def first_line(argv):
    try:
        out = subprocess.run(argv, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        said = (out.stdout or out.stderr).strip().split("\n")[0]
        return " ".join(w for w in said.split() if not re.fullmatch(r"\*+|[0-9a-f]{40,}\w*", w))  # no frames, no hashes
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def versions():
    """(name, what it says of itself) of every baseline, also of missing ones."""
    rows = [("Python", f"{sys.version.split()[0]}, sqlite3 module {__import__('sqlite3').sqlite_version}")]
    for name in ("sqlite3", "lnav", "zstd", "rg", "openssl", "sha256sum", "node"):
        path = shutil.which(name)
        rows.append((name, first_line([path, VERSION.get(name, "--version")]) if path else f"missing (apt install {APT[name]})"))
    return rows


def python_load(kind, log, db):
    return [sys.executable, os.path.join(HERE, "load_python.py"), kind, log, db]


# JSON fields, or parts of a text line, that the sqlite3 shell takes out of each record
FIELDS = {
    "pagelog": ["$.ts", "$.seq", "$.worker", "$.op", "$.rid", "$.room", "$.pages"],
    "gateway": ["$.start_time", '$."x-request-id"', "$.tenant_id", "$.response_code", "$.duration", "$.bytes_sent",
                '$."gen_ai.usage.input_tokens"'],
}


def sqlite_load(kind, log):
    """A script: every line into a table, then its fields into another one."""
    if kind in FIELDS:
        take = ", ".join(f"json_extract(line, '{f}')" for f in FIELDS[kind])
    else:  # engine text: SQL has no regular expressions; time, body and the request's id by position
        take = ("substr(line, 2, 19), substr(line, instr(line, '] ') + 2), "
                "CASE instr(line, 'rid=') WHEN 0 THEN NULL ELSE substr(line, instr(line, 'rid=') + 4, 32) END")
    return ("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;\nCREATE TABLE raw(line TEXT);\n.mode ascii\n.separator \"\\001\" \"\\n\"\n"
            f".import '{log}' raw\nCREATE TABLE record AS SELECT {take} FROM raw;\nSELECT count(*) FROM record;\n")


def lnav_config(folder):
    """A configuration folder that knows our formats; lnav gets HOME there, so that a user's own does not matter."""
    formats = os.path.join(folder, "lnav", "formats", "bench")
    os.makedirs(formats, exist_ok=True)
    shutil.copy(os.path.join(HERE, "lnav", "pagetrail_bench.json"), formats)
    return os.path.join(folder, "lnav")


def lnav_count(config, kind, logs):
    return [need("lnav"), "-I", config, "-n", "-c", f";SELECT count(*) FROM {kind}", *logs]


class DuckDB:
    """The npm package, fetched by npm into a folder of its own; what went wrong is kept as the reason."""

    def __init__(self, folder, wanted=True):
        self.folder, self.reason, self.version = os.path.join(folder, "duckdb"), None, None
        try:
            if not wanted:
                raise Missing("left out (--no-duckdb)")
            npm = need("npm")
            need("node")
            p = subprocess.run([npm, "install", "--prefix", self.folder, "--no-audit", "--no-fund", "--loglevel=error",
                                "--fetch-retries=0", "--fetch-timeout=20000", "@duckdb/node-api"], capture_output=True, text=True,
                               timeout=120, stdin=subprocess.DEVNULL)
            if p.returncode:
                codes = [w for line in p.stderr.split("\n") for w in line.split() if line.startswith("npm") and w.isupper() and len(w) > 3]
                raise Missing("npm could not fetch it" + (f" ({codes[-1]})" if codes else ""))
            out = subprocess.run(self.command(), input="SELECT version()", capture_output=True, text=True, timeout=60)
            if out.returncode:
                raise Missing("the package was fetched but does not run")
            self.version = out.stdout.strip()
        except (Missing, OSError, subprocess.SubprocessError) as e:
            self.reason = str(e) if isinstance(e, Missing) else f"npm did not end ({type(e).__name__})"

    def command(self):
        return [shutil.which("node"), os.path.join(HERE, "duckdb.mjs"), self.folder, "2"]
