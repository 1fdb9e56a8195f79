//! Why a bundle is refused.

use std::io;
use std::path::PathBuf;

#[cfg(feature = "compile")]
use warpweave_graph::legible::file_remedy;
use warpweave_graph::program::verify::ProgramError;

use crate::session::FailureKind;

use super::name::{BundleTarget, EntryName};

/// A bundle that cannot be written or read. Every message names the culprit and what to do.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system refuses.
    // Who only reads bundles is told less, for a smaller program.
    #[cfg_attr(feature = "compile", error("cannot {action} {}: {source}; {}", path.display(), file_remedy(source)))]
    #[cfg_attr(
        not(feature = "compile"),
        error("cannot {action} {}: {source}; check the path and its permissions", path.display())
    )]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is no zip archive, or a cut or damaged one.
    #[error("{} is no readable bundle: {reason}; copy or compile it again", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The archive holds what no bundle holds.
    #[error("the bundle holds the entry `{name}`, which {reason}; compile the model again")]
    Foreign {
        /// The entry's name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An entry is absent.
    #[error("the bundle lacks `{0}`; compile the model again")]
    Missing(EntryName),
    /// An entry's bytes are not those that were written.
    #[error("`{entry}` is damaged ({reason}); copy or compile the bundle again")]
    Damaged {
        /// The entry.
        entry: EntryName,
        /// How that shows.
        reason: String,
    },
    /// The bundle is of another format.
    #[error(
        "the bundle has format version {found}, this program reads version {known}; compile the model again, or use the \
         warpweave that wrote it"
    )]
    Version {
        /// The bundle's version.
        found: u32,
        /// The one that is read.
        known: u32,
    },
    /// A file of constants would not lie beside the bundle.
    #[error(
        "the weights in {} cannot stay there: the bundle has to lie in the same folder under another name; write it there, or \
         compile with --weights inside",
        file.display()
    )]
    Apart {
        /// The file.
        file: PathBuf,
    },
    /// A file of constants beside the bundle is not the one that it was compiled with.
    #[error("the bundle has weights in {}, which {reason}; put the file there that it was compiled with", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The bundle was not compiled for this target.
    #[error("the bundle holds {}, not {wanted}; compile the model with --target {}", list(held), with(wanted, held))]
    Target {
        /// What is needed.
        wanted: String,
        /// What it was compiled for.
        held: Vec<BundleTarget>,
    },
    /// A plan does not verify, so it may not run.
    #[error("the plan for {target} is unsound: {reason}; compile the model again")]
    Plan {
        /// The target.
        target: BundleTarget,
        /// The first violation.
        reason: String,
    },
    /// The program contradicts itself.
    #[error("the program of the bundle is unsound: {0}; compile the model again")]
    Program(#[from] ProgramError),
}

impl BundleError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "bundle-file",
            Self::Archive { .. } => "bundle-archive",
            Self::Foreign { .. } => "bundle-entry",
            Self::Missing(_) => "bundle-missing",
            Self::Damaged { .. } => "bundle-damaged",
            Self::Version { .. } => "bundle-version",
            Self::Apart { .. } => "bundle-apart",
            Self::Weights { .. } => "bundle-weights",
            Self::Target { .. } => "bundle-target",
            Self::Plan { .. } => "bundle-plan",
            Self::Program(_) => "bundle-program",
        }
    }

    /// The sort of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::File { .. } | Self::Apart { .. } => FailureKind::Usage,
            Self::Weights { .. }
            | Self::Archive { .. }
            | Self::Foreign { .. }
            | Self::Missing(_)
            | Self::Damaged { .. }
            | Self::Plan { .. }
            | Self::Program(_) => FailureKind::Damage,
            Self::Version { .. } | Self::Target { .. } => FailureKind::Environment,
        }
    }
}

/// What holds all that there is, and what is needed.
fn with(wanted: &str, held: &[BundleTarget]) -> String {
    let held: String = held.iter().map(|target| format!(",{target}")).collect();
    format!("{wanted}{held}")
}

fn list(targets: &[BundleTarget]) -> String {
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    if names.is_empty() { "no target".to_owned() } else { names.join(" and ") }
}
