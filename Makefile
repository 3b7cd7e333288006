# SPDX-License-Identifier: Apache-2.0
# Two commands: `make demo` and `make check`. Everything else is for people who work on the project.
BUILD ?= build
export LC_ALL = C.UTF-8
export BUILD

.PHONY: all setup demo check check-all bench fuzz format clean
all: setup
	ninja -C $(BUILD)

# Installs what is missing (Debian), then configures; a new or removed source file reconfigures.
setup:
	@sh src/setup.sh $(BUILD)

demo: setup
	ninja -C $(BUILD) src/cli/pagetrail
	@sh src/demo.sh $(BUILD)/src/cli/pagetrail

# Each test once: unit tests, and those with hostile input, under sanitizers. What repeats something with other random numbers
# repeats it less (PAGETRAIL_SMALL). `make check-all` leaves nothing out.
check: setup
	@sh tests/check.sh $(BUILD)
	@sh tests/sanitize.sh

check-all: check
	@sh tests/check-all.sh $(BUILD)

bench: all
	@sh tests/bench/setup.sh
	@python3 tests/bench/bench.py $(BUILD)/src/cli/pagetrail $(BENCH)

fuzz: setup
	@sh tests/fuzz/run.sh

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

clean:
	rm -rf $(BUILD) $(BUILD)-*
