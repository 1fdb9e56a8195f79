//! Bundles: the same bytes every time, and every damage is refused.

use std::fs;
use std::process::Command;

use warpweave::runtime::bundle::FORMAT_VERSION;

use crate::support::archive::{entries, forge, replace, replace_unsealed};
use crate::support::tool::{Folder, fail, has_nvrtc, host_bundle, model, succeed, tool};
use crate::support::zipped_again::{Zipping, zip_again};

#[test]
fn equal_inputs_give_equal_bytes() {
    let folder = Folder::new();
    let first = fs::read(host_bundle(&folder)).expect("the bundle is there");
    let second = fs::read(host_bundle(&folder)).expect("the bundle is there");
    assert!(first == second);
    assert_eq!(folder.names(), ["dlrm.weave"]);
    let names: Vec<String> = entries(&first).into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["weights.safetensors", "program.bin", "plan/host.bin", "manifest.json"]);
    assert!(entries(&first).iter().all(|entry| entry.start % 64 == 0));
}

/// GPUs and processors gain by different programs of a recurrent model; the bundle holds both.
#[test]
fn the_host_may_have_a_program_of_its_own() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let path = folder.join("lstm.weave").display().to_string();
    succeed(&["compile", &model("lstm", "torchscript.onnx"), "-o", &path, "--target", "host,sm_90a"]);
    for device in ["host", "emulator", "reference"] {
        succeed(&["compare", &path, "--io", &model("lstm", "io.npz"), "--device", device]);
    }
    let bytes = fs::read(&path).expect("the bundle is there");
    let own = entries(&bytes).into_iter().find(|entry| entry.name == "program/host.bin").expect("there is one");
    let mut damaged = bytes.clone();
    damaged[own.start + own.bytes / 2] ^= 1;
    fs::write(&path, &damaged).expect("the file can be written");
    assert!(fail(8, "bundle-damaged", &["run", &path]).contains(&own.name));
}

#[test]
fn a_flipped_byte_in_any_entry_is_refused() {
    let folder = Folder::new();
    let bytes = fs::read(host_bundle(&folder)).expect("the bundle is there");
    let path = folder.join("damaged.weave").display().to_string();
    for entry in entries(&bytes) {
        for at in [0, entry.bytes / 2, entry.bytes - 1] {
            let mut damaged = bytes.clone();
            damaged[entry.start + at] ^= 1;
            fs::write(&path, &damaged).expect("the file can be written");
            let message = fail(8, "bundle-damaged", &["run", &path]);
            assert!(message.contains(&entry.name), "{} at {at}: {message}", entry.name);
        }
    }
}

#[test]
fn no_damage_of_structure_makes_it_panic() {
    let folder = Folder::new();
    let bytes = fs::read(host_bundle(&folder)).expect("the bundle is there");
    let path = folder.join("damaged.weave").display().to_string();
    let all = entries(&bytes);
    let headers = all.iter().flat_map(|entry| (entry.start - 40..entry.start).step_by(7));
    let last = all.last().expect("there are entries");
    let directory = (last.start + last.bytes..bytes.len()).step_by(13);
    for at in headers.chain(directory) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        fs::write(&path, &damaged).expect("the file can be written");
        let output = tool(&["inspect", &path]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked") && output.status.code().is_some_and(|code| code < 9), "{at}: {errors}");
    }
}

#[test]
fn cut_files_are_refused() {
    let folder = Folder::new();
    let bytes = fs::read(host_bundle(&folder)).expect("the bundle is there");
    let path = folder.join("cut.weave").display().to_string();
    for length in [4, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).expect("the file can be written");
        let message = fail(8, "bundle-archive", &["run", &path]);
        assert!(message.contains("cut.weave") && message.contains("copy or compile it again"), "{message}");
    }
}

#[test]
fn another_format_is_refused() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let bytes = fs::read(&path).expect("the bundle is there");
    // As long as this one, so that nothing else of the file moves.
    for version in ["10", "99"] {
        let mut other = bytes.clone();
        let of = |version: &str| format!("\"format_version\": {version}");
        replace(&mut other, "manifest.json", &of(&FORMAT_VERSION.to_string()), &of(version));
        fs::write(&path, &other).expect("the file can be written");
        let message = fail(4, "bundle-version", &["run", &path]);
        let both = [format!("has format version {version}"), format!("reads version {FORMAT_VERSION}")];
        assert!(both.iter().all(|part| message.contains(part)), "{message}");
    }
}

