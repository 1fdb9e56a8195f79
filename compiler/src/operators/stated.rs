//! Samples of operators that trying does not find, because they need attributes or several fitting shapes.
//!
//! An input is a type and a shape, such as `f32 2x2`. `own` stands for the element type that is asked about, and `=`
//! comes before the number that each element of a constant has.

use warpweave_graph::ops::Attribute;
use warpweave_graph::{ElementType, Shape, Tensor, TensorType};

use super::sample::Given;

/// The attributes and inputs of a sample.
pub(super) struct Stated {
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) inputs: Vec<Given>,
}

const QUANTISED: &str = "own 1x1x2x2, f32 , own , f32 , own ";

/// A line of the table: domain and name, attributes, inputs.
type Line = (&'static str, &'static str, &'static [(&'static str, i64)], &'static str);

const LINES: [Line; 42] = [
    ("", "AffineGrid", &[], "own 2x2x3, i64 4=2"),
    ("", "BitShift", &[], "own 2x2, own 2x2"),
    ("", "CausalConvWithState", &[], "own 1x1x4, own 1x1x2"),
    ("", "DeformConv", &[], "own 1x1x2x2, own 1x1x1x1, own 1x2x2x2"),
    ("", "LinearAttention", &[("q_num_heads", 1), ("kv_num_heads", 1)], "own 1x2x2, own 1x2x2, own 1x2x2"),
    ("", "MaxUnpool", &[], "own 1x1x1x1, i64 1x1x1x1"),
    ("", "MelWeightMatrix", &[], "i64 =2, i64 =8, i64 =8000, f32 =0, f32 =4000"),
    ("", "NonMaxSuppression", &[], "f32 1x2x4, f32 1x1x2, i64 1=1"),
    ("", "QLinearConv", &[], "own 1x1x2x2, f32 , own , own 1x1x1x1, f32 , own , f32 , own "),
    ("", "QLinearMatMul", &[], "own 2x2, f32 , own , own 2x2, f32 , own , f32 , own "),
    ("", "RandomNormal", &[], ""),
    ("", "RandomUniform", &[], ""),
    ("", "RoiAlign", &[("sampling_ratio", 1)], "own 1x1x2x2, f32 1x4, i64 1"),
    ("", "RotaryEmbedding", &[], "own 1x1x2x2, own 1x2x1, own 1x2x1"),
    ("", "TfIdfVectorizer", &[("min_gram_length", 1), ("max_gram_length", 1), ("max_skip_count", 0)], "own 2"),
    ("ai.onnx.ml", "Imputer", &[], "own 2x2"),
    ("ai.onnx.ml", "LabelEncoder", &[], "own 2"),
    ("ai.onnx.ml", "LinearClassifier", &[], "own 2x2"),
    ("ai.onnx.ml", "LinearRegressor", &[], "own 2x2"),
    ("ai.onnx.ml", "Scaler", &[], "own 2x2"),
    ("ai.onnx.preview.training", "Adagrad", &[], "f32 , i64 , own 2, own 2, own 2"),
    ("ai.onnx.preview.training", "Adam", &[], "f32 , i64 , own 2, own 2, own 2, own 2"),
    ("ai.onnx.preview.training", "Momentum", &[], "f32 , i64 , own 2, own 2, own 2"),
    ("com.microsoft", "Attention", &[("num_heads", 1)], "own 1x2x2, own 2x6, own 6"),
    ("com.microsoft", "DynamicQuantizeLSTM", &[("hidden_size", 1)], LSTM),
    (
        "com.microsoft",
        "GroupQueryAttention",
        &[("num_heads", 1), ("kv_num_heads", 1)],
        "own 1x2x2, own 1x2x2, own 1x2x2, _, _, i32 1=1, i32 =2",
    ),
    (
        "com.microsoft",
        "MatMulNBits",
        &[("K", 16), ("N", 1), ("bits", 4), ("block_size", 16)],
        "own 1x16, u8 1x1x8, own 1",
    ),
    ("com.microsoft", "GatherBlockQuantized", &[("bits", 8), ("block_size", 16)], "own 2x16, i64 1, f32 2x1"),
    ("com.microsoft", "MultiHeadAttention", &[("num_heads", 1)], "own 1x2x2, own 1x2x2, own 1x2x2"),
    ("com.microsoft", "QAttention", &[("num_heads", 1)], "own 1x2x2, own 2x6, f32 6, f32 , f32 , _, own , own "),
    ("com.microsoft", "BiasSplitGelu", &[], "own 1x2x2, own 2"),
    ("com.microsoft", "QGemm", &[], "own 2x2, f32 , own , own 2x2, f32 , own , _, f32 , own "),
    ("com.microsoft", "QLinearAdd", &[], "own 2, f32 , own , own 2, f32 , own , f32 , own "),
    ("com.microsoft", "QLinearMul", &[], "own 2, f32 , own , own 2, f32 , own , f32 , own "),
    ("com.microsoft", "QLinearConcat", &[("axis", 0)], "f32 , own , own 2, f32 , own "),
    ("com.microsoft", "QLinearAveragePool", &[], QUANTISED),
    ("com.microsoft", "QLinearGlobalAveragePool", &[("channels_last", 0)], QUANTISED),
    ("com.microsoft", "QLinearConv", &[], "own 1x1x2x2, f32 , own , own 1x1x1x1, f32 , own , f32 , own "),
    ("com.microsoft", "QLinearReduceMean", &[], QUANTISED),
    ("com.microsoft", "QLinearSoftmax", &[("opset", 13), ("axis", -1)], QUANTISED),
    ("com.microsoft", "QLinearWhere", &[], "bool 2, own 2, f32 , own , own 2, f32 , own , f32 , own "),
    ("com.microsoft", "RotaryEmbedding", &[], "own 1x1x2x2, i64 1x2, own 2x1, own 2x1"),
];

