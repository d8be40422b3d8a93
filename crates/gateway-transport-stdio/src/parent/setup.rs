//! What a new process does between fork and exec: the only unsafe code of the crate.
#![expect(unsafe_code, reason = "std runs code in a new process only where the caller vouches for it")]

use std::{io, os::unix::process::CommandExt as _, process::Command};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};

/// Has the process inherit no open file but the three standard ones, and leave no core file, which would hold
/// its secrets.
pub(crate) fn isolate(command: &mut Command) {
    // Asked for here, since the loop of old kernels is not to be longer than it must be.
    let files = getrlimit(Resource::Nofile).current.map_or(FILES, |limit| limit.min(FILES));
    let prepare = move || {
        close_files_on_exec(files);
        // A sandbox may refuse it; a server without it is better than none.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        Ok(())
    };
    // SAFETY: in the child of a process with threads only async-signal-safe calls are allowed. `prepare` makes
    // system calls and nothing else: it takes no lock, allocates nothing, touches no environment variable,
    // cannot panic, and closes no file, but marks them to be closed by exec.
    unsafe { command.pre_exec(prepare) };
}

/// Makes the process lead a session and a group of its own with a [`tag`](crate::lifeline::tag), and has the
/// kernel kill it when the thread that started it ends: only for a thread that lives as long as the
/// gateway (R-W18).
pub(crate) fn bind(command: &mut Command, tag: Option<u64>) {
    let gateway = std::process::id();
    let prepare = move || {
        setsid()?;
        set_tag(tag);
        die_with(gateway)
    };
    // SAFETY: as above; an error is made of its number, without an allocation.
    unsafe { command.pre_exec(prepare) };
}

/// Without it the other ways to know a process are left.
#[cfg(target_os = "linux")]
fn set_tag(tag: Option<u64>) {
    let maximum = getrlimit(Resource::Rttime).maximum;
    if tag.is_some() {
        let _ = setrlimit(Resource::Rttime, Rlimit { current: tag, maximum });
    }
}

#[cfg(not(target_os = "linux"))]
fn set_tag(_tag: Option<u64>) {}

#[cfg(target_os = "linux")]
fn die_with(gateway: u32) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    // It is first aid, and the lifeline is there without it.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // If the gateway has been killed before that, nobody sends the signal any more.
    match getppid() {
        Some(parent) if parent.as_raw_nonzero().get().unsigned_abs() == gateway => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_gateway: u32) -> io::Result<()> {
    Ok(())
}

fn close_files_on_exec(files: u64) {
    #[cfg(target_os = "linux")]
    {
        let (first, last) = (3 as libc::c_uint, libc::c_uint::MAX);
        // SAFETY: takes three numbers. By number and not by name, which older C libraries lack.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    for file in 3..i32::try_from(files).unwrap_or(i32::MAX) {
        // SAFETY: takes three numbers; that no such file is open is an error without any effect.
        unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// How many files are looked through where the kernel cannot mark them all at once.
const FILES: u64 = 65_536;
