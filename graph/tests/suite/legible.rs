//! Names of a model in messages.

use warpweave_graph::legible::{escaped, legible};

#[test]
fn plain_names_stay_as_they_are() {
    for name in ["", "layer/0/Relu:0", "größe \"a\"", r"a\b", "*/"] {
        assert_eq!(legible(name), name);
    }
}

#[test]
fn names_end_no_line_and_no_message() {
    assert_eq!(legible("a\nerror[x]: b\r\u{1b}[2J"), "a\\nerror[x]: b\\r\\u{1b}[2J");
    assert_eq!(legible("a\u{202e}b"), "a\\u{202e}b");
    assert_eq!(legible(&"ä".repeat(10_000)).chars().count(), 161);
    assert_eq!(escaped(&"n".repeat(10_000)).len(), 10_000);
}
