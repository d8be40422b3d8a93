use std::{
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, Stdio},
};

use super::*;

/// Fast enough for a test.
const CONFIG: WatchConfig = WatchConfig {
    terminate: Duration::from_millis(200),
    total: Duration::from_secs(4),
    interval: Duration::from_millis(10),
    max_groups: 3,
};

/// A shell in a group of its own that has set itself up, ended when dropped.
struct Shell(Child);

impl Shell {
    fn run(script: &str, marker: Option<&str>) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{script}\necho; read x")]).process_group(0).env_clear();
        command.envs(marker.map(|marker| (VARIABLE, marker)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        Self(child)
    }

    fn group(&self) -> u32 {
        self.0.id()
    }

    /// The signal that has ended it, if it has ended.
    fn ended_by(&mut self) -> Option<i32> {
        self.0.try_wait().unwrap().map(|exit| exit.signal().unwrap())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = leader(self.group()).map(|leader| kill_process_group(leader, Signal::KILL));
        drop(self.0.wait());
    }
}

fn told(facts: &str) -> usize {
    watch(facts.as_bytes(), &CONFIG)
}

#[test]
fn groups_get_sigterm_and_after_a_time_sigkill() {
    for (script, signal) in [(":", 15), ("trap '' TERM", 9)] {
        let mut shell = Shell::run(script, None);
        assert_eq!(told(&format!("= r\n+ {}\n", shell.group())), 0);
        assert_eq!(shell.ended_by(), Some(signal), "{script}");
    }
}

#[test]
fn groups_whose_leader_has_gone_are_ended() {
    let mut leader = Shell::run("(trap '' TERM; exec sleep 60) &", None);
    let group = leader.group();
    drop(leader.0.stdin.take());
    assert_eq!(leader.0.wait().unwrap().code(), Some(1), "there is nothing to read");
    assert!(processes::all().unwrap().iter().any(|process| process.group == group), "the other lives");
    assert_eq!(told(&format!("+ {group}\n")), 0);
    assert!(processes::all().unwrap().iter().all(|process| process.group != group || process.ended));
}

#[test]
fn who_has_thrown_its_environment_away_is_known_by_its_tag() {
    let run = "0123456789abcdef0123456789abcdef";
    let tagged = |marker: &str| {
        let tag = crate::lifeline::tag(marker).unwrap();
        Shell::run(&format!("prlimit --pid $$ --rttime={tag}:"), None)
    };
    let mut ours = [1, 2].map(|number| tagged(&format!("{run}-{number}")));
    let mut other = tagged("f123456789abcdef0123456789abcdef-1");
    assert_eq!(told(&format!("= {run}\n")), 0);
    assert_eq!(ours.each_mut().map(Shell::ended_by), [Some(15), Some(15)]);
    assert_eq!(other.ended_by(), None);
}

#[test]
fn who_has_left_the_group_but_not_the_session_is_ended() {
    // A timeout moves to a group of its own before it starts its command.
    let script = "env -i timeout 60 sh -c 'echo; sleep 60' & read x";
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = Shell(command.spawn().unwrap());
    std::io::Read::read_exact(shell.0.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let session = shell.group();
    let others = || {
        let seen = processes::all().unwrap();
        seen.iter().filter(|seen| seen.session == session && seen.group != session && !seen.ended).count()
    };
    assert!(others() > 0);
    assert_eq!(told(&format!("= r\n+ {session}\n")), 0);
    assert_eq!((others(), shell.ended_by()), (0, Some(15)));
}

#[test]
fn what_has_not_been_told_or_was_taken_back_is_let_alone() {
    let mut shell = Shell::run(":", Some("other-1"));
    let group = shell.group();
    for facts in [
        String::new(),
        format!("= r\n+ {group}\n- {group}\n"),
        format!("+ {group}"),
        format!("{}+ {group}\n", "x".repeat(300)),
        format!("+ 0\n+ 1\n+ -{group}\n+ x\n+\n\n+ 99999999999\n= \n"),
        format!("+ 4000001\n+ 4000002\n+ 4000003\n+ {group}\n"),
    ] {
        assert_eq!(told(&facts), 0, "{facts}");
        assert_eq!(shell.ended_by(), None, "{facts}");
    }
}

#[test]
fn a_number_that_somebody_else_has_got_is_let_alone() {
    let mut shell = Shell::run(":", None);
    for started in [None, Some(1)] {
        let mut remains = Remains::default();
        remains.groups.insert(shell.group(), Known { started, warned: false });
        assert_eq!(remains.clear(&CONFIG), 0);
        assert_eq!(shell.ended_by(), None);
    }
}

#[test]
fn who_has_left_the_groups_is_known_by_the_marker() {
    for (script, signal) in [(":", 15), ("trap '' TERM", 9)] {
        let mut ours = Shell::run(script, Some("ours-12"));
        let mut others = Shell::run(":", Some("ours2-12"));
        assert_eq!(told("= ours\n"), 0);
        assert_eq!((ours.ended_by(), others.ended_by()), (Some(signal), None), "{script}");
    }
}
