//! Rules: which sockets get an algorithm without choosing one.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, refuse};

use weft_kernel::programs::scope;

/// Sockets that get an algorithm unless they choose one themselves: those that fit all that is said of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// One of `congestion.algorithms`, or `"reno"`.
    pub algorithm: String,
    /// Sockets that connect to an address of this network, such as `"10.0.0.0/8"` or `"fd00::1"`; none: any, and sockets that
    /// listen as well.
    #[serde(default)]
    pub to: Option<String>,
    /// Ports, `"443"` or `"5000-5999"`: of the other end, or of a socket that listens; none: any.
    #[serde(default)]
    pub ports: Option<String>,
    /// Sockets of this cgroup and those below it, such as `"system.slice/backup.service"`; none: any.
    #[serde(default)]
    pub cgroup: Option<String>,
}

impl Rule {
    /// Converts the rule for the loader of the programs.
    pub(super) fn read(&self, allowed: &[String]) -> Result<scope::Rule, SpecError> {
        if self.algorithm != "reno" && !allowed.contains(&self.algorithm) {
            let known = "a name in congestion.algorithms, or \"reno\"";
            return refuse("algorithm", format!("{:?}", self.algorithm), known);
        }
        let refuse =
            |what: &str, value: &str, allowed: &str| SpecError::new(what, format!("{value:?}"), allowed);
        let to = self.to.as_deref().map(|to| {
            network(to).ok_or_else(|| refuse("to", to, "a network such as \"10.0.0.0/8\" or \"fd00::/8\""))
        });
        let ports = self.ports.as_deref().map_or(Some((0, u16::MAX)), range);
        let ports = ports.ok_or_else(|| {
            let value = self.ports.as_deref().unwrap_or_default();
            refuse(
                "ports",
                value,
                "a port or a range, such as \"443\" or \"5000-5999\"",
            )
        })?;
        if let Some(cgroup) = &self.cgroup
            && (cgroup.is_empty()
                || cgroup.starts_with('/')
                || cgroup.contains('\0')
                || cgroup.split('/').any(|part| part == ".."))
        {
            let allowed = "a path below the root of cgroups, without a leading \"/\"";
            return Err(refuse("cgroup", cgroup, allowed));
        }
        Ok(scope::Rule {
            algorithm: self.algorithm.clone(),
            to: to.transpose()?,
            ports,
            cgroup: self.cgroup.clone(),
        })
    }
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text
        .split_once('/')
        .map_or((text, None), |(ip, bits)| (ip, Some(bits)));
    let ip: IpAddr = ip.parse().ok()?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
    (bits <= most).then_some((ip, bits))
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_ports_are_understood_or_refused() {
        assert_eq!(network("10.0.0.0/8"), Some(([10, 0, 0, 0].into(), 8)));
        assert_eq!(network("fd00::1").map(|(_, bits)| bits), Some(128));
        assert_eq!(network("0.0.0.0/0").map(|(_, bits)| bits), Some(0));
        for wrong in ["10.0.0.0/33", "10.0.0", "/8", "host", "10.0.0.0/"] {
            assert_eq!(network(wrong), None, "{wrong}");
        }
        assert_eq!(range("443"), Some((443, 443)));
        assert_eq!(range("1-65535"), Some((1, 65535)));
        for wrong in ["", "2-1", "65536", "1-", "a"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
