//! The models, one file each.

mod alexnet;
mod attention_rnn;
mod bert;
mod deepspeech;
mod densenet;
mod dlrm;
mod gpt2;
mod inception;
mod llama;
mod lstm;
mod mobilenet;
mod nasnet;
mod products;
mod resnet;
mod seq2seq;
mod transformer;
mod vgg;
mod vit;

use crate::ModelInfo;

/// All models, one line each.
pub(crate) const ALL: &[ModelInfo] = &[
    alexnet::ALEXNET,
    vgg::VGG_16,
    resnet::RESNET_50,
    resnet::RESNEXT_50,
    densenet::DENSENET_121,
    inception::INCEPTION_V3,
    mobilenet::MOBILENET_V2,
    nasnet::NASNET_A_LARGE,
    bert::BERT_BASE,
    bert::BERT_LARGE,
    gpt2::GPT_2,
    vit::VIT_B_16,
    transformer::TRANSFORMER_BASE,
    llama::LLAMA_1B,
    dlrm::DLRM,
    lstm::LSTM,
    deepspeech::DEEP_SPEECH_2,
    seq2seq::SEQ_2_SEQ,
    attention_rnn::ATTENTION_RNN,
];

/// What hand-written programs compute that were measured, one line each. They are no benchmark models.
pub(crate) const MEASURED: &[ModelInfo] = &[products::PRODUCTS_48];
