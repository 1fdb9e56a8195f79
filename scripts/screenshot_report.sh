#!/bin/sh
# Screenshots of a page that `warpweave report` has written, at the width of a desktop and of a phone, light and dark.
# Needs Chromium (Debian: apt-get install chromium); without it nothing is done.
# Usage: scripts/screenshot_report.sh REPORT.html FOLDER
set -eu

page=${1:?usage: screenshot_report.sh REPORT.html FOLDER}
folder=${2:?usage: screenshot_report.sh REPORT.html FOLDER}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "no Chromium here: no screenshots are taken" >&2
    exit 0
fi
mkdir -p "$folder"
page=$(realpath "$page")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A window is not as narrow as a phone, so the page is shown in a frame of the wanted width.
shoot() {
    width=$1 height=$2 scheme=$3 dark=$4
    frame="$scratch/frame.html"
    printf '<body style="margin:0;background:#888"><iframe src="file://%s" style="border:0;width:%spx;height:%spx"></iframe>' \
        "$page" "$width" "$height" >"$frame"
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
        --blink-settings=preferredColorScheme="$dark" --window-size="$width,$height" \
        --screenshot="$folder/report-$width-$scheme.png" "file://$frame" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        exit 1
    }
    echo "$folder/report-$width-$scheme.png"
}

shoot 1280 "${DESKTOP_HEIGHT:-1400}" light 1
shoot 1280 "${DESKTOP_HEIGHT:-1400}" dark 0
shoot 390 "${PHONE_HEIGHT:-3200}" light 1
