//! Mistakes on the command line, as its parser finds them.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use warpweave::runtime::json::{Value, json};

use super::version;
use crate::diagnostic::Diagnostic;
use crate::error::EXIT_USAGE;
use crate::output::Output;

/// Says what the parser says: help and version, or a mistake, as JSON too where that is wanted. What the process exits with.
pub fn report(error: &clap::Error, words: &[OsString], output: &Output) -> u8 {
    if !error.use_stderr() {
        match error.kind() == ErrorKind::DisplayVersion && words.iter().any(|word| word == "--version") {
            true => output.result("version", &version::value(), &version::text()),
            false => output.help(error),
        }
        return match output.written() {
            Ok(()) => 0,
            Err(error) => {
                output.error(&error);
                error.exit_code()
            }
        };
    }
    output.mistake(error);
    let text = error.render().to_string();
    // A list of arguments may stand below what is said of them.
    let message: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let help = Some("`warpweave help COMMAND` lists what a command takes".to_owned());
    output.diagnostic(&Diagnostic { code: "usage", message, help, culprits: culprits(error) });
    EXIT_USAGE
}

fn culprits(error: &clap::Error) -> Vec<Value> {
    let texts = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for name in texts(ContextKind::InvalidArg) {
        let option = name.split([' ', '=']).next().unwrap_or_default().to_owned();
        let mut culprit = json!({"kind": "option", "name": option});
        if let Some(value) = texts(ContextKind::InvalidValue).into_iter().next() {
            culprit["value"] = json!(value);
        }
        let known = [ContextKind::ValidValue, ContextKind::SuggestedArg].map(texts).concat();
        if !known.is_empty() {
            culprit["known"] = json!(known);
        }
        found.push(culprit);
    }
    let command = |name| json!({"kind": "command", "name": name, "known": texts(ContextKind::SuggestedSubcommand)});
    found.extend(texts(ContextKind::InvalidSubcommand).into_iter().map(command));
    found
}
