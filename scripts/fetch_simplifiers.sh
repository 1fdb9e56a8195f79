#!/bin/sh
# Fetches onnxslim, onnxsim, onnxoptimizer and onnxscript into .simplifiers/ of the repository, from the pinned wheels that
# scripts/simplifiers.txt lists; onnx and numpy are those of scripts/fetch_onnxruntime.sh.
exec sh "$(dirname "$0")/fetch_wheels.sh" scripts/simplifiers.txt .simplifiers
