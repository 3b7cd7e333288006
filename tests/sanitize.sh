#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh - the unit, parser and command line tests once more, built with clang under ASan and UBSan
set -eu
build=build-sanitize
CC=clang CXX=clang++ MESON_ARGS="-Db_sanitize=address,undefined -Db_lundef=false" sh src/setup.sh "$build"
ninja -C "$build"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# what kills a process or fills a disk says little about memory, and with others that run the program hundreds of times takes
# its time: `make check-all` has them sanitized, too
slow=${1-'killed|full_disk|stopped|salvage|wrapped|resume|verify|copies|report.py|pictures'}
meson test -C "$build" --print-errorlogs --no-rebuild --timeout-multiplier 4 \
	$(meson test -C "$build" --list --suite unit --suite cli 2>/dev/null | sed -n 's/.* \/ //p' | grep -Ev "$slow")
