//! Operators outside ONNX's own, and quantised ones: their attributes stand for them, whatever opset they came from.

use warpweave_graph::ops::{Attribute, AttributeReader, NEWEST_OPSET, Op};

fn import(domain: &str, name: &str, opset: i64, attributes: &[(&str, Attribute)]) -> Result<Op, String> {
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Op::import(domain, name, &mut AttributeReader::new(attributes, opset)).map_err(|error| error.to_string())
}

fn text(text: &str) -> Attribute {
    Attribute::String(text.to_owned())
}

#[test]
fn attributes_make_the_same_operator_again() {
    let window = [("kernel_shape", Attribute::Ints(vec![3, 2])), ("strides", Attribute::Ints(vec![2, 1]))];
    let int = Attribute::Int;
    let cases: Vec<(&str, Vec<(&str, Attribute)>)> = vec![
        ("Attention", vec![("num_heads", int(2)), ("unidirectional", int(1)), ("scale", Attribute::Float(0.5))]),
        ("DynamicQuantizeLSTM", vec![("hidden_size", int(4)), ("direction", text("reverse"))]),
        ("EmbedLayerNormalization", vec![("epsilon", Attribute::Float(0.5)), ("mask_index_type", int(0))]),
        ("FusedConv", vec![("activation", text("Clip")), ("activation_params", Attribute::Floats(vec![-1.0, 2.0]))]),
        ("FusedGemm", vec![("activation", text("LeakyRelu")), ("activation_alpha", Attribute::Float(0.5))]),
        ("FusedMatMul", vec![("alpha", Attribute::Float(2.0)), ("transA", int(1)), ("transB", int(0))]),
        ("FusedMatMul", vec![("transBatchA", int(1)), ("transBatchB", int(1))]),
        ("GatherBlockQuantized", vec![("gather_axis", int(1)), ("quantize_axis", int(0)), ("block_size", int(16))]),
        (
            "GroupQueryAttention",
            vec![
                ("num_heads", int(4)),
                ("kv_num_heads", int(2)),
                ("do_rotary", int(1)),
                ("rotary_interleaved", int(1)),
                ("local_window_size", int(3)),
                ("softcap", Attribute::Float(2.0)),
            ],
        ),
        ("MatMulNBits", vec![("K", int(32)), ("N", int(5)), ("bits", int(8)), ("block_size", int(16))]),
        ("MultiHeadAttention", vec![("num_heads", int(2)), ("mask_filter_value", Attribute::Float(-9.0))]),
        ("NhwcMaxPool", window.to_vec()),
        ("QAttention", vec![("num_heads", int(2)), ("unidirectional", int(1))]),
        ("QLinearAveragePool", window.to_vec()),
        ("QLinearGlobalAveragePool", vec![("channels_last", int(1))]),
        ("QLinearConcat", vec![("axis", int(1))]),
        ("QLinearLeakyRelu", vec![("alpha", Attribute::Float(0.5))]),
        ("QLinearSoftmax", vec![("axis", int(1)), ("opset", int(11))]),
        ("QLinearSoftmax", vec![("axis", int(1)), ("opset", int(13))]),
        ("QuickGelu", vec![("alpha", Attribute::Float(0.5))]),
        ("RotaryEmbedding", vec![("interleaved", int(1)), ("num_heads", int(2)), ("rotary_embedding_dim", int(8))]),
        ("SkipLayerNormalization", vec![("epsilon", Attribute::Float(0.5))]),
        ("SkipSimplifiedLayerNormalization", vec![("epsilon", Attribute::Float(0.5))]),
    ];
    for (name, attributes) in cases {
        let plain = import("com.microsoft", name, 1, &[]);
        let operator = import("com.microsoft", name, 1, &attributes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(plain.as_ref(), Ok(&operator), "{name}: the attributes say something");
        let again = import("com.microsoft", name, NEWEST_OPSET, &operator.attributes());
        assert_eq!(again, Ok(operator), "{name}");
    }
}

#[test]
fn blocks_and_output_types_of_quantisation_stay() {
    let attributes =
        [("axis", Attribute::Int(0)), ("block_size", Attribute::Int(4)), ("output_dtype", Attribute::Int(5))];
    for name in ["QuantizeLinear", "DequantizeLinear"] {
        let operator = import("", name, NEWEST_OPSET, &attributes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(import("", name, NEWEST_OPSET, &attributes[..2]).as_ref(), Ok(&operator));
        assert_ne!(import("", name, NEWEST_OPSET, &attributes[2..]).as_ref(), Ok(&operator));
        assert_eq!(import("", name, NEWEST_OPSET, &operator.attributes()), Ok(operator));
    }
    let negative = import("", "QuantizeLinear", NEWEST_OPSET, &[("block_size", Attribute::Int(-1))]);
    assert_eq!(negative, Err("attribute block_size: -1 is no number of places".to_owned()));
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let refused = |name: &str, attribute: (&str, Attribute), reason: &str| {
        let heads = ("num_heads", Attribute::Int(2));
        let attributes = if name == "Attention" { vec![heads, attribute] } else { vec![attribute] };
        let error = import("com.microsoft", name, 1, &attributes).expect_err(name);
        assert!(error.contains(reason), "{error}");
    };
    refused("FusedConv", ("activation", text("Softsign")), "attribute activation: `Softsign` is not supported");
    refused("GatherBlockQuantized", ("bits", Attribute::Int(2)), "attribute bits");
    refused("Attention", ("past_present_share_buffer", Attribute::Int(1)), "attribute past_present_share_buffer");
    refused("RotaryEmbedding", ("scale", Attribute::Float(2.0)), "attribute scale");
    refused("Attention", ("do_rotary", Attribute::Int(1)), "attribute do_rotary");
    assert_eq!(import("com.example", "Gelu", 1, &[]), Err("operator Gelu is not supported".to_owned()));
}
