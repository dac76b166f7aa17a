//! `stop-and-wait SPEC.toml FOLDER [a.b=c …]`: runs an experiment with transports of `kind = "stop-and-wait"`.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use stop_and_wait::StopAndWait;
use weft_lab::{Experiment, RunOptions};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, folder, overrides @ ..] = arguments.as_slice() else {
        eprintln!(
            "stop-and-wait: given {} arguments; allowed: SPEC.toml FOLDER [a.b=c …]",
            arguments.len()
        );
        return ExitCode::from(2);
    };
    match run(Path::new(spec), Path::new(folder), overrides) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stop-and-wait: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(spec: &Path, folder: &Path, overrides: &[String]) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(spec).map_err(|error| format!("{}: {error}", spec.display()))?;
    weft_lab::add_transport(&StopAndWait);
    let experiment = Experiment::parse(&text, overrides)?;
    let written = experiment.run_into(folder, RunOptions::default(), |_| ControlFlow::Continue(()))?;
    written.keep()?;
    println!("The tables are in {}.", folder.display());
    Ok(())
}
