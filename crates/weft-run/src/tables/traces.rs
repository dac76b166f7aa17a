//! The table `traces`.

use arrow_array::RecordBatch;

use super::TableBuilder;
use crate::{Error, Sample};

impl TableBuilder<'_> {
    pub(super) fn traces(&self) -> Result<RecordBatch, Error> {
        // (link, length, marks, drops) of a queue's sample; (flow, subflow) and (cwnd, ssthresh, active, rate) of a flow's.
        let queue = |sample: &Sample| match *sample {
            Sample::Queue {
                link,
                length,
                marks,
                drops,
                ..
            } => Some((link, length, marks, drops)),
            _ => None,
        };
        let subflow = |sample: &Sample| match *sample {
            Sample::Subflow { flow, subflow, .. } => Some((flow, subflow)),
            Sample::Sender { flow, .. } => Some((flow, 0)),
            Sample::Queue { .. } | Sample::Buffer { .. } => None,
        };
        let state = |sample: &Sample| match *sample {
            Sample::Subflow {
                cwnd,
                ssthresh,
                active,
                ..
            } => (Some(cwnd), Some(ssthresh), Some(active), None),
            Sample::Sender { cwnd, rate, .. } => (cwnd, None, None, rate),
            Sample::Queue { .. } | Sample::Buffer { .. } => (None, None, None, None),
        };
        let buffer = |sample: &Sample| match *sample {
            Sample::Buffer { node, bytes, .. } => Some((self.context.nodes[node as usize].as_str(), bytes)),
            _ => None,
        };
        let time = |sample: &Sample| match sample {
            Sample::Queue { time, .. }
            | Sample::Buffer { time, .. }
            | Sample::Subflow { time, .. }
            | Sample::Sender { time, .. } => time.seconds(),
        };
        self.columns("traces", &self.outcome.samples)
            .number("time_s", time)
            .index_or_null("link", |sample| queue(sample).map(|(link, ..)| link))
            .index_or_null("length_packets", |sample| {
                queue(sample).map(|(_, length, ..)| length)
            })
            .count_or_null("marks", |sample| queue(sample).map(|(_, _, marks, _)| marks))
            .count_or_null("drops", |sample| queue(sample).map(|(.., drops)| drops))
            .index_or_null("flow", |sample| subflow(sample).map(|(flow, _)| flow))
            .index_or_null("subflow", |sample| subflow(sample).map(|(_, i)| i))
            .number_or_null("cwnd_packets", |sample| state(sample).0)
            .number_or_null("ssthresh_packets", |sample| state(sample).1)
            .flag_or_null("active", |sample| state(sample).2)
            .text_or_null("node", |sample| buffer(sample).map(|(node, _)| node))
            .count_or_null("buffer_bytes", |sample| buffer(sample).map(|(_, bytes)| bytes))
            .number_or_null("rate_bps", |sample| state(sample).3)
            .finish()
    }
}
