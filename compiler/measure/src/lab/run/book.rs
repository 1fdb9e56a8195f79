//! The record of a run, written after every step.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use warpweave_runtime::json;

use super::archive::{MOST_BYTES, pack};
use super::results::{ARCHIVE, RECORD, Results, TABLES};
use crate::lab::{Binary, FORMAT, Lab, LabOptions, Status, Step, VERSION, markdown};

/// Files of steps, below the work folder.
const STEPS: &str = "steps";
/// Files that measurements leave, likewise.
pub const KEPT: &str = "kept";
/// Failing cases, likewise.
pub const CASES: &str = "cases";

/// The record of a run, with what earlier runs of the same program and options have left.
pub struct Book {
    lab: Lab,
    /// Names of all steps in their order.
    order: Vec<String>,
    steps: BTreeMap<String, Step>,
    results: Vec<Results>,
    work: PathBuf,
    start: Instant,
    before: f64,
}

impl Book {
    /// A record in the folders of results; the first one has the record of an earlier run, if one does.
    pub fn open(
        (binary, options): (Binary, LabOptions),
        order: Vec<String>,
        work: &Path,
        results: Vec<Results>,
    ) -> Self {
        let mut lab = Lab {
            format: FORMAT.to_owned(),
            version: VERSION,
            began: utc(SystemTime::now()),
            seconds: 0.0,
            options,
            binary,
            left_out: Vec::new(),
            steps: Vec::new(),
        };
        let earlier = results.iter().filter_map(|results| Lab::read(&results.folder().join(RECORD)).ok());
        let mut steps = BTreeMap::new();
        let mut before = 0.0;
        if let Some(found) =
            earlier.into_iter().find(|found| found.binary == lab.binary && is_same(found, &lab.options))
        {
            (lab.began, before) = (found.began, found.seconds);
            steps.extend(found.steps.into_iter().map(|step| (step.name.clone(), step)));
        }
        Self { lab, order, steps, results, work: work.to_owned(), start: Instant::now(), before }
    }

    /// Whether a step has run to its end.
    pub fn has_run(&self, name: &str) -> bool {
        self.steps.get(name).is_some_and(|step| step.status == Status::Ran)
    }

    /// The result of a step, if it has one.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.get(name)
    }

    /// Adds the result of a step, and writes the results.
    pub fn add(&mut self, step: Step) -> io::Result<()> {
        let folder = self.work.join(STEPS);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{}.json", step.name)), json::to_string_pretty(&step)?)?;
        self.steps.insert(step.name.clone(), step);
        self.write()
    }

    /// Writes the results: all of them again, each seen whole or not at all.
    pub fn write(&mut self) -> io::Result<()> {
        let steps = self.work.join(STEPS);
        let mut entries = vec![steps];
        entries.extend(below(&self.work.join(KEPT)));
        entries.extend(below(&self.work.join(CASES)));
        let packed = pack(&self.work, &entries, MOST_BYTES).map_err(io::Error::other)?;
        self.lab.left_out = packed.left_out;
        self.lab.seconds = rounded(self.before + self.start.elapsed().as_secs_f64(), 10.0);
        self.lab.steps = self.ordered();
        let record = self.fitting()?;
        let mut tables = markdown(&self.lab);
        if tables.len() > MOST_BYTES {
            let end = (0..=MOST_BYTES - 64).rev().find(|end| tables.is_char_boundary(*end)).unwrap_or(0);
            tables.truncate(end);
            tables.push_str("\n\nThe rest is left out: `warpweave lab show lab.json`.\n");
        }
        for results in &self.results {
            results.write(RECORD, record.as_bytes())?;
            results.write(TABLES, tables.as_bytes())?;
            results.write(ARCHIVE, &packed.bytes)?;
        }
        Ok(())
    }

    /// The record's text, without the largest findings while it is too large.
    fn fitting(&mut self) -> io::Result<String> {
        loop {
            let text = json::to_string_pretty(&self.lab)? + "\n";
            let size = |step: &Step| json::to_string(&step.findings).map_or(0, |text| text.len());
            let largest =
                self.lab.steps.iter_mut().max_by_key(|step| size(step)).filter(|step| step.findings.is_some());
            match largest {
                Some(step) if text.len() > MOST_BYTES => {
                    step.findings = None;
                    self.lab.left_out.push(format!("the findings of {}, of lab.json", step.name));
                }
                Some(_) | None => return Ok(text),
            }
        }
    }

    /// The steps in their order; those of other calls and options keep theirs behind.
    fn ordered(&self) -> Vec<Step> {
        let known = self.order.iter().filter_map(|name| self.steps.get(name));
        let others = self.steps.values().filter(|step| !self.order.contains(&step.name));
        known.chain(others).cloned().collect()
    }
}

/// Whether results with the options of a record are results with these.
fn is_same(found: &Lab, options: &LabOptions) -> bool {
    let LabOptions { devices, reduced, dry, .. } = &found.options;
    (devices, *reduced, dry) == (&options.devices, options.reduced, &options.dry)
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A number to a part of one.
pub fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// A time in UTC, as in `2026-01-31T12:00:00Z`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Of the calendar that repeats every 400 years, whose years begin in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_of_the_calendar() {
        let of = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(of(0), "1970-01-01T00:00:00Z");
        assert_eq!(of(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(of(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(of(1_769_860_800), "2026-01-31T12:00:00Z");
    }
}
