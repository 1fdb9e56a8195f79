//! What a driver says of a device.

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Its number.
    pub ordinal: u32,
    /// The product's name.
    pub name: String,
    /// Major and minor number of the compute capability.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Shared-memory bytes that a block may ask for.
    pub shared_bytes: u32,
    /// Whether persistent programs can be launched.
    pub cooperative: bool,
}
