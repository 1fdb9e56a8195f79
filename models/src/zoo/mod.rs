//! The models, one file each.

mod alexnet;
mod densenet;
mod dlrm;
mod lstm;
mod mobilenet;
mod resnet;
mod vgg;

use crate::ModelInfo;

/// All models, one line each.
pub(crate) const ALL: &[ModelInfo] = &[
    alexnet::ALEXNET,
    vgg::VGG_16,
    resnet::RESNET_50,
    resnet::RESNEXT_50,
    densenet::DENSENET_121,
    mobilenet::MOBILENET_V2,
    dlrm::DLRM,
    lstm::LSTM,
];
