//! What is known of a model before it is built.

use crate::builder::Builder;
use crate::error::ModelError;
use crate::model::Model;
use crate::options::{BuildOptions, Form, Scale};

/// What a model is made of, in the main.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Convolutions over images.
    Convolutional,
    /// Attention over sequences.
    Transformer,
    /// States that pass from step to step.
    Recurrent,
    /// Embeddings and small linear layers.
    Recommendation,
}

impl Family {
    /// The family's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Convolutional => "convolutional",
            Self::Transformer => "transformer",
            Self::Recurrent => "recurrent",
            Self::Recommendation => "recommendation",
        }
    }
}

/// A model of the zoo.
#[derive(Clone, Copy, Debug)]
pub struct ModelInfo {
    /// The name by which it is built.
    pub name: &'static str,
    /// What it is made of.
    pub family: Family,
    /// The published number of learnable parameters, tied weights once; `None` where none is published.
    pub parameters: Option<u64>,
    /// One line for people: the architecture with its sizes and where it was published.
    pub summary: &'static str,
    pub(crate) build: fn(&mut Builder),
}

impl ModelInfo {
    /// Whether it has recurrent layers, which can be unrolled.
    pub fn has_forms(&self) -> bool {
        self.family == Family::Recurrent
    }

    pub fn build(&self, options: &BuildOptions) -> Result<Model, ModelError> {
        if options.batch == 0 {
            return Err(ModelError::Batch { model: self.name });
        }
        if options.form == Form::Unrolled && !self.has_forms() {
            return Err(ModelError::Form { model: self.name });
        }
        let mut builder = Builder::new(self.name, options);
        (self.build)(&mut builder);
        let name = match options.scale {
            Scale::Full => self.name.to_owned(),
            Scale::Reduced => format!("{}{REDUCED}", self.name),
        };
        Ok(Model::new(name, builder))
    }
}

/// What the names of reduced models end with.
const REDUCED: &str = "-reduced";

/// The name of the full-size model, if `name` is that of a reduced one.
pub fn reduced_from(name: &str) -> Option<&str> {
    name.strip_suffix(REDUCED)
}
