//! Which passes run before a program is partitioned.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::Args;
use warpweave::graph::pipeline::{PassId, Selection, UnknownPass};
use warpweave::runtime::json::{Value, json};

use crate::error::CliError;

/// Arguments that choose passes.
#[derive(Args)]
pub struct PassArguments {
    /// The passes to run, in the order of the list, and those that plans need: names such as dead_code,view_inlining, or none;
    /// list prints all passes and ends
    #[arg(long, value_delimiter = ',', value_name = "PASS")]
    passes: Vec<PassChoice>,
    /// The last pass to run. No plan is made and no bundle is written: --emit shows what there is then, the graph behind a pass over
    /// graphs and the program behind one over programs
    #[arg(long, value_name = "PASS", requires = "emit")]
    stop_after: Option<PassId>,
}

/// A value of `--passes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PassChoice {
    /// Print all.
    List,
    /// Only those that plans need.
    None,
    /// This one.
    Pass(PassId),
}

impl FromStr for PassChoice {
    type Err = UnknownPass;

    fn from_str(word: &str) -> Result<Self, UnknownPass> {
        match word {
            "list" => Ok(Self::List),
            "none" => Ok(Self::None),
            name => name.parse().map(Self::Pass),
        }
    }
}

impl PassArguments {
    /// Whether the passes are to be printed.
    pub fn wants_list(&self) -> bool {
        self.passes.contains(&PassChoice::List)
    }

    /// The passes that run.
    pub fn selection(&self) -> Result<Selection, CliError> {
        if self.passes.len() > 1 && self.passes.contains(&PassChoice::None) {
            return Err(CliError::Usage("--passes takes either none or names of passes".to_owned()));
        }
        let pass = |choice: &PassChoice| match choice {
            PassChoice::Pass(pass) => Some(*pass),
            PassChoice::List | PassChoice::None => None,
        };
        let chosen: BTreeSet<PassId> = self.passes.iter().filter_map(pass).collect();
        let only = Some(chosen).filter(|_| !self.passes.is_empty());
        Ok(Selection { only, last: self.stop_after })
    }
}

/// All passes: a record of each, and lines.
pub fn list() -> (Value, String) {
    let mut text = String::new();
    let mut records = Vec::new();
    for pass in PassId::all() {
        let needed = if pass.is_required() { ", always" } else { "" };
        text.push_str(&format!("{:<30} {}{needed}\n", pass.name(), pass.level()));
        records.push(json!({"pass": pass.name(), "level": pass.level().to_string(), "always": pass.is_required()}));
    }
    (json!({ "passes": records }), text)
}
