//! A case of `reduce` as a folder: the program, its arrays, and a file test.

use std::path::Path;

use warpweave::graph::program::text;
use warpweave::graph::{ElementType, Tensor};
use warpweave::program_file::{constants_path, input_names, print_constants};
use warpweave::reduce::Case;
use warpweave::runtime::json::{self, Value};

use crate::arguments::arrays::print_archive;
use crate::error::CliError;
use crate::output::write_file;

/// The program's text.
pub const PROGRAM: &str = "program.txt";
/// Inputs, and the outputs that are right.
pub const ARRAYS: &str = "io.npz";
/// A file test, where the program is small enough to be one.
const FILE_TEST: &str = "filetest.txt";
/// Most elements of the inputs of a file test, which stand on one line.
const MOST_ELEMENTS: usize = 4096;

/// Leaves the program with its inputs and right outputs, a file test, and what is told of the failure.
pub fn write(folder: &Path, case: &Case, expected: &[Tensor], told: &Value) -> Result<(), CliError> {
    write_program(folder, case, expected)?;
    if let Some(test) = file_test(case, expected) {
        write_file(&folder.join(FILE_TEST), test.as_bytes())?;
    }
    let mut told = told.clone();
    if let Value::Object(fields) = &mut told {
        fields.insert("schema".to_owned(), "warpweave.reduced/1".into());
    }
    let text = json::to_string_pretty(&told).unwrap_or_else(|error| error.to_string());
    write_file(&folder.join("case.json"), text.as_bytes())
}

/// Writes the program and its arrays.
pub fn write_program(folder: &Path, case: &Case, expected: &[Tensor]) -> Result<(), CliError> {
    let path = folder.join(PROGRAM);
    write_file(&path, text::print(&case.program).as_bytes())?;
    if let Some(constants) = print_constants(&case.program) {
        write_file(&constants_path(&path), &constants)?;
    }
    let inputs = input_names(&case.program).into_iter().map(|name| format!("in_{name}")).zip(&case.inputs);
    let outputs = expected.iter().enumerate().map(|(position, output)| (format!("out_{position}"), output));
    let arrays: Vec<(String, &Tensor)> = inputs.chain(outputs).collect();
    let bytes = print_archive(arrays.iter().map(|(name, tensor)| (name.as_str(), *tensor)));
    let bytes = bytes.ok_or_else(|| CliError::WrongOutputs("no archive holds the case".to_owned()))?;
    write_file(&folder.join(ARRAYS), &bytes)
}

/// A file test that every device must pass; `None` where inputs are too large, or constants are named by their hash.
fn file_test(case: &Case, expected: &[Tensor]) -> Option<String> {
    let elements: usize = case.inputs.iter().chain(expected).map(|tensor| tensor.shape().elements()).sum();
    if elements > MOST_ELEMENTS || !text::tensors(&case.program).is_empty() {
        return None;
    }
    let names = input_names(&case.program);
    if names.iter().any(|name| name.contains(|sign: char| sign.is_whitespace() || sign == '=')) {
        return None;
    }
    let inputs = names.iter().zip(&case.inputs).map(|(name, tensor)| format!(" {name}={}", numbers(tensor).join(",")));
    let outputs = expected.iter().map(|tensor| format!("  {}: {}\n", tensor.ty(), numbers(tensor).join(" ")));
    Some(format!(
        "{}\n==== devices{}\nreference, host, emulator, text, machine-code:\n{}",
        text::print(&case.program),
        inputs.collect::<String>(),
        outputs.collect::<String>()
    ))
}

fn numbers(tensor: &Tensor) -> Vec<String> {
    match tensor.element() {
        ElementType::U64 => tensor.to_i64().into_iter().map(|element| (element as u64).to_string()).collect(),
        element if element.is_float() => tensor.to_f64().into_iter().map(|element| format!("{element:?}")).collect(),
        _ => tensor.to_i64().into_iter().map(|element| element.to_string()).collect(),
    }
}
