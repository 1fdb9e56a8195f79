//! Normalisations.

pub(in crate::ops) mod normalization;

pub mod batch_normalization;
pub mod group_normalization;
pub mod instance_normalization;
pub mod layer_normalization;
pub mod lp_normalization;
pub mod lrn;
pub mod mean_variance_normalization;
pub mod rms_normalization;
pub mod simplified_layer_normalization;
