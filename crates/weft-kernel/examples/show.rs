//! Loads all programs and shows what happens for a while: `sudo cargo run --example show -- [SECONDS]`.

use std::time::Duration;

use weft_kernel::programs::{Error, KernelAlgorithm, Options, Programs};

fn main() -> Result<(), Error> {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(10);
    let programs = Programs::load(KernelAlgorithm::ALL, &Options::default())?;
    let events = programs.events()?;
    for _ in 0..seconds {
        for event in events.wait(Duration::from_secs(1))? {
            println!("{event:?}");
        }
        for connection in programs.connections()? {
            println!("{connection:#?}");
        }
    }
    println!("{:?}", programs.totals()?);
    for time in programs.run_time()? {
        println!("{time:?}");
    }
    Ok(())
}
