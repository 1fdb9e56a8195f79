//! The operators: one file each, in the folder of its family, and one line of registration below.

mod attribute;
mod context;
mod operator;
mod registry;

mod axes;
mod broadcast;
pub(crate) mod compose;
pub(crate) mod elementwise;

pub mod activations;
pub mod arithmetic;
pub mod attentions;
pub mod convolutions;
pub mod functions;
pub mod images;
pub mod indexing;
pub mod layout;
pub mod logic;
pub mod losses;
pub mod microsoft;
pub mod ml;
pub mod normalizations;
pub mod pooling;
pub mod products;
pub mod qlinear;
pub mod quantizing;
pub mod random_numbers;
pub mod recurrence;
pub mod reductions;
pub mod signals;
pub mod training;

use activations::*;
use arithmetic::*;
use attentions::*;
use convolutions::*;
use functions::*;
use images::*;
use indexing::*;
use layout::*;
use logic::*;
use losses::*;
use microsoft::*;
use ml::*;
use normalizations::*;
use pooling::*;
use products::*;
use qlinear::*;
use quantizing::*;
use random_numbers::*;
use recurrence::*;
use reductions::*;
use signals::*;
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
