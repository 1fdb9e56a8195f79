//! Programs print, and what is printed parses back; other texts are refused with the line and what belongs there.

use std::time::{Duration, Instant};

use warpweave_graph::expr::{ExprBuilder, Index};
use warpweave_graph::procedure::Opaque;
use warpweave_graph::program::text::{parse, print, tensors};
use warpweave_graph::program::{Mutability, Origin, Origins, Phase, ProgramBuilder, TensorId};
use warpweave_graph::text::Tensors;
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor, TensorProgram};

const SAMPLE: &str = r#"program
n0 = "Mul" "scale \"it\"" gives "y"
n1 = "Add" "" gives "z"
t0 "x": f32[2x3] = input 0
t1: f32[] = constant 2.0
t2 "kept": f32[2x3] = state [0.0, 0.0, 0.0, 0.0, 0.0, -inf] next t4
e0 (t0, t1) -> t3 "y": f32[2x3] = [a0<2, a1<3] mul(x0[a0, a1], x1[]) from n0
e1 (t3, t2) -> t4: f32[2x3] = [a0<2, a1<3] add(x0[a0, a1], x1[a0, a1]) from n0, n1
e2 (t4, t4) -> t5 "joined": f32[4x3] = concat axis 0
e3 (t5) -> t6: i64[4x3] = sort descending of [a0<4, a1<3] each[a2<3] x0[a0, a2]
output t5 "result", t6, t0
"#;

