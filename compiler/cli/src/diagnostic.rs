//! An error as people and programs are shown it.

use warpweave::runtime::json::{Value, json};

use super::culprits::culprits;
use super::error::CliError;

/// An error as it is shown: as text to people, as JSON to programs.
pub struct Diagnostic {
    /// A short name of the kind of error that stays the same across versions.
    pub code: &'static str,
    /// What is wrong, with whom. It may end with what to do.
    pub message: String,
    /// What to do, where the message does not say it.
    pub help: Option<String>,
    /// What the error is about.
    pub culprits: Vec<Value>,
}

impl Diagnostic {
    /// That of an error.
    pub fn of(error: &CliError) -> Self {
        let help = error.help().map(|help| help.into_owned());
        Self { code: error.code(), message: error.to_string(), help, culprits: culprits(error) }
    }

    /// For people.
    pub fn text(&self) -> String {
        let help = self.help.as_ref().map(|help| format!("\n  help: {help}"));
        format!("error[{}]: {}{}", self.code, self.message, help.unwrap_or_default())
    }

    /// For programs.
    pub fn value(&self) -> Value {
        json!({"code": self.code, "message": self.message, "help": self.help, "culprits": self.culprits})
    }
}
