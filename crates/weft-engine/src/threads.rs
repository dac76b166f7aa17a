//! Partitions on threads: one barrier per window, and an exchange of packets (mail) at its end.
//!
//! A run is a sequence of phases, each with all threads or with one.
//!
//! A round of the loop is: agree on the next window, deliver the mail, process, post mail, report
//! the next event, wait for the other threads. Mail posted in one round is delivered in the next,
//! while the mailboxes of the other parity are written. One barrier per window is therefore enough.

use std::cmp::Reverse;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::barrier::{Barrier, BreakOnPanic};
use crate::packet::Packet;
use crate::partition::{Endpoint, Partition};
use crate::pauses::PauseEvent;
use crate::telemetry::Report;
use crate::thread_choice::{Mode, ThreadChoice, time_waited};

/// Packets from one partition to another: (ring, packet).
type Mail = Mutex<Vec<(u32, Packet)>>;

/// Pause frames to the nodes of a partition.
type Frames = Mutex<Vec<PauseEvent>>;

/// The state that one round leaves for the next.
struct Exchange {
    /// `mail[from * partitions + to]`.
    mail: Vec<Mail>,
    /// `frames[to]`. Only networks with pauses use them.
    frames: Vec<Frames>,
    /// `reports[to]`: records of telemetry. Those of different packets, in any order.
    reports: Vec<Mutex<Vec<Report>>>,
    /// The next window of each partition, including the arrivals in the mail that it posted.
    next: Vec<AtomicU64>,
}

