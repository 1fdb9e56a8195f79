//! Inputs and outputs that an exporter has stored beside a model.

use std::collections::BTreeMap;
use std::path::Path;

use warpweave::graph::Tensor;
use warpweave::precision::Fit;
use warpweave::runtime::bundle::Signature;
use warpweave::runtime::npz;

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;

/// The arrays of a model.
pub struct Stored<'s> {
    signature: &'s Signature,
    arrays: BTreeMap<String, Tensor>,
}

impl<'s> Stored<'s> {
    /// Those of a file.
    #[track_caller]
    pub fn read(signature: &'s Signature, file: &Path) -> Self {
        let arrays = npz::read(file).expect("the arrays are readable");
        Self { signature, arrays: arrays.into_iter().collect() }
    }

    /// The inputs, in the signature's order.
    pub fn inputs(&self) -> Vec<Tensor> {
        self.signature.inputs.iter().map(|input| self.arrays[&format!("in_{}", input.name)].clone()).collect()
    }

    /// How near outputs, which have the stored types, are to the stored values.
    #[track_caller]
    pub fn fits(&self, outputs: &[Tensor]) -> Vec<Fit> {
        assert_eq!(outputs.len(), self.signature.outputs.len());
        let fit = |(position, found): (usize, &Tensor)| {
            let wanted = self.wanted(position);
            assert_eq!(found.ty(), wanted.ty());
            Fit::of(&found.to_f64(), &wanted.to_f64())
        };
        outputs.iter().enumerate().map(fit).collect()
    }

    /// Fails unless outputs have the stored types, and the stored values within a thousandth.
    #[track_caller]
    pub fn assert_outputs(&self, outputs: &[Tensor]) {
        assert_eq!(outputs.len(), self.signature.outputs.len());
        for (position, found) in outputs.iter().enumerate() {
            let wanted = self.wanted(position);
            assert_eq!(found.ty(), wanted.ty());
            for (element, (found, wanted)) in found.to_f64().into_iter().zip(wanted.to_f64()).enumerate() {
                let close = found == wanted || (found - wanted).abs() <= ABSOLUTE + RELATIVE * wanted.abs();
                assert!(close, "output {position} has {found} instead of {wanted} at {element}");
            }
        }
    }

    /// The stored values of an output.
    fn wanted(&self, position: usize) -> &Tensor {
        let named = format!("out_{}", self.signature.outputs[position].name);
        self.arrays.get(&named).unwrap_or_else(|| &self.arrays[&format!("out_{position}")])
    }
}
