//! What operators there are, and the page that lists them.

use std::fs;

use warpweave::graph::ops::Op;

use crate::support::tool::{succeed, tool};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators.md");

#[test]
fn the_page_of_operators_is_as_the_program_writes_it() {
    let output = tool(&["ops", "--markdown"]);
    assert!(output.status.success());
    let written = String::from_utf8(output.stdout).expect("the page is text");
    if std::env::var_os("BLESS").is_some() {
        fs::write(PAGE, &written).expect("the page can be written");
    }
    let page = fs::read_to_string(PAGE).unwrap_or_default();
    let stale = "docs/operators.md is not what `warpweave ops --markdown` prints; BLESS=1 with this test writes it";
    assert!(page == written, "{stale}");
}

#[test]
fn every_operator_is_listed_with_what_runs_it() {
    let told = succeed(&["ops"]);
    let operators = told["operators"].as_array().expect("a list");
    assert_eq!(operators.len(), Op::registered().len());
    let of = |name: &str| operators.iter().find(|operator| operator["name"] == name).expect("it is registered");
    let has = |name: &str, device: &str, element: &str| {
        of(name)[device].as_array().expect("element types").iter().any(|known| known == element)
    };
    for (name, element, host, kernels) in [
        ("Exp", "f32", true, true),
        ("Exp", "f64", true, false),
        ("Exp", "i32", false, false),
        ("Not", "bool", true, true),
        ("Not", "f32", false, false),
        ("Gather", "i64", true, true),
        ("MatMulInteger", "u8", true, true),
        ("LSTM", "f32", true, true),
        ("ConstantOfShape", "f32", true, true),
    ] {
        assert_eq!((has(name, "host", element), has(name, "kernels", element)), (host, kernels), "{name} {element}");
    }
    let tried = operators.iter().filter(|operator| operator["host"].as_array().is_some_and(|types| !types.is_empty()));
    let tried: Vec<&str> = tried.filter_map(|operator| operator["name"].as_str()).collect();
    let all = operators.iter().filter_map(|operator| operator["name"].as_str());
    let without: Vec<&str> = all.filter(|name| !tried.contains(name)).collect();
    assert!(without.is_empty(), "no sample is found of {without:?}: state one in compiler/src/operators/stated.rs");
}
