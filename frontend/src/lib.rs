//! warpweave.
