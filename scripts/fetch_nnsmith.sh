#!/bin/sh
# Fetches NNSmith and the solver that it needs into .nnsmith/ of the repository, from the pinned wheels that scripts/nnsmith.txt
# lists; onnx and numpy are those of scripts/fetch_onnxruntime.sh.
exec sh "$(dirname "$0")/fetch_wheels.sh" scripts/nnsmith.txt .nnsmith
