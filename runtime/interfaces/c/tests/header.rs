//! The headers are what the crates export.

use std::path::Path;

/// Makes the header of a crate again where `BLESS=1`, and holds it against the crate elsewhere.
#[track_caller]
fn check(folder: &str, header: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("the configuration is right");
    let made = cbindgen::Builder::new().with_crate(&folder).with_config(config).generate();
    let mut text = Vec::new();
    made.expect("the crate is read").write(&mut text);
    let (path, text) = (folder.join("include").join(header), String::from_utf8(text).expect("a header is text"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the header can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{} is not what the crate exports; run again with BLESS=1", path.display());
}

#[test]
fn the_header_is_generated() {
    check(".", "warpweave.h");
}

#[test]
fn the_header_of_the_commands_is_generated() {
    check("../c_commands", "warpweave_commands.h");
}
