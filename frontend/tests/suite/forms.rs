//! Operators in the forms that they had in older operator sets.

use crate::model::{apply, constant, float, floats, int, ints, load, model, node, string, strings, value};
use warpweave_frontend::ImportOptions;
use warpweave_frontend::onnx::AttributeProto;
use warpweave_graph::{ElementType, Tensor};

/// Checks a single output against its elements.
#[track_caller]
fn check(outputs: &[Tensor], shape: &[usize], elements: &[f32]) {
    assert_eq!(outputs.len(), 1);
    assert_eq!(**outputs[0].shape(), *shape);
    for (found, expected) in outputs[0].to_f32().iter().zip(elements) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }
    assert_eq!(outputs[0].shape().elements(), elements.len());
}

fn count(shape: &[usize]) -> Tensor {
    let elements: Vec<f32> = (0..shape.iter().product()).map(|element: usize| element as f32).collect();
    Tensor::new(shape, &elements)
}

#[test]
fn clip() {
    let x = Tensor::new([3], &[-2f32, 0.5, 2.0]);
    check(&apply("Clip", 7, &[&x], 1, vec![float("min", -1.0), float("max", 1.0)]), &[3], &[-1.0, 0.5, 1.0]);
    check(&apply("Clip", 10, &[&x], 1, vec![float("max", 1.0)]), &[3], &[-2.0, 0.5, 1.0]);
    check(&apply("Clip", 11, &[x, Tensor::scalar(0f32)], 1, vec![]), &[3], &[0.0, 0.5, 2.0]);
}

#[test]
fn broadcasting_from_an_axis_on() {
    let (x, bias) = (count(&[1, 2, 2]), Tensor::new([2], &[10f32, 20.0]));
    let attributes = vec![int("broadcast", 1), int("axis", 1)];
    check(&apply("Add", 6, &[&x, &bias], 1, attributes), &[1, 2, 2], &[10.0, 11.0, 22.0, 23.0]);
    check(&apply("Add", 6, &[&x, &bias], 1, vec![int("broadcast", 1)]), &[1, 2, 2], &[10.0, 21.0, 12.0, 23.0]);
    let signed = Tensor::new([1, 2, 2], &[-1f32, 1.0, -1.0, 1.0]);
    check(&apply("PRelu", 6, &[signed, bias], 1, vec![]), &[1, 2, 2], &[-10.0, 1.0, -20.0, 1.0]);
}

#[test]
fn attributes_that_became_inputs_or_numbers() {
    let x = count(&[2]);
    check(&apply("Reshape", 1, &[&x], 1, vec![ints("shape", &[1, -1])]), &[1, 2], &[0.0, 1.0]);
    check(&apply("Pad", 1, &[&x], 1, vec![ints("paddings", &[1, 0])]), &[3], &[0.0, 0.0, 1.0]);
    check(&apply("Cast", 1, &[&x], 1, vec![string("to", "FLOAT")]), &[2], &[0.0, 1.0]);
    check(&apply("Relu", 1, &[&x], 1, vec![ints("consumed_inputs", &[0])]), &[2], &[0.0, 1.0]);
    check(&apply("Dropout", 6, &[&x], 1, vec![int("is_test", 1)]), &[2], &[0.0, 1.0]);
    let image = count(&[1, 1, 2]);
    let scales = Tensor::new([3], &[1f32, 1.0, 2.0]);
    check(&apply("Upsample", 9, &[image, scales], 1, vec![]), &[1, 1, 4], &[0.0, 0.0, 1.0, 1.0]);
    let image = count(&[1, 1, 1, 2]);
    let two = vec![float("height_scale", 1.0), float("width_scale", 2.0)];
    check(&apply("Upsample", 1, &[&image], 1, two), &[1, 1, 1, 4], &[0.0, 0.0, 1.0, 1.0]);
    let row = count(&[1, 1, 3]);
    check(&apply("GlobalLpPool", 1, &[&row], 1, vec![float("p", 1.0)]), &[1, 1, 1], &[3.0]);
    check(&apply("GlobalLpPool", 2, &[&row], 1, vec![int("p", 1)]), &[1, 1, 1], &[3.0]);
}

