//! User-defined congestion control, in Rust or through the bridge to another language. This is the
//! only kind of algorithm whose events are boxed calls.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Ack, CongestionControl, Echo, Elapsed, Round, Window};

/// A factory of a user-defined congestion control: it creates one state per connection.
pub trait AlgorithmFactory: fmt::Debug + Send + Sync {
    /// Returns the name of the algorithm in results.
    fn name(&self) -> &str;
    /// Creates the state of a new connection.
    fn new_connection(&self) -> Box<dyn CongestionControl + Send>;
}

/// A user-defined congestion control with the state of one connection. A clone always has the state
/// of a new connection.
pub struct Custom {
    factory: Arc<dyn AlgorithmFactory>,
    echo: Echo,
    // The mutex only makes `Custom` shareable between threads; events have `&mut` and never lock
    // it.
    connection: Mutex<Box<dyn CongestionControl + Send>>,
}

impl Custom {
    /// Creates the state of a new connection.
    pub fn new(factory: Arc<dyn AlgorithmFactory>) -> Self {
        let connection = factory.new_connection();
        Self {
            factory,
            echo: connection.echo(),
            connection: Mutex::new(connection),
        }
    }

    /// Returns the name that the factory gives.
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
    /// Returns the echo that the connection asked for when it was created; the algorithm is not
    /// asked again.
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
    fn on_undo(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_undo(w, s);
    }
    fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
        self.connection().on_timeout(w, s, first);
    }
    fn on_restart(&mut self, w: &mut [Window], s: usize, idle: f64, now: Elapsed) {
        self.connection().on_restart(w, s, idle, now);
    }
    fn on_close(&mut self, w: &mut [Window], s: usize) {
        self.connection().on_close(w, s);
    }
    fn pacing_rate(&self, w: &[Window], s: usize) -> Option<f64> {
        let connection = self.connection.lock();
        connection
            .unwrap_or_else(PoisonError::into_inner)
            .pacing_rate(w, s)
    }
    fn reacts_to_mark(&self, w: &[Window], s: usize) -> bool {
        let connection = self.connection.lock();
        connection
            .unwrap_or_else(PoisonError::into_inner)
            .reacts_to_mark(w, s)
    }
    fn restarts_after_idle(&self) -> bool {
        let connection = self.connection.lock();
        connection
            .unwrap_or_else(PoisonError::into_inner)
            .restarts_after_idle()
    }
    fn rounds_end_beyond(&self) -> bool {
        let connection = self.connection.lock();
        connection
            .unwrap_or_else(PoisonError::into_inner)
            .rounds_end_beyond()
    }
    fn extra_sndbuf_bursts(&self) -> u32 {
        let connection = self.connection.lock();
        connection
            .unwrap_or_else(PoisonError::into_inner)
            .extra_sndbuf_bursts()
    }
    fn may_suppress_on_ack(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;
    use crate::test_windows::{ack, in_avoidance};

    /// An algorithm for tests: every acknowledgement adds twice as much as the previous one.
    struct Doubling {
        next: f64,
    }

    impl CongestionControl for Doubling {
        fn echo(&self) -> Echo {
            Echo::Classic
        }
        fn on_ack(&mut self, w: &mut [Window], s: usize, _: Ack) {
            w[s].cwnd += self.next;
            self.next *= 2.0;
        }
        fn on_mark(&mut self, w: &mut [Window], s: usize) {
            w[s].cwnd = 100.0;
        }
        fn on_fast_retransmit(&mut self, w: &mut [Window], s: usize) {
            w[s].cwnd = 101.0;
        }
        fn on_timeout(&mut self, w: &mut [Window], s: usize, first: bool) {
            w[s].cwnd = if first { 102.0 } else { 105.0 };
        }
        fn pacing_rate(&self, w: &[Window], s: usize) -> Option<f64> {
            Some(2.0 * w[s].cwnd / w[s].srtt)
        }
        fn on_open(&mut self, w: &mut [Window], s: usize) {
            w[s].cwnd = 103.0;
        }
        fn on_close(&mut self, w: &mut [Window], s: usize) {
            w[s].cwnd = 104.0;
        }
        fn on_round(&mut self, w: &mut [Window], s: usize, round: Round) {
            w[s].cwnd = f64::from(round.acked);
        }
    }

    #[derive(Debug)]
    struct Doublings;

    impl AlgorithmFactory for Doublings {
        fn name(&self) -> &'static str {
            "doubling"
        }
        fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
            Box::new(Doubling { next: 1.0 })
        }
    }

    #[test]
    fn every_event_arrives_and_a_clone_is_a_fresh_connection() {
        let mut cc = Algorithm::custom(Arc::new(Doublings));
        assert_eq!((cc.name(), cc.echo()), ("doubling", Echo::Classic));
        let mut w = in_avoidance(&[10.0]);
        for expected in [11.0, 13.0, 17.0] {
            cc.on_ack(&mut w, 0, ack(1));
            assert_eq!(w[0].cwnd, expected);
        }
        cc.clone().on_ack(&mut w, 0, ack(1));
        assert_eq!(w[0].cwnd, 18.0);
        cc.on_round(&mut w, 0, Round { acked: 99, marked: 0 });
        assert_eq!(w[0].cwnd, 99.0);
        let events = [
            Algorithm::on_mark,
            Algorithm::on_fast_retransmit,
            Algorithm::on_open,
            Algorithm::on_close,
        ];
        for (event, expected) in events.into_iter().zip([100.0, 101.0, 103.0, 104.0]) {
            event(&mut cc, &mut w, 0);
            assert_eq!(w[0].cwnd, expected);
        }
        for (first, expected) in [(true, 102.0), (false, 105.0)] {
            cc.on_timeout(&mut w, 0, first);
            assert_eq!(w[0].cwnd, expected);
        }
        assert_eq!(cc.pacing_rate(&w, 0), Some(210.0));
        assert!(cc.may_suppress_on_ack());
        assert_eq!(format!("{cc:?}"), "Custom(Custom(Doublings))");
    }
}
