#!/bin/sh
# What a call takes from C and from Python, beside ONNX Runtime's, with the libraries as they are shipped: call_overhead.py.
# usage: check_overhead.sh WARPWEAVE
set -eu
cd "$(dirname "$0")/.."
