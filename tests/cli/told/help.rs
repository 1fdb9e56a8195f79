//! What the program says of itself: version, completions, manual; and how much it says beside results.

use std::fs;
use std::process::Command;

use crate::support::tool::{Folder, has_nvrtc, model, succeed, tool};

/// Standard output and standard error of a command that succeeds.
#[track_caller]
fn said(arguments: &[&str]) -> [String; 2] {
    let output = tool(arguments);
    let [text, notes] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{arguments:?}: {notes}");
    [text, notes]
}

#[test]
fn the_version_names_commit_compiler_and_targets() {
    let [text, _] = said(&["--version"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(concat!("warpweave ", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(lines[1].contains("NVRTC") && lines[2].contains("host, sm_80") && lines[2].contains("sm_90a"), "{text}");
    assert_eq!(said(&["-V"])[0].trim_end(), lines[0]);
    let value = succeed(&["--version"]);
    assert_eq!((&value["schema"], &value["targets"][0]), (&"warpweave.version/1".into(), &"host".into()));
    assert_eq!(value["nvrtc"].is_string(), has_nvrtc());
    assert!(text.contains(value["version"].as_str().expect("a text")));
}

#[test]
fn each_shell_completes_each_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let [script, _] = said(&["completions", shell]);
        assert!(["export-weights", "calibrate-io"].iter().all(|word| script.contains(word)), "{shell}");
    }
    assert_eq!(tool(&["completions", "csh"]).status.code(), Some(2));
}

#[test]
fn each_command_has_a_page() {
    let folder = Folder::new();
    let pages = folder.join("man1");
    let value = succeed(&["manual", "-o", &pages.display().to_string()]);
    let page = |name: &str| fs::read_to_string(pages.join(format!("{name}.1"))).expect("a page");
    assert!(page("warpweave-compile").contains("max\\-error") && page("warpweave").contains("warpweave\\-refit"));
    let [help, _] = said(&["--help"]);
    let commands = listed_commands(&help);
    assert!(commands.len() > 20, "{help}");
    commands.iter().for_each(|name| assert!(!page(&format!("warpweave-{name}")).is_empty()));
    assert_eq!(value["pages"].as_array().map(Vec::len), Some(commands.len() + 1));
}

/// Every command of the program, and every command of a command.
fn all_commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let of = |name: &String| [command.clone(), vec![name.clone()]].concat();
        all.extend(listed_commands(&said(&words)[0]).iter().map(of));
        next += 1;
    }
    all
}

/// The commands that a help text lists.
fn listed_commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !["", "help"].contains(name)).map(str::to_owned).collect()
}

/// Help that goes to no terminal has 80 columns, and those of `COLUMNS` where that is set, at most 100.
#[test]
fn help_fits_a_page() {
    let commands = all_commands();
    assert!(commands.len() > 25 && commands.contains(&vec!["models".to_owned(), "export".to_owned()]));
    for (wanted, most) in [(None, 80), (Some("none"), 80), (Some("90"), 90), (Some("1000"), 100)] {
        let mut widest = 0;
        for command in &commands {
            let mut program = Command::new(env!("CARGO_BIN_EXE_warpweave"));
            program.args(command).arg("--help").env_remove("COLUMNS").envs(wanted.map(|columns| ("COLUMNS", columns)));
            let output = program.output().expect("the binary can be started");
            let help = String::from_utf8_lossy(&output.stdout).into_owned();
            let width = help.lines().map(|line| line.chars().count()).max().expect("there is help");
            assert!(output.status.success() && width <= most, "{command:?} at {wanted:?} has {width} columns: {help}");
            widest = widest.max(width);
        }
        assert!(widest > most - 5, "{wanted:?} is not used: {widest}");
    }
}

#[test]
fn less_and_more_is_said() {
    let folder = Folder::new();
    let (path, bundle) = (model("resnet_bottleneck", "torchscript.onnx"), folder.join("m.weave").display().to_string());
    let compile = ["compile", &path, "--target", "host", "-o", &bundle];
    let [usual, notes] = said(&compile);
    assert!(!notes.contains("partition for host"));
    let [verbose, notes] = said(&[&["-v"], &compile[..]].concat());
    assert!(notes.contains("s  import") && notes.contains("s  partition for host"), "{notes}");
    assert_eq!(verbose.lines().count(), usual.lines().count());
    let run = ["run", &bundle];
    assert!(said(&run)[1].contains("note: no input is given"));
    let [result, notes] = said(&[&run[..], &["-q"]].concat());
    assert!(notes.is_empty() && !result.is_empty(), "{notes}");
    assert_eq!(tool(&["run", &bundle, "-q", "-v"]).status.code(), Some(2));
}
