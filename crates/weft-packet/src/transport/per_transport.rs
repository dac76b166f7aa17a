//! Constants that the flows of a transport share. A host computes them for its first flow of the transport.

use std::sync::Arc;

/// The constants of each transport, by its index in the configuration.
pub struct PerTransport<T>(Vec<Option<Arc<T>>>);

impl<T> PerTransport<T> {
    /// Creates the table of this many transports.
    pub fn new(transports: usize) -> Self {
        Self(std::iter::repeat_with(|| None).take(transports).collect())
    }

    /// Returns the constants of a transport, which `create` computes the first time.
    pub fn get(&mut self, transport: u32, create: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let known = &mut self.0[transport as usize];
        if known.is_none() {
            *known = create().map(Arc::new);
        }
        known.clone()
    }
}
