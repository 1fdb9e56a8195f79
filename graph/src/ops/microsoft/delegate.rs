//! Operators of `com.microsoft` that are operators of another name.

/// An operator of `com.microsoft` that means what `$inner` means, of the storage types `$storage`.
macro_rules! delegate {
    ($(#[$doc:meta])* $name:ident, $onnx:literal, $inner:ty $(, $storage:expr)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name($inner);

        impl $crate::ops::Operator for $name {
            const NAME: &'static str = $onnx;
            const DOMAIN: &'static str = $crate::ops::microsoft::DOMAIN;
            const INPUTS: std::ops::RangeInclusive<usize> = <$inner as $crate::ops::Operator>::INPUTS;
            $(const STORAGE: &'static [$crate::types::ElementType] = $storage;)?

            fn from_attributes(
                attributes: &mut $crate::ops::AttributeReader,
            ) -> Result<Self, $crate::ops::AttributeError> {
                Ok(Self(<$inner as $crate::ops::Operator>::from_attributes(attributes)?))
            }

            fn attributes(&self) -> Vec<(&'static str, $crate::ops::Attribute)> {
                $crate::ops::Operator::attributes(&self.0)
            }

            fn infer(
                &self,
                context: &$crate::ops::Context,
            ) -> Result<Vec<$crate::types::ValueType>, $crate::ops::InferError> {
                $crate::ops::Operator::infer(&self.0, context)
            }

            fn follows(&self, context: &$crate::ops::Context, input: usize, dimension: usize) -> Option<usize> {
                $crate::ops::Operator::follows(&self.0, context, input, dimension)
            }

            fn lower(
                &self,
                context: &$crate::ops::Context,
                inputs: &[Option<$crate::program::TensorId>],
                program: &mut $crate::program::ProgramBuilder,
            ) -> Vec<$crate::program::TensorId> {
                $crate::ops::Operator::lower(&self.0, context, inputs, program)
            }
        }
    };
}
pub(super) use delegate;
