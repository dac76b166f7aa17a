//! The path of the packets of one direction of a subflow.

use std::sync::Arc;

use weft_cc::Round;
use weft_fabric::NodeId;
use weft_paths::{Granularity, PathEvent, PathPolicy, PathState, Paths, SubflowDirection, draw};
use weft_spec::Time;

use crate::engine::route::Route;
use crate::transport::routes::ChosenPath;
use crate::transport::shared::Shared;

/// The route of a subflow's packets, and the selector that changes it.
pub struct SubflowPath {
    /// Route to the other host.
    route: Route,
    /// Chooses the route of each packet, if the policy changes it.
    selector: Option<Box<PathSelector>>,
}

impl SubflowPath {
    /// Creates the path that begins with `route`.
    pub fn new(route: Route, selector: Option<Box<PathSelector>>) -> Self {
        Self { route, selector }
    }

    /// Returns the route of the last packet.
    #[inline(always)]
    pub fn route(&self) -> Route {
        self.route
    }

    /// Returns the route of a packet that is sent at `now`. `is_first` returns true if nothing but
    /// this packet is outstanding.
    #[inline(always)]
    pub fn next_route(&mut self, now: u64, is_first: impl FnOnce() -> bool) -> Route {
        if let Some(selector) = &mut self.selector {
            self.route = selector.next_route(now, is_first).unwrap_or(self.route);
        }
        self.route
    }

    /// Handles the end of a round. `is_idle` is true if nothing is outstanding.
    pub fn on_round(&mut self, round: Round, is_idle: bool, now: u64) {
        if let Some(selector) = &mut self.selector {
            let event = PathEvent::Round {
                acked: round.acked,
                marked: round.marked,
                is_idle,
            };
            self.route = selector.on_event(event, now).unwrap_or(self.route);
        }
    }

    /// Handles a retransmission timeout, or the timeout of a SYN. `is_loss` is true if congestion
    /// control reduces the window.
    pub fn on_timeout(&mut self, is_loss: bool, now: u64) {
        if let Some(selector) = &mut self.selector {
            let random = selector.random();
            let event = PathEvent::Timeout { is_loss, random };
            self.route = selector.on_event(event, now).unwrap_or(self.route);
        }
    }

    /// Sets the route from the next packet on.
    pub fn set_route(&mut self, route: Route) {
        self.route = route;
    }

    /// Chooses the route again after routing has detected a link event. Without a selector, or if it
    /// has no route, `fallback` chooses.
    pub fn reroute(&mut self, fallback: impl FnOnce() -> Route) {
        let selected = self.selector.as_mut().and_then(|selector| selector.route());
        self.route = selected.unwrap_or_else(fallback);
    }

    /// Switches to the policy's path after this many switches, if the policy changes paths.
    pub fn switch_to(&mut self, switches: u64) {
        if let Some(selector) = &mut self.selector {
            self.route = selector.switch_to(switches).unwrap_or(self.route);
        }
    }

    /// Returns the number of switches that the other end needs to select the same path; 0 unless
    /// the policy switches on request.
    pub fn switches_for_peer(&self) -> u32 {
        self.selector
            .as_ref()
            .map_or(0, |selector| selector.switches_for_peer())
    }

    /// Returns the paths between the two hosts; `None` if the policy never changes the path.
    pub fn paths(&self) -> Option<Paths> {
        self.selector.as_ref().map(|selector| selector.paths())
    }

    /// Returns the number of the path; `None` if the policy never changes it.
    pub fn number(&self) -> Option<u64> {
        self.selector.as_ref().map(|selector| selector.path_number())
    }
}

/// Selects the routes of the packets of one direction of a subflow.
pub struct PathSelector {
    shared: Arc<Shared>,
    transport: u32,
    direction: SubflowDirection,
    ends: [NodeId; 2],
    paths: Paths,
    /// Buffer for the ports of a path.
    ports: Vec<u16>,
    granularity: Granularity,
    /// Number of switches to another path so far.
    switches: u64,
    /// Time at which the last packet was sent.
    last: u64,
    /// State of the policy, for [`Granularity::OnEvent`] only.
    state: PathState,
}

