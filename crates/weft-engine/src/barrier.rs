//! A barrier for windows of a few microseconds: waiting threads spin, then sleep.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of spins before a waiting thread sleeps.
const SPINS: u32 = 2_000;

/// A barrier that threads pass together, over and over. The last thread to arrive decides whether
/// they go on.
///
/// The threads that a busy core keeps from running are the ones that the others wait for. A
/// thread that sleeps leaves its core to them; a thread that spins takes time from them. A thread that
/// yields gives up the rest of its time slice to other processes, and sleep preserves it.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// Number of times that the threads have passed.
    generation: AtomicUsize,
    /// The last decision.
    stops: AtomicBool,
    broken: AtomicBool,
    /// Number of threads that sleep or are about to.
    sleeping: AtomicU32,
    lock: Mutex<()>,
    wake_up: Condvar,
}

impl Barrier {
    /// Creates a barrier for this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            sleeping: AtomicU32::new(0),
            lock: Mutex::new(()),
            wake_up: Condvar::new(),
        }
    }

    /// Waits for all threads. The last one to arrive calls `stops` with true if another thread had
    /// to sleep. Returns its answer to all threads, or `None` if a thread panicked.
    pub fn wait(&self, stops: impl FnOnce(bool) -> bool) -> Option<bool> {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            let stops = stops(self.sleeping.load(Ordering::Relaxed) > 0);
            self.arrived.store(0, Ordering::Relaxed);
            self.stops.store(stops, Ordering::Relaxed);
            // Either this thread sees `sleeping`, or the thread about to sleep sees the generation:
            // both are sequentially consistent.
            self.generation
                .store(generation.wrapping_add(1), Ordering::SeqCst);
            if self.sleeping.load(Ordering::SeqCst) > 0 {
                self.wake_all();
            }
            return Some(stops);
        }
        let is_over = |order| self.generation.load(order) != generation || self.broken.load(order);
        let has_passed = (0..SPINS).any(|_| {
            std::hint::spin_loop();
            is_over(Ordering::Acquire)
        });
        if !has_passed {
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            let mut guard = self.guard();
            while !is_over(Ordering::SeqCst) {
                guard = self.wake_up.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            drop(guard);
            self.sleeping.fetch_sub(1, Ordering::SeqCst);
        }
        // The threads can pass the barrier even if one of them panics afterwards.
        let passed = self.generation.load(Ordering::Acquire) != generation;
        passed.then(|| self.stops.load(Ordering::Relaxed))
    }

    /// Makes all threads return `None`, those that wait and those that will.
    fn break_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn wake_all(&self) {
        // A thread that is about to sleep holds the lock from its last check until it sleeps.
        drop(self.guard());
        self.wake_up.notify_all();
    }

    fn guard(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Breaks the barrier if its thread panics, so that the other threads stop and the scope propagates
/// the panic.
pub struct BreakOnPanic<'a>(pub &'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Each thread is late in some rounds, so that the others spin and sleep.
    #[test]
    fn threads_pass_together_and_get_one_answer() {
        const ROUNDS: usize = 300;
        let barrier = Barrier::new(3);
        let arrivals = AtomicUsize::new(0);
        let work = |thread: usize| {
            for round in 1..=ROUNDS {
                if round % 30 == 10 * thread {
                    std::thread::sleep(Duration::from_millis(2));
                }
                arrivals.fetch_add(1, Ordering::SeqCst);
                let stops = barrier.wait(|_| round == ROUNDS);
                assert_eq!(stops, Some(round == ROUNDS));
                assert!(arrivals.load(Ordering::SeqCst) >= 3 * round);
            }
        };
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || work(thread));
            }
        });
    }

    #[test]
    fn the_last_thread_learns_that_another_one_slept() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| barrier.wait(|_| false));
            while barrier.sleeping.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(barrier.wait(|slept| slept), Some(true));
        });
    }

    #[test]
    fn a_panic_wakes_sleeping_threads() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait(|_| false));
            while barrier.sleeping.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            let panicking = scope.spawn(|| {
                let _guard = BreakOnPanic(&barrier);
                panic!("in a test");
            });
            assert!(panicking.join().is_err());
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