#[test]
fn attributes_of_older_forms_are_unknown_to_newer_ones() {
    let places =
        |opset: i64, tensors: &[Tensor]| apply("TopK", opset, tensors, 2, vec![int("k", 2)]).remove(1).to_i64();
    assert_eq!(places(9, &[count(&[3])]), [2, 1]);
    let inputs = vec![value("x", ElementType::F32, &["3"])];
    let most = constant("most", &Tensor::vector_i64(&[2]));
    let named = node("TopK", &["x", "most"], &["y", "at"], vec![int("k", 2)]);
    let refused = load(&model(10, inputs, vec![most], vec![named], &["y"]), &ImportOptions::default());
    let text = refused.expect_err("k is an input").to_string();
    assert!(text.contains("unknown attribute k"), "{text}");
}

#[test]
fn tile() {
    let of = |value: f32| Tensor::scalar(value);
    let tiled = |axis: f32| apply("Tile", 1, &[count(&[2, 2]), of(2.0), of(axis)], 1, vec![]);
    check(&tiled(0.0), &[4, 2], &[0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
    check(&tiled(1.0), &[2, 4], &[0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]);
    check(&apply("Tile", 6, &[count(&[2]), Tensor::vector_i64(&[2])], 1, vec![]), &[4], &[0.0, 1.0, 0.0, 1.0]);
    let inputs = vec![value("x", ElementType::F32, &["2"])];
    let numbers = ["n", "axis"].map(|name| constant(name, &Tensor::vector_i64(&[0])));
    let named = node("Tile", &["x", "n", "axis"], &["y"], vec![]);
    let refused = load(&model(6, inputs, numbers.to_vec(), vec![named], &["y"]), &ImportOptions::default());
    let text = refused.expect_err("the axis is no input any longer").to_string();
    assert!(text.contains("before opset 6 only"), "{text}");
}

#[test]
fn usual_parameters_of_gates() {
    let x = Tensor::new([1, 2, 1], &[-2f32, 3.0]);
    let weights = [1f32, 0.0].map(|weight| Tensor::new([1, 1, 1], &[weight]));
    let inputs: Vec<Tensor> = [x].into_iter().chain(weights).collect();
    let layer = |function: &str, parameters: Vec<AttributeProto>| {
        let own = vec![int("hidden_size", 1), strings("activations", &[function])];
        let attributes = own.into_iter().chain(parameters).collect();
        apply("RNN", 14, &inputs, 1, attributes)
    };
    check(&layer("Affine", vec![]), &[1, 1, 2, 1], &[-2.0, 3.0]);
    check(&layer("Affine", vec![floats("activation_alpha", &[0.5])]), &[1, 1, 2, 1], &[-1.0, 1.5]);
    check(&layer("Affine", vec![floats("activation_beta", &[0.5])]), &[1, 1, 2, 1], &[-1.5, 3.5]);
    check(&layer("LeakyRelu", vec![]), &[1, 1, 2, 1], &[-0.02, 3.0]);
}

#[test]
fn softmax() {
    let x = Tensor::new([1, 2, 2], &[0f32; 4]);
    check(&apply("Softmax", 11, &[&x], 1, vec![]), &[1, 2, 2], &[0.25; 4]);
    check(&apply("Softmax", 11, &[&x], 1, vec![int("axis", 2)]), &[1, 2, 2], &[0.5; 4]);
    check(&apply("Softmax", 13, &[&x], 1, vec![int("axis", 1)]), &[1, 2, 2], &[0.5; 4]);
    check(&apply("LogSoftmax", 11, &[x], 1, vec![]), &[1, 2, 2], &[-(4f32.ln()); 4]);
}

#[test]
fn slice() {
    let x = count(&[2, 4]);
    let attributes = vec![ints("starts", &[1]), ints("ends", &[3]), ints("axes", &[1])];
    check(&apply("Slice", 9, &[&x], 1, attributes), &[2, 2], &[1.0, 2.0, 5.0, 6.0]);
    let bounds = [vec![-1], vec![i64::MIN], vec![1], vec![-2]].map(|values| Tensor::vector_i64(&values));
    let tensors: Vec<Tensor> = [x].into_iter().chain(bounds).collect();
    check(&apply("Slice", 10, &tensors, 1, vec![]), &[2, 2], &[3.0, 1.0, 7.0, 5.0]);
}

#[test]
fn squeeze_and_unsqueeze() {
    let x = count(&[1, 2, 1]);
    check(&apply("Squeeze", 11, &[&x], 1, vec![ints("axes", &[0])]), &[2, 1], &[0.0, 1.0]);
    check(&apply("Squeeze", 13, &[x.clone(), Tensor::vector_i64(&[-1])], 1, vec![]), &[1, 2], &[0.0, 1.0]);
    check(&apply("Squeeze", 7, &[x], 1, vec![]), &[2], &[0.0, 1.0]);
    let x = count(&[2]);
    check(&apply("Unsqueeze", 11, &[&x], 1, vec![ints("axes", &[0, 2])]), &[1, 2, 1], &[0.0, 1.0]);
    check(&apply("Unsqueeze", 13, &[x, Tensor::vector_i64(&[-1])], 1, vec![]), &[2, 1], &[0.0, 1.0]);
}

#[test]
fn resize() {
    let x = count(&[1, 1, 1, 2]);
    let scales = Tensor::new([4], &[1f32, 1.0, 1.0, 2.0]);
    let nearest = apply("Resize", 10, &[x.clone(), scales.clone()], 1, vec![]);
    check(&nearest, &[1, 1, 1, 4], &[0.0, 0.0, 1.0, 1.0]);
    let linear = apply("Resize", 10, &[x.clone(), scales.clone()], 1, vec![string("mode", "linear")]);
    check(&linear, &[1, 1, 1, 4], &[0.0, 0.5, 1.0, 1.0]);
    let empty = Tensor::new([0], &[0f32; 0]);
    let linear = apply("Resize", 11, &[x.clone(), empty.clone(), scales], 1, vec![string("mode", "linear")]);
    check(&linear, &[1, 1, 1, 4], &[0.0, 0.25, 0.75, 1.0]);
    let sizes = Tensor::vector_i64(&[1, 1, 1, 3]);
    let corners = vec![string("mode", "linear"), string("coordinate_transformation_mode", "align_corners")];
    check(&apply("Resize", 13, &[x, empty.clone(), empty, sizes], 1, corners), &[1, 1, 1, 3], &[0.0, 0.5, 1.0]);
}

#[test]
fn batch_normalization() {
    let parameter = |value: f32| Tensor::new([1], &[value]);
    let tensors = [count(&[1, 1, 2]), parameter(2.0), parameter(1.0), parameter(1.0), parameter(4.0)];
    for opset in [7, 9, 14, 15] {
        let attributes = vec![float("epsilon", 0.0), float("momentum", 0.5)];
        check(&apply("BatchNormalization", opset, &tensors, 1, attributes), &[1, 1, 2], &[0.0, 1.0]);
    }
    let parameter = |values: [f32; 2]| Tensor::new([1, 2], &values);
    let of_places = [[2.0, 3.0], [1.0, 0.0], [1.0, 0.0], [4.0, 1.0]].map(parameter);
    let tensors: Vec<Tensor> = [count(&[1, 1, 2])].into_iter().chain(of_places).collect();
    let attributes = vec![float("epsilon", 0.0), int("spatial", 0)];
    check(&apply("BatchNormalization", 7, &tensors, 1, attributes), &[1, 1, 2], &[0.0, 3.0]);
}

#[test]
fn integers_are_resized() {
    let resized = |x: Tensor, scale: f32, antialias: i64| {
        let none = Tensor::new([0], &[0f32; 0]);
        let attributes = vec![string("mode", "linear"), int("antialias", antialias)];
        apply("Resize", 18, &[x, none, Tensor::new([2], &[1f32, scale])], 1, attributes).remove(0).to_i64()
    };
    assert_eq!(resized(Tensor::new([1, 2], &[0u8, 255]), 2.0, 0), [0, 63, 191, 255]);
    assert_eq!(resized(Tensor::new([1, 2], &[-3i8, 0]), 2.0, 0), [-3, -2, 0, 0], "what is between is cut off");
    assert_eq!(resized(Tensor::new([1, 2], &[-3i32, 6]), 2.0, 0), [-3, 0, 3, 6]);
    assert_eq!(resized(Tensor::new([1, 2], &[1u8, 2]), 0.5, 1), [2], "an average is rounded");
    assert_eq!(resized(Tensor::new([1, 2], &[255u8, 254]), 0.5, 1), [255]);
}

#[test]
fn reductions() {
    let x = count(&[2, 3]);
    check(&apply("ReduceMean", 13, &[&x], 1, vec![ints("axes", &[1])]), &[2, 1], &[1.0, 4.0]);
    let flat = vec![ints("axes", &[-1]), int("keepdims", 0)];
    check(&apply("ReduceMean", 13, &[&x], 1, flat), &[2], &[1.0, 4.0]);
    check(&apply("ReduceMean", 18, &[x.clone(), Tensor::vector_i64(&[0])], 1, vec![]), &[1, 3], &[1.5, 2.5, 3.5]);
    check(&apply("ReduceSum", 11, &[&x], 1, vec![]), &[1, 1], &[15.0]);
    let none = Tensor::vector_i64(&[]);
    check(
        &apply("ReduceSum", 13, &[x, none], 1, vec![int("noop_with_empty_axes", 1)]),
        &[2, 3],
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
}

#[test]
fn split() {
    let x = count(&[5]);
    let shapes = |outputs: &[Tensor]| outputs.iter().map(|output| output.shape()[0]).collect::<Vec<_>>();
    assert_eq!(shapes(&apply("Split", 11, &[&x], 2, vec![ints("split", &[1, 4])])), [1, 4]);
    assert_eq!(shapes(&apply("Split", 13, &[x.clone(), Tensor::vector_i64(&[3, 2])], 2, vec![])), [3, 2]);
    assert_eq!(shapes(&apply("Split", 18, &[x], 3, vec![int("num_outputs", 3)])), [2, 2, 1]);
}

#[test]
fn pad() {
    let x = count(&[2]);
    let attributes = vec![ints("pads", &[1, 0]), float("value", 7.0)];
    check(&apply("Pad", 10, &[&x], 1, attributes), &[3], &[7.0, 0.0, 1.0]);
    let edge = apply("Pad", 11, &[x, Tensor::vector_i64(&[1, 2])], 1, vec![string("mode", "edge")]);
    check(&edge, &[5], &[0.0, 0.0, 1.0, 1.0, 1.0]);
}

/// A dimension is shortened first, and what is left is repeated.
#[test]
fn pad_by_counts_of_both_signs() {
    let padded = |mode: &str, counts: &[i64]| {
        apply("Pad", 19, &[count(&[6]), Tensor::vector_i64(counts)], 1, vec![string("mode", mode)])
    };
    check(&padded("wrap", &[2, -1]), &[7], &[3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    check(&padded("wrap", &[-2, 3]), &[7], &[2.0, 3.0, 4.0, 5.0, 2.0, 3.0, 4.0]);
    check(&padded("reflect", &[3, -2]), &[7], &[3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0]);
    check(&padded("reflect", &[-2, 3]), &[7], &[2.0, 3.0, 4.0, 5.0, 4.0, 3.0, 2.0]);
    check(&padded("edge", &[2, -1]), &[7], &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn pools_round_up_and_count_what_is_there() {
    let x = count(&[1, 1, 4]);
    let window = |extra: Vec<_>| [ints("kernel_shape", &[3]), ints("strides", &[2])].into_iter().chain(extra).collect();
    check(&apply("MaxPool", 10, &[&x], 1, window(vec![int("ceil_mode", 1)])), &[1, 1, 2], &[2.0, 3.0]);
    check(&apply("MaxPool", 8, &[&x], 1, window(vec![])), &[1, 1, 1], &[2.0]);
    check(&apply("AveragePool", 19, &[&x], 1, window(vec![int("ceil_mode", 1)])), &[1, 1, 2], &[1.0, 2.5]);
    let padded = vec![ints("pads", &[1, 1]), int("count_include_pad", 1)];
    check(&apply("AveragePool", 7, &[&x], 1, window(padded)), &[1, 1, 2], &[1.0 / 3.0, 2.0]);
    check(&apply("AveragePool", 7, &[x], 1, window(vec![ints("pads", &[1, 1])])), &[1, 1, 2], &[0.5, 2.0]);
}

#[test]
fn recurrent_directions_meet_in_time() {
    let x = Tensor::new([2, 1, 1], &[1f32, 2.0]);
    let weight = Tensor::new([2, 3, 1], &[0f32, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let recurrent = Tensor::new([2, 3, 1], &[0f32; 6]);
    let attributes = vec![string("direction", "bidirectional"), int("hidden_size", 1)];
    let outputs = apply("GRU", 14, &[x, weight, recurrent], 2, attributes);
    // Without recurrent weight: h = ½ tanh(x) + ½ h before.
    let (one, two) = (1f32.tanh() / 2.0, 2f32.tanh() / 2.0);
    check(&outputs[..1], &[2, 2, 1, 1], &[one, one + two / 2.0, two + one / 2.0, two]);
    check(&outputs[1..], &[2, 1, 1], &[two + one / 2.0, one + two / 2.0]);
}
