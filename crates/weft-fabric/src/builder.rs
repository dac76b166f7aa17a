//! Puts a network together, cable by cable.

use weft_spec::{Rate, Time};

use crate::{Fabric, Link, Node, NodeId, PortQueues, Routing};

/// Nodes and links so far. The ports of a node are numbered in the order in which its cables are laid.
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

    /// A node that holds endpoints.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), true)
    }

    /// A node that only forwards.
    pub fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), false)
    }

    fn node(&mut self, name: String, is_host: bool) -> NodeId {
        self.nodes.push(Node { name, is_host });
        (self.nodes.len() - 1) as NodeId
    }

    /// A link each way; `layers` are named from `a` to `b` and back.
    pub fn cable(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time, layers: [&'static str; 2]) {
        for (from, to, layer) in [(a, b, layers[0]), (b, a, layers[1])] {
            let queue = if self.nodes[from as usize].is_host {
                self.queues.host
            } else {
                self.queues.switch
            };
            self.links.push(Link {
                from,
                to,
                rate,
                delay,
                queue,
                layer,
            });
        }
    }

    /// The network. `hosts` are in the order in which specs number them.
    pub fn finish(mut self, hosts: Vec<NodeId>, routing: Box<dyn Routing>) -> Fabric {
        self.links.sort_by_key(|link| link.from); // stable: ports stay in the order of the cables
        Fabric {
            nodes: self.nodes,
            links: self.links,
            hosts,
            routing,
        }
    }
}
