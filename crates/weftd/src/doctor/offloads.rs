//! Offloads of the network devices, asked of the kernel's generic netlink family `ethtool`.

use std::collections::BTreeMap;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLA_TYPE_MASK, NLM_F_DUMP, NLM_F_REQUEST, Nla as _,
    NlasIterator, Parseable, ParseableParametrized, parse_string,
};
use netlink_packet_generic::{GenlFamily, GenlHeader};

use super::Finding;
use weft_kernel::path_manager::{Namespace, request};

const CHECK: &str = "offloads";

pub(super) fn finding(namespace: &Namespace) -> Finding {
    let features = match request(
        namespace,
        Features(vec![DefaultNla::new(HEADER | NLA_F_NESTED, Vec::new())]),
        NLM_F_REQUEST | NLM_F_DUMP,
    ) {
        Ok(features) => features,
        Err(error) => return Finding::ok(CHECK, format!("unknown: {error}")),
    };
    judge(features.iter().filter_map(Features::device).collect())
}

/// Judges the offloads of devices. They are correct on a real link. On a host that is itself the marking switch, one mark
/// counts for the 64 KB that travel as one packet.
fn judge(mut devices: BTreeMap<String, Vec<&'static str>>) -> Finding {
    devices.remove("lo");
    devices.retain(|_, on| !on.is_empty());
    if devices.is_empty() {
        return Finding::ok(CHECK, "no device joins packets");
    }
    let on: Vec<String> = devices
        .iter()
        .map(|(name, on)| format!("{name}: {}", on.join(" ")))
        .collect();
    Finding::ok(
        CHECK,
        format!(
            "{}; right unless this host itself marks (veth and tc), where ethtool -K DEVICE tso off gso off gro off",
            on.join(", ")
        ),
    )
}

/// `ETHTOOL_MSG_FEATURES_GET` and its answer.
#[derive(Clone, Debug)]
struct Features(Vec<DefaultNla>);

impl GenlFamily for Features {
    fn family_name() -> &'static str {
        "ethtool"
    }
    fn command(&self) -> u8 {
        FEATURES_GET
    }
    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Features {
    fn buffer_len(&self) -> usize {
        self.0.as_slice().buffer_len()
    }
    fn emit(&self, buffer: &mut [u8]) {
        self.0.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Features {
    fn parse_with_param(buffer: &[u8], _: GenlHeader) -> Result<Self, DecodeError> {
        parts(buffer).map(Self)
    }
}

impl Features {
    /// A device's name and those of its offloads that matter and are on.
    fn device(&self) -> Option<(String, Vec<&'static str>)> {
        let name = find(&self.0, &[HEADER, HEADER_DEV_NAME])?;
        let bits = parts(&find(&self.0, &[ACTIVE, BITSET_BITS])?).ok()?;
        let active: Vec<String> = bits
            .iter()
            .filter_map(|bit| find(&parts(&value(bit)).ok()?, &[BIT_NAME]))
            .filter_map(|name| parse_string(&name).ok())
            .collect();
        let on = OFFLOADS
            .iter()
            .filter(|(feature, _)| active.iter().any(|name| name == feature))
            .map(|(_, short)| *short)
            .collect();
        Some((parse_string(&name).ok()?, on))
    }
}

/// The value of the attribute that a path of kinds leads to.
fn find(attributes: &[DefaultNla], path: &[u16]) -> Option<Vec<u8>> {
    let (kind, rest) = path.split_first()?;
    let attribute = attributes
        .iter()
        .find(|attribute| attribute.kind() & NLA_TYPE_MASK == *kind)?;
    match rest {
        [] => Some(value(attribute)),
        rest => find(&parts(&value(attribute)).ok()?, rest),
    }
}

fn parts(buffer: &[u8]) -> Result<Vec<DefaultNla>, DecodeError> {
    NlasIterator::new(buffer)
        .map(|attribute| DefaultNla::parse(&attribute?))
        .collect()
}

fn value(attribute: &DefaultNla) -> Vec<u8> {
    let mut value = vec![0; attribute.value_len()];
    attribute.emit_value(&mut value);
    value
}

const FEATURES_GET: u8 = 11;
const HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;
const ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BIT_NAME: u16 = 2;

/// The kernel's names, and ethtool's short ones.
const OFFLOADS: [(&str, &str); 3] = [
    ("tx-tcp-segmentation", "tso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-gro", "gro"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_join_packets_are_named_but_for_the_loopback() {
        let devices = [
            ("lo", vec!["tso"]),
            ("eth0", vec!["tso", "gro"]),
            ("eth1", vec![]),
        ];
        let devices = devices.map(|(name, on)| (name.to_owned(), on)).into();
        let finding = judge(devices);
        assert!(
            finding.detail.starts_with("eth0: tso gro; "),
            "{}",
            finding.detail
        );
        assert!(finding.detail.contains("ethtool -K"), "{}", finding.detail);
        assert_eq!(finding.fix, None, "nothing is wrong");
    }
}
