//! Partitions on threads: one barrier per window, and an exchange of packets (mail) at its end.
//!
//! A round of the loop is: agree on the next window, deliver the mail, process, post mail, report
//! the next event, wait for the other threads. Mail posted in one round is delivered in the next,
//! while the mailboxes of the other parity are written. One barrier per window is therefore enough.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::packet::Packet;
use crate::partition::{Endpoint, Partition};

/// Number of spins before a waiting thread yields its core.
const SPINS: u32 = 2_000;

/// A barrier for windows of a few microseconds: spins first, then yields.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for all threads. Returns false if one of them panicked.
    fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation
                .store(generation.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

/// Breaks the barrier if its thread panics, so that the other threads stop and the scope propagates
/// the panic.
struct BreakOnPanic<'a>(&'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// Packets from one partition to another: (ring, packet).
type Mail = Mutex<Vec<(u32, Packet)>>;

/// The state that one round leaves for the next.
struct Exchange {
    /// `mail[from * partitions + to]`.
    mail: Vec<Mail>,
    /// The next window of each partition, including the arrivals in the mail that it posted.
    next: Vec<AtomicU64>,
}

impl Exchange {
    fn new(partitions: usize) -> Self {
        Self {
            mail: (0..partitions * partitions).map(|_| Mail::default()).collect(),
            next: (0..partitions).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The next window of all partitions.
    fn next_window(&self) -> u64 {
        self.next
            .iter()
            .map(|w| w.load(Ordering::Acquire))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Appends the mail for partition `me` to its rings.
    fn deliver<E>(&self, me: usize, partition: &mut Partition<E>) {
        for from in 0..self.next.len() {
            for (ring, packet) in lock(&self.mail[from * self.next.len() + me]).drain(..) {
                let local = (ring - partition.network.first_ring) as usize;
                partition
                    .network
                    .receive(local, &packet, packet.time, packet.route, packet.flags);
            }
        }
    }

    /// Posts the mail of partition `me` and reports its next window.
    fn post<E>(&self, me: usize, partition: &mut Partition<E>) {
        let network = &mut partition.network;
        let mut next = network.next_window();
        for (to, outbox) in network.outboxes.iter_mut().enumerate() {
            if let Some(first) = outbox.iter().map(|(_, packet)| packet.time).min() {
                next = next.min(first / network.lookahead);
                std::mem::swap(outbox, &mut lock(&self.mail[me * self.next.len() + to]));
            }
        }
        self.next[me].store(next, Ordering::Release);
    }
}

/// Processes all windows that begin before `end`, the last one up to `end`. Returns the number of
/// windows.
///
/// The number of threads is the number of partitions, or of cores if there are fewer: a spinning
/// thread without its own core delays the others.
pub fn run<E: Endpoint, const TRACE: bool>(partitions: &mut [Partition<E>], end: u64) -> u64 {
    if let [only] = partitions {
        return run_single::<E, TRACE>(only, end);
    }
    let n = partitions.len();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = n.div_ceil(cores.min(n));
    let exchanges = [Exchange::new(n), Exchange::new(n)];
    for (partition, next) in partitions.iter().zip(&exchanges[0].next) {
        next.store(partition.network.next_window(), Ordering::Relaxed);
    }
    let barrier = Barrier::new(n.div_ceil(share));
    let work = |first: usize, mine: &mut [Partition<E>]| {
        let _guard = BreakOnPanic(&barrier);
        let lookahead = mine[0].network.lookahead;
        let mut windows = 0;
        let mut processed = None;
        for round in 0.. {
            let (before, after) = (&exchanges[round % 2], &exchanges[(round + 1) % 2]);
            for (me, partition) in (first..).zip(mine.iter_mut()) {
                before.deliver(me, partition);
            }
            let window = before.next_window();
            let start = window.saturating_mul(lookahead);
            // A window that `end` cuts is processed later for the rest of its events.
            if start >= end || processed == Some(window) {
                break;
            }
            for (me, partition) in (first..).zip(mine.iter_mut()) {
                partition.process::<TRACE>(window, end.min(start + lookahead));
                after.post(me, partition);
            }
            processed = Some(window);
            windows += 1;
            if !barrier.wait() {
                break;
            }
        }
        windows
    };
    std::thread::scope(|scope| {
        let work = &work;
        let mut shares = partitions.chunks_mut(share).enumerate();
        let own = shares.next();
        for (i, mine) in shares {
            scope.spawn(move || work(i * share, mine));
        }
        own.map_or(0, |(_, mine)| work(0, mine))
    })
}

/// Processes the windows of a single partition, which needs no barrier.
fn run_single<E: Endpoint, const TRACE: bool>(partition: &mut Partition<E>, end: u64) -> u64 {
    let lookahead = partition.network.lookahead;
    let mut windows = 0;
    let mut processed = None;
    loop {
        let window = partition.network.next_window();
        let start = window.saturating_mul(lookahead);
        if start >= end || processed == Some(window) {
            return windows;
        }
        partition.process::<TRACE>(window, end.min(start + lookahead));
        processed = Some(window);
        windows += 1;
    }
}

fn lock(mail: &Mail) -> std::sync::MutexGuard<'_, Vec<(u32, Packet)>> {
    // A poisoned lock means that the thread of another partition panicked; the scope propagates
    // that panic.
    mail.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
