//! Parts of tests on the kernel that several crates use.

pub mod guest;
pub mod mptcp_event;

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
