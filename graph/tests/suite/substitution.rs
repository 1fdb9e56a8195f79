//! Composed expressions compute what their parts compute one after the other.

use crate::random::Random;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::region::{input_region, whole};
use warpweave_graph::expr::substitute::{append, inline};
use warpweave_graph::expr::{AxisId, BinaryOp, ExprBuilder, Index, Literal, Range, Reducer, Scalar, TensorExpr};
use warpweave_graph::reference::evaluate_expression;
use warpweave_graph::types::{Shape, TensorType};
use warpweave_graph::{ElementType, Tensor};

const ELEMENT: ElementType = ElementType::F64;

/// Integers as doubles, so that every order of sums gives the same.
fn tensor(random: &mut Random, ty: &TensorType) -> Tensor {
    let elements: Vec<i64> = (0..ty.shape.elements()).map(|_| random.between(-4, 4)).collect();
    Tensor::from_i64(ty.clone(), &elements)
}

fn shape(random: &mut Random) -> Shape {
    let rank = random.below(3) + 1;
    (0..rank).map(|_| random.below(4) + 1).collect()
}

/// An index of an axis or two, with all that indices may have.
fn index(random: &mut Random, expr: &ExprBuilder, axes: &[AxisId]) -> Index {
    let ranges = |axis| expr.range(axis);
    let mut index = Index::constant(random.between(-1, 1));
    for _ in 0..random.below(3) {
        index = index.add(&Index::axis(*random.choose(axes)).times(random.between(-1, 2)));
    }
    match random.below(6) {
        0 => index.floor_div(random.between(1, 3), &ranges),
        1 => index.modulo(random.between(1, 4), &ranges),
        2 => index.clamped(0, random.between(0, 3), &ranges),
        _ => index,
    }
}

/// An expression over these operands; all but the first may be used as indices if they are integers.
fn expression(random: &mut Random, operands: &[TensorType], reduces: bool) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let mut axes = expr.parallels(&shape(random));
    let parallel = axes.clone();
    if reduces {
        axes.push(expr.reduced(random.below(3) + 1));
    }
    let positions: Vec<usize> = operands.iter().map(|ty| expr.operand(ty)).collect();
    let mut reads = Vec::new();
    for (&position, ty) in positions.iter().zip(operands) {
        for _ in 0..random.below(2) + 1 {
            let index = ty.shape.iter().map(|_| index(random, &expr, &axes)).collect();
            let fill = random.between(-1, 1) as f64;
            reads.push((expr.padded_read(position, index, Literal::new(ty.element, fill)), ty.element));
        }
    }
    // A gather: one operand at an index that another holds.
    let picks: Vec<Scalar> =
        reads.iter().filter(|(_, element)| *element == ElementType::I64).map(|(read, _)| read.clone()).collect();
    if let Some(pick) = picks.first()
        && let Some((&position, ty)) = positions.iter().zip(operands).find(|(_, ty)| ty.element == ELEMENT)
    {
        let gathered = ty.shape.iter().map(|&extent| expr.indirect(pick, extent)).collect();
        reads.push((expr.read(position, gathered), ELEMENT));
    }
    let combined = reads.into_iter().map(|(read, element)| read.cast(element, ELEMENT)).reduce(|left, right| {
        let op = random.choose(&[BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Subtract, BinaryOp::Maximum]);
        left.binary(*op, right)
    });
    let body = combined.expect("there is a read");
    if !reduces {
        return expr.map(ELEMENT, body);
    }
    let reducer = *random.choose(&[Reducer::Sum, Reducer::Maximum, Reducer::Minimum]);
    let epilogue = (random.below(2) == 0).then(|| {
        let ty = &operands[0];
        let index = ty.shape.iter().map(|_| index(random, &expr, &parallel)).collect();
        let read = expr.padded_read(positions[0], index, Literal::new(ty.element, 2.0)).cast(ty.element, ELEMENT);
        Scalar::Reduced.binary(BinaryOp::Add, read)
    });
    expr.reduce(ELEMENT, reducer, body, epilogue)
}

fn value(expr: &TensorExpr, operands: &[Tensor]) -> Tensor {
    evaluate_expression(expr, operands).expect("every read lies inside its operand")
}

