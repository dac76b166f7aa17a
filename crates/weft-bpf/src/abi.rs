//! The Rust mirror of `weft.h` of the BPF programs, and of the rows of `amp_fg.h`. A test of
//! `weft-kernel` compares every field with the BTF of the compiled programs. The headers document
//! the fields.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Maximum number of coupled subflows: `WEFT_SUBFLOWS`.
pub const SUBFLOWS: usize = 8;
/// One packet in fixed point: `WEFT_PACKET`.
pub const PACKET: f64 = 16_777_216.0;

/// The layout of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredStruct {
    /// Name in C.
    pub name: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Fields in order of their offsets.
    pub fields: Vec<Field>,
}

/// The layout of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in C.
    pub name: &'static str,
    /// Offset from the start of the struct, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

macro_rules! mirrors {
    ($($(#[$about:meta])* $c:literal => $name:ident { $($field:ident: $kind:ty,)+ })+) => {
        $(
            $(#[$about])*
            #[repr(C)]
            #[allow(missing_docs, reason = "weft.h says it beside each field")]
            #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout)]
            pub struct $name { $(pub $field: $kind,)+ }
        )+

        /// Returns the layout of these structs, for a comparison with the BTF of the header.
        pub fn mirrored() -> Vec<MirroredStruct> {
            vec![$(MirroredStruct {
                name: $c,
                size: size_of::<$name>(),
                fields: vec![$(Field {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field),
                    size: size_of::<$kind>(),
                },)+],
            },)+]
        }
    };
}

mirrors! {
    /// `struct weft_parameters`.
    "weft_parameters" => Parameters {
        cwnd_min: u64,
        bulk: u64,
        beta: u32,
        alpha0: u32,
        g: u32,
        gamma: u32,
        tau: u32,
        ssr: u32,
        per_ack: u32,
        dctcp_cut: u32,
        neighbours: u32,
        kappa: u32,
        min_inactive: u32,
        max_events_per_user: u32,
        total_alpha: u32,
        drain: u32,
    }
    /// `struct weft_window`.
    "weft_window" => Window {
        cwnd: u64,
        ssthresh: u64,
        state: [u64; 4],
        srtt: u32,
        active: u8,
        established: u8,
        in_recovery: u8,
        reserved: u8,
    }
    /// `struct weft_subflow`.
    "weft_subflow" => Subflow {
        local: [u8; 16],
        remote: [u8; 16],
        local_port: u16,
        remote_port: u16,
        family: u16,
        reserved: u16,
        mss: u32,
        owner: u32,
        acked: u64,
        marked: u64,
        marks: u64,
        rounds: u64,
        fast_retransmits: u64,
        timeouts: u64,
        timed_out_at: u64,
        last_ack: u64,
        last_sent: u64,
        prior_cwnd: u64,
        prior_ssthresh: u64,
        prior_state: [u64; 4],
        sent: u64,
        received: u64,
    }
    /// `struct weft_connection`.
    "weft_connection" => Connection {
        w: [Window; SUBFLOWS],
        subflow: [Subflow; SUBFLOWS],
        increase: u64,
        initial: u32,
        suppressed: u32,
        n_round: u32,
        idle: u32,
        open: u32,
        token: u32,
        algorithm: u32,
        bulk: u32,
        suppressions: u64,
        releases: u64,
        changed: u64,
        opened: u64,
        netns: u64,
        cut: u64,
        all_acked_at: u64,
        deactivated: u64,
        left_slow_start: u32,
        moving: u32,
        unacked_since_cut: u32,
        rounds_since_trial: u32,
        newest_ack: u64,
        tried: u32,
        last_tried: u32,
        rival: u32,
        trial_rounds: u32,
        trial_rounds_of_first: u32,
        trial_acked: u32,
        trial_marked: u32,
        packets_since_trial: u32,
        own_marks: u64,
        marked_rounds: u64,
        crowded: u32,
        reserved: u32,
    }
    /// `struct amp_fg_row`.
    "amp_fg_row" => Row {
        bits: [u64; 32],
        shift: u32,
        reserved: u32,
    }
    /// `struct amp_fg_rows`.
    "amp_fg_rows" => Rows {
        row: [Row; 2],
        now: u32,
        packets: u32,
        changes: u32,
        last: u32,
    }
    /// `struct weft_event`.
    "weft_event" => Event {
        time: u64,
        kind: u32,
        token: u32,
        algorithm: u32,
        slot: u32,
        active: u32,
        family: u16,
        local_port: u16,
        remote_port: u16,
        reserved: u16,
        reserved2: u32,
        local: [u8; 16],
        remote: [u8; 16],
    }
    /// `struct weft_rule`.
    "weft_rule" => Rule {
        cgroup: u64,
        network: [u32; 4],
        bits: u32,
        destination: u32,
        first_port: u32,
        last_port: u32,
        algorithm: [u8; 16],
    }
    /// `struct weft_lost`.
    "weft_lost" => Lost {
        key: u64,
        slot: u32,
        owner: u32,
    }
    /// `struct weft_totals`.
    "weft_totals" => Totals {
        connections: u64,
        subflows: u64,
        without_ecn: u64,
        without_slot: u64,
        lost_events: u64,
    }
}
