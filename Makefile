# Thin: every target is one or two commands that you can also type yourself.
# The build itself is CMake's (CMakeLists.txt, CMakePresets.json).
BUILD ?= build
JOBS  ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help deps clang configure build run demo test bench bench-wheels \
        bench-rocketmq simulate crash kill-clients many-connections asan \
        asan-front tsan fuzz format check-format check-headers tidy install \
        package clean

help:
	@echo "Hourglass: messages that must be delivered later."
	@echo
	@echo "  make build    install what is missing, compile; leaves $(BUILD)/hourglass"
	@echo "  make run      start a server, and see a first message arrive"
	@echo "  make demo     the store alone: a file of messages, each at its millisecond"
	@echo "  make test     build everything and run all tests"
	@echo "  make bench    short benchmarks, a few seconds each"
	@echo "  make bench-wheels  the timing wheels beside others, some minutes"
	@echo "  make bench-rocketmq  beside Apache RocketMQ 5, half an hour; SHORT=1: less"
	@echo "  make simulate power losses and broken disks, SECONDS=60 (SEED=n: one)"
	@echo "  make crash    the real program killed CYCLES=2000 times, and worse"
	@echo "  make kill-clients  official clients, the server killed CYCLES=100 times"
	@echo "  make many-connections  11 000 of them, and consumers that do harm"
	@echo
	@echo "  make asan     unit and model tests under AddressSanitizer and UBSan"
	@echo "  make asan-front  the same for the server, with malformed calls"
	@echo "  make tsan     unit and model tests under ThreadSanitizer"
	@echo "  make fuzz     fuzz every parser, SECONDS=60 each"
	@echo "  make format   clang-format every source file"
	@echo "  make tidy     clang-tidy the files changed since main (ALL=1: all)"
	@echo "  make package  Debian packages, in $(BUILD)/package"
	@echo "  make install  install library and program (PREFIX=/usr/local)"
	@echo "  make clean    remove $(BUILD)*/ and data/"
	@echo
	@echo "Start with 'make run'. README.md says what the program does."

deps:
	@tools/install_dependencies.sh

clang:
	@tools/install_dependencies.sh --clang

$(BUILD)/build.ninja:
	@echo "==> Configuring $(BUILD)/"
	@cmake -S . -B $(BUILD) -G Ninja

configure: deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja

build: configure
	@echo "==> Compiling the program (the first time takes a few minutes)"
	@cmake --build $(BUILD) --parallel $(JOBS) --target hourglass
	@echo "==> Ready: $(BUILD)/hourglass. Next: 'make run', or '$(BUILD)/hourglass --help'."

run: build
	@HOURGLASS=$(BUILD)/hourglass tools/run_server.sh

demo: build
	@HOURGLASS=$(BUILD)/hourglass tools/run_demo.sh

# The last lines are ctest's own.
test: configure
	@echo "==> Compiling everything"
	@cmake --build $(BUILD) --parallel $(JOBS)
	@echo "==> Running the tests"
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

bench: build
	@HOURGLASS=$(BUILD)/hourglass tools/run_bench.sh

# docs/wheels.md explains the figures. JVM=1: Netty's and Kafka's timers, too.
bench-wheels: configure
	@tools/install_dependencies.sh --bench-wheels
	@cmake -S . -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target wheels_bench
	@tools/bench_wheels.sh $(BUILD) $(BUILD)/wheels \
	  small large_wheels large_others rest $(if $(JVM),jvm)
	@tools/plot_wheels.py $(BUILD)/wheels

# docs/benchmarks.md explains the table. Java 17, Maven and Go must be there.
bench-rocketmq: build
	@BUILD=$(BUILD) tools/bench_rocketmq.sh $(if $(SHORT),--short)

# Random histories on a disk that loses power, fails and rots.
SECONDS ?= 60
simulate: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target simulate
	@$(BUILD)/tests/simulate $(if $(SEED),--seed $(SEED),--seconds $(SECONDS)) \
	  --jobs $(JOBS) $(if $(FIRST_SEED),--first-seed $(FIRST_SEED))

# The real program on a real disk: docs/crash-tests.md. Some ten minutes.
CYCLES ?= 2000
crash: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hourglass hourglass_crash
	@BUILD=$(BUILD) tools/run_crash_tests.sh $(CYCLES) $(or $(SEED),1)

kill-clients: build
	@tests/load/kill_clients_test.py --program $(BUILD)/hourglass \
	  --cycles $(if $(filter command line,$(origin CYCLES)),$(CYCLES),100) \
	  --seed $(or $(SEED),1) --work $(BUILD)/load

many-connections: build
	@tests/load/many_connections.py --program $(BUILD)/hourglass \
	  --work $(BUILD)/load

asan asan-front tsan: deps
	@tools/run_sanitizer.sh $@ $(JOBS)

fuzz: deps
	@tools/run_fuzzers.sh $(SECONDS)

format: clang
	@tools/format.sh

check-format: clang
	@tools/format.sh --check

check-headers: configure
	@tools/check_headers.sh $(BUILD) $(JOBS)

tidy: clang
	@tools/tidy.sh $(if $(ALL),--all)

PREFIX ?= /usr/local
install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)
	@echo "==> Installed. In CMake: find_package(Hourglass), link Hourglass::hourglass."

package: build
	@cmake --build $(BUILD) --parallel $(JOBS) --target man
	@cmake --build $(BUILD) --target package
	@echo "==> Made: $$(ls $(BUILD)/package/*.deb)"
	@echo "==> Next, as root: apt install ./$(BUILD)/package/hourglass_*.deb"

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-asan-front $(BUILD)-tsan \
	  $(BUILD)-tidy data
