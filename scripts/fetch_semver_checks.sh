#!/bin/sh
# cargo-semver-checks in .semver-checks, in a pinned version.
set -eu
cd "$(dirname "$0")/.."
[ -x .semver-checks/bin/cargo-semver-checks ] && exit 0
echo "cargo-semver-checks: building it"
${CARGO:-cargo} install cargo-semver-checks --locked --version 0.51.0 --root .semver-checks --quiet
