use ndarray::{ArrayD, IxDyn, arr2};
use warpweave_graph::Tensor;

#[test]
fn arrays_and_tensors_have_the_same_elements() {
    let array = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let tensor = Tensor::from(&array);
    assert_eq!(tensor.view::<f32>().expect("singles"), array.clone().into_dyn());
    assert!(tensor.view::<i32>().is_none());
    // A transposed array has its elements in another order in memory.
    let transposed = Tensor::from(array.reversed_axes());
    assert_eq!(transposed.shape()[..], [3, 2]);
    assert_eq!(transposed.to_f64(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn scalars_and_empty_tensors_are_arrays() {
    for shape in [vec![], vec![0, 4]] {
        let array = ArrayD::<i64>::ones(IxDyn(&shape));
        assert_eq!(Tensor::from(array.clone()).view::<i64>().expect("integers"), array);
    }
}
