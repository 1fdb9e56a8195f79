//! The processor's threads as a device.

use warpweave_fusion::schedule::Verified;

use super::error::SessionError;
use super::{Device, Session};

/// A session of a plan on the processor, with at most `threads` threads.
pub fn open_host(_plan: Verified, _weights: Vec<u8>, _threads: usize) -> Result<Box<dyn Session>, SessionError> {
    Err(SessionError::Unavailable { device: Device::Host, reason: "the host back end is not built".to_owned() })
}
