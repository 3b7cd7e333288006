#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""binary_samples.py - samples of binary formats are what the make.py beside them writes"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
makers = sorted(ROOT.glob("tests/parsers/*/make.py"))
if not makers:
    sys.exit("no make.py was found")
sys.exit(max(subprocess.run([sys.executable, str(m)], check=False).returncode for m in makers))
