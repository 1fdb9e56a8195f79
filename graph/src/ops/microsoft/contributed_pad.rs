//! `com.microsoft.Pad`: a tensor with more elements at the ends of its dimensions.

use super::delegate::delegate;
use crate::ops::pad::Pad;

delegate!(
    /// As [`Pad`].
    ContributedPad,
    "Pad",
    Pad
);
