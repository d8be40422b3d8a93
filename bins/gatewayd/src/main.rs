//! One MCP endpoint in front of many MCP servers.

#![allow(
    dead_code,
    unused_imports,
    reason = "until the gateway is wired, nothing but this smoke test reads the configuration"
)]

mod cli;
mod config;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> anyhow::Result<ExitCode> {
    let cli = cli::Cli::parse();
    let request = config::Request {
        files: cli.files().to_vec(),
        flags: cli.flags(),
        folder: std::env::current_dir()?,
        executable: std::env::current_exe()?,
        opens_port: cli.opens_port(),
    };
    match config::load(&request, &config::Environment::of_process()) {
        Ok(loaded) => {
            for note in &loaded.notes {
                writeln!(std::io::stderr(), "note: {note}")?;
            }
            writeln!(std::io::stdout(), "{:#?}", loaded.config)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(problems) => {
            writeln!(std::io::stderr(), "{problems}")?;
            Ok(ExitCode::from(2))
        }
    }
}
