//! The contract of a kind of transport, and the configuration of a transport.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;
use weft_cc::Algorithm;
use weft_fabric::Fabric;
use weft_paths::Policy;
use weft_spec::{Cc, QueueSize, Size, SpecError, Time};

/// A kind of transport: its name, and its parameters in a spec.
pub trait Kind: Sync {
    /// Returns the name in specs, `transports.NAME.kind`.
    fn name(&self) -> &'static str;

    /// Returns a one-line description.
    fn about(&self) -> &'static str;

    /// Returns the JSON Schema of the fields of this kind, an object.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;

    /// Checks the fields of this kind and fills in defaults. Paths of errors are relative to the transport.
    ///
    /// # Errors
    /// Returns an error for the first field that is unknown, missing or out of range, or if the network does not
    /// suit the kind.
    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError>;

    /// Returns the capacity for headers that a transport with the fields `given` needs at a port that trims; `None` if
    /// the general default is enough. Headers have `size` bytes, and `limit` is the capacity for data.
    fn header_limit(&self, _given: &Table, _limit: QueueSize, _size: Size) -> Option<QueueSize> {
        None
    }
}

/// A function that builds a congestion control, and returns it with all its parameters.
pub type BuildAlgorithm<'a> = dyn Fn(&Cc) -> Result<(Cc, Algorithm), SpecError> + 'a;

/// The parts of an experiment on which parameters and their defaults depend.
pub struct Context<'a> {
    /// The network.
    pub fabric: &'a Fabric,
    /// Name of the topology's default path policy.
    pub policy: &'a str,
    /// Function that builds a congestion control, and fills in its parameters.
    pub congestion_control: &'a BuildAlgorithm<'a>,
}

/// The fields of a transport, checked.
pub struct Resolved {
    /// All fields of the kind, with defaults filled in.
    pub params: Table,
    /// Policy that chooses between the paths of two hosts; `None` for the topology's default.
    pub paths: Option<Policy>,
    /// The parameters.
    pub parameters: Arc<dyn Parameters>,
}

impl Resolved {
    /// Creates the result of a kind that has no path policy of its own.
    pub fn new(params: Table, parameters: impl Parameters) -> Self {
        Self {
            params,
            paths: None,
            parameters: Arc::new(parameters),
        }
    }
}

/// The parameters of a transport, whatever its kind.
pub trait Parameters: Any + Debug + Send + Sync {
    /// Returns the sizes of packets.
    fn sizes(&self) -> PacketSizes;

    /// Returns the number of subflows of a flow, at least 1.
    fn subflows(&self) -> u32 {
        1
    }

    /// Returns the size of the messages of a flow, whose data share no packet; `None` if a flow is one message.
    fn message_size(&self) -> Option<Size> {
        None
    }

    /// Returns true if the transport repeats what headers of trimmed packets report as lost. Otherwise it discards
    /// headers.
    fn uses_headers(&self) -> bool {
        false
    }

    /// Returns true if switches report the state of their ports to the transport.
    fn reads_telemetry(&self) -> bool {
        false
    }

    /// Returns true if the transport repeats what queues drop only after a timeout, which is rare if queues trim.
    fn expects_trimming(&self) -> bool {
        false
    }

    /// Returns the remedy if applications cannot write at a rate of their own; `None` if they can.
    fn refused_write_rate(&self) -> Option<&'static str> {
        Some("remove this field")
    }

    /// Returns the time after which a lost SYN is sent again; `None` if flows have no handshake.
    fn syn_timeout(&self) -> Option<Time> {
        None
    }

    /// Returns the start of a flow's completion time.
    fn fct_from(&self) -> FctFrom {
        FctFrom::Open
    }
}

/// Start of a flow's completion time, which ends when the receiver has the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FctFrom {
    /// The flow's start: the first SYN is sent.
    Open,
    /// The arrival of subflow 0's SYN/ACK.
    Established,
}

/// Sizes of packets on the wire, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// Payload of a full packet.
    pub payload: u32,
    /// Headers of a packet with data.
    pub header: u32,
    /// A packet without data, such as an acknowledgement.
    pub control: u32,
}

impl PacketSizes {
    /// Returns the size of a full packet.
    pub fn full(self) -> u32 {
        self.payload.saturating_add(self.header)
    }

    /// Returns the size of the largest packet.
    pub fn max(self) -> u32 {
        self.full().max(self.control)
    }
}

/// A transport: its kind, and its parameters.
#[derive(Clone, Debug)]
pub struct TransportConfig {
    /// Kind of transport, by name.
    pub kind: &'static str,
    /// Traffic class of the packets that the senders of flows send, below 8.
    pub class: u8,
    /// Traffic class of the packets that the receivers of flows send, below 8.
    pub ack_class: u8,
    /// Policy that chooses between the paths of two hosts.
    pub paths: Policy,
    /// The parameters of the kind.
    pub parameters: Arc<dyn Parameters>,
}

impl TransportConfig {
    /// Returns the parameters as those of a kind; `None` for another kind.
    pub fn parameters_of<P: Parameters>(&self) -> Option<&P> {
        let parameters: &dyn Any = self.parameters.as_ref();
        parameters.downcast_ref()
    }

    /// Returns the sizes of packets.
    pub fn sizes(&self) -> PacketSizes {
        self.parameters.sizes()
    }

    /// Returns the number of subflows of a flow, at least 1.
    pub fn subflows(&self) -> u32 {
        self.parameters.subflows()
    }
}