impl PathSelector {
    /// Returns `None` if the policy never changes the path of this direction.
    pub fn new(
        shared: &Arc<Shared>,
        transport: u32,
        direction: SubflowDirection,
        from: NodeId,
        to: NodeId,
    ) -> Option<Box<Self>> {
        let changes = shared.transports[transport as usize]
            .paths
            .granularity(direction.subflow, direction.reverse);
        if changes == Granularity::Subflow {
            return None;
        }
        // The set-up of the run has checked that paths lead there.
        let paths = shared.paths_between(from, to).ok()?;
        Some(Box::new(Self {
            shared: Arc::clone(shared),
            transport,
            direction,
            ends: [from, to],
            paths,
            ports: Vec::with_capacity(8),
            granularity: changes,
            switches: 0,
            last: u64::MAX,
            state: PathState::default(),
        }))
    }

    /// Switches to the policy's path after `switches` changes and returns its route. For
    /// [`Granularity::OnRequest`] only.
    pub fn switch_to(&mut self, n: u64) -> Option<Route> {
        self.switches = n;
        self.route()
    }

    /// Returns the number of switches that the other end needs to select the same path; 0 unless
    /// the policy switches on request.
    pub fn switches_for_peer(&self) -> u32 {
        if self.granularity == Granularity::OnRequest {
            self.switches as u32
        } else {
            0
        }
    }

    /// Returns the number of the path, as the policy has it.
    pub fn path_number(&self) -> u64 {
        let policy = &self.shared.transports[self.transport as usize].paths;
        policy.nth_path(self.paths, self.shared.seed, self.direction, self.switches)
    }

    /// Returns the paths between the two hosts.
    pub fn paths(&self) -> Paths {
        self.paths
    }

    /// Returns the route of a packet sent at `now`, if it differs from that of the previous packet.
    /// `is_first` returns true if nothing but this packet is outstanding.
    #[inline(never)]
    pub fn next_route(&mut self, now: u64, is_first: impl FnOnce() -> bool) -> Option<Route> {
        let last = std::mem::replace(&mut self.last, now);
        let change = match self.granularity {
            Granularity::Subflow | Granularity::OnRequest => false,
            Granularity::OnEvent => {
                return is_first().then(|| self.on_event(PathEvent::Start, now)).flatten();
            }
            Granularity::Packet => true,
            Granularity::Flowlet(gap) => last != u64::MAX && now.saturating_sub(last) > gap.0,
        };
        if !change {
            return None;
        }
        self.switches += 1;
        self.route()
    }

    /// Notifies the policy of an event. Returns the new route if the policy changes the path.
    pub fn on_event(&mut self, event: PathEvent, now: u64) -> Option<Route> {
        if self.granularity != Granularity::OnEvent {
            return None;
        }
        let policy = &self.shared.transports[self.transport as usize].paths;
        if !policy.on_event(&mut self.state, event, Time(now)) {
            return None;
        }
        self.switches += 1;
        self.route()
    }

    /// Returns random bits for the next event.
    pub fn random(&self) -> u64 {
        draw(&[
            self.shared.seed,
            self.direction.hash_key(),
            self.switches,
            EVENT_DOMAIN,
        ])
    }

    /// Returns the current route.
    #[cold]
    pub fn route(&mut self) -> Option<Route> {
        let chosen = ChosenPath {
            number: self.path_number(),
            changes: self.switches,
            keeps_interfaces: self.shared.transports[self.transport as usize]
                .paths
                .keeps_interfaces(),
        };
        self.shared
            .route_along_path(chosen, self.paths, self.direction, self.ends, &mut self.ports)
            .ok()
    }
}

/// Domain tag that separates these draws from others for the same subflow.
const EVENT_DOMAIN: u64 = 0x65_7665_6E74;
