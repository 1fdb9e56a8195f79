#!/bin/sh
# Builds the wheel as `pip wheel .` does, installs it where no Rust is found, and runs the tests of the package and the check of its
# stubs there. Fails if the wheel has more than 15 MB.
set -eu
cd "$(dirname "$0")/.."
most=15000000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rm -f target/wheels/warpweave-*.whl
make --no-print-directory wheel
wheel=$(echo target/wheels/warpweave-*.whl)
bytes=$(wc -c <"$wheel")
echo "$wheel has $bytes bytes; $most are allowed"
[ "$bytes" -le "$most" ]
python3 -m venv "$folder/venv"
python="$folder/venv/bin/python"
bare() { env -i HOME="$folder" PATH="$folder/venv/bin:/usr/bin:/bin" WARPWEAVE_BUILD="$(pwd)/target/debug" WARPWEAVE_INSTALLED=1 "$@"; }
bare "$python" -m pip install --quiet --disable-pip-version-check "$wheel" numpy onnx ml_dtypes pytest mypy
bare "$python" -m pytest -q -p no:cacheprovider tests/interfaces/test_python.py \
    tests/interfaces/test_conformance.py -k python
printf 'import warpweave as ww\nsession: ww.Session = ww.open("m.weave")\ny = session(x=[1.0])["y"]\n' >"$folder/use.py"
bare "$python" -m mypy --strict "$folder/use.py"
bare "$folder/venv/bin/warpweave" --version
