//! `com.microsoft.FusedGemm`: a matrix product, and a function of every element.

use std::ops::RangeInclusive;

use super::activation::Activation;
use crate::ops::gemm::Gemm;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The activation of what `Gemm` gives.
#[derive(Clone, PartialEq, Debug)]
pub struct FusedGemm {
    product: Gemm,
    activation: Activation,
}

const PARAMETERS: [&str; 3] = ["activation_alpha", "activation_beta", "activation_gamma"];

impl Operator for FusedGemm {
    const NAME: &'static str = "FusedGemm";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("activation")?;
        let parameters = PARAMETERS.map(|name| attributes.float(name));
        let given = parameters.into_iter().collect::<Result<Vec<Option<f32>>, _>>()?;
        let parameters: Vec<f32> = given.into_iter().map_while(|value| value).collect();
        let activation = Activation::named(name.as_deref(), &parameters)?;
        Ok(Self { product: Gemm::from_attributes(attributes)?, activation })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.product.attributes();
        if let Some((name, parameters)) = self.activation.attributes() {
            attributes.push(("activation", name));
            let parameters = parameters.into_iter().map(Attribute::Float);
            attributes.extend(PARAMETERS.into_iter().zip(parameters));
        }
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.product.infer(context)
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.product.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let product = self.product.lower(context, inputs, program)[0];
        vec![self.activation.lower(program, product)]
    }
}
