//! Conservation: sent = delivered + dropped + lost + in flight, per link and per subflow, on every run.

use crate::tables::TableContext;
use crate::{ClassRecord, Error, LinkRecord, Outcome, SubflowRecord};

/// Checks every link and every subflow.
///
/// # Errors
/// Returns [`Error::Internal`] with the counts of the first link or subflow that loses or creates
/// packets.
pub(crate) fn check(context: &TableContext, outcome: &Outcome) -> Result<(), Error> {
    check_links(context, outcome)?;
    check_flows(outcome)
}

fn check_links(context: &TableContext, outcome: &Outcome) -> Result<(), Error> {
    for (link, record) in (0..).zip(&outcome.links) {
        let LinkRecord {
            packets,
            delivered,
            losses,
            in_flight,
            unsent,
            ..
        } = record;
        if packets + unsent != delivered + losses + in_flight {
            let (from, to) = context.ends(link);
            return Err(Error::Internal(format!(
                "link {from}->{to} sent {packets} packets and has not sent {unsent}, but delivered {delivered}, \
                 lost {losses} and has {in_flight} in flight"
            )));
        }
    }
    check_classes(context, outcome)?;
    let sum = |count: fn(&LinkRecord) -> u64| outcome.links.iter().map(count).sum::<u64>();
    let trims: u64 = outcome.classes.iter().map(|class| class.trims).sum();
    let counters = &outcome.counters;
    let counts = [
        ("dropped", "packets", sum(|link| link.drops), counters.drops),
        ("lost", "packets", sum(|link| link.losses), counters.losses),
        ("trimmed", "packets", trims, counters.trims),
        ("had", "pauses", sum(|link| link.pauses), counters.pauses),
    ];
    if let Some((verb, noun, of_links, counted)) = counts.iter().find(|(_, _, one, other)| one != other) {
        return Err(Error::Internal(format!(
            "links {verb} {of_links} {noun}, but {counted} were counted"
        )));
    }
    check_drops(context, outcome)
}

/// Checks that the traffic classes of each link sum up to the counts of the link.
fn check_classes(context: &TableContext, outcome: &Outcome) -> Result<(), Error> {
    for classes in outcome.classes.chunk_by(|one, next| one.link == next.link) {
        let link = classes[0].link;
        let record = &outcome.links[link as usize];
        let sum = |count: fn(&ClassRecord) -> u64| classes.iter().map(count).sum::<u64>();
        let counts = [
            ("sent", sum(|class| class.packets), record.packets),
            ("dropped", sum(|class| class.drops), record.drops),
            ("marked", sum(|class| class.marks), record.marks),
        ];
        if let Some((verb, of_classes, of_link)) = counts.iter().find(|(_, one, other)| one != other) {
            let (from, to) = context.ends(link);
            return Err(Error::Internal(format!(
                "the traffic classes of {from}->{to} {verb} {of_classes} packets, but the link {verb} {of_link}"
            )));
        }
    }
    Ok(())
}

/// Checks that the reasons for drops of each link sum up to the counts of the link.
fn check_drops(context: &TableContext, outcome: &Outcome) -> Result<(), Error> {
    let mut explained = vec![[0, 0]; outcome.links.len()];
    for record in &outcome.drops {
        explained[record.link as usize][usize::from(record.is_loss)] += record.packets;
    }
    for (link, (record, explained)) in (0..).zip(outcome.links.iter().zip(explained)) {
        let counted = [record.drops, record.losses];
        if explained != counted {
            let (from, to) = context.ends(link);
            return Err(Error::Internal(format!(
                "link {from}->{to} dropped and lost {counted:?} packets, but has reasons for {explained:?}"
            )));
        }
    }
    Ok(())
}

