//! The command line of `weftd`, and the manual pages and completions that are made of it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;

use crate::manual;

/// Coupled congestion control, subflows, suppression and release for the kernel's MPTCP.
#[derive(Parser)]
#[command(name = "weftd", version, arg_required_else_help = true)]
pub struct Arguments {
    /// Command
    #[command(subcommand)]
    pub command: Command,
}

/// A command of `weftd`.
#[derive(Subcommand)]
pub enum Command {
    /// Run the daemon
    Run {
        /// The configuration; by default /etc/weft/weftd.toml, if that exists
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Check the configuration, report errors, and exit
        #[arg(long)]
        check: bool,
        /// Also test whether this kernel takes the programs; needs --check
        #[arg(long, requires = "check")]
        load: bool,
    },
    /// Show what the daemon knows: connections, subflows, windows, suppression
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Repeat every so many seconds, until Ctrl-C
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1",
              value_parser = clap::value_parser!(u64).range(1..=3600))]
        watch: Option<u64>,
    },
    /// List connections, one per line
    List,
    /// Report problems of this machine, and the command that fixes each
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Network namespace; by default those that a running weftd serves
        #[arg(long, value_name = "NAME")]
        namespace: Option<String>,
    },
    /// Register congestion controls without a daemon, until `detach` or a reboot
    Attach {
        /// Names of the algorithms; by default all
        algorithms: Vec<String>,
        /// Make this one the default of the network namespace
        #[arg(long, value_name = "ALGORITHM")]
        default: Option<String>,
        /// The network namespace for --default
        #[arg(long, value_name = "NAME", requires = "default")]
        namespace: Option<String>,
    },
    /// Run an experiment of level "linux" in network namespaces of its own: SPEC --out DIR
    #[command(disable_help_flag = true)]
    Testbed {
        /// Arguments of the program weft-testbed; --help lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Undo what `attach` or a killed daemon has left
    Detach,
    /// Write manual pages and completions into a folder, for packages
    #[command(hide = true)]
    Documents {
        /// Folder of the files
        folder: PathBuf,
    },
}

/// Writes manual pages, of sections 5 and 8, and completions for bash, zsh and fish into a folder.
///
/// # Errors
/// The folder cannot be written.
pub fn documents(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command, "weftd", folder)?;
    }
    let shown = command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set());
    let pages = shown.map(|subcommand| {
        let name = format!("weftd-{}", subcommand.get_name());
        subcommand
            .clone()
            .display_name(name)
            .version(env!("CARGO_PKG_VERSION"))
    });
    for page in pages.chain([command.clone()]) {
        let man = Man::new(page)
            .section("8")
            .source("Weft")
            .manual("System administration");
        let mut text = Vec::new();
        man.render(&mut text)?;
        text.extend(manual::SECTIONS.bytes());
        fs::write(folder.join(man.get_filename()), text)?;
    }
    let version = env!("CARGO_PKG_VERSION");
    fs::write(folder.join("weftd.toml.5"), manual::configuration(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_and_each_shell_its_completions() {
        let folder = tempfile::tempdir().unwrap();
        documents(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("weftd.8").contains("weftd\\-run"));
        assert!(read("weftd-run.8").contains("takes the programs"));
        for page in ["weftd.8", "weftd-run.8", "weftd-doctor.8"] {
            assert!(
                read(page).contains(".SH FILES") && read(page).contains("EXIT STATUS"),
                "{page}"
            );
        }
        assert!(read("weftd.toml.5").contains("congestion.algorithms"));
        for name in ["weftd.bash", "_weftd", "weftd.fish"] {
            assert!(read(name).contains("namespace"), "{name}");
        }
        assert!(!folder.path().join("weftd-documents.8").exists());
    }
}