/// The entries of another version may be others, too.
#[test]
fn another_format_with_foreign_entries_is_refused_as_another_format() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let mut bytes = fs::read(&path).expect("the bundle is there");
    replace(&mut bytes, "manifest.json", &format!("\"format_version\": {FORMAT_VERSION}"), "\"format_version\": 12");
    let manifest = entries(&bytes).into_iter().find(|entry| entry.name == "manifest.json").expect("there is one");
    let places = (0..bytes.len() - 11).filter(|&at| bytes[at..].starts_with(b"program.bin"));
    let places: Vec<usize> =
        places.filter(|at| !(manifest.start..manifest.start + manifest.bytes).contains(at)).collect();
    places.iter().for_each(|&at| bytes[at..at + 11].copy_from_slice(b"program.txt"));
    fs::write(&path, &bytes).expect("the file can be written");
    assert!(fail(4, "bundle-version", &["run", &path]).contains("has format version 12"));
}

#[test]
fn the_program_of_a_bundle_is_printed() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let printed = succeed(&["inspect", "--program", &path]);
    let text = printed["program"].as_str().expect("there is a program");
    let emitted = folder.join("emitted").display().to_string();
    let bundle = folder.join("again.weave").display().to_string();
    let model = model("dlrm", "torchscript.onnx");
    succeed(&["compile", &model, "-o", &bundle, "--target", "host", "--emit", "program", "--emit-dir", &emitted]);
    let emitted = fs::read_to_string(folder.join("emitted/program.txt")).expect("the program is there");
    assert_eq!(emitted, text);
}

#[test]
fn foreign_and_repeated_names_are_refused() {
    let folder = Folder::new();
    let bytes = fs::read(host_bundle(&folder)).expect("the bundle is there");
    let path = folder.join("foreign.weave").display().to_string();
    for name in ["../ph.bin", "/raph.bin", "graph.txt"] {
        let mut foreign = bytes.clone();
        let places: Vec<usize> = (0..bytes.len() - 9).filter(|&at| bytes[at..].starts_with(b"program.bin")).collect();
        places.iter().for_each(|&at| foreign[at..at + 9].copy_from_slice(name.as_bytes()));
        fs::write(&path, &foreign).expect("the file can be written");
        let message = fail(8, "bundle-entry", &["inspect", &path]);
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn a_bundle_for_another_target_is_refused_with_both_sides() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let message = fail(4, "bundle-target", &["run", &path, "--device", "emulator"]);
    assert!(message.contains("holds host") && message.contains("--target sm_90a"), "{message}");
}

#[test]
fn a_manifest_that_lies_about_its_plan_is_refused() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let mut bytes = fs::read(&path).expect("the bundle is there");
    replace(&mut bytes, "manifest.json", "\"units\": 16", "\"units\": 17");
    fs::write(&path, &bytes).expect("the file can be written");
    let message = fail(8, "bundle-plan", &["run", &path]);
    assert!(message.contains("plan for host"), "{message}");
}

#[test]
fn a_changed_manifest_is_refused() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let mut bytes = fs::read(&path).expect("the bundle is there");
    replace_unsealed(&mut bytes, "manifest.json", "\"contraction\": false", "\"contraction\":  true");
    fs::write(&path, &bytes).expect("the file can be written");
    let message = fail(8, "bundle-damaged", &["run", &path]);
    assert!(message.contains("`manifest.json` is damaged (its hash is another)"), "{message}");
}

