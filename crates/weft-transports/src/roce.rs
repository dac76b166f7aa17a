//! Parameters of RDMA over converged Ethernet.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_spec::{PathPolicySpec, Rate, Size, SpecError, Time, Within, conflict, from_table, to_table};

use crate::constant_rate::one_path_policy;
use crate::fields::{self, bytes};
use crate::hpcc::{HpccConfig, TELEMETRY_BYTES};
use crate::ranges::{MAX_PACKET, check_size};
use crate::timely::TimelyConfig;
use crate::{Context, Kind, PacketSizes, Parameters, Resolved};

/// Bytes of the headers of data, and of an acknowledgement.
const HEADER: u32 = 62;
const ACK_SIZE: u32 = 66;

/// The fields of rates, and those of DCQCN alone.
const RATES: [&str; 2] = ["min_rate", "initial_rate"];
const DCQCN: [&str; 8] = [
    "cnp_interval",
    "alpha_interval",
    "gain",
    "increase_interval",
    "byte_counter",
    "fast_recovery",
    "increase",
    "hyper_increase",
];

/// RDMA over converged Ethernet.
pub struct Roce;

/// The fields of a transport of this kind.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RoceSpec {
    /// Path policy, which chooses one of the paths between two hosts for each flow.
    #[serde(default)]
    paths: Option<PathPolicySpec>,
    /// Settings of RDMA over converged Ethernet.
    #[serde(default)]
    roce: Option<RoceConfig>,
}

/// Settings of a transport of kind "roce". Those of DCQCN have the defaults of its paper (Zhu et al., SIGCOMM
/// 2015) if it names one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Roce")]
pub struct RoceConfig {
    /// Retransmission of lost packets.
    pub retransmission: RoceRetransmission,
    /// Congestion control.
    pub control: RoceControl,
    /// Size of a full packet with its headers of 62 bytes. The payload of the default, 1024 bytes, is the largest
    /// of InfiniBand that fits into an Ethernet frame of 1500 bytes.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mtu: u32,
    /// Number of packets in order per acknowledgement. The default is that of the simulators of HPCC and IRN. The
    /// last packet that a flow may send is always acknowledged.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Limit of the bytes that are not acknowledged, such as the bandwidth-delay product of IRN. There is none by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// Timeout since the last progress. The default is 4.096 us x 2^14 with the exponent of InfiniBand that is usual
    /// (InfiniBand Architecture Specification, section 9.7.6.1.3). IRN has 320 us.
    pub rto: Time,
    /// DCQCN: minimum time between two congestion notifications of a flow (section 3.1).
    pub cnp_interval: Time,
    /// DCQCN: time without a notification after which the reduction factor decays (section 3.1).
    pub alpha_interval: Time,
    /// DCQCN: weight g of a notification in the reduction factor. The default is 1/256 (section
    /// 5.2).
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub gain: f64,
    /// DCQCN: period of the timer that increases the rate (section 5.2).
    pub increase_interval: Time,
    /// DCQCN: bytes after which the byte counter increases the rate (section 5.2).
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub byte_counter: u64,
    /// DCQCN: number F of increases in fast recovery, by timer or byte counter (section 3.1).
    #[schemars(range(min = 1))]
    pub fast_recovery: u32,
    /// DCQCN: step of the target rate after fast recovery (section 3.1).
    pub increase: Rate,
    /// DCQCN: step of the target rate once timer and byte counter are beyond fast recovery. The default is
    /// ten times that of `increase`, as in QCN (IEEE 802.1Qau), because the paper has no number.
    pub hyper_increase: Rate,
    /// DCQCN, TIMELY and HPCC: smallest rate of a flow. The default is that of QCN, because the papers have no number.
    pub min_rate: Rate,
    /// DCQCN, TIMELY and HPCC: first rate of a flow. The default is the rate of the host's link (section 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rate: Option<Rate>,
    /// Settings of TIMELY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timely: Option<TimelyConfig>,
    /// Settings of HPCC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hpcc: Option<HpccConfig>,
}

impl Default for RoceConfig {
    fn default() -> Self {
        Self {
            retransmission: RoceRetransmission::GoBackN,
            control: RoceControl::Dcqcn,
            mtu: 1086,
            ack_every: 1,
            window: None,
            rto: Time(4_096_000 << 14),
            cnp_interval: Time::from_us(50),
            alpha_interval: Time::from_us(55),
            gain: 1.0 / 256.0,
            increase_interval: Time::from_us(55),
            byte_counter: 10_000_000,
            fast_recovery: 5,
            increase: Rate(40_000_000),
            hyper_increase: Rate(400_000_000),
            min_rate: Rate(10_000_000),
            initial_rate: None,
            timely: None,
            hpcc: None,
        }
    }
}

/// Retransmission of RDMA over converged Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoceRetransmission {
    /// The receiver discards packets that are out of order, and the sender repeats all from the missing one on.
    GoBackN,
    /// The receiver keeps packets that are out of order, and the sender repeats the missing ones (IRN, Mittal et
    /// al., SIGCOMM 2018).
    SelectiveRepeat,
}

