//! What is written never takes the place of what is read, nor of anything that is no file.

use std::fs::{self, OpenOptions};
use std::io::pipe;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Output, Stdio};

use warpweave::fusion::cost::gpu::GpuProduct;
use warpweave::graph::{Tensor, npy};
use warpweave::runtime::checkpoint::Checkpoint;
use warpweave::write_arch;

use crate::support::model_builder::{F32, Weight, node, value, write_with};
use crate::support::models_by_hand::{external_data, open_batch};
use crate::support::tool::{Folder, fail, succeed};

/// The names and bytes of all files in a folder.
fn contents(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let bytes = |name: &String| fs::read(folder.join(name)).unwrap_or_default();
    folder.names().into_iter().map(|name| (name.clone(), bytes(&name))).collect()
}

/// Arguments in which `@name` is a file of the folder.
fn placed(folder: &Folder, arguments: &str) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let place = |word: &str| match word.split_once('@') {
        Some((before, name)) => format!("{before}{}", path(name)),
        None => word.to_owned(),
    };
    arguments.split_whitespace().map(place).collect()
}

#[track_caller]
fn fail_in(folder: &Folder, code: &str, arguments: &str) -> String {
    let arguments = placed(folder, arguments);
    fail(2, code, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn an_output_that_is_an_input_is_refused_and_nothing_is_touched() {
    let folder = Folder::new();
    let model = fs::read(open_batch(&folder)).expect("the model is there");
    external_data(&folder);
    for copy in ["keep.onnx", "graph.txt", "partition.svg", "timeline.svg", "trace.json"] {
        fs::write(folder.join(copy), &model).expect("the model can be copied");
    }
    let array = npy::print(&Tensor::new([2, 8], &[0f32; 16])).expect("an array");
    for (file, bytes) in [("out_0.npy", &array[..]), ("r.json", b"a result"), ("times.svg", b"times")] {
        fs::write(folder.join(file), bytes).expect("the file can be written");
    }
    write_arch(&folder.join("arch.json"), GpuProduct::H200.prices()).expect("the constants can be written");
    symlink(folder.join("keep.onnx"), folder.join("link.onnx")).expect("a link can be made");
    fs::hard_link(folder.join("keep.onnx"), folder.join("hard.onnx")).expect("a link can be made");
    let before = contents(&folder);
    for (arguments, output, input) in [
        ("compile @keep.onnx -o @keep.onnx --batch 2 --target host", "keep.onnx", "keep.onnx"),
        ("compile @keep.onnx -o @./keep.onnx --batch 2 --target host", "keep.onnx", "keep.onnx"),
        ("compile @keep.onnx -o @link.onnx --batch 2 --target host", "link.onnx", "keep.onnx"),
        ("compile @keep.onnx -o @hard.onnx --batch 2 --target host", "hard.onnx", "keep.onnx"),
        ("compile @link.onnx -o @keep.onnx --batch 2 --target host", "keep.onnx", "link.onnx"),
        ("compile @outside.onnx -o @w.bin --target host", "w.bin", "w.bin"),
        ("compile @keep.onnx -o @arch.json --arch @arch.json --batch 2 --target host", "arch.json", "arch.json"),
        ("compile @graph.txt -o @x.weave --batch 2 --target host --emit graph --emit-dir @.", "graph.txt", "graph.txt"),
        ("run @keep.onnx --batch 2 --input x=@out_0.npy --output @.", "out_0.npy", "out_0.npy"),
        ("profile @trace.json --batch 2 -o @.", "trace.json", "trace.json"),
        ("explain @timeline.svg --plan --batch 2 -o @.", "timeline.svg", "timeline.svg"),
        ("explain @partition.svg --batch 2 -o @.", "partition.svg", "partition.svg"),
        ("report @r.json -o @r.json", "r.json", "r.json"),
        ("tune @keep.onnx --timings @hard.onnx", "hard.onnx", "keep.onnx"),
    ] {
        let message = fail_in(&folder, "output-is-input", arguments);
        let named = [format!("/{output} is the input"), format!("/{input}, which")];
        assert!(named.iter().all(|name| message.contains(name)), "{arguments}: {message}");
        assert!(contents(&folder) == before, "{arguments}: {:?}", folder.names());
    }
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = Folder::new();
    open_batch(&folder);
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    for (code, arguments) in [
        ("file", "compile @rows.onnx -o @pipe --batch 2 --target host"),
        ("file", "models export alexnet --reduced -o @pipe"),
        ("file", "models export alexnet --reduced -o @."),
    ] {
        let message = fail_in(&folder, code, arguments);
        assert!(message.contains("which no file replaces"), "{arguments}: {message}");
        assert_eq!(folder.names(), ["pipe", "rows.onnx"], "{arguments}");
        assert!(fs::metadata(&pipe).is_ok_and(|there| there.file_type().is_fifo()), "{arguments}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = Folder::new();
    open_batch(&folder);
    fs::create_dir(folder.join("full")).expect("a folder can be made");
    fs::create_dir(folder.join("full/out_0.npy")).expect("a folder can be made");
    for output in ["@rows.onnx/out", "@full", "@missing/out.npz", "@rows.onnx/out.npz"] {
        let arguments = placed(&folder, &format!("run @rows.onnx --batch 2 --output {output}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
        let told = command.args(&arguments).output().expect("the binary can be started");
        let errors = String::from_utf8_lossy(&told.stderr);
        assert!(told.status.code() == Some(2) && errors.contains("error[file]: cannot "), "{output}: {errors}");
        // What is made up for a run is told when it begins.
        assert!(!errors.contains("inputs are random"), "{output}: {errors}");
        assert_eq!(folder.names(), ["full", "rows.onnx"], "{output}");
    }
}

/// Runs the binary where no file may be longer than some kilobytes.
fn short_of_space(arguments: &[String]) -> Output {
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_warpweave")]).args(arguments);
    command.output().expect("there is a shell")
}

#[test]
fn a_file_that_cannot_be_finished_leaves_what_was_there() {
    let folder = Folder::new();
    fs::write(folder.join("model.onnx"), warpweave::models::beginning()).expect("the file can be written");
    let before = contents(&folder);
    let output = short_of_space(&placed(&folder, "models export alexnet --reduced -o @model.onnx"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && errors.contains("error[file]: "), "{errors}");
    assert!(contents(&folder) == before, "{:?}", folder.names());
}

#[test]
fn a_bundle_is_named_after_its_model_where_it_replaces_nothing() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    let compile = ["compile", &model, "--batch", "2", "--target", "host"];
    let told = succeed(&compile);
    assert_eq!(told["bundle"], folder.join("rows.weave").display().to_string());
    let before = contents(&folder);
    let told = fail(2, "usage", &compile);
    assert!(told.contains("rows.weave is there already") && told.contains("-o"), "{told}");
    assert!(contents(&folder) == before);
}

#[test]
fn a_result_that_cannot_be_printed_is_an_error_unless_its_reader_has_gone() {
    let folder = Folder::new();
    let model = open_batch(&folder);
    for arguments in [
        &["models", "list"][..],
        &["models", "list", "--json"],
        &["run", &model, "--batch", "2"],
        &["run", &model, "--batch", "2", "--json"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        let printed = |target: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
            command.args(arguments).stdout(target).output().expect("the binary can be started")
        };
        let full = OpenOptions::new().write(true).open("/dev/full").expect("there is such a device");
        let output = printed(full.into());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains("error[file]: cannot write the result to standard output"), "{arguments:?}: {errors}");
        let (reader, writer) = pipe().expect("a pipe can be made");
        drop(reader);
        let output = printed(writer.into());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !errors.contains("error"), "{arguments:?}: {errors}");
    }
}

#[test]
fn only_files_of_the_same_kind_are_replaced() {
    let folder = Folder::new();
    open_batch(&folder);
    let own = |arguments: &str| {
        let arguments = placed(&folder, arguments);
        succeed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let compile = "compile @rows.onnx --batch 2 --target host -o";
    let bench = own("bench @rows.onnx --batch 2 --device host --warmup-ms 1");
    fs::write(folder.join("results.json"), bench.to_string()).expect("the folder can be written");
    let (x, y) = (value("x", F32, &["2"]), value("y", F32, &["2"]));
    let weight = Weight::singles("w", &[2], &[1.0, 2.0]);
    write_with(&folder, "learns.onnx", vec![x], vec![node("Add", &["x", "w"], "y")], vec![y], &[weight]);
    let tensors = [("w".to_owned(), Tensor::new([2], &[3f32, 4.0]))].into();
    let trained = Checkpoint { tensors, ..Checkpoint::default() };
    trained.write(&folder.join("trained.safetensors")).expect("the folder can be written");
    let writers = [
        (compile, ""),
        ("models export dlrm --reduced -o", ""),
        ("report @results.json -o", ""),
        ("export-weights @learns.onnx @trained.safetensors -o", ""),
        ("run @rows.onnx --batch 2 --output", ".npz"),
        ("bench @rows.onnx --batch 2 --warmup-ms 1 --duration-ms 1 --soak 0.1 --launches 1 --save-outputs", ""),
    ];
    for (number, (command, ending)) in writers.into_iter().enumerate() {
        let other = folder.join(&format!("other{ending}"));
        fs::write(&other, "an array").expect("the folder can be written");
        let message = fail_in(&folder, "output-exists", &format!("{command} @other{ending}"));
        assert!(message.contains(&format!("other{ending}")) && message.contains("name another file"), "{message}");
        assert_eq!(fs::read(&other).ok().as_deref(), Some(&b"an array"[..]), "{command}");
        for _ in 0..2 {
            own(&format!("{command} @own{number}{ending}"));
        }
    }
    for (command, file) in
        [(compile, "own1"), (writers[1].0, "own0"), (writers[1].0, "own3"), (writers[3].0, "learns.onnx")]
    {
        let before = contents(&folder);
        let code = if file == "learns.onnx" { "output-is-input" } else { "output-exists" };
        fail_in(&folder, code, &format!("{command} @{file}"));
        assert!(contents(&folder) == before, "{command} {file}");
    }
    fail_in(&folder, "output-exists", "doctor --device host --calibrate @results.json");
    fail_in(&folder, "timings", "tune @rows.onnx --timings @results.json");
}

/// `numpy.save` of one single.
fn saved_by_numpy() -> Vec<u8> {
    let array = npy::print(&Tensor::new([1], &[0f32])).expect("an array");
    let header = String::from_utf8_lossy(&array[10..128]).replacen("{ 'descr'", "{'descr'", 1);
    let header = header.replacen("}", "} ", 1);
    [&array[..10], header.as_bytes(), &array[128..]].concat()
}

#[test]
fn only_own_files_of_a_folder_are_replaced() {
    let folder = Folder::new();
    open_batch(&folder);
    for (command, name, other) in [
        ("run @rows.onnx --batch 2 --output @out", "out_0.npy", saved_by_numpy()),
        (
            "explain @rows.onnx --batch 2 -o @out",
            "partition.svg",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
        ),
        ("explain @rows.onnx --batch 2 --plan -o @out", "timeline.svg", b"<svg/>".to_vec()),
        ("explain @rows.onnx --batch 2 --plan -o @out", "trace.json", b"{\"traceEvents\":[]}".to_vec()),
        (
            "compile @rows.onnx --batch 2 --target host -o @rows.weave --emit graph,program,partition,plan --emit-dir @out",
            "graph.txt",
            b"my notes".to_vec(),
        ),
    ] {
        let (arguments, out) = (placed(&folder, command), folder.join("out"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for _ in 0..2 {
            succeed(&arguments);
        }
        fs::write(out.join(name), &other).expect("the folder can be written");
        let message = fail(2, "output-exists", &arguments);
        assert!(message.contains(name), "{message}");
        assert_eq!(fs::read(out.join(name)).ok(), Some(other), "{command}");
        fs::remove_dir_all(&out).expect("the folder can be removed");
    }
}

#[test]
fn an_output_without_a_place_is_refused_before_the_work() {
    let folder = Folder::new();
    open_batch(&folder);
    fs::create_dir(folder.join("folder")).expect("a folder can be made");
    fs::write(folder.join("results.json"), "[]").expect("the folder can be written");
    let commands = [
        "compile @absent.onnx -o",
        "models export alexnet --reduced -o",
        "report @absent.json -o",
        "run @rows.onnx --batch 2 --output",
        "bench @rows.onnx --batch 2 --soak 1 --save-outputs",
        "doctor --device host --calibrate",
        "tune @absent.onnx --timings",
        "reduce @absent.onnx -o",
    ];
    let before = folder.names();
    for command in commands {
        let is_folder = command.starts_with("reduce");
        let missing = if is_folder { "@results.json/case" } else { "@none/out.npz" };
        let place = fail_in(&folder, "file", &format!("{command} {missing}"));
        let part = if is_folder { "results.json is no folder" } else { "there is no folder" };
        assert!(place.contains(part), "{command}: {place}");
        let dash = fail_in(&folder, "usage", &format!("{command} -"));
        assert!(dash.contains("`-` is the name of no output") && dash.contains("./-"), "{command}: {dash}");
        if !is_folder && !command.starts_with("run") {
            let there = fail_in(&folder, "file", &format!("{command} @folder"));
            assert!(there.contains("it is a folder, which no file replaces"), "{command}: {there}");
        }
        assert_eq!(folder.names(), before, "{command}");
    }
}

/// Runs the binary where `full` of the folder is a file system of a few kilobytes of its own; none where no user may mount one.
fn on_a_full_disk(folder: &Folder, arguments: &str) -> Option<Output> {
    let full = folder.join("full");
    fs::create_dir_all(&full).expect("a folder can be made");
    let script = "mount -t tmpfs -o size=32k none \"$0\" && echo mounted >&2 && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&full);
    command.arg(env!("CARGO_BIN_EXE_warpweave")).args(placed(folder, arguments));
    let found = command.output().ok().filter(|output| String::from_utf8_lossy(&output.stderr).contains("mounted"));
    if found.is_none() {
        eprintln!("left out: no file system can be mounted");
    }
    found
}

#[test]
fn an_output_without_room_is_refused_before_the_work() {
    let folder = Folder::new();
    let inputs = || vec![value("x", F32, &["1", "64"])];
    let weight = Weight::singles("w", &[64, 256], &[0.5; 64 * 256]);
    let nodes = vec![node("MatMul", &["x", "w"], "y")];
    write_with(&folder, "wide.onnx", inputs(), nodes, vec![value("y", F32, &["1", "256"])], &[weight]);
    let large = Weight::integers("s", &[2], &[256, 64]);
    let nodes = vec![node("Expand", &["x", "s"], "y")];
    write_with(&folder, "large.onnx", inputs(), nodes, vec![value("y", F32, &["256", "64"])], &[large]);
    for arguments in [
        "compile @wide.onnx --target host -o @full/wide.weave",
        "run @large.onnx --output @full/out.npz",
        "run @large.onnx --output @full/new/out",
        "models export alexnet --reduced -o @full/alexnet.onnx",
    ] {
        let Some(output) = on_a_full_disk(&folder, arguments) else { return };
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let parts = ["error[disk-space]", "at least", "are free on its file system"];
        assert!(
            output.status.code() == Some(2) && parts.iter().all(|part| errors.contains(part)),
            "{arguments}: {errors}"
        );
    }
}

#[test]
fn an_array_is_no_folder_of_outputs() {
    let folder = Folder::new();
    open_batch(&folder);
    let message = fail_in(&folder, "usage", "run @rows.onnx --batch 2 --device host --output @o.npy");
    assert!(message.contains("o.npy") && message.contains(".npz"), "{message}");
    assert!(!folder.join("o.npy").exists());
}

#[test]
fn a_gpu_that_is_left_out_is_said_at_the_end_or_fails() {
    let folder = Folder::new();
    open_batch(&folder);
    let arguments = placed(&folder, "compile @rows.onnx --batch 2 -o @out.weave");
    let without = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpweave"));
        // A folder that has no NVRTC, in place of all where one might be.
        command.args(&arguments).args(more).env("WARPWEAVE_CUDA_DIR", folder.join("none"));
        command.output().expect("the binary can be started")
    };
    let found = without(&[]);
    let out = String::from_utf8_lossy(&found.stdout).into_owned();
    let last = out.lines().last().unwrap_or_default();
    assert!(found.status.success() && last.contains("sm_90a: left out, the bundle is for the host alone: "), "{out}");
    fs::remove_file(folder.join("out.weave")).expect("there is a bundle");
    let strict = without(&["--strict"]);
    let errors = String::from_utf8_lossy(&strict.stderr).into_owned();
    assert!(strict.status.code() == Some(3) && errors.contains("error[left-out]"), "{errors}");
    assert!(!folder.join("out.weave").exists());
}
