//! The ports at which packets wait: one bit per port.

/// The ports of a partition at which packets may wait.
pub struct Backlogs {
    ports: Vec<u64>,
    any: bool,
    /// The first service after the windows that were processed, in picoseconds; `u64::MAX` if there is none.
    pub next: u64,
}

impl Backlogs {
    /// Creates an empty set of `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self {
            ports: vec![0; ports.div_ceil(64)],
            any: false,
            next: u64::MAX,
        }
    }

    /// Returns true if packets wait at no port.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Adds a port.
    #[inline(always)]
    pub fn insert(&mut self, port: usize) {
        self.ports[port / 64] |= 1 << (port % 64);
        self.any = true;
    }

    /// Removes a port.
    pub fn remove(&mut self, port: usize) {
        self.ports[port / 64] &= !(1 << (port % 64));
    }

    /// Number of words of 64 ports.
    pub fn words(&self) -> usize {
        self.ports.len()
    }

    /// Returns the ports of a word.
    pub fn of_word(&self, word: usize) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.ports[word];
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(word * 64 + bit)
        })
    }

    /// Records that all services of a window have been processed; `next` is the first one after it.
    pub fn end_window(&mut self, next: u64) {
        self.next = next;
        self.any = next != u64::MAX;
    }
}
