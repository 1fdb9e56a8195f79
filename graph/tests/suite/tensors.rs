use warpweave_graph::{ElementType, Tensor, TensorType};

fn counted(element: ElementType, shape: [usize; 3]) -> Tensor {
    let elements: Vec<f64> = (0..shape.iter().product::<usize>()).map(|at| at as f64 / 2.0 - 3.0).collect();
    Tensor::from_f64(TensorType::new(element, shape), &elements)
}

#[test]
fn slices_are_scaled_as_doubles() {
    // As a single the factor would be 0.1f32, and some products would round otherwise.
    let factors = [0.1, -2.0, 1e-3];
    for element in [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64] {
        let tensor = counted(element, [3, 5, 7]);
        let products: Vec<f64> =
            tensor.to_f64().iter().enumerate().map(|(at, value)| value * factors[at / 35]).collect();
        assert_eq!(tensor.with_slices_scaled(&factors), Tensor::from_f64(tensor.ty().clone(), &products), "{element}");
    }
    let empty = counted(ElementType::F32, [3, 0, 7]);
    assert_eq!(empty.with_slices_scaled(&factors), empty);
}

#[test]
fn a_dimension_is_moved_last() {
    for element in ElementType::ALL.into_iter().filter(|element| element.is_float() || element.bytes() == 8) {
        let shape = [3, 4, 5];
        let tensor = counted(element, shape);
        let elements = tensor.to_f64();
        for dimension in 0..3 {
            let moved = tensor.with_dimension_last(dimension);
            let others: Vec<usize> = (0..3).filter(|other| *other != dimension).collect();
            let order = [others[0], others[1], dimension];
            assert_eq!(moved.shape()[..], order.map(|from| shape[from]), "{element}");
            let mut wanted = Vec::new();
            for a in 0..shape[order[0]] {
                for b in 0..shape[order[1]] {
                    for c in 0..shape[order[2]] {
                        let mut index = [0; 3];
                        (index[order[0]], index[order[1]], index[order[2]]) = (a, b, c);
                        wanted.push(elements[(index[0] * shape[1] + index[1]) * shape[2] + index[2]]);
                    }
                }
            }
            assert_eq!(format!("{:?}", moved.to_f64()), format!("{wanted:?}"), "{element}");
        }
    }
    let empty = counted(ElementType::F32, [3, 0, 7]);
    assert_eq!(empty.with_dimension_last(0).shape()[..], [0, 7, 3]);
}

#[test]
fn infinities_are_not_finite() {
    for element in [ElementType::F16, ElementType::F32, ElementType::F64] {
        let ty = TensorType::new(element, [3]);
        assert!(Tensor::from_f64(ty.clone(), &[0.0, -1.0, 2.0]).is_finite());
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(!Tensor::from_f64(ty.clone(), &[0.0, 1.0, value]).is_finite());
        }
    }
}
