//! The models, one file each.

mod alexnet;
mod bert;
mod densenet;
mod dlrm;
mod gpt2;
mod llama;
mod lstm;
mod mobilenet;
mod resnet;
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
    mobilenet::MOBILENET_V2,
    bert::BERT_BASE,
    bert::BERT_LARGE,
    gpt2::GPT_2,
    vit::VIT_B_16,
    transformer::TRANSFORMER_BASE,
    llama::LLAMA_1B,
    dlrm::DLRM,
    lstm::LSTM,
];
