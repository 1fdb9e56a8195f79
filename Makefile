# The developer's commands. `make demo` and `make test` do all the set-up that they need.

CARGO ?= cargo
TIMED := sh scripts/timed.sh
WARPWEAVE := target/release/warpweave
DEMO_MODEL := tests/models/resnet_bottleneck

.PHONY: all demo test check full fetch clean

all: check

# NVRTC and the disassembler in .cuda/, ONNX's node tests in .onnx/, from pinned wheels; needs Python 3 with pip, no GPU.
fetch:
	@sh scripts/fetch_cuda.sh
	@sh scripts/fetch_onnx_tests.sh

# The inner loop: format, lints, and the tests that answer within three minutes.
check: fetch
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(TIMED) unit 180 $(CARGO) test --workspace --quiet --lib

# Everything that continuous integration runs.
test: fetch
	$(CARGO) fmt --all --check
	$(TIMED) build 480 $(CARGO) test --workspace --no-run
	$(TIMED) lints 240 $(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(TIMED) tests 1500 $(CARGO) test --workspace

demo:
	@sh scripts/fetch_cuda.sh
	$(CARGO) build --release --quiet
	sh scripts/demo.sh $(WARPWEAVE) $(DEMO_MODEL)

# Every bar at full size.
full: test
	WARPWEAVE_FULL=1 $(CARGO) test --workspace --release

clean:
	$(CARGO) clean
