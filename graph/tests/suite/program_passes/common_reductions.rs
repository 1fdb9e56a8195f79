//! Equal reductions are taken once.

use warpweave_graph::program::passes::share_reductions;
use warpweave_graph::program::text as programs;
use warpweave_graph::text::Tensors;

/// The statements that are left of a program of `statements`, of which the last is the output.
#[track_caller]
fn left(statements: &[&str]) -> usize {
    let mut text = "program\nn0 = \"Sum\" \"sum\" gives \"y\"\nt0 \"x\": f32[4x3] = input 0\n".to_owned();
    for (at, statement) in statements.iter().enumerate() {
        let (operands, rest) = statement.split_once(" -> ").expect("operands and what is made of them");
        text += &format!("e{at} {operands} -> t{}: {rest} from n0\n", at + 1);
    }
    text += &format!("output t{} \"y\"\n", statements.len());
    let program = programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let shared = share_reductions(&program);
    shared.verify().expect("a pass leaves a valid program");
    shared.statements.len()
}

const SUM: &str = "(t0) -> f32[4] = [a0<4] sum[a1<3] x0[a0, a1]";
const ADDED: &str = "(t1, t2) -> f32[4] = [a0<4] add(x0[a0], x1[a0])";

#[test]
fn equal_reductions_are_one() {
    assert_eq!(left(&[SUM, SUM, ADDED]), 2);
}

#[test]
fn reductions_of_equal_reductions_are_one() {
    let total = |of: usize| format!("(t{of}) -> f32[1] = [a0<1] sum[a1<4] x0[a1]");
    let added = "(t3, t4) -> f32[1] = [a0<1] add(x0[a0], x1[a0])";
    assert_eq!(left(&[SUM, SUM, &total(1), &total(2), added]), 3);
}

#[test]
fn others_stay() {
    let largest = "(t0) -> f32[4] = [a0<4] max[a1<3] x0[a0, a1]";
    let negated = "(t0) -> f32[4x3] = [a0<4, a1<3] neg(x0[a0, a1])";
    let difference = "(t1, t2) -> f32[4x3] = [a0<4, a1<3] sub(x0[a0, a1], x1[a0, a1])";
    for statements in [&[SUM, largest, ADDED][..], &[negated, negated, difference], &[SUM, SUM]] {
        let expected = if statements.len() == 2 { 2 } else { 3 };
        assert_eq!(left(statements), expected, "{statements:?}");
    }
}
