# The developer's commands. `make demo` and `make test` do all the set-up that they need.

CARGO ?= cargo
TIMED := sh scripts/timed.sh
ONCE := python3 scripts/once.py
# All but the benchmarks, whose harness takes longer to build than any suite. Every suite selects these packages: others would
# have other features of what they depend on, and the libraries would be built again.
TESTED := --workspace --exclude warpweave-benches
WARPWEAVE := target/release/warpweave
DEMO_MODEL := tests/models/resnet_bottleneck
RANDOM_GRAPHS := env PYTHONPATH=.onnxruntime python3 scripts/random_graphs.py
EXPORTERS := env PYTHONPATH=.onnxruntime:models/check python3 models/check/exporters_check.py
CONTROL_FLOW := env PYTHONPATH=.onnxruntime python3 scripts/control_flow_graphs.py
RANDOM_TRAINING := env PYTHONPATH=.onnxruntime python3 scripts/random_training.py
OPERATOR_CASES := env PYTHONPATH=.onnxruntime python3 scripts/operator_cases.py
CONTRIB_CASES := env PYTHONPATH=.onnxruntime python3 scripts/contrib_cases.py
MUTATED := env PYTHONPATH=.onnxruntime python3 scripts/mutated_models.py
HOSTILE := env PYTHONPATH=.onnxruntime python3 scripts/hostile_models.py
SCALING := env PYTHONPATH=.onnxruntime python3 scripts/scaling.py
COMPILE_TIMES := env PYTHONPATH=.onnxruntime python3 scripts/compile_times.py
NNSMITH := env PYTHONPATH=.onnxruntime:.nnsmith python3 scripts/nnsmith_graphs.py
SIMPLIFIERS := env PYTHONPATH=.onnxruntime:.simplifiers:models/check python3 models/check/simplifiers_check.py
PYTEST := env PYTHONPATH=.onnxruntime:.pytest python3 -m pytest -q -p no:cacheprovider
ZOO_CHECK := env PYTHONPATH=.onnxruntime python3 models/check/onnxruntime_check.py

.PHONY: all demo demo-training test suites check full others zoo training-zoo loader install install-commands wheel replay fetch clean

all: check

# NVRTC and the disassembler in .cuda/, ONNX Runtime in .onnxruntime/, ONNX's node tests in .onnx/, from pinned wheels; needs
# Python 3 with pip, no GPU.
fetch:
	@sh scripts/fetch_cuda.sh
	@sh scripts/fetch_onnx_tests.sh

# The inner loop: format, lints, and the suites that answer at once, from what `make test` has built. The first time, in a
# tree where nothing is built, it takes as long as that build and is over its budget.
check: fetch
	$(CARGO) fmt --all --check
	$(TIMED) check 180 sh -c '\
	    $(CARGO) clippy --target-dir target/lints --workspace --all-targets --quiet -- -D warnings & lints=$$!; \
	    $(CARGO) test --quiet $(TESTED) --test suite --test bound --test recorded --test search --test simulator \
	        --test tidy --test conformance --test filetests -- --skip Nvrtc; tests=$$?; wait $$lints && exit $$tests'

# Everything that continuous integration runs; each suite prints its time and fails above its budget. All together take at most
# 40 minutes of two cores that do nothing else, and 80 of two that others use, too.
test: fetch
	@$(TIMED) --two-cores 4800 total 2400 $(MAKE) --no-print-directory suites

# The same suites, each bar at full size: every model on every device, every change of every model's plans, every model for both
# architectures, all seeds. Behind them what `make test` has no sample of. It takes hours; interrupted, it goes on with the suites
# that have not passed with these sources, and docs/results/full.md is its record.
full: fetch
	$(CARGO) build --release --quiet
	@sh scripts/fetch_nnsmith.sh
	@$(MAKE) --no-print-directory FULL=1 suites others
	@$(ONCE) --verdict

# What a suite is given: of `make test`, and with FULL of `make full`.
given = $(if $(FULL),$(2),$(1))
# A suite with its budget in seconds, which is that of `make test`.
suite = $(if $(FULL),$(ONCE) $(1)) $(TIMED) $(1) $(if $(FULL),14400,$(2))
# Host beside emulator, text and machine code, each with its seeds.
both = sh -c '$(1) --warpweave $(TESTED_BINARY) --seeds $(2) --device host & host=$$!; \
	    $(1) --warpweave $(TESTED_BINARY) --seeds $(3) --device emulator,text,machine-code; kernels=$$?; wait $$host && exit $$kernels'
