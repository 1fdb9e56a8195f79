//! A model: a program with names.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use warpweave_frontend::{Bytes, DeclaredPort, Files, ImportError, ImportOptions, declared_ports, import_from};
use warpweave_graph::counted;
use warpweave_graph::index_check::IndexCheck;
use warpweave_graph::ir::Origin;
use warpweave_graph::passes::InvalidRewrite;
use warpweave_graph::pipeline::{self, Selection};
use warpweave_graph::program::verify::ProgramError;
use warpweave_graph::program::{Source, TensorId};
use warpweave_graph::training::TrainingError;
use warpweave_graph::{Graph, TensorProgram, lower};
use warpweave_runtime::bundle::{ModelRecord, Port, Signature, TrainingRecord, WeightFile, file_hash};
use warpweave_runtime::mapped;

use crate::program_file::{ProgramFileError, is_program, read_program};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is refused.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A pass is wrong: an error of warpweave.
    #[error(transparent)]
    Rewrite(#[from] InvalidRewrite),
    /// The lowering of an operator is wrong: an error of warpweave.
    #[error("the program does not verify: {0}")]
    Program(#[from] ProgramError),
    /// The text of a program is refused.
    #[error(transparent)]
    ProgramFile(#[from] ProgramFileError),
    /// There is no training step of the model.
    #[error(transparent)]
    Training(#[from] TrainingError),
}

/// A program whose inputs and outputs have names.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Name and hash.
    pub record: ModelRecord,
    /// Inputs and outputs, in the program's order.
    pub signature: Signature,
    /// What is computed.
    pub program: TensorProgram,
    /// The graph that the program was made from, after the passes over graphs; none where the program came first.
    pub graph: Option<Graph>,
    /// What the bundle of a training step says beside that.
    pub training: Option<TrainingRecord>,
    /// The files that the model came of, in which most constants still lie; they must stay as they are.
    pub files: Vec<WeightFile>,
}

/// Files that are mapped, each once.
#[derive(Default)]
struct MappedFiles {
    known: RefCell<Vec<WeightFile>>,
}

impl MappedFiles {
    fn whole(&self, path: &Path) -> io::Result<Bytes> {
        let mut known = self.known.borrow_mut();
        if let Some(file) = known.iter().find(|file| file.path == path) {
            return Ok(file.bytes.clone());
        }
        let bytes = mapped::map(path)?;
        known.push(WeightFile { path: path.to_owned(), bytes: bytes.clone() });
        Ok(bytes)
    }
}

impl Files for MappedFiles {
    // A mapping takes no memory, so the limit is import's to judge.
    fn model(&self, path: &Path, _limit: u64) -> io::Result<Bytes> {
        self.whole(path)
    }

    fn constant(&self, path: &Path, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.whole(path)?;
        let place = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
        let (start, end) = place(range.start).zip(place(range.end)).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(bytes.slice(start..end))
    }
}

impl Model {
    /// The model in an ONNX file, or the program in a file as [`crate::program_file`] has it.
    pub fn import(path: &Path, options: &ImportOptions) -> Result<Self, ModelError> {
        Self::import_with(path, options, &Selection::default())
    }

    /// The same after chosen passes over graphs.
    pub fn import_with(path: &Path, options: &ImportOptions, passes: &Selection) -> Result<Self, ModelError> {
        if is_program(path) {
            return Ok(read_program(path)?);
        }
        Ok(Self::from_file(path, options, |graph| Ok((Self::from_graph_with(graph, passes)?, ())))?.0)
    }

    /// What `make` makes of the graph in an ONNX file, with the file's record.
    pub(crate) fn from_file<T>(
        path: &Path,
        options: &ImportOptions,
        make: impl FnOnce(&Graph) -> Result<(Self, T), ModelError>,
    ) -> Result<(Self, T), ModelError> {
        thread::scope(|scope| {
            let hash = scope.spawn(|| file_hash(path));
            let files = MappedFiles::default();
            let (mut model, beside) = make(&import_from(path, options, &files)?)?;
            model.files = files.known.into_inner();
            let hash = hash.join().unwrap_or_else(|panic| resume_unwind(panic));
            // Import has mapped the file; if it cannot be read as well, the manifest names no model.
            model.record.blake3 = hash.unwrap_or_default();
            let fixed = options.constants.iter();
            model.record.constants = fixed.map(|(name, value)| (name.clone(), value.to_string())).collect();
            Ok((model, beside))
        })
    }

    /// The inputs and outputs of an ONNX file as it declares them, open dimensions included.
    pub fn declared(path: &Path) -> Result<(Vec<DeclaredPort>, Vec<DeclaredPort>), ModelError> {
        let bytes = mapped::map(path).map_err(|error| ImportError::File { path: path.to_owned(), error })?;
        Ok(declared_ports(bytes)?)
    }

    /// A graph after all passes.
    pub fn from_graph(graph: &Graph) -> Result<Self, ModelError> {
        Self::from_graph_with(graph, &Selection::default())
    }

    /// A graph after chosen passes over graphs.
    pub fn from_graph_with(graph: &Graph, passes: &Selection) -> Result<Self, ModelError> {
        let graph = pipeline::optimize(graph, passes)?;
        let inputs: Vec<String> = graph.inputs.iter().map(|&value| graph.values[value].name.clone()).collect();
        let outputs: Vec<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
        let program = lower(&graph);
        program.verify()?;
        let mut model = Self::new(&graph.name, program, &inputs, &outputs);
        model.signature.outputs.truncate(counted::shown(graph.outputs.len(), &graph.counted));
        model.signature.counted = graph.counted.clone();
        for (port, &input) in model.signature.inputs.iter_mut().zip(&graph.inputs) {
            port.default = match &graph.values[input].origin {
                Origin::Input(default) => default.clone(),
                Origin::Constant(_) | Origin::Variable(_) | Origin::Node(..) => None,
            };
        }
        model.graph = Some(graph);
        Ok(model)
    }

    /// The files that it came of: the model's own and those of its external data.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// A program with names for its inputs and outputs; as many as there are.
    ///
    /// # Panics
    /// If there are more or fewer names.
    pub fn new(name: &str, program: TensorProgram, inputs: &[String], outputs: &[String]) -> Self {
        assert_eq!((inputs.len(), outputs.len()), (program.inputs.len(), program.outputs.len()), "a name for each");
        let port = |(name, tensor): (&String, &TensorId)| Port {
            name: name.clone(),
            ty: program.tensors[*tensor].ty.clone(),
            index_limit: None,
            default: None,
        };
        let mut signature = Signature {
            inputs: inputs.iter().zip(&program.inputs).map(port).collect(),
            outputs: outputs.iter().zip(&program.outputs).map(port).collect(),
            counted: Vec::new(),
        };
        for (position, limit) in index_limits(&program).into_iter().enumerate() {
            signature.inputs[position].index_limit = limit;
        }
        Self {
            record: ModelRecord { name: name.to_owned(), ..ModelRecord::default() },
            signature,
            program,
            graph: None,
            training: None,
            files: Vec::new(),
        }
    }
}

/// Per input, the smallest extent of an axis that its elements index.
fn index_limits(program: &TensorProgram) -> Vec<Option<u64>> {
    let mut limits = vec![None; program.inputs.len()];
    for IndexCheck { tensor, extent } in IndexCheck::of(program) {
        let extent = extent.unsigned_abs();
        for input in integer_inputs(program, tensor) {
            let limit: &mut Option<u64> = &mut limits[input];
            *limit = Some(limit.map_or(extent, |known| known.min(extent)));
        }
    }
    limits
}

/// The positions of the integer inputs that a tensor is computed from through integers alone.
fn integer_inputs(program: &TensorProgram, tensor: TensorId) -> Vec<usize> {
    let mut inputs = Vec::new();
    let mut seen = BTreeSet::new();
    let mut left = vec![tensor];
    while let Some(tensor) = left.pop() {
        let definition = &program.tensors[tensor];
        if !definition.ty.element.is_integer() || !seen.insert(tensor) {
            continue;
        }
        match &definition.source {
            Source::Input(position) => inputs.push(*position),
            Source::Constant(_) | Source::State(_) => {}
            Source::Statement(statement) => left.extend(&program.statements[*statement].operands),
        }
    }
    inputs
}
