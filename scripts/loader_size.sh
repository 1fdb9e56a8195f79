#!/bin/sh
# Builds the loader of bundles as a deployment would, without compiler and symbols. Fails if it has more than 4 MB, or
# if it computes anything else from a bundle than the program that compiled it.
# usage: loader_size.sh WARPWEAVE
set -eu
cd "$(dirname "$0")/.."
most=4000000
warpweave=$1
model=tests/models/squeezenet
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

${CARGO:-cargo} build --profile deployment --quiet -p warpweave-runtime --no-default-features --example load
strip -o "$folder/load" "${CARGO_TARGET_DIR:-target}/deployment/examples/load"
bytes=$(wc -c <"$folder/load")
echo "the loader has $bytes bytes; $most are allowed"
[ "$bytes" -le "$most" ]

"$warpweave" compile $model/torchscript.onnx --target host --output "$folder/model.weave" >"$folder/compiled"
"$warpweave" run "$folder/model.weave" --input $model/io.npz --output "$folder/expected" >"$folder/run"
"$folder/load" "$folder/model.weave" $model/io.npz "$folder/found.npz"
python3 -c '
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
[name] = archive.namelist()
sys.exit(archive.read(name) != open(sys.argv[2], "rb").read() and "the loader computes something else")
' "$folder/found.npz" "$folder/expected/out_0.npy"
echo "the loader computes what its compiler does"
