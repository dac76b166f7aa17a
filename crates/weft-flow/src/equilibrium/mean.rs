//! Means over the iterations of the second search.
//!
//! Windows of iterations double in length: 25 to 50, 50 to 100, and so on. In a window the weights
//! rise and fall linearly, times the step. The weighted sum of the excesses of a link is then the
//! difference of its mean log-prices in both halves of the window, in which swings cancel.

use super::link::{Link, residual};
use super::work::Arrays;

/// Iterations before the first window.
const FIRST_WINDOW: u32 = 25;

/// Exponent of the falling steps, above 1/2 so that swings die out, and below 1 so that prices
/// reach any value.
const EXPONENT: f64 = -0.6;

/// Largest range of a link's log-price within a window of a converged search. Rates go as the
/// square root of prices. They then change by at most 1.5 %, and their means by far less.
const MAX_LOG_RANGE: f64 = 0.03;

/// The mean of a window of iterations.
#[derive(Clone, Debug)]
pub(super) struct WindowMean {
    pub sent: Vec<f64>,
    pub goodputs: Vec<f64>,
    /// Bit/s that arrive at each link.
    pub loads: Vec<f64>,
    utilisations: Vec<f64>,
    /// Sum of the weights while the window is open.
    weight: f64,
    /// Largest residual of the means.
    pub residual: f64,
    /// Largest range of the log-prices of links with a price.
    log_range: f64,
}

impl WindowMean {
    fn new(subflows: usize, links: usize) -> Self {
        Self {
            sent: vec![0.0; subflows],
            goodputs: vec![0.0; subflows],
            loads: vec![0.0; links],
            utilisations: vec![0.0; links],
            weight: 0.0,
            residual: f64::INFINITY,
            log_range: f64::INFINITY,
        }
    }

    fn clear(&mut self) {
        for values in [
            &mut self.sent,
            &mut self.goodputs,
            &mut self.loads,
            &mut self.utilisations,
        ] {
            values.fill(0.0);
        }
        self.weight = 0.0;
    }
}

/// Progress of the second search.
#[derive(Clone, Debug)]
pub(super) struct MeanIterate {
    /// Iterations of the second search.
    t: u32,
    /// First iteration of the window.
    start: u32,
    step: f64,
    window: WindowMean,
    complete: Option<WindowMean>,
    /// Lowest and highest log-price of each link in the window.
    log_prices: Vec<(f64, f64)>,
}

impl MeanIterate {
    pub fn new(arrays: &Arrays, links: &[Link]) -> Self {
        Self {
            t: 0,
            start: FIRST_WINDOW,
            step: 1.0,
            window: WindowMean::new(arrays.sent.len(), links.len()),
            complete: None,
            log_prices: links
                .iter()
                .map(|link| (link.log_price(), link.log_price()))
                .collect(),
        }
    }

    /// Begins an iteration and returns its step.
    pub fn next_step(&mut self) -> f64 {
        self.t += 1;
        self.step = f64::from(self.t).powf(EXPONENT);
        self.step
    }

    /// Adds an iteration to the window, and closes the window at its end.
    pub fn add(&mut self, arrays: &Arrays, links: &[Link]) {
        for ((low, high), link) in self.log_prices.iter_mut().zip(links) {
            *low = low.min(link.log_price());
            *high = high.max(link.log_price());
        }
        if self.t < self.start {
            return;
        }
        let end = 2 * self.start;
        let weight = self.step * f64::from((self.t - self.start + 1).min(end - self.t));
        let window = &mut self.window;
        let add = |sums: &mut [f64], values: &[f64]| {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        };
        add(&mut window.sent, &arrays.sent);
        add(&mut window.goodputs, &arrays.goodputs);
        for (i, link) in links.iter().enumerate() {
            window.loads[i] += weight * link.load;
            window.utilisations[i] += weight * link.utilisation;
        }
        window.weight += weight;
        if self.t + 1 == end {
            self.close(links);
        }
    }

    fn close(&mut self, links: &[Link]) {
        let mut window = self
            .complete
            .take()
            .unwrap_or_else(|| WindowMean::new(self.window.sent.len(), links.len()));
        std::mem::swap(&mut window, &mut self.window);
        self.window.clear();
        let scale = window.weight.recip();
        for values in [
            &mut window.sent,
            &mut window.goodputs,
            &mut window.loads,
            &mut window.utilisations,
        ] {
            for value in values {
                *value *= scale;
            }
        }
        let (mut worst, mut log_range) = (0.0_f64, 0.0_f64);
        for ((link, &utilisation), &(low, high)) in
            links.iter().zip(&window.utilisations).zip(&self.log_prices)
        {
            worst = worst.max(residual(link.is_free(), utilisation));
            if !link.is_free() {
                log_range = log_range.max(high - low);
            }
        }
        (window.residual, window.log_range) = (worst, log_range);
        self.complete = Some(window);
        self.start *= 2;
        for (range, link) in self.log_prices.iter_mut().zip(links) {
            *range = (link.log_price(), link.log_price());
        }
    }

    /// The mean of the last complete window.
    pub fn complete(&self) -> Option<&WindowMean> {
        self.complete.as_ref()
    }

    /// Returns true if links are within `tolerance` of their capacities on average, and prices have
    /// settled.
    pub fn converged(&self, tolerance: f64) -> bool {
        self.complete
            .as_ref()
            .is_some_and(|mean| mean.residual <= tolerance && mean.log_range <= MAX_LOG_RANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::StepRule;
    use super::*;
    use crate::Instance;

    /// The mean of what does not change is what it is.
    #[test]
    fn a_link_that_is_full_in_each_iteration_is_full_on_average() {
        let mut link = Link::new(8e6, 0.0, 0.01);
        link.update(8e6, StepRule::Falling(0.0), true);
        let mut instance = Instance::new(vec![8e6]).unwrap();
        instance.connect([&[0][..]]).unwrap();
        let mut arrays = Arrays::new(&instance, 1);
        (arrays.sent[0], arrays.goodputs[0]) = (8e6, 7.9e6);
        let mut mean = MeanIterate::new(&arrays, &[link]);
        for _ in 0..2 * FIRST_WINDOW {
            mean.next_step();
            mean.add(&arrays, &[link]);
        }
        let found = mean.complete().unwrap();
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 1e-12;
        assert!(near(found.sent[0], 8e6) && near(found.goodputs[0], 7.9e6));
        assert!(near(found.loads[0], 8e6) && near(found.utilisations[0], 1.0));
        assert!(mean.converged(1e-9), "{found:?}");
    }
}
