#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh [SLOW] - the unit, parser and command line tests once more, built with clang under ASan and UBSan
#
# Built to be compiled fast: -O1, line tables only; and only what the tests need. Tests that repeat something with other
# random numbers repeat it less (PAGETRAIL_SMALL). With SLOW (an expression of tests to leave out) `make check-all` asks for
# more tests, and for all rounds.
set -eu
build=build-sanitize
flags='-g1 -fno-sanitize-recover=all'
CC=clang CXX=clang++ CFLAGS=$flags CXXFLAGS=$flags MESON_ARGS="-Db_sanitize=address,undefined \
	-Db_lundef=false -Doptimization=1" sh src/setup.sh "$build"
# a shorter list of freed blocks: most runs end long before it is full
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:quarantine_size_mb=32 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# what kills a process or fills a disk says little about memory, and with others that run the program hundreds of times takes
# its time: `make check-all` has them sanitized, too
slow=${1-'killed|full_disk|stopped|salvage|wrapped|resume|verify|copies|report.py|pictures'}
[ $# -gt 0 ] || export PAGETRAIL_SMALL=1
meson test -C "$build" --print-errorlogs --timeout-multiplier 4 \
	$(meson test -C "$build" --list --suite unit --suite cli 2>/dev/null | sed -n 's/.* \/ //p' | grep -Ev "$slow")
