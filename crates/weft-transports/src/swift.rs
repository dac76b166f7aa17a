//! Parameters of Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020).

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_fabric::Fabric;
use weft_spec::{PathPolicySpec, Size, SpecError, Time, Within, conflict, from_table, to_table};

use crate::constant_rate::one_path_policy;
use crate::fields::{self, bytes};
use crate::network::{HEADER, network_rtt};
use crate::ranges::{MAX_PACKET, check_size};
use crate::{Context, Kind, MAX_SUBFLOWS, PacketSizes, Parameters, Resolved, TimestampErrors};

/// Shortest default of the base target, that of htsim.
const BASE_TARGET: Time = Time::from_us(20);
/// Parts of the base target in the defaults of htsim: those of a hop, and of the largest term of flows.
const HOP_SHARE: f64 = 6.55;
const FLOW_RANGE: u64 = 5;

/// Limits of windows in packets.
const MIN_WINDOW: f64 = 1e-4;
const MAX_WINDOW: f64 = 65_536.0;

/// Swift.
pub struct Swift;

/// The fields of a transport of this kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwiftSpec {
    /// Subflows per flow, uncoupled, each with a path of its own.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1, max = MAX_SUBFLOWS))]
    subflows: u32,
    /// Path policy, which chooses one of the paths between two hosts for each subflow.
    #[serde(default)]
    paths: Option<PathPolicySpec>,
    /// Settings of Swift.
    #[serde(default)]
    swift: Option<SwiftConfig>,
}

/// Settings of a transport of kind "swift". Windows are in packets. Defaults without another source are those of htsim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Swift")]
pub struct SwiftConfig {
    /// Size of a full packet with its header of 64 bytes. The default carries 4096 bytes.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mtu: u32,
    /// First window.
    #[schemars(range(min = MIN_WINDOW, max = MAX_WINDOW))]
    pub initial_window: f64,
    /// Smallest window. The default is a choice of Weft; htsim has 10 bytes.
    #[schemars(range(min = MIN_WINDOW, max = MAX_WINDOW))]
    pub min_window: f64,
    /// Largest window.
    #[schemars(range(min = 1.0, max = MAX_WINDOW))]
    pub max_window: f64,
    /// Target of the fabric's delay without the terms of hops and flows. The default is 20 us, or the longest round-trip
    /// time of the network without queues if that is longer.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub base_target: Time,
    /// Target per link of the forward path (topology scaling). The default is `base_target` / 6.55.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_target: Option<Time>,
    /// Largest term of flow scaling, at windows up to `flow_window_min`. The default is 5 times `base_target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_range: Option<Time>,
    /// Window up to which the term of flow scaling is `flow_range`.
    #[schemars(range(min = MIN_WINDOW, max = MAX_WINDOW))]
    pub flow_window_min: f64,
    /// Window from which the term of flow scaling is 0, above `flow_window_min`.
    #[schemars(range(min = MIN_WINDOW, max = MAX_WINDOW))]
    pub flow_window_max: f64,
    /// Increase of the window per round-trip time.
    #[schemars(range(max = 1000.0), extend("exclusiveMinimum" = 0))]
    pub increase: f64,
    /// Factor beta of the excess of the delay in a decrease.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub beta: f64,
    /// Largest decrease as a share of the window. A loss causes it.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub max_decrease: f64,
    /// Target of the delay at the receiving host. The default is `base_target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_target: Option<Time>,
    /// Weight of a sample in the average of the receiving host's delay. The default is a choice of Weft.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub endpoint_gain: f64,
    /// Time that a host needs to process a packet with data. Those of all flows of kind "swift" wait in one FIFO.
    pub host_time: Time,
    /// Shortest timeout.
    pub min_rto: Time,
    /// Timeout before the first round-trip time is measured.
    pub initial_rto: Time,
    /// Number of timeouts in a row after which the window is `min_window`.
    #[schemars(range(min = 1))]
    pub reset_after: u32,
    /// Unit to which timestamps are rounded down, that of a NIC's clock.
    #[serde(skip_serializing_if = "fields::is_unset")]
    pub timestamp_step: Time,
    /// Standard deviation of the random error of each timestamp, which is normally distributed.
    #[serde(skip_serializing_if = "fields::is_unset")]
    pub timestamp_noise: Time,
    /// Largest rate error of a NIC's clock in parts per million. Each host draws its own.
    #[serde(skip_serializing_if = "fields::is_unset")]
    #[schemars(range(max = 1000))]
    pub clock_error: u32,
    /// Number of subflows of a flow.
    #[serde(skip)]
    pub subflows: u32,
}

