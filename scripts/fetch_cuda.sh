#!/bin/sh
# Fetches the CUDA compiler and linker libraries and the disassemblers that building and testing need, into .cuda/ of the repository.
# Nothing is installed and no GPU is needed. Versions and hashes are pinned; what is already there is not fetched again.
# Needs python3 with pip, on x86-64 Linux. The vendor's licence lies in each package's dist-info folder.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
target="$root/.cuda"
work=""
trap 'if [ -n "$work" ]; then rm -rf "$work"; fi' EXIT

# fetch PACKAGE VERSION SHA256
fetch() {
  stamp="$target/$1-$2.fetched"
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$3" ]; then
    echo "$1 $2: already in $target"
    return
  fi
  echo "$1 $2: fetching"
  work=$(mktemp -d)
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$1==$2"
  python3 - "$work" "$target" "$3" <<'PYTHON'
import hashlib, pathlib, stat, sys, zipfile

work, target, expected = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
(wheel,) = work.glob("*.whl")
found = hashlib.sha256(wheel.read_bytes()).hexdigest()
if found != expected:
    sys.exit(f"{wheel.name}: sha256 is {found}, expected {expected}")
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(target)
    for name in archive.namelist():
        if "/bin/" in name:
            path = target / name
            path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
PYTHON
  rm -rf "$work"
  work=""
  echo "$3" > "$stamp"
}

mkdir -p "$target"
fetch nvidia-cuda-nvrtc 13.0.88 ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575
fetch nvidia-nvjitlink 13.0.88 13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b
fetch nvidia-cuda-nvdisasm 13.2.78 b4ebcd3c5046bf8039ac52675b9dbefd843600969649ecaab0a42b0713a61dae
fetch nvidia-cuda-cuobjdump 13.2.78 394087411405b846bf43aa52ca2ff603bbe18b3b8a1257cda0903e23c17bdbf3
echo "done: $target"
