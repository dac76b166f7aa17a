//! Random packet spraying: Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in Data Center Networks"
//! (INFOCOM 2013), section III. Every packet, acknowledgements too, takes a path of its own, drawn uniformly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::draw;
use crate::{Changes, PathPolicy, Paths, Way};

/// A path drawn for every packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rps {}

impl Rps {
    pub(crate) const ABOUT: &str =
        "random packet spraying: a path drawn for every packet, in both directions";
}

impl PathPolicy for Rps {
    fn path(&self, paths: Paths, seed: u64, way: Way) -> u64 {
        self.path_after(paths, seed, way, 0)
    }

    fn changes(&self, _: u32, _: bool) -> Changes {
        Changes::EveryPacket
    }

    fn path_after(&self, paths: Paths, seed: u64, way: Way, n: u64) -> u64 {
        let hash = draw(&[seed, way.word(), n, RPS]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }
}

/// Tells these draws from others for the same subflow.
const RPS: u64 = 0x72_7073;
