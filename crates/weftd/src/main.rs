//! `weftd`: multipath congestion control on a stock Linux kernel.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use weft_kernel::path_manager::Namespace;
use weftd::cli::{self, Arguments, Command};
use weftd::config::{Config, Format, Level, Log};
use weftd::{Failure, attach, daemon, doctor, status};

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("weftd: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run {
            config: path,
            check,
            load,
        } => {
            if check {
                let config = Config::read(path.as_deref())?;
                for warning in &config.warnings {
                    eprintln!("weftd: warning: {warning}");
                }
                if load {
                    attach::try_load(&config)?;
                }
            } else {
                daemon::run(path.as_deref(), log)?;
            }
        }
        Command::Testbed { arguments } => return Err(run_testbed(&arguments)),
        Command::Status { json, watch } => loop {
            let status = status::ask(&daemon::socket(&daemon::folder()))?;
            if watch.is_some() && !json {
                // Clears a terminal.
                print(&"\x1b[2J\x1b[H", false)?;
            }
            print(&status, json)?;
            let Some(seconds) = watch else { break };
            std::thread::sleep(Duration::from_secs(seconds));
        },
        Command::List => {
            let status = status::ask(&daemon::socket(&daemon::folder()))?;
            print_text(&status::List(&status).to_string())?;
        }
        Command::Doctor { json, namespace } => {
            let report = doctor::run_checks(namespace.map(Namespace::named).as_ref())?;
            print(&report, json)?;
            return Ok(ExitCode::from(u8::from(report.fails())));
        }
        Command::Attach {
            algorithms,
            default,
            namespace,
        } => {
            let config = Config::attached(algorithms, default).map_err(|e| Failure::Input(e.to_string()))?;
            log(&config.log);
            attach::attach(&config, &namespace_of(namespace))?;
        }
        Command::Detach => attach::detach()?,
        Command::Documents { folder } => {
            cli::documents(&folder).map_err(Failure::about(folder.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Becomes the program `weft-testbed` in the folder of this one, which contains the simulator. Returns only if that fails.
fn run_testbed(arguments: &[OsString]) -> Failure {
    let own = std::env::current_exe().unwrap_or_default();
    let program: PathBuf = own.with_file_name("weft-testbed");
    let error = std::process::Command::new(&program).args(arguments).exec();
    Failure::Missing(format!(
        "{}: cannot be started: {error}; install the package weftd, or build it with `make build-linux`",
        program.display()
    ))
}

fn namespace_of(name: Option<String>) -> Namespace {
    name.map_or_else(Namespace::current, Namespace::named)
}

fn print<T: serde::Serialize + std::fmt::Display>(what: &T, json: bool) -> Result<(), Failure> {
    print_text(&if json {
        serde_json::to_string_pretty(what).map_err(Failure::about("JSON"))? + "\n"
    } else {
        what.to_string()
    })
}

fn print_text(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    // A reader may have gone away.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Logs to standard error, where systemd takes them.
fn log(log: &Log) {
    let level = match log.level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
        Level::Trace => tracing::Level::TRACE,
    };
    let logs = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(stderr)
        .with_target(false);
    match log.format {
        Format::Json => logs.json().init(),
        // systemd's journal has times of its own.
        Format::Text if std::env::var_os("JOURNAL_STREAM").is_some() => {
            logs.without_time().with_ansi(false).init();
        }
        Format::Text => logs.with_ansi(stderr().is_terminal()).init(),
    }
}
