//! Bundles, compiled side by side in the background while steps run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::child::{Children, Ended, Exit};
use super::options::{Backend, Scale};
use super::step::ZooModel;

/// Seconds that exporting or compiling one model may take.
const LIMIT: Duration = Duration::from_secs(120);

/// What a bundle is compiled from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Model {
    /// A small model of this name; weights go into the bundle, which so is whole.
    Fixture { name: String, path: PathBuf },
    /// A benchmark model, which is exported first; its weights stay there.
    Zoo(ZooModel),
}

/// A bundle that is wanted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    pub model: Model,
    pub backend: Backend,
}

/// Why there is no bundle.
#[derive(Clone, Debug)]
pub enum NoBundle {
    /// It was not made in time.
    Time,
    /// It cannot be made here.
    Unable(String),
    /// The command that makes it failed.
    Failed(Ended),
}

/// How far a bundle is.
#[derive(Clone, Debug)]
enum State {
    Waiting,
    Making,
    Done(Result<PathBuf, NoBundle>),
}

struct Shared {
    maker: Maker,
    states: Mutex<Queue>,
    changed: Condvar,
    /// Held while a model is exported, one each.
    exports: Mutex<BTreeMap<ZooModel, Arc<Mutex<()>>>>,
}

struct Queue {
    order: Vec<Wanted>,
    states: BTreeMap<Wanted, State>,
    is_closed: bool,
}

/// Makes files by the program's own commands.
pub struct Maker {
    pub binary: PathBuf,
    pub work: PathBuf,
    /// The architecture that kernels are compiled for.
    pub target: String,
    /// How large benchmark models are.
    pub scale: Scale,
    /// Why nothing can be compiled, if so.
    pub unable: Option<String>,
    pub children: Arc<Children>,
}

