#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# list.sh - the directory is the registry: lists the files of one room, sorted, for meson
#   list.sh DIR GLOB...                      prints names
#   list.sh --guard OUT DIR 'GLOB...' NAMES  fails when DIR no longer holds just NAMES (a file came or went since configure)
set -eu
export LC_ALL=C
if [ "$1" = --guard ]; then
	out=$2; dir=$3; globs=$4; shift 4
	set -f # they are of that folder, not of the one that this runs in
	now=$(sh "$0" "$dir" $globs | tr '\n' ' ')
	if [ "$now" != "$*${*:+ }" ]; then
		echo "files came to or went from $dir: run 'make' (or meson setup --reconfigure)" >&2
		exit 1
	fi
	echo "/* $dir is as configured */" > "$out"
	exit 0
fi
[ -d "$1" ] || exit 0 # a room without files
cd "$1"; shift
set -f; globs=$*; set +f
for f in $globs; do
	if [ -f "$f" ]; then echo "$f"; fi
done | sort
