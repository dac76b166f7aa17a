//! Long-lived flows, or flows of one size, between pairs of hosts.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, Size, SpecError, Time, Within, conflict, refuse};

use crate::matrix::self_flow_error;
use crate::{Flow, HostSet, MAX_FLOWS, Pairs, Pattern, PatternContext, random};

/// Flows between pairs of hosts, which are given as `pairs`, or as `from` and `to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Pairs of hosts. A list [[FROM, TO], …] has the pairs themselves. With "permutation", every
    /// host sends to one other host and receives from one, drawn from the seed. With "random", each
    /// flow goes to a host drawn for it. { tor, pod } are staggered probabilities by distance.
    pub pairs: Option<Pairs>,
    /// Senders. A single sender sends to every receiver. If there are as many senders as receivers,
    /// they form pairs in order.
    pub from: Option<HostSet>,
    /// Receivers. A single receiver receives from every sender.
    pub to: Option<HostSet>,
    /// Flows per pair.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// Application bytes of each flow; by default a flow sends until `stop`.
    pub size: Option<Size>,
    /// Time at which the flows open.
    #[serde(default)]
    pub start: Time,
    /// Time at which the applications stop producing data; by default the end of the experiment.
    /// Data that has not been sent by then is not sent.
    pub stop: Option<Time>,
    /// Maximum random delay of each flow after `start`.
    #[serde(default)]
    pub jitter: Time,
    /// Rate at which each flow's application writes, for example from a disk; by default all data
    /// is available at once. Data that the network cannot accept yet waits.
    pub rate: Option<Rate>,
}

impl Pattern for Bulk {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        self.check_times()?;
        let mut rng = context.rng();
        let matrix = match &self.pairs {
            None => None,
            Some(_) if self.from.is_some() || self.to.is_some() => {
                let field = if self.from.is_some() { "from" } else { "to" };
                return conflict(field, "given together with pairs", "remove one of the two");
            }
            Some(pairs) => Some(pairs.resolve(None, None, context, &mut rng)?),
        };
        let matched = match &matrix {
            None => self.matched(context)?,
            Some(_) => Vec::new(),
        };
        let pairs = matrix
            .as_ref()
            .map_or(matched.len(), |matrix| matrix.senders.len());
        let total = pairs as u64 * u64::from(self.count);
        if !(1..=MAX_FLOWS).contains(&total) {
            let given = format!("{} for {} pairs makes {total} flows", self.count, pairs);
            return refuse("count", given, format!("1 to {MAX_FLOWS} flows in all"));
        }
        let mut flows = Vec::with_capacity(total as usize);
        let mut ends = |pair: usize| match &matrix {
            None => matched[pair],
            Some(matrix) => (matrix.senders[pair], matrix.receiver(pair, &mut rng)),
        };
        for pair in 0..pairs {
            for _ in 0..self.count {
                let (from, to) = ends(pair);
                flows.push(Flow {
                    stop: self.stop,
                    rate: self.rate,
                    ..context.flow(from, to, self.size, self.start)
                });
            }
        }
        for flow in &mut flows {
            flow.start.0 += random::uniform_up_to(self.jitter, &mut rng).0;
        }
        Ok(flows)
    }

    fn draws_openings(&self, end: Time) -> bool {
        random::jitter_decides(self.start, self.jitter, end)
    }
}

impl Bulk {
    fn check_times(&self) -> Result<(), SpecError> {
        let Some(latest) = self.start.0.checked_add(self.jitter.0).map(Time) else {
            return conflict(
                "jitter",
                "the sum of start and jitter is too large",
                "use smaller times",
            );
        };
        self.size.map_or(Ok(()), |size| size.above_zero("size"))?;
        match (self.stop, self.size) {
            (Some(_), Some(_)) => conflict("stop", "given together with size", "remove one of the two"),
            (Some(stop), None) if stop <= latest => {
                let given = format!("{stop} is not after start and jitter");
                refuse("stop", given, format!("a time above {latest}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the pairs that `from` and `to` define.
    fn matched(&self, context: &PatternContext<'_>) -> Result<Vec<(u32, u32)>, SpecError> {
        let side = |set: &Option<HostSet>, field: &str| match set {
            Some(set) => set.resolve_all(context).within(field),
            None => conflict(field, "required field is missing", "set from and to, or pairs"),
        };
        let (from, to) = (side(&self.from, "from")?, side(&self.to, "to")?);
        let pairs: Vec<(u32, u32)> = match (from.as_slice(), to.as_slice()) {
            (_, [to]) => from.iter().map(|&from| (from, *to)).collect(),
            ([from], _) => to.iter().map(|&to| (*from, to)).collect(),
            _ if from.len() == to.len() => from.into_iter().zip(to).collect(),
            _ => {
                let given = format!("{} receivers for {} senders", to.len(), from.len());
                let remedy = "use one receiver, one sender, or as many of both";
                return conflict("to", given, remedy);
            }
        };
        if let Some(&(host, _)) = pairs.iter().find(|(from, to)| from == to) {
            return Err(self_flow_error(host, context).within("to"));
        }
        let mut seen = HashSet::with_capacity(pairs.len());
        if let Some(&(from, to)) = pairs.iter().find(|&&pair| !seen.insert(pair)) {
            let [from, to] = [from, to].map(|host| context.hosts[host as usize]);
            let given = format!("the pair of {from:?} and {to:?} is given twice");
            return conflict("from", given, "use count for several flows of a pair");
        }
        Ok(pairs)
    }
}
