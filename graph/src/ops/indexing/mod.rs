//! Elements at indices that tensors give.

pub(in crate::ops) mod compaction;
pub(in crate::ops) mod indices;
pub(in crate::ops) mod scatter;

pub mod compress;
pub mod gather;
pub mod gather_elements;
pub mod gather_nd;
pub mod keyed_sums;
pub mod non_zero;
pub mod one_hot;
pub mod scatter_elements;
pub mod scatter_nd;
pub mod scatter_old;
pub mod tf_idf_vectorizer;
