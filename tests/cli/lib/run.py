# SPDX-License-Identifier: Apache-2.0
# run.py - runs the built program in a folder of its own, and says what it did when an expectation fails
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from rounds import rounds  # noqa: E402, F401

PAGETRAIL = os.environ.get("PAGETRAIL", "build/src/cli/pagetrail")


class Box:
    """A temporary folder, and the program run in it."""

    def __enter__(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="pagetrail-test-")
        self.dir = self.tmp.name
        return self

    def __exit__(self, *_):
        self.tmp.cleanup()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data, mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def run(self, *args, code=0, stdin=None, env=None, timeout=300):
        p = subprocess.run([os.path.abspath(PAGETRAIL), *args], cwd=self.dir, input=stdin, capture_output=True,
                           env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}, timeout=timeout)
        codes = code if isinstance(code, tuple) else (code,)
        if p.returncode not in codes:
            print(f"pagetrail {' '.join(args)}: exit {p.returncode}, expected {codes}", file=sys.stderr)
            print(p.stdout.decode(errors="replace")[-2000:], p.stderr.decode(errors="replace")[-2000:], file=sys.stderr)
            sys.exit(1)
        return p

    def json(self, *args, code=0, **kw):
        return json.loads(self.run(*args, "--json", code=code, **kw).stdout)


def expect(condition, what):
    if not condition:
        print(f"expected: {what}", file=sys.stderr)
        sys.exit(1)


def one_line_error(p):
    """An error is one line for a person: what, where, what to do; never a bare errno."""
    lines = p.stderr.decode().splitlines()
    expect(len(lines) == 1, f"one error line, got {lines}")
    expect(lines[0].startswith("pagetrail: "), f"'pagetrail: …', got {lines[0]!r}")
    return lines[0]


def restamp(path):
    """Puts the check sums of all pages right again, after another program has written to a case."""
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        for at in range(0, len(data), 8192):
            a, b = at // 8192, 0
            words = struct.unpack_from("<2046I", data, at)
            for x, y in zip(words[::2], words[1::2]):
                a = (a + x + b) & 0xffffffff
                b = (b + y + a) & 0xffffffff
            struct.pack_into("<II", data, at + 8184, a, b)
        f.seek(0)
        f.write(data)


def sums_hold(row):
    for prefix, total in (("", "records"), ("bytes_", "bytes")):
        parts = sum(row[prefix + k] for k in ("parsed", "context", "unparsed", "duplicate"))
        expect(parts == row[total], f"{total} of {row['path']} to add up: {parts} of {row[total]}")