/// The pool of threads that compile.
pub struct Bundles {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Bundles compiled side by side on a machine of this many threads; each keeps two busy.
pub fn workers(cores: usize) -> usize {
    (cores / 2).max(2)
}

impl Bundles {
    /// A pool of so many threads that makes these, the first ones first.
    pub fn new(maker: Maker, order: Vec<Wanted>, workers: usize) -> Self {
        let states = order.iter().map(|wanted| (wanted.clone(), State::Waiting)).collect();
        let shared = Arc::new(Shared {
            maker,
            states: Mutex::new(Queue { order, states, is_closed: false }),
            changed: Condvar::new(),
            exports: Mutex::new(BTreeMap::new()),
        });
        let worker = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work())
        };
        let threads = (0..workers).map(worker).collect();
        Self { shared, threads }
    }

    /// A bundle, once it is there, for which it waits until `deadline`; one that was not begun is begun next.
    pub fn bundle(&self, wanted: &Wanted, deadline: Instant) -> Result<PathBuf, NoBundle> {
        let mut queue = self.shared.lock();
        queue.states.entry(wanted.clone()).or_insert(State::Waiting);
        if let Some(State::Waiting) = queue.states.get(wanted) {
            queue.order.retain(|other| other != wanted);
            queue.order.insert(0, wanted.clone());
            self.shared.changed.notify_all();
        }
        loop {
            if let Some(State::Done(result)) = queue.states.get(wanted) {
                return result.clone();
            }
            let now = Instant::now();
            if now >= deadline || queue.is_closed {
                return Err(NoBundle::Time);
            }
            let waited = self.shared.changed.wait_timeout(queue, deadline - now);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A benchmark model's file, exported now unless it is there.
    pub fn exported(&self, model: &ZooModel, limit: Duration) -> Result<PathBuf, NoBundle> {
        self.shared.export(model, limit)
    }

    /// Gives up what is not made yet.
    pub fn close(self) {
        self.shared.lock().is_closed = true;
        self.shared.maker.children.stop();
        self.shared.changed.notify_all();
        self.threads.into_iter().for_each(|thread| _ = thread.join());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(wanted) = self.next() {
            let made = self.maker.unable.clone().map_or_else(|| self.make(&wanted), |why| Err(NoBundle::Unable(why)));
            self.lock().states.insert(wanted, State::Done(made));
            self.changed.notify_all();
        }
    }

    /// The next bundle to make; none once the pool is closed.
    fn next(&self) -> Option<Wanted> {
        let mut queue = self.lock();
        loop {
            if queue.is_closed {
                return None;
            }
            if !queue.order.is_empty() {
                let wanted = queue.order.remove(0);
                queue.states.insert(wanted.clone(), State::Making);
                return Some(wanted);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make(&self, wanted: &Wanted) -> Result<PathBuf, NoBundle> {
        let bundle = self.maker.bundle_path(wanted);
        if is_whole(&bundle) {
            return Ok(bundle);
        }
        let (model, weights) = match &wanted.model {
            Model::Fixture { path, .. } => (path.clone(), "inside"),
            Model::Zoo(model) => (self.export(model, LIMIT)?, "beside"),
        };
        let words = ["compile", &model.to_string_lossy(), "-o", &bundle.to_string_lossy()].map(str::to_owned);
        let target = format!("host,{}", self.maker.target);
        let choices = ["--target", &target, "--backend", wanted.backend.word(), "--weights", weights, "--json"];
        let arguments: Vec<String> = words.into_iter().chain(choices.map(str::to_owned)).collect();
        self.maker.run(&arguments, &bundle, LIMIT)
    }

    fn export(&self, model: &ZooModel, limit: Duration) -> Result<PathBuf, NoBundle> {
        let own = {
            let mut exports = self.exports.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(exports.entry(model.clone()).or_default())
        };
        let _own = own.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.maker.model_path(model);
        if is_whole(&path) {
            return Ok(path);
        }
        self.maker.run(&export_arguments(model, &path, self.maker.scale), &path, limit)
    }
}

/// The command line that writes a benchmark model.
pub fn export_arguments(model: &ZooModel, path: &Path, scale: Scale) -> Vec<String> {
    let words = ["models", "export", &model.name, "-o", &path.to_string_lossy()].map(str::to_owned);
    let form = if model.is_unrolled { vec!["--form", "unrolled"] } else { Vec::new() };
    let reduced = if scale == Scale::Reduced { vec!["--reduced"] } else { Vec::new() };
    words.into_iter().chain(form.into_iter().chain(reduced).map(str::to_owned)).collect()
}

impl Maker {
    /// Where a model's file goes.
    fn model_path(&self, model: &ZooModel) -> PathBuf {
        self.work.join("zoo").join(model.label()).join("model.onnx")
    }

    /// Where a bundle goes.
    pub fn bundle_path(&self, wanted: &Wanted) -> PathBuf {
        let (folder, name) = match &wanted.model {
            Model::Fixture { name, .. } => (self.work.join("fixtures"), name.replace('/', "-")),
            Model::Zoo(model) => (self.work.join("zoo").join(model.label()), model.label()),
        };
        folder.join(format!("{name}.{}.weave", wanted.backend))
    }

    /// Runs the program, which makes this file, and marks it as whole.
    fn run(&self, arguments: &[String], made: &Path, limit: Duration) -> Result<PathBuf, NoBundle> {
        if let Some(folder) = made.parent() {
            // If it cannot be made, the command says so.
            let _ = fs::create_dir_all(folder);
        }
        let ended = self.children.run(&self.binary, arguments, limit);
        match ended.exit {
            Exit::Code(0) => {
                let marked = fs::write(marker(made), b"");
                marked.map(|()| made.to_owned()).map_err(|error| NoBundle::Unable(error.to_string()))
            }
            Exit::Stopped => Err(NoBundle::Time),
            Exit::Code(_) | Exit::Signal(_) | Exit::Limit | Exit::Unstarted => Err(NoBundle::Failed(ended)),
        }
    }
}

/// The file that says that another one was made to its end.
fn marker(made: &Path) -> PathBuf {
    let mut name = made.as_os_str().to_owned();
    name.push(".whole");
    name.into()
}

/// Whether a file was made to its end.
pub fn is_whole(made: &Path) -> bool {
    marker(made).is_file() && made.is_file()
}
