//! What stands in the way of a model, by what helps against it.

use warpweave_graph::ops::Op;
use warpweave_graph::types::MAX_RANK;

/// Why something of a model is not supported, by what a person can do about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Obstacle {
    /// Text as elements or attributes.
    Strings,
    /// Complex numbers.
    Complex,
    /// Elements of another type that is not supported.
    Elements,
    /// Sparse tensors.
    Sparse,
    /// A sequence, an optional value or a map where a tensor is needed.
    NotTensor,
    /// A tensor of too many dimensions.
    Rank,
    /// A tensor of too many bytes.
    Size,
    /// A tree ensemble or another model of classical machine learning.
    Trees,
    /// An operator of a domain that is neither ONNX's nor ONNX Runtime's.
    CustomDomain,
    /// A domain whose version the model does not declare.
    NoOpset,
    /// A version of an operator that is not supported.
    Opset,
    /// An operator that is not supported.
    Operator,
    /// An attribute that the operator does not have, or a value of it that is not supported.
    Attribute,
    /// An input that must be known when the model is compiled.
    NotConstant,
    /// A node that contradicts what its operator is defined for.
    Contradiction,
    /// A form of an operator that is not supported: its extents, or which inputs and outputs it has.
    Form,
    /// A branch that must be computed whether it is taken or not.
    Branch,
    /// A loop of which nothing says how often it runs at most.
    Unbounded,
    /// Control flow, a sequence or an extent that is not decided when the model is imported.
    Undecided,
}

impl Obstacle {
    /// What to do about it, after what it is about.
    pub fn remedy(self) -> String {
        match self {
            Self::Strings => "strings: turn text into numbers before the model, and export it from there on",
            Self::Complex => {
                "complex numbers: keep real and imaginary parts in a last dimension of two, as DFT and STFT do"
            }
            Self::Elements => {
                "element types: export the tensors with a type that ONNX defines for numbers, such as float32"
            }
            Self::Sparse => "sparse tensors: export them as dense ones",
            Self::NotTensor => {
                "sequences, optional values and maps: let the model take and give tensors; of scikit-learn's models leave \
                 ZipMap out, with options={'zipmap': False}"
            }
            Self::Rank => {
                let text = format!(
                    "dimensions: reshape tensors to at most {MAX_RANK}, such as by merging neighbours that are moved together"
                );
                return text;
            }
            Self::Size => "large tensors: choose smaller shapes with --shape or --batch",
            Self::Trees => {
                "tree ensembles and other classical models: convert them to tensor operators first, such as with \
                 hummingbird-ml, or run them before or after this model"
            }
            Self::CustomDomain => {
                "custom domains: export without custom operators, or define each as a function of the model, which is \
                 expanded"
            }
            Self::NoOpset => "domains without a version: add each to the model's opset_import",
            Self::Opset => "versions: convert the model to another opset, such as with onnx.version_converter",
            Self::Operator => {
                "unsupported operators: replace them with those that `warpweave ops` lists, or define each as a function of \
                 the model, which is expanded"
            }
            Self::Attribute => "attributes: replace the nodes by others, or export with another opset",
            Self::NotConstant => {
                "values that must be known: fix the inputs that they follow from with --constant NAME=VALUE"
            }
            Self::Contradiction => "check the model with the ONNX checker and export it again",
            Self::Form => {
                "forms of operators: choose smaller shapes with --shape where extents are too large, else export other nodes in \
                 their place"
            }
            Self::Branch => {
                "open conditions: fix the inputs that decide them with --constant NAME=VALUE, or let the branches give tensors \
                 whose extents differ along one dimension"
            }
            Self::Unbounded => {
                "loops without a bound: give each a trip count, its input M, of the most iterations that there may be"
            }
            Self::Undecided => {
                "what data decide: compute it before or after the model, or fix the inputs that it follows from with --constant \
                 NAME=VALUE"
            }
        }
        .to_owned()
    }

    /// What stands in the way of an element type by ONNX's number.
    pub(crate) fn of_element(number: i32) -> Self {
        match number {
            8 => Self::Strings,
            14 | 15 => Self::Complex,
            _ => Self::Elements,
        }
    }

    /// What stands in the way where a model declares no version of a domain, and none is assumed.
    pub(crate) fn of_undeclared(domain: &str) -> Self {
        if domain.is_empty() || domain.starts_with(ONNX) { Self::NoOpset } else { Self::CustomDomain }
    }

    /// What stands in the way of an operator that is not registered.
    pub(crate) fn of_unknown(domain: &str, name: &str) -> Self {
        let is_known = |domain: &str| Op::registered().iter().any(|operator| operator.domain == domain);
        match (domain, name) {
            (ML, name) if CLASSICAL.iter().any(|beginning| name.starts_with(beginning)) => Self::Trees,
            ("" | ML, name) if TEXT.contains(&name) => Self::Strings,
            (ML, "ZipMap") => Self::NotTensor,
            ("", name) if name.starts_with("Optional") || name == "SequenceMap" => Self::NotTensor,
            (domain, _) if is_known(domain) || domain.starts_with(ONNX) => Self::Operator,
            _ => Self::CustomDomain,
        }
    }
}

/// The domain of classical machine learning.
const ML: &str = "ai.onnx.ml";
/// How the names of ONNX's own domains begin.
const ONNX: &str = "ai.onnx";
/// How the names of classical models begin.
const CLASSICAL: [&str; 2] = ["TreeEnsemble", "SVM"];
/// Operators that take or give text alone.
const TEXT: [&str; 6] =
    ["CategoryMapper", "DictVectorizer", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"];
