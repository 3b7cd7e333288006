#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-all.sh BUILD - what takes longer than `make check` may
#
# All rounds of all tests, pages in a browser where there is one, the other compiler, the removal test and deploy's over more fleets,
# more bit flips, all command line tests sanitized, fuzzing.
set -eu
build=$1
meson test -C "$build" --print-errorlogs --no-rebuild
CC=clang CXX=clang++ sh src/setup.sh build-clang
ninja -C build-clang
meson test -C build-clang --print-errorlogs --no-rebuild --suite unit
for seed in 11 12 13; do
	PAGETRAIL="$PWD/$build/src/cli/pagetrail" PAGETRAIL_SEED=$seed PAGETRAIL_ROUNDS=4 python3 tests/scenario/removal.py
done
PAGETRAIL="$PWD/$build/src/cli/pagetrail" PAGETRAIL_SEED=100 PAGETRAIL_ROUNDS=30 python3 tests/scenario/deploy.py
PAGETRAIL="$PWD/$build/src/cli/pagetrail" PAGETRAIL_FLIPS=1000 python3 tests/cli/bitflips.py
PAGETRAIL="$PWD/$build/src/cli/pagetrail" python3 tests/cli/killed.py 200 20
PAGETRAIL="$PWD/$build/src/cli/pagetrail" python3 tests/browser/pages.py
sh tests/sanitize.sh 'killed|full_disk'
sh tests/fuzz/run.sh 120
