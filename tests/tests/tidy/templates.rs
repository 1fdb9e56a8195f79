//! How many files know which templates there are.

use std::path::Path;

use super::{collect, root};

/// Most production files beside the templates' own folders that name a variant of `Template`.
const MOST: usize = 8;

/// Where templates are at home: a folder each below these.
const HOMES: [&str; 3] = ["codegen/src/lower", "fusion/plan/src/template", "fusion/src/template"];

const VARIANTS: [&str; 7] = ["Attention", "Contraction", "Opaque", "Pointwise", "Row", "Staged", "WeightStationary"];

/// Fails if more files name variants than may, or if one gets at them in another way.
pub fn check() {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    let (mut naming, mut hidden) = (Vec::new(), Vec::new());
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let path = path.strip_prefix(root()).expect("files lie in the workspace");
        if is_test(path) || is_home(path) {
            continue;
        }
        let text = std::fs::read_to_string(root().join(path)).expect("a readable file");
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        if VARIANTS.iter().any(|variant| product.contains(&format!("Template::{variant}"))) {
            naming.push(path.display().to_string());
        }
        if is_hidden(product) {
            hidden.push(path.display().to_string());
        }
    }
    assert!(!naming.is_empty(), "the variants are named somewhere");
    assert!(naming.len() <= MOST, "{} files name a template, at most {MOST} may: {naming:#?}", naming.len());
    assert!(hidden.is_empty(), "templates are named in another way than `Template::Variant`: {hidden:#?}");
}

/// Whether a text imports the variants, renames the type, or asks for one template by a name of its own.
fn is_hidden(text: &str) -> bool {
    let by_name = |variant: &&str| {
        let mut word = String::new();
        for (at, letter) in variant.char_indices() {
            if at > 0 && letter.is_uppercase() {
                word.push('_');
            }
            word.extend(letter.to_lowercase());
        }
        text.contains(&format!(".is_{word}(")) || text.contains(&format!(".as_{word}("))
    };
    let glob = text.contains("Template::*") || text.contains("Template::{") || text.contains("Template as ");
    glob || VARIANTS.iter().any(by_name)
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| ["tests", "benches"].iter().any(|folder| part.as_os_str() == *folder))
}

/// Whether a file lies in a template's folder, or is one template's file.
fn is_home(path: &Path) -> bool {
    let below = HOMES.iter().find_map(|home| path.strip_prefix(home).ok());
    let first = below.and_then(|below| below.components().next());
    let name = first.map(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs").replace('_', ""));
    name.is_some_and(|name| VARIANTS.iter().any(|variant| variant.to_lowercase() == name))
}
