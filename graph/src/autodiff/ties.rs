//! Whose share of a gradient it is where several values are the largest, or the smallest.

/// Which of equal values a maximum or minimum hands its gradient to. Away from ties all are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ties {
    /// All of them, in equal shares, as `torch.amax` and `torch.maximum` do.
    #[default]
    Shared,
    /// The first, as `torch.nn.functional.max_pool2d` and `torch.clamp` do.
    First,
    /// The last, as `torch.relu` does of `max(x, 0)`.
    Last,
    /// None: the result does not depend on the extreme, which only keeps exponentials within range, as in a softmax.
    Cancelled,
}
