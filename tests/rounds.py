# SPDX-License-Identifier: Apache-2.0
# rounds.py - how often to do a thing: `make check` sets PAGETRAIL_SMALL, `make check-all` does everything
import os


def rounds(full, small):
    return small if os.environ.get("PAGETRAIL_SMALL") else full


def seeds(fixed, small=None):
    """The seeds of a scenario: those given here, or PAGETRAIL_ROUNDS (default 1) from PAGETRAIL_SEED on."""
    first = os.environ.get("PAGETRAIL_SEED")
    if first is None:
        return fixed[:rounds(len(fixed), small)]
    return range(int(first), int(first) + int(os.environ.get("PAGETRAIL_ROUNDS", "1")))