/// The same entries in another archive are the same bundle; bytes behind it, and another manifest's seal, are not.
#[test]
fn a_bundle_that_is_zipped_again_opens() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let bytes = fs::read(&path).expect("the bundle is there");
    let io = model("dlrm", "io.npz");
    let again = folder.join("again.weave").display().to_string();
    let usual = Zipping::default();
    for how in [
        usual,
        Zipping { comment: Some("zipped again"), ..usual },
        Zipping { reversed: true, folders: true, ..usual },
        Zipping { streamed: true, ..usual },
        Zipping { deflated: true, reversed: true, ..usual },
        Zipping { deflated: true, streamed: true, folders: true, ..usual },
    ] {
        let zipped = zip_again(&bytes, how);
        fs::write(&again, &zipped).expect("the file can be written");
        succeed(&["compare", &again, "--io", &io]);
        fs::write(&again, [&zipped[..], b"x"].concat()).expect("the file can be written");
        fail(8, "bundle-archive", &["run", &again]);
    }
    let comment = Some("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    fs::write(&again, zip_again(&bytes, Zipping { comment, ..usual })).expect("the file can be written");
    assert!(fail(8, "bundle-damaged", &["run", &again]).contains("its hash is another"));
    let mut forged = zip_again(&bytes, Zipping { deflated: true, ..usual });
    let at = forged.windows(9).position(|part| part == b"\"bytes\": ").expect("sizes are in the manifest") + 9;
    forged[at] ^= 1;
    fs::write(&again, forged).expect("the file can be written");
    fail(8, "bundle-damaged", &["run", &again]);
}

#[test]
fn bytes_behind_the_archive_are_refused() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let mut bytes = fs::read(&path).expect("the bundle is there");
    bytes.push(0);
    fs::write(&path, &bytes).expect("the file can be written");
    fail(8, "bundle-archive", &["run", &path]);
}

#[test]
fn parts_of_different_bundles_do_not_go_together() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let bytes = fs::read(&path).expect("the bundle is there");
    let last = |data: &[u8]| data.len() - 1;
    let first = |_: &[u8]| 0;
    let places: [fn(&[u8]) -> usize; 3] = [last, last, first];
    for (name, place) in ["program.bin", "weights.safetensors", "plan/host.bin"].into_iter().zip(places) {
        let mut forged = bytes.clone();
        forge(&mut forged, name, |data| data[place(data)] ^= 1);
        fs::write(&path, &forged).expect("the file can be written");
        for device in ["host", "reference"] {
            let message = fail(8, "bundle-plan", &["run", &path, "--device", device]);
            assert!(message.contains("another program or other weights"), "{name}: {message}");
        }
    }
}

#[test]
fn signatures_that_are_not_the_plans_are_refused() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let mut bytes = fs::read(&path).expect("the bundle is there");
    replace(&mut bytes, "manifest.json", "\"element\": \"f32\"", "\"element\": \"i32\"");
    fs::write(&path, &bytes).expect("the file can be written");
    let message = fail(8, "bundle-plan", &["run", &path]);
    assert!(message.contains("inputs and outputs"), "{message}");
}

