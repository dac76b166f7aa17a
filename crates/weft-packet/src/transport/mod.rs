//! Transports: what the hosts at the ends of the network run.

mod tcp;

pub use tcp::{
    CONNECTION_BYTES, ConnectionSender, DATA_FIN, FlowProbes, Host, JOIN_ACK, NEXT_JOB, SUBFLOW_BYTES,
    Shared, TimerKind, path_monitor_bytes, send_queue_bytes, timer_key,
};
