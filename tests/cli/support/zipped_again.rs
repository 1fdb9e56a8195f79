//! Zip archives made again of the same entries, as other programs make them.

use super::archive::{Entry, checksum, entries};

/// How [`zip_again`] differs from what wrote a bundle.
#[derive(Clone, Copy, Default, Debug)]
pub struct Zipping {
    /// The archive's comment.
    pub comment: Option<&'static str>,
    /// Entries the other way round.
    pub reversed: bool,
    /// An entry of each folder, too.
    pub folders: bool,
    /// Deflated, in blocks that are stored.
    pub deflated: bool,
    /// Sizes and checksums behind the data, as for a pipe.
    pub streamed: bool,
}

/// The entries of an archive in a new one, as another program would make it.
pub fn zip_again(bytes: &[u8], how: Zipping) -> Vec<u8> {
    let data = |entry: &Entry| bytes[entry.start..entry.start + entry.bytes].to_vec();
    let mut members: Vec<(String, Vec<u8>)> =
        entries(bytes).iter().map(|entry| (entry.name.clone(), data(entry))).collect();
    if how.reversed {
        members.reverse();
    }
    if how.folders {
        members.insert(0, ("plan/".to_owned(), Vec::new()));
    }
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in &members {
        let at = archive.len() as u32;
        let packed = if how.deflated { deflated(data) } else { data.clone() };
        let fields = |is_known: bool| {
            let [flags, method] = [u16::from(how.streamed) << 3, u16::from(how.deflated) << 3].map(u16::to_le_bytes);
            let sums =
                [checksum(data), packed.len() as u32, data.len() as u32].map(|sum| if is_known { sum } else { 0 });
            let sums = sums.map(u32::to_le_bytes).concat();
            let length = (name.len() as u16).to_le_bytes();
            [&[20, 0][..], &flags, &method, &[0, 0, 33, 0], &sums, &length, &[0, 0]].concat()
        };
        archive.extend([b"PK\x03\x04", &fields(!how.streamed)[..], name.as_bytes(), &packed].concat());
        if how.streamed {
            let sums = [checksum(data), packed.len() as u32, data.len() as u32].map(u32::to_le_bytes).concat();
            archive.extend([b"PK\x07\x08", &sums[..]].concat());
        }
        let place = [&[0; 10][..], &at.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0", &fields(true)[..], &place, name.as_bytes()].concat());
    }
    let comment = how.comment.unwrap_or_default();
    let (count, start) = ((members.len() as u16).to_le_bytes(), archive.len() as u32);
    let (size, length) = ((directory.len() as u32).to_le_bytes(), (comment.len() as u16).to_le_bytes());
    let end =
        [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size, &start.to_le_bytes(), &length, comment.as_bytes()].concat();
    [archive, directory, end].concat()
}

/// Data as DEFLATE has them in stored blocks.
fn deflated(data: &[u8]) -> Vec<u8> {
    let blocks: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(usize::from(u16::MAX)).collect() };
    let last = blocks.len() - 1;
    let block = |(number, block): (usize, &&[u8])| {
        let length = block.len() as u16;
        [&[u8::from(number == last)][..], &length.to_le_bytes(), &(!length).to_le_bytes(), block].concat()
    };
    blocks.iter().enumerate().flat_map(block).collect()
}