# Random graphs of a type of 16 bits, with their seeds.
halves = $(RANDOM_GRAPHS) --element $(1) --seeds $(2) --device $(call given,emulator$(comma)text,host$(comma)emulator$(comma)text) \
	    --warpweave $(TESTED_BINARY)
comma := ,
TESTED_BINARY = $(call given,target/debug/warpweave,$(WARPWEAVE))
ifdef FULL
export WARPWEAVE_FULL := 1
export WARPWEAVE_FUZZ_SECONDS := 600
endif

suites:
	$(CARGO) fmt --all --check
	$(TIMED) build $(call given,900,14400) sh -c '\
	    $(CARGO) test $(TESTED) --no-run --quiet && $(CARGO) build $(TESTED) --tests --lib --profile test --quiet'
	$(call suite,lints-and-lab,540) sh -c '\
	    $(CARGO) test $(TESTED) --test lab -- --test-threads 3 & lab=$$!; \
	    $(CARGO) clippy --profile test $(call given,$(TESTED),--workspace) --all-targets --quiet -- -D warnings; \
	    lints=$$?; wait $$lab && exit $$lints'
	$(call suite,unit,720) $(CARGO) test $(TESTED) --exclude warpweave-tests
	$(call suite,files,180) $(CARGO) test $(TESTED) --test tidy --test filetests
	$(call suite,fuzz,180) $(CARGO) test $(TESTED) --test fuzz
	$(call suite,conformance,720) $(CARGO) test $(TESTED) --test conformance
	$(call suite,emulator,1080) $(CARGO) test $(TESTED) --test plans --test lowering
	$(call suite,models,540) $(CARGO) test $(TESTED) --test models
	$(call suite,machine-code,480) $(CARGO) test $(TESTED) --test machine_code --test simulator
	$(call suite,training,840) $(CARGO) test $(TESTED) --test training
	python3 scripts/replay.py --self-test >/dev/null
	$(ONCE) --self-test >/dev/null 2>&1
	@sh scripts/fetch_onnxruntime.sh
	@sh scripts/fetch_pytest.sh
	$(call suite,interfaces,90) $(PYTEST) tests/interfaces
	$(call suite,random,420) $(call both,$(RANDOM_GRAPHS),$(call given,0:100,0:2000),$(call given,0:15,0:500))
	$(call suite,random-halves,60) sh -c '\
	    $(call halves,f16,$(call given,0:12,0:500)) && $(call halves,bf16,$(call given,0:3,0:500))'
	$(call suite,nnsmith,120) $(NNSMITH) --warpweave $(TESTED_BINARY) --device host,emulator \
	    $(call given,--sample tests/nnsmith.zip,--seeds 0:1500)
	$(call suite,control-flow,180) $(call both,$(CONTROL_FLOW),$(call given,0:150,0:2000),$(call given,0:6,0:200))
	$(call suite,random-training,240) $(call both,$(RANDOM_TRAINING),$(call given,0:60,0:1000),$(call given,0:4,0:100))
	$(call suite,operators,240) $(call both,$(OPERATOR_CASES),$(call given,0:100,0:2000),$(call given,0:12,0:300))
	$(call suite,contrib,120) $(CONTRIB_CASES) --warpweave $(TESTED_BINARY)
	$(call suite,exporters,240) $(EXPORTERS) --warpweave $(TESTED_BINARY)
	@sh scripts/fetch_simplifiers.sh
	$(call suite,simplifiers,120) $(SIMPLIFIERS) --warpweave $(TESTED_BINARY) $(call given,--set exporters --device host,)
	$(call suite,mutated,420) $(MUTATED) --warpweave $(TESTED_BINARY) --seeds $(call given,0:700,0:20000)
	$(call suite,hostile,420) $(HOSTILE) --warpweave $(TESTED_BINARY)
	$(call suite,scaling,240) $(SCALING) --warpweave $(TESTED_BINARY) --check
	$(call suite,zoo,540) $(ZOO_CHECK) --warpweave $(TESTED_BINARY) --device reference,host --target sm_90a

