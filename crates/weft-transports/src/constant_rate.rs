//! Parameters of sources at a constant rate.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_paths::{Granularity, PathPolicy, Policy};
use weft_spec::{PathPolicySpec, Rate, Size, SpecError, Time, conflict, from_table, refuse, to_table};

use crate::fields::{self, bytes};
use crate::ranges::MAX_PACKET;
use crate::resolve::path_policy;
use crate::tcp::TcpMode;
use crate::{Context, Kind, PacketSizes, Parameters, Resolved};

/// Bytes of the headers of a packet, those of TCP in Linux.
const HEADER: u32 = 66;

/// Sources at a constant rate.
pub struct ConstantRate;

/// Settings of a source without congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantRateConfig {
    /// Rate on the wire, headers included, while a flow sends.
    pub rate: Rate,
    /// Size of a full packet with its header of 66 bytes.
    #[serde(default = "weft_spec::default_number::<1514>", with = "bytes")]
    #[schemars(with = "Size")]
    pub packet_size: u32,
    /// Time for which a flow sends, in turn with `off`. Without it, a flow always sends.
    pub on: Option<Time>,
    /// Time for which a flow pauses after each time `on`.
    #[serde(default, skip_serializing_if = "fields::is_unset")]
    #[schemars(with = "Option<Time>")]
    pub off: Time,
    /// Whether the times `on` and `off` are means of exponential distributions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random: bool,
}

/// The field of this kind that is not a part of the schedule. A struct with both would have to own the policy.
#[derive(Deserialize, JsonSchema)]
struct OnePath {
    /// Path policy, which chooses one of the paths between two hosts for each flow.
    #[serde(default)]
    paths: Option<PathPolicySpec>,
}

const PATHS: &str = "paths";

/// Resolves the path policy of a kind whose flows have one path each.
///
/// # Errors
/// Returns an error for a policy that chooses a path for each packet.
pub(crate) fn one_path_policy(
    spec: Option<&PathPolicySpec>,
    context: &Context<'_>,
) -> Result<(PathPolicySpec, Policy), SpecError> {
    let (spec, policy) = path_policy(spec, context)?;
    let is_standard = matches!(TcpMode::from_policy(&policy), TcpMode::Standard);
    if is_standard && policy.granularity(0, false) == Granularity::Subflow {
        return Ok((spec, policy));
    }
    let problem = format!("{:?} chooses paths for packets of TCP", spec.name);
    conflict("paths", problem, "use \"ecmp\" or another policy")
}

impl Kind for ConstantRate {
    fn name(&self) -> &'static str {
        "constant-rate"
    }

    fn about(&self) -> &'static str {
        "packets at a constant rate, on and off, without congestion control or retransmissions"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ConstantRateConfig::json_schema(generator);
        let paths = OnePath::json_schema(generator).to_value()["properties"][PATHS].take();
        if let Some(properties) = schema
            .get_mut("properties")
            .and_then(serde_json::Value::as_object_mut)
        {
            properties.insert(PATHS.to_owned(), paths);
        }
        schema
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let (paths, settings): (Table, Table) =
            given.clone().into_iter().partition(|(field, _)| field == PATHS);
        let paths: OnePath = from_table(&paths)?;
        let settings: ConstantRateConfig =
            from_table(&settings).map_err(|error| error.with_known_fields(&[PATHS]))?;
        let (paths, policy) = one_path_policy(paths.paths.as_ref(), context)?;
        settings.check(given.contains_key("off"))?;
        let mut params = to_table(&settings);
        params.insert(PATHS.to_owned(), to_table(&paths).into());
        Ok(Resolved {
            paths: Some(policy),
            ..Resolved::new(params, settings)
        })
    }
}

impl ConstantRateConfig {
    fn check(&self, is_off_given: bool) -> Result<(), SpecError> {
        let size = u64::from(self.packet_size);
        if !(u64::from(HEADER) + 1..=MAX_PACKET).contains(&size) {
            let allowed = format!("above the header of {HEADER}B, up to {MAX_PACKET}B");
            return refuse("packet_size", Size(size), allowed);
        }
        match self.on {
            Some(Time(0)) => refuse("on", "0s", "a time above 0"),
            Some(_) if !is_off_given => conflict("off", "required with `on`", "add a time"),
            None if is_off_given => conflict("off", "given without `on`", "add `on`"),
            None if self.random => conflict("random", "given without `on`", "add `on` and `off`"),
            _ => Ok(()),
        }
    }
}

impl Parameters for ConstantRateConfig {
    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.packet_size - HEADER,
            header: HEADER,
            control: HEADER,
        }
    }

    fn refused_write_rate(&self) -> Option<&'static str> {
        Some("set the rate of the transport instead")
    }
}
