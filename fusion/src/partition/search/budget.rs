//! How long a search may go on.

use std::fmt;

/// When a search ends before it is done. It asks between its steps; once it is told to end, what it has found so far is its
/// result.
#[derive(Clone, Copy)]
pub struct Budget<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Budget<'a> {
    /// A search that ends when it is done.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// A search that ends once `is_spent` says so; from then on it must always say so.
    pub fn until(is_spent: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self(Some(is_spent))
    }

    /// Whether the search should end.
    pub fn is_spent(&self) -> bool {
        self.0.is_some_and(|is_spent| is_spent())
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Budget::until" } else { "Budget::unlimited" })
    }
}
