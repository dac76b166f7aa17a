//! A buffer that the ports of a switch share, with dynamic thresholds: Choudhury and Hahne, "Dynamic
//! Queue Length Thresholds for Shared-Memory Packet Switches" (1998).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{QueueSize, Size, SpecError};

use crate::buffer::{BufferPort, Buffers};
use crate::contract::{Build, Decision, FifoView, QueueParameters, Rule, Site};
use crate::drop_reason::DropReason;

/// A FIFO per port in a buffer that all such ports of a switch share. A port accepts packets while
/// its queue is shorter than `alpha` times the free space. `limit` is an additional bound of each
/// port, and `mark` its marking threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Size of a switch's buffer, including the reserves. Packets being sent do not count.
    pub buffer: Size,
    /// Factor of the free space, above 0 and at most 1024. With n congested ports and no reserve, each
    /// port holds alpha B / (1 + alpha n) of a buffer of B bytes. 1.0 is a choice of Weft.
    #[serde(default = "default_alpha")]
    pub alpha: f64,
    /// Part of the buffer that only this port may use. The dynamic threshold applies to the rest.
    /// The default, none, is that of the paper.
    #[serde(default = "default_reserve")]
    pub reserve: Size,
    /// Whether a packet that finds `mark`, but is not ECN-capable, is dropped, as by switches that combine WRED
    /// with ECN. By default it is accepted, as by `ce_threshold` of Linux's `fq_codel`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_not_ect: bool,
}

const fn default_alpha() -> f64 {
    1.0
}

const fn default_reserve() -> Size {
    Size(0)
}

/// Maximum of `alpha`: chosen; far above it, a port may take all free space.
const MAX_ALPHA: f64 = 1024.0;

impl Shared {
    pub(crate) const ABOUT: &str =
        "a buffer per switch that its ports share, with dynamic thresholds (Choudhury and Hahne, 1998)";
}

impl QueueParameters for Shared {
    fn check(&self) -> Result<(), SpecError> {
        if self.buffer == Size(0) {
            return Err(SpecError::new(
                "buffer",
                "0B drops every packet",
                "a size above 0",
            ));
        }
        if !(self.alpha > 0.0 && self.alpha <= MAX_ALPHA) {
            let allowed = format!("above 0, up to {MAX_ALPHA}");
            return Err(SpecError::new("alpha", self.alpha.to_string(), allowed));
        }
        if self.reserve > self.buffer {
            let given = format!("{} is above the buffer of {}", self.reserve, self.buffer);
            return Err(SpecError::new(
                "reserve",
                given,
                format!("at most {}", self.buffer),
            ));
        }
        Ok(())
    }

    fn uses_buffer(&self) -> bool {
        true
    }

    fn limits(&self) -> Vec<(String, QueueSize)> {
        vec![("buffer".to_owned(), QueueSize::Bytes(self.buffer.0))]
    }
}

impl Build for Shared {
    type Queue = SharedPort;

    fn build(&self, site: &Site, buffers: &mut Buffers) -> SharedPort {
        SharedPort {
            port: buffers.add_port(
                [site.node, site.port],
                self.buffer.0,
                self.alpha,
                self.reserve.0,
                site.max_packet,
            ),
            max_packet: site.max_packet,
            alpha: self.alpha,
            drops_not_ect: self.drop_not_ect,
        }
    }
}

/// A FIFO in a shared buffer.
#[derive(Clone, Copy)]
pub struct SharedPort {
    port: BufferPort,
    /// Size of the largest packet in bytes.
    max_packet: u32,
    /// Factor of the free space.
    alpha: f64,
    /// Whether packets that are not ECN-capable are dropped at the marking threshold.
    drops_not_ect: bool,
}

impl SharedPort {
    /// Returns the smallest number of packets in the port at which it decides about a packet.
    pub fn asks_from(&self, buffers: &Buffers) -> u32 {
        match buffers.uncounted(self.port) {
            // A packet that finds no other one need not wait, and takes no space.
            None => 1,
            Some(bytes) => u32::try_from(bytes / u64::from(self.max_packet)).unwrap_or(u32::MAX),
        }
    }

    /// Returns true if the packets of the buffer are counted.
    #[inline]
    pub fn is_counted(&self, buffers: &Buffers) -> bool {
        buffers.uncounted(self.port).is_none()
    }

    /// Returns true if the packets of all ports must be counted before this port accepts a packet of `size` bytes.
    #[inline]
    pub fn must_count(&self, view: &FifoView<'_>, size: u16, buffers: &Buffers) -> bool {
        let most = u64::from(view.len) * u64::from(self.max_packet);
        buffers
            .uncounted(self.port)
            .is_some_and(|bytes| most > bytes && !view.is_idle() && view.bytes() + u64::from(size) > bytes)
    }

    /// See [`Buffers::count`].
    pub fn count(&self, buffers: &mut Buffers) -> Vec<u32> {
        buffers.count(self.port)
    }
}

impl Rule for SharedPort {
    /// This depends on the buffer: see [`asks_from`](Self::asks_from).
    fn decides_from(&self, _: u32) -> u32 {
        u32::MAX
    }

    fn at_mark(&self) -> Decision {
        Decision::at_mark(self.drops_not_ect)
    }

    #[inline]
    fn enqueue(&mut self, view: &FifoView<'_>, size: u16, buffers: &mut Buffers) -> Decision {
        if view.is_idle() || buffers.accepts(self.port, view.now, self.alpha, size) {
            Decision::Accept
        } else {
            Decision::Drop(DropReason::Buffer)
        }
    }

    #[inline]
    fn accepted(&mut self, view: &FifoView<'_>, size: u16, buffers: &mut Buffers) {
        if !view.is_idle() {
            buffers.add(self.port, view.busy_until, size);
        }
    }

    fn rescheduled(&mut self, view: &FifoView<'_>, buffers: &mut Buffers) {
        buffers.clear(self.port);
        for (start, size) in view.waiting_starts() {
            buffers.add(self.port, start, size);
        }
    }
}
