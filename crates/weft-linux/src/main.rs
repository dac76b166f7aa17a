//! `weftd`: multipath congestion control on a stock Linux kernel.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use weft_linux::config::{Config, Format, Level, Log};
use weft_linux::path_manager::Namespace;
use weft_linux::{Failure, attach, daemon, doctor, status, testbed};

/// Coupled congestion control, subflows, suppression and release for the kernel's MPTCP.
#[derive(Parser)]
#[command(name = "weftd", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the daemon
    Run {
        /// The configuration; /etc/weft/weftd.toml if it is there
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Read the configuration, say what is wrong with it, and do nothing
        #[arg(long)]
        check: bool,
        /// With --check: try as well whether this kernel takes the programs
        #[arg(long, requires = "check")]
        load: bool,
    },
    /// Show what the daemon knows: connections, subflows, windows, suppression
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Again every so many seconds, until Ctrl-C
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1",
              value_parser = clap::value_parser!(u64).range(1..=3600))]
        watch: Option<u64>,
    },
    /// List connections, one a line
    List,
    /// Say what is missing here, and the command that mends it
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// In this network namespace
        #[arg(long, value_name = "NAME")]
        namespace: Option<String>,
    },
    /// Register congestion controls without a daemon, until `detach` or a reboot
    Attach {
        /// Which; all if none is named
        algorithms: Vec<String>,
        /// Make this one the default of the network namespace
        #[arg(long, value_name = "ALGORITHM")]
        default: Option<String>,
        /// The network namespace for --default
        #[arg(long, value_name = "NAME", requires = "default")]
        namespace: Option<String>,
    },
    /// Run an experiment of level "linux" in network namespaces of its own
    Testbed(testbed::Arguments),
    /// Take back what `attach` or a killed daemon has left
    Detach,
}

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
            let config = Config::read(path.as_deref())?;
            if load {
                attach::try_load(&config)?;
            }
            if !check {
                log(&config.log);
                daemon::run(&config, path.as_deref())?;
            }
        }
        Command::Testbed(arguments) => return Ok(testbed::run_command(&arguments)),
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
            let report = doctor::examine(&namespace_of(namespace));
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
    }
    Ok(ExitCode::SUCCESS)
}

fn namespace_of(name: Option<String>) -> Namespace {
    name.map_or_else(Namespace::own, Namespace::named)
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
    // A reader that has gone away is no error.
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
