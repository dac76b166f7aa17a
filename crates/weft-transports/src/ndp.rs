//! Parameters of NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017).

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use weft_fabric::Fabric;
use weft_spec::{QueueSize, Rate, Size, SpecError, Time, Within, from_table, to_table};

use crate::fields::{self, bytes};
use crate::network::{HEADER, fastest_host, loaded_rtt, longest_headers};
use crate::ranges::{MAX_PACKET, check_size};
use crate::{Context, Kind, PacketSizes, Parameters, Resolved};

/// Payload bytes of the paper's packets (section 6.2).
const PAYLOAD: u64 = 9_000;

const MAX_WINDOW: u32 = 1 << 16;
const MAX_PATHS: u32 = 1 << 16;

/// NDP.
pub struct Ndp;

/// The fields of a transport of this kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NdpSpec {
    /// Settings of NDP.
    #[serde(default)]
    ndp: Option<NdpConfig>,
}

/// Settings of a transport of kind "ndp". Defaults are those of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Ndp")]
pub struct NdpConfig {
    /// Number of packets that a flow sends at the rate of its host's link without being asked (section 6.2), and the most that it
    /// sends per round-trip time. Flows that are to fill several links, or faster ones than the paper's, need more.
    #[schemars(range(min = 1, max = MAX_WINDOW))]
    pub initial_window: u32,
    /// Size of a full packet with its header of 64 bytes. The default carries the 9000 bytes of the paper's packets
    /// (section 6.2).
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mtu: u32,
    /// Rate of pulls as a share of the rate at which the receiver's link carries full packets (section 3.2).
    #[schemars(range(min = 0.01, max = 10.0))]
    pub pull_rate: f64,
    /// Order in which flows of a host send pulls: in turn (section 3.2), or those of the first `round` first.
    pub pull_order: NdpPullOrder,
    /// Time after which a packet of whose fate nothing is known is sent again. The default is 2.5 times the longest
    /// round-trip time with full queues, and the time that a full queue of headers takes. The paper has a round-trip time
    /// of 400 us and a timeout of 1 ms (section 3.2.4).
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub rto: Time,
    /// Maximum number of paths that a flow uses; up to this number, a flow uses all paths (section 3.1.1). With 1, a
    /// flow has one path. The default is the number of paths of a fat-tree with 32 ports per switch.
    #[schemars(range(min = 1, max = MAX_PATHS))]
    pub paths: u32,
    /// Rate of the hosts' links.
    #[serde(skip)]
    pub rate: Rate,
}

/// Order of the flows in the pull queue of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum NdpPullOrder {
    /// Flows send pulls in turn (section 3.2).
    #[default]
    InTurn,
    /// Flows of the earliest round send pulls in turn, then those of later rounds, as with `prio` of csg-htsim. Rounds of different
    /// traffic are compared, so flows without rounds, which have number 0, go first.
    EarlierRounds,
}

impl Default for NdpConfig {
    fn default() -> Self {
        Self {
            initial_window: 30,
            mtu: 9_064,
            pull_rate: 1.0,
            pull_order: NdpPullOrder::default(),
            rto: Time(0),
            paths: 256,
            rate: Rate(1),
        }
    }
}

impl Kind for Ndp {
    fn name(&self) -> &'static str {
        "ndp"
    }

    fn about(&self) -> &'static str {
        "NDP: a first window at line rate, then packets that the receiver pulls; sprayed packets, trimming"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        NdpSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let spec: NdpSpec = from_table(given)?;
        let mut ndp = spec.ndp.unwrap_or_default();
        ndp.rate = fastest_host(context.fabric);
        ndp.resolve(fields::given_in(given, "ndp"), context.fabric)
            .within("ndp")?;
        let params = to_table(&NdpSpec { ndp: Some(ndp) });
        Ok(Resolved::new(params, ndp))
    }

    /// Returns as many bytes of headers as of data. Next to 8 packets of 9,000 bytes, that is 1,125 headers
    /// of 64 bytes (section 3.2.4).
    fn header_limit(&self, given: &Table, limit: QueueSize, size: Size) -> Option<QueueSize> {
        let mtu = given
            .get("ndp")
            .and_then(|ndp| ndp.get("mtu"))
            .and_then(Value::as_str);
        let mtu = mtu.and_then(|mtu| mtu.parse::<Size>().ok());
        let payload = mtu.map_or(PAYLOAD, |mtu| mtu.0.saturating_sub(HEADER.into()));
        Some(match limit {
            QueueSize::Packets(packets) => {
                let headers = u64::from(packets).saturating_mul(payload) / size.0;
                QueueSize::Packets(u32::try_from(headers).unwrap_or(u32::MAX).max(1))
            }
            QueueSize::Bytes(bytes) => QueueSize::Bytes(bytes.max(size.0)),
        })
    }
}

impl NdpConfig {
    /// Fills in the defaults that follow from the network, and checks all fields.
    fn resolve(&mut self, is_given: impl Fn(&str) -> bool, fabric: &Fabric) -> Result<(), SpecError> {
        check_size("mtu", self.mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
        if !is_given("rto") {
            let queues = loaded_rtt(fabric, self.mtu).0.saturating_mul(5) / 2;
            self.rto = Time(queues.saturating_add(longest_headers(fabric, self.mtu).0));
        }
        self.rto.above_zero("rto")
    }
}

impl Parameters for NdpConfig {
    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.mtu - HEADER,
            header: HEADER,
            control: HEADER,
        }
    }

    fn uses_headers(&self) -> bool {
        true
    }

    fn expects_trimming(&self) -> bool {
        true
    }
}
