//! Text files that a spec names.

use std::fs::File;
use std::io::{Error, Read, Result};

/// The text of a file of at most `max_bytes` bytes. Of one that is longer, or has no end, no more is read.
///
/// # Errors
/// The file cannot be read, is no UTF-8 text, or is longer.
pub fn read_text(path: &str, max_bytes: u64) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(max_bytes + 1).read_to_string(&mut text)? as u64;
    if read > max_bytes {
        return Err(Error::other(format!("is too long: more than {max_bytes} bytes")));
    }
    Ok(text)
}
