#!/bin/sh
# Writes frontend/src/onnx/generated.rs, the messages of an ONNX file, from the onnx.proto of the pinned ONNX package.
set -eu
cd "$(dirname "$0")/.."
sh scripts/fetch_onnxruntime.sh
folder=target/onnx-types
mkdir -p "$folder"
CARGO_TARGET_DIR="$folder" ${CARGO:-cargo} run --quiet --manifest-path scripts/onnx_types/Cargo.toml -- \
    .onnxruntime/onnx/onnx.proto "$folder"
rustfmt --edition 2024 --config-path rustfmt.toml "$folder/onnx.rs"
cp "$folder/onnx.rs" frontend/src/onnx/generated.rs
