//! From a configuration to a running process with three pipes.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::fs::{Access, access};
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::watch,
};

use crate::{InheritEnv, StdioConfig, group::Group, lifeline, parent};

/// A process that has just been started.
pub(crate) struct Launched {
    pub(crate) group: Group,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts the process in a session and a group of its own. The error is for the operator.
///
/// `alive` is held until it and all that descends from it is gone. Cancel-safe: what is started for nobody is
/// ended.
pub(crate) async fn launch(config: &StdioConfig, alive: watch::Receiver<()>) -> Result<Launched, String> {
    let Some((program, arguments)) = config.command.split_first() else {
        return Err("its command is empty".into());
    };
    let marker = config.lifeline.as_ref().map(|line| line.marker()).or_else(lifeline::unwatched);
    let environment = environment(config, marker.as_deref(), std::env::vars_os());
    let resolved = resolve(program, &environment, config.cwd.as_deref())?;
    let mut command = Command::new(resolved);
    command
        .args(arguments)
        .env_clear()
        .envs(&environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &config.cwd {
        command.current_dir(folder);
    }
    start(command, marker, config, alive)
        .await
        .map_err(|error| format!("command `{program}` cannot be started: {}", reason(&error)))
}

async fn start(
    command: Command,
    marker: Option<String>,
    config: &StdioConfig,
    alive: watch::Receiver<()>,
) -> io::Result<Launched> {
    // Subscribed before there is a child, so that no end is missed.
    let ends = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child())?;
    let spawned = parent::spawn(command, marker, config.lifeline.clone(), alive).await?;
    Ok(Launched {
        group: Group::new(spawned.leader, ends),
        stdin: ChildStdin::from_std(spawned.stdin)?,
        stdout: ChildStdout::from_std(spawned.stdout)?,
        stderr: ChildStderr::from_std(spawned.stderr)?,
    })
}

/// What the system says of a program that is there and may be executed, in words that help.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "the interpreter that its first line names, or the loader that it needs, does not exist".into()
        }
        // Some C libraries give it to a shell instead.
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            "it is neither a program for this system nor a script with a `#!` line".into()
        }
        _ => error.to_string(),
    }
}

/// The child's whole environment: what it inherits, and what is declared over it (R-57, R-W8).
fn environment(
    config: &StdioConfig,
    marker: Option<&str>,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let inherited = ours.filter(|(name, _)| inherits(&config.inherit_env, name));
    let declared = config.env.iter().map(|(name, value)| (name.into(), value.expose().into()));
    let marker = marker.map(|marker| (lifeline::VARIABLE.into(), marker.into()));
    inherited.chain(declared).chain(marker).collect()
}

fn inherits(rule: &InheritEnv, name: &OsStr) -> bool {
    let minimal = || name.to_str().is_some_and(|name| MINIMAL.contains(&name) || name.starts_with("LC_"));
    match rule {
        InheritEnv::All => true,
        InheritEnv::Minimal => minimal(),
        InheritEnv::Named(names) => minimal() || names.iter().any(|listed| OsStr::new(listed) == name),
    }
}

const MINIMAL: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "TERM"];

/// Finds the program in the child's own PATH. Doing it here gives a clear error.
fn resolve(
    program: &str,
    environment: &BTreeMap<OsString, OsString>,
    cwd: Option<&Path>,
) -> Result<PathBuf, String> {
    if let Some(folder) = cwd.filter(|folder| !folder.is_dir()) {
        return Err(format!("working folder `{}` does not exist", folder.display()));
    }
    if program.contains('/') {
        let path = cwd.unwrap_or_else(|| Path::new("")).join(program);
        return match (path.is_file(), access(&path, Access::EXEC_OK)) {
            (false, _) => Err(format!("command `{program}` does not exist")),
            (true, Err(_)) => Err(format!("command `{program}` may not be executed")),
            (true, Ok(())) => std::path::absolute(&path).map_err(|error| error.to_string()),
        };
    }
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok())
        .ok_or_else(|| format!("command `{program}` not found in PATH"))
}

#[cfg(test)]
mod tests {
    use gateway_protocol::Implementation;

    use super::*;

    fn names(inherit_env: InheritEnv) -> Vec<String> {
        let mut config = StdioConfig {
            inherit_env,
            ..StdioConfig::new(vec!["x".into()], Implementation::new("g", "G", "1"))
        };
        config.env.insert("HOME".into(), "/declared".into());
        let ours = ["PATH", "HOME", "LC_ALL", "LCX", "SECRET", "SSH_AUTH_SOCK"]
            .map(|name| (name.into(), "/ours".into()));
        environment(&config, None, ours.into_iter())
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn children_inherit_what_they_need_and_declared_values_win() {
        let minimal = ["HOME=/declared", "LC_ALL=/ours", "PATH=/ours"];
        assert_eq!(names(InheritEnv::Minimal), minimal);
        let named = InheritEnv::Named(vec!["SSH_AUTH_SOCK".into(), "ABSENT".into()]);
        assert_eq!(names(named), [&minimal[..], &["SSH_AUTH_SOCK=/ours"]].concat());
        assert_eq!(names(InheritEnv::All).len(), 6);
    }

    #[tokio::test]
    async fn the_marker_of_the_lifeline_is_over_all_and_differs_for_each_child() {
        let mut config = StdioConfig::new(vec!["x".into()], Implementation::new("g", "G", "1"));
        config.env.insert(lifeline::VARIABLE.into(), "declared".into());
        let line = lifeline::Lifeline::start("/bin/cat".into(), vec!["cat".into()]).unwrap();
        for next in
            [&|| line.marker() as String, &|| lifeline::unwatched().unwrap()] as [&dyn Fn() -> String; 2]
        {
            let (first, second) = (next(), next());
            let (run, number) = first.split_once('-').unwrap();
            assert_eq!(run.len(), 32);
            let number: u64 = number.parse().unwrap();
            assert_eq!(second, format!("{run}-{}", number + 1));
            let env = environment(&config, Some(&first), std::iter::empty());
            assert_eq!(env[OsStr::new(lifeline::VARIABLE)], OsString::from(first));
        }
    }

    #[test]
    fn what_the_system_refuses_is_said_in_words_that_help() {
        for (number, words) in [
            (libc::ENOENT, "the interpreter that"),
            (libc::ENOEXEC, "neither a program for this system nor a script"),
            (libc::EACCES, "Permission denied"),
            (libc::EAGAIN, "temporarily unavailable"),
        ] {
            let told = reason(&io::Error::from_raw_os_error(number));
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn programs_are_found_or_named_in_the_error() {
        let environment = BTreeMap::from([("PATH".into(), "/nowhere:/bin".into())]);
        let check = |program, cwd: Option<&str>| {
            resolve(program, &environment, cwd.map(Path::new)).map(|path| path.display().to_string())
        };
        assert_eq!(check("sh", None), Ok("/bin/sh".into()));
        assert_eq!(check("bin/sh", Some("/")), Ok("/bin/sh".into()));
        assert_eq!(check("npx-0", None), Err("command `npx-0` not found in PATH".into()));
        assert_eq!(check("/no/such", None), Err("command `/no/such` does not exist".into()));
        assert_eq!(check("/etc/passwd", None), Err("command `/etc/passwd` may not be executed".into()));
        assert_eq!(check("sh", Some("/no/such")), Err("working folder `/no/such` does not exist".into()));
    }
}
