#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# alike.sh PAGETRAIL OTHER - two builds by two compilers rehearse alike: a seed gives the same bytes
set -eu
dir=$(mktemp -d)
mkdir "$dir/one" "$dir/two"
trap 'rm -rf "$dir"' EXIT
for scenario in $("$1" simulate --list | cut -d' ' -f1); do
	"$1" simulate "$dir/one/$scenario" --scenario "$scenario" --seed 1 --requests 50 >/dev/null
	"$2" simulate "$dir/two/$scenario" --scenario "$scenario" --seed 1 --requests 50 >/dev/null
done
diff -rq "$dir/one" "$dir/two" || { echo "$1 and $2 rehearse something else from the same seed" >&2; exit 1; }