impl Exchange {
    fn new(partitions: usize) -> Self {
        Self {
            mail: (0..partitions * partitions).map(|_| Mail::default()).collect(),
            frames: (0..partitions).map(|_| Frames::default()).collect(),
            reports: (0..partitions).map(|_| Mutex::default()).collect(),
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
    fn deliver<E: Endpoint>(&self, me: usize, partition: &mut Partition<E>) {
        for from in 0..self.next.len() {
            let mut mail = lock(&self.mail[from * self.next.len() + me]);
            for (ring, packet) in &*mail {
                partition.receive(*ring, packet);
            }
            mail.clear();
        }
        if let Some(pauses) = &mut partition.network.pauses {
            pauses
                .events
                .extend(lock(&self.frames[me]).drain(..).map(Reverse));
        }
        if let Some(telemetry) = &mut partition.network.telemetry {
            for report in lock(&self.reports[me]).drain(..) {
                telemetry.receive(&report);
            }
        }
    }

    /// Posts the mail of partition `me` and reports its next window.
    fn post<E>(&self, me: usize, partition: &mut Partition<E>) {
        let network = &mut partition.network;
        let mut next = network.next_window();
        for (to, outbox) in network.links.outboxes.iter_mut().enumerate() {
            if let Some(first) = outbox.iter().map(|(_, packet)| packet.time).min() {
                next = next.min(first / network.links.lookahead);
                std::mem::swap(outbox, &mut lock(&self.mail[me * self.next.len() + to]));
            }
        }
        if let Some(pauses) = &mut network.pauses {
            for (to, outbox) in pauses.outboxes.iter_mut().enumerate() {
                if let Some(first) = outbox.iter().map(|frame| frame.time).min() {
                    next = next.min(first / network.links.lookahead);
                    lock(&self.frames[to]).append(outbox);
                }
            }
        }
        if let Some(telemetry) = &mut network.telemetry {
            for (to, outbox) in telemetry.outboxes.iter_mut().enumerate() {
                if !outbox.is_empty() {
                    lock(&self.reports[to]).append(outbox);
                }
            }
        }
        self.next[me].store(next, Ordering::Release);
    }
}

/// The windows that were processed so far.
#[derive(Clone, Copy, Default)]
struct Windows {
    /// Number of windows.
    count: u64,
    /// The last window.
    last: Option<u64>,
}

/// Number of windows after which a phase reads the clock, unless a thread had to sleep.
const CLOCK_INTERVAL: u64 = 64;

/// Processes all windows that begin before `end`, the last one up to `end`. Returns the number of
/// windows.
///
/// The number of threads is at most the number of partitions, and of cores: a spinning thread
/// without its own core delays the others. If the threads wait for each other too long, `choice`
/// lets one thread process all partitions.
pub fn run<E: Endpoint, const TRACE: bool>(
    partitions: &mut [Partition<E>],
    end: u64,
    choice: &mut ThreadChoice,
) -> u64 {
    if let [only] = partitions {
        return run_single::<E, TRACE>(only, end);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut windows = Windows::default();
    loop {
        let (mode, left, max_windows) = choice.phase();
        let (begin, events_before, windows_before) = (Instant::now(), events(partitions), windows.count);
        let last = windows.count.saturating_add(max_windows);
        let stops = |slept: bool, count: u64| {
            count >= last || ((slept || count.is_multiple_of(CLOCK_INTERVAL)) && begin.elapsed() >= left)
        };
        let threads = cores.min(partitions.len());
        let is_over = match mode {
            Mode::Parallel if threads > 1 => {
                run_parallel::<E, TRACE>(partitions, end, threads, &mut windows, stops)
            }
            _ => run_sequential::<E, TRACE>(partitions, end, &mut windows, stops),
        };
        choice.record(
            events(partitions) - events_before,
            windows.count - windows_before,
            begin.elapsed(),
            time_waited,
        );
        if is_over {
            return windows.count;
        }
    }
}

/// Returns the number of events that the partitions have processed.
fn events<E>(partitions: &[Partition<E>]) -> u64 {
    partitions.iter().map(|p| p.arrivals + p.timers_fired).sum()
}

/// Processes windows on this thread until `end`, or until `stops` returns true, as
/// [`run_parallel`] does.
fn run_sequential<E: Endpoint, const TRACE: bool>(
    partitions: &mut [Partition<E>],
    end: u64,
    windows: &mut Windows,
    stops: impl Fn(bool, u64) -> bool,
) -> bool {
    let lookahead = partitions[0].network.links.lookahead;
    let mut next = vec![0; partitions.len()];
    loop {
        for (next, partition) in next.iter_mut().zip(&*partitions) {
            *next = partition.network.next_window();
        }
        let window = next.iter().copied().min().unwrap_or(u64::MAX);
        let start = window.saturating_mul(lookahead);
        if start >= end || windows.last == Some(window) {
            return true;
        }
        for me in 0..partitions.len() {
            if next[me] == window {
                partitions[me].process::<TRACE>(window, end.min(start + lookahead));
                exchange(partitions, me);
            }
        }
        windows.last = Some(window);
        windows.count += 1;
        if stops(false, windows.count) {
            return false;
        }
    }
}

/// Delivers the mail that partition `from` has for the others. Its packets arrive after the window.
fn exchange<E: Endpoint>(partitions: &mut [Partition<E>], from: usize) {
    for to in 0..partitions.len() {
        let outbox = &mut partitions[from].network.links.outboxes[to];
        if !outbox.is_empty() {
            let mut mail = std::mem::take(outbox);
            for (ring, packet) in &mail {
                partitions[to].receive(*ring, packet);
            }
            mail.clear();
            partitions[from].network.links.outboxes[to] = mail;
        }
        if let Some(pauses) = &mut partitions[from].network.pauses {
            let frames = std::mem::take(&mut pauses.outboxes[to]);
            if let Some(pauses) = &mut partitions[to].network.pauses {
                pauses.events.extend(frames.into_iter().map(Reverse));
            }
        }
    }
    exchange_telemetry(partitions, from);
}

/// Delivers the records of telemetry that partition `from` has for the senders of the others.
pub fn exchange_telemetry<E>(partitions: &mut [Partition<E>], from: usize) {
    for to in 0..partitions.len() {
        let Some(telemetry) = &mut partitions[from].network.telemetry else {
            return;
        };
        let reports = std::mem::take(&mut telemetry.outboxes[to]);
        if let Some(telemetry) = &mut partitions[to].network.telemetry {
            for report in &reports {
                telemetry.receive(report);
            }
        }
    }
}

/// Processes windows on `threads` threads until `end`, or until `stops` returns true. It gets
/// whether a thread had to sleep, and the number of windows so far. Returns true at `end`.
fn run_parallel<E: Endpoint, const TRACE: bool>(
    partitions: &mut [Partition<E>],
    end: u64,
    threads: usize,
    windows: &mut Windows,
    stops: impl Fn(bool, u64) -> bool + Sync,
) -> bool {
    let n = partitions.len();
    let share = n.div_ceil(threads);
    let exchanges = [Exchange::new(n), Exchange::new(n)];
    for (partition, next) in partitions.iter().zip(&exchanges[0].next) {
        next.store(partition.network.next_window(), Ordering::Relaxed);
    }
    let barrier = Barrier::new(n.div_ceil(share));
    let before = *windows;
    let work = |first: usize, mine: &mut [Partition<E>]| {
        let _guard = BreakOnPanic(&barrier);
        let lookahead = mine[0].network.links.lookahead;
        let mut windows = before;
        let mut stopped = false;
        for round in 0.. {
            let (before, after) = (&exchanges[round % 2], &exchanges[(round + 1) % 2]);
            for (me, partition) in (first..).zip(mine.iter_mut()) {
                before.deliver(me, partition);
            }
            let window = before.next_window();
            let start = window.saturating_mul(lookahead);
            // A window that `end` cuts is processed later for the rest of its events.
            if start >= end || windows.last == Some(window) {
                return (windows, true);
            }
            if stopped {
                break;
            }
            for (me, partition) in (first..).zip(mine.iter_mut()) {
                partition.process::<TRACE>(window, end.min(start + lookahead));
                after.post(me, partition);
            }
            windows.last = Some(window);
            windows.count += 1;
            match barrier.wait(|slept| stops(slept, windows.count)) {
                Some(stops) => stopped = stops,
                None => break,
            }
        }
        (windows, false)
    };
    let (after, is_over) = std::thread::scope(|scope| {
        let work = &work;
        let mut shares = partitions.chunks_mut(share).enumerate();
        let own = shares.next();
        for (i, mine) in shares {
            scope.spawn(move || work(i * share, mine));
        }
        own.map_or((before, true), |(_, mine)| work(0, mine))
    });
    *windows = after;
    is_over
}

/// Processes the windows of a single partition, which needs no barrier.
fn run_single<E: Endpoint, const TRACE: bool>(partition: &mut Partition<E>, end: u64) -> u64 {
    let lookahead = partition.network.links.lookahead;
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

fn lock<T>(mail: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A poisoned lock means that the thread of another partition panicked; the scope propagates
    // that panic.
    mail.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