# Every model on every device through the command line, the sizes of what is shipped, and one more of each kind in a copy of the
# tree.
others:
	$(call suite,travel) sh scripts/travel_size.sh $(WARPWEAVE)
	$(call suite,loader) sh scripts/loader_size.sh $(WARPWEAVE)
	$(call suite,install) sh scripts/check_install.sh
	$(call suite,wheel) sh scripts/check_wheel.sh
	$(call suite,packages) sh scripts/check_packages.sh
	$(call suite,races) python3 scripts/thread_sanitizer.py --warpweave $(WARPWEAVE)
	$(call suite,refit) sh scripts/check_refit.sh $(WARPWEAVE)
	$(call suite,call-overhead) sh scripts/check_overhead.sh
	$(call suite,report) python3 scripts/check_report.py --warpweave $(WARPWEAVE)
	$(call suite,pictures) python3 scripts/check_pictures.py --warpweave $(WARPWEAVE)
	$(call suite,tour) python3 scripts/tour.py --warpweave $(WARPWEAVE) --check
	$(call suite,compile-times) $(COMPILE_TIMES) --warpweave $(WARPWEAVE) --check
	$(call suite,compare) sh scripts/compare_models.sh $(WARPWEAVE)
	$(call suite,compare-fp16) sh scripts/compare_models.sh $(WARPWEAVE) --precision fp16
	$(call suite,compare-bf16) sh scripts/compare_models.sh $(WARPWEAVE) --precision bf16
	$(call suite,zoo-fp16) python3 scripts/zoo.py --warpweave $(WARPWEAVE) --precision fp16
	$(call suite,half-bars) python3 scripts/half_bars.py --warpweave $(WARPWEAVE)
	$(call suite,one-of-each) python3 scripts/add_one_of_each.py --test

demo:
	@sh scripts/fetch_cuda.sh
	$(CARGO) build --release --quiet
	sh scripts/demo.sh $(WARPWEAVE) $(DEMO_MODEL)

# A convolutional net and a transformer learn from random weights, with their curves in target/demo_training.
demo-training:
	@sh scripts/fetch_onnxruntime.sh
	$(CARGO) build --release --quiet
	PYTHONPATH=.onnxruntime python3 scripts/demo_training.py --warpweave $(WARPWEAVE)

# Training steps of benchmark models for sm_90a: compiled within a bar for time, and what is predicted of them.
training-zoo: fetch
	$(CARGO) build --release --quiet
	python3 scripts/training_zoo.py --warpweave $(WARPWEAVE) --write docs/results/training.md

# Every benchmark model at full size: compiled for host and sm_90a within bars for time and memory, and the peak of two on
# the host. Two cores, 12 GB of memory, 12 GB of disk.
zoo: fetch
	$(CARGO) build --release --quiet
	python3 scripts/zoo.py --warpweave $(WARPWEAVE)
	python3 scripts/zoo.py --warpweave $(WARPWEAVE) --memory

# What runs bundles without a compiler: its size, within a bar, and that it computes what the compiler's host does.
loader:
	$(CARGO) build --release --quiet
	sh scripts/loader_size.sh $(WARPWEAVE)

# The library for C and C++ under PREFIX: shared and static, with its headers and its pkg-config file.
PREFIX ?= /usr/local
install:
	$(CARGO) rustc --profile deployment --quiet -p warpweave-c --crate-type cdylib,staticlib
	sh scripts/install.sh "$(or $(CARGO_TARGET_DIR),target)/deployment" "$(DESTDIR)" "$(PREFIX)"

# The same of the library that has the commands, and with them the compiler.
install-commands:
	$(CARGO) build --release --quiet -p warpweave-c-commands
	sh scripts/install.sh "$(or $(CARGO_TARGET_DIR),target)/release" "$(DESTDIR)" "$(PREFIX)" commands

# The wheel of the Python package, in target/wheels.
wheel:
	python3 -m pip wheel --quiet --no-deps --wheel-dir target/wheels .

# Whether HEAD, or the build that HEAD= names, makes of every model what BASE makes of it; each a commit or a program.
replay: fetch
	python3 scripts/replay.py $(BASE) $(or $(HEAD),HEAD) $(REPLAY)

# The tables of docs/results and the pictures, with the release binary: predictions for every benchmark model, about an hour.
results: fetch
	$(CARGO) build --release --quiet
	python3 scripts/results.py --warpweave $(WARPWEAVE)
	$(SCALING) --warpweave $(WARPWEAVE) --write docs/results/scaling.md
	$(COMPILE_TIMES) --warpweave $(WARPWEAVE) --write docs/results/compile_times.md
	python3 scripts/pictures.py --warpweave $(WARPWEAVE)
	python3 scripts/tour.py --warpweave $(WARPWEAVE)

clean:
	$(CARGO) clean
