use std::collections::BTreeSet;

use warpweave_frontend::{ImportOptions, import_bytes};

use super::*;

/// Every form that a model has, at a scale.
fn forms(model: &ModelInfo, scale: Scale) -> Vec<BuildOptions> {
    let forms: &[Form] = if model.has_forms() { &[Form::Nodes, Form::Unrolled] } else { &[Form::Nodes] };
    forms.iter().map(|&form| BuildOptions { form, scale, ..BuildOptions::default() }).collect()
}

#[test]
fn parameters_are_as_published() {
    for model in all() {
        for options in forms(model, Scale::Full) {
            let built = model.build(&options).unwrap();
            if let Some(published) = model.parameters {
                assert_eq!(built.parameters(), published, "{} {options:?}", model.name);
            }
        }
    }
}

#[test]
fn names_are_unique() {
    for model in all() {
        for options in forms(model, Scale::Reduced) {
            let built = model.build(&options).unwrap();
            let graph = built.proto.graph.unwrap();
            let weights = built.weights.iter().map(|weight| &weight.name);
            let inputs = graph.input.iter().map(|input| &input.name);
            let outputs = graph.node.iter().flat_map(|node| &node.output);
            let mut seen = BTreeSet::new();
            for name in weights.chain(inputs).chain(outputs) {
                assert!(seen.insert(name.clone()), "{}: {name} is named twice", model.name);
            }
        }
    }
    let names: BTreeSet<&str> = all().iter().map(|model| model.name).collect();
    assert_eq!(names.len(), all().len());
}

#[test]
fn reduced_models_are_imported() {
    for model in all() {
        for options in forms(model, Scale::Reduced) {
            let mut file = Vec::new();
            model.build(&BuildOptions { batch: 2, ..options }).unwrap().write_to(&mut file).unwrap();
            let imported = import_bytes(file.into(), None, &ImportOptions::default());
            assert!(imported.is_ok(), "{} {options:?}: {}", model.name, imported.unwrap_err());
        }
    }
}

#[test]
fn unknown_names_and_empty_batches_are_refused() {
    let error = build("resnet-50", &BuildOptions::default()).unwrap_err().to_string();
    assert!(error.contains("nearest names are resnet50"), "{error}");
    let empty = BuildOptions { batch: 0, ..BuildOptions::default() };
    assert!(matches!(build("alexnet", &empty), Err(ModelError::Batch { .. })));
    let unrolled = BuildOptions { form: Form::Unrolled, ..BuildOptions::default() };
    assert!(matches!(build("alexnet", &unrolled), Err(ModelError::Form { .. })));
}

#[test]
fn large_weights_lie_in_a_file_of_their_own() {
    let folder = std::env::temp_dir().join(format!("warpweave-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("lstm_tc.onnx");
    let model = build("lstm_tc", &BuildOptions { scale: Scale::Reduced, ..BuildOptions::default() }).unwrap();
    let written = model.write(&path).unwrap();
    assert_eq!(written.weights, None);
    assert_eq!(written.bytes, path.metadata().unwrap().len());
    std::fs::remove_dir_all(&folder).unwrap();
}
