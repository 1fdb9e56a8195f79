//! What a caller chooses of a model.

/// What a caller chooses of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// How many examples run at once; at least 1.
    pub batch: usize,
    /// The element type of weights and activations.
    pub precision: Precision,
    /// How recurrent layers are written.
    pub form: Form,
    /// The size of the model.
    pub scale: Scale,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { batch: 1, precision: Precision::Fp32, form: Form::Nodes, scale: Scale::Full }
    }
}

/// The element type of weights and activations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Singles.
    Fp32,
    /// Halves.
    Fp16,
}

/// How recurrent layers are written. Both forms have the same weights and compute the same values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As `LSTM` and `GRU` nodes.
    Nodes,
    /// As the products and activations of every step.
    Unrolled,
}

/// The size of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// As published.
    Full,
    /// The same topology with less width, depth and resolution, for tests: runs within a second on a processor.
    Reduced,
}

impl Scale {
    /// The value for this scale.
    pub(crate) fn pick<T>(self, full: T, reduced: T) -> T {
        match self {
            Self::Full => full,
            Self::Reduced => reduced,
        }
    }
}
