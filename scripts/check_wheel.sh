#!/bin/sh
# Builds the wheel as `pip wheel .` does, installs it where no Rust is found, and runs the tests of the package and the check of its
# stubs there: with python3, and with the oldest and the newest Python that it is for where they are there. Fails if the wheel has more
# than 15 MB.
# usage: check_wheel.sh [WHEEL], a wheel that is built already
set -eu
cd "$(dirname "$0")/.."
most=15000000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wheel=${1:-}
if [ -z "$wheel" ]; then
    rm -f target/wheels/warpweave-*.whl
    make --no-print-directory wheel
    wheel=$(echo target/wheels/warpweave-*.whl)
fi
bytes=$(wc -c <"$wheel")
echo "$wheel has $bytes bytes; $most are allowed"
[ "$bytes" -le "$most" ]
printf 'import warpweave as ww\nsession: ww.Session = ww.open("m.weave")\ny = session(x=[1.0])["y"]\n' >"$folder/use.py"

# The interpreter of a name: in PATH, or among those of pyenv.
interpreter() {
    for found in "$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1"; do
        if "$found" -c '' 2>/dev/null; then
            echo "$found"
            return
        fi
    done
}
for name in python3 python3.10 python3.13; do
    found=$(interpreter "$name")
    if [ -z "$found" ]; then
        echo "$name is not there, and is not tried"
        continue
    fi
    environment=$folder/$name
    "$found" -m venv "$environment"
    python=$environment/bin/python
    bare() { env -i HOME="$folder" PATH="$environment/bin:/usr/bin:/bin" WARPWEAVE_BUILD="$(pwd)/target/debug" WARPWEAVE_INSTALLED=1 "$@"; }
    bare "$python" --version
    bare "$python" -m pip install --quiet --disable-pip-version-check "$wheel" numpy onnx ml_dtypes pytest mypy
    bare "$python" -m pytest -q -p no:cacheprovider tests/interfaces/test_python.py tests/interfaces/test_conformance.py -k python
    bare "$python" -m mypy --strict --cache-dir "$folder/mypy" "$folder/use.py"
    bare "$environment/bin/warpweave" --version
done
