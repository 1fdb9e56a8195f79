//! The small models of tests/models, with the outputs that are stored beside them.

use std::path::{Path, PathBuf};

use super::bundles::{Model, Wanted};
use super::options::{Backend, Scale};

/// Where the small models are, below the repository's root.
const FOLDER: &str = "tests/models";
/// Those of a reduced run.
const FEW: [&str; 4] = ["bert/dynamo", "dlrm/torchscript", "lstm/torchscript", "vit/dynamo"];
/// The one that shows whether a back end works at all.
const SMOKE: &str = "bert/dynamo";
/// Those that run under compute-sanitizer if none differed.
pub const SANITIZED: [&str; 2] = ["lstm/torchscript", "dlrm/torchscript"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fixture {
    pub name: String,
    pub path: PathBuf,
    /// The archive of its inputs and outputs.
    pub io: PathBuf,
}

impl Fixture {
    /// Its bundle for a back end.
    pub fn wanted(&self, backend: Backend) -> Wanted {
        Wanted { model: Model::Fixture { name: self.name.clone(), path: self.path.clone() }, backend }
    }
}

/// The small models that are there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fixtures(Vec<Fixture>);

impl Fixtures {
    /// Those of the repository that the current folder, or the program, is in; none outside of one.
    pub fn find() -> Self {
        let starts = [std::env::current_dir(), std::env::current_exe()].into_iter().flatten();
        let roots: Vec<PathBuf> =
            starts.flat_map(|start| start.ancestors().map(Path::to_owned).collect::<Vec<_>>()).collect();
        let folder = roots.into_iter().map(|root| root.join(FOLDER)).find(|folder| folder.is_dir());
        folder.map_or_else(Self::default, |folder| Self::of(&folder))
    }

    fn of(folder: &Path) -> Self {
        let list = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            paths.sort();
            paths
        };
        let mut found = Vec::new();
        for path in list(folder).iter().filter(|path| path.is_dir()).flat_map(|folder| list(folder)) {
            let io = path.with_file_name("io.npz");
            let is_model = path.extension().is_some_and(|end| end == "onnx");
            let names = (path.parent().and_then(Path::file_name), path.file_stem());
            if let (true, true, (Some(parent), Some(stem))) = (is_model, io.is_file(), names) {
                let name = format!("{}/{}", parent.to_string_lossy(), stem.to_string_lossy());
                found.push(Fixture { name, path: path.clone(), io });
            }
        }
        Self(found)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn all(&self) -> &[Fixture] {
        &self.0
    }

    pub fn named(&self, name: &str) -> Option<&Fixture> {
        self.0.iter().find(|fixture| fixture.name == name)
    }

    /// Those that are compared.
    pub fn chosen(&self, scale: Scale) -> Vec<&Fixture> {
        let is_chosen = |fixture: &&Fixture| match scale {
            Scale::Full => true,
            Scale::Reduced => FEW.contains(&fixture.name.as_str()),
        };
        self.0.iter().filter(is_chosen).collect()
    }

    /// The one that a smoke test compares.
    pub fn smoke_fixture(&self) -> Option<&Fixture> {
        self.named(SMOKE)
    }

    /// Its bundle.
    pub fn smoke(&self, backend: Backend) -> Option<Wanted> {
        self.smoke_fixture().map(|fixture| fixture.wanted(backend))
    }
}
