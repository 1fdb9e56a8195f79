//! Why there is no training step.

use super::loss::LossError;
use crate::autodiff::AutodiffError;
use crate::legible::legible;
use crate::passes::InvalidRewrite;

/// Why there is no training step of a model.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TrainingError {
    /// The model has no such output.
    #[error("the model has no output `{}`; it has {}", legible(.wanted), shown(.known))]
    Output {
        wanted: String,
        /// The outputs that there are.
        known: Vec<String>,
    },
    /// The output has no such loss.
    #[error("output `{}`: {error}", legible(.output))]
    Loss {
        output: String,
        /// Why.
        error: LossError,
    },
    /// An input has a name that the step needs.
    #[error("the model has an input `{}`, which is the name of an input of the step", legible(.0))]
    Input(String),
    /// An output's extents depend on data.
    #[error("the extents of the model's outputs depend on data, which a training step does not support")]
    Counted,
    /// No tensor can be trained.
    #[error(
        "the model has no initializer of singles or doubles that could be trained; scalars, integers and the values of Constant nodes do \
             not train"
    )]
    Nothing,
    /// The loss does not depend on tensors.
    #[error("the loss does not depend on {} by any differentiable path: {}; freeze what is not to be trained", shown(.tensors), ends(.nodes))]
    NoPath {
        tensors: Vec<String>,
        /// The nodes that the loss depends on and that pass no gradient on to them.
        nodes: Vec<String>,
    },
    /// One of two running statistics is frozen.
    #[error(
        "node `{}`: `{}` is frozen and the other running statistic, `{}`, is not; freeze both, or neither",
        legible(.node), legible(.frozen), legible(.kept)
    )]
    StatisticsApart {
        node: String,
        /// The statistic that is kept up.
        kept: String,
        /// The one that is not.
        frozen: String,
    },
    /// A normalisation has statistics of places, which no batch has.
    #[error("node `{}` has running statistics of each place, which are not trained: freeze them", legible(.0))]
    StatisticsOfPlaces(String),
    /// A running statistic is read as something else.
    #[error(
        "initializer `{}` is a running statistic of node `{}` and input {input} of node `{}`; a step changes statistics and \
         trains parameters by different rules, so give each its own initializer, or freeze it",
        legible(.name), legible(.keeper), legible(.reader)
    )]
    SharedStatistic {
        name: String,
        /// The normalisation that keeps it.
        keeper: String,
        /// A node that reads it otherwise.
        reader: String,
        /// Which input of that node it is.
        input: usize,
    },
    /// An initializer's name means something else in files of states.
    #[error(
        "initializer `{}` cannot be trained under this name, which saved states use for something else; rename it, or freeze it"
    , legible(.0))]
    Name(String),
    /// There is no gradient.
    #[error(transparent)]
    Autodiff(#[from] AutodiffError),
    /// A pass is wrong: an error of warpweave.
    #[error(transparent)]
    Rewrite(#[from] InvalidRewrite),
}

fn shown(names: &[String]) -> String {
    const MOST: usize = 4;
    let mut shown = names.iter().take(MOST).map(|name| format!("`{}`", legible(name))).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        shown.push_str(&format!(" and {} more", names.len() - MOST));
    }
    shown
}

fn ends(nodes: &[String]) -> String {
    match nodes.is_empty() {
        true => "no node that it is computed from reads them".to_owned(),
        false => format!("it ends at {}", shown(nodes)),
    }
}
