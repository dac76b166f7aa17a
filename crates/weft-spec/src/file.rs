//! A reader of the text files that a spec names.

use std::fs::File;
use std::io::{Error, Read, Result};

/// Reads a file of at most `max_bytes` bytes. If it is longer, or has no end, reading stops there. A byte
/// order mark is left out. Lines that end with a carriage return alone end with a line feed in the text.
///
/// # Errors
/// Returns an error if the file cannot be read, is not UTF-8 text, or is longer.
pub fn read_text(path: &str, max_bytes: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)? as u64;
    if read > max_bytes {
        return Err(Error::other(format!("is too long: more than {max_bytes} bytes")));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::other("is UTF-16 text, not UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::other("is not UTF-8 text"))?;
    let text = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    Ok(if text.contains('\r') && !text.contains('\n') {
        text.replace('\r', "\n")
    } else {
        text
    })
}

/// The mark with which some programs begin a text, in UTF-8.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> std::result::Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        read_text(&file.path().display().to_string(), 100).map_err(|error| error.to_string())
    }

    #[test]
    fn text_has_no_mark_and_lines_that_end_with_a_line_feed() {
        assert_eq!(read("\u{feff}a\nb".as_bytes()).unwrap(), "a\nb");
        assert_eq!(read(b"a\rb\r").unwrap(), "a\nb\n");
        assert_eq!(read(b"a\r\nb\r\n").unwrap(), "a\r\nb\r\n");
        assert_eq!(read(b"").unwrap(), "");
    }

    #[test]
    fn other_encodings_are_named() {
        assert_eq!(read(b"\xff\xfea\x00").unwrap_err(), "is UTF-16 text, not UTF-8");
        assert_eq!(read(b"\xe4").unwrap_err(), "is not UTF-8 text");
        assert_eq!(
            read(&[b'a'; 101]).unwrap_err(),
            "is too long: more than 100 bytes"
        );
    }
}
