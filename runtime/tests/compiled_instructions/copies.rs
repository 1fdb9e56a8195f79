//! Copies from global to shared memory that lanes do not wait for (PTX ISA, cp.async).

use warpweave_runtime::sass::execute::fault::FaultKind;
use warpweave_runtime::sass::execute::grid::ExecuteOptions;

use crate::harness::{Kernels, Numbers, TARGETS};

const WAIT: &str = "asm volatile(\"cp.async.commit_group; cp.async.wait_group 0;\" ::: \"memory\");";

/// A kernel in which each lane copies to four words of its own and reads them behind `wait`. `%0` is the address in shared memory,
/// `%1` that in global memory, and `%2` the lane.
fn copy(instruction: &str, wait: &str) -> String {
    format!(
        "__shared__ __align__(16) unsigned s[128]; for (int i = 0; i < 4; ++i) s[4 * lane + i] = 0x55555555; \
         asm volatile(\"{instruction}\" :: \"r\"((unsigned)__cvta_generic_to_shared(s) + 16 * lane), \"l\"(in + 4 * lane), \
         \"r\"(lane) : \"memory\"); {wait} \
         for (int i = 0; i < 4; ++i) out[4 * lane + i] = s[4 * lane + i];"
    )
}

/// An instruction, what it is compiled to, how many bytes it stores, and how many of them lane `n` reads.
struct Form {
    text: &'static str,
    opcode: &'static str,
    stored: usize,
    read: fn(usize) -> usize,
}

const FORMS: [Form; 8] = [
    Form { text: "cp.async.cg.shared.global [%0], [%1], 16;", opcode: "LDGSTS.E.BYPASS.128", stored: 16, read: |_| 16 },
    Form { text: "cp.async.ca.shared.global [%0], [%1], 16;", opcode: "LDGSTS.E.128", stored: 16, read: |_| 16 },
    Form { text: "cp.async.ca.shared.global [%0], [%1], 8;", opcode: "LDGSTS.E.64", stored: 8, read: |_| 8 },
    Form { text: "cp.async.ca.shared.global [%0], [%1], 4;", opcode: "LDGSTS.E", stored: 4, read: |_| 4 },
    Form {
        text: "{.reg .u32 n; rem.u32 n, %2, 17; cp.async.cg.shared.global [%0], [%1], 16, n;}",
        opcode: "LDGSTS.E.BYPASS.128.ZFILL",
        stored: 16,
        read: |lane| lane % 17,
    },
    Form {
        text: "{.reg .u32 n; rem.u32 n, %2, 9; cp.async.ca.shared.global [%0], [%1], 8, n;}",
        opcode: "LDGSTS.E.64.ZFILL",
        stored: 8,
        read: |lane| lane % 9,
    },
    Form {
        text: "cp.async.cg.shared.global [%0], [%1], 16, 8;",
        opcode: "LDGSTS.E.BYPASS.128.ZFILL",
        stored: 16,
        read: |_| 8,
    },
    Form {
        text: "{.reg .pred p; setp.lt.u32 p, %2, 8; cp.async.cg.shared.global [%0], [%1], 16, p;}",
        opcode: "LDGSTS.E.BYPASS.128",
        stored: 16,
        read: |lane| if lane < 8 { 0 } else { 16 },
    },
];

const MODES: [Option<u64>; 2] = [None, Some(5)];

#[test]
fn copies_bring_bytes_and_zeros() {
    let bodies: Vec<String> = FORMS.iter().map(|form| copy(form.text, WAIT)).collect();
    let mut numbers = Numbers(11);
    let input: Vec<u32> = (0..128).map(|_| numbers.next()).collect();
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        for (kernel, form) in FORMS.iter().enumerate() {
            let opcodes = kernels.opcodes(kernel);
            assert!(opcodes.iter().any(|found| found == form.opcode), "{} on {target}: {opcodes:?}", form.text);
            let byte = |lane: usize, offset: usize| match offset {
                offset if offset < (form.read)(lane).min(form.stored) => {
                    input[4 * lane + offset / 4].to_le_bytes()[offset % 4]
                }
                offset if offset < form.stored => 0,
                _ => 0x55,
            };
            let word =
                |index: usize| u32::from_le_bytes([0, 1, 2, 3].map(|part| byte(index / 4, 4 * (index % 4) + part)));
            let expected: Vec<u32> = (0..128).map(word).collect();
            for weak in MODES {
                let options = ExecuteOptions { weak, ..ExecuteOptions::default() };
                let found = kernels.launch(kernel, 1, &input, 128, &options);
                assert_eq!(found.unwrap_or_else(|error| panic!("{error}")), expected, "{} on {target}", form.text);
            }
        }
    }
}

#[test]
fn copies_land_when_they_are_waited_for() {
    let body = |wait| copy(FORMS[0].text, wait);
    let bodies = [
        body(WAIT),
        body("asm volatile(\"cp.async.commit_group; cp.async.wait_group 1;\" ::: \"memory\");"),
        body("asm volatile(\"cp.async.commit_group;\" ::: \"memory\");"),
    ];
    let options = ExecuteOptions { weak: Some(1), ..ExecuteOptions::default() };
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        let found = [0, 1, 2].map(|kernel| kernels.launch(kernel, 1, &[9; 128], 128, &options).expect("it runs")[0]);
        assert_eq!(found, [9, 0x5555_5555, 0x5555_5555], "{target}");
    }
}

#[test]
fn copies_are_aligned_and_inside() {
    let filling = "{.reg .u32 n; and.b32 n, %2, 4; cp.async.cg.shared.global [%0], [%1], 16, n;}";
    let bodies = [
        copy(FORMS[0].text, WAIT),
        copy("cp.async.cg.shared.global [%0 + 4], [%1], 16;", WAIT),
        copy("cp.async.cg.shared.global [%0 + 16], [%1], 16;", WAIT),
        copy(filling, WAIT),
    ];
    for target in TARGETS {
        let kernels = Kernels::compile(target, &bodies);
        let fault = |kernel, words| kernels.fault(kernel, &vec![1; words], 128, &ExecuteOptions::default());
        assert!(matches!(fault(0, 124), FaultKind::Outside(..)), "{target}: behind the input");
        assert!(matches!(fault(1, 128), FaultKind::Misaligned(..)), "{target}");
        assert!(matches!(fault(2, 128), FaultKind::Outside(..)), "{target}: behind shared memory");
        // A copy that reads four bytes or none may begin at the input's last word.
        let found = kernels.launch(3, 1, &[1; 125], 128, &ExecuteOptions::default()).expect("nothing outside is read");
        assert_eq!((&found[..4], &found[124..]), (&[0; 4][..], &[1, 0, 0, 0][..]), "{target}");
    }
}
