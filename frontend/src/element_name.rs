//! Names of element types, those that are not supported included.

/// ONNX's names of element types by number, where the graph has no type for them.
const UNSUPPORTED: [(i32, &str); 14] = [
    (8, "strings"),
    (14, "64-bit complex numbers"),
    (15, "128-bit complex numbers"),
    (17, "8-bit floating point (float8e4m3fn)"),
    (18, "8-bit floating point (float8e4m3fnuz)"),
    (19, "8-bit floating point (float8e5m2)"),
    (20, "8-bit floating point (float8e5m2fnuz)"),
    (21, "unsigned 4-bit integers (uint4)"),
    (22, "4-bit integers (int4)"),
    (23, "4-bit floating point (float4e2m1)"),
    (24, "8-bit exponents (float8e8m0)"),
    (25, "unsigned 2-bit integers (uint2)"),
    (26, "2-bit integers (int2)"),
    (0, "elements of an undefined type"),
];

/// What a tensor of an unsupported element type holds.
pub(crate) fn unsupported(number: i32) -> String {
    let known = UNSUPPORTED.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("elements of type number {number}"), |(_, name)| (*name).to_owned())
}
