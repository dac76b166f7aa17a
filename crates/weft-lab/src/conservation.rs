//! Conservation: sent = delivered + dropped + in flight, per link and per subflow, on every run.

use weft_packet::{LinkRecord, Outcome, SubflowRecord};

use crate::Error;
use crate::tables::Names;

/// Checks every link and every subflow.
///
/// # Errors
/// [`Error::Internal`] with the first link or subflow that loses or makes packets, and its counts.
pub(crate) fn check(names: &Names, outcome: &Outcome) -> Result<(), Error> {
    for (link, record) in (0..).zip(&outcome.links) {
        let LinkRecord {
            packets,
            delivered,
            in_flight,
            ..
        } = record;
        if *packets != delivered + in_flight {
            let (from, to) = names.ends(link);
            return Err(Error::Internal(format!(
                "link {from}->{to} accepted {packets} packets, but delivered {delivered} and has {in_flight} in flight"
            )));
        }
    }
    for (flow, record) in outcome.flows.iter().enumerate() {
        for (i, subflow) in record.subflows.iter().enumerate() {
            let SubflowRecord {
                packets_sent,
                packets_received,
                packets_dropped,
                packets_in_flight,
                ..
            } = subflow;
            if *packets_sent != packets_received + packets_dropped + packets_in_flight {
                return Err(Error::Internal(format!(
                    "subflow {i} of flow {flow} sent {packets_sent} packets, but {packets_received} were received, \
                     {packets_dropped} dropped and {packets_in_flight} are in flight"
                )));
            }
        }
    }
    let dropped: u64 = outcome.links.iter().map(|record| record.drops).sum();
    if dropped != outcome.counters.drops {
        let counted = outcome.counters.drops;
        return Err(Error::Internal(format!(
            "links dropped {dropped} packets, but {counted} were counted"
        )));
    }
    Ok(())
}
