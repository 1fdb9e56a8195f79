//! Pass lists: the names of cases, one a line, sorted.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::case::{Binding, Case, Runtime};

/// The cases that must pass on a runtime.
#[derive(Clone, Debug)]
pub struct PassList {
    runtime: Runtime,
    names: BTreeSet<String>,
}

impl PassList {
    /// The list in the repository; empty if there is none yet.
    pub fn read(runtime: Runtime) -> Self {
        let text = std::fs::read_to_string(path(runtime)).unwrap_or_default();
        Self { runtime, names: text.lines().map(str::to_owned).collect() }
    }

    /// The names.
    pub fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Fails if a case passes that is not listed.
    pub fn assert_complete(&self, cases: &[Case]) {
        let found = self.unlisted(cases);
        assert!(found.is_empty(), "pass and are not listed (BLESS=1 adds them): {found:?}");
    }

    /// Writes the list with these names added.
    pub fn add(mut self, passing: impl IntoIterator<Item = String>) {
        self.names.extend(passing);
        let lines: Vec<String> = self.names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(path(self.runtime), lines.concat()).expect("the list can be written");
    }

    fn unlisted(&self, cases: &[Case]) -> Vec<String> {
        let unlisted = cases.iter().filter(|case| !self.names.contains(&case.name));
        unlisted
            .filter(|case| case.judge(self.runtime, Binding::Needed).is_ok())
            .map(|case| case.name.clone())
            .collect()
    }
}

fn path(runtime: Runtime) -> PathBuf {
    let name = match runtime {
        Runtime::Reference => "reference",
        Runtime::Host => "host",
        Runtime::Emulator => "emulator",
        Runtime::Nvrtc => "nvrtc",
    };
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("onnx").join(format!("{name}.txt"))
}
