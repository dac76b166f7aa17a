# `make` alone lists the targets. Each target does its own set-up; a second call only redoes what changed.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Lists and installs what no lock file can install.
SYSTEM := requirements/system.sh
# The newest Python that is there; `make PYTHON=python3.12` chooses another.
PYTHON ?= $(shell $(SYSTEM) python)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# uv takes a third of pip's time. It does not read pip's configuration, so pip takes its place where only that names an index.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
UV_INSTALL := UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip install --quiet --system-certs --compile-bytecode --python $(BIN)/python \
  --require-hashes
# The extension module is the same for every Python from 3.11 on and is never linked with libpython.
export PYO3_BUILD_EXTENSION_MODULE := 1
export PYO3_PYTHON := $(abspath $(BIN)/python)

# Otherwise cargo warns that it cannot open the job server which make names in MAKEFLAGS.
export CARGO_MAKEFLAGS :=

# Another environment that happens to be active must not be built into.
export VIRTUAL_ENV := $(abspath $(VENV))
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH

# Programs that only some targets need.
TOOLS := target/tools
NS3 := /usr/include/ns3/core-module.h
SIMGRID := /usr/include/simgrid/version.h

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-17s%s\n", $$1, $$2 }'

.PHONY: build
build: $(STAMPS)/build ## Build everything into .venv; then .venv/bin/weft works

.PHONY: dev
dev: $(STAMPS)/run ## Rebuild within seconds while developing; the result runs slower than that of `make build`
	@PIP_QUIET=1 $(BIN)/maturin develop --profile development --locked --quiet
	@rm -f $(STAMPS)/build

.PHONY: demo
demo: build ## Compare multipath with one path, in a fabric and under incast; the page is out/demo/index.html
	@rm -rf out/demo && mkdir -p out
	$(BIN)/weft demo --out out/demo

.PHONY: test
test: ## Run the tests, Rust and Python; those that need root or a missing system package are skipped by name
	@$(SYSTEM) list base linux emulator ns3 browser tshark valgrind
	@[ "$$(id -u)" = 0 ] || echo "Skipped: tests on this machine's kernel, because they need root"
	@$(MAKE) --no-print-directory --jobs=3 ready-to-test
	@$(MAKE) --no-print-directory --jobs=3 test-rust test-this-kernel test-debians-kernels
	$(PYTEST) --numprocesses auto --dist loadgroup -m 'not kernel'
	@$(MAKE) --no-print-directory test-shares
	$(PYTEST) -m kernel

# Within 90 seconds: unit tests of the crates that differ from BASE, the test files that differ, and Python tests that run nothing long.
BASE ?= main
CHANGED = $(shell git diff --name-only $$(git merge-base HEAD $(BASE)); git ls-files --others --exclude-standard)
CHANGED_CRATES = $(filter-out weft-py,$(sort $(foreach file,$(filter crates/%,$(CHANGED)),$(word 2,$(subst /, ,$(file))))))
FAST_TESTS := $(addprefix tests/test_,$(addsuffix .py,contributor_pages prose nightly messages stats summary slowdown interop reordering))
.PHONY: test-fast
test-fast: $(STAMPS)/checks ## Test within 90 seconds what differs from BASE=main: crates, test files; and the Python tests that are fast
	$(if $(CHANGED_CRATES),cargo test --locked --lib $(addprefix -p ,$(CHANGED_CRATES)))
	$(PYTEST) --quiet --numprocesses auto -m 'not kernel' $(sort $(FAST_TESTS) $(wildcard $(filter tests/test_%.py,$(CHANGED))))

