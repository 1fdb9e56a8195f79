//! What must not outlive this process: files and folders under temporary names, and processes that work for it. They go
//! when their values are dropped, and when a signal ends the process.

#![expect(
    unsafe_code,
    reason = "ends processes without the handlers of C libraries, and with the one that started them"
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// All that is unfinished now.
struct Unfinished {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Process groups, by the number of their first process.
    workers: Vec<Pid>,
}

static UNFINISHED: Mutex<Unfinished> =
    Mutex::new(Unfinished { files: Vec::new(), folders: Vec::new(), workers: Vec::new() });

/// The lock that is held while one of them is made, renamed or removed, so that none is made while the process ends.
fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unfinished {
    fn end(&self) {
        // Each may have gone by itself.
        self.workers.iter().for_each(|worker| _ = killpg(*worker, Signal::SIGKILL));
        self.files.iter().for_each(|file| _ = fs::remove_file(file));
        self.folders.iter().for_each(|folder| _ = fs::remove_dir_all(folder));
    }
}

/// Ends this process at once, with nothing unfinished left behind.
pub fn end_process(code: u8) -> ! {
    let unfinished = unfinished();
    unfinished.end();
    // SAFETY: the call takes a number and does not return. Handlers that libraries have registered for the end of the
    // process do not run: other threads may still be inside these libraries.
    unsafe { nix::libc::_exit(i32::from(code)) }
}

/// The name of a file that is written under it first; the file goes with the value unless it was renamed.
pub(crate) struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    /// A name beside `path` for a file that another process makes.
    pub(crate) fn reserve(path: &Path) -> Self {
        let free = || Some(beside(path)).filter(|path| !path.exists());
        let path = std::iter::repeat_with(free).flatten().next().expect("some suffix is free");
        unfinished().files.push(path.clone());
        Self { path }
    }

    /// A new file beside `path`.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, File)> {
        let mut unfinished = unfinished();
        let (path, file) = create_new(|| beside(path), |path| File::create_new(path))?;
        unfinished.files.push(path.clone());
        Ok((Self { path }, file))
    }

    /// Its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its final name.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        let _unfinished = unfinished();
        fs::rename(&self.path, path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        unfinished.files.retain(|file| *file != self.path);
        // It has been renamed, or is not needed.
        let _ = fs::remove_file(&self.path);
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", unique_suffix()));
    name.into()
}

/// A folder of its own for one use, removed at the end.
#[cfg(feature = "compile")]
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
}

#[cfg(feature = "compile")]
impl TemporaryDirectory {
    /// A new, empty folder among the system's temporary files.
    pub(crate) fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir();
        let made = Self::create(|| folder.join(format!("warpweave-{}", unique_suffix())));
        made.map_err(|error| {
            let folder = folder.display();
            let text =
                format!("cannot make a folder in {folder}: {error}; let TMPDIR name a folder that can be written to");
            io::Error::new(error.kind(), text)
        })
    }

    /// A new, empty folder beside `path`.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        Self::create(|| beside(path))
    }

    fn create(name: impl Fn() -> PathBuf) -> io::Result<Self> {
        let mut unfinished = unfinished();
        let (path, ()) = create_new(name, |path| fs::create_dir(path))?;
        unfinished.folders.push(path.clone());
        Ok(Self { path })
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its final name, which names nothing yet or an empty folder.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        let _unfinished = unfinished();
        fs::rename(&self.path, path)
    }

    /// A file in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(feature = "compile")]
impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        unfinished.folders.retain(|folder| *folder != self.path);
        // A folder that stays behind is a nuisance, not an error.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes what does not exist yet under one of these names. A process that was killed may have left some, and another may get
/// its number.
fn create_new<T>(name: impl Fn() -> PathBuf, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    loop {
        let path = name();
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (path, made)),
        }
    }
}

