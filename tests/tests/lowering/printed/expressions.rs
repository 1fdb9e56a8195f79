//! Random tensor expressions, sound or not, parse back.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use warpweave::graph::ElementType;
use warpweave::graph::arena::{Arena, Id};
use warpweave::graph::expr::{
    Axis, AxisId, AxisKind, BinaryOp, Condition, Guard, Index, Literal, Range, Read, ReadId, Reducer, Scalar,
    TensorExpr, UnaryOp,
};
use warpweave::graph::text::reader::Reader;
use warpweave::graph::types::TensorType;
use warpweave_tests::printed::parses_back;
use warpweave_tests::suite::Suite;

use super::random::run;

const AXES: usize = 3;
const READS: usize = 3;

/// Adds the trial.
pub fn add(suite: &mut Suite) {
    suite.trial("random expressions parse back", || {
        run(&expression(), |expr| {
            parses_back(expr, |text| {
                let mut reader = Reader::new(text);
                let parsed = TensorExpr::read(&mut reader, operands(), expr.element)?;
                reader.end().map(|()| parsed)
            });
        });
    });
}

fn operands() -> Vec<TensorType> {
    let ty = |element, shape: &[usize]| TensorType::new(element, shape);
    vec![ty(ElementType::F32, &[4, 5]), ty(ElementType::I64, &[7]), ty(ElementType::Bool, &[])]
}

fn expression() -> impl Strategy<Value = TensorExpr> {
    let reducer = select(vec![Reducer::Sum, Reducer::Product, Reducer::Maximum, Reducer::Minimum]);
    let scalars = (scalar(), option::of(scalar()), select(ElementType::ALL.to_vec()));
    let parts = (vec(any::<usize>(), AXES), option::of(reducer), vec(read(), READS), scalars);
    parts.prop_map(|(extents, reducer, reads, (body, epilogue, element))| {
        let kind = |at: usize| if reducer.is_some() && at > 0 { AxisKind::Reduced } else { AxisKind::Parallel };
        let axes: Arena<AxisId, Axis> =
            extents.into_iter().enumerate().map(|(at, extent)| Axis { extent, kind: kind(at) }).collect();
        TensorExpr { axes, operands: operands(), reads: reads.into_iter().collect(), body, reducer, epilogue, element }
    })
}

fn read() -> impl Strategy<Value = Read> {
    (0..3usize, vec(index(), 0..3), guard(), literal()).prop_map(|(operand, index, guard, fill)| Read {
        operand,
        index,
        guard,
        fill,
    })
}

fn guard() -> impl Strategy<Value = Guard> {
    let condition =
        (index(), any::<i64>(), any::<i64>()).prop_map(|(index, lower, upper)| Condition { index, lower, upper });
    let all = |conditions: Vec<Condition>| {
        conditions.into_iter().fold(Guard::always(), |guard, condition| guard.and(condition, &range))
    };
    vec(condition, 0..3).prop_map(all)
}

fn range(_: AxisId) -> Range {
    Range { minimum: 0, maximum: 99 }
}

fn index() -> BoxedStrategy<Index> {
    let leaf = prop_oneof![
        (-100i64..100).prop_map(Index::constant),
        (0..AXES).prop_map(|axis| Index::axis(AxisId::from_index(axis))),
        (0..READS, 1i64..200).prop_map(|(read, extent)| Index::indirect(ReadId::from_index(read), extent)),
    ];
    let deeper = leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.add(&right)),
            (inner.clone(), -9i64..9).prop_map(|(index, factor)| index.times(factor)),
            (inner.clone(), 1i64..9).prop_map(|(index, divisor)| index.floor_div(divisor, &range)),
            (inner.clone(), 1i64..9).prop_map(|(index, divisor)| index.modulo(divisor, &range)),
            (inner, -9i64..9, 9i64..20).prop_map(|(index, low, high)| index.clamped(low, high, &range)),
        ]
    });
    prop_oneof![9 => deeper, 1 => any::<i64>().prop_map(Index::constant)].boxed()
}

fn literal() -> impl Strategy<Value = Literal> {
    let integer = select(vec![ElementType::I64, ElementType::I32, ElementType::U8, ElementType::U64]);
    let float = || select(vec![ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::F64]);
    prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        (integer, any::<i64>()).prop_map(|(element, value)| Literal::Integer(element, value)),
        (float(), any::<u64>()).prop_map(|(element, bits)| Literal::Float(element, bits)),
        (float(), any::<f64>()).prop_map(|(element, value)| Literal::Float(element, value.to_bits())),
    ]
}

fn scalar() -> BoxedStrategy<Scalar> {
    let leaf = prop_oneof![
        literal().prop_map(Scalar::Literal),
        (0..READS).prop_map(|read| Scalar::Read(ReadId::from_index(read))),
        (index(), select(ElementType::ALL.to_vec())).prop_map(|(index, element)| Scalar::Index(index, element)),
        guard().prop_map(Scalar::Holds),
        Just(Scalar::Reduced),
    ];
    let deeper = leaf.prop_recursive(4, 16, 3, |inner| {
        let unary = select(vec![UnaryOp::Negate, UnaryOp::Not, UnaryOp::RoundEven]);
        let binary = select(vec![BinaryOp::Divide, BinaryOp::Maximum, BinaryOp::Or, BinaryOp::LessEqual]);
        let element = select(ElementType::ALL.to_vec());
        prop_oneof![
            (unary, inner.clone()).prop_map(|(op, operand)| operand.unary(op)),
            (binary, inner.clone(), inner.clone()).prop_map(|(op, left, right)| left.binary(op, right)),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(x, y, z)| x.select(y, z)),
            (element, inner).prop_map(|(element, operand)| Scalar::Cast(element, Box::new(operand))),
        ]
    });
    deeper.boxed()
}
