//! The parameters of the attention template.

use serde::{Deserialize, Serialize};
use warpweave_graph::text::reader::{Parsed, Reader};

/// The parameters of the attention template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct KeyBlocks {
    /// Keys of a block, at most 128.
    pub keys: usize,
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<KeyBlocks> {
    reader.mark("/")?;
    Ok(KeyBlocks { keys: reader.integer("keys of a block")? })
}
