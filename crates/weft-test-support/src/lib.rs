//! Parts of tests on the kernel that several crates use.

pub mod guest;
pub mod mptcp_event;

use std::io::Write;

/// Environment variable that says whether tests on this machine's kernel may be skipped. With
/// "required" they fail instead; `.ci/run` sets it, unless the caller sets it to a reason.
pub const KERNEL_TESTS: &str = "WEFT_KERNEL_TESTS";

/// Prints that a test on this machine's kernel is skipped, with what is missing: root, MPTCP, BTF,
/// a mount or a program. For a feature of the kernel see [`skip_without_feature`].
///
/// # Panics
/// Panics if [`KERNEL_TESTS`] is "required".
pub fn skip(test: &str, missing: &str) {
    skip_given(&std::env::var(KERNEL_TESTS).unwrap_or_default(), test, missing);
}

fn skip_given(given: &str, test: &str, missing: &str) {
    assert!(
        given != "required",
        "{test}: cannot run: {missing}; set {KERNEL_TESTS} to the reason why it may be skipped"
    );
    let reason = if given.is_empty() {
        String::new()
    } else {
        format!(" ({given})")
    };
    print_skip(test, &format!("{missing}{reason}"));
}

/// Prints that a test is skipped because of a feature that not all kernels have, such as a module.
///
/// Tests in emulation or in another system call this for what they need of this machine. The test is
/// skipped even if [`KERNEL_TESTS`] is "required".
pub fn skip_without_feature(test: &str, feature: &str) {
    print_skip(test, feature);
}

/// Writes past the capture of standard error, which would hide the line of a test that passes.
fn print_skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{test}: skipped, {why}");
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
    /// Replaces the option of Accurate ECN by no operations, and counts these options.
    CLEAR_ACCECN, CLEAR_ACCECN_PATH = "clear_accecn";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "name: cannot run: it needs root; set WEFT_KERNEL_TESTS")]
    fn a_required_test_fails_if_the_machine_lacks_something() {
        skip_given("required", "name", "it needs root");
    }

    #[test]
    fn others_are_skipped() {
        skip_given("", "name", "it needs root");
        skip_given("no root here", "name", "it needs root");
    }
}
