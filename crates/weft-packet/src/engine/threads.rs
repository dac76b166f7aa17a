//! Partitions on threads: one barrier a window, mail between partitions at its end.
//!
//! A round of the loop is: agree on the next window, take the mail, process, hand over mail, say what comes next, wait
//! for the others. What is written in one round is read in the next while the other parity is written, so that one
//! barrier a window is enough.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::packet::Packet;
use super::partition::{Endpoint, Partition};

/// Rounds of spinning before a waiting thread gives its core away.
const SPINS: u32 = 2_000;

/// A barrier for windows of some microseconds: spins first, yields later.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
        }
    }

    fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation
                .store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
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
}

/// Processes all windows that begin before `end`, the last one up to `end`. Returns how many.
pub fn run<E: Endpoint, const TRACE: bool>(partitions: &mut [Partition<E>], end: u64) -> u64 {
    if let [only] = partitions {
        return alone::<E, TRACE>(only, end);
    }
    let n = partitions.len();
    let exchanges = [Exchange::new(n), Exchange::new(n)];
    for (partition, next) in partitions.iter().zip(&exchanges[0].next) {
        next.store(partition.network.next_window(), Ordering::Relaxed);
    }
    let barrier = Barrier::new(n);
    let work = |me: usize, partition: &mut Partition<E>| {
        let lookahead = partition.network.lookahead;
        let mut windows = 0;
        let mut parity = 0;
        let mut processed = None;
        loop {
            let before = &exchanges[parity];
            let window = before
                .next
                .iter()
                .map(|w| w.load(Ordering::Acquire))
                .min()
                .unwrap_or(u64::MAX);
            for from in 0..n {
                take(&before.mail[from * n + me], partition);
            }
            let start = window.saturating_mul(lookahead);
            // A window cut by `end` comes up again with what is left of it.
            if start >= end || processed == Some(window) {
                return windows;
            }
            partition.process::<TRACE>(window, end.min(start + lookahead));
            processed = Some(window);
            windows += 1;
            parity ^= 1;
            let after = &exchanges[parity];
            let mut next = partition.network.next_window();
            for (to, outbox) in partition.network.outboxes.iter_mut().enumerate() {
                if outbox.is_empty() {
                    continue;
                }
                let first = outbox
                    .iter()
                    .map(|(_, packet)| packet.time)
                    .min()
                    .unwrap_or(u64::MAX);
                next = next.min(first / lookahead);
                std::mem::swap(outbox, &mut lock(&after.mail[me * n + to]));
            }
            after.next[me].store(next, Ordering::Release);
            barrier.wait();
        }
    };
    std::thread::scope(|scope| {
        let mut handles = Vec::new();
        let mut mine = None;
        for (i, partition) in partitions.iter_mut().enumerate() {
            if i == 0 {
                mine = Some(partition);
            } else {
                let work = &work;
                handles.push(scope.spawn(move || work(i, partition)));
            }
        }
        mine.map_or(0, |partition| work(0, partition))
    })
}

/// One partition needs no barrier.
fn alone<E: Endpoint, const TRACE: bool>(partition: &mut Partition<E>, end: u64) -> u64 {
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

fn take<E>(mail: &Mail, partition: &mut Partition<E>) {
    let mut mail = lock(mail);
    for (ring, packet) in mail.drain(..) {
        let local = (ring - partition.network.first_ring) as usize;
        partition.network.receive(local, &packet);
    }
}
