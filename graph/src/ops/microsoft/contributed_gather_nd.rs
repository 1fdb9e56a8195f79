//! `com.microsoft.GatherND`: elements or slices at tuples of indices.

use super::delegate::delegate;
use crate::ops::gather_nd::GatherNd;

delegate!(
    /// As [`GatherNd`].
    ContributedGatherNd,
    "GatherND",
    GatherNd
);
