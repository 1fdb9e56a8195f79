#!/bin/sh
# Puts a library for C and C++ under a prefix: the runtime's, or with `commands` the compiler's.
# usage: install.sh BUILT DESTDIR PREFIX [commands]
set -eu
cd "$(dirname "$0")/.."
built=$1
destination=$2$3
prefix=$3
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
if [ "${4:-}" = commands ]; then
    library=libwarpweave_commands interface=runtime/interfaces/c_commands package=warpweave-commands
else
    library=libwarpweave interface=runtime/interfaces/c package=warpweave
fi
mkdir -p "$destination/lib/pkgconfig" "$destination/include"
install -m 755 "$built/$library.so" "$destination/lib/$library.so.$version"
ln -sf "$library.so.$version" "$destination/lib/$library.so"
if [ -e "$built/$library.a" ]; then
    install -m 644 "$built/$library.a" "$destination/lib/$library.a"
fi
install -m 644 $interface/include/* "$destination/include"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" $interface/$package.pc.in >"$destination/lib/pkgconfig/$package.pc"
echo "installed $library $version under $destination"