fn read(text: &str) -> TensorProgram {
    parse(text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_program_reads_and_prints_as_it_was() {
    let program = read(SAMPLE);
    assert_eq!(print(&program), SAMPLE);
    assert_eq!(program.names.tensors[&program.inputs[0]], "x");
    assert_eq!(program.tensor_name(program.outputs[0]), Some("joined"));
    assert_eq!(program.statements.values().map(|statement| statement.origins.len()).collect::<Vec<_>>(), [1, 2, 0, 0]);
}

#[test]
fn sources_say_when_they_change() {
    let program = read(SAMPLE);
    let mutability: Vec<Mutability> = program.tensors.ids().take(4).map(|tensor| program.mutability(tensor)).collect();
    let expected = [Mutability::Transient, Mutability::Immutable, Mutability::ReadWrite, Mutability::Transient];
    assert_eq!(mutability, expected);
    let read_only = read("program\nt0: f32[] = state 1.0\noutput t0\n");
    assert_eq!(read_only.mutability(read_only.outputs[0]), Mutability::ReadOnly);
    assert!(!Mutability::ReadOnly.is_foldable() && Mutability::ReadOnly.is_resident());
    assert!(!Mutability::ReadWrite.is_resident() && Mutability::ReadWrite.loads_before_waits());
    assert!(!Mutability::Transient.loads_before_waits());
}

#[test]
fn states_and_what_they_become_outlive_every_pass() {
    let text = r#"program
t0: f32[4] = input 0
t1: f32[4] = state [0.0, 0.0, 0.0, 0.0] next t2
e0 (t0, t1) -> t2: f32[4] = [a0<4] add(x0[a0], x1[a0])
e1 (t0) -> t3: f32[4] = [a0<4] neg(x0[a0])
output t3
"#;
    let prepared = warpweave_graph::pipeline::prepare(&read(text)).program;
    assert_eq!(print(&prepared), text);
    assert_eq!(prepared.live_out().count(), 2);
}

/// Constants that are not written out stand beside the text.
#[test]
fn large_constants_are_named_by_their_hash() {
    let mut program = ProgramBuilder::new();
    let large = program.constant(Tensor::new([2usize, 20], &[0.5f32; 40]));
    let program = program.finish(vec![large]);
    let text = print(&program);
    assert_eq!(parse(&text, &tensors(&program)).as_ref(), Ok(&program));
    let error = parse(&text, &Tensors::new()).expect_err("the tensor is not there").to_string();
    assert!(error.starts_with("line 2, column 26: the elements of f32[2x20], or the hash"), "{error}");
}

#[test]
fn other_texts_are_refused_with_the_line() {
    for (line, from, to, reason) in [
        (1, "program\n", "graph\n", "`program` is expected"),
        (2, "gives", "makes", "`gives` is expected"),
        (2, r#""Mul""#, "Mul", "the operator in quotes"),
        (3, "n1 =", "n2 =", "the declaration of `n1`"),
        (4, "f32[2x3] = input 0", "f32[2x3] = input 1", "input 0 to be declared too"),
        (4, "= input 0", "= import 0", "`input`, `constant` or `state`"),
        (4, "f32[2x3]", "f32[99999999999x99999999999]", "a smaller shape"),
        (5, "constant 2.0", "constant [2.0, 3.0]", "the elements of f32[]"),
        (5, "t1:", "t9:", "a tensor that is declared above"),
        (6, "next t4", "next t77", "a tensor of the program"),
        (6, "next t4", "next t5", "the state t2 becomes a tensor of another type, or none of the program, in `kept`"),
        (7, "(t0, t1)", "(t0, t8)", "a tensor that is declared above"),
        (7, "x1[]", "x1[a0]", "the expression of e0 is ill-formed: a read has the wrong rank, in scale \"it\" (Mul)"),
        (7, "a1<3", "a1<4", "e0 defines a tensor of another type"),
        (7, "x0[a0, a1]", "x3[a0, a1]", "an operand such as `x0`"),
        (8, "n0, n1", "n0, n0", "each node once"),
        (8, "n0, n1", "n0, n5", "a node that is declared above"),
        (9, "axis 0", "axis 7", "e2 reads operands"),
        (10, "sort descending", "sort sideways", "`ascending` or `descending`"),
        (11, "output", "outputs", "a node such as `n0`"),
        (11, "t6, t0", "t6, t0, t9", "a tensor that is declared above"),
    ] {
        let text: Vec<String> = SAMPLE
            .lines()
            .enumerate()
            .map(|(at, own)| if at + 1 == line { format!("{own}\n").replacen(from, to, 1) } else { format!("{own}\n") })
            .collect();
        assert_ne!(text.concat(), SAMPLE, "{from}");
        let error = parse(&text.concat(), &Tensors::new()).expect_err(to).to_string();
        assert!(error.contains(reason), "{to}: {error}");
        // A tensor that is missing is missed where it is read.
        let at = if to == "t9:" { 7 } else { line };
        assert!(error.starts_with(&format!("line {at}")), "{to}: {error}");
    }
}

#[test]
fn a_text_that_is_cut_anywhere_is_refused_or_whole() {
    for end in 0..SAMPLE.len() {
        if let Ok(program) = parse(&SAMPLE[..end], &Tensors::new()) {
            assert!(SAMPLE[..end].contains("\noutput"), "{end}");
            assert_eq!(program.verify(), Ok(()));
        }
    }
}

/// A program of this many statements in a chain, with a constant and a guarded read each.
fn chain(statements: usize) -> TensorProgram {
    let ty = TensorType::new(ElementType::F32, [8usize]);
    let mut program = ProgramBuilder::new();
    let mut last: TensorId = program.input(ty.clone());
    for number in 0..statements {
        let node = Origin {
            phase: Phase::Forward,
            operator: "Add".to_owned(),
            name: format!("n{number}"),
            result: String::new(),
        };
        let origin = program.names().origins.push(node);
        program.set_origins(Origins::from([origin]));
        let constant = program.constant(Tensor::scalar(number as f32));
        let mut expr = ExprBuilder::new();
        let axis = expr.parallels(&ty.shape)[0];
        let (left, right) = (expr.operand(&ty), expr.operand(&TensorType::new(ElementType::F32, [0usize; 0])));
        let left = expr.read(left, vec![Index::axis(axis)]);
        let right = expr.read(right, Vec::new());
        let sum = left.binary(warpweave_graph::expr::BinaryOp::Add, right);
        last = program.compute(expr.map(ElementType::F32, sum), &[last, constant]);
    }
    program.finish(vec![last])
}

fn time_of(statements: usize) -> Duration {
    let program = chain(statements);
    let text = print(&program);
    let start = Instant::now();
    assert_eq!(parse(&text, &Tensors::new()).as_ref(), Ok(&program));
    start.elapsed()
}

/// Time grows with the length: at most eight times for four times the text, where the square would take sixteen.
#[test]
fn long_texts_take_time_as_their_length() {
    let best = |statements: usize| (0..3).map(|_| time_of(statements)).min().unwrap_or_default();
    let (short, long) = (best(4_000), best(16_000));
    assert!(long < 8 * short + Duration::from_millis(50), "{short:?} and {long:?}");
}

#[test]
fn procedures_are_those_of_the_text() {
    let program = read(SAMPLE);
    let sort = program.statements.values().last().expect("there are statements");
    assert_eq!(Opaque::row(sort.definition.expr().expect("it has an access expression")), 3);
}
