//! Types that arrays do not have: bytes stand in their place.

use std::fs;

use warpweave::graph::{Tensor, npy};

use crate::support::models_by_hand::storage;
use crate::support::tool::{Folder, fail, succeed};

/// The path of an array, after the input's name.
fn input(folder: &Folder, name: &str, tensor: &Tensor) -> String {
    let path = folder.join(&format!("{name}.npy"));
    fs::write(&path, npy::print(tensor).expect("the type has an array")).expect("the file can be written");
    format!("{name}={}", path.display())
}

#[test]
fn codes_go_in_and_come_out_as_bytes() {
    let folder = Folder::new();
    let model = storage(&folder);
    let codes = input(&folder, "c", &Tensor::new([3], &[0x38u8, 0xfe, 0x7f]));
    let scale = input(&folder, "s", &Tensor::scalar(0.5f32));
    let bundle = folder.join("storage.weave").display().to_string();
    succeed(&["compile", &model, "--target", "host", "-o", &bundle]);
    for (at, source) in [&model, &bundle].into_iter().enumerate() {
        for device in ["reference", "host"] {
            let out = folder.join(&format!("out_{at}_{device}"));
            let to = out.display().to_string();
            succeed(&["run", source, "--device", device, "--input", &codes, "--input", &scale, "--output", &to]);
            let read = |name: &str| {
                npy::parse(&fs::read(out.join(name)).expect("the output is there").into()).expect("an array")
            };
            assert_eq!(read("out_0.npy"), Tensor::new([3], &[0x3cu8, 0xdf, 0x7e]), "{device}");
            assert_eq!(read("out_1.npy"), Tensor::new([3], &[-4.0f32, 3.5, -0.5]), "{device}");
        }
    }
}

#[test]
fn other_arrays_are_refused_with_what_is_wanted() {
    let folder = Folder::new();
    let model = storage(&folder);
    let singles = input(&folder, "c", &Tensor::new([3], &[1f32, 2.0, 3.0]));
    let scale = input(&folder, "s", &Tensor::scalar(0.5f32));
    let message = fail(2, "input", &["run", &model, "--input", &singles, "--input", &scale]);
    let parts = ["`c` must be f8e4m3fn[3] and is f32[3]", "uint8", "a byte is the code of one f8e4m3fn element"];
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn bytes_that_stand_for_no_element_are_none() {
    let narrow = warpweave::graph::ElementType::I4;
    assert!(npy::stood_for(&Tensor::new([2], &[-8i8, 7]), narrow).is_some());
    assert_eq!(npy::stood_for(&Tensor::new([1], &[8i8]), narrow), None);
    assert_eq!(npy::stood_for(&Tensor::new([1], &[-9i8]), narrow), None);
    assert_eq!(npy::stood_for(&Tensor::new([1], &[7u8]), narrow), None);
    let code = warpweave::graph::ElementType::F4E2M1;
    assert!(npy::stood_for(&Tensor::new([1], &[15u8]), code).is_some());
    assert_eq!(npy::stood_for(&Tensor::new([1], &[16u8]), code), None);
}
