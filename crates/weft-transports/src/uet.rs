//! Parameters of the Ultra Ethernet transport.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_fabric::Fabric;
use weft_spec::{Rate, Size, SpecError, Time, Within, from_table, refuse, to_table};

use crate::fields::{self, bytes};
use crate::network::{HEADER, fastest_host, largest_queue, network_rtt, slowest_host_link};
use crate::ranges::{MAX_PACKET, check_size};
use crate::{Context, Kind, PacketSizes, Parameters, Resolved};

/// Maximum number of bytes between two acknowledgements.
const MAX_ACK_BYTES: u64 = 1 << 30;

/// Maximum number of entropy values.
const MAX_ENTROPIES: u32 = 1 << 16;

/// The part of the default timeout that does not depend on queues, and the number of full queues.
const RTO: Time = Time::from_us(15);
const RTO_QUEUES: u64 = 6;

/// The Ultra Ethernet transport.
pub struct Uet;

/// The fields of a transport of this kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UetSpec {
    /// Settings of the Ultra Ethernet transport.
    #[serde(default)]
    uet: Option<UetConfig>,
}

/// Settings of a transport of kind "uet". Defaults are those of the UEC's simulator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Uet")]
pub struct UetConfig {
    /// Congestion control: a window of the sender, credit of the receiver, or both.
    pub control: UetControl,
    /// Load balancing, which chooses the entropy value of each packet.
    pub load_balancing: UetLoadBalancing,
    /// Number of entropy values of a flow: a power of two up to 65536. With 1, a flow has one path.
    #[schemars(range(min = 1, max = 65_536))]
    pub entropies: u32,
    /// Size of a full packet with its header of 64 bytes.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mtu: u32,
    /// Size of the messages that a flow sends one after another. A packet carries data of one message only.
    /// By default, all data of a flow is one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_size: Option<Size>,
    /// Bytes on the wire after which a receiver acknowledges. The fourth full packet reaches the default.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub ack_bytes: u32,
    /// Initial window. The default is the maximum window, 1.5 bandwidth-delay products of `network_rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Size>,
    /// Longest unloaded round-trip time, which all constants derive from. The default is that of a full packet
    /// and a header on the longest path. Up to 16 paths per pair are searched, from the first 64 hosts to the last 64.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub network_rtt: Time,
    /// Queueing delay that the window aims at. The default is 0.75 `network_rtt`.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub target_delay: Time,
    /// Timeout. The default is 15 us and the time that six full queues of a switch take to empty.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub rto: Time,
    /// Factor by which the hosts of a switch can exceed its other links. Above 1, control "receiver" lowers the
    /// rate of pulls when packets are marked or trimmed inside the network. The default is that of the topology.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<f64>", range(min = 1))]
    pub oversubscription: f64,
    /// Whether four quirks of the UEC's simulator are reproduced. Reports of trimmed packets lower the base
    /// round-trip time, entropy value 0 is blamed for timeouts, and requests to send have no minimum distance if
    /// only credit limits a flow. A repeated request does not ask the receiver for credit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulator_quirks: bool,
    /// Rate of the hosts' links.
    #[serde(skip)]
    pub rate: Rate,
}

impl Default for UetConfig {
    fn default() -> Self {
        Self {
            control: UetControl::Sender,
            load_balancing: UetLoadBalancing::Mixed,
            entropies: 64,
            mtu: 4150,
            message_size: None,
            ack_bytes: 16_384,
            initial_window: None,
            network_rtt: Time(0),
            target_delay: Time(0),
            rto: Time(0),
            oversubscription: 0.0,
            simulator_quirks: false,
            rate: Rate(1),
        }
    }
}

/// Congestion control of the Ultra Ethernet transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UetControl {
    /// A window of the sender (NSCC).
    Sender,
    /// Credit of the receiver (RCCC).
    Receiver,
    /// A window and credit.
    Both,
}

impl UetControl {
    /// Returns true if a window limits flows.
    pub fn has_window(self) -> bool {
        self != Self::Receiver
    }

    /// Returns true if credit limits flows.
    pub fn has_credit(self) -> bool {
        self != Self::Sender
    }
}

