//! Software prefetch. In a large network nearly everything that a packet touches has left the
//! nearer caches since the previous window. If it is prefetched, it arrives while other packets are
//! processed (measurements: `research/decisions/0002`).

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// Prefetches the cache lines that hold `target`.
#[inline(always)]
#[allow(
    unsafe_code,
    reason = "there is no stable safe prefetch; a third of the speed at 1,024 hosts hangs on it"
)]
pub fn prefetch<T>(target: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let target = std::ptr::from_ref(target).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: a prefetch is a hint. It reads nothing into the program and never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(target.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = target;
}
