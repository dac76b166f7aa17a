//! The path of the packets of one direction of a subflow.

use weft_cc::Round;
use weft_paths::{PathEvent, Paths};

use crate::engine::route::Route;

use super::path_selector::PathSelector;

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

    /// Chooses the route again after routing has detected a link event: that of the selector, else
    /// that of `fallback`, else the route so far.
    pub fn reroute(&mut self, fallback: impl FnOnce() -> Option<Route>) {
        let selected = self.selector.as_mut().and_then(|selector| selector.route());
        self.route = selected.or_else(fallback).unwrap_or(self.route);
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
