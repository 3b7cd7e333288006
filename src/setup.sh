#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh BUILD - installs the Debian packages that are missing, and configures the build folder
set -eu
build=$1
missing=$(for p in $(cat packages.txt); do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || echo "$p"
done)
if [ -n "$missing" ]; then
	echo "installing:" $missing
	sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update -q
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi
# configure when new, and again when a file came or went since
listing=$(find src parsers queries reports tests meson.build -name '*.o' -prune -o -type f -print | LC_ALL=C sort | sha256sum)
if [ ! -f "$build/build.ninja" ]; then
	# some 75 programs are linked: lld takes a third of the time
	if command -v ld.lld >/dev/null; then export CC_LD=lld CXX_LD=lld; fi
	meson setup "$build" ${MESON_ARGS:-}
elif [ "$listing" != "$(cat "$build/listing" 2>/dev/null)" ]; then
	meson setup --reconfigure "$build"
fi
echo "$listing" > "$build/listing"
