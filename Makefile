# Every target sets up what it needs in $(VENV). `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV ?= .venv
SANITIZED ?= .venv-sanitize
BIN := $(VENV)/bin
NATIVE := $(wildcard native/*/*.?pp native/*/*/*.?pp)
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(NATIVE)
PIP_INSTALL := install --quiet --disable-pip-version-check
CLANG ?= clang++
HAVE_CLANG := $(shell command -v $(CLANG) 2>/dev/null)
CLANG_BUILD := build/$(notdir $(CLANG))

.PHONY: demo test test-slow check clang stub bench papers soak sanitize clean

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

check: $(VENV)/.test clang
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(NATIVE)
	$(BIN)/mypy
	$(BIN)/lint-imports

# The native core stays portable: where Clang is installed, it compiles every source for every instruction set.
clang: $(if $(HAVE_CLANG),$(CLANG_BUILD)/.built)
	$(if $(HAVE_CLANG),,@echo "$(CLANG) is not installed: the native core was not compiled with Clang")

# The types of the native module, from the module itself; a test compares the two.
stub: $(VENV)/.test
	$(BIN)/python -m nanobind.stubgen --quiet --module dormie.numerics._native \
		--output-file src/dormie/numerics/_native.pyi

bench: $(VENV)/.bench
	$(BIN)/dormie bench digits ijcnn1 a9a covtype mnist

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
	$(ONE_THREAD) $(UNDER_SANITIZERS) -m pytest $(IN_PARALLEL) -m "not clean_process"
	$(UNDER_SANITIZERS) -m tests.slow.soak 200_000
	$(UNDER_SANITIZERS) -m tests.slow.fuzz_plan_files 20_000

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
