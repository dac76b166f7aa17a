//! Packets cost no allocation: a warm run of twice the time allocates no more.

#![allow(unsafe_code)] // there is no other way to write an allocator

mod experiment;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use experiment::{GBPS, cc, config, everywhere, fat_tree, flow, queue, transport};
use weft_packet::{PacketSimulation, SimulationConfig};
use weft_run::ActiveRun;
use weft_spec::{Rate, Time};
use weft_transports::Profile;

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; `pointer` came from `alloc`, so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// 16 hosts, each with 4 subflows to another in a permutation.
fn permutation() -> SimulationConfig {
    let fabric = fat_tree(
        4,
        Rate(10 * GBPS),
        Time::from_us(1),
        &everywhere(queue(100, Some(10))),
    );
    let flows = (0..16).map(|from| flow(from, (from + 5) % 16)).collect();
    config(
        fabric,
        vec![transport(cc("xmp", &[]), 4, Profile::linux())],
        flows,
    )
}

/// Allocations and packet-hops from one time to another.
fn during(simulation: &mut PacketSimulation, end: Time) -> (u64, u64) {
    let before = (
        ALLOCATIONS.load(Ordering::Relaxed),
        simulation.counters().packet_hops,
    );
    simulation.run_until(end);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before.0;
    (allocations, simulation.counters().packet_hops - before.1)
}

#[test]
fn packets_are_not_allocated() {
    let mut simulation = PacketSimulation::new(permutation()).unwrap();
    let (warming, _) = during(&mut simulation, Time::from_ms(8));
    assert!(warming > 100, "{warming}: buffers grow at first");
    let (allocations, hops) = during(&mut simulation, Time::from_ms(16));
    assert!(hops > 200_000, "{hops}");
    assert!(
        allocations < 50,
        "{allocations} allocations in {hops} packet-hops"
    );
}
