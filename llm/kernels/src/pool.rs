//! A pool of worker threads for work that lasts microseconds: workers spin briefly for the next job, then park.
//!
//! A decode step hands out over a hundred jobs with a few microseconds between them; waking a parked thread
//! costs more than most of them. So a worker that finished spins for [`SPIN`] before it parks.
//!
//! A job is a number of items. Each thread first takes its own contiguous share, the same each time, so that
//! what a core's caches hold of small matrices stays useful; a thread that is done takes from the others. A
//! worker that has not begun when nothing is left is not waited for. So a worker that the system runs late,
//! because other programs or other stages of the assistant want the core, costs little: two threads are not
//! slower than one. The number of threads can change between jobs, also in mid-generation.
#![expect(unsafe_code, reason = "jobs borrow from the caller's stack; disjoint chunks of one slice")]

use crate::error::{Error, Result};
use std::cell::UnsafeCell;
use std::ops::Range;
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

/// Threads that run one job at a time together with the caller.
#[derive(Debug)]
pub struct Pool {
    threads: AtomicUsize,
    crew: Mutex<Crew>,
}

#[derive(Debug, Default)]
struct Crew {
    workers: Vec<Handle>,
    cursors: Vec<Cursor>, // one per thread, the caller included
}

/// The next item of a thread's share.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cursor {
    next: AtomicUsize,
}

/// What a thread works on: its own share, then what others left.
#[derive(Debug)]
pub struct Claims<'a> {
    cursors: &'a [Cursor],
    items: usize,
    grain: usize,
    /// Number of this thread; 0 is the caller's.
    pub thread: usize,
    victim: usize, // how many shares beyond its own this thread has seen the end of
}

impl Claims<'_> {
    /// The next items for this thread, or nothing when all are taken.
    pub fn take(&mut self) -> Option<Range<usize>> {
        let count = self.cursors.len();
        if count == 1 {
            return (std::mem::replace(&mut self.victim, 1) == 0 && self.items > 0).then_some(0..self.items);
        }
        while self.victim < count {
            let owner = (self.thread + self.victim) % count;
            let end = self.share(owner).end;
            let cursor = &self.cursors[owner].next;
            // Looking first keeps a finished share's line shared instead of moving it about.
            if cursor.load(Relaxed) < end {
                let at = cursor.fetch_add(self.grain, Relaxed);
                if at < end {
                    return Some(at..(at + self.grain).min(end));
                }
            }
            self.victim += 1;
        }
        None
    }

    /// Where this thread's share of `n` items begins, if it were the next job.
    pub fn start_of(&self, n: usize) -> usize {
        n * self.thread / self.cursors.len()
    }

    fn share(&self, thread: usize) -> Range<usize> {
        let count = self.cursors.len();
        self.items * thread / count..self.items * (thread + 1) / count
    }
}

#[derive(Debug)]
struct Handle {
    mailbox: Arc<Mailbox>,
    thread: Thread,
    join: Option<JoinHandle<()>>,
}

/// The worker has nothing to do, or has finished.
const IDLE: u32 = 0;
/// A job lies ready; the worker may begin, or the caller may take it back.
const OPEN: u32 = 1;
/// The worker has begun; the caller must wait.
const RUNNING: u32 = 2;

/// One per worker, on cache lines of its own.
#[repr(align(128))]
struct Mailbox {
    state: AtomicU32,
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
    run: *const (dyn Fn(usize) + Sync),
    thread: usize,
}

// SAFETY: `job` is written by the caller only while the state is IDLE, when the worker does not look at it, and
// read by the worker only after it moved the state from OPEN to RUNNING (Acquire pairs with the caller's store).
unsafe impl Sync for Mailbox {}
// SAFETY: the pointer in a job points to a `Sync` closure that outlives the job, see `Pool::claim`.
unsafe impl Send for Mailbox {}

