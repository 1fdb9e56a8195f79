//! A content-addressed folder of compiled artefacts.
//!
//! An entry's name is the hash of everything that decides its bytes. Entries are written to a temporary name and
//! renamed, so that a reader sees whole entries only; of two writers of one entry either may win.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::new_file;
use crate::unfinished::TemporaryFile;

/// The identity of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey(blake3::Hash);

impl CacheKey {
    /// The key of what `parts` decide: text, compiler version, options. Their boundaries count.
    pub fn new<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize())
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A folder of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The cache in `directory`, which is created when the first entry is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Where the entry lies if there is one.
    pub fn path(&self, key: CacheKey) -> PathBuf {
        self.directory.join(key.to_string())
    }

    /// The entry's bytes; `None` if there is no such entry.
    pub fn read(&self, key: CacheKey) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Publishes `bytes` as the entry.
    pub fn write(&self, key: CacheKey, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        new_file::write(&self.path(key), bytes)
    }

    /// Publishes what `build` writes to the path that it is given.
    pub fn publish<E: From<io::Error>>(
        &self,
        key: CacheKey,
        build: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        fs::create_dir_all(&self.directory)?;
        let path = self.path(key);
        let temporary = TemporaryFile::reserve(&path);
        build(temporary.path())?;
        Ok(temporary.rename(&path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_of_parts_count() {
        let key = |parts: &[&str]| CacheKey::new(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }

    #[test]
    fn entries_are_published_whole() {
        let directory = std::env::temp_dir().join(format!("warpweave-cache-{}", std::process::id()));
        let cache = Cache::new(&directory);
        let key = CacheKey::new([&b"text"[..]]);
        assert_eq!(cache.read(key).expect("an absent folder is an empty cache"), None);
        cache.write(key, b"code").expect("the folder is writable");
        assert_eq!(cache.read(key).expect("the entry is readable").as_deref(), Some(&b"code"[..]));
        let failed: io::Result<()> = cache.publish(key, |path| {
            fs::write(path, b"half")?;
            Err(io::Error::other("interrupted"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(&directory).expect("the folder exists").count(), 1);
        fs::remove_dir_all(directory).expect("the folder can be removed");
    }
}
