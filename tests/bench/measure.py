# SPDX-License-Identifier: Apache-2.0
# measure.py - runs commands and takes their times: wall seconds, CPU seconds, peak memory
#
# Commands that are compared run in turn (A B C A B C …), so that a machine that gets slower or faster in between
# changes all of them alike. What is compared is the median. Output goes to a file: a program that sees /dev/null may
# stop at the first match.
import os
import statistics
import subprocess
import time


class Failed(Exception):
    pass


class Sample:
    def __init__(self, wall, cpu, peak_mib, code):
        self.wall, self.cpu, self.peak_mib, self.code = wall, cpu, peak_mib, code


class Command:
    """What is run, and what has to be done before each run, untimed. script: text on its standard input."""

    def __init__(self, argv, before=None, script=None, env=None, codes=(0, 1)):
        self.argv, self.before, self.script, self.env, self.codes = argv, before, script, env, codes


class Meter:
    def __init__(self, folder, clock="wall", patience=30.0):
        self.folder, self.clock, self.patience = folder, clock, patience
        self.out = os.path.join(folder, "stdout")

    def once(self, command):
        if command.before:
            command.before()
        text = os.path.join(self.folder, "stdin")
        with open(text, "w", encoding="utf-8") as f:
            f.write(command.script or "")
        with open(self.out, "wb") as out, open(text, "rb") as inp, open(self.out + ".err", "w+b") as message:
            start = time.monotonic()
            p = subprocess.Popen(command.argv, stdin=inp, stdout=out, stderr=message, env=dict(os.environ, **(command.env or {})))
            _, status, use = os.wait4(p.pid, 0)
            wall = time.monotonic() - start
            p.returncode = os.waitstatus_to_exitcode(status)
            if p.returncode not in command.codes:
                message.seek(0)
                said = message.read(500).decode(errors="replace").strip()
                raise Failed(f"{os.path.basename(command.argv[0])} ended with {p.returncode}: {said}")
        return Sample(wall, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024, p.returncode)

    def text(self):
        """What the last command printed."""
        with open(self.out, encoding="utf-8", errors="replace") as f:
            return f.read()

    def turns(self, commands, runs):
        """Runs {name: Command} in turn; {name: Series}. One that has used up its patience is left out of later turns."""
        series = {name: Series(self.clock, command) for name, command in commands.items()}
        for _ in range(runs):
            for name, command in commands.items():
                s = series[name]
                if s.failed or s.spent > self.patience:
                    continue
                try:
                    s.add(self.once(command))
                    if s.n == 1:
                        s.said = f"{self.out}-{name}"
                        os.replace(self.out, s.said)
                except (Failed, OSError) as e:
                    s.failed = str(e)
        return series


class Series:
    def __init__(self, clock, command):
        self.clock, self.command, self.samples, self.failed, self.spent = clock, command, [], None, 0.0
        self.said = None  # file with what the first run printed

    def add(self, sample):
        self.samples.append(sample)
        self.spent += sample.wall

    def lines(self):
        if not self.said:
            return
        with open(self.said, encoding="utf-8", errors="replace") as f:
            yield from (line.rstrip("\n") for line in f)

    @property
    def n(self):
        return len(self.samples)

    @property
    def median(self):
        return statistics.median(getattr(s, self.clock) for s in self.samples)

    @property
    def peak_mib(self):
        return max(s.peak_mib for s in self.samples)
