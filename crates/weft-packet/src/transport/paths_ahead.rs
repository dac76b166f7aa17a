//! The paths of the next packets of a flow whose host has several links. Each packet waits for the link of its path, so paths
//! are chosen until a packet waits for each link.

use std::collections::VecDeque;

use super::port_set::PortSet;
use super::shared::Shared;

/// Maximum number of paths that are chosen before their packets are sent. If more lead through links for which packets wait,
/// they are forgotten, because another link is idle.
const MAX_AHEAD: usize = 16;

/// Maximum number of paths that are chosen at a time.
const MAX_DRAWS: usize = 32;

/// Paths in the order in which they were chosen, each with the port of its first link.
pub struct PathsAhead {
    host: u32,
    /// The ports whose links are not known to be down.
    live: PortSet,
    paths: VecDeque<(u32, u16)>,
}

impl PathsAhead {
    /// Returns the paths of a new flow; `None` if its host has one link, so that no packet has to know its path.
    pub fn new(shared: &Shared, host: u32) -> Option<Box<Self>> {
        (shared.links_of(host) > 1).then(|| {
            Box::new(Self {
                host,
                live: shared.live_ports(host),
                paths: VecDeque::new(),
            })
        })
    }

    /// Returns a port for which the next packet may wait, other than those for which the flow `waits`. It is `None` if there
    /// is none, or if the paths that `choose` returns do not lead there.
    pub fn next_port(&mut self, waits: PortSet, mut choose: impl FnMut() -> (u32, u16)) -> Option<u32> {
        if self.live.is_within(waits) {
            return None;
        }
        let known = self.paths.iter().find(|(port, _)| !waits.contains(*port));
        if let Some(&(port, _)) = known {
            return Some(port);
        }
        for _ in 0..MAX_DRAWS {
            let (port, path) = choose();
            let is_free = !waits.contains(port);
            if is_free || self.paths.len() < MAX_AHEAD {
                self.paths.push_back((port, path));
            }
            if is_free {
                return Some(port);
            }
        }
        None
    }

    /// Takes the first path through a port, and another one than `avoided` if there is one.
    pub fn take(&mut self, port: u32, avoided: Option<u16>) -> Option<u16> {
        let through = |&(through, _): &(u32, u16)| through == port;
        let other = |path: &(u32, u16)| through(path) && Some(path.1) != avoided;
        let position = self.paths.iter().position(other);
        let position = position.or_else(|| self.paths.iter().position(through))?;
        self.paths.remove(position).map(|(_, path)| path)
    }

    /// Forgets all paths, because links have failed or work again.
    pub fn reroute(&mut self, shared: &Shared) {
        self.live = shared.live_ports(self.host);
        self.paths.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths 0, 1, 2, 3, … with ports 0, 0, 1, 0, 0, 1, ….
    fn chooser() -> impl FnMut() -> (u32, u16) {
        let mut path = 0;
        move || {
            path += 1;
            (u32::from((path - 1) % 3 == 2), path - 1)
        }
    }

    fn ports(ports: &[u32]) -> PortSet {
        let mut set = PortSet::default();
        for &port in ports {
            set.insert(port);
        }
        set
    }

    fn ahead() -> PathsAhead {
        PathsAhead {
            host: 0,
            live: ports(&[0, 1]),
            paths: VecDeque::new(),
        }
    }

    #[test]
    fn a_packet_waits_for_the_link_of_its_path() {
        let (mut ahead, mut choose) = (ahead(), chooser());
        assert_eq!(ahead.next_port(ports(&[]), &mut choose), Some(0));
        // Path 1 leads through port 0, too, and path 2 through the other one.
        assert_eq!(ahead.next_port(ports(&[0]), &mut choose), Some(1));
        assert_eq!(ahead.next_port(ports(&[0, 1]), &mut choose), None);
        assert_eq!((ahead.take(1, None), ahead.take(1, None)), (Some(2), None));
        assert_eq!(ahead.take(0, Some(0)), Some(1));
        assert_eq!(ahead.take(0, Some(0)), Some(0));
        assert_eq!(ahead.take(0, None), None);
    }

    #[test]
    fn few_paths_are_chosen_ahead() {
        let mut ahead = ahead();
        assert_eq!(ahead.next_port(ports(&[0]), || (0, 7)), None);
        assert_eq!((0..40).filter_map(|_| ahead.take(0, None)).count(), MAX_AHEAD);
        // The paths that are not kept do not keep the other link idle.
        let mut drawn = 0;
        let mut choose = || {
            drawn += 1;
            (u32::from(drawn == 20), drawn)
        };
        assert_eq!(ahead.next_port(ports(&[0]), &mut choose), Some(1));
        assert_eq!(ahead.take(1, None), Some(20));
    }
}
