#!/bin/sh
# Fetches ONNX Runtime, onnx and numpy into .onnxruntime/ of the repository, from the pinned wheels that
# scripts/onnxruntime.txt lists.
exec sh "$(dirname "$0")/fetch_wheels.sh" scripts/onnxruntime.txt .onnxruntime
