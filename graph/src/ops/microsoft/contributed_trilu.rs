//! `com.microsoft.Trilu`: a triangle of every matrix.

use super::delegate::delegate;
use crate::ops::trilu::Trilu;

delegate!(
    /// As [`Trilu`].
    ContributedTrilu,
    "Trilu",
    Trilu
);
