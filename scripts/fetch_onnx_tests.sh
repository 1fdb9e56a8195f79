#!/bin/sh
# Makes ONNX's own node tests in .onnx/node with the pinned onnx package, and copies those of old exporters beside them. Needs
# Python 3 with pip. Does nothing where they are already there.
set -eu
cd "$(dirname "$0")/.."
sh scripts/fetch_onnxruntime.sh
wanted="$(sha256sum <scripts/onnxruntime.txt) $(sha256sum <scripts/onnx_node_tests.py)"
marker=.onnx/made
if [ -e "$marker" ] && [ "$(cat "$marker")" = "$wanted" ]; then
    exit 0
fi
rm -rf .onnx
PYTHONPATH=.onnxruntime python3 -W ignore scripts/onnx_node_tests.py .onnx
echo "$wanted" >"$marker"
