//! A user's own congestion control, from Rust or through another language's bridge: the one place where an event is a boxed call.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Ack, CongestionControl, Echo, Round, Window};

/// Makes a user's congestion control, one for each connection.
pub trait Factory: fmt::Debug + Send + Sync {
    /// What results call it.
    fn name(&self) -> &str;
    /// A fresh connection's state.
    fn connection(&self) -> Box<dyn CongestionControl + Send>;
}

/// One connection's state of a user's congestion control. A clone is always a fresh connection's.
pub struct Custom {
    factory: Arc<dyn Factory>,
    echo: Echo,
    // The mutex only makes `Custom` shareable between threads; events come with `&mut` and never lock it.
    connection: Mutex<Box<dyn CongestionControl + Send>>,
}

impl Custom {
    /// A fresh connection's state.
    pub fn new(factory: Arc<dyn Factory>) -> Self {
        let connection = factory.connection();
        Self {
            factory,
            echo: connection.echo(),
            connection: Mutex::new(connection),
        }
    }

    /// What the factory calls it.
    pub fn name(&self) -> &str {
        self.factory.name()
    }

    fn connection(&mut self) -> &mut dyn CongestionControl {
        self.connection
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
    }
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.factory))
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.factory).finish()
    }
}

impl CongestionControl for Custom {
    /// As the connection answered when it was made; it is not asked again.
    fn echo(&self) -> Echo {
        self.echo
    }
    fn on_open(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_open(w, s);
    }
    fn on_ack(&mut self, w: &mut [Window], s: usize, ack: Ack) {
        self.connection().on_ack(w, s, ack);
    }
    fn on_mark(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_mark(w, s);
    }
    fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
        self.connection().on_round(w, s, round);
    }
    fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_fast_retransmit(w, s);
    }
    fn on_timeout(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_timeout(w, s);
    }
    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_close(w, s);
    }
}