#[test]
fn an_inlined_producer_gives_what_it_gives_alone() {
    let mut random = Random::new(3);
    let mut inlined = 0;
    for _ in 0..3000 {
        let picks = TensorType::new(ElementType::I64, shape(&mut random));
        let first = TensorType::new(ELEMENT, shape(&mut random));
        let second = TensorType::new(ELEMENT, shape(&mut random));
        let of_producer = if random.below(2) == 0 { vec![first] } else { vec![first, picks.clone()] };
        let producer = expression(&mut random, &of_producer, false);
        let mut of_consumer = vec![second, picks];
        of_consumer.truncate(random.below(3));
        let operand = random.below(of_consumer.len() + 1);
        of_consumer.insert(operand, producer.output());
        let reduces = random.below(2) == 0;
        let consumer = expression(&mut random, &of_consumer, reduces);
        let Some(fused) = inline(&consumer, operand, &producer) else { continue };
        inlined += 1;

        let producer_inputs: Vec<Tensor> = of_producer.iter().map(|ty| tensor(&mut random, ty)).collect();
        let mut consumer_inputs: Vec<Tensor> = of_consumer.iter().map(|ty| tensor(&mut random, ty)).collect();
        consumer_inputs[operand] = value(&producer, &producer_inputs);
        let expected = value(&consumer, &consumer_inputs);
        consumer_inputs.remove(operand);
        consumer_inputs.extend(producer_inputs);
        assert_eq!(value(&fused, &consumer_inputs), expected, "{consumer}\nof {producer}\nfused {fused}");
    }
    assert!(inlined > 1000, "only {inlined} producers were inlined");
}

#[test]
fn an_appended_consumer_gives_what_it_gives_alone() {
    let mut random = Random::new(4);
    let mut appended = 0;
    for _ in 0..3000 {
        let first = TensorType::new(ELEMENT, shape(&mut random));
        let producer = expression(&mut random, std::slice::from_ref(&first), true);
        let result = producer.output();
        let rank = result.shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.rotate_left(random.below(rank));
        let other = TensorType::new(ELEMENT, shape(&mut random));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&order.iter().map(|&dimension| result.shape[dimension]).collect::<Vec<_>>());
        let (x, y) = (expr.operand(&other), expr.operand(&result));
        let mut place = vec![Index::constant(0); rank];
        for (&dimension, &axis) in order.iter().zip(&axes) {
            place[dimension] = Index::axis(axis);
        }
        let read = expr.read(y, place);
        let index = other.shape.iter().map(|_| index(&mut random, &expr, &axes)).collect();
        let factor = expr.padded_read(x, index, Literal::new(other.element, 1.0));
        let body = read.clone().binary(BinaryOp::Multiply, factor).binary(BinaryOp::Add, read);
        let consumer = expr.map(ELEMENT, body);
        let Some(fused) = append(&producer, &consumer, 1) else { continue };
        appended += 1;

        let (input, addend) = (tensor(&mut random, &first), tensor(&mut random, &other));
        let middle = value(&producer, std::slice::from_ref(&input));
        let expected = value(&consumer, &[addend.clone(), middle]);
        assert_eq!(value(&fused, &[input, addend]), expected, "{consumer}\nof {producer}\nfused {fused}");
    }
    assert!(appended > 1000, "only {appended} consumers were appended");
}

#[test]
fn a_region_holds_every_element_that_a_box_reads() {
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let operands = [TensorType::new(ELEMENT, shape(&mut random)), TensorType::new(ELEMENT, shape(&mut random))];
        let reduces = random.below(2) == 0;
        let expr = expression(&mut random, &operands, reduces);
        let mut part = whole(&expr);
        for range in &mut part {
            let minimum = random.between(range.minimum, range.maximum);
            *range = Range { minimum, maximum: random.between(minimum, range.maximum) };
        }
        for (id, read) in expr.reads.iter() {
            let region = input_region(&expr, id, &part);
            let mut point: Vec<i64> = part.iter().map(|range| range.minimum).collect();
            loop {
                let axis = |axis: AxisId| point[axis.index()];
                let at = |index: &Index| index.evaluate(&axis, &|_| 0);
                let conditions = read.guard.conditions().iter();
                if conditions.clone().all(|c| (c.lower..c.upper).contains(&at(&c.index))) {
                    let region = region.as_ref().expect("a read that takes place has a region");
                    for (index, range) in read.index.iter().zip(region) {
                        assert!((range.minimum..=range.maximum).contains(&at(index)), "{expr}: {index} in {part:?}");
                    }
                }
                let Some(axis) = (0..point.len()).rev().find(|&axis| point[axis] < part[axis].maximum) else { break };
                point[axis] += 1;
                (axis + 1..point.len()).for_each(|later| point[later] = part[later].minimum);
            }
        }
    }
}
