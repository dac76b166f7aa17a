//! A reader of the text files that a spec names.

use std::fs::File;
use std::io::{Error, Read, Result};

/// Reads a file of at most `max_bytes` bytes. If it is longer, or has no end, reading stops there.
///
/// # Errors
/// Returns an error if the file cannot be read, is not UTF-8 text, or is longer.
pub fn read_text(path: &str, max_bytes: u64) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(max_bytes + 1).read_to_string(&mut text)? as u64;
    if read > max_bytes {
        return Err(Error::other(format!("is too long: more than {max_bytes} bytes")));
    }
    Ok(text)
}
