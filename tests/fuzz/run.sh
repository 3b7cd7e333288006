#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SECONDS] - libFuzzer over every target, SECONDS each (default 60); findings stay in build-fuzz/
set -eu
seconds=${1:-60}
build=build-fuzz
CC=clang CXX=clang++ MESON_ARGS="-Db_sanitize=address,undefined -Db_lundef=false \
	-Dc_args=-fsanitize=fuzzer-no-link -Dcpp_args=-fsanitize=fuzzer-no-link" sh src/setup.sh "$build"
ninja -C "$build"
for target in parser wrapper column rows codec text map policy xml; do
	corpus=$build/corpus-$target
	mkdir -p "$corpus"
	if [ "$target" = parser ] || [ "$target" = wrapper ]; then # the samples are the seeds; the first byte chooses
		for f in tests/parsers/*/*.log; do
			{ printf '\001'; head -c 65536 "$f"; } > "$corpus/$(echo "$f" | tr / _)"
		done
	fi
	if [ "$target" = policy ]; then # its first byte chooses too
		for f in tests/fuzz/policy/* src/policies/*.json; do
			{ printf '\001'; cat "$f"; } > "$corpus/$(basename "$f")"
		done
	fi
	if [ "$target" = map ]; then
		cp tests/fuzz/map/*.json "$corpus/"
	fi
	if [ "$target" = xml ]; then
		cp tests/parsers/sbom/xml_*.log "$corpus/"
	fi
	echo "== $target, $seconds s"
	"$build/tests/fuzz-$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=65536 \
		-artifact_prefix="$build/$target-" -print_final_stats=1 "$corpus" 2>&1 | tail -n 4
done
