//! What procedures give, and which expressions they take.

use std::convert::Infallible;

use warpweave_graph::ElementType;
use warpweave_graph::TensorType;
use warpweave_graph::expr::{ExprBuilder, Index, Scalar, TensorExpr};
use warpweave_graph::procedure::sort::{Direction, Keys, places};
use warpweave_graph::procedure::suppress::staying;
use warpweave_graph::procedure::{Along, Opaque, Procedure};
use warpweave_graph::text::reader::Reader;

#[test]
fn orders_are_stable_and_nan_is_the_largest() {
    let keys = Keys::Float(vec![1.0, f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NAN, 1.0]);
    assert_eq!(places(ElementType::F32, &keys, Direction::Descending), [1, 5, 4, 0, 6, 2, 3]);
    assert_eq!(places(ElementType::F32, &keys, Direction::Ascending), [2, 3, 0, 6, 4, 1, 5]);
    let keys = Keys::Integer(vec![-1, 0, 1]);
    assert_eq!(places(ElementType::I64, &keys, Direction::Ascending), [0, 1, 2]);
    assert_eq!(places(ElementType::U64, &keys, Direction::Ascending), [1, 2, 0], "the bits of the largest");
}

#[test]
fn what_stays_suppresses_what_comes_later() {
    let near = |each: usize| Ok::<_, Infallible>((0..6).map(|place: usize| place.abs_diff(each) == 1).collect());
    let itself = |gone: usize| (0..6).map(|place| place == gone).collect::<Vec<bool>>();
    let Ok(stays) = staying(&itself(9), u64::MAX, near);
    assert_eq!(stays, [true, false, true, false, true, false]);
    let Ok(stays) = staying(&itself(0), u64::MAX, near);
    assert_eq!(stays, [false, true, false, true, false, true]);
    let Ok(stays) = staying(&itself(9), 2, near);
    assert_eq!(stays, [true, false, true, false, false, false]);
    let Ok(stays) = staying(&itself(9), 0, near);
    assert_eq!(stays, [false; 6]);
}

/// Rows of keys, read at the reduced axis or at the place.
fn access(procedure: Procedure, [rows, places, each]: [usize; 3], at_place: bool) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let (row, place) = (expr.parallel(rows), expr.parallel(places));
    let along = expr.reduced(each);
    let operand = expr.operand(&TensorType::new(ElementType::Bool, [rows, each]));
    let body = expr.read(operand, vec![Index::axis(row), Index::axis(if at_place { place } else { along })]);
    expr.access(procedure.element(), body)
}

#[test]
fn access_expressions_are_checked() {
    let sort = Procedure::Sort(Direction::Ascending);
    let suppress = Procedure::Suppress { most: 3 };
    for procedure in [sort, suppress] {
        assert_eq!(procedure.check(&access(procedure, [2, 5, 5], false)), Ok(()));
        assert!(procedure.check(&access(procedure, [2, 4, 5], false)).is_err(), "rows of two lengths");
        let wide = TensorExpr { element: ElementType::F32, ..access(procedure, [2, 5, 5], false) };
        assert!(procedure.check(&wide).is_err(), "another type");
        let long = procedure.longest_row() + 1;
        assert!(procedure.check(&access(procedure, [1, long, long], false)).is_err(), "too long");
    }
    assert!(sort.check(&access(sort, [2, 5, 5], true)).is_err(), "a key that depends on the order");
    assert_eq!(suppress.check(&access(suppress, [2, 5, 5], true)), Ok(()));
    let number = TensorExpr { body: Scalar::literal(ElementType::I32, 1.0), ..access(suppress, [2, 5, 5], false) };
    assert!(suppress.check(&number).is_err(), "no truth value");
}

#[test]
fn values_along_a_row_are_expressions() {
    let of = access(Procedure::Suppress { most: 3 }, [2, 5, 5], false);
    assert_eq!(Opaque::values(&of, Along::Each).to_string(), "[a0<2, a1<5] x0[a0, a1]");
    assert_eq!(Opaque::values(&of, Along::Both).to_string(), "[a0<2, a1<5] x0[a0, a1]");
    assert_eq!(Opaque::values(&of, Along::Places { row: 1, each: 3 }).to_string(), "[a0<5] x0[1, 3]");
}

#[test]
fn procedures_and_their_expressions_are_read_back() {
    for procedure in [Procedure::Sort(Direction::Descending), Procedure::Suppress { most: 7 }] {
        let text = procedure.to_string();
        let mut reader = Reader::new(&text);
        assert_eq!(Procedure::read(&mut reader), Ok(procedure));
        assert!(reader.is_at_end());
        let access = access(procedure, [2, 5, 5], false);
        let text = access.to_string();
        let read = TensorExpr::read(&mut Reader::new(&text), access.operands.clone(), access.element);
        assert_eq!(read, Ok(access), "{text}");
    }
}
