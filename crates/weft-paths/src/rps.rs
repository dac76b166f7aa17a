//! Random packet spraying: Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in
//! Data Center Networks" (INFOCOM 2013), section III. Every packet, including acknowledgements,
//! takes a path of its own, drawn uniformly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::draw;
use crate::{Granularity, PathPolicy, Paths, SubflowDirection};

/// A path drawn for every packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rps {}

impl Rps {
    pub(crate) const ABOUT: &str =
        "random packet spraying: a path drawn for every packet, in both directions";
}

impl PathPolicy for Rps {
    fn path(&self, paths: Paths, seed: u64, direction: SubflowDirection) -> u64 {
        self.nth_path(paths, seed, direction, 0)
    }

    fn granularity(&self, _: u32, _: bool) -> Granularity {
        Granularity::Packet
    }

    fn nth_path(&self, paths: Paths, seed: u64, direction: SubflowDirection, n: u64) -> u64 {
        let hash = draw(&[seed, direction.hash_key(), n, RPS_DOMAIN]);
        ((u128::from(hash) * u128::from(paths.count)) >> 64) as u64
    }
}

/// Domain tag that separates these draws from others for the same subflow.
const RPS_DOMAIN: u64 = 0x72_7073;