#[test]
fn a_full_disk_is_called_so() {
    let folder = Folder::new();
    let path = folder.join("out.weave").display().to_string();
    let arguments = ["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "host"];
    // No file may be longer than some blocks; the signal that would say so is ignored.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let output = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_warpweave")]).args(arguments).output();
    let output = output.expect("there is a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.starts_with("error[bundle-file]: cannot write") && errors.contains("File too large"), "{errors}");
    assert_eq!(errors.lines().filter(|line| !line.starts_with("  help:")).count(), 1, "{errors}");
    assert_eq!(folder.names(), [] as [&str; 0]);
}

#[test]
fn pipes_are_not_opened() {
    let folder = Folder::new();
    let (own, bundle) = beside(&folder);
    let pipe = folder.join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    assert!(fail(2, "bundle-file", &["run", &pipe]).contains("no regular file"));
    fs::remove_file(&own).expect("the model can be removed");
    std::os::unix::fs::symlink(model("dlrm", "torchscript.onnx"), &own).expect("a link can be made");
    assert!(fail(8, "bundle-weights", &["run", &bundle]).contains("no regular file"));
    fs::rename(&pipe, &own).expect("the pipe can be renamed");
    assert!(fail(8, "bundle-weights", &["run", &bundle]).contains("no regular file"));
}

#[test]
fn nothing_is_left_where_a_bundle_cannot_be_written() {
    let folder = Folder::new();
    let path = folder.join("absent/out.weave").display().to_string();
    fail(2, "file", &["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "host"]);
    assert_eq!(folder.names(), [] as [&str; 0]);
    fs::create_dir(folder.join("out.weave")).expect("a folder can be made");
    let path = folder.join("out.weave").display().to_string();
    fail(2, "file", &["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "host"]);
    assert_eq!(folder.names(), ["out.weave"]);
}

#[test]
fn bundles_run_as_their_models_do() {
    let folder = Folder::new();
    let path = host_bundle(&folder);
    let io = model("dlrm", "io.npz");
    for device in ["host", "reference"] {
        let result = succeed(&["compare", &path, "--io", &io, "--device", device]);
        assert_eq!(result["passed"], true, "{result}");
    }
    let inspected = succeed(&["inspect", &path]);
    assert_eq!((&inspected["kind"], &inspected["targets"]["host"]["units"]), (&"bundle".into(), &16.into()));
}

/// A model's copy in `folder`, and a bundle beside it whose constants stay in the model.
fn beside(folder: &Folder) -> (String, String) {
    let [own, bundle] = ["model.onnx", "beside.weave"].map(|name| folder.join(name).display().to_string());
    fs::copy(model("dlrm", "torchscript.onnx"), &own).expect("the model can be copied");
    succeed(&["compile", &own, "-o", &bundle, "--target", "host", "--weights", "beside"]);
    (own, bundle)
}

#[test]
fn constants_may_stay_in_the_models_file() {
    let folder = Folder::new();
    let (_, bundle) = beside(&folder);
    let inside = host_bundle(&folder);
    let length = |path: &str| fs::metadata(path).expect("the bundle is there").len();
    assert!(length(&bundle) + 4_000 < length(&inside), "{} and {} bytes", length(&bundle), length(&inside));
    for device in ["host", "reference"] {
        let result = succeed(&["compare", &bundle, "--io", &model("dlrm", "io.npz"), "--device", device]);
        assert_eq!(result["passed"], true, "{result}");
    }
    let text = tool(&["inspect", &bundle]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("beside it, in model.onnx"));
}

#[test]
fn another_file_beside_a_bundle_is_refused() {
    let folder = Folder::new();
    let (own, bundle) = beside(&folder);
    let bytes = fs::read(&own).expect("the model is there");
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    for (other, reason) in [(&changed[..], "has another hash"), (&bytes[..1000], "has 1000 bytes")] {
        fs::write(&own, other).expect("the file can be written");
        let message = fail(8, "bundle-weights", &["run", &bundle]);
        assert!(message.contains("model.onnx") && message.contains(reason), "{message}");
    }
    fs::remove_file(&own).expect("the file can be removed");
    assert!(fail(8, "bundle-weights", &["run", &bundle]).contains("cannot be opened"));
}

#[test]
fn places_beside_a_bundle_that_lie_elsewhere_are_refused() {
    let folder = Folder::new();
    let (_, bundle) = beside(&folder);
    let bytes = fs::read(&bundle).expect("the bundle is there");
    let mut elsewhere = bytes.clone();
    replace(&mut elsewhere, "manifest.json", "\"name\": \"model.onnx\"", "\"name\": \"../el.onnx\"");
    fs::write(&bundle, &elsewhere).expect("the file can be written");
    assert!(fail(8, "bundle-weights", &["inspect", &bundle]).contains("more than a file name"));
    let mut outside = bytes.clone();
    replace(&mut outside, "manifest.json", "\"file\": 0", "\"file\": 7");
    fs::write(&bundle, &outside).expect("the file can be written");
    assert!(fail(8, "bundle-damaged", &["inspect", &bundle]).contains("lies outside the files"));
}

#[test]
fn a_bundle_apart_from_its_constants_is_not_written() {
    let (folder, other) = (Folder::new(), Folder::new());
    let bundle = other.join("out.weave").display().to_string();
    let (own, _) = beside(&folder);
    let message = fail(2, "bundle-apart", &["compile", &own, "-o", &bundle, "--target", "host", "--weights", "beside"]);
    assert!(message.contains("model.onnx") && message.contains("--weights inside"), "{message}");
    fail(2, "output-is-input", &["compile", &own, "-o", &own, "--target", "host", "--weights", "beside"]);
    assert_eq!(other.names(), [] as [&str; 0]);
}
