//! `weft-testbed`, which `weftd testbed` runs: an experiment of level "linux".

use std::process::ExitCode;

use clap::Parser;
use weft_testbed::{Arguments, run_command};

/// Run an experiment of level "linux" in network namespaces of its own
#[derive(Parser)]
#[command(name = "weftd testbed", version)]
struct Testbed {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> ExitCode {
    run_command(&Testbed::parse().arguments)
}
