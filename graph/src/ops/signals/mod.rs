//! Windows and transforms of signals.

pub(in crate::ops) mod cosine_window;
pub(in crate::ops) mod fourier;

pub mod blackman_window;
pub mod dft;
pub mod hamming_window;
pub mod hann_window;
pub mod mel_weight_matrix;
pub mod stft;
