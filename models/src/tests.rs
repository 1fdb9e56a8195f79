use std::collections::BTreeSet;

use warpweave_frontend::{ImportOptions, import, import_bytes};

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
            let built = model.build(&options).expect("the model is built");
            if let Some(published) = model.parameters {
                assert_eq!(built.parameters(), published, "{} {options:?}", model.name);
            }
        }
    }
}

#[test]
fn parameters_follow_from_the_sizes_where_none_are_published() {
    let (d, v) = (512, 30_000);
    let (linear, norm) = (|inputs: u64, outputs: u64| inputs * outputs + outputs, 2 * d);
    let attention = 4 * linear(d, d);
    let feed_forward = linear(d, 2048) + linear(2048, d);
    let (encoder, decoder) = (attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm);
    let transformer = build("transformer_base", &BuildOptions::default()).expect("the model is built");
    assert_eq!(transformer.parameters(), 37_000 * d + 6 * (encoder + decoder));
    let unit = |inputs: u64| 3 * (linear(inputs, d) + linear(d, d));
    let attention = linear(2 * d, d) + d * d + d;
    let readout = linear(4 * d, d) + linear(d, v);
    let translator = build("attention_rnn", &BuildOptions::default()).expect("the model is built");
    assert_eq!(translator.parameters(), 2 * v * d + 2 * unit(d) + linear(d, d) + unit(3 * d) + attention + readout);
}

#[test]
fn measured_products_have_the_weights_of_twelve_layers() {
    let built = build("products_48", &BuildOptions::default()).expect("the model is built");
    let layer = 768 * 2304 + 768 * 768 + 2 * 768 * 3072;
    assert_eq!(built.parameters(), 12 * layer);
    let products = built.proto.graph.expect("the model has a graph").node.into_iter();
    assert_eq!(products.filter(|node| node.op_type == "MatMul").count(), 48);
}

#[test]
fn names_are_unique() {
    for model in all().iter().chain(measured()) {
        for options in forms(model, Scale::Reduced) {
            let built = model.build(&options).expect("the model is built");
            let graph = built.proto.graph.expect("the model has a graph");
            let weights = built.weights.iter().map(|weight| &weight.name);
            let inputs = graph.input.iter().map(|input| &input.name);
            let outputs = graph.node.iter().flat_map(|node| &node.output);
            let mut seen = BTreeSet::new();
            for name in weights.chain(inputs).chain(outputs) {
                assert!(seen.insert(name.clone()), "{}: {name} is named twice", model.name);
            }
        }
    }
    let known = || all().iter().chain(measured());
    let names: BTreeSet<&str> = known().map(|model| model.name).collect();
    assert_eq!(names.len(), known().count());
}

#[test]
fn reduced_models_are_imported() {
    for model in all().iter().chain(measured()) {
        for options in forms(model, Scale::Reduced) {
            let mut file = Vec::new();
            model
                .build(&BuildOptions { batch: 2, ..options })
                .expect("the model is built")
                .write_to(&mut file)
                .expect("memory takes all");
            let imported = import_bytes(file.into(), None, &ImportOptions::default());
            if let Err(error) = imported {
                panic!("{} {options:?}: {error}", model.name);
            }
        }
    }
}

#[test]
fn unknown_names_and_empty_batches_are_refused() {
    let error = build("resnet-50", &BuildOptions::default()).expect_err("there is no such model").to_string();
    assert!(error.contains("nearest names are resnet50"), "{error}");
    let empty = BuildOptions { batch: 0, ..BuildOptions::default() };
    assert!(matches!(build("alexnet", &empty), Err(ModelError::Batch { .. })));
    let unrolled = BuildOptions { form: Form::Unrolled, ..BuildOptions::default() };
    assert!(matches!(build("alexnet", &unrolled), Err(ModelError::Form { .. })));
}

#[test]
fn large_weights_lie_in_a_file_of_their_own() {
    let folder = std::env::temp_dir().join(format!("warpweave-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder is made");
    let options = BuildOptions { scale: Scale::Reduced, ..BuildOptions::default() };
    let model = build("llama_1b_decode", &options).expect("the model is built");
    let put: &mut Put<'_> = &mut |path, content| {
        let mut bytes = Vec::new();
        content(&mut bytes)?;
        std::fs::write(path, &bytes)?;
        Ok(bytes.len() as u64)
    };
    let inside = model.write(&folder.join("inside.onnx"), put).expect("the model is written");
    let beside = model.write_within(&folder.join("beside.onnx"), 0, put).expect("the model is written");
    assert_eq!(inside.weights, None);
    assert_eq!(beside.weights, Some(folder.join("beside.onnx.data")));
    assert!(beside.bytes > inside.bytes, "places are aligned");
    let [inside, beside] = [inside.path, beside.path].map(|path| import(&path, &ImportOptions::default()));
    assert!(inside.expect("the model is imported") == beside.expect("the model is imported"));
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
