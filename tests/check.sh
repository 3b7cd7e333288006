#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh BUILD - all tests but those that sanitize.sh runs, in the build that users get
set -eu
. tests/sanitized.sh
PAGETRAIL_SMALL=1 meson test -C "$1" --print-errorlogs $(meson test -C "$1" --list 2>/dev/null | grep ' / ' | grep -Ev "$sanitized" | sed 's/.* \/ //')
