//! `scalable SPEC.toml FOLDER [a.b=c …]`: runs an experiment, in which `cc = "scalable"` is this crate's algorithm.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use scalable::Scalable;
use weft_cc::AlgorithmFactory;
use weft_lab::{Experiment, ReadOptions, RunOptions};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, folder, overrides @ ..] = arguments.as_slice() else {
        eprintln!(
            "scalable: given {} arguments; allowed: SPEC.toml FOLDER [a.b=c …]",
            arguments.len()
        );
        return ExitCode::from(2);
    };
    match run(Path::new(spec), Path::new(folder), overrides) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scalable: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(spec: &Path, folder: &Path, overrides: &[String]) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(spec).map_err(|error| format!("{}: {error}", spec.display()))?;
    let own: [Arc<dyn AlgorithmFactory>; 1] = [Arc::new(Scalable::default())];
    let options = ReadOptions {
        overrides,
        custom_algorithms: &own,
        folder: spec.parent(),
        ..ReadOptions::default()
    };
    let experiment = Experiment::read(&text, &options)?;
    let written = experiment.run_into(folder, RunOptions::default(), |_| ControlFlow::Continue(()))?;
    written.keep()?;
    println!("The tables are in {}.", folder.display());
    Ok(())
}
