//! Stop-and-wait: a sender sends one packet, and the next one when the receiver has acknowledged it.
//!
//! A packet is sent again after a timeout. The goodput of a flow that is alone is the payload of a packet per
//! round-trip time.

mod protocol;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_packet::ProtocolKind;
use weft_spec::{SpecError, Time, from_table, to_table};
use weft_transports::{Context, Kind, PacketSizes, Parameters, Resolved};

use protocol::StopAndWaitProtocol;

/// Bytes of the headers of data, and of an acknowledgement.
const HEADER: u32 = 64;

/// The kind of transport. Call `weft_lab::add_transport(&StopAndWait)` before you read a spec.
pub struct StopAndWait;

/// The fields of a transport of kind "stop-and-wait".
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Payload bytes of a full packet.
    #[schemars(range(min = 1, max = 9_000))]
    pub payload: u32,
    /// Time after which a packet is sent again.
    pub timeout: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            payload: 1_000,
            timeout: Time::from_ms(1),
        }
    }
}

impl Kind for StopAndWait {
    fn name(&self) -> &'static str {
        "stop-and-wait"
    }

    fn about(&self) -> &'static str {
        "one packet per round-trip time"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        Settings::json_schema(generator)
    }

    fn resolve(&self, given: &Table, _: &Context<'_>) -> Result<Resolved, SpecError> {
        let settings: Settings = from_table(given)?;
        if !(1..=9_000).contains(&settings.payload) {
            return Err(SpecError::new(
                "payload",
                settings.payload.to_string(),
                "1 to 9000",
            ));
        }
        if settings.timeout == Time(0) {
            return Err(SpecError::new("timeout", "0s", "a time above 0"));
        }
        Ok(Resolved::new(to_table(&settings), settings))
    }
}

impl Parameters for Settings {
    fn sizes(&self) -> PacketSizes {
        PacketSizes {
            payload: self.payload,
            header: HEADER,
            control: HEADER,
        }
    }
}

impl ProtocolKind for StopAndWait {
    type Protocol = StopAndWaitProtocol;
}