impl Default for SwiftConfig {
    fn default() -> Self {
        Self {
            mtu: 4_096 + HEADER,
            initial_window: 10.0,
            min_window: 0.01,
            max_window: 1_000.0,
            base_target: Time(0),
            hop_target: None,
            flow_range: None,
            flow_window_min: 0.1,
            flow_window_max: 100.0,
            increase: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            endpoint_target: None,
            endpoint_gain: 0.125,
            host_time: Time(0),
            min_rto: Time::from_us(100),
            initial_rto: Time::from_ms(1),
            reset_after: 5,
            timestamp_step: Time(0),
            timestamp_noise: Time(0),
            clock_error: 0,
            subflows: 1,
        }
    }
}

impl Kind for Swift {
    fn name(&self) -> &'static str {
        "swift"
    }

    fn about(&self) -> &'static str {
        "Swift: windows by the delay of the fabric and of the receiving host, paced below one packet"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        SwiftSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let spec: SwiftSpec = from_table(given)?;
        let mut swift = spec.swift.unwrap_or_default();
        swift.subflows = spec.subflows;
        let (paths, policy) = one_path_policy(spec.paths.as_ref(), context)?;
        swift
            .resolve(fields::given_in(given, "swift"), context.fabric)
            .within("swift")?;
        let params = to_table(&SwiftSpec {
            subflows: spec.subflows,
            paths: Some(paths),
            swift: Some(swift),
        });
        Ok(Resolved {
            paths: Some(policy),
            ..Resolved::new(params, swift)
        })
    }
}

impl SwiftConfig {
    /// Fills in the defaults that follow from the network, and checks all fields.
    fn resolve(&mut self, is_given: impl Fn(&str) -> bool, fabric: &Fabric) -> Result<(), SpecError> {
        check_size("mtu", self.mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
        if !is_given("base_target") {
            self.base_target = network_rtt(fabric, self.mtu).max(BASE_TARGET);
        }
        let base = self.base_target.0;
        self.hop_target
            .get_or_insert(Time((base as f64 / HOP_SHARE) as u64));
        self.flow_range
            .get_or_insert(Time(base.saturating_mul(FLOW_RANGE)));
        self.endpoint_target.get_or_insert(self.base_target);
        self.check()
    }

    fn check(&self) -> Result<(), SpecError> {
        check_order(
            ("min_window", self.min_window),
            ("max_window", self.max_window),
            self.min_window <= self.max_window,
        )?;
        check_order(
            ("flow_window_min", self.flow_window_min),
            ("flow_window_max", self.flow_window_max),
            self.flow_window_min < self.flow_window_max,
        )?;
        self.base_target.above_zero("base_target")?;
        self.endpoint_target
            .unwrap_or_default()
            .above_zero("endpoint_target")?;
        self.min_rto.above_zero("min_rto")?;
        self.initial_rto.above_zero("initial_rto")?;
        self.timestamp_errors().check()
    }

    /// Returns the errors of timestamps.
    pub fn timestamp_errors(&self) -> TimestampErrors {
        TimestampErrors {
            step: self.timestamp_step,
            noise: self.timestamp_noise,
            clock_error: self.clock_error,
        }
    }

    /// Returns the target per link of a path.
    pub fn hop_target(&self) -> Time {
        self.hop_target.unwrap_or_default()
    }

    /// Returns the largest term of flow scaling.
    pub fn flow_range(&self) -> Time {
        self.flow_range.unwrap_or_default()
    }

    /// Returns the target of the delay at the receiving host.
    pub fn endpoint_target(&self) -> Time {
        self.endpoint_target.unwrap_or_default()
    }
}

fn check_order(low: (&str, f64), high: (&str, f64), holds: bool) -> Result<(), SpecError> {
    if holds {
        return Ok(());
    }
    let problem = format!("{} and {} = {}", low.1, high.0, high.1);
    let remedy = format!("set {} above {}", high.0, low.0);
    conflict(low.0, problem, remedy)
}

impl Parameters for SwiftConfig {
    fn subflows(&self) -> u32 {
        self.subflows
    }

    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.mtu - HEADER,
            header: HEADER,
            control: HEADER,
        }
    }
}
