//! Threads that stay between runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use super::launch::Launch;
use super::operator::TaskScratch;

/// Looks of a thread for the next run before it sleeps: some tens of microseconds.
const LOOKS: u32 = 4000;

/// The threads of a session beside the caller's, which is the first. Each has rTasks in the plan, so every run wakes all of
/// them and waits for them; a plan with work for one thread has none.
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    own: TaskScratch,
}

struct Shared {
    launch: Launch,
    /// The number of runs that have begun.
    begun: AtomicUsize,
    /// Threads beside the caller's that have left the last run.
    left: AtomicUsize,
    ends: AtomicBool,
}

impl Pool {
    /// Starts the threads; fewer where the system has no more.
    pub(super) fn new(launch: Launch) -> std::io::Result<Self> {
        let own = launch.scratch();
        let (begun, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Shared { launch, begun, left, ends: AtomicBool::new(false) });
        let mut pool = Self { workers: Vec::new(), own, shared };
        for thread in 1..pool.shared.launch.threads {
            let shared = Arc::clone(&pool.shared);
            let named = std::thread::Builder::new().name(format!("warpweave {thread}"));
            pool.workers.push(named.spawn(move || shared.work(thread))?);
        }
        Ok(pool)
    }

    /// The plan that the threads run.
    pub(super) fn launch(&self) -> &Launch {
        &self.shared.launch
    }

    /// Runs the plan once on all threads; it has been made ready.
    pub(super) fn run(&mut self) {
        let Shared { launch, begun, left, .. } = &*self.shared;
        left.store(0, Ordering::Relaxed);
        begun.fetch_add(1, Ordering::Release);
        self.workers.iter().for_each(|worker| worker.thread().unpark());
        launch.run(0, &mut self.own);
        let mut looks = 0u32;
        while left.load(Ordering::Acquire) < self.workers.len() {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

impl Shared {
    fn work(&self, thread: usize) {
        let mut scratch = self.launch.scratch();
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
            seen += 1;
            self.launch.run(thread, &mut scratch);
            self.left.fetch_add(1, Ordering::Release);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker catches what fails in a run; nothing is left to tell of one that did not.
            let _ = worker.join();
        }
    }
}
