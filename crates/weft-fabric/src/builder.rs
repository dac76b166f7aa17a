//! A builder that assembles a network cable by cable.

use weft_spec::{Rate, Time};

use crate::{Fabric, Link, Node, NodeId, PortQueues, QueueConfig, Routing};

/// The nodes and links added so far. The ports of a node are numbered in the order of its cables.
pub(crate) struct FabricBuilder<'a> {
    queues: &'a PortQueues,
    nodes: Vec<Node>,
    links: Vec<Link>,
}

impl<'a> FabricBuilder<'a> {
    pub fn new(queues: &'a PortQueues) -> Self {
        Self {
            queues,
            nodes: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Adds a node that holds endpoints.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), true)
    }

    /// Adds a node that only forwards.
    pub fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), false)
    }

    fn node(&mut self, name: String, is_host: bool) -> NodeId {
        self.nodes.push(Node { name, is_host });
        (self.nodes.len() - 1) as NodeId
    }

    /// Adds a cable, that is, a link in each direction; `layers` are their names, first from `a` to
    /// `b`.
    pub fn cable(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time, layers: [&'static str; 2]) {
        for (from, to, layer) in [(a, b, layers[0]), (b, a, layers[1])] {
            let queue = self.default_queue(from);
            self.link(Link {
                layer,
                ..Link::new([from, to], rate, delay, queue)
            });
        }
    }

    /// Adds a link.
    pub fn link(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Returns the queue of a node's ports if nothing else is set.
    pub fn default_queue(&self, node: NodeId) -> QueueConfig {
        if self.nodes[node as usize].is_host {
            self.queues.host
        } else {
            self.queues.switch
        }
    }

    /// Returns the network. `hosts` are in the order in which specs number them.
    pub fn finish(mut self, hosts: Vec<NodeId>, routing: Box<dyn Routing>) -> Fabric {
        self.links.sort_by_key(|link| link.from); // stable: ports keep the order of the cables
        Fabric {
            nodes: self.nodes,
            links: self.links,
            hosts,
            cables: Vec::new(),
            routing: routing.into(),
            warnings: Vec::new(),
        }
    }
}
