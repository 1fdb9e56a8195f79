//! Records of the lab as tables.

use std::fs;
use std::path::Path;

use crate::support::tool::{Folder, fail, succeed, tool};

fn synthetic() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/synthetic.json").display().to_string()
}

#[test]
fn a_record_is_shown_as_tables() {
    let shown = tool(&["lab", "show", &synthetic()]);
    let text = String::from_utf8(shown.stdout).expect("tables are text");
    assert_eq!(shown.status.code(), Some(0));
    assert!(
        text.starts_with("# Lab of cuda:9\n") && text.contains("10 steps ran, 1 failed, 1 were skipped."),
        "{text}"
    );
    let told = succeed(&["lab", "show", &synthetic()]);
    assert_eq!((&told["schema"], &told["version"]), (&"warpweave.lab/1".into(), &1.into()));
}

#[test]
fn a_record_of_another_version_is_refused() {
    let folder = Folder::new();
    let path = folder.join("lab.json");
    let text = fs::read_to_string(synthetic()).expect("the record is there");
    fs::write(&path, text.replacen("\"version\": 1,", "\"version\": 7,", 1)).expect("the file can be written");
    let told = fail(2, "lab", &["lab", "show", &path.display().to_string()]);
    assert!(told.contains("version 7, this program reads version 1"), "{told}");
    fs::write(&path, "{}").expect("the file can be written");
    assert!(fail(2, "lab", &["lab", "show", &path.display().to_string()]).contains("no record of the lab"));
}
