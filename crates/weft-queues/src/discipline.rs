//! FIFOs whose departures are known when packets arrive: a limit, a threshold, and the rule of a kind.

use weft_spec::QueueSize;

use crate::buffer::Buffers;
use crate::contract::{Decision, FifoView, Rule, Site, exceeds, has_reached, min_packets};
use crate::drop_reason::DropReason;
use crate::fifo::Plain;
use crate::packet::PROTECTED;
use crate::red::RedState;
use crate::shared::SharedPort;

/// The rule of any kind.
#[derive(Clone)]
pub enum AnyRule {
    Plain(Plain),
    Red(Box<RedState>),
    Shared(SharedPort),
}

impl From<Plain> for AnyRule {
    fn from(rule: Plain) -> Self {
        Self::Plain(rule)
    }
}

impl From<RedState> for AnyRule {
    fn from(rule: RedState) -> Self {
        Self::Red(Box::new(rule))
    }
}

impl From<SharedPort> for AnyRule {
    fn from(rule: SharedPort) -> Self {
        Self::Shared(rule)
    }
}

/// A queue whose departures are known when packets arrive.
#[derive(Clone)]
pub struct FifoQueue {
    limit: QueueSize,
    mark: Option<QueueSize>,
    /// Decision about a packet that finds `mark`.
    at_mark: Decision,
    rule: AnyRule,
    /// The smallest number of packets in the port at which a packet might be marked or dropped, apart from a shared buffer; 0
    /// if every packet counts.
    decide_at: u32,
}

impl FifoQueue {
    /// Creates a queue with this rule.
    pub(crate) fn new(rule: impl Into<AnyRule>, site: &Site) -> Self {
        let rule = rule.into();
        let (at_mark, decides_from) = match &rule {
            AnyRule::Plain(rule) => (rule.at_mark(), rule.decides_from(site.max_packet)),
            AnyRule::Red(rule) => (rule.at_mark(), rule.decides_from(site.max_packet)),
            AnyRule::Shared(rule) => (rule.at_mark(), rule.decides_from(site.max_packet)),
        };
        // A packet that finds a threshold of n waiting packets finds n + 1 in the port.
        let reached = |size: QueueSize| min_packets(size, site.max_packet).saturating_add(1);
        let decide_at = match site.queue.mark {
            Some(QueueSize::Packets(0) | QueueSize::Bytes(0)) => 0,
            mark => mark
                .map_or(u32::MAX, reached)
                .min(reached(site.queue.limit))
                .min(decides_from),
        };
        Self {
            limit: site.queue.limit,
            mark: site.queue.mark,
            at_mark,
            rule,
            decide_at,
        }
    }

    /// Returns the smallest number of packets in the port at which a packet might be marked or dropped; 0 if every packet
    /// counts.
    pub fn decide_at(&self, buffers: &Buffers) -> u32 {
        match &self.rule {
            AnyRule::Shared(rule) => self.decide_at.min(rule.asks_from(buffers)),
            _ => self.decide_at,
        }
    }

    /// Returns true if the packets in the buffer of the port are counted.
    #[inline]
    pub fn is_counted(&self, buffers: &Buffers) -> bool {
        match &self.rule {
            AnyRule::Shared(rule) => rule.is_counted(buffers),
            _ => true,
        }
    }

    /// Begins to count the packets in the buffer of the port. Returns the ports that are to record their packets with
    /// [`rescheduled`](Self::rescheduled).
    pub fn count(&self, buffers: &mut Buffers) -> Vec<u32> {
        match &self.rule {
            AnyRule::Shared(rule) => rule.count(buffers),
            _ => Vec::new(),
        }
    }

    /// Decides about a packet of `size` bytes: [`Decision::Accept`], [`Mark`](Decision::Mark) or
    /// [`Drop`](Decision::Drop). `None` if the buffer of the port must be [counted](Self::count) first.
    #[inline]
    pub fn enqueue(
        &mut self,
        view: &FifoView<'_>,
        size: u16,
        flags: u16,
        buffers: &mut Buffers,
    ) -> Option<Decision> {
        if let AnyRule::Shared(rule) = &self.rule
            && rule.must_count(view, size, buffers)
        {
            return None;
        }
        let mut decision = Decision::Accept;
        if flags & PROTECTED == 0 {
            decision = match &mut self.rule {
                AnyRule::Plain(rule) => rule.enqueue(view, size, buffers),
                AnyRule::Red(rule) => rule.enqueue(view, size, buffers),
                AnyRule::Shared(rule) => rule.enqueue(view, size, buffers),
            };
            let waiting = |unit| view.waiting_in(unit);
            if decision == Decision::Accept && has_reached(self.mark, waiting) {
                decision = self.at_mark;
            }
            decision = decision.for_flags(flags);
            if exceeds(self.limit, waiting, size.into()) {
                decision = Decision::Drop(DropReason::Limit);
            }
        }
        if let AnyRule::Shared(rule) = &mut self.rule
            && decision.drop_reason().is_none()
        {
            rule.accepted(view, size, buffers);
        }
        Some(decision)
    }

    /// Records that the packets of the port have been lost or leave at other times.
    pub fn rescheduled(&mut self, view: &FifoView<'_>, buffers: &mut Buffers) {
        if let AnyRule::Shared(rule) = &mut self.rule {
            rule.rescheduled(view, buffers);
        }
    }
}
