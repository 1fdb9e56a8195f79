//! Elements that name places of a dimension.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{IndirectIndex, ReadId};
use warpweave_graph::index_check::{FaultyElement, FaultyIndex, IndexCheck, IndexFault};
use warpweave_graph::ops::indexing::gather::Gather;
use warpweave_graph::ops::{AttributeReader, Context, Fact, Operator};
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};

fn gather() -> Gather {
    Gather::from_attributes(&mut AttributeReader::new(Vec::new(), 17)).expect("the axis is 0")
}

#[test]
fn values_name_places_from_both_ends() {
    let index = IndirectIndex { read: ReadId::from_index(0), extent: 3 };
    let cases = [
        (0, Some(0), 0),
        (2, Some(2), 2),
        (-1, Some(2), 2),
        (-3, Some(0), 0),
        (3, None, 2),
        (-4, None, 0),
        (i64::MAX, None, 2),
        (i64::MIN, None, 0),
    ];
    for (value, place, nearest) in cases {
        assert_eq!((index.place(value), index.nearest(value)), (place, nearest), "{value}");
    }
}

#[test]
fn constants_that_name_no_place_are_refused() {
    let data = Fact { ty: TensorType::new(ElementType::F32, [3, 2]).into(), value: None };
    let accepts = |indices: Tensor| {
        let indices = Fact { ty: indices.ty().clone().into(), value: Some(indices) };
        gather().infer(&Context::new(&[Some(data.clone()), Some(indices)], 1)).map_err(|error| error.to_string())
    };
    assert!(accepts(Tensor::vector_i64(&[0, 2, -3])).is_ok());
    assert!(accepts(Tensor::vector_i64(&[])).is_ok());
    for (value, indices) in [(3, [0, 3]), (-4, [1, -4])] {
        let refused = accepts(Tensor::vector_i64(&indices)).expect_err("no such place");
        let expected = format!("input 1 is constant and holds {value} in element 1, which is no index from -3 to 2");
        assert_eq!(refused, expected);
    }
    let unsigned = Tensor::from_i64(TensorType::new(ElementType::U64, [1]), &[0]);
    assert_eq!(accepts(unsigned).expect_err("ONNX has no such indices"), "indices are u64");
}

/// Rows of two tables, of 9 and 3 rows, by the same indices.
fn two_tables() -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let rows = program.input(TensorType::new(ElementType::I64, [4]));
    let tables = [9usize, 3].map(|extent| program.constant(Tensor::new([extent], &vec![1.0f32; extent])));
    let found = tables.map(|table| program.apply(&gather(), &[Some(table), Some(rows)], 1)[0]);
    program.finish(found.to_vec())
}

#[test]
fn the_first_fault_is_told() {
    let program = two_tables();
    let tensor: TensorId = program.inputs[0];
    assert_eq!(IndexCheck::of(&program), [3, 9].map(|extent| IndexCheck { tensor, extent }));
    let fault = |values: [i64; 4]| evaluate(&program, &[Tensor::vector_i64(&values)]).err();
    let expected = |extent, element, value| {
        let found = FaultyIndex { element: FaultyElement::Element(element), value };
        Some(ReferenceError::Index(IndexFault { check: IndexCheck { tensor, extent }, found }))
    };
    assert_eq!(fault([0, 2, -3, 1]), None);
    assert_eq!(fault([0, 2, 8, 3]), expected(3, 2, 8));
    assert_eq!(fault([0, 9, -9, 1]), expected(3, 1, 9));
}
