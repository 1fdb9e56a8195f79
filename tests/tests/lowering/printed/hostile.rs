//! Cut and shuffled texts give an error or a value that prints, never a panic.

use std::fmt::{Debug, Display};

use warpweave::codegen::kernel_ir::text as kernel_text;
use warpweave::fusion::partition::FusionLevel;
use warpweave::fusion::schedule::text as plan_text;
use warpweave::graph::text::reader::TextError;
use warpweave_tests::pipeline::compile;
use warpweave_tests::printed::parses_back;
use warpweave_tests::random::Random;
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

/// Texts made from each sample.
const SWAPS: usize = 2000;

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    for name in ["join", "convolutions", "gather", "softmax"] {
        suite.trial(format!("hostile texts from {name}"), move || {
            let sample = samples::all().into_iter().find(|sample| sample.name == name).expect("there is such a sample");
            let compiled = compile(&sample.program, 3, FusionLevel::Full);
            check(&compiled.plan.plan().to_string(), plan_text::parse);
            check(&compiled.lowered.program.to_string(), kernel_text::parse);
        });
    }
}

fn check<T: Display + Debug + PartialEq>(text: &str, parse: fn(&str) -> Result<T, TextError>) {
    let whole = text.trim_end();
    for end in 0..whole.len().min(6_000) {
        judge(&whole[..end], parse);
    }
    let mut random = Random::new(29);
    let tokens = tokens(text);
    for _ in 0..SWAPS {
        let mut tokens = tokens.clone();
        for _ in 0..=random.below(3) {
            let (one, other) = (random.below(tokens.len()), random.below(tokens.len()));
            match random.below(4) {
                0 => tokens.swap(one, other),
                1 => tokens[one] = tokens[other],
                2 => tokens[one] = "99999999999999999999",
                _ => tokens[one] = "-",
            }
        }
        judge(&tokens.concat(), parse);
    }
}

/// A text is refused at a place inside it, or means a value that parses back.
fn judge<T: Display + Debug + PartialEq>(text: &str, parse: fn(&str) -> Result<T, TextError>) {
    match parse(text) {
        Ok(value) => parses_back(&value, parse),
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines + 1).contains(&error.line) && error.column > 0, "{error}");
        }
    }
}

/// Words, marks and white space in turn.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        _ if character.is_alphanumeric() => 0,
        _ if character.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let before = text[start..at].chars().next();
        if before.is_some_and(|before| kind(before) != kind(character) || kind(character) == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
    }
    tokens.push(&text[start..]);
    tokens
}
