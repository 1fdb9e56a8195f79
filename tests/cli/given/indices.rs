//! Indices that name no place: the same exit code and the same message on every device.

use std::fs;

use warpweave::graph::{Tensor, npy};

use crate::support::models_by_hand::constant_index;
use crate::support::tool::{Folder, fail, has_nvrtc, succeed};

const DEVICES: [&str; 4] = ["reference", "host", "emulator", "text"];

/// BERT at reduced size in `folder`, and arguments that give it these words.
struct Bert {
    folder: Folder,
    model: String,
}

/// Words of the reduced model, and the places of a sentence.
const WORDS: i64 = 200;
const LENGTH: usize = 16;

impl Bert {
    fn new() -> Self {
        let folder = Folder::new();
        let model = folder.join("bert.onnx").display().to_string();
        succeed(&["models", "export", "bert_base_128", "--reduced", "-o", &model]);
        Self { folder, model }
    }

    /// An argument that gives an input.
    fn input(&self, name: &str, values: &[i64; LENGTH]) -> String {
        let path = self.folder.join(&format!("{name}.npy"));
        let array = npy::print(&Tensor::new([1, LENGTH], values)).expect("the type has an array");
        fs::write(&path, array).expect("the file can be written");
        format!("{name}={}", path.display())
    }

    fn arguments(&self, words: &[i64; LENGTH]) -> [String; 4] {
        let words = self.input("input_ids", words);
        let types = self.input("token_type_ids", &[0; LENGTH]);
        ["--input".to_owned(), words, "--input".to_owned(), types]
    }
}

/// The first line of what each device says of a run that fails with exit code 7, the same for all.
fn faulty(program: &str, devices: &[&str], inputs: &[String; 4]) -> String {
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let run = |device: &&str| {
        let message = fail(7, "index", &[&["run", program, "--device", device][..], &inputs].concat());
        message.lines().find(|line| line.starts_with("error")).unwrap_or_default().to_owned()
    };
    let messages: Vec<String> = devices.iter().map(run).collect();
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:#?}");
    messages[0].clone()
}

/// Sentences, and which element of which value is reported.
const FAULTY: [(&[(usize, i64)], &str); 5] = [
    (&[(5, 999_999)], "999999 at [0, 5]"),
    (&[(15, WORDS), (7, WORDS)], "200 at [0, 7]"),
    (&[(0, -WORDS - 1)], "-201 at [0, 0]"),
    (&[(3, (1 << 32) + 1)], "4294967297 at [0, 3]"),
    (&[(2, i64::MIN), (4, i64::MAX)], "-9223372036854775808 at [0, 2]"),
];

#[test]
fn words_that_a_model_does_not_have_are_named_on_every_device() {
    let bert = Bert::new();
    for (changes, expected) in FAULTY {
        let mut words = std::array::from_fn(|place| place as i64);
        changes.iter().for_each(|(place, word)| words[*place] = *word);
        let message = faulty(&bert.model, &DEVICES, &bert.arguments(&words));
        let whole = format!(
            "error[index]: the input `input_ids` holds {expected}, which is no index from -200 to 199; give indices in that range"
        );
        assert_eq!(message, whole);
    }
}

#[test]
fn words_counted_from_the_end_are_those_from_the_start() {
    let bert = Bert::new();
    let outputs = |words: [i64; LENGTH], device: &str| {
        let inputs = bert.arguments(&words);
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        succeed(&[&["run", &bert.model, "--device", device][..], &inputs].concat())["outputs"].clone()
    };
    for device in DEVICES {
        let words = std::array::from_fn(|place| place as i64 * 12);
        assert_eq!(outputs(words.map(|word| word - WORDS), device), outputs(words, device), "{device}");
    }
}

#[test]
fn bundles_name_tensors_as_their_models_do() {
    if !has_nvrtc() {
        return;
    }
    let bert = Bert::new();
    for backend in ["persistent", "cuda-graph"] {
        let bundle = bert.folder.join("bert.weave").display().to_string();
        succeed(&["compile", &bert.model, "-o", &bundle, "--target", "sm_90a,host", "--backend", backend]);
        let message = faulty(&bundle, &DEVICES, &bert.arguments(&[999_999; LENGTH]));
        assert!(message.contains("the input `input_ids` holds 999999 at [0, 0]"), "{backend}: {message}");
    }
}

#[test]
fn a_constant_index_that_names_no_place_is_refused_with_its_node() {
    let folder = Folder::new();
    succeed(&["inspect", &constant_index(&folder, 1)]);
    for index in [2, -3] {
        let path = constant_index(&folder, index);
        for command in [&["inspect", &path][..], &["run", &path, "--device", "host"]] {
            let message = fail(3, "model-unsupported", command);
            let expected =
                format!("pick: ai.onnx.Gather (opset 17): input 1 is constant and holds {index} in element 0");
            assert!(message.contains(&expected) && message.contains("no index from -2 to 1"), "{message}");
        }
    }
}