# The extension module has no tests in Rust, but `--lib` would build it. The selection is the same each time, as features of
# dependencies differ otherwise and they would be compiled again.
CARGO_TEST = cargo test --locked --workspace --exclude weft-py $(WITHOUT_WEFTD)
tests_of = $(basename $(notdir $(wildcard $(1)/tests/*.rs))) $(notdir $(patsubst %/main.rs,%,$(wildcard $(1)/tests/*/main.rs)))
TESTS_ON_KERNELS := $(foreach crate,weft-kernel weftd,$(call tests_of,crates/$(crate)))
OTHER_TESTS := $(sort $(filter-out $(TESTS_ON_KERNELS),$(call tests_of,crates/*)))

# Tests on this machine's kernel mostly wait. Meanwhile Debian's kernels, in emulation, and all other tests give way to them.
.PHONY: test-rust test-this-kernel test-debians-kernels test-shares
test-rust: rust-tests
	nice $(CARGO_TEST) --lib --bins $(addprefix --test=,$(OTHER_TESTS))
	nice $(CARGO_TEST) --doc
test-this-kernel: rust-tests $(STAMPS)/emulator
	$(WITH_WEFTD) $(CARGO_TEST) $(addprefix --test=,$(TESTS_ON_KERNELS)) -- --skip debian:: --skip coexistence::
test-debians-kernels: rust-tests $(STAMPS)/emulator
	$(WITH_WEFTD) $(CARGO_TEST) --test functional debian::
# These measure, so nothing may run at the same time.
test-shares: rust-tests $(STAMPS)/emulator
	$(WITH_WEFTD) $(CARGO_TEST) --test functional coexistence:: -- --test-threads=1

PYTEST := WEFTD=$(abspath target/debug/weftd) $(BIN)/python -m pytest

# Side by side: some of the release build is one thread's, and what is installed needs a network more than a core.
.PHONY: ready-to-test rust-tests
ready-to-test: build $(STAMPS)/wheel rust-tests optional-linux $(STAMPS)/browser $(STAMPS)/tshark $(STAMPS)/valgrind $(STAMPS)/emulator $(STAMPS)/ns3 $(STAMPS)/checks
rust-tests: optional-linux $(STAMPS)/venv
	$(CARGO_TEST) --no-run

WEFTD_CRATES := weft-kernel weftd weft-test-support weft-testbed
# Where weftd cannot be built, all else is tested and checked. Known when the recipe runs, after `optional-linux`.
WITHOUT_WEFTD = $(shell [ -e $(STAMPS)/linux ] || echo $(addprefix --exclude ,$(WEFTD_CRATES)))
NO_WEFTD_TESTS = $(if $(filter required,$(WEFT_KERNEL_TESTS)),{ echo "tests of weftd cannot run because it cannot be built; \
  set WEFT_KERNEL_TESTS to the reason why they may be skipped" >&2; exit 1; },echo "Skipped: tests of weftd: it cannot be built")
WITH_WEFTD = $(if $(WITHOUT_WEFTD),@$(NO_WEFTD_TESTS) ||)
.PHONY: optional-linux
optional-linux: | $(STAMPS)/system
	@[ -e $(STAMPS)/linux ] || { $(SYSTEM) install linux && touch $(STAMPS)/linux; } || \
	  echo "Skipped: weftd, because it cannot be built without these packages" >&2

WHEELS := target/wheels
.PHONY: nightly
nightly: $(STAMPS)/checks ## Run the long checks, also those with random specs of this day, and print one table (hours, root)
	$(BIN)/python -m tests.nightly

.PHONY: package
package: $(STAMPS)/zig ## Pack the Python package, below target/wheels: a wheel for any Python from 3.11 on, and the sources
	$(call PACK,$(FOR_OLD_GLIBC))

.PHONY: test-sdist
test-sdist: package $(STAMPS)/checks ## Build the wheel again from the packed sources, in an environment of its own (minutes)
	WEFT_BUILD_SDIST=1 $(BIN)/python -m pytest tests/test_package.py

.PHONY: test-versions
test-versions: package $(STAMPS)/checks ## Run the commands with the oldest and newest versions of packages, and old readers on tables (minutes)
	WEFT_VERSIONS=1 $(BIN)/python -m pytest --numprocesses auto tests/test_versions.py

# `make container CONTAINER="sudo docker"` chooses another program.
CONTAINER ?= $(notdir $(or $(shell command -v podman || command -v buildah || command -v docker),podman))
.PHONY: container test-container
container: package ## Build the container `weft`; OPTIONS="--isolation chroot" goes to podman, buildah or docker
	$(CONTAINER) build $(OPTIONS) --file Containerfile --tag weft .
test-container: package ## Build it and run `weft demo` in it
	$(CONTAINER) build $(OPTIONS) --file Containerfile --target test .

.PHONY: relations
relations: build $(STAMPS)/checks ## Check relations between runs on random specs, CASES=10000 of them from FIRST=1 on
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1) $(BIN)/python -m pytest --numprocesses auto tests/test_relations.py

.PHONY: graphs
graphs: build $(STAMPS)/checks ## Run random graphs of messages over all transports, CASES=10000 of them from FIRST=1 on
	CASES=$(or $(CASES),10000) FIRST=$(or $(FIRST),1) $(BIN)/python -m pytest --numprocesses auto tests/collectives/test_random_graphs.py

# Commit first: the stored documents name the commit of their run.
.PHONY: headlines
headlines: build $(STAMPS)/checks ## Rerun at full size the figures behind `weft reproduce --headlines`, and store them: 2 to 4 hours
	$(BIN)/python python/generate_claims.py --headlines target/headlines

.PHONY: causes
causes: build $(STAMPS)/checks ## Repeat the runs that prove causes of failing claims, CAUSES="amp/fig04 opn" or all
	$(BIN)/python -m weft_papers.causes $(CAUSES)

.PHONY: closed-forms
closed-forms: build $(STAMPS)/checks ## Compare collective operations with closed forms for all numbers of ranks to RANKS=1024, and with htsim (hours)
	WEFT_SHIFTS=512 $(BIN)/python -m pytest tests/collectives/test_shifts.py
	WEFT_CLOSED_FORMS=$(or $(RANKS),1024) $(BIN)/python -m pytest --numprocesses auto tests/collectives/test_closed_forms.py

.PHONY: site
site: build $(STAMPS)/checks ## Make the documentation site, target/site/index.html; `make test` leaves the gallery's plots
	$(BIN)/mkdocs build --strict --quiet

.PHONY: update-snapshots
update-snapshots: build $(STAMPS)/checks ## Update the snapshots of the figures; review the difference as a change of results
	WEFT_SNAPSHOTS=renew $(BIN)/python -m pytest tests/papers/test_quick.py

.PHONY: build-linux
build-linux: $(STAMPS)/linux $(STAMPS)/venv ## Build weftd, multipath congestion control for this kernel
	cargo build --release --locked -p weftd -p weft-testbed
	@ln -sfn $(abspath target/release/weftd) $(BIN)/weftd

.PHONY: test-linux
test-linux: $(STAMPS)/linux $(STAMPS)/emulator ## Test weftd on this kernel (root); part of `make test`
	cargo test --locked -p weft-kernel -p weftd -p weft-testbed -- --nocapture --skip coexistence::
	cargo test --locked -p weft-kernel --test functional coexistence:: -- --nocapture --test-threads=1

# Kernels of Debian from 6.1 to the newest, with each mode of ECN. They run in emulation, one after the other.
.PHONY: test-all-kernels
test-all-kernels: $(STAMPS)/linux $(STAMPS)/emulator ## Test weftd on all kernels of Debian, with each mode of ECN (root, an hour)
	WEFT_ECN_MODES="1 2 3 4 5" cargo test --locked -p weft-kernel --test functional debian:: -- --include-ignored --nocapture --test-threads=1

.PHONY: table-by-kernel
table-by-kernel: $(STAMPS)/linux $(STAMPS)/emulator ## Print what works on this kernel and on Debian's, and how well, KERNELS="this 7" or all (root, an hour)
	cargo test --locked -p weft-kernel --test functional table_by_kernel -- --ignored --nocapture

.PHONY: test-coupling
test-coupling: $(STAMPS)/linux ## Compare the coupled algorithms with RFC 6356's goals and CoNEXT 2012's scenarios on this kernel (root, an hour)
	cargo test --locked -p weftd --test daemon -- --ignored --nocapture --test-threads=1 coupling::

.PHONY: test-failover
test-failover: $(STAMPS)/linux ## Compare how long a failed path stops a connection with weftd and with Linux alone, RUNS=20 each (root, 20 minutes)
	RUNS=$(or $(RUNS),20) cargo test --locked -p weftd --test daemon -- --ignored --nocapture a_failed_path_costs

.PHONY: measure-linux
measure-linux: $(STAMPS)/linux $(STAMPS)/emulator ## Measure what weftd costs and how soon it acts (root, a quiet machine)
	cargo test --release --locked -p weft-kernel -p weftd -- --ignored --nocapture --test-threads=1 --skip soak

.PHONY: soak-linux
soak-linux: $(STAMPS)/linux ## Run weftd under random faults for MINUTES=5; the same SEED=1 gives the same faults (root)
	MINUTES=$(or $(MINUTES),5) SEED=$(or $(SEED),1) \
	  cargo test --locked -p weftd --test daemon -- --ignored --nocapture soak

.PHONY: deb
deb: $(STAMPS)/linux $(TOOLS)/bin/cargo-deb to-pack ## Pack weftd for Debian, below target/debian
	PATH=$(abspath $(TOOLS)/bin):$$PATH cargo deb --locked --no-build --strip -p weftd

.PHONY: rpm
rpm: $(STAMPS)/linux $(TOOLS)/bin/cargo-generate-rpm to-pack ## Pack weftd for RPM's distributions, below target/generate-rpm
	PATH=$(abspath $(TOOLS)/bin):$$PATH cargo generate-rpm -p crates/weftd

# weftd, stripped, with its manual pages and completions.
.PHONY: to-pack
to-pack:
	cargo build --release --locked -p weftd -p weft-testbed
	rm -rf target/packaging && target/release/weftd documents target/packaging
	for program in weftd weft-testbed; do strip -o target/packaging/$$program target/release/$$program; done

.PHONY: test-package
test-package: deb $(STAMPS)/package ## Install, run under systemd and remove that package, in a Debian of its own (root)
	WEFTD_DEB=$$(ls -t $(abspath target/debian)/weftd_*.deb | head -1) \
	  cargo test --locked -p weftd --test package -- --nocapture --test-threads=1

.PHONY: bench-peers
bench-peers: build $(STAMPS)/ns3 $(STAMPS)/simgrid ## Run the same work here and in ns-3, SimGrid and HTSIM=FILE, the UEC's simulator that you built
	@if [ -e $(NS3) ]; then $(MAKE) --no-print-directory target/ns3/permutation; \
	else echo "Skipped: the comparison with ns-3, because libns3-dev is not installed"; fi
	$(BIN)/python -m tests.speed.peers $(if $(HTSIM),--htsim $(HTSIM)) $$([ ! -e target/ns3/permutation ] || echo --ns3 target/ns3/permutation)
	@if [ -e $(SIMGRID) ]; then $(MAKE) --no-print-directory target/simgrid/driver && $(BIN)/python -m tests.simgrid.compare target/simgrid/driver; \
	else echo "Skipped: the comparison with SimGrid, because libsimgrid-dev is not installed"; fi

.PHONY: validate
validate: build $(STAMPS)/ns3 ## Run small experiments here and in ns-3, side by side (research/comparisons.md)
	@if [ -e $(NS3) ]; then $(MAKE) --no-print-directory target/ns3/driver target/ns3/red && \
	$(BIN)/python tests/ns3/compare.py target/ns3/driver && $(BIN)/python -m tests.ns3.red target/ns3/red; \
	else echo "Skipped: the comparison with ns-3, because libns3-dev is not installed"; fi

.PHONY: validate-flow
validate-flow: build ## Compare the flow level with published results, an independent solver and the packet level (hours)
	$(BIN)/python -m tests.published.comparisons
	CASES=$(or $(NETWORKS),1000) $(BIN)/python -m tests.levels.equilibria
	CASES=$(or $(RUNS),10000) $(BIN)/python -m tests.levels.capacities
	$(BIN)/python -m tests.levels.compare

.PHONY: conformance
conformance: optional-linux $(STAMPS)/checks ## Play public scripts on Weft and on this kernel, side by side, and on ns-3 (root); UPDATE=yes renews the page
	@mkdir -p target
	WEFT_CONFORMANCE=$(abspath target/conformance.tsv) $(CARGO_TEST) --lib --quiet rules::conformance > target/conformance.log 2>&1 || \
	  { cat target/conformance.log; [ -n "$(UPDATE)" ]; }
	$(if $(wildcard $(NS3)),@$(MAKE) --no-print-directory target/ns3/script,@echo "Skipped: scripts on ns-3, because libns3-dev is not installed")
	$(BIN)/python -m tests.conformance.compare target/conformance.tsv $(if $(wildcard $(NS3)),--ns3 target/ns3/script) $(if $(UPDATE),--update)

.PHONY: mutants
mutants: $(TOOLS)/bin/cargo-mutants $(STAMPS)/checks ## Make SAMPLE=40 changes each of windows, recovery, paths, ports and solvers; count what tests find
	PATH=$(abspath $(TOOLS)/bin):$$PATH nice $(BIN)/python -m tests.conformance.mutants --sample $(or $(SAMPLE),40)

# Not by pkg-config: ns-3's files there name libraries that Debian's package does not need.
COMPILE_FOR_NS3 = mkdir -p $(@D) && g++ -O2 -std=c++17 -Wall -Wextra $< -o $@ \
  $(addprefix -lns3-,core network internet point-to-point applications traffic-control)
target/ns3/%: tests/ns3/%.cc
	$(COMPILE_FOR_NS3)
target/ns3/%: tests/speed/%.cc
	$(COMPILE_FOR_NS3)

.PHONY: pictures
pictures: build $(STAMPS)/checks ## Draw the pictures in docs/pictures from runs; review them
	$(BIN)/python python/draw_pictures.py

.PHONY: update-guides
update-guides: build $(STAMPS)/checks ## Update the outputs in the tutorial and the how-to pages; review the difference
	WEFT_SNAPSHOTS=renew $(BIN)/python -m pytest tests/test_guides.py

.PHONY: fuzz
fuzz: ## Simulate 10,000 random experiments with random events, each with one and with three threads
	WEFT_ANY_RUNS=$(or $(RUNS),10000) cargo test --locked -p weft-packet --test simulation any_run

.PHONY: exactness
exactness: ## Compare the packet engine with the reference simulator on NETWORKS=100000 random networks (minutes)
	WEFT_NETWORKS=$(or $(NETWORKS),100000) cargo test --locked -p weft-engine --lib exactness

.PHONY: bench
bench: build $(STAMPS)/simgrid ## Measure packet-hops a second with one thread and with two, and max-min fair rates beside SimGrid
	$(BIN)/weft bench --threads 1
	$(BIN)/weft bench --threads 2
	@if [ -e $(SIMGRID) ]; then $(MAKE) --no-print-directory target/simgrid/driver && $(BIN)/python -m tests.simgrid.compare target/simgrid/driver; \
	else echo "Skipped: the comparison with SimGrid, as libsimgrid-dev is not there"; fi

# Debian's package has the library without its solver's headers, which are in the sources of the same version on PyPI.
# Of the configuration that these ask for nothing is used.
target/simgrid/driver: tests/simgrid/driver.cc
	@mkdir -p $(@D)
	version=$$(sed -n 's/.*SIMGRID_VERSION_STRING ".* \([0-9.]*\)".*/\1/p' $(SIMGRID)) && \
	cd $(@D) && { [ -e simgrid-$$version.tar.gz ] || \
	  $(abspath $(BIN)/python) -m pip download --quiet --no-deps --no-binary simgrid simgrid==$$version; } && \
	tar xzf simgrid-$$version.tar.gz --wildcards '*/src/kernel/lmm/*.hpp' '*/src/surf/surf_interface.hpp' && \
	touch simgrid-$$version/src/internal_config.h && \
	g++ -O2 -std=c++17 -Wall -Wextra $(abspath $<) -isystem simgrid-$$version -o driver -lsimgrid

# Harper's grammar rules that do not fit pages full of abbreviations, units, symbols and titles in sentence case.
NOT_FOR_PAGES := SpellCheck,SentenceCapitalization,UseTitleCase,SplitWords,MergeWords,ExpandTimeShorthands,ExpandMemoryShorthands,$\
ExpandMinimum,ExpandControl,OxfordComma,OrthographicConsistency,Overall,MassNouns,AnA,QuantifierNumeralConflict,DiscourseMarkers,$\
DisjointPrefixes,MissingPreposition,UseEllipsisCharacter,MissingTo,CompoundNouns,OutOfDate,OneOfTheSingular,WrongNegative,CommaFixes,$\
PhrasalVerbAsCompoundNoun,ThatThan,ToTwoToo,ThenThan,LetsConfusion,CondenseAllThe,NumericRangeEnDash,TheHowWhy,SingleBe,$\
SimplePastToPastParticiple,InflectedVerbAfterTo,ItsContraction,LongSentences
# Entries of the lab notebook and the protocol of Warp keep their words; the page of scripts has their names.
PAGES = $(filter-out research/notebook/% research/warp/protocol.md docs/validation/conformance.md,$\
  $(wildcard README.md CHANGELOG.md CONTRIBUTING.md) $(shell find docs research -name '*.md'))
HARPER := RUST_BACKTRACE=0 $(BIN)/harper lint --quiet --format compact --dialect gb

.PHONY: prose
prose: $(STAMPS)/checks ## Check the grammar of the pages, and list sentences of more than 40 words, which is advice
	@$(HARPER) --only LongSentences $(PAGES) 2> /dev/null | sed 's/^/advice: /' || true
	@$(HARPER) --ignore $(NOT_FOR_PAGES) $(PAGES)

.PHONY: lint
lint: build $(STAMPS)/checks optional-linux ## Check formatting, clippy, ruff, types and the grammar of pages
	cargo fmt --all --check
	cargo clippy --locked --workspace $(WITHOUT_WEFTD) --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md Makefile crates docs examples python research templates tests
	@$(MAKE) --no-print-directory prose

# The reference comes first, because it refuses a kind that the pages cannot describe before it writes anything.
.PHONY: generate
generate: $(STAMPS)/checks ## Regenerate python/weft/spec.py, the manual pages and the reference in docs
	@$(MAKE) --no-print-directory --question build 2>/dev/null || $(MAKE) --no-print-directory dev
	$(BIN)/python python/generate_reference.py
	$(BIN)/python python/generate_models.py
	$(BIN)/python python/generate_manual.py

.PHONY: update-locks
update-locks: $(STAMPS)/checks ## Update the pinned versions of Python packages
	@compile() { $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url "$$@"; }; \
	compile --group install -o requirements/uv.lock; \
	compile --group package -o requirements/package.lock; \
	compile pyproject.toml --extra all --group build -o requirements/run.lock; \
	compile pyproject.toml --extra all --group build --group checks -c requirements/run.lock -o requirements/checks.lock

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) target out python/weft/_weft*.so .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find python tests -name __pycache__ -prune -exec rm -rf {} +

# What no lock file can install: Debian packages and the Rust toolchain.
$(STAMPS)/system:
	@$(SYSTEM) install base
	@command -v cargo >/dev/null || { echo "Weft needs a Rust toolchain, 1.90 or newer, with cargo on PATH: for example by rustup" >&2; exit 1; }
	@mkdir -p $(@D) && touch $@

# What weftd is built with.
$(STAMPS)/linux: | $(STAMPS)/system
	@$(SYSTEM) install linux
	@touch $@

# For tests of weftd, and for comparisons, pages and traces. All are skipped without them.
OPTIONAL := $(addprefix $(STAMPS)/,emulator package ns3 simgrid browser tshark valgrind)
$(STAMPS)/package: $(STAMPS)/emulator
$(OPTIONAL): | $(STAMPS)/system
	@$(SYSTEM) install $(@F) && touch $@ || true

$(TOOLS)/bin/cargo-generate-rpm: | $(STAMPS)/system
	cargo install --locked --quiet --root $(TOOLS) cargo-generate-rpm@0.21.1

$(TOOLS)/bin/cargo-mutants: | $(STAMPS)/system
	cargo install --locked --quiet --root $(TOOLS) cargo-mutants@27.1.0

$(TOOLS)/bin/cargo-deb: | $(STAMPS)/system
	cargo install --locked --quiet --root $(TOOLS) cargo-deb@3.8.0

$(STAMPS)/venv: | $(STAMPS)/system
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(STAMPS)/run: requirements/run.lock requirements/uv.lock $(STAMPS)/venv
	@echo "Installing Python packages"
	@$(PIP_INSTALL) -r requirements/uv.lock
	@$(UV_INSTALL) -r $< || $(PIP_INSTALL) -r $<
	@touch $@

$(STAMPS)/checks: requirements/checks.lock $(STAMPS)/run
	@echo "Installing Python packages for tests and checks"
	@$(UV_INSTALL) -r $< || $(PIP_INSTALL) -r $<
	@touch $@

$(STAMPS)/build: pyproject.toml $(RUST_SOURCES) $(STAMPS)/run
	@echo "Compiling the simulator; the first time takes some minutes"
	@PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	@touch $@

# On Linux, Zig links the packed wheel with the oldest glibc of distributions in use, that of RHEL 8, instead of this machine's.
FOR_OLD_GLIBC := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_28)
define PACK
@rm -rf $(WHEELS)
PATH=$(abspath $(BIN)):$$PATH $(BIN)/python python/build_weft.py maturin build --release --locked --quiet $(1) --out $(WHEELS)
PATH=$(abspath $(BIN)):$$PATH $(BIN)/python python/build_weft.py maturin sdist --out $(WHEELS)
endef

# The wheel of `make test` has what `make build` has compiled: Zig would compile everything again.
$(STAMPS)/wheel: $(STAMPS)/build README.md LICENSE $(shell find python -type f -not -name '*.so' -not -path '*/__pycache__/*')
	$(call PACK,)
	@touch $@

$(STAMPS)/zig: requirements/package.lock $(STAMPS)/run
	@echo "Installing Zig, to link the wheel"
	@$(UV_INSTALL) -r $< || $(PIP_INSTALL) -r $<
	@touch $@
