//! Parameters of RDMA over converged Ethernet.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_spec::{PathPolicySpec, Rate, Size, SpecError, Time, from_table, to_table};

use crate::constant_rate::one_path_policy;
use crate::fields::bytes;
use crate::ranges::{MAX_PACKET, check_count, check_size, check_time};
use crate::{Context, Kind, PacketSizes, Parameters, Resolved};

/// Bytes of the headers of data, and of an acknowledgement.
const HEADER: u32 = 62;
const ACK_SIZE: u32 = 66;

/// The fields of DCQCN.
const DCQCN: [&str; 10] = [
    "cnp_interval",
    "alpha_interval",
    "gain",
    "increase_interval",
    "byte_counter",
    "fast_recovery",
    "increase",
    "hyper_increase",
    "min_rate",
    "initial_rate",
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
    /// DCQCN: weight g of a notification in the reduction factor, above 0, up to 1. The default is 1/256 (section
    /// 5.2).
    #[schemars(range(min = 0.0, max = 1.0))]
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
    /// DCQCN: smallest rate of a flow. The default is that of QCN, because the paper has no number.
    pub min_rate: Rate,
    /// DCQCN: first rate of a flow. The default is the rate of the host's link (section 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rate: Option<Rate>,
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
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RoceControlName")]
pub enum RoceControl {
    /// DCQCN: marks of switches reduce the rate of a flow.
    Dcqcn,
    /// Flows send at the rate of the host's link.
    None,
}

impl Kind for Roce {
    fn name(&self) -> &'static str {
        "roce"
    }

    fn about(&self) -> &'static str {
        "RDMA over converged Ethernet (RoCEv2): paced flows with DCQCN, go-back-N or selective repeat"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        RoceSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let spec: RoceSpec = from_table(given)?;
        let roce = spec.roce.unwrap_or_default();
        let (paths, policy) = one_path_policy(spec.paths.as_ref(), context)?;
        roce.check().map_err(|error| error.within("roce"))?;
        let mut params = to_table(&RoceSpec {
            paths: Some(paths),
            roce: Some(roce),
        });
        if roce.control == RoceControl::None
            && let Some(settings) = params.get_mut("roce").and_then(toml::Value::as_table_mut)
        {
            settings.retain(|field, _| !DCQCN.contains(&field));
        }
        Ok(Resolved {
            paths: Some(policy),
            ..Resolved::new(params, roce)
        })
    }
}

impl RoceConfig {
    fn check(&self) -> Result<(), SpecError> {
        check_size("mtu", self.mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
        check_count("ack_every", self.ack_every, u32::MAX)?;
        if let Some(window) = self.window {
            check_size("window", window.0, self.mtu.into(), u64::from(u32::MAX))?;
        }
        check_time("rto", self.rto)?;
        let (own, default) = (to_table(self), to_table(&Self::default()));
        let unused = DCQCN
            .iter()
            .find(|field| own.get(**field) != default.get(**field));
        if let (RoceControl::None, Some(field)) = (self.control, unused) {
            return Err(SpecError::conflict(
                *field,
                "not used with control = \"none\"",
                "remove it or set control = \"dcqcn\"",
            ));
        }
        check_time("alpha_interval", self.alpha_interval)?;
        check_time("increase_interval", self.increase_interval)?;
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(SpecError::new("gain", self.gain.to_string(), "above 0, up to 1"));
        }
        if self.byte_counter == 0 {
            return Err(SpecError::new("byte_counter", "0B", "a size above 0"));
        }
        check_count("fast_recovery", self.fast_recovery, u32::MAX)
    }
}

impl Parameters for RoceConfig {
    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.mtu - HEADER,
            header: HEADER,
            control: ACK_SIZE,
        }
    }
}
