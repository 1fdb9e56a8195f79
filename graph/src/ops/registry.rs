//! The closed set of operators, made from the registration list.

use std::ops::RangeInclusive;

use super::{AttributeError, AttributeReader, Context, InferError, Operator};
use crate::types::ValueType;

/// Why a node cannot become an operator.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ImportError {
    /// No operator of that name.
    #[error("operator {0} is not supported")]
    Unknown(String),
    /// The operator is known, the opset's version of it is not.
    #[error("opset {opset} is outside the supported {first}..{last}")]
    Opset {
        opset: i64,
        /// The oldest supported.
        first: i64,
        /// The newest supported.
        last: i64,
    },
    /// An attribute is wrong or not supported.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
}

/// What is registered of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registration {
    /// The ONNX domain; the default one is empty.
    pub domain: &'static str,
    /// The ONNX operator type.
    pub name: &'static str,
    /// The versions of the domain whose meaning of the operator is implemented.
    pub opsets: RangeInclusive<i64>,
    /// How many inputs a node may name.
    pub inputs: RangeInclusive<usize>,
}

/// Checks that an opset lies in a range.
pub(super) fn check_opset(range: RangeInclusive<i64>, attributes: &AttributeReader) -> Result<(), ImportError> {
    let opset = attributes.opset();
    if range.contains(&opset) {
        return Ok(());
    }
    Err(ImportError::Opset { opset, first: *range.start(), last: *range.end() })
}

/// Takes the hint of the oldest opsets that the output may have the input's memory, which nothing depends on.
pub(super) fn take_consumed_inputs(domain: &str, attributes: &mut AttributeReader) -> Result<(), AttributeError> {
    if domain.is_empty() && attributes.opset() < 6 {
        attributes.ints("consumed_inputs")?;
    }
    Ok(())
}

/// Checks that no input has a storage type for which the operator is not defined.
pub(super) fn check_storage<O: Operator>(context: &Context) -> Result<(), InferError> {
    (0..context.inputs()).filter_map(|input| context.fact(input)).try_for_each(|fact| check_stored::<O>(&fact.ty))
}

/// Checks that a value has no storage type for which the operator is not defined.
pub(super) fn check_stored<O: Operator>(ty: &ValueType) -> Result<(), InferError> {
    match ty {
        ValueType::Tensor(tensor) if tensor.element.is_storage() && !O::STORAGE.contains(&tensor.element) => {
            let (element, name) = (tensor.element, O::NAME);
            Err(InferError::Mismatch(format!("ONNX does not define {name} on {element} elements; cast them first")))
        }
        ValueType::Tensor(_) => Ok(()),
        ValueType::Sequence(inner) | ValueType::Optional(inner) => check_stored::<O>(inner),
    }
}

macro_rules! operators {
    ($($module:ident :: $name:ident),* $(,)?) => {
        /// Any operator.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Op {
            $(
                #[doc = concat!("See [`", stringify!($module), "::", stringify!($name), "`].")]
                $name($module::$name),
            )*
        }

        impl Op {
            /// The operator named `name` of `domain` with these attributes.
            pub fn import(domain: &str, name: &str, attributes: &mut AttributeReader) -> Result<Self, ImportError> {
                $(
                    if name == <$module::$name as Operator>::NAME && domain == <$module::$name as Operator>::DOMAIN {
                        registry::check_opset(<$module::$name as Operator>::OPSETS, attributes)?;
                        registry::take_consumed_inputs(domain, attributes)?;
                        let operator = <$module::$name as Operator>::from_attributes(attributes)?;
                        attributes.finish()?;
                        return Ok(Self::$name(operator));
                    }
                )*
                Err(ImportError::Unknown(name.to_owned()))
            }

            /// All operators.
            pub fn registered() -> Vec<Registration> {
                vec![$(Registration {
                    domain: <$module::$name as Operator>::DOMAIN,
                    name: <$module::$name as Operator>::NAME,
                    opsets: <$module::$name as Operator>::OPSETS,
                    inputs: <$module::$name as Operator>::INPUTS,
                }),*]
            }

            /// The ONNX operator type.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$module::$name as Operator>::NAME,)*
                }
            }

            /// The ONNX domain.
            pub fn domain(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$module::$name as Operator>::DOMAIN,)*
                }
            }

            pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
                match self {
                    $(Self::$name(operator) => Operator::attributes(operator),)*
                }
            }

            /// See [`Operator::infer`]. A wrong number of inputs is refused here, and storage types that the
            /// operator does not take.
            pub fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
                let count = context.inputs();
                match self {
                    $(Self::$name(operator) => {
                        let possible = <$module::$name as Operator>::INPUTS;
                        if !possible.contains(&count) {
                            return Err(InferError::Inputs { count, least: *possible.start(), most: *possible.end() });
                        }
                        registry::check_storage::<$module::$name>(context)?;
                        let outputs = operator.infer(context)?;
                        outputs.iter().try_for_each(registry::check_stored::<$module::$name>)?;
                        Ok(outputs)
                    })*
                }
            }

            pub fn counted(&self, context: &Context) -> Vec<CountedOutput> {
                match self {
                    $(Self::$name(operator) => operator.counted(context),)*
                }
            }

            pub fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
                match self {
                    $(Self::$name(operator) => operator.follows(context, input, dimension),)*
                }
            }

            /// See [`Operator::lower`].
            pub fn lower(
                &self,
                context: &Context,
                inputs: &[Option<TensorId>],
                program: &mut ProgramBuilder,
            ) -> Vec<TensorId> {
                match self {
                    $(Self::$name(operator) => operator.lower(context, inputs, program),)*
                }
            }
        }

        $(
            impl From<$module::$name> for Op {
                fn from(operator: $module::$name) -> Self {
                    Self::$name(operator)
                }
            }
        )*
    };
}
pub(super) use operators;
