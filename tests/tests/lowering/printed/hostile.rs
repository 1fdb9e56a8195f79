//! Cut and shuffled texts give an error or a value that prints, never a panic.

use std::fmt::{Debug, Display};

use warpweave::codegen::kernel_ir::text as kernel_text;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::text::reader::TextError;
use warpweave::plan::text as plan_text;
use warpweave_tests::pipeline::compile;
use warpweave_tests::printed::parses_back;
use warpweave_tests::random::Random;
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

/// Texts made from each sample.
const SWAPS: usize = 2000;

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("refused texts are told where", places);
    for name in ["concat", "convolutions", "gather", "softmax"] {
        suite.trial(format!("hostile texts from {name}"), move || {
            let sample = samples::all().into_iter().find(|sample| sample.name == name).expect("there is such a sample");
            let compiled = compile(&sample.program, 3, FusionLevel::Full);
            check(&compiled.plan.plan().to_string(), plan_text::parse);
            check(&compiled.lowered.program.to_string(), kernel_text::parse);
        });
    }
}

/// Texts that are wrong in one place: the line and the column of that place, and a part of what is expected there.
fn places() {
    let plan = |text: &str, place: (usize, usize), part: &str| {
        refused(plan_text::parse(text).map(|plan| plan.to_string()), place, part);
    };
    plan("", (1, 1), "`memory`");
    plan("memory arena 1", (1, 15), "`weights`");
    plan("memory arena 0 weights 0\n  t1: f32[] unused", (2, 3), "the declaration of `t0`");
    plan("memory arena 0 weights 0\n  t0: f32[9999999999x9999999999] unused", (2, 11), "a smaller shape");
    plan("memory arena 0 weights 0\n  t0: f32[] arena 8..4", (2, 22), "a later byte");
    plan("memory arena 0 weights 0\ninputs [t0]", (2, 9), "a tensor");
    let empty = "memory arena 0 weights 0 inputs [] outputs [] constants []\nsegment persistent\n";
    plan(&format!("{empty}vEU 0: run o0.0"), (3, 12), "an rOperator");
    plan(&format!("{empty}vEU 1:"), (3, 5), "unit 0");
    plan(&format!("{empty}o0: tiled"), (3, 5), "a template");
    let operator =
        format!("{empty}o0: staged tile none, 0.5 us a task, 0.0 prologue tile axes 0, reads [], writes []\n");
    plan(&format!("{operator}vEU 0: run o0.0-4294967295"), (4, 16), "instructions");
    plan(&format!("{operator}vEU 0: run o0.4-3"), (4, 16), "a later tile");
    let kernels = |text: &str, place: (usize, usize), part: &str| {
        refused(kernel_text::parse(text).map(|program| program.to_string()), place, part);
    };
    kernels("threads x", (1, 9), "threads of a block");
    kernels("threads 32 entry {\n  v0 = 1\n}", (2, 3), "a declared variable");
    kernels("threads 32 entry {\n  locals v0: i32\n  v0 = add(1)\n}", (3, 12), "2 operands");
    kernels("threads 32 entry {\n  hop\n}", (2, 3), "a statement");
    kernels("threads 32 entry {\n  call k0(0, 0)\n}", (2, 8), "an earlier kernel");
    kernels("threads 32 entry { }\n}", (2, 1), "the end of the text");
    let nodes = "threads 32 kernel k0 { } entry { } nodes\nnode k0 { }\nnode k0 { }";
    kernels(nodes, (3, 6), "a later kernel");
    kernels("threads 32 entry { } nodes\nnode k0 { }", (2, 6), "a declared kernel");
    let deep = format!("threads 32 entry {{\n  store arena f32[{}", "neg(".repeat(300));
    kernels(&deep, (2, 19 + 4 * 256), "nested");
    let blocks = format!("threads 32 entry {{\n{}", "loop {".repeat(300));
    kernels(&blocks, (2, 1 + 6 * 257), "nested");
}

#[track_caller]
fn refused(parsed: Result<String, TextError>, place: (usize, usize), part: &str) {
    let error = parsed.expect_err(part);
    assert_eq!((error.line, error.column), place, "{error}");
    assert!(error.expected.contains(part), "{error}");
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
            match random.below(5) {
                0 => tokens.swap(one, other),
                1 => tokens[one] = tokens[other],
                2 => tokens[one] = "99999999999999999999",
                3 => tokens[one] = "é",
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

/// Words, tags and white space in turn.
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
