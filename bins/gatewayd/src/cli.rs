//! The command line (design §11).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::{Flags, LogFormat};

/// One MCP endpoint in front of many MCP servers.
#[derive(Debug, Parser)]
#[command(
    name = "gatewayd",
    version,
    after_help = "Exit codes: 0 good, 1 failed, 2 wrong usage or configuration.\n\
                  Without --config: gateway.toml in the current folder, else a built-in demonstration.\n\n\
                  Example:\n  gatewayd serve --config gateway.toml"
)]
pub(crate) struct Cli {
    /// Notation of the log on stderr [default: text]
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const STDIO_EXAMPLE: &str = r#"Example, in a client's configuration:
  {"mcpServers": {"gateway": {"command": "gatewayd", "args": ["stdio", "--config", "/etc/gateway.toml"]}}}"#;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve one endpoint over HTTP
    #[command(
        after_help = "Example:\n  gatewayd serve --config ~/.cursor/mcp.json --listen 127.0.0.1:8080\n\
                            Then point an MCP client at http://127.0.0.1:8080/mcp"
    )]
    Serve(Serve),
    /// Serve the same endpoint to one client over stdin and stdout
    #[command(after_help = STDIO_EXAMPLE)]
    Stdio(Stdio),
    /// Start every downstream once and report on them and the workflows
    #[command(
        after_help = "Exits 1 if a downstream or a workflow is not ready, 2 if the configuration is wrong.\n\n\
                            Example:\n  gatewayd check --config gateway.toml --json | jq .problems"
    )]
    Check(Report),
    /// Print the catalogue as a client would see it
    #[command(after_help = "Example:\n  gatewayd tools --json | jq '.tools[].name'")]
    Tools(Tools),
    /// Call one tool and print its result
    #[command(after_help = "Example:\n  gatewayd call files__read '{\"path\": \"README.md\"}'")]
    Call(Call),
    /// Show what is different about tools since they were accepted, and accept it
    #[command(
        after_help = "Starts every downstream once, as check does. The lock file is beside the configuration; [pins] says where, and what\n\
                            becomes of tools that are not in it.\n\nExample:\n  gatewayd pin --config gateway.toml --accept"
    )]
    Pin(Pin),
    /// Log in at the authorization server of a downstream, in a browser
    #[command(
        after_help = "The tokens are kept for `serve` and `stdio`, encrypted.\n\nExample:\n  gatewayd login search --config gateway.toml"
    )]
    Login(Login),
    /// The demonstration server of the built-in configuration, over stdin and stdout
    #[command(hide = true)]
    DemoServer,
    /// The process that ends the children if the gateway is killed; the gateway starts it by itself
    #[command(hide = true)]
    Lifeline,
}

/// Where the configuration is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Sources {
    /// TOML, YAML, JSON or an mcpServers file; repeat it to lay one over the other
    #[arg(long = "config", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Whether changes of the configuration are taken on while the gateway runs. SIGHUP always is a reason to.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Watching {
    /// Take changes of the configuration's files on while running; the default
    #[arg(long, overrides_with = "no_watch")]
    pub(crate) watch: bool,
    /// Leave changes of the files alone until SIGHUP
    #[arg(long, overrides_with = "watch")]
    pub(crate) no_watch: bool,
    /// How often to look at the files, and how long they must have been left alone [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) watch_interval: Option<String>,
}

impl Watching {
    fn watch(&self) -> Option<bool> {
        (self.watch || self.no_watch).then_some(self.watch)
    }
}

/// Arguments of `stdio`.
#[derive(Args, Debug)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The client is this one of the configuration; else the one who started this, who may use everything
    #[arg(long = "as", value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) watching: Watching,
}

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Address to accept connections on; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,
    /// Serve an address that others can reach although no client needs a key
    #[arg(long)]
    pub(crate) allow_unauthenticated: bool,
    /// A host that requests may name besides the loopback ones; may be repeated, adds to allowed_hosts
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allow_hosts: Vec<String>,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tools`.
#[derive(Args, Debug)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) report: Report,
    /// As this client of the configuration is shown it; else everything there is
    #[arg(long = "as", value_name = "CLIENT")]
    pub(crate) client: Option<String>,
}

/// Arguments of `pin`.
#[derive(Args, Debug)]
pub(crate) struct Pin {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Accept everything without asking
    #[arg(long, conflicts_with = "check")]
    pub(crate) accept: bool,
    /// Accept nothing; exit with 1 if something is different
    #[arg(long)]
    pub(crate) check: bool,
}

/// Arguments of `login`.
#[derive(Args, Debug)]
pub(crate) struct Login {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The downstream
    pub(crate) name: String,
}

/// Arguments of `call`.
#[derive(Args, Debug)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The tool, as `gatewayd tools` names it
    pub(crate) name: String,
    /// Its arguments, a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,
    /// As this client of the configuration; else whatever it is
    #[arg(long = "as", value_name = "CLIENT")]
    pub(crate) client: Option<String>,
}

impl Cli {
    /// The files that were named.
    pub(crate) fn files(&self) -> &[PathBuf] {
        match &self.command {
            Command::Serve(serve) => &serve.sources.files,
            Command::Stdio(stdio) => &stdio.sources.files,
            Command::Check(report) | Command::Tools(Tools { report, .. }) => &report.sources.files,
            Command::Pin(pin) => &pin.sources.files,
            Command::Login(login) => &login.sources.files,
            Command::Call(call) => &call.sources.files,
            Command::DemoServer | Command::Lifeline => &[],
        }
    }

    /// Whether the command listens on the configured address.
    pub(crate) fn opens_port(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }

    /// What the command line adds to the configuration.
    pub(crate) fn flags(&self) -> Flags {
        let flags = Flags { log_format: self.log_format, ..Flags::default() };
        match &self.command {
            Command::Serve(serve) => Flags {
                listen: serve.listen.clone(),
                allow_unauthenticated: serve.allow_unauthenticated,
                allow_hosts: serve.allow_hosts.clone(),
                watch: serve.watching.watch(),
                watch_interval: serve.watching.watch_interval.clone(),
                ..flags
            },
            Command::Stdio(Stdio { watching, .. }) => {
                Flags { watch: watching.watch(), watch_interval: watching.watch_interval.clone(), ..flags }
            }
            // They open no port and end by themselves.
            Command::Check(_)
            | Command::Tools(_)
            | Command::Call(_)
            | Command::Pin(_)
            | Command::Login(_)
            | Command::DemoServer
            | Command::Lifeline => flags,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_files_are_watched_is_said_last() {
        let watch = |arguments: &[&str]| {
            let cli = Cli::parse_from(["gatewayd"].iter().chain(arguments));
            (cli.flags().watch, cli.flags().watch_interval)
        };
        assert_eq!(watch(&["serve"]), (None, None));
        assert_eq!(watch(&["serve", "--watch"]), (Some(true), None));
        assert_eq!(watch(&["stdio", "--no-watch"]), (Some(false), None));
        assert_eq!(watch(&["stdio", "--watch", "--no-watch"]), (Some(false), None));
        assert_eq!(watch(&["serve", "--no-watch", "--watch"]), (Some(true), None));
        let interval = Some("5s".to_owned());
        assert_eq!(watch(&["serve", "--watch-interval", "5s"]), (None, interval));
    }
}
