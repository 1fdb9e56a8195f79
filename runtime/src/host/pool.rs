//! Threads that stay between runs.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::launch::Launch;

/// Looks of a thread for the next run before it sleeps: some tens of microseconds.
const LOOKS: u32 = 4000;

/// Threads that sessions run on, beside those that call them. Sessions of one pool run one after another, each on as many
/// threads as its plan was folded onto.
pub struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the session that runs.
    turn: Mutex<()>,
    /// The process whose threads these are.
    process: u32,
}

struct Shared {
    run: Mutex<Run>,
    /// The number of the last run that has begun.
    begun: AtomicUsize,
    /// Threads beside the caller's that have left the last run.
    left: AtomicUsize,
    ends: AtomicBool,
}

/// What the threads run.
#[derive(Default)]
struct Run {
    number: usize,
    launch: Option<Arc<Launch>>,
}

impl ThreadPool {
    /// So many threads, the caller's among them.
    pub fn new(threads: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            run: Mutex::default(),
            begun: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
        });
        let (turn, process) = (Mutex::new(()), std::process::id());
        let mut pool = Self { shared, workers: Vec::new(), turn, process };
        for thread in 1..threads.max(1) {
            let shared = Arc::clone(&pool.shared);
            let named = std::thread::Builder::new().name(format!("warpweave {thread}"));
            pool.workers.push(named.spawn(move || shared.work(thread))?);
        }
        Ok(pool)
    }

    /// How many threads take part in a run at most, the caller's among them.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// The process whose threads these are. A child of it has none of them.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Runs a plan once, which has been made ready, on as many threads as it has work for; there are as many.
    pub(super) fn run(&self, launch: &Arc<Launch>) {
        let others = launch.program.threads - 1;
        if others == 0 {
            return launch.run(0);
        }
        assert!(others <= self.workers.len(), "the plan is folded onto the pool's threads");
        let _turn = locked(&self.turn);
        let Shared { run, begun, left, .. } = &*self.shared;
        left.store(0, Ordering::Relaxed);
        let number = begun.load(Ordering::Relaxed).wrapping_add(1);
        *locked(run) = Run { number, launch: Some(Arc::clone(launch)) };
        begun.store(number, Ordering::Release);
        self.workers[..others].iter().for_each(|worker| worker.thread().unpark());
        launch.run(0);
        let mut looks = 0u32;
        while left.load(Ordering::Acquire) < others {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        locked(run).launch = None;
    }
}

impl Shared {
    fn work(&self, thread: usize) {
        let mut seen = 0;
        loop {
            let mut looks = 0;
            while self.begun.load(Ordering::Acquire) == seen {
                if self.ends.load(Ordering::Acquire) {
                    return;
                }
                looks += 1;
                if looks < LOOKS {
                    std::hint::spin_loop();
                } else {
                    std::thread::park();
                }
            }
            let launch = {
                let run = locked(&self.run);
                seen = run.number;
                run.launch.as_ref().filter(|launch| thread < launch.program.threads).map(Arc::clone)
            };
            if let Some(launch) = launch {
                launch.run(thread);
                drop(launch);
                self.left.fetch_add(1, Ordering::Release);
            }
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            // In the child of a fork there is no such thread to wait for.
            if self.process != std::process::id() {
                std::mem::forget(worker);
                continue;
            }
            worker.thread().unpark();
            // A worker catches what fails in a run; nothing is left to tell of one that did not.
            let _ = worker.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
