//! Inputs and outputs that an exporter has stored beside a model.

use std::collections::BTreeMap;
use std::path::Path;

use warpweave::graph::Tensor;
use warpweave::runtime::bundle::Signature;
use warpweave::runtime::npz;

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;

/// How near values are to others.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The largest difference over the largest value.
    pub error: f64,
    /// Pearson's coefficient; 1 where either does not vary.
    pub correlation: f64,
}

impl Fit {
    fn of(found: &[f64], wanted: &[f64]) -> Self {
        let largest = wanted.iter().fold(f64::MIN_POSITIVE, |largest, value| value.abs().max(largest));
        // A difference that is no number is larger than any bound.
        let off = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).abs());
        let most = off.fold(0.0, |most, off| if off.is_nan() || off > most { off } else { most });
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let (of_found, of_wanted) = (mean(found), mean(wanted));
        let products = |left: &[f64], (first, right): (f64, &[f64]), second: f64| -> f64 {
            left.iter().zip(right).map(|(left, right)| (left - first) * (right - second)).sum()
        };
        let both = products(found, (of_found, wanted), of_wanted);
        let each = products(found, (of_found, found), of_found) * products(wanted, (of_wanted, wanted), of_wanted);
        Self { error: most / largest, correlation: if each > 0.0 { both / each.sqrt() } else { 1.0 } }
    }
}

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
