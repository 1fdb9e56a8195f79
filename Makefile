# The developer's commands. `make demo` and `make test` do all the set-up that they need.

CARGO ?= cargo
TIMED := sh scripts/timed.sh
# Together, so that they have the features of the whole workspace and nothing is built twice.
SUITES := -p warpweave -p warpweave-tests
# All but the benchmarks, whose harness takes longer to build than any suite.
TESTED := --workspace --exclude warpweave-benches
WARPWEAVE := target/release/warpweave
DEMO_MODEL := tests/models/resnet_bottleneck
RANDOM_GRAPHS := env PYTHONPATH=.onnxruntime python3 scripts/random_graphs.py
EXPORTERS := env PYTHONPATH=.onnxruntime:models/check python3 models/check/exporters_check.py
RANDOM_TRAINING := env PYTHONPATH=.onnxruntime python3 scripts/random_training.py
OPERATOR_CASES := env PYTHONPATH=.onnxruntime python3 scripts/operator_cases.py
CONTRIB_CASES := env PYTHONPATH=.onnxruntime python3 scripts/contrib_cases.py
MUTATED := env PYTHONPATH=.onnxruntime python3 scripts/mutated_models.py
HOSTILE := env PYTHONPATH=.onnxruntime python3 scripts/hostile_models.py
SCALING := env PYTHONPATH=.onnxruntime python3 scripts/scaling.py
NNSMITH := env PYTHONPATH=.onnxruntime:.nnsmith python3 scripts/nnsmith_graphs.py
SIMPLIFIERS := env PYTHONPATH=.onnxruntime:.simplifiers:models/check python3 models/check/simplifiers_check.py
ZOO_CHECK := env PYTHONPATH=.onnxruntime python3 models/check/onnxruntime_check.py

.PHONY: all demo demo-training test suites check full zoo training-zoo loader replay fetch clean

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

suites:
	$(CARGO) fmt --all --check
	$(TIMED) build 900 $(CARGO) test $(TESTED) --no-run --quiet
	$(TIMED) lints-and-lab 540 sh -c '\
	    $(CARGO) test $(SUITES) --test lab -- --test-threads 3 & lab=$$!; \
	    $(CARGO) clippy --target-dir target/lints --workspace --all-targets --quiet -- -D warnings; lints=$$?; \
	    wait $$lab && exit $$lints'
	$(TIMED) unit 720 $(CARGO) test $(TESTED) --exclude warpweave-tests
	$(TIMED) files 180 $(CARGO) test $(SUITES) --test tidy --test filetests
	$(TIMED) fuzz 180 $(CARGO) test $(SUITES) --test fuzz
	$(TIMED) conformance 720 $(CARGO) test $(SUITES) --test conformance
	$(TIMED) emulator 1080 $(CARGO) test $(SUITES) --test plans --test lowering
	$(TIMED) models 540 $(CARGO) test $(SUITES) --test models
	$(TIMED) training 840 $(CARGO) test $(SUITES) --test training
	python3 scripts/replay.py --self-test >/dev/null
	@sh scripts/fetch_onnxruntime.sh
	$(TIMED) random 420 sh -c '\
	    $(RANDOM_GRAPHS) --warpweave target/debug/warpweave --seeds 0:100 --device host & host=$$!; \
	    $(RANDOM_GRAPHS) --warpweave target/debug/warpweave --seeds 0:25 --device emulator,text; kernels=$$?; \
	    wait $$host && exit $$kernels'
	$(TIMED) nnsmith 120 $(NNSMITH) --warpweave target/debug/warpweave --sample tests/nnsmith.zip --device host,emulator
	$(TIMED) random-training 240 sh -c '\
	    $(RANDOM_TRAINING) --warpweave target/debug/warpweave --seeds 0:60 --device host & host=$$!; \
	    $(RANDOM_TRAINING) --warpweave target/debug/warpweave --seeds 0:6 --device emulator,text; kernels=$$?; \
	    wait $$host && exit $$kernels'
	$(TIMED) operators 240 sh -c '\
	    $(OPERATOR_CASES) --warpweave target/debug/warpweave --seeds 0:100 --device host & host=$$!; \
	    $(OPERATOR_CASES) --warpweave target/debug/warpweave --seeds 0:20 --device emulator,text; kernels=$$?; \
	    wait $$host && exit $$kernels'
	$(TIMED) contrib 120 $(CONTRIB_CASES) --warpweave target/debug/warpweave
	$(TIMED) exporters 240 $(EXPORTERS) --warpweave target/debug/warpweave
	@sh scripts/fetch_simplifiers.sh
	$(TIMED) simplifiers 120 $(SIMPLIFIERS) --warpweave target/debug/warpweave --set exporters --device host
	$(TIMED) mutated 420 $(MUTATED) --warpweave target/debug/warpweave --seeds 0:1000
	$(TIMED) hostile 420 $(HOSTILE) --warpweave target/debug/warpweave
	$(TIMED) scaling 240 $(SCALING) --warpweave target/debug/warpweave --check
	$(TIMED) zoo 540 $(ZOO_CHECK) --warpweave target/debug/warpweave --device reference,host --target sm_90a

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

# Every bar at full size: every model on every device through the command line, every change of every model's plans,
# every model for both architectures, and one more of each kind in a copy of the tree.
full: test
	$(CARGO) build --release --quiet
	sh scripts/compare_models.sh $(WARPWEAVE)
	sh scripts/loader_size.sh $(WARPWEAVE)
	sh scripts/travel_size.sh $(WARPWEAVE)
	WARPWEAVE_FULL=1 $(CARGO) test $(SUITES) --test plans --test models --test training --test lab
	WARPWEAVE_FUZZ_SECONDS=600 $(CARGO) test $(SUITES) --test fuzz
	$(MUTATED) --warpweave $(WARPWEAVE) --seeds 0:20000
	$(RANDOM_GRAPHS) --warpweave $(WARPWEAVE) --seeds 0:2000 --device host
	$(RANDOM_GRAPHS) --warpweave $(WARPWEAVE) --seeds 0:500 --device emulator,text
	@sh scripts/fetch_nnsmith.sh
	$(NNSMITH) --warpweave $(WARPWEAVE) --seeds 0:1500 --device host,emulator
	$(SIMPLIFIERS) --warpweave $(WARPWEAVE)
	$(RANDOM_TRAINING) --warpweave $(WARPWEAVE) --seeds 0:1000 --device host
	$(RANDOM_TRAINING) --warpweave $(WARPWEAVE) --seeds 0:100 --device emulator,text
	$(OPERATOR_CASES) --warpweave $(WARPWEAVE) --seeds 0:2000 --device host
	$(OPERATOR_CASES) --warpweave $(WARPWEAVE) --seeds 0:300 --device emulator,text
	python3 scripts/add_one_of_each.py --test
	python3 scripts/check_report.py --warpweave $(WARPWEAVE)

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

# Whether HEAD, or the build that HEAD= names, makes of every model what BASE makes of it; each a commit or a program.
replay: fetch
	python3 scripts/replay.py $(BASE) $(or $(HEAD),HEAD) $(REPLAY)

# The tables of docs/results and the pictures, with the release binary: predictions for every benchmark model, about an hour.
results: fetch
	$(CARGO) build --release --quiet
	python3 scripts/results.py --warpweave $(WARPWEAVE)
	$(SCALING) --warpweave $(WARPWEAVE) --write docs/results/scaling.md
	python3 scripts/pictures.py --warpweave $(WARPWEAVE)

clean:
	$(CARGO) clean
