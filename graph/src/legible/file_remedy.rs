//! What to do about failures of the file system.

use std::io::{Error, ErrorKind};

/// The number of the error that a process has no descriptor left for another file.
const TOO_MANY_OPEN: i32 = 24;

/// What to do about a failure to read or write a file.
pub fn file_remedy(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull => "free space on its file system, or name a file on another",
        ErrorKind::QuotaExceeded => {
            "remove other files of this user there, raise the quota, or name a file on another file system"
        }
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only: name a file on another",
        ErrorKind::FileTooLarge => "raise the limit on the size of a file, or name a file on another file system",
        ErrorKind::InvalidFilename => "name a shorter path",
        _ if error.raw_os_error() == Some(TOO_MANY_OPEN) => "raise the limit on open files with `ulimit -n`",
        _ => "check the path and its permissions",
    }
}
