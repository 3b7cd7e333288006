#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prefix_share.py - cached prefixes read by other tenants are sharing, listed as such, and nobody is affected"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from rehearsal import Rehearsal, check, finish, seeds  # noqa: E402

for seed in seeds((1, 5)):
    r = Rehearsal("prefix_share", seed)
    r.check_sources()
    r.check_boots()
    truth, rows = r.check_scope()
    check(not rows, f"{r.name}: nothing is listed", len(rows))
    exposures = r.check_exposures()
    check({e["kind"] for e in exposures} == {"shared"}, f"{r.name}: sharing only", {e["kind"] for e in exposures})
    check(any(e["reader_tenant"] != e["owner_tenant"] for e in exposures), f"{r.name}: between tenants")
    r.ask("exposures", codes=(0,))  # no foreign read
finish()
