"""lab.zip: failing cases, and what was measured that has a file of its own."""

from __future__ import annotations

import io
import os
import zipfile

# With lab.json and lab.md the results stay below 16 MB.
MOST_BYTES = 13_000_000


def write(setting):
    """Writes the archive if there is anything for it; folders that would make it too large are left out."""
    folders = sorted((setting.out / "cases").glob("*")) + sorted((setting.out / "kept").glob("*"))
    whole, bytes_left = [], MOST_BYTES
    for path in folders:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        packed = pack({str(file.relative_to(setting.out)): file for file in files})
        if len(packed) <= bytes_left:
            bytes_left -= len(packed)
            whole += files
        else:
            print(f"left out of lab.zip: {path}, {len(packed)} bytes", flush=True)
    if whole:
        temporary = setting.out / f".lab.zip.{os.getpid()}"
        temporary.write_bytes(pack({str(file.relative_to(setting.out)): file for file in whole}))
        temporary.replace(setting.out / "lab.zip")


def pack(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            archive.write(file, name)
    return buffer.getvalue()
