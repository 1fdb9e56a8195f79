//! `com.microsoft.GridSample`: an image read at places that another tensor names.

use super::delegate::delegate;
use crate::ops::grid_sample::GridSample;

delegate!(
    /// As [`GridSample`].
    ContributedGridSample,
    "GridSample",
    GridSample
);
