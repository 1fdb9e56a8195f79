//! Files as memory, without a copy.
#![expect(unsafe_code, reason = "maps files into memory")]

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

/// Opens a regular file. Of anything else the opening alone may wait for ever.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    File::open(path)
}

/// The bytes of a regular file, which come into memory as they are read.
///
/// The file must stay as it is for as long as the bytes live. What another writes into it shows in them, and reading
/// what another has cut off ends the process. Replacing the file by renaming another onto it is harmless.
pub fn map(path: &Path) -> io::Result<Bytes> {
    let file = open_regular(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and read-only, and lives as long as the bytes that own it. That the file does
    // not change meanwhile is this function's stated condition, which no program can enforce.
    let map = unsafe { Mmap::map(&file) }?;
    // Most of a file is read once, from its beginning to its end; a system that cannot be told so is only slower.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Bytes::from_owner(map))
}
