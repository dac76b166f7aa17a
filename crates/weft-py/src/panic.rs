//! A panic is a bug in Weft. The command shows it as one line, so it is recorded instead of
//! printed.

use std::panic;
use std::sync::Mutex;

use pyo3::prelude::*;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Records panics for [`last_panic`] from now on, instead of printing them. For a program, not for
/// a library.
#[pyfunction]
pub fn record_panics() {
    panic::set_hook(Box::new(|info| {
        let location = info
            .location()
            .map(|l| format!("{}:{}: ", l.file(), l.line()))
            .unwrap_or_default();
        let payload = info.payload();
        let words = payload.downcast_ref::<String>().map(String::as_str);
        let words = words
            .or_else(|| payload.downcast_ref().copied())
            .unwrap_or("panic");
        if let Ok(mut last) = LAST.lock() {
            // The first of several threads reports the cause; the others only follow it.
            last.get_or_insert_with(|| format!("{location}{words}").replace('\n', " "));
        }
    }));
}

/// The first panic since [`record_panics`], as one line.
#[pyfunction]
pub fn last_panic() -> Option<String> {
    LAST.lock().ok().and_then(|last| last.clone())
}
