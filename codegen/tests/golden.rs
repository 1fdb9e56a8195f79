//! Printed programs parse back; printed CUDA against `tests/golden/*.cu`. `BLESS=1` rewrites the expectations.

mod contraction;
mod every_node;
mod sample;

use std::path::Path;

use warpweave_codegen::kernel_ir::{Entry, Program, text};
use warpweave_codegen::nodes;
use warpweave_codegen::print::cuda;

#[track_caller]
fn check(name: &str, program: &Program) {
    assert_eq!(text::parse(&program.to_string()), Ok(program.clone()));
    let text = cuda(program);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.cu"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden file is writable");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} differs; BLESS=1 rewrites it. Printed:\n{text}", path.display());
}

#[test]
fn producer_and_consumer() {
    check("producer_consumer", &sample::program());
}

#[test]
fn nodes_of_a_graph() {
    let program = sample::program();
    let entry = Entry::Nodes(program.kernels.ids().map(|id| nodes::entry(id, &program.kernels)).collect());
    check("nodes", &Program { entry, ..program });
}

#[test]
fn every_construct() {
    check("every_node", &every_node::program());
}

#[test]
fn matrix_products() {
    check("contraction", &contraction::program(2));
}
