#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh PAGETRAIL - the rehearsal incident from logs to report, in demo/
set -eu
pagetrail=$1
rm -rf demo
mkdir -p demo
say() { printf '\n$ %s\n' "$*" | sed "s|$pagetrail|pagetrail|"; }
run() { say "$@"; "$@"; }
# 1 means "something was found": that is what a rehearsal is for
found() { say "$@"; "$@" || [ $? = 1 ]; }

run "$pagetrail" simulate demo/rehearsal --scenario incident --seed 1
run "$pagetrail" ingest demo/case.ptc demo/rehearsal/logs --title "Rehearsal incident"
found "$pagetrail" scope demo/case.ptc --class C1,C2 --limit 12
found "$pagetrail" exposures demo/case.ptc --kind stale --limit 12
run "$pagetrail" report demo/case.ptc scope --out demo/report
printf '\nThe report is demo/report/scope-1.html; the case is demo/case.ptc.\n'