/// Load balancing of the Ultra Ethernet transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UetLoadBalancing {
    /// All entropy values in turn, without feedback.
    Oblivious,
    /// All entropy values in turn; those whose packets were marked, trimmed or lost are skipped.
    Bitmap,
    /// Entropy values whose packets arrived without a mark are used again, from a ring of eight; otherwise
    /// random ones.
    Reps,
    /// Entropy values whose packets arrived without a mark are used again, without a limit; otherwise those of
    /// "bitmap".
    Mixed,
}

impl Kind for Uet {
    fn name(&self) -> &'static str {
        "uet"
    }

    fn about(&self) -> &'static str {
        "the Ultra Ethernet transport: sprayed packets, trimming, congestion control of sender or receiver"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        UetSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let spec: UetSpec = from_table(given)?;
        let mut uet = spec.uet.unwrap_or_default();
        uet.rate = fastest_host(context.fabric);
        uet.resolve(fields::given_in(given, "uet"), context.fabric)
            .within("uet")?;
        let params = to_table(&UetSpec { uet: Some(uet) });
        Ok(Resolved::new(params, uet))
    }
}

impl UetConfig {
    /// Fills in the defaults that follow from the network, and checks all fields.
    fn resolve(&mut self, is_given: impl Fn(&str) -> bool, fabric: &Fabric) -> Result<(), SpecError> {
        if !self.entropies.is_power_of_two() || self.entropies > MAX_ENTROPIES {
            let allowed = format!("a power of two up to {MAX_ENTROPIES}");
            return refuse("entropies", self.entropies, allowed);
        }
        check_size("mtu", self.mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
        check_size("ack_bytes", self.ack_bytes, 1, MAX_ACK_BYTES)?;
        self.message_size
            .map_or(Ok(()), |size| size.above_zero("message_size"))?;
        if let Some(window) = self.initial_window {
            check_size("initial_window", window.0, self.mtu.into(), u64::from(u32::MAX))?;
        }
        if !is_given("network_rtt") {
            self.network_rtt = network_rtt(fabric, self.mtu);
        }
        if !is_given("target_delay") {
            self.target_delay = Time(self.network_rtt.0 / 4 * 3);
        }
        if !is_given("rto") {
            self.rto = default_rto(fabric, self.mtu.into());
        }
        self.network_rtt.above_zero("network_rtt")?;
        self.target_delay.above_zero("target_delay")?;
        self.rto.above_zero("rto")?;
        if !is_given("oversubscription") {
            self.oversubscription = oversubscription(fabric);
        }
        if !(self.oversubscription >= 1.0 && self.oversubscription.is_finite()) {
            let given = self.oversubscription.to_string();
            return refuse("oversubscription", given, "a number from 1");
        }
        Ok(())
    }
}

impl Parameters for UetConfig {
    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.mtu - HEADER,
            header: HEADER,
            control: HEADER,
        }
    }

    fn message_size(&self) -> Option<Size> {
        self.message_size
    }

    fn uses_headers(&self) -> bool {
        true
    }
}

/// Returns the largest factor by which the rate of the hosts of a switch exceeds that of its other links, at least 1.
fn oversubscription(fabric: &Fabric) -> f64 {
    let mut rates = vec![[0_u64; 2]; fabric.nodes.len()];
    for link in &fabric.links {
        let is_host = fabric.nodes[link.to as usize].is_host;
        rates[link.from as usize][usize::from(is_host)] += link.rate.0;
    }
    let switches = rates.iter().filter(|[others, _]| *others > 0);
    let factors = switches.map(|&[others, hosts]| hosts as f64 / others as f64);
    factors.fold(1.0, f64::max)
}

/// Returns the timeout for the largest queue of a switch.
fn default_rto(fabric: &Fabric, mtu: u64) -> Time {
    let bits = largest_queue(fabric, mtu) * RTO_QUEUES * 8;
    let queues = u128::from(bits) * 1_000_000_000_000 / u128::from(slowest_host_link(fabric).0);
    Time(RTO.0.saturating_add(u64::try_from(queues).unwrap_or(u64::MAX)))
}
