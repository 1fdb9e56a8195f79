//! What is said where a file system refuses: each reason has a remedy of its own.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;

use crate::support::tool::{Folder, model};

/// A file system of 64 KiB, which is unmounted at the end; `None` where this process may mount none.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(folder: &Folder, options: &str) -> Option<Self> {
        let path = folder.join("disk");
        std::fs::create_dir_all(&path).expect("a folder can be made");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("left out: no file system can be mounted");
            return None;
        }
        Some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The error of a command that exits with 2.
#[track_caller]
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("the binary can be started");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    errors
}

fn warpweave() -> Command {
    Command::new(env!("CARGO_BIN_EXE_warpweave"))
}

#[test]
fn a_full_disk_is_no_matter_of_permissions() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("the device is there");
    let message = refused(warpweave().args(["models", "list"]).stdout(full));
    assert!(message.contains("standard output") && message.contains("free space"), "{message}");
    let folder = Folder::new();
    if let Some(disk) = SmallDisk::new(&folder, "size=64k") {
        let message = refused(warpweave().args(["manual", "-o"]).arg(disk.0.join("pages")));
        assert!(message.contains("error[file]") && message.contains("free space on its file system"), "{message}");
        assert!(!message.contains("permissions"), "{message}");
    }
}

#[test]
fn a_file_system_without_writing_is_named_so() {
    let folder = Folder::new();
    let Some(disk) = SmallDisk::new(&folder, "ro") else { return };
    let model = model("dlrm", "torchscript.onnx");
    for arguments in [&["manual"][..], &["compile", &model, "--target", "host"]] {
        let message = refused(warpweave().args(arguments).arg("-o").arg(disk.0.join("new")));
        assert!(message.contains("its file system is read-only") && message.contains("disk"), "{message}");
    }
}

#[test]
fn a_folder_for_temporary_files_that_is_of_no_use_is_named() {
    let folder = Folder::new();
    let io = model("dlrm", "io.npz");
    for place in [folder.join("absent"), PathBuf::from("/proc")] {
        let mut compare = warpweave();
        compare
            .args(["compare", &model("dlrm", "torchscript.onnx"), "--io", &io, "--device", "text"])
            .env("TMPDIR", &place);
        let output = compare.output().expect("the binary can be started");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains("error[text]"), "{errors}");
        assert!(errors.contains(&format!("in {}", place.display())) && errors.contains("TMPDIR"), "{errors}");
    }
}
