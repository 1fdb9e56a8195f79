//! The operators: one file each, and one line of registration below.

mod attribute;
mod context;
mod operator;
mod registry;

mod axes;
mod boxes;
mod broadcast;
mod channels_last;
mod compaction;
pub(crate) mod compose;
mod conversion;
mod cosine_window;
mod dot_product_attention;
pub(crate) mod elementwise;
mod exponential;
mod extreme_place;
mod fourier;
mod gate_functions;
mod grid_padding;
mod hyperbolic;
mod indices;
mod interpolation;
mod likelihood;
pub(crate) mod movement;
mod normalization;
mod pool;
mod prefix;
mod quantization;
mod random;
mod recurrent;
mod reduction;
mod resampling;
mod rotary;
mod scatter;
mod sequence_lengths;
mod window;

pub mod abs;
pub mod acos;
pub mod acosh;
pub mod add;
pub mod affine_grid;
pub mod and;
pub mod arg_max;
pub mod arg_min;
pub mod asin;
pub mod asinh;
pub mod atan;
pub mod atanh;
pub mod attention;
pub mod average_pool;
pub mod batch_normalization;
pub mod bernoulli;
pub mod bit_cast;
pub mod bit_shift;
pub mod bitwise_and;
pub mod bitwise_not;
pub mod bitwise_or;
pub mod bitwise_xor;
pub mod blackman_window;
pub mod cast;
pub mod cast_like;
pub mod causal_conv_with_state;
pub mod ceil;
pub mod celu;
pub mod center_crop_pad;
pub mod clip;
pub mod col2im;
pub mod compress;
pub mod concat;
pub mod constant_of_shape;
pub mod conv;
pub mod conv_integer;
pub mod conv_transpose;
pub mod cos;
pub mod cosh;
pub mod cum_prod;
pub mod cum_sum;
pub mod deform_conv;
pub mod depth_to_space;
pub mod dequantize_linear;
pub mod det;
pub mod dft;
pub mod div;
pub mod dropout;
pub mod dynamic_quantize_linear;
pub mod einsum;
pub mod elu;
pub mod equal;
pub mod erf;
pub mod exp;
pub mod expand;
pub mod eye_like;
pub mod flatten;
pub mod flex_attention;
pub mod floor;
pub mod gather;
pub mod gather_elements;
pub mod gather_nd;
pub mod gelu;
pub mod gemm;
pub mod global_average_pool;
pub mod global_lp_pool;
pub mod global_max_pool;
pub mod greater;
pub mod greater_or_equal;
pub mod grid_sample;
pub mod group_normalization;
pub mod gru;
pub mod hamming_window;
pub mod hann_window;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod hardmax;
pub mod identity;
pub mod instance_normalization;
pub mod is_inf;
pub mod is_nan;
pub mod keyed_sums;
pub mod layer_normalization;
pub mod leaky_relu;
pub mod less;
pub mod less_or_equal;
pub mod linear_attention;
pub mod log;
pub mod log_softmax;
pub mod lp_normalization;
pub mod lp_pool;
pub mod lrn;
pub mod lstm;
pub mod matmul;
pub mod matmul_integer;
pub mod max;
pub mod max_pool;
pub mod max_unpool;
pub mod mean;
pub mod mean_variance_normalization;
pub mod mel_weight_matrix;
pub mod microsoft;
pub mod min;
pub mod mish;
pub mod ml;
pub mod modulo;
pub mod mul;
pub mod multinomial;
pub mod neg;
pub mod negative_log_likelihood_loss;
pub mod non_max_suppression;
pub mod non_zero;
pub mod not;
pub mod one_hot;
pub mod optional_get_element;
pub mod optional_has_element;
pub mod or;
pub mod ordering;
pub mod pad;
pub mod pow;
pub mod prelu;
pub mod qlinear;
pub mod quantize_linear;
pub mod random_normal;
pub mod random_normal_like;
pub mod random_uniform;
pub mod random_uniform_like;
pub mod range;
pub mod reciprocal;
pub mod reduce_l1;
pub mod reduce_l2;
pub mod reduce_log_sum;
pub mod reduce_log_sum_exp;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod reduce_sum_square;
pub mod relu;
pub mod reshape;
pub mod resize;
pub mod reverse_sequence;
pub mod rms_normalization;
pub mod rnn;
pub mod roi_align;
pub mod rotary_embedding;
pub mod round;
pub mod scatter_elements;
pub mod scatter_nd;
pub mod scatter_old;
pub mod selu;
pub mod shape;
pub mod shrink;
pub mod sigmoid;
pub mod sign;
pub mod simplified_layer_normalization;
pub mod sin;
pub mod sinh;
pub mod size;
pub mod slice;
pub mod softmax;
pub mod softmax_cross_entropy_loss;
pub mod softplus;
pub mod softsign;
pub mod space_to_depth;
pub mod split;
pub mod sqrt;
pub mod squeeze;
pub mod stft;
pub mod sub;
pub mod sum;
pub mod swiglu;
pub mod swish;
pub mod tan;
pub mod tanh;
pub mod tensor_scatter;
pub mod tf_idf_vectorizer;
pub mod thresholded_relu;
pub mod tile;
pub mod top_k;
pub mod training;
pub mod transpose;
pub mod trilu;
pub mod unique;
pub mod unsqueeze;
pub mod upsample;
pub mod where_;
pub mod xor;

