//! What is told of an error, to people as text and to programs as JSON.

use warpweave::runtime::json::{Value, json};

use super::culprits::culprits;
use super::error::CliError;

/// An error as it is told.
pub struct ToldError {
    /// A short name of the kind of error that stays the same across versions.
    pub code: &'static str,
    /// What is wrong, with whom.
    pub message: String,
    /// What to do, where the message does not end with it.
    pub help: Option<String>,
    /// What the error is about.
    pub culprits: Vec<Value>,
}

/// What stands in a message between what is wrong and what to do.
const BEFORE_REMEDY: &str = "; ";

impl ToldError {
    /// What is told of this error.
    pub fn of(error: &CliError) -> Self {
        let help = error.help().map(|help| help.into_owned());
        Self { code: error.code(), message: error.to_string(), help, culprits: culprits(error) }
    }

    /// For people.
    pub fn text(&self) -> String {
        let help = self.help.as_ref().map(|help| format!("\n  help: {help}"));
        format!("error[{}]: {}{}", self.code, self.message, help.unwrap_or_default())
    }

    /// For programs. What to do stands alone here, wherever the text has it.
    pub fn value(&self) -> Value {
        // Messages of several lines end with lists and logs.
        let line = Some(&self.message).filter(|message| !message.contains('\n'));
        let in_message = || line?.rsplit_once(BEFORE_REMEDY).map(|(_, remedy)| remedy);
        let help = self.help.as_deref().or_else(in_message);
        json!({"code": self.code, "message": self.message, "help": help, "culprits": self.culprits})
    }
}
