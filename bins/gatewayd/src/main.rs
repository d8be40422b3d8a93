//! One MCP endpoint in front of many MCP servers.
//!
//! The composition root: it reads the configuration, puts the crates together, waits for signals. It holds
//! no logic of its own.

mod api;
mod cli;
mod command;
mod config;
mod credentials;
mod decisions;
mod demo;
mod downstream;
mod edge;
mod gateway;
mod lifeline;
mod log;
mod memory;
mod offer;
mod outgoing;
mod pages;
mod reload;
mod staged;
mod topology;
mod workflows;

use std::{io, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Parser as _;
use config::Source;
use reload::Start;

fn main() -> ExitCode {
    memory::give_back();
    let cli = cli::Cli::parse();
    if matches!(cli.command, cli::Command::DemoServer) {
        return finish(
            demo::serve(io::stdin().lock(), io::stdout().lock())
                .map(|()| ExitCode::SUCCESS)
                .map_err(Into::into),
        );
    }
    if matches!(cli.command, cli::Command::Lifeline) {
        return finish(lifeline::watch());
    }
    match load(&cli) {
        Ok(Ok(start)) => {
            let _flushed_at_the_end = log::start(&start.loaded.config.log);
            announce(&start.loaded);
            finish(run(cli.command, start))
        }
        Ok(Err(problems)) => {
            command::say(problems);
            ExitCode::from(command::USAGE)
        }
        Err(error) => finish(Err(error)),
    }
}

fn load(cli: &cli::Cli) -> anyhow::Result<Result<Start, config::Problems>> {
    let request = config::Request {
        files: cli.files().to_vec(),
        flags: cli.flags(),
        folder: std::env::current_dir().context("the current folder cannot be read")?,
        executable: std::env::current_exe().context("this program's own path is not known")?,
        opens_port: cli.opens_port(),
        stdout: match cli.command {
            cli::Command::Serve(_) => config::Stdout::Free,
            cli::Command::Stdio(_) => config::Stdout::Protocol,
            _ => config::Stdout::Results,
        },
        pins: matches!(cli.command, cli::Command::Pin(_)),
        readable: config::Files::Any,
    };
    let attempt = config::load(&request, &config::Environment::of_process());
    Ok(attempt.outcome.map(|loaded| Start { request, loaded, files: attempt.files }))
}

fn announce(loaded: &config::Loaded) {
    match &loaded.source {
        Source::BuiltIn => command::say(
            "no --config and no gateway.toml here: running the built-in demonstration (an MCP server, an HTTP API and a workflow over both)",
        ),
        Source::Found(path) => command::say(format_args!("configuration: {}", path.display())),
        Source::Named => {}
    }
    for note in &loaded.notes {
        command::say(format_args!("note: {note}"));
    }
}

fn run(command: cli::Command, start: Start) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.spawn(memory::keep_giving_back());
    let code = runtime.block_on(command::run(command, start));
    // What was given up on the way ends its processes now. A thread that reads stdin cannot be
    // interrupted, so this is bounded.
    runtime.shutdown_timeout(Duration::from_millis(500));
    code
}

fn finish(code: anyhow::Result<ExitCode>) -> ExitCode {
    code.unwrap_or_else(|error| {
        command::say(format_args!("error: {error:#}"));
        ExitCode::from(command::FAILED)
    })
}
