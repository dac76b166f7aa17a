//! Lines of a trace, one at a time.

use std::io::{BufRead, Read};

use super::errors::{Place, TraceError};

/// Maximum length of a line in bytes; that of an operation is below 200.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Calls `read_line` with each line and its number from 1. A line feed, or a carriage return before it, may end a line. `content`
/// names what lines hold.
pub(super) fn for_each_line(
    mut input: impl BufRead,
    content: &str,
    mut read_line: impl FnMut(u32, &str) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut line = Vec::new();
    for number in 1.. {
        let place = Place::Line(number);
        line.clear();
        let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|error| place.wrong(error.to_string(), "a file that can be read"))?;
        if read == 0 {
            break;
        }
        if read as u64 == MAX_LINE_BYTES {
            let given = format!("{read} bytes without a line feed");
            return Err(place.wrong(given, format!("lines of {content}")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| place.wrong("bytes that are not text", content))?;
        read_line(number, text.strip_prefix('\u{feff}').unwrap_or(text))?;
    }
    Ok(())
}
