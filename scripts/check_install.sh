#!/bin/sh
# Installs the library for C into a folder, builds the example against the shared and then the static library as pkg-config says, and
# runs both. Fails if the shared library has more than 5 MB.
set -eu
cd "$(dirname "$0")/.."
most=5000000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make --no-print-directory install PREFIX="$folder/usr"
libraries=$folder/usr/lib
bytes=$(wc -c <"$libraries/libwarpweave.so")
echo "libwarpweave.so has $bytes bytes; $most are allowed"
[ "$bytes" -le "$most" ]

# What pkg-config says, where it is there; else the words of its file.
flags() {
    if command -v pkg-config >/dev/null; then
        PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config "$@" warpweave
    else
        echo "-I$folder/usr/include -L$libraries -lwarpweave -lpthread -ldl -lm"
    fi
}
# Whether the example says that there is no such bundle.
refuses() {
    if "$1" absent.weave 2>"$folder/said"; then return 1; fi
    grep -q bundle-file "$folder/said"
}
example="-std=c11 -Wall -Wextra -Werror runtime/interfaces/c/examples/run.c"
# The flags are words.
# shellcheck disable=SC2046,SC2086
cc $example -o "$folder/shared" $(flags --cflags --libs) -Wl,-rpath,"$libraries"
refuses "$folder/shared"
rm "$libraries"/libwarpweave.so*
# shellcheck disable=SC2046,SC2086
cc $example -o "$folder/static" $(flags --static --cflags --libs)
refuses "$folder/static"
echo "the example runs with the shared and the static library"
