//! A file that is silent after its first failure.

use std::io::{self, Seek, SeekFrom, Write};

/// Passes everything on until something fails; from then on it seems to take whatever comes. An archive that is given up writes
/// its end all the same, and would say on the standard error that it cannot.
pub(super) struct Silenced<W> {
    inner: W,
    has_failed: bool,
    /// Where the next byte goes, or would go.
    position: u64,
}

impl<W> Silenced<W> {
    /// Of a file that is at its beginning.
    pub(super) fn new(inner: W) -> Self {
        Self { inner, has_failed: false, position: 0 }
    }

    /// The file.
    pub(super) fn into_inner(self) -> W {
        self.inner
    }

    fn attempt<T>(&mut self, otherwise: T, act: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.has_failed {
            return Ok(otherwise);
        }
        act(&mut self.inner).inspect_err(|_| self.has_failed = true)
    }
}

impl<W: Write> Write for Silenced<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(bytes.len(), |inner| inner.write(bytes))?;
        self.position = self.position.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), W::flush)
    }
}

impl<W: Seek> Seek for Silenced<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let supposed = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(by) | SeekFrom::End(by) => self.position.saturating_add_signed(by),
        };
        self.position = self.attempt(supposed, |inner| inner.seek(to))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds eight bytes.
    struct Full(Vec<u8>);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > 8 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    #[test]
    fn it_fails_once() {
        let mut file = Silenced::new(Full(Vec::new()));
        file.write_all(b"12345").expect("there is room");
        assert!(file.write_all(b"67890").is_err());
        file.write_all(b"67890").expect("it is silent");
        assert_eq!(file.seek(SeekFrom::Current(-2)).expect("it is silent"), 8);
        assert_eq!(file.into_inner().0, b"12345");
    }
}