use microsoft::*;
use ml::*;
use qlinear::*;
use training::*;

pub use attribute::{Attribute, AttributeError, AttributeReader};
pub use context::{Context, Fact, InferError};
pub use operator::{ALL_STORAGE, FLOAT8, NEWEST_OPSET, Operator};
pub use registry::{ImportError, Registration};

use crate::counted::CountedOutput;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

registry::operators! {
    abs::Abs,
    acos::Acos,
    acosh::Acosh,
    adagrad::Adagrad,
    adam::Adam,
    add::Add,
    affine_grid::AffineGrid,
    and::And,
    arg_max::ArgMax,
    arg_min::ArgMin,
    array_feature_extractor::ArrayFeatureExtractor,
    asin::Asin,
    asinh::Asinh,
    atan::Atan,
    atanh::Atanh,
    attention::Attention,
    average_pool::AveragePool,
    batch_normalization::BatchNormalization,
    bernoulli::Bernoulli,
    bias_add::BiasAdd,
    bias_gelu::BiasGelu,
    bias_split_gelu::BiasSplitGelu,
    binarizer::Binarizer,
    bit_cast::BitCast,
    bit_shift::BitShift,
    bitwise_and::BitwiseAnd,
    bitwise_not::BitwiseNot,
    bitwise_or::BitwiseOr,
    bitwise_xor::BitwiseXor,
    blackman_window::BlackmanWindow,
    cast::Cast,
    cast_like::CastLike,
    causal_conv_with_state::CausalConvWithState,
    cdist::CDist,
    ceil::Ceil,
    celu::Celu,
    center_crop_pad::CenterCropPad,
    clip::Clip,
    col2im::Col2Im,
    compress::Compress,
    concat::Concat,
    constant_of_shape::ConstantOfShape,
    contributed_dequantize_linear::ContributedDequantizeLinear,
    contributed_gather_nd::ContributedGatherNd,
    contributed_grid_sample::ContributedGridSample,
    contributed_pad::ContributedPad,
    contributed_qlinear_conv::ContributedQLinearConv,
    contributed_quantize_linear::ContributedQuantizeLinear,
    contributed_trilu::ContributedTrilu,
    conv::Conv,
    conv_integer::ConvInteger,
    conv_transpose::ConvTranspose,
    cos::Cos,
    cosh::Cosh,
    cum_prod::CumProd,
    cum_sum::CumSum,
    deform_conv::DeformConv,
    depth_to_space::DepthToSpace,
    dequantize_linear::DequantizeLinear,
    det::Det,
    dft::Dft,
    div::Div,
    dropout::Dropout,
    dynamic_quantize_linear::DynamicQuantizeLinear,
    dynamic_quantize_lstm::DynamicQuantizeLstm,
    dynamic_quantize_matmul::DynamicQuantizeMatMul,
    einsum::Einsum,
    elu::Elu,
    embed_layer_normalization::EmbedLayerNormalization,
    equal::Equal,
    erf::Erf,
    exact_gelu::ExactGelu,
    exp::Exp,
    expand::Expand,
    expand_dims::ExpandDims,
    eye_like::EyeLike,
    fast_gelu::FastGelu,
    flatten::Flatten,
    flex_attention::FlexAttention,
    floor::Floor,
    fused_conv::FusedConv,
    fused_gemm::FusedGemm,
    fused_matmul::FusedMatMul,
    gather::Gather,
    gather_block_quantized::GatherBlockQuantized,
    gather_elements::GatherElements,
    gather_nd::GatherNd,
    gelu::Gelu,
    gemm::Gemm,
    gemm_fast_gelu::GemmFastGelu,
    global_average_pool::GlobalAveragePool,
    global_lp_pool::GlobalLpPool,
    global_max_pool::GlobalMaxPool,
    greater::Greater,
    greater_or_equal::GreaterOrEqual,
    grid_sample::GridSample,
    group_normalization::GroupNormalization,
    group_query_attention::GroupQueryAttention,
    gru::Gru,
    hamming_window::HammingWindow,
    hann_window::HannWindow,
    hard_sigmoid::HardSigmoid,
    hard_swish::HardSwish,
    hardmax::Hardmax,
    identity::Identity,
    imputer::Imputer,
    instance_normalization::InstanceNormalization,
    is_inf::IsInf,
    is_nan::IsNaN,
    label_encoder::LabelEncoder,
    layer_normalization::LayerNormalization,
    leaky_relu::LeakyRelu,
    less::Less,
    less_or_equal::LessOrEqual,
    linear_attention::LinearAttention,
    linear_classifier::LinearClassifier,
    linear_regressor::LinearRegressor,
    log::Log,
    log_softmax::LogSoftmax,
    lp_normalization::LpNormalization,
    lp_pool::LpPool,
    lrn::Lrn,
    lstm::Lstm,
    matmul::MatMul,
    matmul_integer::MatMulInteger,
    matmul_integer_to_float::MatMulIntegerToFloat,
    matmul_nbits::MatMulNBits,
    max::Max,
    max_pool::MaxPool,
    max_unpool::MaxUnpool,
    mean::Mean,
    mean_variance_normalization::MeanVarianceNormalization,
    mel_weight_matrix::MelWeightMatrix,
    min::Min,
    mish::Mish,
    modulo::Mod,
    momentum::Momentum,
    mul::Mul,
    multi_head_attention::MultiHeadAttention,
    multinomial::Multinomial,
    neg::Neg,
    negative_log_likelihood_loss::NegativeLogLikelihoodLoss,
    nhwc_max_pool::NhwcMaxPool,
    non_max_suppression::NonMaxSuppression,
    non_zero::NonZero,
    normalizer::Normalizer,
    not::Not,
    one_hot::OneHot,
    optional_get_element::OptionalGetElement,
    optional_has_element::OptionalHasElement,
    or::Or,
    pad::Pad,
    pow::Pow,
    prelu::PRelu,
    projected_attention::ProjectedAttention,
    qgemm::QGemm,
    qlinear_add::QLinearAdd,
    qlinear_average_pool::QLinearAveragePool,
    qlinear_concat::QLinearConcat,
    qlinear_conv::QLinearConv,
    qlinear_global_average_pool::QLinearGlobalAveragePool,
    qlinear_leaky_relu::QLinearLeakyRelu,
    qlinear_matmul::QLinearMatMul,
    qlinear_mul::QLinearMul,
    qlinear_reduce_mean::QLinearReduceMean,
    qlinear_sigmoid::QLinearSigmoid,
    qlinear_softmax::QLinearSoftmax,
    qlinear_where::QLinearWhere,
    quantize_linear::QuantizeLinear,
    quantized_attention::QuantizedAttention,
    quick_gelu::QuickGelu,
    random_normal::RandomNormal,
    random_normal_like::RandomNormalLike,
    random_uniform::RandomUniform,
    random_uniform_like::RandomUniformLike,
    range::Range,
    reciprocal::Reciprocal,
    reduce_l1::ReduceL1,
    reduce_l2::ReduceL2,
    reduce_log_sum::ReduceLogSum,
    reduce_log_sum_exp::ReduceLogSumExp,
    reduce_max::ReduceMax,
    reduce_mean::ReduceMean,
    reduce_min::ReduceMin,
    reduce_prod::ReduceProd,
    reduce_sum::ReduceSum,
    reduce_sum_square::ReduceSumSquare,
    relu::Relu,
    reshape::Reshape,
    resize::Resize,
    reverse_sequence::ReverseSequence,
    rms_normalization::RmsNormalization,
    rnn::Rnn,
    roi_align::RoiAlign,
    rotary_embedding::RotaryEmbedding,
    rotary_embedding_at::RotaryEmbeddingAt,
    round::Round,
    scaler::Scaler,
    scatter_elements::ScatterElements,
    scatter_nd::ScatterNd,
    scatter_old::Scatter,
    selu::Selu,
    shape::Shape,
    shrink::Shrink,
    sigmoid::Sigmoid,
    sign::Sign,
    simplified_layer_normalization::SimplifiedLayerNormalization,
    sin::Sin,
    sinh::Sinh,
    size::Size,
    skip_layer_normalization::SkipLayerNormalization,
    skip_simplified_layer_normalization::SkipSimplifiedLayerNormalization,
    slice::Slice,
    softmax::Softmax,
    softmax_cross_entropy_loss::SoftmaxCrossEntropyLoss,
    softplus::Softplus,
    softsign::Softsign,
    space_to_depth::SpaceToDepth,
    split::Split,
    sqrt::Sqrt,
    squeeze::Squeeze,
    stft::Stft,
    sub::Sub,
    sum::Sum,
    swiglu::SwiGlu,
    swish::Swish,
    tan::Tan,
    tanh::Tanh,
    tensor_scatter::TensorScatter,
    tf_idf_vectorizer::TfIdfVectorizer,
    thresholded_relu::ThresholdedRelu,
    tile::Tile,
    top_k::TopK,
    transpose::Transpose,
    transpose_matmul::TransposeMatMul,
    trilu::Trilu,
    unique::Unique,
    unsqueeze::Unsqueeze,
    upsample::Upsample,
    where_::Where,
    xor::Xor,
}
