#!/bin/sh
# Puts the library for C and C++, which `make install` has built, under a prefix.
# usage: install.sh TARGET_DIR DESTDIR PREFIX
set -eu
cd "$(dirname "$0")/.."
built="${1:-target}/deployment"
destination=$2$3
prefix=$3
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
interface=runtime/interfaces/c
mkdir -p "$destination/lib/pkgconfig" "$destination/include"
install -m 755 "$built/libwarpweave.so" "$destination/lib/libwarpweave.so.$version"
ln -sf "libwarpweave.so.$version" "$destination/lib/libwarpweave.so"
install -m 644 "$built/libwarpweave.a" "$destination/lib/libwarpweave.a"
install -m 644 $interface/include/warpweave.h $interface/include/warpweave.hpp "$destination/include"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" $interface/warpweave.pc.in >"$destination/lib/pkgconfig/warpweave.pc"
echo "installed warpweave $version under $destination"
