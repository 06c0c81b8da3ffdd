//! A pool of worker threads for work that lasts microseconds: workers spin briefly for the next job, then park.
//!
//! A decode step hands out over a hundred jobs with a few microseconds between them; waking a parked thread
//! costs more than most of them. So a worker that finished spins for [`SPIN`] before it parks. Work is
//! divided by thread index and the same thread gets the same rows each time, so what a core's caches hold of
//! small matrices stays useful. The number of threads can change between jobs, also in mid-generation.
#![expect(unsafe_code, reason = "jobs borrow from the caller's stack; disjoint chunks of one slice")]

use crate::error::{Error, Result};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long an idle worker spins: covers the gap between two tokens (sampling and text), not a pause of the user.
const SPIN: Duration = Duration::from_micros(200);
/// How long the caller spins for its workers before it yields its core, perhaps to one of them.
const PATIENCE: Duration = Duration::from_micros(50);
/// More threads than this never helped a model of this size.
pub const MAX_THREADS: usize = 64;

/// What a job is told: which of how many threads it runs on.
#[derive(Clone, Copy, Debug)]
pub struct Worker {
    /// 0 is the calling thread.
    pub index: usize,
    /// Threads that run this job.
    pub count: usize,
}

impl Worker {
    /// This thread's contiguous share of `0..n`; shares differ by at most one.
    pub fn share(self, n: usize) -> std::ops::Range<usize> {
        n * self.index / self.count..n * (self.index + 1) / self.count
    }
}

/// Threads that run one job at a time together with the caller.
#[derive(Debug)]
pub struct Pool {
    threads: AtomicUsize,
    workers: Mutex<Vec<Handle>>,
}

#[derive(Debug)]
struct Handle {
    mailbox: Arc<Mailbox>,
    thread: Thread,
    join: Option<JoinHandle<()>>,
}

/// One per worker, on cache lines of its own.
#[repr(align(128))]
struct Mailbox {
    /// Number of the newest job; written by the caller after `job`.
    posted: AtomicU32,
    /// Number of the last finished job; written by the worker.
    done: AtomicU32,
    parked: AtomicBool,
    stop: AtomicBool,
    panicked: AtomicBool,
    job: UnsafeCell<Option<Job>>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
struct Job {
    run: *const (dyn Fn(Worker) + Sync),
    worker: Worker,
}

// SAFETY: `job` is written by the caller only while `posted == done`, when the worker does not look at it, and
// read by the worker only after it saw `posted` change (Acquire pairs with the caller's Release).
unsafe impl Sync for Mailbox {}
// SAFETY: the pointer in a job points to a `Sync` closure that outlives the job, see `Pool::run`.
unsafe impl Send for Mailbox {}

impl Pool {
    /// A pool of `threads` threads, the caller included: `threads - 1` are started.
    ///
    /// # Errors
    /// When `threads` is 0 or above [`MAX_THREADS`], or a thread cannot be started.
    pub fn new(threads: usize) -> Result<Self> {
        let pool = Pool { threads: AtomicUsize::new(1), workers: Mutex::default() };
        pool.set_threads(threads)?;
        Ok(pool)
    }

    /// Threads that the next job will use, the caller included.
    pub fn threads(&self) -> usize {
        self.threads.load(Relaxed)
    }

    /// Changes the number of threads from the next job on. Threads in excess stay parked.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn set_threads(&self, threads: usize) -> Result<()> {
        if threads == 0 || threads > MAX_THREADS {
            return Err(Error::Range { what: "threads", value: threads, range: "1 to 64" });
        }
        let mut workers = self.lock();
        while workers.len() + 1 < threads {
            let index = workers.len() + 1;
            workers.push(Handle::start(index)?);
        }
        self.threads.store(threads, Relaxed);
        Ok(())
    }