/// Congestion control of RDMA over converged Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RoceControlName")]
pub enum RoceControl {
    /// DCQCN: marks of switches reduce the rate of a flow.
    Dcqcn,
    /// TIMELY: round-trip times and their gradient set the rate of a flow (Mittal et al., SIGCOMM 2015).
    Timely,
    /// TIMELY with the rule of "ECN or Delay" that has one fixed point (Zhu et al., CoNEXT 2016).
    PatchedTimely,
    /// HPCC: telemetry of switches sets the window and the rate of a flow (Li et al., SIGCOMM 2019).
    Hpcc,
    /// Flows send at the rate of the host's link.
    None,
}

impl RoceControl {
    /// Returns whether senders read the round-trip times of packets.
    pub fn reads_delay(self) -> bool {
        matches!(self, Self::Timely | Self::PatchedTimely)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Dcqcn => "dcqcn",
            Self::Timely => "timely",
            Self::PatchedTimely => "patched-timely",
            Self::Hpcc => "hpcc",
            Self::None => "none",
        }
    }

    /// Returns the bytes of telemetry in packets with data, and in acknowledgements.
    pub fn telemetry(self) -> u32 {
        if self == Self::Hpcc { TELEMETRY_BYTES } else { 0 }
    }

    /// Returns the names of the fields that this control does not use.
    fn unused(self) -> impl Iterator<Item = &'static str> {
        let rates = RATES.into_iter().filter(move |_| self == Self::None);
        let dcqcn = DCQCN.into_iter().filter(move |_| self != Self::Dcqcn);
        let timely = (!self.reads_delay()).then_some("timely");
        let hpcc = (self != Self::Hpcc).then_some("hpcc");
        dcqcn.chain(rates).chain(timely).chain(hpcc)
    }

    /// Returns what to do about a field that this control does not use.
    fn remedy(field: &str) -> &'static str {
        match field {
            "timely" => "remove it or set control = \"timely\"",
            "hpcc" => "remove it or set control = \"hpcc\"",
            _ => "remove it or set control = \"dcqcn\"",
        }
    }
}

impl Kind for Roce {
    fn name(&self) -> &'static str {
        "roce"
    }

    fn about(&self) -> &'static str {
        "RDMA over converged Ethernet (RoCEv2): paced flows with DCQCN, TIMELY or HPCC, go-back-N or selective repeat"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        RoceSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let spec: RoceSpec = from_table(given)?;
        let mut roce = spec.roce.unwrap_or_default();
        let (paths, policy) = one_path_policy(spec.paths.as_ref(), context)?;
        roce.check().within("roce")?;
        let given_roce = given.get("roce").and_then(toml::Value::as_table);
        roce.fill_in(given_roce, context).within("roce")?;
        let mut params = to_table(&RoceSpec {
            paths: Some(paths),
            roce: Some(roce),
        });
        if let Some(settings) = params.get_mut("roce").and_then(toml::Value::as_table_mut) {
            for field in roce.control.unused() {
                settings.remove(field);
            }
        }
        Ok(Resolved {
            paths: Some(policy),
            ..Resolved::new(params, roce)
        })
    }
}

impl RoceConfig {
    /// Fills in the settings of TIMELY or HPCC if it controls the rate.
    fn fill_in(&mut self, given: Option<&Table>, context: &Context<'_>) -> Result<(), SpecError> {
        if self.control == RoceControl::Hpcc {
            let mut hpcc = self.hpcc.unwrap_or_default();
            HpccConfig::check_paths(context.fabric)?;
            let empty = Table::new();
            hpcc.fill_in(
                fields::given_in(given.unwrap_or(&empty), "hpcc"),
                context.fabric,
                self.mtu,
            );
            hpcc.check().within("hpcc")?;
            self.hpcc = Some(hpcc);
        }
        if self.control.reads_delay() {
            let mut timely = self.timely.unwrap_or_default();
            timely.beta = Some(timely.beta(self.control == RoceControl::PatchedTimely));
            self.timely = Some(timely);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SpecError> {
        let header = self.sizes().header;
        check_size("mtu", self.mtu, u64::from(header) + 1, MAX_PACKET)?;
        if let Some(window) = self.window {
            check_size("window", window.0, self.mtu.into(), u64::from(u32::MAX))?;
        }
        self.rto.above_zero("rto")?;
        let (own, default) = (to_table(self), to_table(&Self::default()));
        let mut unused = self.control.unused();
        if let Some(field) = unused.find(|field| own.get(*field) != default.get(*field)) {
            return conflict(
                field,
                format!("not used with control = \"{}\"", self.control.name()),
                RoceControl::remedy(field),
            );
        }
        if let Some(timely) = self.timely {
            timely.check().within("timely")?;
        }
        self.alpha_interval.above_zero("alpha_interval")?;
        self.increase_interval.above_zero("increase_interval")?;
        Size(self.byte_counter).above_zero("byte_counter")
    }
}

impl Parameters for RoceConfig {
    fn sizes(&self) -> PacketSizes {
        let header = HEADER + self.control.telemetry();
        PacketSizes {
            payload: self.mtu.saturating_sub(header),
            header,
            control: ACK_SIZE,
        }
    }

    fn reads_telemetry(&self) -> bool {
        self.control == RoceControl::Hpcc
    }
}
