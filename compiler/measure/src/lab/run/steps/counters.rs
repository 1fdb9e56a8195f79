//! The comma-separated values that ncu prints.

use crate::lab::KernelStalls;

/// A part of the names of the counters of stalls, each in warps an issued instruction.
const STALLED: &str = "issue_stalled_";
const NO_INSTRUCTION: &str = "issue_stalled_no_inst";
/// Counters of the same stalls by other units are left out.
const PER: &str = "per_issue_active.ratio";
const KERNEL: &str = "Kernel Name";
const CYCLES: &str = "smsp__average_warp_latency_per_inst_issued.ratio";

/// The kernels of ncu's page of raw counters, one a line under a line of names.
pub fn kernels(text: &str) -> Vec<KernelStalls> {
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(cells);
    let Some(names) = rows.next() else { return Vec::new() };
    let Some(kernel) = names.iter().position(|name| name == KERNEL) else { return Vec::new() };
    let is_stall = |name: &str| name.contains(STALLED) && name.ends_with(PER) && !name.contains("_not_issued");
    let sum = |row: &[String], is_counted: &dyn Fn(&str) -> bool| {
        let counted = names.iter().zip(row).filter(|(name, _)| is_counted(name));
        counted.filter_map(|(_, cell)| number(cell)).sum::<f64>()
    };
    let of_row = |row: Vec<String>| {
        let name = row.get(kernel)?.clone();
        // The line of units names no kernel.
        let all = Some(sum(&row, &is_stall)).filter(|all| *all > 0.0 && !name.is_empty())?;
        let starved = sum(&row, &|name| is_stall(name) && name.contains(NO_INSTRUCTION));
        let cycles = names.iter().position(|name| name == CYCLES).and_then(|at| number(row.get(at)?));
        Some(KernelStalls { name, no_instruction: starved / all, cycles_per_instruction: cycles })
    };
    rows.filter_map(of_row).collect()
}

fn number(cell: &str) -> Option<f64> {
    cell.replace(',', "").parse().ok()
}

/// The cells of a line, all of them in quotes.
fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('"').split("\",\"").map(|cell| cell.replace("\"\"", "\"")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(
        "==PROF== Connected to process 7\n",
        "\"ID\",\"Kernel Name\",\"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio\",",
        "\"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio\",",
        "\"smsp__average_warps_issue_stalled_barrier_not_issued_per_issue_active.ratio\",",
        "\"smsp__average_warp_latency_per_inst_issued.ratio\"\n",
        "\"\",\"\",\"inst\",\"inst\",\"inst\",\"cycle\"\n",
        "\"0\",\"entry(int, float)\",\"1.5\",\"4.5\",\"4.5\",\"1,006.25\"\n",
    );

    #[test]
    fn stalls_are_shares_of_all_stalls() {
        let found = kernels(PAGE);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].no_instruction), ("entry(int, float)", 0.25));
        assert_eq!(found[0].cycles_per_instruction, Some(1006.25));
        assert!(kernels("==ERROR== nothing\n").is_empty() && kernels("").is_empty());
    }
}
