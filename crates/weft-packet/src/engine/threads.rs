//! Partitions on threads: one barrier per window, and mail between partitions at its end.
//!
//! A round of the loop is: agree on the next window, take the mail, process, hand over mail, report the next
//! event, wait for the others. Mail written in one round is read in the next, while the mail boxes of the
//! other parity are written. So one barrier per window is enough.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::packet::Packet;
use super::partition::{Endpoint, Partition};

/// Rounds of spinning before a waiting thread gives its core away.
const SPINS: u32 = 2_000;

/// A barrier for windows of some microseconds: spins first, yields later.
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

    /// Waits for all threads; `false` if one of them panicked.
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

/// Breaks the barrier if its thread panics, so that the others stop and the scope passes the panic on.
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

/// What one round leaves for the next.
struct Exchange {
    /// `mail[from * partitions + to]`.
    mail: Vec<Mail>,
    /// Each partition's next window, the arrivals in its mail included.
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

    /// Puts the mail for partition `me` on its links.
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

    /// Hands over the mail of partition `me` and says what comes next.
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

/// Processes all windows that begin before `end`, the last one up to `end`. Returns how many.
///
/// There are as many threads as partitions, or as cores if those are fewer: a spinning thread without a core of its
/// own holds up the others.
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
            // A window cut by `end` comes up again with what is left of it.
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

/// One partition needs no barrier.
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
    // A poisoned lock means that another partition's thread panicked; the scope passes that panic on.
    mail.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
