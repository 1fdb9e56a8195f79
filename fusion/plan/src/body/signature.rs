//! What a kernel computes, as text without names: equal texts are the same problem.

use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use crate::body::{GroupBody, Stage, StageSource};

/// The text of a [`GroupBody`] whose operands are numbered: stages with element types, extents and where operands come from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signature(Arc<str>);

impl Signature {
    /// The signature of a body.
    pub fn of(body: &GroupBody) -> Self {
        let mut text = format!("tile axes {}", body.tile_rank);
        let staged = body.staged.iter().map(|stage| ("staged", stage));
        for (kind, stage) in staged.chain(body.stages.iter().map(|stage| ("stage", stage))) {
            let procedure = stage.procedure.map(|procedure| format!(" by {procedure}")).unwrap_or_default();
            let _ = write!(text, "; {kind} {}{procedure} {} <-", stage.expr.element, stage.expr);
            sources(&mut text, stage);
            if let Some(output) = &stage.output {
                let index: Vec<String> = output.index.iter().map(ToString::to_string).collect();
                let _ = write!(text, " -> {}[{}]", output.position, index.join(", "));
            }
        }
        Self(text.into())
    }

    /// A hash that is the same on every machine (64-bit FNV-1a of the text).
    pub fn hash(&self) -> u64 {
        self.0.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

fn sources(text: &mut String, stage: &Stage) {
    for (source, ty) in stage.sources.iter().zip(&stage.expr.operands) {
        let _ = match source {
            StageSource::Operand(operand) => write!(text, " operand{operand}:{ty}"),
            StageSource::Stage(earlier) => write!(text, " stage{earlier}:{ty}"),
            StageSource::Staged(earlier) => write!(text, " staged{earlier}:{ty}"),
        };
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no [`Signature`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a signature is one line of text without tabs")]
pub struct NoSignature;

impl FromStr for Signature {
    type Err = NoSignature;

    fn from_str(text: &str) -> Result<Self, NoSignature> {
        let plain = !text.is_empty() && !text.contains(char::is_control);
        if plain { Ok(Self(text.into())) } else { Err(NoSignature) }
    }
}
