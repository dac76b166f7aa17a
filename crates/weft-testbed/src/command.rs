//! `weftd testbed`: a spec in, a folder of tables out.

use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use weft_lab::Experiment;
use weft_run::Error;

/// Arguments of `weftd testbed`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The experiment in TOML or JSON, of level "linux"; - is standard input.
    spec: PathBuf,
    /// A new folder for tables and manifest.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Change a field first, such as topology.senders=40.
    #[arg(long = "set", value_name = "a.b=c")]
    overrides: Vec<String>,
    /// Stop when standard input is closed, and say on standard output how far it is, a fraction a line.
    #[arg(long)]
    lifeline: bool,
}

/// Runs an experiment and leaves its tables. Exit codes: 0 done, 2 bad input, 3 the machine lacks something, 70 a bug, 130 stopped, with the
/// tables so far.
pub fn run_command(arguments: &Arguments) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            eprintln!("weftd: signal {signal}: {error}");
            return ExitCode::from(BUG);
        }
    }
    let done = run(arguments, &stop);
    match done {
        Ok(()) if stop.load(Ordering::Relaxed) => ExitCode::from(STOPPED),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weftd: {error}");
            ExitCode::from(match error {
                Error::Internal(_) => BUG,
                Error::MissingRequirement(_) => MISSING,
                _ => BAD_INPUT,
            })
        }
    }
}

fn run(arguments: &Arguments, stop: &Arc<AtomicBool>) -> Result<(), Error> {
    let experiment = Experiment::parse(&read(&arguments.spec)?, &arguments.overrides)?;
    if experiment.level() != "linux" {
        let value = experiment.level();
        let problem = format!("level: {value:?}; allowed: \"linux\" here; `weft run` runs the others");
        return Err(Error::Unsupported(problem));
    }
    if arguments.lifeline {
        let stop = Arc::clone(stop);
        thread::spawn(move || {
            let _ = stdin().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::Relaxed);
        });
    }
    let run = super::run(&experiment, stop, |fraction| {
        if arguments.lifeline {
            // A reader that has gone has closed the lifeline as well.
            let _ = writeln!(stdout(), "{fraction:.4}");
        }
    })?;
    run.write(&arguments.out)
}

fn read(path: &PathBuf) -> Result<String, Error> {
    let read = if path.as_os_str() == "-" {
        std::io::read_to_string(stdin())
    } else {
        fs::read_to_string(path)
    };
    read.map_err(|error| Error::Unsupported(format!("{}: cannot be read: {error}", path.display())))
}

const BAD_INPUT: u8 = 2;
const MISSING: u8 = 3;
const BUG: u8 = 70;
const STOPPED: u8 = 130;
