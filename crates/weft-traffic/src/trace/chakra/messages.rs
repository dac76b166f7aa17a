//! The messages of a file of Chakra, one at a time. Each one follows its length as a varint of protobuf.

use std::io::{BufRead, Read};

use prost::Message;

/// Maximum length of a message in bytes. Metadata may hold a program as text.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;

/// The messages that remain in a file.
pub(super) struct Messages<R> {
    input: R,
    buffer: Vec<u8>,
    /// Bytes that were read.
    position: u64,
}

impl<R: BufRead> Messages<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            position: 0,
        }
    }

    /// Returns the next message; `None` at the end of the file.
    ///
    /// # Errors
    /// Returns what is wrong at which byte.
    pub fn next<M: Message + Default>(&mut self) -> Result<Option<M>, String> {
        let begin = self.position;
        let Some(length) = self.length()? else {
            return Ok(None);
        };
        if length > MAX_MESSAGE_BYTES {
            return Err(format!("a message of {length} bytes at byte {begin}"));
        }
        self.buffer.clear();
        let read = self.input.by_ref().take(length).read_to_end(&mut self.buffer);
        self.position += read.map_err(|error| format!("{error} after byte {begin}"))? as u64;
        if (self.buffer.len() as u64) < length {
            return Err(format!("ends within the message at byte {begin}"));
        }
        let message = M::decode(&self.buffer[..]);
        let message = message.map_err(|error| format!("no message of Chakra at byte {begin}: {error}"))?;
        Ok(Some(message))
    }

    /// Reads the length of a message; `None` at the end of the file.
    fn length(&mut self) -> Result<Option<u64>, String> {
        let begin = self.position;
        let mut length = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            let read = self.input.read(&mut byte);
            if read.map_err(|error| format!("{error} after byte {begin}"))? == 0 {
                return match shift {
                    0 => Ok(None),
                    _ => Err(format!("ends within the length at byte {begin}")),
                };
            }
            self.position += 1;
            length |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(Some(length));
            }
        }
        Err(format!("no length of a message at byte {begin}"))
    }
}
