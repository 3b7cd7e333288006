# SPDX-License-Identifier: Apache-2.0
# Which tests `make check` runs under sanitizers (lines of `meson test --list`): where memory is at stake, and input is hostile
sanitized=':unit / |cli/(binary|fuzzed|inputs)\.py'
