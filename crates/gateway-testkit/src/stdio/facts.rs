//! What a process can tell of itself: argv, environment, open files, group, limits, parent-death signal.

use std::{fmt::Write as _, fs};

use crate::message::quote;

/// Names and raw JSON values for the tool `report`. Taken before the runtime starts, so that the open files
/// are the inherited ones.
pub(crate) fn of_this_process() -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("argv", list(std::env::args())),
        ("pid", std::process::id().to_string()),
        ("env", environment()),
        ("cwd", std::env::current_dir().map_or_else(|_| "null".into(), |d| quote(&d.to_string_lossy()))),
        ("fds", open_files()),
    ];
    facts.extend(from_stat());
    #[cfg(target_os = "linux")]
    if let Ok(signal) = rustix::process::parent_process_death_signal() {
        facts.push(("pdeathsig", signal.map_or(0, rustix::process::Signal::as_raw).to_string()));
    }
    if let Ok(limits) = fs::read_to_string("/proc/self/limits") {
        facts.push(("limits", list(limits.lines().map(str::to_owned))));
    }
    facts
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.map(|item| quote(&item)).collect::<Vec<_>>().join(","))
}

fn environment() -> String {
    let mut out = String::from("{");
    for (n, (name, value)) in std::env::vars_os().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let (name, value) = (quote(&name.to_string_lossy()), quote(&value.to_string_lossy()));
        // Writing to a String cannot fail.
        let _ = write!(out, "{comma}{name}:{value}");
    }
    out + "}"
}

/// Numbers of the open files, without the one that reads the folder. `null` where there is no `/proc`.
fn open_files() -> String {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return "null".into() };
    let own = format!("/proc/{}/fd", std::process::id());
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter(|e| fs::read_link(e.path()).is_ok_and(|target| target.to_string_lossy() != own))
        .filter_map(|e| e.file_name().to_string_lossy().parse().ok())
        .collect();
    numbers.sort_unstable();
    format!("{numbers:?}")
}

/// Parent, process group and session, from `/proc/self/stat` (proc(5): fields 4, 5, 6).
fn from_stat() -> Vec<(&'static str, String)> {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The command name may hold blanks and parentheses: count from the last one.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(1);
    ["ppid", "pgid", "sid"].into_iter().zip(fields.map(str::to_owned)).collect()
}
