#!/bin/sh
# Whether the crates that users need can be published: packaged, built from their packages, documented without a warning, and with an
# interface that takes nothing away from the one at scripts/interface_baseline.txt. A function that is taken away in a copy must be found.
set -eu
cd "$(dirname "$0")/.."
crates="warpweave warpweave-runtime warpweave-graph warpweave-plan warpweave-fusion warpweave-codegen warpweave-frontend warpweave-models"
selected=$(for crate in $crates; do printf ' -p %s' "$crate"; done)
# The selection is words.
# shellcheck disable=SC2086
CARGO_PROFILE_DEV_DEBUG=0 cargo package --quiet $selected --allow-dirty --target-dir target/packages
echo "packages of $crates are built"
# shellcheck disable=SC2086
RUSTDOCFLAGS="-D warnings" cargo doc --quiet $selected --no-deps --target-dir target/documented
echo "their documentation has no warning"

baseline=$(cat scripts/interface_baseline.txt)
sh scripts/fetch_semver_checks.sh
checks() {
    .semver-checks/bin/cargo-semver-checks semver-checks --baseline-rev "$baseline" --release-type minor "$@"
}
for crate in warpweave warpweave-runtime warpweave-graph; do
    checks -p "$crate"
done
copy=target/interface-copy
rm -rf "$copy"
git worktree prune
git worktree add --quiet --detach "$copy" HEAD
trap 'git worktree remove --force "$copy"' EXIT
sed -i 's/pub fn open(path: impl AsRef<Path>)/fn taken_away(path: impl AsRef<Path>)/' "$copy/compiler/src/open.rs"
if checks --manifest-path "$copy/Cargo.toml" -p warpweave >target/interface-copy.log 2>&1; then
    echo "a function that is taken away is not found"
    exit 1
fi
grep -q "inherent_method_missing" target/interface-copy.log
echo "a function that is taken away is found"
