//! warpweave compiles whole ONNX graphs ahead of time into persistent GPU programs.
