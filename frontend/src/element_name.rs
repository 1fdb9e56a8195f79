//! Names of element types, those that are not supported included.

/// ONNX's names of element types by number, where the graph has no type for them.
const UNSUPPORTED: [(i32, &str); 4] = [
    (8, "strings"),
    (14, "64-bit complex numbers"),
    (15, "128-bit complex numbers"),
    (0, "elements of an undefined type"),
];

/// What a tensor of an unsupported element type holds.
pub(crate) fn unsupported(number: i32) -> String {
    let known = UNSUPPORTED.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("elements of type number {number}"), |(_, name)| (*name).to_owned())
}