/// Checks every subflow.
///
/// # Errors
/// Returns [`Error::Internal`] for the first subflow that loses or creates packets.
pub(crate) fn check_flows(outcome: &Outcome) -> Result<(), Error> {
    for record in &outcome.flows {
        let flow = record.flow;
        for (i, subflow) in record.subflows.iter().enumerate() {
            let SubflowRecord {
                packets_sent,
                packets_received,
                packets_trimmed,
                packets_dropped,
                packets_in_flight,
                ..
            } = subflow;
            if *packets_sent != packets_received + packets_trimmed + packets_dropped + packets_in_flight {
                return Err(Error::Internal(format!(
                    "subflow {i} of flow {flow} sent {packets_sent} packets, but {packets_received} were received, \
                     {packets_trimmed} trimmed, {packets_dropped} dropped and {packets_in_flight} are in flight"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weft_spec::{Rate, Time};

    use super::*;
    use crate::{Counters, DropRecord, FlowRecord, ProvidedTables};

    /// Returns an outcome with a link and a subflow whose packets are conserved.
    fn outcome() -> Outcome {
        let subflow = SubflowRecord {
            packets_sent: 10,
            packets_received: 6,
            packets_dropped: 3,
            packets_in_flight: 1,
            ..SubflowRecord::default()
        };
        let flow = FlowRecord {
            flow: 0,
            established: None,
            finish: None,
            acked: None,
            delivered_bytes: 0,
            measured_bytes: 0,
            reinjected: 0,
            suppressions: 0,
            subflows: vec![subflow],
        };
        let link = LinkRecord {
            packets: 6,
            delivered: 6,
            in_flight: 1,
            unsent: 1,
            drops: 3,
            ..LinkRecord::default()
        };
        Outcome {
            end: Time(1),
            flows: vec![flow],
            links: vec![link],
            drops: vec![drops(3)],
            counters: Counters {
                drops: 3,
                ..Counters::default()
            },
            ..Outcome::default()
        }
    }

    /// Returns the record of packets that the queue of the link dropped.
    fn drops(packets: u64) -> DropRecord {
        DropRecord {
            link: 0,
            reason: "limit",
            is_loss: false,
            subflow: Some((0, 0)),
            packets,
        }
    }

    fn problem(spoil: impl FnOnce(&mut Outcome)) -> String {
        let queue = weft_fabric::QueueConfig {
            limit: weft_spec::QueueSize::Packets(1),
            mark: None,
        };
        let context = TableContext {
            nodes: vec!["h0".into(), "s0".into()],
            hosts: vec![0],
            links: vec![weft_fabric::Link::new([0, 1], Rate(1), Time(0), queue)],
            transports: Vec::new(),
            fct_from: Vec::new(),
            traffic: Vec::new(),
            classes: Vec::new(),
            provided: ProvidedTables::All,
        };
        let mut outcome = outcome();
        spoil(&mut outcome);
        check(&context, &outcome)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn reasons_of_drops_sum_up_to_their_link() {
        let with = |drops: Vec<DropRecord>| problem(|outcome| outcome.drops = drops);
        assert_eq!(with(vec![drops(1), drops(2)]), "");
        let line = "link h0->s0 dropped and lost [3, 0] packets, but has reasons for [2, 0]";
        assert!(with(vec![drops(2)]).contains(line));
        let lost = DropRecord {
            is_loss: true,
            ..drops(3)
        };
        assert!(with(vec![lost]).contains("has reasons for [0, 3]"));
    }

    #[test]
    fn classes_sum_up_to_their_link() {
        let class = |class, packets, drops| ClassRecord {
            class,
            packets,
            drops,
            ..ClassRecord::default()
        };
        let with = |classes: Vec<ClassRecord>| problem(|outcome| outcome.classes = classes);
        assert_eq!(with(vec![class(0, 4, 1), class(1, 2, 2)]), "");
        let lost = with(vec![class(0, 4, 1), class(1, 1, 2)]);
        let line = "the traffic classes of h0->s0 sent 5 packets, but the link sent 6";
        assert!(lost.ends_with(line), "{lost}");
    }

    #[test]
    fn what_is_kept_passes_and_what_is_lost_is_reported() {
        assert_eq!(problem(|_| ()), "");
        let lost = problem(|outcome| outcome.links[0].delivered = 5);
        assert!(
            lost.ends_with(
                "link h0->s0 sent 6 packets and has not sent 1, but delivered 5, lost 0 and has 1 in flight"
            ),
            "{lost}"
        );
        let made = problem(|outcome| outcome.flows[0].subflows[0].packets_received = 7);
        assert!(
            made.contains(
                "subflow 0 of flow 0 sent 10 packets, but 7 were received, 0 trimmed, 3 dropped and 1"
            ),
            "{made}"
        );
        let dropped = problem(|outcome| outcome.links[0].drops = 2);
        assert!(
            dropped.contains("links dropped 2 packets, but 3 were counted"),
            "{dropped}"
        );
        let on_link = |outcome: &mut Outcome| {
            outcome.links[0].delivered = 4;
            outcome.links[0].losses = 2;
        };
        let lost = problem(on_link);
        assert!(
            lost.contains("links lost 2 packets, but 0 were counted"),
            "{lost}"
        );
        assert_eq!(
            problem(|outcome| {
                on_link(outcome);
                outcome.counters.losses = 2;
                outcome.drops.push(DropRecord {
                    is_loss: true,
                    ..drops(2)
                });
            }),
            ""
        );
    }
}
