//! `warpweave litmus` and `warpweave microbench` without a GPU.

use crate::support::tool::{fail, succeed, tool};

#[test]
fn all_that_is_sent_arrives_on_the_emulator() {
    let told = succeed(&["litmus", "--device", "emulator", "--rounds", "1"]);
    let tests = told["tests"].as_array().expect("the programs are listed");
    assert_eq!(tests.len(), 8);
    for test in tests {
        assert_eq!((&test["passed"], &test["outcomes"]["launches as sent"]), (&true.into(), &1.into()), "{test}");
    }
}

#[test]
fn devices_without_kernels_or_cycles_are_refused() {
    assert!(fail(2, "usage", &["litmus", "--device", "host"]).contains("runs no kernels"));
    assert!(fail(2, "usage", &["microbench", "--device", "emulator"]).contains("cuda:N"));
    for series in ["loops", "edges", "code", "all"] {
        fail(4, "cuda", &["microbench", series, "--device", "cuda:4095"]);
    }
    assert_eq!(tool(&["microbench", "some"]).status.code(), Some(2));
    fail(4, "cuda", &["litmus", "--device", "cuda:4095"]);
    fail(4, "cuda", &["microbench", "--device", "cuda:4095"]);
}
