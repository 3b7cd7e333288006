# SPDX-License-Identifier: Apache-2.0
# rounds.py - how often to do a thing: `make check` sets PAGETRAIL_SMALL, `make check-all` does everything
import os


def rounds(full, small):
    return small if os.environ.get("PAGETRAIL_SMALL") else full