impl Pool {
    /// A pool of `threads` threads, the caller included: `threads - 1` are started.
    ///
    /// # Errors
    /// When `threads` is 0 or above [`MAX_THREADS`], or a thread cannot be started.
    pub fn new(threads: usize) -> Result<Self> {
        let pool = Pool { threads: AtomicUsize::new(1), crew: Mutex::default() };
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
        let mut crew = self.lock();
        while crew.workers.len() + 1 < threads {
            let index = crew.workers.len() + 1;
            crew.workers.push(Handle::start(index)?);
        }
        while crew.cursors.len() < threads {
            crew.cursors.push(Cursor::default());
        }
        self.threads.store(threads, Relaxed);
        Ok(())
    }

    /// Divides `items` among the threads, which take `grain` of them at a time: `body` runs on the caller and on
    /// those workers that are free in time, and takes items from its [`Claims`] until there are none. Returns when
    /// all are done. `body` must not use the same pool. A panic in it reaches the caller once no thread runs it.
    pub fn claim(&self, items: usize, grain: usize, body: &(dyn Fn(&mut Claims<'_>) + Sync)) {
        let grain = grain.max(1);
        let crew = self.lock();
        // Not more threads than there is work for.
        let count = self.threads().min(crew.cursors.len()).min(items.div_ceil(grain)).max(1);
        let cursors = &crew.cursors[..count];
        let claims = |thread| Claims { cursors, items, grain, thread, victim: 0 };
        if count == 1 {
            return body(&mut claims(0));
        }
        for (thread, cursor) in cursors.iter().enumerate() {
            cursor.next.store(items * thread / count, Relaxed);
        }
        let job: &(dyn Fn(usize) + Sync) = &|thread| body(&mut claims(thread));
        // SAFETY: only the lifetime changes. Each worker that begins is waited for below, also if the caller's own
        // part panics, and one that does not begin never gets the pointer; so it is not used after `job` ends.
        let run = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(job)
        };
        let workers = &crew.workers[..count - 1];
        for (i, handle) in workers.iter().enumerate() {
            handle.post(Job { run, thread: i + 1 });
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        let panicked = workers.iter().fold(false, |any, handle| any | handle.finish());
        drop(crew);
        match own {
            Err(payload) => resume_unwind(payload),
            Ok(()) if panicked => panic!("a worker thread panicked; its message is on standard error"),
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
        self.claim(total.div_ceil(len), 1, &|claims| {
            let base = &base;
            while let Some(range) = claims.take() {
                for chunk in range {
                    let begin = chunk * len;
                    // SAFETY: chunks lie inside `data`, which is borrowed for the whole call, and each is claimed once.
                    let slice = unsafe { std::slice::from_raw_parts_mut(base.0.add(begin), len.min(total - begin)) };
                    if let Err(error) = f(chunk, slice) {
                        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Crew> {
        // A panic while the lock is held leaves no worker behind: `claim` waits before it unwinds.
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut crew = self.lock();
        for handle in &crew.workers {
            handle.mailbox.stop.store(true, SeqCst);
            handle.thread.unpark();
        }
        for handle in &mut crew.workers {
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
            state: AtomicU32::new(IDLE),
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
        // SAFETY: the state is IDLE (every post is followed by a finish), so the worker does not read the cell.
        unsafe { *self.mailbox.job.get() = Some(job) };
        // SeqCst on both sides: either the worker sees the job before it parks, or we see it parked. The flag is taken
        // down so that a worker that is slow to wake is woken once, not at every job.
        self.mailbox.state.store(OPEN, SeqCst);
        if self.mailbox.parked.load(SeqCst) && self.mailbox.parked.swap(false, SeqCst) {
            self.thread.unpark();
        }
    }

    /// Takes the job back if the worker has not begun, else waits for it; true if it panicked.
    fn finish(&self) -> bool {
        let state = &self.mailbox.state;
        if state.compare_exchange(OPEN, IDLE, Acquire, Acquire).is_ok() {
            return false;
        }
        let finished = || state.load(Acquire) == IDLE;
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
        loop {
            let arrived = || self.state.load(Relaxed) == OPEN || self.stop.load(Relaxed);
            if !spin_until(SPIN, &arrived) {
                self.parked.store(true, SeqCst);
                while self.state.load(SeqCst) != OPEN && !self.stop.load(SeqCst) {
                    std::thread::park();
                    // Whoever woke us took the flag down.
                    self.parked.store(true, SeqCst);
                }
                self.parked.store(false, SeqCst);
            }
            if self.stop.load(Relaxed) {
                return;
            }
            if self.state.compare_exchange(OPEN, RUNNING, Acquire, Relaxed).is_err() {
                continue; // the caller took it back
            }
            // SAFETY: the state was OPEN (Acquire), so the caller has written the job, and waits for IDLE.
            let job = unsafe { *self.job.get() };
            if let Some(Job { run, thread }) = job {
                // SAFETY: `Pool::claim` keeps the closure alive until the state is IDLE.
                let run = unsafe { &*run };
                if catch_unwind(AssertUnwindSafe(|| run(thread))).is_err() {
                    self.panicked.store(true, Relaxed);
                }
            }
            self.state.store(IDLE, Release);
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

    /// Runs a job that counts how often each item was seen.
    fn count(pool: &Pool, items: usize, grain: usize) -> Vec<u64> {
        let seen: Vec<AtomicU64> = (0..items).map(|_| AtomicU64::new(0)).collect();
        pool.claim(items, grain, &|claims| {
            while let Some(range) = claims.take() {
                range.for_each(|i| drop_count(&seen[i]));
            }
        });
        seen.into_iter().map(AtomicU64::into_inner).collect()
    }

    fn drop_count(count: &AtomicU64) {
        count.fetch_add(1, SeqCst);
    }

    #[test]
    fn every_item_is_seen_once() {
        let pool = Pool::new(3).unwrap();
        for round in 0..2000 {
            pool.set_threads([3, 1, 2][round % 3]).unwrap();
            for (items, grain) in [(0, 1), (1, 1), (2, 1), (7, 2), (64, 5), (100, 0)] {
                assert_eq!(count(&pool, items, grain), vec![1; items]);
            }
        }
    }

    #[test]
    fn workers_wake_from_parking() {
        let pool = Pool::new(2).unwrap();
        for _ in 0..3 {
            std::thread::sleep(3 * SPIN);
            // The caller waits in its first item until the worker has come: it must wake.
            let others = AtomicU64::new(0);
            pool.claim(2, 1, &|claims| {
                if claims.thread > 0 {
                    others.fetch_add(1, SeqCst);
                }
                while claims.take().is_some() {
                    while others.load(SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            assert_eq!(others.into_inner(), 1);
        }
    }

    #[test]
    fn threads_begin_with_their_own_share() {
        let pool = Pool::new(2).unwrap();
        let begun = AtomicU64::new(0);
        pool.claim(10, 1, &|claims| {
            let first = claims.take().unwrap();
            assert_eq!(first.start, claims.start_of(10));
            begun.fetch_add(1, SeqCst);
            while begun.load(SeqCst) < 2 {
                std::thread::yield_now();
            }
            while claims.take().is_some() {}
        });
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
            let begun = AtomicU64::new(0);
            let run = catch_unwind(AssertUnwindSafe(|| {
                pool.claim(2, 1, &|claims| {
                    begun.fetch_add(1, SeqCst);
                    while begun.load(SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    assert_ne!(claims.thread, bad);
                });
            }));
            assert!(run.is_err());
        }
        assert_eq!(count(&pool, 5, 1), vec![1; 5]);
    }

    #[test]
    fn absurd_counts_are_errors() {
        assert!(Pool::new(0).is_err());
        assert!(Pool::new(MAX_THREADS + 1).is_err());
    }
}
