//! Cubins of programs that were written by hand, in an archive.

use std::io::Read;

use zip::ZipArchive;

/// The cubin of this name.
pub fn cubin(name: &str) -> Vec<u8> {
    let archive = std::io::Cursor::new(include_bytes!("cubins.zip"));
    let mut archive = ZipArchive::new(archive).expect("the archive belongs to the repository");
    let mut bytes = Vec::new();
    let mut file = archive.by_name(name).expect("the archive has the cubin");
    file.read_to_end(&mut bytes).expect("the cubin is whole");
    bytes
}
