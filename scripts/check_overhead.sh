#!/bin/sh
# What a call takes from C and from Python, beside ONNX Runtime's, with the libraries as they are shipped: call_overhead.py.
set -eu
cd "$(dirname "$0")/.."
sh scripts/fetch_onnxruntime.sh
${CARGO:-cargo} build --release --quiet -p warpweave-c -p warpweave-python
built=$(realpath "${CARGO_TARGET_DIR:-target}/release")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -std=c11 -O2 -Iruntime/interfaces/c/include tests/interfaces/repeat.c -o "$folder/repeat" "$built/libwarpweave.so" -Wl,-rpath,"$built"
cp -r runtime/interfaces/python/python/warpweave "$folder/warpweave"
cp "$built/lib_native.so" "$folder/warpweave/_native.abi3.so"
PYTHONPATH=.onnxruntime:$folder python3 scripts/call_overhead.py "$folder/repeat"
