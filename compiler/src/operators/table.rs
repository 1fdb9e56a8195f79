//! Operators as a table in Markdown.

use std::fmt::Write;

use warpweave_graph::ElementType;

use super::{ElementSupport, OperatorSupport};

const HEAD: &str = "# Operators

`warpweave ops --markdown` writes this file. Versions come of the registry. Element types are those that the smallest application of
an operator takes, tried one by one; of several inputs they are those of the first whose type is not fixed. `float` is f16, bf16, f32
and f64; `int` is i8 to i64 and u8 to u64. `float8` is f8e4m3fn, f8e4m3fnuz, f8e5m2 and f8e5m2fnuz. `storage` is what is kept and
converted only: float8, f8e8m0, f4e2m1, i4, u4, i2 and u2. Host is the processor's back end, kernels are what GPU, emulator and
printed text run.
*Not tried* means that no small application was found, which says nothing of larger ones.
`Constant` nodes, a model's own functions, control flow and sequences are resolved at import. A model is refused with all nodes and
types that are not here.

";

/// What operators do where texts leave a choice, or have changed.
const NOTES: &str = "
## Where others differ

- `Attention`: opsets 23 and 24 follow onnx 1.23, which corrected their texts. `nonpad_kv_seqlen` gives the number of valid keys, and
  `is_causal` and windows align the last query with the last valid key. A query whose keys are all masked gives 0, with weights of 0.
  In onnx 1.22 the first query was aligned with the first key, and a masked query gave NaN.
- Three of ONNX's node tests of `Attention` in half precision fail by two units in the last place. NumPy computed their outputs and
  rounded every step of the softmax to half precision. Here only tensors are rounded.
- `BitShift` shifts signed integers in every opset, as opset 28 does.
- `Cast` to an integer type saturates, and NaN gives 0, as on a GPU. Types of fewer than 8 bits saturate at 32 bits and wrap from there.
  ONNX leaves values out of range open. ONNX Runtime on x86-64 gives the smallest value of int32 and int64, and wraps at 8 bits.
";

/// The file `docs/operators.md`.
pub fn markdown(operators: &[OperatorSupport]) -> String {
    let mut text = HEAD.to_owned();
    let _ = writeln!(text, "{} operators.\n", operators.len());
    let _ = writeln!(text, "| Operator | Opsets | Reference | Host | Kernels |\n|---|---|---|---|---|");
    for operator in operators {
        let OperatorSupport { domain, name, opsets, .. } = operator;
        let domain = if domain.is_empty() { String::new() } else { format!("{domain}.") };
        let [reference, host, kernels] = devices(operator);
        let _ = writeln!(
            text,
            "| {domain}{name} | {}–{} | {reference} | {host} | {kernels} |",
            opsets.start(),
            opsets.end()
        );
    }
    text.push_str(NOTES);
    text
}

/// What reference, host and kernels compute, in few words.
pub fn devices(operator: &OperatorSupport) -> [String; 3] {
    if operator.elements.is_empty() {
        return ["not tried"; 3].map(str::to_owned);
    }
    let present: [fn(&ElementSupport) -> bool; 3] =
        [|support| support.reference, |support| support.host, |support| support.kernels];
    present.map(|is_present| elements(&operator.elements(is_present)))
}

const FLOAT8: [ElementType; 4] =
    [ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ];

/// Element types in few words: `int`, `float`, `float8` and `storage` where all of them are there.
fn elements(present: &[ElementType]) -> String {
    let mut words = Vec::new();
    let mut describe = |word: &str, is_kind: &dyn Fn(ElementType) -> bool| {
        let all = ElementType::ALL.into_iter().filter(|element| is_kind(*element)).count();
        let own: Vec<&ElementType> = present.iter().filter(|element| is_kind(**element)).collect();
        match own.len() == all {
            true => words.push(word.to_owned()),
            false => words.extend(own.into_iter().map(ToString::to_string)),
        }
    };
    describe("bool", &|element| element == ElementType::Bool);
    describe("int", &|element| element.is_integer() && !element.is_storage());
    describe("float", &|element| element.is_float() && !element.is_storage());
    if ElementType::ALL.iter().filter(|element| element.is_storage()).all(|element| present.contains(element)) {
        words.push("storage".to_owned());
    } else {
        describe("float8", &|element| FLOAT8.contains(&element));
        let others = present.iter().filter(|element| element.is_storage() && !FLOAT8.contains(element));
        words.extend(others.map(ToString::to_string));
    }
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}