    /// Runs `job` once on each thread and returns when all have finished. A job must not run another job of
    /// the same pool. A panic in a job reaches the caller after all threads have finished.
    pub fn run(&self, job: &(dyn Fn(Worker) + Sync)) {
        if self.threads() == 1 {
            return job(Worker { index: 0, count: 1 });
        }
        let workers = self.lock();
        let count = self.threads().min(workers.len() + 1);
        // SAFETY: only the lifetime changes. Each worker that gets the pointer is waited for below, also if
        // the caller's own share panics, so it is not used after `job` ends.
        let run = unsafe {
            std::mem::transmute::<*const (dyn Fn(Worker) + Sync + '_), *const (dyn Fn(Worker) + Sync + 'static)>(job)
        };
        let active = &workers[..count - 1];
        for (i, handle) in active.iter().enumerate() {
            handle.post(Job { run, worker: Worker { index: i + 1, count } });
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(Worker { index: 0, count })));
        let panicked = active.iter().fold(false, |any, handle| any | handle.wait());
        drop(workers);
        match own {
            Err(payload) => resume_unwind(payload),
            Ok(()) if panicked => {
                panic!("a worker thread panicked; its message is on standard error")
            }
            Ok(()) => (),
        }
    }

    /// Calls `f(index, chunk)` for every chunk of `len` elements of `data`, shared among the threads.
    ///
    /// # Errors
    /// One of the errors that `f` returned, if any.
    pub fn map_chunks<T: Send, E: Send>(
        &self,
        data: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> std::result::Result<(), E> {
        let total = data.len();
        let base = SendPtr(data.as_mut_ptr());
        let failure = Mutex::new(None);
        self.run(&|worker| {
            let base = &base;
            for chunk in worker.share(total.div_ceil(len)) {
                let begin = chunk * len;
                // SAFETY: chunks lie inside `data`, which is borrowed for the whole call, and no two overlap:
                // shares are disjoint.
                let slice = unsafe { std::slice::from_raw_parts_mut(base.0.add(begin), len.min(total - begin)) };
                if let Err(error) = f(chunk, slice) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Handle>> {
        // A panic while the lock is held leaves no worker behind: `run` waits before it unwinds.
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut workers = self.lock();
        for handle in workers.iter() {
            handle.mailbox.stop.store(true, SeqCst);
            handle.thread.unpark();
        }
        for handle in workers.iter_mut() {
            if let Some(join) = handle.join.take() {
                let _ = join.join();
            }
        }
    }
}

/// A pointer that jobs share; what they may touch through it is up to the job.
pub(crate) struct SendPtr<T>(pub(crate) *mut T);
// SAFETY: the code that dereferences it says why accesses do not overlap.
unsafe impl<T: Send> Sync for SendPtr<T> {}

impl Handle {
    fn start(index: usize) -> Result<Self> {
        let mailbox = Arc::new(Mailbox {
            posted: AtomicU32::new(0),
            done: AtomicU32::new(0),
            parked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            job: UnsafeCell::new(None),
        });
        let theirs = mailbox.clone();
        let join = std::thread::Builder::new().name(format!("kernels-{index}")).spawn(move || theirs.work())?;
        Ok(Handle { mailbox, thread: join.thread().clone(), join: Some(join) })
    }

    fn post(&self, job: Job) {
        // SAFETY: the previous job has finished (every post is followed by a wait), so the worker does not
        // read the cell until `posted` changes.
        unsafe { *self.mailbox.job.get() = Some(job) };
        // SeqCst on both sides: either the worker sees the new number before it parks, or we see it parked.
        self.mailbox.posted.fetch_add(1, SeqCst);
        if self.mailbox.parked.load(SeqCst) {
            self.thread.unpark();
        }
    }

    /// Waits until the worker has finished; true if its job panicked.
    fn wait(&self) -> bool {
        let posted = self.mailbox.posted.load(Relaxed);
        let finished = || self.mailbox.done.load(Acquire) == posted;
        if !spin_until(PATIENCE, &finished) {
            while !finished() {
                std::thread::yield_now();
            }
        }
        self.mailbox.panicked.swap(false, Relaxed)
    }
}

impl Mailbox {
    fn work(&self) {
        let mut seen = 0;
        loop {
            let arrived = || self.posted.load(Acquire) != seen || self.stop.load(Relaxed);
            if !spin_until(SPIN, &arrived) {
                self.parked.store(true, SeqCst);
                while self.posted.load(SeqCst) == seen && !self.stop.load(SeqCst) {
                    std::thread::park();
                }
                self.parked.store(false, Relaxed);
            }
            if self.posted.load(Acquire) == seen {
                return; // stop was asked for
            }
            seen = seen.wrapping_add(1);
            // SAFETY: `posted` changed (Acquire), so the caller has written the job and waits for `done`.
            let job = unsafe { *self.job.get() };
            if let Some(Job { run, worker }) = job {
                // SAFETY: `Pool::run` keeps the closure alive until `done` is stored.
                let run = unsafe { &*run };
                if catch_unwind(AssertUnwindSafe(|| run(worker))).is_err() {
                    self.panicked.store(true, Relaxed);
                }
            }
            self.done.store(seen, Release);
        }
    }
}

/// Spins until `ready` or until the time is over; false in the latter case.
fn spin_until(limit: Duration, ready: &dyn Fn() -> bool) -> bool {
    // Most waits are shorter than reading the clock.
    for _ in 0..64 {
        if ready() {
            return true;
        }
        std::hint::spin_loop();
    }
    let start = Instant::now();
    while start.elapsed() < limit {
        for _ in 0..32 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_thread_runs_each_job_once() {
        let pool = Pool::new(3).unwrap();
        for round in 0..1000u64 {
            let sum = AtomicU64::new(0);
            let threads = [3, 1, 2][round as usize % 3];
            pool.set_threads(threads).unwrap();
            pool.run(&|w| {
                assert_eq!(w.count, threads);
                sum.fetch_add(1 << (8 * w.index), SeqCst);
            });
            assert_eq!(sum.into_inner(), [0x010101, 1, 0x0101][round as usize % 3]);
        }
    }

    #[test]
    fn workers_wake_from_parking() {
        let pool = Pool::new(2).unwrap();
        for _ in 0..3 {
            std::thread::sleep(3 * SPIN);
            let sum = AtomicU64::new(0);
            pool.run(&|_| {
                sum.fetch_add(1, SeqCst);
            });
            assert_eq!(sum.into_inner(), 2);
        }
    }

    #[test]
    fn shares_cover_everything_once() {
        for (n, count) in [(0, 1), (1, 2), (7, 3), (64, 5)] {
            let all: Vec<usize> = (0..count).flat_map(|index| Worker { index, count }.share(n)).collect();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chunks_are_each_seen_once_and_errors_come_back() {
        let pool = Pool::new(2).unwrap();
        for len in [0, 1, 9, 10, 11] {
            let mut data = vec![0u32; len];
            pool.map_chunks::<_, ()>(&mut data, 3, |i, chunk| {
                chunk.iter_mut().for_each(|v| *v += 1 + i as u32);
                Ok(())
            })
            .unwrap();
            assert!(data.iter().enumerate().all(|(i, &v)| v == 1 + i as u32 / 3));
        }
        let failed = pool.map_chunks(&mut [0; 8], 1, |i, _| if i == 5 { Err("five") } else { Ok(()) });
        assert_eq!(failed, Err("five"));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2).unwrap();
        for bad in 0..2 {
            let run = catch_unwind(AssertUnwindSafe(|| pool.run(&|w| assert_ne!(w.index, bad))));
            assert!(run.is_err());
        }
        let sum = AtomicU64::new(0);
        pool.run(&|_| {
            sum.fetch_add(1, SeqCst);
        });
        assert_eq!(sum.into_inner(), 2);
    }

    #[test]
    fn absurd_counts_are_errors() {
        assert!(Pool::new(0).is_err());
        assert!(Pool::new(MAX_THREADS + 1).is_err());
    }
}
