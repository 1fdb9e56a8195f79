//! Plans and kernels as text that parses back.

use std::fmt::{Debug, Display};

use warpweave::codegen::kernel_ir::{Program, text as kernel_text};
use warpweave::graph::text::reader::TextError;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::text as plan_text;

use crate::pipeline::Compiled;

/// Asserts that the plan and the kernels of a program parse back.
#[track_caller]
pub fn check(compiled: &Compiled) {
    check_plan(compiled.plan.plan());
    check_kernels(&compiled.lowered.program);
}

/// Asserts that a plan parses back.
#[track_caller]
pub fn check_plan(plan: &ExecutionPlan) {
    parses_back(plan, plan_text::parse);
}

/// Asserts that kernels parse back.
#[track_caller]
pub fn check_kernels(program: &Program) {
    parses_back(program, kernel_text::parse);
}

/// Asserts that what a value prints as is parsed to an equal value.
#[track_caller]
pub fn parses_back<T: Display + Debug + PartialEq>(value: &T, parse: impl Fn(&str) -> Result<T, TextError>) {
    let text = value.to_string();
    let parsed = parse(&text).unwrap_or_else(|error| {
        panic!("{error}: {}", text.lines().nth(error.line - 1).unwrap_or_default());
    });
    if parsed == *value {
        return;
    }
    let again = parsed.to_string();
    let different = text.lines().zip(again.lines()).find(|(one, other)| one != other);
    panic!("another value is parsed back; first other line: {different:?}");
}
