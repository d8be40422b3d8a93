//! The gateway as it may stand in its own configuration.
//!
//! An editor's file names the gateway as one server among others. Whoever gives that same file to the gateway
//! would have it start itself, and that one another, without end.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use http::Uri;

use super::checked::{Command, Reach};

/// What the gateway is known by.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) executable: PathBuf,
    /// Where this process will listen, if it will.
    pub(super) listen: Option<SocketAddr>,
    /// The files of its configuration.
    pub(super) files: Vec<PathBuf>,
}

impl Own {
    /// Whether a downstream is this very gateway. One with another configuration is a server like any other.
    pub(super) fn is(&self, reach: &Reach) -> bool {
        match reach {
            Reach::Command(command) => self.starts_by(command),
            Reach::Url(remote) => self.listens_at(&remote.url),
            Reach::Api(api) => self.listens_at(api.base_url.uri()),
        }
    }

    fn starts_by(&self, command: &Command) -> bool {
        let is_gateway =
            command.program == self.executable || command.program.file_name() == Some("gatewayd".as_ref());
        let is_face = command.args.iter().any(|argument| argument == "stdio");
        let folder = command.cwd.as_deref().unwrap_or_else(|| Path::new(""));
        let mut files = configured(&command.args).peekable();
        // Without a file it finds what this one found.
        let is_same = files.peek().is_none() || files.any(|file| self.reads(&folder.join(file)));
        is_gateway && is_face && is_same
    }

    fn reads(&self, file: &Path) -> bool {
        let same = |ours: &PathBuf| {
            ours.canonicalize().is_ok_and(|ours| file.canonicalize().is_ok_and(|file| ours == file))
        };
        self.files.iter().any(same)
    }

    fn listens_at(&self, url: &Uri) -> bool {
        let Some(listen) = self.listen else { return false };
        let is_here = match address_of(url) {
            Some(ip) => ip == listen.ip() || (listen.ip().is_unspecified() && ip.is_loopback()),
            None => {
                url.host() == Some("localhost") && (listen.ip().is_loopback() || listen.ip().is_unspecified())
            }
        };
        is_here && url.port_u16() == Some(listen.port())
    }
}

/// The values of `--config FILE` and `--config=FILE`.
fn configured(args: &[String]) -> impl Iterator<Item = &str> {
    let apart = args.windows(2).filter_map(|pair| match pair {
        [flag, file] if flag == "--config" => Some(file.as_str()),
        _ => None,
    });
    apart.chain(args.iter().filter_map(|argument| argument.strip_prefix("--config=")))
}

fn address_of(url: &Uri) -> Option<IpAddr> {
    url.host()?.trim_matches(['[', ']']).parse().ok()
}
