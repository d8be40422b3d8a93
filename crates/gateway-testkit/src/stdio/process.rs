//! Faults of the process itself: children, signals, descriptors.

use std::{
    io::Write as _,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt,
    signal::unix::{SignalKind, signal},
};

use super::options::{Flood, Options};

pub(crate) fn note_start(file: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

pub(crate) async fn ignore_term() {
    // With a listener installed, the signal no longer ends the process.
    if let Ok(mut terms) = signal(SignalKind::terminate()) {
        while terms.recv().await.is_some() {}
    }
}

/// One for each way to be related that was asked for; of the first two only the farther one.
pub(crate) fn start_grandchildren(options: &Options) {
    if options.grandchild || options.grandchild_escapes {
        let mut command = sleeper(options);
        if options.grandchild_escapes {
            command.process_group(0);
        }
        start(command);
    }
    if options.grandchild_session {
        let mut command = sleeper(options);
        command.arg("--new-session");
        start(command);
    }
}

fn sleeper(options: &Options) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| "fake-mcp".into());
    let mut command = Command::new(program);
    command.arg("--sleep").stdin(Stdio::null());
    if let Some(marker) = &options.profile.marker {
        command.args(["--marker", marker]);
    }
    if let Some(lifetime) = options.lifetime {
        command.args(["--lifetime", &lifetime.as_millis().to_string()]);
    }
    command
}

#[expect(clippy::print_stderr, reason = "tests read the pid there")]
fn start(mut command: Command) {
    match command.spawn() {
        Ok(child) => eprintln!("grandchild pid={}", child.id()),
        Err(why) => eprintln!("fake-mcp: no grandchild: {why}"),
    }
}

/// Replaces this process by a silent copy of itself without stdout: the one way to close it in safe code.
#[expect(clippy::print_stderr, reason = "stderr is what a server has for people")]
pub(crate) fn close_stdout(options: &Options) {
    let dropped = ["--close-stdout", "--grandchild", "--grandchild-escapes", "--grandchild-session"];
    let kept = options.argv.iter().filter(|a| !dropped.contains(&a.as_str()));
    let Ok(program) = std::env::current_exe() else { return };
    let why = Command::new(program).args(kept).arg("--silent").stdout(Stdio::null()).exec();
    eprintln!("fake-mcp: stdout stays open: {why}");
}

pub(crate) async fn flood(rate: Flood) {
    let mut line = vec![b'e'; 1023];
    line.push(b'\n');
    let mut stderr = tokio::io::stderr();
    let Flood::BytesPerSecond(rate) = rate else {
        while stderr.write_all(&line).await.is_ok() {}
        return;
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let mut owed = 0;
    loop {
        ticks.tick().await;
        owed += rate / 10;
        while owed >= line.len() as u64 {
            if stderr.write_all(&line).await.is_err() {
                return;
            }
            owed -= line.len() as u64;
        }
    }
}
