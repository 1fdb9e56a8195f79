//! Sizes of elements come from their types: no literal stands for the bytes of a single or the elements of a wide access.

use std::path::Path;

use super::rust_files;

/// Where sizes are computed.
const FOLDERS: [&str; 4] = ["graph/src", "fusion", "codegen/src/lower", "runtime/src/host"];
/// The table of element types, which has the sizes.
const TABLE: &str = "graph/src/numerics.rs";

/// Code with a factor or a divisor that is no size of an element: the file, a part of the line, and what the number is.
const EXCEPTIONS: [(&str, &str, &str); 6] = [
    ("graph/src/ops/training/optimizer.rs", "2 + 4 * 256", "inputs of each of at most 256 parameters"),
    ("graph/src/ops/images/interpolation.rs", "-4.0 * a]", "a coefficient of a cubic polynomial"),
    ("graph/src/ops/images/resampling.rs", "- 4.0 * a", "a coefficient of a cubic polynomial"),
    ("graph/src/ops/images/grid_sample.rs", "-4.0 * CUBIC", "a coefficient of a cubic polynomial"),
    ("graph/src/expr/index.rs", "i64::MIN / 4", "bounds whose sums do not overflow"),
    ("fusion/plan/src/streams/prefetch.rs", "stream.len() / 4", "room for more instructions"),
];

/// No product or quotient has a literal 4, and nothing asks for the size of a type of four bytes.
pub(crate) fn check() {
    let mut complaints = Vec::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    for folder in FOLDERS {
        for (relative, text) in rust_files(folder) {
            if relative == Path::new(TABLE) || relative.components().any(|part| part.as_os_str() == "tests") {
                continue;
            }
            for (number, line) in text.lines().enumerate().filter(|(_, line)| has_literal_size(line)) {
                let known =
                    EXCEPTIONS.iter().position(|(file, part, _)| relative == Path::new(file) && line.contains(part));
                match known {
                    Some(at) => used[at] = true,
                    None => complaints.push(format!("{}:{}: {}", relative.display(), number + 1, line.trim())),
                }
            }
        }
    }
    assert!(complaints.is_empty(), "sizes of elements come from their types: {complaints:#?}");
    let idle: Vec<_> = EXCEPTIONS.iter().zip(used).filter(|(_, used)| !used).map(|(exception, _)| exception).collect();
    assert!(idle.is_empty(), "these exceptions are of nothing: {idle:?}");
}

/// The rule finds what it is for, and nothing else.
pub(crate) fn check_rule() {
    for found in [
        "let bytes = 4 * elements;",
        "elements * 4",
        "(bytes / 4) as usize",
        "4.0 * kept as f64",
        "value as f64 / 4.0;",
        "size_of::<f32>() * row",
        "size_of::<u32>()",
        "pub const WIDEST: usize = 4;",
        "const TAG_BYTES: f64 = 4.0;",
    ] {
        assert!(has_literal_size(found), "{found}");
    }
    for other in ["14 * x", "x * 40", "x * 4.5", "// 4 * x", "\"4 * x\"", "x / 45", "a[4] * b", "size_of::<u64>()"] {
        assert!(!has_literal_size(other), "{other}");
    }
}

fn has_literal_size(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let code: String = code.split('"').step_by(2).collect();
    let tokens = tokens(&code);
    let is_four = |token: &str| matches!(token, "4" | "4.0");
    let is_factor = |pair: &[&str]| matches!(pair, [four, "*"] | ["*" | "/", four] if is_four(four));
    let is_size = |name: &str| name.ends_with("BYTES") || name.contains("WIDEST");
    let is_constant = match tokens.as_slice() {
        [.., "const", name, ":", _, "=", value, ";"] => is_size(name) && is_four(value),
        _ => false,
    };
    let of_type = ["f32", "u32", "i32"].iter().any(|name| code.contains(&format!("size_of::<{name}>")));
    tokens.windows(2).any(is_factor) || is_constant || of_type
}

/// Words and numbers, and what stands between them.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |character: char| character.is_alphanumeric() || "_.".contains(character);
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match is_word(first) {
            true => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}
