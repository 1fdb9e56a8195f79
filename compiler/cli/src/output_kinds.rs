//! The kinds of files that this program writes, and how each is recognised by its content.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use warpweave::explain::{PICTURE_GENERATOR, TRACE_BEGINNING};
use warpweave::frontend::trained_mark;
use warpweave::graph::npy;
use warpweave::models;
use warpweave::runtime::bundle::is_sealed;
use warpweave::runtime::checkpoint;
use warpweave::runtime::npz;
use warpweave::{TimingsFile, read_arch};
use warpweave_measure::lab::{self, costs::Costs, run::RECORD};
use warpweave_measure::report;

/// A kind of file that this program writes and recognises by its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputKind {
    /// A bundle, which ends with a seal.
    Bundle,
    /// A benchmark model, which begins with its producer's name.
    Model,
    /// The file of a benchmark model's weights. It has no mark of its own: it belongs to the model beside it.
    ModelData,
    /// A model with trained weights, which ends with an entry of its metadata.
    TrainedModel,
    /// A page of results, whose head names its generator.
    Page,
    /// Trained tensors, whose metadata have this program's key.
    Tensors,
    /// An array, whose header has this program's spacing.
    Array,
    /// An archive of arrays, which has a comment.
    Arrays,
    /// A picture, whose first element names its generator.
    Picture,
    /// A trace, which names its producer.
    Trace,
    /// The constants of a device.
    Constants,
    /// Recorded times.
    Timings,
    /// The lab's record, which names its format.
    LabRecord,
    /// Another of the lab's results. It has no mark of its own: it belongs to the record beside it.
    LabPart,
    /// What the lab's models take.
    LabCosts,
    /// The text of a level, by what it begins with or holds.
    Text(TextMark),
}

/// How the text of a level is recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextMark {
    /// By its first characters.
    Begins(&'static str),
    /// By what stands near its beginning.
    Holds(&'static str),
}

/// The number of leading bytes in which a file's mark is looked for.
const BEGINNING: u64 = 64 << 10;

impl OutputKind {
    /// The kind as messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Model => "benchmark model",
            Self::ModelData => "file of weights beside a benchmark model",
            Self::TrainedModel => "model with trained weights",
            Self::Page => "page of results",
            Self::Tensors => "file of trained tensors",
            Self::Array => "array",
            Self::Arrays => "archive of arrays",
            Self::Picture => "picture",
            Self::Trace => "trace",
            Self::Constants => "file of constants",
            Self::Timings => "file of times",
            Self::LabRecord => "record of the lab",
            Self::LabPart => "file beside a record of the lab",
            Self::LabCosts => "file of costs of the lab",
            Self::Text(_) => "text of this level",
        }
    }

    /// Whether the file at a path is of this kind. An empty one is of every kind.
    pub fn is(self, path: &Path) -> io::Result<bool> {
        let mut beginning = Vec::new();
        fs::File::open(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
        let holds = |mark: &str| beginning.windows(mark.len()).any(|part| part == mark.as_bytes());
        Ok(beginning.is_empty()
            || match self {
                Self::Bundle => is_sealed(path)?,
                Self::Model => beginning.starts_with(&models::beginning()) && !ends_with(path, &trained_mark())?,
                Self::ModelData => Self::Model.is(&path.with_extension("")).unwrap_or(false),
                Self::TrainedModel => ends_with(path, &trained_mark())?,
                Self::Page => holds(report::GENERATOR),
                Self::Tensors => holds(checkpoint::TRAINING),
                Self::Array => npy::is_printed(&beginning),
                Self::Arrays => npz::is_printed(path)?,
                Self::Picture => holds(PICTURE_GENERATOR),
                Self::Trace => beginning.starts_with(TRACE_BEGINNING.as_bytes()),
                Self::Constants => read_arch(path).is_ok(),
                Self::Timings => TimingsFile::read(path).is_ok(),
                Self::LabRecord => holds(lab::FORMAT),
                Self::LabPart => Self::LabRecord.is(&path.with_file_name(RECORD)).unwrap_or(false),
                Self::LabCosts => Costs::read(path).is_some(),
                Self::Text(TextMark::Begins(mark)) => beginning.starts_with(mark.as_bytes()),
                Self::Text(TextMark::Holds(mark)) => holds(mark),
            })
    }
}

fn ends_with(path: &Path, mark: &[u8]) -> io::Result<bool> {
    let mut file = fs::File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(mark.len() as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end == mark)
}