/// A suffix that no other live process or thread uses.
fn unique_suffix() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A process that works for this one, with all that it starts; killed when it is dropped.
pub struct Worker {
    child: Child,
    group: Pid,
    has_ended: bool,
}

/// Binds a new process to its parent of this number.
fn bound_to(parent: u32) -> impl FnMut() -> io::Result<()> + Send + Sync + 'static {
    move || {
        end_with_parent()?;
        if nix::unistd::getppid().as_raw() == parent.cast_signed() {
            Ok(())
        } else {
            // The parent has ended before it could be watched.
            Err(io::Error::from_raw_os_error(nix::libc::ESRCH))
        }
    }
}

/// Has the system kill this process when the thread that started it ends, even by SIGKILL.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: the call takes two numbers, and changes a property of this process alone.
    let done = unsafe { nix::libc::prctl(nix::libc::PR_SET_PDEATHSIG, nix::libc::SIGKILL) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The pipes to a worker, where there are some.
pub type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Worker {
    /// Starts it, out of reach of a terminal's signals: they are for this process to judge.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Self::spawn_group(command)
    }

    /// Starts it as `spawn` does, and has the system kill it when the calling thread ends, even by SIGKILL. The thread must
    /// therefore outlive the worker.
    pub fn spawn_bound(command: &mut Command) -> io::Result<Self> {
        // SAFETY: between fork and exec the closure calls prctl and getppid alone, which are async-signal-safe, and touches
        // no memory of the parent but a number that it has copied.
        unsafe { command.pre_exec(bound_to(std::process::id())) };
        Self::spawn_group(command)
    }

    fn spawn_group(command: &mut Command) -> io::Result<Self> {
        let mut unfinished = unfinished();
        let child = command.process_group(0).spawn()?;
        let group = Pid::from_raw(child.id().cast_signed());
        unfinished.workers.push(group);
        Ok(Self { child, group, has_ended: false })
    }

    /// Takes its pipes.
    pub fn pipes(&mut self) -> Pipes {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// How it ended, once it has.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        // Until it is waited for nothing else has its number.
        let mut unfinished = unfinished();
        let status = self.child.try_wait()?;
        if status.is_some() {
            self.has_ended = true;
            unfinished.workers.retain(|worker| *worker != self.group);
        }
        Ok(status)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut unfinished = unfinished();
            let _ = killpg(self.group, Signal::SIGKILL);
            let _ = self.child.wait();
            unfinished.workers.retain(|worker| *worker != self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_passed_over() {
        let (left, _) = TemporaryFile::create(&std::env::temp_dir().join("warpweave-left")).expect("it is new");
        fs::write(left.path(), "of another process").expect("the file is there");
        let names = std::cell::RefCell::new(vec![beside(left.path()), left.path().to_owned()]);
        let name = || names.borrow_mut().pop().expect("a name is free");
        let (path, _) = create_new(name, |path| File::create_new(path)).expect("a name is free");
        fs::remove_file(&path).expect("it was made");
        assert!(path != left.path() && names.borrow().is_empty());
        assert_eq!(fs::read(left.path()).expect("it is still there"), b"of another process");
        assert!(create_new(|| left.path().join("below"), |path| fs::create_dir(path)).is_err());
    }

    #[test]
    fn what_is_dropped_is_gone_and_forgotten() {
        let (file, _) = TemporaryFile::create(&std::env::temp_dir().join("warpweave-unfinished")).expect("it is new");
        let path = file.path().to_owned();
        let knows = |path: &PathBuf| unfinished().files.contains(path);
        assert!(path.exists() && knows(&path));
        drop(file);
        assert!(!path.exists() && !knows(&path));
        let mut worker = Worker::spawn(Command::new("sleep").arg("60")).expect("there is a sleep");
        assert!(worker.try_wait().is_ok_and(|status| status.is_none()));
        let group = worker.group;
        assert!(unfinished().workers.contains(&group));
        drop(worker);
        assert!(!unfinished().workers.contains(&group) && killpg(group, None).is_err());
    }
}
