//! What the system states of a processor's caches.

use std::fs;
use std::path::Path;

use warpweave_fusion::cost::cpu::CpuArch;

/// Bytes of caches of data, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Caches {
    /// Of each level, from the first on.
    levels: [Option<usize>; 3],
}

impl Caches {
    /// Those of the first core; none where the system does not state them.
    pub(crate) fn of_system() -> Self {
        Self::read(Path::new("/sys/devices/system/cpu/cpu0/cache"))
    }

    /// Those that a folder of Linux describes.
    fn read(folder: &Path) -> Self {
        let mut found = Self::default();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let field = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
            let level = field("level").and_then(|text| text.trim().parse::<usize>().ok());
            let bytes = field("size").and_then(|text| bytes(text.trim()));
            let is_data = field("type").is_some_and(|text| text.trim() != "Instruction");
            let place = level.and_then(|level| found.levels.get_mut(level.checked_sub(1)?));
            if let (Some(place), Some(bytes), true) = (place, bytes, is_data) {
                *place = Some(bytes);
            }
        }
        found
    }

    /// Bytes of the largest.
    pub(crate) fn largest(self) -> Option<usize> {
        self.levels.into_iter().flatten().max()
    }

    /// A processor's constants, with the caches that are known.
    pub(crate) fn onto(self, base: CpuArch) -> CpuArch {
        let [level1, level2, shared] = self.levels.map(|bytes| bytes.map(CpuArch::stated));
        CpuArch {
            level1_bytes: level1.unwrap_or(base.level1_bytes),
            level2_bytes: level2.unwrap_or(base.level2_bytes),
            shared_cache_bytes: shared.or(level2).unwrap_or(base.shared_cache_bytes),
            ..base
        }
    }
}

/// A size such as `48K`.
fn bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = ["48K", "2M", "64", "1G", "", "K", "5T", "99999999999999999999K", "-1K"].map(bytes);
        let none = None;
        let expected = [Some(48 << 10), Some(2 << 20), Some(64), Some(1 << 30), none, none, none, none, none];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn caches_of_data_are_found_and_others_stay() {
        let folder = std::env::temp_dir().join(format!("warpweave-caches-{}", std::process::id()));
        let write = |index: usize, [level, kind, size]: [&str; 3]| {
            let index = folder.join(format!("index{index}"));
            fs::create_dir_all(&index).expect("a folder");
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(index.join(name), format!("{text}\n")).expect("a file");
            }
        };
        write(0, ["1", "Data", "48K"]);
        write(1, ["1", "Instruction", "64K"]);
        write(2, ["2", "Unified", "2048K"]);
        write(3, ["9", "Unified", "1K"]);
        write(4, ["3", "Unified", "much"]);
        let found = Caches::read(&folder);
        fs::remove_dir_all(&folder).expect("the folder can be removed");
        assert_eq!(found, Caches { levels: [Some(48 << 10), Some(2 << 20), None] });
        assert_eq!(found.largest(), Some(2 << 20));
        assert_eq!(Caches::default().largest(), None);
        let arch = found.onto(CpuArch::avx2());
        assert_eq!([arch.level1_bytes.value, arch.shared_cache_bytes.value], [48 << 10, 2 << 20]);
        assert_eq!(Caches::read(&folder).onto(CpuArch::neon()), CpuArch::neon());
    }
}
