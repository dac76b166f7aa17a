//! Parts of tests on the kernel that several crates use.

pub mod guest;
pub mod mptcp_event;

/// Environment variable that says whether tests on this machine's kernel may be skipped. With
/// "required" they fail instead; `.ci/run` sets it, unless the caller sets it to a reason.
pub const KERNEL_TESTS: &str = "WEFT_KERNEL_TESTS";

/// Prints that a test on this machine's kernel is skipped, with what is missing.
///
/// # Panics
/// Panics if [`KERNEL_TESTS`] is "required".
pub fn skip(test: &str, missing: &str) {
    let given = std::env::var(KERNEL_TESTS).unwrap_or_default();
    assert!(
        given != "required",
        "{test}: cannot run: {missing}; set {KERNEL_TESTS} to the reason why it may be skipped"
    );
    let reason = if given.is_empty() {
        String::new()
    } else {
        format!(" ({given})")
    };
    eprintln!("{test}: skipped, {missing}{reason}");
}

macro_rules! objects {
    ($($(#[$about:meta])* $object:ident, $path:ident = $name:literal;)+) => {
        $(
            $(#[$about])*
            pub static $object: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests_", $name, ".o"));
            #[doc = concat!("Path of [`", stringify!($object), "`].")]
            pub const $path: &str = concat!(env!("OUT_DIR"), "/tests_", $name, ".o");
        )+
    };
}

objects! {
    /// Drops some packets and sends others through a device without a queue, so that they overtake.
    DISORDER, DISORDER_PATH = "disorder";
    /// Drops SYNs, or clears the ECN flags of joins.
    JOINS, JOINS_PATH = "joins";
    /// Marks one of `one_in` ECN-capable packets.
    MARK, MARK_PATH = "mark";
    /// Marks all ECN-capable packets.
    MARK_ALL, MARK_ALL_PATH = "mark_all";
    /// Marks packets that find a number of bytes in the queue of the device.
    MARK_BYTES, MARK_BYTES_PATH = "mark_bytes";
    /// Marks packets that find ten others in the queue of the device.
    MARK_QUEUE, MARK_QUEUE_PATH = "mark_queue";
}