const LSTM: &str = "f32 2x1x1, own 1x1x4, own 1x1x4, _, _, _, _, _, f32 1, own 1, f32 1, own 1";

/// The stated sample of an operator.
pub(super) fn stated(domain: &str, name: &str) -> Option<Stated> {
    // Both are of one form.
    let name = if matches!(name, "QLinearSigmoid" | "QLinearLeakyRelu") { "QLinearGlobalAveragePool" } else { name };
    let (_, _, numbers, inputs) = LINES.iter().find(|(of, known, ..)| *of == domain && *known == name)?;
    let mut attributes: Vec<(&'static str, Attribute)> =
        numbers.iter().map(|(name, value)| (*name, Attribute::Int(*value))).collect();
    let floats = |values: &[f32]| Attribute::Floats(values.to_vec());
    match name {
        "Imputer" => attributes
            .extend([("imputed_value_floats", floats(&[1.0])), ("imputed_value_int64s", Attribute::Ints(vec![1]))]),
        "LabelEncoder" => {
            attributes.extend([("keys_int64s", Attribute::Ints(vec![1])), ("values_floats", floats(&[1.0]))])
        }
        "LinearAttention" => attributes.push(("update_rule", Attribute::String("linear".to_owned()))),
        "LinearClassifier" => {
            attributes.extend([("coefficients", floats(&[1.0; 4])), ("classlabels_ints", Attribute::Ints(vec![0, 1]))])
        }
        "LinearRegressor" => attributes.push(("coefficients", floats(&[1.0; 2]))),
        "MaxUnpool" => attributes.push(("kernel_shape", Attribute::Ints(vec![2, 2]))),
        "Momentum" => attributes.extend([
            ("alpha", Attribute::Float(0.5)),
            ("beta", Attribute::Float(0.5)),
            ("norm_coefficient", Attribute::Float(0.0)),
            ("mode", Attribute::String("standard".to_owned())),
        ]),
        "Scaler" => attributes.extend([("offset", floats(&[1.0])), ("scale", floats(&[2.0]))]),
        "TfIdfVectorizer" => attributes.extend([
            ("mode", Attribute::String("TF".to_owned())),
            ("pool_int64s", Attribute::Ints(vec![1])),
            ("ngram_counts", Attribute::Ints(vec![0])),
            ("ngram_indexes", Attribute::Ints(vec![0])),
        ]),
        "BitShift" => attributes.push(("direction", Attribute::String("LEFT".to_owned()))),
        "RandomNormal" | "RandomUniform" => attributes.push(("shape", Attribute::Ints(vec![2, 2]))),
        "QLinearAveragePool" => attributes.push(("kernel_shape", Attribute::Ints(vec![2, 2]))),
        _ => {}
    }
    let inputs = inputs.split(',').map(str::trim_start).filter(|text| !text.is_empty()).map(given);
    Some(Stated { attributes, inputs: inputs.collect::<Option<_>>()? })
}

fn given(text: &str) -> Option<Given> {
    if text.trim() == "_" {
        return Some(Given::Absent);
    }
    let (element, rest) = text.split_once(' ')?;
    let (extents, number) = rest.split_once('=').map_or((rest, None), |(extents, number)| (extents, Some(number)));
    let extents: Option<Vec<usize>> =
        extents.trim().split('x').filter(|extent| !extent.is_empty()).map(|extent| extent.parse().ok()).collect();
    let shape = Shape::from(extents?);
    if element == "own" {
        return Some(Given::Own(shape));
    }
    let ty = TensorType { element: element.parse::<ElementType>().ok()?, shape };
    let Some(number) = number else { return Some(Given::Tensor(ty)) };
    let values = vec![number.parse::<i64>().ok()?; ty.shape.elements()];
    Some(Given::Constant(Tensor::from_i64(ty, &values)))
}
