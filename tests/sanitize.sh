#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh [SLOW] - tests built with clang under ASan and UBSan
#
# Built to be compiled fast: no optimisation, line tables only; and only what the tests need. With SLOW (an expression of tests to leave
# out) `make check-all` asks for all unit and command line tests, and for all rounds.
set -eu
. tests/sanitized.sh
build=build-sanitize
flags='-g1 -fno-sanitize-recover=all'
CC=clang CXX=clang++ CFLAGS=$flags CXXFLAGS=$flags MESON_ARGS="-Db_sanitize=address,undefined \
	-Db_lundef=false -Doptimization=0" sh src/setup.sh "$build"
ninja -C "$build" src/cli/pagetrail
sh tests/alike.sh "${BUILD:-build}/src/cli/pagetrail" "$build/src/cli/pagetrail"
# a shorter list of freed blocks: most runs end long before it is full
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:quarantine_size_mb=32 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
if [ $# -gt 0 ]; then
	tests=$(meson test -C "$build" --list --suite unit --suite cli 2>/dev/null | grep ' / ' | sed 's/.* \/ //' | grep -Ev "$1")
else
	export PAGETRAIL_SMALL=1
	tests=$(meson test -C "$build" --list 2>/dev/null | grep -E "$sanitized" | sed 's/.* \/ //')
fi
meson test -C "$build" --print-errorlogs --timeout-multiplier 4 $tests
