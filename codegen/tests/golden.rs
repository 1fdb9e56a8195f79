//! Printed programs parse back; printed CUDA against `tests/golden/*.cu`. `BLESS=1` rewrites the expectations.

mod contraction;
mod every_node;
mod matrices;
mod sample;

use std::path::Path;

use warpweave_codegen::kernel_ir::{Entry, Program, text};
use warpweave_codegen::nodes;
use warpweave_codegen::print::{RegisterUse, cuda, linked_unit};

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

#[test]
fn products_of_loaded_matrices() {
    check("matrices", &matrices::program());
}

/// The variables in the indices of register arrays.
fn chosen_by(text: &str) -> Vec<&str> {
    let indices = text.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
    indices.flat_map(|index| index.split(|letter: char| !letter.is_ascii_alphanumeric())).collect()
}

#[test]
fn fewer_registers_are_asked_for_by_rolling_loops_that_choose_none() {
    let (mut unrolled, mut rolled) = (0, 0);
    for program in [contraction::program(2), every_node::program(), sample::program()] {
        for kernel in program.kernels.ids() {
            let print = |registers| {
                let source = linked_unit(&program, &[kernel], registers).source;
                let (prelude, text) = source.split_once("WW_KERNEL unsigned").expect("there is a kernel");
                (prelude.to_owned(), text.to_owned())
            };
            let ((free_prelude, free), (prelude, sparing)) = (print(RegisterUse::Free), print(RegisterUse::Rolled));
            assert_eq!((prelude, sparing.lines().count()), (free_prelude, free.lines().count()));
            let mut lines = free.lines().zip(sparing.lines());
            while let Some((was, is)) = lines.next() {
                if was.trim() != "#pragma unroll" {
                    assert_eq!(was, is);
                    continue;
                }
                let (next, _) = lines.next().expect("a loop follows");
                let variable = next.split(" = 0u").next().and_then(|start| start.split([' ', '(']).next_back());
                let is_chosen = chosen_by(&free).contains(&variable.expect("a loop has a variable"));
                assert_eq!(is.trim(), if is_chosen { "#pragma unroll" } else { "#pragma unroll 1" }, "{next}");
                *(if is_chosen { &mut unrolled } else { &mut rolled }) += 1;
            }
            let (prelude, refetched) = print(RegisterUse::Refetched);
            assert!(prelude.contains("#define ww_fetched_word ww_refetched_word"));
            assert_eq!(refetched, sparing);
        }
    }
    assert!(unrolled > 0 && rolled > 0, "{unrolled} {rolled}");
}
