# Every target sets up what it needs in $(VENV). `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV ?= .venv
SANITIZED ?= .venv-sanitize
BIN := $(VENV)/bin
NATIVE := $(wildcard native/*/*.?pp native/*/*/*.?pp)
CPP_TESTS := $(wildcard tests/cpp/*.?pp)
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(NATIVE)
PIP_INSTALL := install --quiet --disable-pip-version-check
CLANG ?= clang++
HAVE_CLANG := $(shell command -v $(CLANG) 2>/dev/null)
CLANG_BUILD := build/$(notdir $(CLANG))

MINGW ?= x86_64-w64-mingw32-g++-posix
AARCH64 ?= aarch64-linux-gnu-g++
QEMU_AARCH64 ?= qemu-aarch64
WINE ?= wine

.PHONY: docs demo test test-slow test-ecosystem test-cpp test-aarch64 mingw test-windows check-dist check clang stub bench bench-compare papers soak sanitize clean

demo: $(VENV)/.cli
	$(BIN)/dormie demo

# A process for each core, each with one thread for linear algebra: more would stand in each other's way.
IN_PARALLEL := --numprocesses auto --dist worksteal
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

test: check
	$(ONE_THREAD) $(BIN)/python -m pytest $(IN_PARALLEL)

# What takes too long for every run: big sizes, simulations of the statistical guarantees, soak and sanitizers.
test-slow: $(VENV)/.test soak sanitize
	$(ONE_THREAD) $(BIN)/python -m pytest $(IN_PARALLEL) -m slow

# Inside other engines, each started here: two Dask workers, local Spark, local Ray. Spark needs Java, from 17 on. Reports in
# headless Chromium.
test-ecosystem: $(VENV)/.ecosystem
	@java -version >/dev/null 2>&1 || { echo "$@ needs Java for Spark: apt-get install default-jre-headless"; exit 1; }
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ echo "$@ needs a browser: apt-get install chromium chromium-driver"; exit 1; }
	$(ONE_THREAD) $(BIN)/python -m pytest tests/ecosystem -m ecosystem

check: $(VENV)/.test clang
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(NATIVE) $(CPP_TESTS)
	$(BIN)/mypy
	$(BIN)/lint-imports

# The native core stays portable: where Clang is installed, it compiles every source for every instruction set.
clang: $(if $(HAVE_CLANG),$(CLANG_BUILD)/.built)
	$(if $(HAVE_CLANG),,@echo "$(CLANG) is not installed: the native core was not compiled with Clang")

# The native core without Python, against real numbers that the oracles in Python have written: with every instruction
# set of this computer, under an emulator of aarch64, and, compiled by MinGW, under Wine.
CASES := build/cpp/cases.txt
$(CASES): $(VENV)/.test tests/cpp/write_cases.py
	mkdir -p $(@D)
	$(BIN)/python -m tests.cpp.write_cases $@

# $(call without_python,FOLDER,COMPILER,OPTIONS)
define without_python
	$(BIN)/python -m cmake -S . -B $(1) -DCMAKE_CXX_COMPILER=$(2) -DCMAKE_CXX_FLAGS=-Werror -DDORMIE_PYTHON=OFF \
		-DDORMIE_TESTS=ON $(3)
	$(BIN)/python -m cmake --build $(1) --target certified --parallel "$$(getconf _NPROCESSORS_ONLN)"
endef
# $(call where_there_is,TOOLS,GOAL): the goal, or none where a tool is missing; and what to say then.
missing = $(strip $(foreach tool,$(1),$(if $(shell command -v $(tool)),,$(tool))))
where_there_is = $(if $(call missing,$(1)),,$(2))
say_what_is_missing = $(if $(call missing,$(1)),@echo "$@ is skipped: there is no $(call missing,$(1))")

test-cpp: $(CASES)
	$(call without_python,build/cpp/native,$(CXX))
	for isa in $$($(BIN)/python -c "import dormie; print(*dormie.build_info()['instruction_sets'])"); do \
		DORMIE_ISA=$$isa build/cpp/native/tests/cpp/certified $(CASES) || exit 1; done

test-aarch64: $(call where_there_is,$(AARCH64) $(QEMU_AARCH64),build/cpp/.aarch64)
	$(call say_what_is_missing,$(AARCH64) $(QEMU_AARCH64))
build/cpp/.aarch64: $(CASES) $(NATIVE) $(CPP_TESTS)
	$(call without_python,build/cpp/aarch64,$(AARCH64),-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64)
	$(QEMU_AARCH64) build/cpp/aarch64/tests/cpp/certified $(CASES)
	touch $@

mingw: $(call where_there_is,$(MINGW),build/cpp/.mingw)
	$(call say_what_is_missing,$(MINGW))
build/cpp/.mingw: $(VENV)/.test $(NATIVE) $(CPP_TESTS)
	$(call without_python,build/cpp/mingw,$(MINGW),-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64)
	touch $@

test-windows: $(call where_there_is,$(MINGW) $(WINE),build/cpp/.windows)
	$(call say_what_is_missing,$(MINGW) $(WINE))
build/cpp/.windows: build/cpp/.mingw $(CASES)
	WINEDEBUG=-all WINEPREFIX=$(abspath $(@D))/wine $(WINE) build/cpp/mingw/tests/cpp/certified.exe $(CASES)
	touch $@

# The types of the native module, from the module itself; a test compares the two.
stub: $(VENV)/.test
	$(BIN)/python -m nanobind.stubgen --quiet --module dormie.numerics._native \
		--output-file src/dormie/numerics/_native.pyi

# What it finds replaces the lines of these cases on the page of benchmarks; build/bench.png is the heat map.
bench: $(VENV)/.bench
	mkdir -p build
	$(BIN)/dormie bench digits ijcnn1 a9a covtype mnist --json > build/bench.json
	$(BIN)/python -m dormie.lab.bench.page build/bench.json docs/benchmarks.md

# The commits REF and HEAD, without what is not committed: built, installed, and timed in turns on the same rows.
# ON="digits mnist" names the cases.
REF ?= HEAD~1
bench-compare: $(VENV)/.cli
	$(BIN)/python -m dormie.lab.bench.versions $(REF) $(or $(ON),digits)

papers: $(VENV)/.plot
	$(BIN)/dormie papers muller2004 decoste2002
	$(BIN)/dormie papers decoste2003 ukkonen2010 --small

# Ten million rows near the decision boundary of random machines and trained models: every answer is right, and the
# model's own. And a hundred thousand forged plan files: each is refused, or works.
soak: $(VENV)/.test
	$(BIN)/python -m tests.slow.soak
	$(BIN)/python -m tests.slow.fuzz_plan_files 100_000

# The test suite, rows near the decision boundary and forged plan files, on a native core built with the address and
# undefined-behaviour sanitizers. GCC 13 misplaces vectors of 64 bytes on the stack that finds uses after return.
UNDER_SANITIZERS = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 $(SANITIZED)/bin/python
sanitize: $(SANITIZED)/.test
	$(ONE_THREAD) $(UNDER_SANITIZERS) -m pytest $(IN_PARALLEL) -m "not clean_process and not ecosystem"
	$(UNDER_SANITIZERS) -m tests.slow.soak 200_000
	$(UNDER_SANITIZERS) -m tests.slow.fuzz_plan_files 20_000

# The documentation, offline, with warnings as errors: build/docs/index.html.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

# What a release publishes: built, looked at, installed into empty environments of every Python there is, or of PYTHONS.
check-dist: $(VENV)/.dist
	$(BIN)/python -m tests.dist.check build/release $(PYTHONS)

clean:
	rm -rf build dist $(VENV) $(SANITIZED) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.%: $(VENV)/.venv $(BUILD_INPUTS)
	DORMIE_REQUIRE_NATIVE=1 $(BIN)/pip $(PIP_INSTALL) --editable ".[$*]"
	touch $@

$(SANITIZED)/.test: $(SANITIZED)/.venv $(BUILD_INPUTS) $(wildcard src/dormie/*.py src/dormie/*/*.py src/dormie/*/*/*.py src/dormie/*/*/*/*.py)
	DORMIE_REQUIRE_NATIVE=1 $(SANITIZED)/bin/pip $(PIP_INSTALL) --config-settings=cmake.define.DORMIE_SANITIZE=ON \
		--config-settings=build-dir=build/sanitize ".[test]"
	touch $@

# Any warning is an error, except of deprecation: newer Clangs find one in the headers of older C++ libraries.
$(CLANG_BUILD)/.built: $(VENV)/.test
	$(BIN)/python -m cmake -S . -B $(@D) -DCMAKE_CXX_COMPILER=$(CLANG) \
		-DCMAKE_CXX_FLAGS="-Werror -Wno-deprecated-declarations" -DPython_EXECUTABLE=$(abspath $(BIN))/python \
		-Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	$(BIN)/python -m cmake --build $(@D) --parallel "$$(getconf _NPROCESSORS_ONLN)"
	touch $@

$(VENV)/.venv $(SANITIZED)/.venv: %/.venv:
	$(PYTHON) -m venv $*
	touch $@
