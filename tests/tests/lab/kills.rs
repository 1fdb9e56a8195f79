//! Runs that are killed at random moments: their results are whole, and hold every step that was reported.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::count_case;
use crate::support::{check_results, command, folder, record};

const SEED: u64 = 0x5eed;
/// Milliseconds from a run's start to its end.
const LIFE: (u64, u64) = (50, 6_000);
/// Runs of which a further one resumes; then it begins again.
const RESUMED: usize = 8;

/// A number of a sequence that follows from its seed.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// Kills so many runs.
pub fn check(kills: usize) {
    let mut state = SEED;
    let mut own = folder("kills");
    let mut reported = Vec::new();
    for kill in 0..kills {
        if kill % RESUMED == 0 {
            own = folder("kills");
            reported.clear();
        }
        let life = Duration::from_millis(LIFE.0 + random(&mut state) % (LIFE.1 - LIFE.0));
        let out = killed(&own, life);
        let done = out.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let is_result = words.next().is_some_and(|word| ["ran", "failed", "skipped", "kept"].contains(&word));
            words.next().filter(|_| is_result).map(str::to_owned)
        });
        reported.extend(done);
        if own.join("results/lab.json").exists() {
            let lab = record(&own);
            for name in &reported {
                assert!(
                    lab.steps.iter().any(|step| step.name == *name),
                    "{name} is lost by kill {kill}, {life:?}:\n{out}"
                );
            }
        } else {
            assert!(reported.is_empty(), "the record is lost by kill {kill}, {life:?}:\n{out}");
        }
        count_case();
    }
    // Whatever was killed, a run goes on: an archive that was not written yet is there then.
    let ended = command(&own, &["--device", "host,emulator", "--reduced", "--only", "doctor"]).output();
    let ended = ended.expect("the lab can be started");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    check_results(&own);
}

/// What a run prints that is killed after a time, with its process group.
fn killed(folder: &Path, life: Duration) -> String {
    let mut command = command(folder, &["--device", "host,emulator", "--reduced"]);
    let mut child = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.as_mut().expect("the lab can be started");
    let start = Instant::now();
    while start.elapsed() < life && child.try_wait().expect("it can be asked").is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
    child.wait().expect("it has ended");
    let mut out = String::new();
    child.stdout.take().expect("its output is piped").read_to_string(&mut out).expect("it is text");
    check_no_orphans(folder);
    out
}

/// Nothing that a killed run has started works on.
fn check_no_orphans(folder: &Path) {
    let name = folder.join("work").display().to_string();
    let start = Instant::now();
    loop {
        let processes = fs::read_dir("/proc").expect("there are processes").flatten();
        let left: Vec<String> = processes
            .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
            .map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
            .filter(|words| words.contains(&name))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "a killed run has left {left:?}");
        thread::sleep(Duration::from_millis(20));
    }
}
