//! A link of an equilibrium search: its price and the steps by which it changes.

/// A link with a price up to this is free.
pub(super) const FREE_PRICE: f64 = 1e-7;
/// Price above [`FREE_PRICE`] at which a link has half of its queue. Before a link marks or drops
/// packets, a queue grows there and slows down those that wait in it. A price this small marks next
/// to nothing, so that the queue is its only effect.
const QUEUEING_PRICE: f64 = 1e-6;
/// Smallest price, so that every path has one.
const MIN_PRICE: f64 = 1e-8;
const LN_MIN_PRICE: f64 = -18.420_680_743_952_367;
/// Largest price.
const MAX_PRICE: f64 = 0.9;
const LN_MAX_PRICE: f64 = -0.105_360_515_657_826_3;
/// Bounds of a link's gain. The largest one is for links that are nearly full without a price,
/// which falls there slowly.
const GAINS: std::ops::RangeInclusive<f64> = 1e-3..=4096.0;
/// Largest gain after a change of direction.
const MAX_TURNED_GAIN: f64 = 2.0;
/// Largest change of the logarithm of a price in one iteration.
const MAX_LOG_STEP: f64 = 1.0;

/// The share of packets that a link forwards to the next one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Forwarding {
    /// Packets are marked and not dropped.
    All,
    /// The packets that are not dropped.
    Passed,
    /// The packets that are not dropped, up to the capacity.
    UpToCapacity,
}

/// The rule by which prices change.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepRule {
    /// A log-price changes by the logarithm of the utilisation times the gain of the link. The gain
    /// grows by this factor while the price moves in one direction.
    Adaptive(f64),
    /// A log-price changes by this step times the excess of the utilisation over 1.
    Falling(f64),
}

/// A link while the solver runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    capacity: f64,
    per_capacity: f64,
    /// Queueing delay in seconds if the link has a price.
    queueing: f64,
    price: f64,
    gain: f64,
    /// The last step; its sign is the direction of the price.
    step: f64,
    /// Bit/s that arrive.
    pub load: f64,
    /// Bit/s that leave, relative to the capacity.
    pub utilisation: f64,
}

impl Link {
    pub fn new(capacity: f64, queueing: f64, price: f64) -> Self {
        Self {
            capacity,
            per_capacity: capacity.recip(),
            queueing,
            price: price.clamp(MIN_PRICE, MAX_PRICE),
            gain: 0.5,
            step: 0.0,
            load: 0.0,
            utilisation: 0.0,
        }
    }

    /// The shares of packets that pass and that are forwarded.
    ///
    /// The first search forwards no more than the capacity. While prices move, a link with too low
    /// a price then does not drive up the prices of the links after it, of which it is the
    /// bottleneck. At the equilibrium that is the share that passes.
    pub fn transfer(&self, forwarding: Forwarding) -> LinkTransfer {
        let passed = 1.0 - self.price;
        LinkTransfer {
            passed,
            forwarded: match forwarding {
                Forwarding::All => 1.0,
                Forwarding::Passed => passed,
                Forwarding::UpToCapacity => passed.min(self.capacity / self.load),
            },
        }
    }

    /// The queueing delay in seconds.
    pub fn delay(&self) -> f64 {
        let above = (self.price - FREE_PRICE).max(0.0);
        self.queueing * above / (above + QUEUEING_PRICE)
    }

    pub fn is_free(&self) -> bool {
        self.price <= FREE_PRICE
    }

    pub fn log_price(&self) -> f64 {
        self.price.ln()
    }

    /// Takes the load and moves the price. Returns the relative distance from the equilibrium.
    pub fn update(&mut self, load: f64, rule: StepRule, marks: bool) -> f64 {
        let passed = if marks { 1.0 } else { 1.0 - self.price };
        // In the first search the load of the iteration before limits what a link forwards. Rates
        // are those of an equilibrium only if that load is not above the capacity either.
        let limited = match rule {
            StepRule::Adaptive(_) if !marks => self.load * passed * self.per_capacity - 1.0,
            _ => 0.0,
        };
        self.load = load;
        self.utilisation = load * passed * self.per_capacity;
        let off = residual(self.is_free(), self.utilisation).max(limited);
        match rule {
            StepRule::Adaptive(growth) => {
                let direction = approximate_ln(self.utilisation);
                let turned = direction * self.step < 0.0;
                let gain = if turned {
                    (0.5 * self.gain).min(MAX_TURNED_GAIN)
                } else {
                    growth * self.gain
                };
                self.gain = gain.clamp(*GAINS.start(), *GAINS.end());
                self.step = (self.gain * direction).clamp(-MAX_LOG_STEP, MAX_LOG_STEP);
                self.price = (self.price * approximate_exp(self.step)).clamp(MIN_PRICE, MAX_PRICE);
            }
            StepRule::Falling(step) => {
                self.step = (step * (self.utilisation - 1.0)).clamp(-MAX_LOG_STEP, MAX_LOG_STEP);
                let log_price = self.log_price() + self.step;
                self.price = log_price.clamp(LN_MIN_PRICE, LN_MAX_PRICE).exp();
            }
        }
        off
    }
}

/// A function with the sign of the logarithm and its slope at 1, for a step that is clamped anyway.
fn approximate_ln(value: f64) -> f64 {
    2.0 * (value - 1.0) / (value + 1.0)
}

/// The exponential function from -1 to 1 by Padé's approximant, within 1e-3.
fn approximate_exp(value: f64) -> f64 {
    let even = 12.0 + value * value;
    (even + 6.0 * value) / (even - 6.0 * value)
}

/// The relative distance of a link from the equilibrium, where it is full or has no price.
pub(super) fn residual(free: bool, utilisation: f64) -> f64 {
    if free {
        (utilisation - 1.0).max(0.0)
    } else {
        (utilisation - 1.0).abs()
    }
}

/// The effect of a link on packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTransfer {
    /// Share of packets that are neither dropped nor marked.
    pub passed: f64,
    /// Share of packets that reach the next link.
    pub forwarded: f64,
}

/// The share of packets that pass a path without a drop or a mark.
#[inline]
pub(super) fn passed_along(path: &[u32], transfers: &[LinkTransfer]) -> f64 {
    path.iter()
        .fold(1.0, |passed, &link| passed * transfers[link as usize].passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximations_have_the_sign_and_the_size_of_steps() {
        for step in [-1.0, -0.3, 0.0, 0.3, 1.0_f64] {
            assert!((approximate_exp(step) / step.exp() - 1.0).abs() < 2e-3, "{step}");
        }
        for value in [0.0, 0.5, 0.999, 1.001, 2.0, 1e9_f64] {
            assert!(approximate_ln(value) * (value - 1.0) > 0.0, "{value}");
        }
        assert!((approximate_ln(1.01) / 1.01_f64.ln() - 1.0).abs() < 1e-4);
    }

    /// With falling steps, the logarithm of a price changes by the step times the relative excess: 0.5 * 0.2.
    #[test]
    fn a_falling_step_moves_the_logarithm_of_a_price() {
        let mut link = Link::new(10.0, 0.0, (-3.0_f64).exp());
        assert!((link.log_price() + 3.0).abs() < 1e-12);
        let off = link.update(12.0, StepRule::Falling(0.5), true);
        assert!((off - 0.2).abs() < 1e-12);
        assert!((link.log_price() + 2.9).abs() < 1e-12);
    }
}
